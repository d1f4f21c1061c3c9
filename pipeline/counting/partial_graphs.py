"""The partial graphs of pictures that have questions but no published graph."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import NamedTuple

from pipeline.core.files import lines, replacing
from pipeline.core.parallel import ordered_map, processes
from pipeline.core.paths import Folders
from pipeline.core.progress import track
from pipeline.core.records import Question
from pipeline.core.rows import Groups, Records
from pipeline.judge.reconstruct import Reconstructed, reconstruct
from pipeline.words.lexicon import Lexicon


def write_graphs(folders: Folders, lexicon: Lexicon, published: Collection[str]) -> Records[Reconstructed]:
    """Write the partial graphs of all pictures without a published one, by their questions, unbalanced ones too;
    sorted by picture id. They are read back one by one."""
    path = folders.stage("vocabulary") / "reconstructed.jsonl"
    inputs = partial(_inputs, folders, lexicon)
    pictures = sorted(set(inputs().questions) - set(published))
    with replacing(path) as file:
        graphs = ordered_map(graph_of, pictures, inputs, processes(len(pictures)))
        for line in track(graphs, "vocabulary: partial graphs", len(pictures), "picture"):
            file.write(line)
    return Records(path, Reconstructed)


class _Inputs(NamedTuple):
    questions: Groups[Question]
    lexicon: Lexicon


def _inputs(folders: Folders, lexicon: Lexicon) -> _Inputs:
    files = [folders.stage("ingest") / f"{name}.jsonl" for name in ("questions", "unbalanced")]
    return _Inputs(Groups(files, Question, "picture_id"), lexicon)


def graph_of(inputs: _Inputs, picture_id: str) -> bytes:
    """The partial graph of one picture as a line; no line if its questions tell nothing."""
    graph = reconstruct(inputs.questions[picture_id], inputs.lexicon)
    return lines([graph] if graph else [])
