"""Create the folders and the section of params.yaml of a new data set, and copy its images and questions:
`rgqa init NAME`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from filecmp import cmp
from pathlib import Path
from typing import Any, NamedTuple, get_args

import msgspec

from pipeline.core.atomic_files import write_text
from pipeline.core.errors import Problems, UserError, format_count, join_examples
from pipeline.core.images import find_image_files, strip_image_suffix
from pipeline.core.json_files import copy_file
from pipeline.core.params import PARAMS_FILE, convert_params, read_params_text
from pipeline.core.paths import DATA_DIR, DatasetFolders
from pipeline.core.project import is_own_project
from pipeline.core.rank_params import RankParams, SizeMeter, resolve_rank_sizes
from pipeline.core.records import CLIP_SUBSETS, SUBSETS, Split
from pipeline.core.release_params import ReleaseParams
from pipeline.core.strict_yaml import parse_yaml

FOLDER_READMES = {
    "source": "Inputs: images in `images/`, questions and, if available, scene graphs. docs/reference/files_and_records.md describes the formats.",
    "truth": "Complete scene graphs. Leave it empty: only synthetic worlds have them.",
    "clip": "A local CLIP checkpoint: `open_clip_config.json` and weights. Leave it empty if the model is downloaded by name.",
    "vqa": "Your own VQA models, in the format of the models of the sample (data/sample/vqa). May stay empty.",
    "embeddings": "Precomputed embeddings (`rgqa export-embeddings`). May stay empty.",
    "annotations": "Verdicts exported from Label Studio.",
    "rounds": "Verified candidates of earlier annotation rounds (`rgqa annotate end-round`). May stay empty.",
    "errata": "Errors in released items (`rgqa errata add`). The next release lists them. May stay empty.",
    "predictions": "Predictions of models: NAME.json is a row of the leaderboard (docs/guides/compare_models.md).",
}
# Folders of the list above that only the stages of a clone read, and the sections of their stages.
CLONE_FOLDERS = ("truth", "vqa", "predictions")
CLONE_SECTIONS = ("paper", "leaderboard")
SUBSETS_WITHOUT_CLIP = "{subsets: [pt-easy, pt-hard]}"
# Names that a data set must not have, because they have another meaning: folders in data/, keys of
# params.yaml, and words that YAML does not read as strings.
RESERVED_NAMES = {"release", "cache", "label-studio", "sample", "dataset", "version"}
YAML_NON_STRINGS = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}
# Maximum number of characters of a name. The name becomes part of file names.
MAX_NAME_LENGTH = 60
# Suffix of a table -> its name in the source folder. A table separated by tabs is recognized by its header.
TABLE_NAMES = {
    ".csv": "questions.csv",
    ".tsv": "questions.csv",
    ".xlsx": "questions.xlsx",
    ".parquet": "questions.parquet",
    ".jsonl": "questions.jsonl",
}
# Only what differs from the defaults, and what the release needs. DVC needs the key of every stage.
SECTION_TEMPLATE = """\
  # {{}} means the defaults, sized by your data. docs/reference/parameters.md lists all parameters.
  ingest: {ingest}
  vocabulary: {{}}
  embed: {{}}
  rank: {{}}
  perturb: {{max_query_only_proportion: 0.01}}   # at most 1 % edit only what is asked for ("nobody" may be a true answer)
  estimate: {{}}
  batch: {{}}
  annotate: {{}}
  collect: {{}}
  balance: {{}}
  audit: {{}}
  release:
    title: {name:<30} # required: name of the data set on its card
    data_source: ""                       # required: where images and questions come from, one paragraph
    licence: ""                           # required: licence of questions and verdicts, e.g. CC BY 4.0
    licence_url: ""                       # required: URL of its text
    release_date: ""                      # required: YYYY-MM-DD
    include_images: false                 # true if you may redistribute the images; then state their licence in licence_overrides
  paper: {{}}
  leaderboard: {{}}
"""


class NewFiles(NamedTuple):
    """Images and a table that are to be copied into a source folder.

    Attributes:
        targets: Source path -> target path, of the table and of each image with a question.
        num_images, num_questions: Number of images with questions, and of questions.
        unused_images: Names of the images without a question, which are not copied.
        warnings: What the user should know.
        sizes: The sizes of the CLIP subsets, as text; "" if there are none.
    """

    targets: Mapping[Path, Path]
    num_images: int
    num_questions: int
    unused_images: list[str]
    warnings: list[str]
    sizes: str


def create_dataset(
    name: str,
    root: Path = Path(),
    images: Path | None = None,
    questions: Path | None = None,
    *,
    scene_graphs: Path | None = None,
    without_clip: bool = False,
    new_project: str = "",
) -> str:
    """Create `data/<name>/` and a section of params.yaml. Existing files and sections stay as they are.

    The new section contains only what differs from the defaults, and what the release needs.

    Args:
        name: Name of the data set.
        root: Root of the project.
        images: Folder with images to copy into the source folder; None if the user puts them there.
        questions: Table of questions about them.
        scene_graphs: Folder of scene graphs in the format of GQA to copy; None if there are none.
        without_clip: Whether the new section asks for the subsets that need no CLIP model only.
        new_project: The folder as the user will find it, for the message, if the project is new. Otherwise "".

    Returns:
        A message that says what was done, what to do next and what the release will ask for.

    Raises:
        UserError: The name is invalid, params.yaml cannot be extended, or the images and the table have faults. Nothing is written then.
    """
    if (
        not re.fullmatch(r"[a-z][a-z0-9-]*", name)
        or name in RESERVED_NAMES | YAML_NON_STRINGS
        or len(name) > MAX_NAME_LENGTH
    ):
        reserved = ", ".join(sorted(RESERVED_NAMES | YAML_NON_STRINGS))
        shown = name if len(name) <= MAX_NAME_LENGTH else f"{name[:MAX_NAME_LENGTH]}..."
        raise UserError(
            f"{shown!r}: invalid name of a data set; use lower-case letters, digits and dashes, at most {MAX_NAME_LENGTH} "
            f"characters, a letter at the beginning, and none of {reserved}"
        )
    if (images is None) != (questions is None):
        given, other = ("--images", "--questions") if questions is None else ("--questions", "--images")
        raise UserError(f"{given}: {other} is missing; give both, or copy the files yourself")
    if scene_graphs and not images:
        raise UserError(
            "--scene-graphs: --images and --questions are missing; give all three, or copy the files yourself"
        )
    path = root / PARAMS_FILE
    if not path.is_file():
        raise UserError(
            f"{path}: no such file; run this in the folder of a project, or make one with rgqa init FOLDER"
        )
    text = read_params_text(path)
    exists = name in (parse_yaml(text, path) or {})
    if exists and without_clip:
        raise UserError(
            f"--without-clip has no effect: {path} has a section {name!r} already; write `ingest: {SUBSETS_WITHOUT_CLIP}` there"
        )
    new_text = text if exists else _append_section(text, make_section(name, without_clip, root), name, path)
    section = parse_yaml(new_text, path)[name]
    home = root / DATA_DIR / name
    new_files = (
        _check_new_files(images, questions, scene_graphs, home / "source", section, path, name)
        if images and questions
        else None
    )
    if new_text != text:
        # If params.yaml is a link, its target is replaced.
        write_text(path.resolve(), new_text)
    for folder, purpose in FOLDER_READMES.items():
        if folder in CLONE_FOLDERS and is_own_project(root):
            continue
        place = home / folder
        place.mkdir(parents=True, exist_ok=True)
        if folder != "source" and not any(place.iterdir()):
            write_text(place / "README.md", purpose + "\n")
    if new_files:
        for source, target in new_files.targets.items():
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                copy_file(source, target)
    is_in_use = parse_yaml(new_text, path).get("dataset") == name
    return "\n".join(_describe_result(name, section, new_files, is_in_use, new_project))


def make_section(name: str, without_clip: bool, root: Path) -> str:
    """Return the section of a new data set.

    Args:
        name: Name of the data set.
        without_clip: Whether it asks for the subsets that need no CLIP model only.
        root: Root of the project. A project of one's own has no stages that compare with the paper's rules or make a leaderboard.
    """
    section = SECTION_TEMPLATE.format(name=name, ingest=SUBSETS_WITHOUT_CLIP if without_clip else "{}")
    left_out = tuple(f"  {key}:" for key in CLONE_SECTIONS) if is_own_project(root) else ()
    return "".join(line for line in section.splitlines(keepends=True) if not line.startswith(left_out))


def _append_section(text: str, section: str, name: str, path: Path) -> str:
    """Return the text of params.yaml with a new section at the end.

    Args:
        text: The text of params.yaml.
        section: The text of the new section.
        name: Name of the new section.
        path: Path of params.yaml, for messages.

    Raises:
        UserError: Appending the section would change the meaning of the file.
    """
    before = parse_yaml(text, path) or {}
    new_text = f"{text.rstrip()}\n\n{name}:\n{section}"
    try:
        after = parse_yaml(new_text, path)
    except UserError:
        after = {}
    if not isinstance(before, dict) or after != before | {name: parse_yaml(section, path)}:
        raise UserError(
            f"{path}: no section can be appended; write the keys at the beginning of their lines, with nothing after the last section"
        )
    return new_text


def _check_new_files(
    images: Path,
    questions: Path,
    scene_graphs: Path | None,
    source: Path,
    section: Mapping[str, Any],
    params_path: Path,
    name: str,
) -> NewFiles:
    """Check images, a table and scene graphs as stage `ingest` does, and that they replace nothing in the source folder.

    Raises:
        UserError: Lists all faults.
    """
    # Both import a lot, which `rgqa init NAME` does not need.
    from pipeline.language.functional_programs import is_existence_question
    from pipeline.sources.source_folder import IngestParams, SourceFolder

    _check_paths(images, questions, scene_graphs)

    def convert(stage: str, kind: Any) -> Any:
        return convert_params(section.get(stage) or {}, kind, f"{params_path}, {name}.{stage}")

    params, rank_params = convert("ingest", IngestParams), convert("rank", RankParams)
    folder = SourceFolder(source, params, (questions, images))
    meter, num_questions = SizeMeter(params.split), 0
    for question in folder.read_questions():
        meter.add(question, is_existence_question(question))
        num_questions += 1
    files = {record.image_id: Path(record.path) for record in folder.read_images()}
    warnings = (
        [] if folder.problems.lines else meter.find_problems(params.subsets, rank_params, folder.problems)
    )
    table = source / TABLE_NAMES[questions.suffix.lower()]
    targets = {questions: table, **{path: source / "images" / path.name for path in files.values()}}
    if scene_graphs:
        targets |= {
            path: source / "sceneGraphs" / path.name for path in _check_graphs(scene_graphs, folder.problems)
        }
    for fault in _find_conflicts(targets, table):
        folder.problems.add(*fault)
    folder.make_report()
    if unused := folder.get_unused_questions():
        warnings.append(
            f"{format_count(len(unused), 'question')} without an answer, which will be skipped: {join_examples([row.question_id for row in unused])}"
        )
    sizes = ""
    if set(CLIP_SUBSETS).intersection(params.subsets):
        chosen = resolve_rank_sizes(rank_params, meter.measure())._asdict()
        sizes = ", ".join(f"{key} {number:,}" for key, number in chosen.items())
    used = {path.name for path in files.values()}
    left_out = sorted(path.name for path in images.iterdir() if path.is_file() and path.name not in used)
    return NewFiles(targets, len(files), num_questions, left_out, warnings, sizes)


def _check_paths(images: Path, questions: Path, scene_graphs: Path | None) -> None:
    """Raise a UserError that lists all paths that do not exist or have a wrong name."""
    problems = list[str]()
    if not images.is_dir():
        problems.append(f"--images {images}: no such folder")
    if not questions.is_file():
        problems.append(f"--questions {questions}: no such file")
    elif questions.suffix.lower() not in TABLE_NAMES:
        problems.append(
            f"--questions {questions}: the name of a table ends with {', '.join(TABLE_NAMES)}; save it in one of these formats"
        )
    if scene_graphs and not _list_graph_files(scene_graphs):
        names = ", ".join(f"{split}_sceneGraphs.json" for split in get_args(Split))
        problems.append(f"--scene-graphs {scene_graphs}: wanted a folder with one of {names}")
    if problems:
        raise UserError(problems)


def _list_graph_files(folder: Path) -> dict[Split, Path]:
    """Return split -> file, for the files of scene graphs in a folder."""
    paths = {split: folder / f"{split}_sceneGraphs.json" for split in get_args(Split)}
    return {split: path for split, path in paths.items() if path.is_file()}


def _check_graphs(folder: Path, problems: Problems) -> list[Path]:
    """Return the files of scene graphs in a folder. Their problems are collected."""
    from pipeline.sources.gqa_files import read_scene_graphs

    there = _list_graph_files(folder.resolve())
    for _ in read_scene_graphs(folder.resolve(), tuple(there), problems):
        pass
    return [*there.values()]


def _find_conflicts(targets: Mapping[Path, Path], table: Path) -> Iterator[tuple[str, str]]:
    """Yield the files of the source folder that would be replaced or contradicted, each with what to do."""
    for other in sorted(set(TABLE_NAMES.values())):
        if (place := table.with_name(other)).exists() and place != table:
            yield str(place), f"another table is there; a source has one, so move it away to use {table.name}"
    folder = table.parent / "images"
    present = find_image_files(folder)[0] if folder.is_dir() else {}
    for source, target in targets.items():
        if target.exists():
            if not target.samefile(source) and not cmp(source, target, shallow=False):
                yield (
                    str(target),
                    f"exists and differs from {source}; move it away, or use another data set",
                )
        elif target != table and (other := present.get(strip_image_suffix(target.name))):
            yield str(other), f"has the same id as {source}; keep one of them"


def _describe_result(
    name: str, section: Mapping[str, Any], new_files: NewFiles | None, is_in_use: bool, new_project: str
) -> Iterator[str]:
    """Yield the lines of the message at the end."""
    source = DatasetFolders(name).source
    if new_project:
        yield f"{new_project} is a new project with data set `{name}`."
    else:
        yield f"{DATA_DIR / name} and section `{name}` of {PARAMS_FILE} are ready."
    if new_files:
        yield f"  {format_count(new_files.num_images, 'image')} and {format_count(new_files.num_questions, 'question')} are in {source}."
        if new_files.unused_images:
            number = format_count(len(new_files.unused_images), "file was", "files were")
            yield f"  {number} not copied, because no question is about them: {join_examples(new_files.unused_images)}"
        yield from (f"  Warning: {warning}" for warning in new_files.warnings)
        if new_files.sizes:
            yield f"  Sizes of the CLIP subsets, fitted to the data: {new_files.sizes}"
    else:
        there = ", in the project" if new_project else ""
        yield f"  Put images into {source / 'images'} and a table of questions into {source}. To copy and check both{there}: rgqa init {name} --images FOLDER --questions FILE"
    if set(CLIP_SUBSETS).intersection(
        subsets := (section.get("ingest") or {}).get("subsets", SUBSETS)
    ) and not section.get("embed"):
        wanted = ", ".join(subset for subset in CLIP_SUBSETS if subset in subsets)
        yield f"  {wanted}: the first run downloads a CLIP model once (about 600 MB). To make the other subsets only, without a model: `ingest: {SUBSETS_WITHOUT_CLIP}` in {PARAMS_FILE}"
    first = f"cd {shlex.quote(new_project)}, and " if new_project else ""
    first += "" if is_in_use else f"set `dataset: {name}` in {PARAMS_FILE}, and "
    yield f"Next: {first}run dvc repro. It makes annotation tasks and stops until they are judged."
    given = section.get("release") or {}
    fields = msgspec.structs.fields(ReleaseParams)
    empty = [
        field.encode_name for field in fields if field.required and given.get(field.encode_name) in (None, "")
    ]
    yield "The release will ask for:"
    if empty:
        yield f"  {', '.join(empty)} in `{name}: release:` of {PARAMS_FILE}"
    if given.get("include_images", True):
        yield f"  the licence of the images in `{name}: release: licence_overrides`, or include_images: false"
    yield f"  verdicts of human annotators in {DATA_DIR / name / 'annotations'} (docs/guides/human_annotation.md). With fewer than three annotators, or without an adjudicator who judges the audit sample, the dataset card marks the release as a trial."
    yield f"  a `version` in {PARAMS_FILE} that is not published yet"
