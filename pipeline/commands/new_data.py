"""Make a place for a data set of one's own: its folders and its section of params.yaml."""

from __future__ import annotations

import re
from pathlib import Path

from pipeline.core.errors import UserError
from pipeline.core.params import PARAMS_FILE
from pipeline.core.paths import DATA, Folders

FOLDERS = {
    "source": "What comes in: pictures in `images/`, questions and (if there are any) scene graphs. See data/README.md for the formats.",
    "truth": "The complete truth of every picture, if anybody knows it. Leave it empty: only drawn worlds have one.",
    "clip": "A local CLIP checkpoint: `open_clip_config.json` and weights. Leave it empty if the model is fetched by name.",
    "vqa": "Nets of your own that answer questions, in the form of the sample's. May stay empty.",
    "vectors": "Vectors that were computed elsewhere. May stay empty.",
    "plausibility": "What a language model says of edited questions (`rgqa plausibility`). May stay empty.",
    "annotations": "Exports of verdicts from Label Studio, as they come.",
    "errata": "Faults of released items (`rgqa errata add`): the next release tells them. May stay empty.",
    "predictions": "What models said of the release: NAME.json is a row of the leaderboard (docs/leaderboard.md).",
}
RESERVED = {"release", "cache", "sample"}
RELEASE = """\
  release:                                # stage `release` wants all of these
    title: {name}
    origin: ""                            # where pictures and questions come from
    licence: ""                           # of the data, e.g. CC BY 4.0
    licence_url: ""
    published: ""                         # YYYY-MM-DD
    pictures: false                       # true if you may pass them on
    fetch_recipe: ""                      # how others get the pictures, if you may not
    url: ""                               # where the release will be found
    creators: []                          # who made it
    derived_from: {{}}                      # data sets that it was made from, name: address
    personal_information: ""              # what pictures and questions tell of persons
    folds: 5
    seed: 20231001
"""


def init(name: str, root: Path = Path()) -> str:
    """Create `data/<name>/` and a section of params.yaml, copied from the section `gqa` but for what its `release` says of
    GQA; say what to do next. What is there already stays.

    Raises:
        UserError: the name cannot be a folder's, or params.yaml has no section `gqa` to copy.
    """
    if not re.fullmatch(r"[a-z][a-z0-9-]*", name) or name in RESERVED:
        raise UserError(
            f"{name!r}: a data set's name has lower-case letters, digits and dashes, and is none of {', '.join(sorted(RESERVED))}"
        )
    path = root / PARAMS_FILE
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    if not re.search(rf"^{name}:", text, re.MULTILINE):
        block = re.search(r"^gqa:.*\n((?:[ #].*\n|\n)*)", text, re.MULTILINE)
        if not block:
            raise UserError(
                f"{path}: no section `gqa` to copy the parameters from; run this from the project's root"
            )
        section = re.sub(
            r"^  release:\n((?:    .*\n|\n)*)", RELEASE.format(name=name), block.group(1), flags=re.MULTILINE
        )
        path.write_text(f"{text.rstrip()}\n\n{name}:\n{section.rstrip()}\n", encoding="utf-8")
    for folder, purpose in FOLDERS.items():
        place = root / DATA / name / folder
        place.mkdir(parents=True, exist_ok=True)
        if folder != "source" and not any(place.iterdir()):
            (place / "README.md").write_text(purpose + "\n", encoding="utf-8")
    return (
        f"{DATA / name} and section `{name}` of {PARAMS_FILE} are ready. Put pictures and questions into {Folders(name).source}, "
        f"set `dataset: {name}` in {PARAMS_FILE}, and run dvc repro. Before a release fill in `{name}: release:` there"
    )
