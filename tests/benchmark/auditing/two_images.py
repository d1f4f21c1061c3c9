"""Hand-written questions about two images, and the evidence to verify them with."""

from __future__ import annotations

import msgspec

from pipeline.benchmark.auditing.verifier_agreement import VerifierInputs, find_related_questions
from pipeline.verifier.partial_graphs import build_partial_graph
from tests.notation import LEXICON, answered_question


def asked(key: str, image: str, program: str, answer: str, **more: object):
    return msgspec.structs.replace(
        answered_question(program, answer, key), image_id=image, structural="query", **more
    )


COLOR, SIZE = "select: cup (2)->query: color [0]", "select: cup (2)->query: size [0]"
RED_CUP = "select: cup (2)->filter color: red [0]->query: size [1]"
# At "a": two ways to ask for the cup's colour, so that each can be answered from the other; the size is asked once.
A = [
    asked("a1", "a", COLOR, "red"),
    asked("a2", "a", "select: cup (2)->verify color: red [0]", "yes"),
    asked("a3", "a", SIZE, "small"),
]
# At "b": no cup.
B = [
    asked("b1", "b", "select: cup (-)->exist: ? [0]", "no"),
    asked("b2", "b", "select: lamp (5)->query: color [0]", "blue"),
]


def source(*questions, truth=None, scenes=None, related=None) -> VerifierInputs:
    by = {}
    for one in questions:
        by.setdefault(one.image_id, []).append(one)
    scenes = scenes or {}
    graphs = {key: build_partial_graph(rows, LEXICON) for key, rows in by.items() if key not in scenes}
    return VerifierInputs(
        by, related or find_related_questions(questions), graphs, scenes, truth or {}, LEXICON
    )
