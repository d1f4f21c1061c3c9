"""Whether a question has an answer at a picture, as far as the evidence tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipeline.core.records import Judgement, Question, Scene, Step
from pipeline.judge.execute import execute
from pipeline.judge.facts import Facts, facts_of
from pipeline.judge.reconstruct import Reconstructed, facts_known, reconstruct
from pipeline.programs.operations import parse
from pipeline.words.lexicon import Lexicon

Told = Mapping[str, Reconstructed] | Mapping[str, Sequence[Question]]  # of pictures, by their ids


def judge(program: Sequence[Step], facts: Facts | None, text: str = "") -> Judgement:
    """Judge a question by its (edited) program.

    Args:
        program: its steps; object ids in them are ignored, as a reader of the question does not see them.
        facts: the evidence about the picture (`evidence_for`), None for none.
        text: names the question in errors.

    Returns:
        answerable, unanswerable with the category of the first step that fails, or unknown: the evidence is
        incomplete and nothing in it speaks against the question, or the question has no program.

    Raises:
        UserError: the program is malformed.
    """
    if facts is None:
        return Judgement(answerability="unknown", detail="there is no evidence about the picture")
    if not program:
        return Judgement(answerability="unknown", evidence=facts.source, detail="the question has no program")
    outcome = execute(parse(program, text), facts)
    return Judgement(
        answerability=outcome.answerability,
        category=outcome.category,
        evidence=facts.source,
        detail=outcome.detail,
    )


def evidence_for(picture_id: str, scenes: Mapping[str, Scene], told: Told, lexicon: Lexicon) -> Facts | None:
    """The best evidence about a picture: its scene graph, else what its answered questions say, else None.

    Args:
        scenes: picture id -> published scene graph.
        told: picture id -> its partial graph, or the questions of which one is made here.
    """
    if picture_id in scenes:
        return facts_of(scenes[picture_id], lexicon)
    if picture_id not in told:
        return None
    evidence = told[picture_id]
    graph = evidence if isinstance(evidence, Reconstructed) else reconstruct(evidence, lexicon)
    return facts_known(graph, lexicon) if graph else None
