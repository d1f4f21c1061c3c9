"""Verdicts of simulated annotators, who are told what is in the pictures: the complete truth, or in a rehearsal incomplete
graphs taken as complete. Both are marked."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, partial

from pipeline.core.paths import Folders
from pipeline.core.progress import track
from pipeline.core.records import Picture, Task, TaskQuestion, Verdict
from pipeline.sources import gqa_files
from pipeline.verifier.evidence_loading import evidence_files
from pipeline.verifier.verification import judge
from research.simulated_annotators.annotators import Look, annotate, view
from research.simulated_annotators.word_senses import WordSenses

SHOWN = "collect: simulated annotators"


def faultless(folders: Folders) -> Look:
    """What is to be seen in the complete truth.

    Raises:
        UserError: there is none.
    """
    truth = gqa_files.truth(folders.truth, (row.split for row in folders.rows(Picture)))
    vocabulary = folders.vocabulary()
    words = WordSenses(categories=vocabulary.categories, attribute_types=vocabulary.attribute_types)
    return partial(view, truth, words)


def simulated(folders: Folders, tasks: Iterable[Task], votes: int, seed: int) -> list[Verdict]:
    """Verdicts from the complete truth; see `faultless`."""
    return annotate(track(tasks, SHOWN, unit="task"), faultless(folders), votes, seed)


def rehearsed(folders: Folders, tasks: Iterable[Task], votes: int, seed: int) -> list[Verdict]:
    """Verdicts from the graphs that there are, published or put together from questions, as if they were complete."""
    facts_of = cache(evidence_files(folders, folders.vocabulary(), complete=True))

    def look(question: TaskQuestion, picture_id: str) -> str:
        judgement = judge(question.program, facts_of(picture_id), question.text)
        if judgement.answerability == "answerable":
            return ""
        return "unclear" if judgement.answerability == "unknown" else judgement.category or "unclear"

    return annotate(track(tasks, SHOWN, unit="task"), look, votes, seed, rehearsal=True)
