"""The provenance of each item of a release, and of the candidates that did not become items."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from msgspec import UNSET, UnsetType

from pipeline.core.json_files import read_jsonl
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import (
    CollectedCandidate,
    DroppedCandidate,
    Item,
    Question,
    Record,
    Step,
    VerifierResult,
)

SIMULATED_WARNING = "VERDICTS SIMULATED BY PROGRAMS."
REHEARSAL_WARNING = (
    "REHEARSAL, NOT A BENCHMARK: verdicts simulated from graphs that were reconstructed from questions."
)

UNJUDGED_WARNING = "SOME AQS ARE ANSWERABLE ONLY ACCORDING TO A MODEL, JUDGED BY NOBODY."
# How the reason of a dropped candidate says who decided, if it was not the votes of people.
DECIDED_BY_TEXTS = {"adjudicator": ", decided by an adjudicator", "panel": ", decided by a panel of models"}

DROPPED_FILES = ("perturb/unedited.jsonl", "screen/dropped.jsonl", "balance/unpaired.jsonl")


class Provenance(Record):
    """How an item was made.

    Attributes:
        item: The item.
        source_text, source_image_id: Text of the source question, and id of its image.
        program: The functional program of the released question.
        verifier_result: The verifier's result for the candidate. None for answerable questions (AQs).
        votes_invalid, votes_valid, votes_excluded: Numbers of votes about the candidate. 0 for AQs.
        decided_by: Whether the votes of people, an adjudicator or only a panel of models decided. None for AQs.
        drafted_by: The model that wrote the source question. The field is missing if no model is known to have written it.
    """

    item: Item
    source_text: str
    source_image_id: str
    program: tuple[Step, ...]
    verifier_result: VerifierResult | None
    votes_invalid: int
    votes_valid: int
    votes_excluded: int
    decided_by: Literal["votes", "adjudicator", "panel"] | None = None
    drafted_by: str | UnsetType = UNSET


def make_canary(
    dataset: str, version: str, simulated: bool = False, rehearsal: bool = False, unjudged: bool = False
) -> str:
    """Return the canary string of a version.

    The canary string is in every row and nowhere else. So a model that can repeat the string has seen the
    data. The string starts with a warning if the verdicts are simulated, or if nobody judged some AQs that a model drafted.
    """
    warning = f"{REHEARSAL_WARNING} " if rehearsal else f"{SIMULATED_WARNING} " if simulated else ""
    warning += f"{UNJUDGED_WARNING} " if unjudged else ""
    return f"{warning}RGQA-CANARY {uuid.uuid5(uuid.NAMESPACE_URL, f'rgqa-pipeline/{dataset}/{version}')}"


def make_provenance(
    items: Iterable[Item], questions: Mapping[str, Question], verified: Mapping[str, CollectedCandidate]
) -> Iterator[Provenance]:
    """Yield the provenance of each item.

    Args:
        items: The items.
        questions: Id -> source question.
        verified: Id -> verified candidate, for unanswerable questions.
    """
    for item in items:
        source, collected = questions[item.question_id], verified.get(item.item_id)
        yield Provenance(
            item=item,
            source_text=source.source_text or source.text,
            source_image_id=source.image_id,
            program=(collected and collected.candidate.program) or source.program,
            verifier_result=collected.verifier_result if collected else None,
            votes_invalid=collected.votes_invalid if collected else 0,
            votes_valid=collected.votes_valid if collected else 0,
            votes_excluded=collected.votes_excluded if collected else 0,
            decided_by=collected.decided_by if collected else None,
            drafted_by=source.drafted_by,
        )


def iter_dropped(
    folders: DatasetFolders, verified: Iterable[CollectedCandidate]
) -> Iterator[DroppedCandidate]:
    """Yield every candidate that did not become an item, and every question that could not be edited.

    These are the candidates and questions that a stage dropped, candidates that annotators found answerable
    or did not agree about, and candidates without votes.
    """
    for name in DROPPED_FILES:
        yield from read_jsonl(folders.stage_dir(name), DroppedCandidate)
    for row in verified:
        if row.status != "unanswerable":
            word = DECIDED_BY_TEXTS.get(row.decided_by, "")
            detail = f"{row.votes_invalid} invalid, {row.votes_valid} valid{word}"
            yield row.candidate.as_dropped("collect", row.status, detail)
