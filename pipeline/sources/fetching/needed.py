"""What a data set needs of GQA, by its parameters and its questions."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import msgspec
import yaml

from pipeline.core.errors import Problems, UserError
from pipeline.core.params import PARAMS_FILE, convert
from pipeline.sources.fetching.addresses import SPLITS, WITH_GRAPHS
from pipeline.sources.fetching.wanted_files import WantedFile
from pipeline.sources.ingesting import IngestParams
from pipeline.sources.json_members import members
from pipeline.sources.picture_files import is_id


class Needs(NamedTuple):
    """What a data set needs of GQA; `split` is the one whose pictures are fetched."""

    split: str
    questions: tuple[str, ...]
    graphs: tuple[str, ...]
    which: str


def needs(data_set: str, split: str | None, path: Path = PARAMS_FILE) -> Needs:
    """What params.yaml says that `ingest` will read, and what belongs to `split` if that is another one.

    Raises:
        UserError: no such section, or it asks for what GQA does not have.
    """
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; run this from the project's root") from None
    except yaml.YAMLError as error:
        raise UserError(f"{path}: not valid YAML: {error}") from error
    section = document.get(data_set) if isinstance(document, dict) else None
    if not isinstance(section, dict) or "ingest" not in section:
        raise UserError(f"{path}: no section `{data_set}` with an `ingest` in it; run: rgqa init {data_set}")
    params = convert(section["ingest"], IngestParams, f"{path}, {data_set}.ingest")
    chosen = split or params.split
    questions = tuple(dict.fromkeys((chosen, *params.question_splits)))
    graphs = dict.fromkeys((*params.graph_splits, *((chosen,) if chosen in WITH_GRAPHS else ())))
    problems = Problems(f"{path}, {data_set}.ingest")
    for wanted in questions:
        if wanted not in SPLITS:
            problems.add(
                "question_splits", f"{wanted!r}; GQA has questions with answers for {', '.join(SPLITS)}"
            )
    for wanted in graphs:
        if wanted not in WITH_GRAPHS:
            problems.add("graph_splits", f"{wanted!r}; GQA has scene graphs for {' and '.join(WITH_GRAPHS)}")
    problems.raise_if_any()
    return Needs(chosen, questions, tuple(graphs), params.questions)


class _PictureOf(msgspec.Struct):
    picture_id: str = msgspec.field(name="imageId")


def named_pictures(source: Path, prefix: str, texts: list[WantedFile], problems: Problems) -> list[str]:
    """The pictures that questions name, sorted.

    Args:
        texts: files of the source folder; those whose path begins with `prefix` are read.

    Raises:
        UserError: a file or a question is of another form, or a picture's id cannot be a file's name.
    """
    decoder = msgspec.json.Decoder(_PictureOf)
    ids: set[str] = set()
    for path in (file.path for file in texts if file.path.startswith(prefix)):
        for question_id, raw in members(source / path, path, problems).items():
            try:
                ids.add(decoder.decode(raw).picture_id)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                problems.add(f"{path}, question {question_id}", str(error))
    for name in sorted(ids):
        if not is_id(name):
            problems.add(f"{prefix}...", f"picture {name!r} is no plain name")
    problems.raise_if_any()
    return sorted(ids)
