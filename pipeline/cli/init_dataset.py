"""Make a place for a data set of one's own: its folders and its section of params.yaml."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from pipeline.core.atomic_files import write_text
from pipeline.core.errors import UserError
from pipeline.core.params import PARAMS_FILE, read_params_text
from pipeline.core.paths import DATA_DIR, DatasetFolders
from pipeline.core.release_params import ReleaseParams
from pipeline.core.strict_yaml import parse_yaml

FOLDER_READMES = {
    "source": "What comes in: pictures in `images/`, questions and (if there are any) scene graphs. See data/README.md for the formats.",
    "truth": "The complete truth of every image, if anybody knows it. Leave it empty: only drawn worlds have one.",
    "clip": "A local CLIP checkpoint: `open_clip_config.json` and weights. Leave it empty if the model is fetched by name.",
    "vqa": "Nets of your own that answer questions, in the form of the sample's. May stay empty.",
    "embeddings": "Vectors that were computed elsewhere. May stay empty.",
    "annotations": "Exports of verdicts from Label Studio, as they come.",
    "rounds": "What earlier rounds of annotation verified (`rgqa annotate end-round`). May stay empty.",
    "errata": "Faults of released items (`rgqa errata add`): the next release lists them. May stay empty.",
    "predictions": "What models said of the release: NAME.json is a row of the leaderboard (docs/guides/compare_models.md).",
}
# Names that mean something else: folders in data/, keys of params.yaml, and words that YAML's versions read as no text.
RESERVED_NAMES = {"release", "cache", "label-studio", "sample", "dataset", "version"}
YAML_NON_STRINGS = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}
MAX_NAME_LENGTH = 60  # letters: it becomes part of names of files
RELEASE_SECTION_TEMPLATE = """\
  release:                                # all that the card can state; what is empty is not stated
    title: {name}
    data_source: ""                       # needed: where images and questions come from
    licence: ""                           # needed: of questions and verdicts, e.g. CC BY 4.0
    licence_url: ""                       # needed: the address of its text
    licence_overrides: {{}}                 # of one part: images: {{name: CC BY 4.0, url: "https://..."}}; also questions, verdicts
    release_date: ""                      # needed: YYYY-MM-DD
    include_images: false                       # true if you may pass the images on; then state their licence above
    image_instructions: ""                # how others get the images, if you may not
    url: ""                               # where the release will be found
    creators: []                          # who made it
    keywords: []
    languages: []                         # of the questions, e.g. [en]
    derived_from:                         # data sets that it was made from, name: address; {{}} if all is your own
    annotated_by: ""                      # crowdsourced, expert-generated or other
    annotator_demographics: ""            # what is known of the annotators
    annotation_dates:                     # first and last day of the annotation, e.g. ["2026-03-01", "2026-04-09"]
    simulated_content: []                 # what no person made, beside verdicts, a sentence each
    biases: []                            # which slice of the world the images and questions show, a sentence each
    limitations: []                       # what is known to be wrong or missing, a sentence each
    personal_information: ""              # what images and questions reveal about persons
    intended_uses: []                     # what it is meant for and what not, a sentence each
    social_impact: ""                     # what it may do to people
    maintenance: ""                       # who mends faults, and how
    num_folds: 5
    seed: 20231001
"""


def create_dataset(name: str, root: Path = Path()) -> str:
    """Create `data/<name>/` and a section of params.yaml, copied from the section `gqa` but for what its `release` says of
    GQA; say what to do next. What is there already stays.

    Raises:
        UserError: the name cannot be a folder's, or params.yaml has no section `gqa` to copy.
    """
    if (
        not re.fullmatch(r"[a-z][a-z0-9-]*", name)
        or name in RESERVED_NAMES | YAML_NON_STRINGS
        or len(name) > MAX_NAME_LENGTH
    ):
        reserved = ", ".join(sorted(RESERVED_NAMES | YAML_NON_STRINGS))
        shown = name if len(name) <= MAX_NAME_LENGTH else f"{name[:MAX_NAME_LENGTH]}..."
        raise UserError(
            f"{shown!r}: a data set's name has lower-case letters, digits and dashes, begins with a letter, has at most {MAX_NAME_LENGTH} "
            f"of them, and is none of {reserved}"
        )
    path = root / PARAMS_FILE
    if not path.is_file():
        raise UserError(f"{path}: no such file; run this from the project's root")
    text = read_params_text(path)
    if name not in (parse_yaml(text, path) or {}):
        # Through a link, if it is one, to the file itself, which takes its new content whole or not at all.
        write_text(path.resolve(), _append_section(text, name, path))
    for folder, purpose in FOLDER_READMES.items():
        place = root / DATA_DIR / name / folder
        place.mkdir(parents=True, exist_ok=True)
        if folder != "source" and not any(place.iterdir()):
            write_text(place / "README.md", purpose + "\n")
    needed = {field.encode_name for field in msgspec.structs.fields(ReleaseParams) if field.required}
    return (
        f"{DATA_DIR / name} and section `{name}` of {PARAMS_FILE} are ready. Put images and questions into {DatasetFolders(name).source}, "
        f"set `dataset: {name}` in {PARAMS_FILE}, and run dvc repro. Fill in `{name}: release:` there: the card states nothing else "
        f"about your data (needed: {', '.join(sorted(needed))})"
    )


def _append_section(text: str, name: str, path: Path) -> str:
    """params.yaml with a section `name` behind all others, copied from `gqa` line by line, comments included.

    Raises:
        UserError: there is no such section, or it is written so that its lines alone say something else.
    """
    before = parse_yaml(text, path) or {}
    gqa = before.get("gqa")
    if not gqa:
        raise UserError(
            f"{path}: no section `gqa` to copy the parameters from; run this from the project's root"
        )
    block = re.search(r"^gqa:.*\n((?:[ #].*\n|\n)*)", text, re.MULTILINE)
    lines = block.group(1).rstrip() if block else ""
    section = re.sub(
        r"^  release:\n((?:    .*\n|\n)*)",
        RELEASE_SECTION_TEMPLATE.format(name=name),
        lines + "\n",
        flags=re.MULTILINE,
    )
    whole = f"{text.rstrip()}\n\n{name}:\n{section.rstrip()}\n"
    try:
        after = parse_yaml(whole, path)
    except UserError:
        after = {}
    release = parse_yaml(RELEASE_SECTION_TEMPLATE.format(name=name), path) if "release" in gqa else {}
    if not isinstance(gqa, dict) or after != before | {name: gqa | release}:
        raise UserError(
            f"{path}: the section `gqa` cannot be copied as it is written; write it as the project has it, each parameter on a "
            "line of its own, indented by two blanks under `gqa:`, with nothing behind the last section"
        )
    return whole
