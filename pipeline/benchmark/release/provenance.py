"""The story of each item of a release, and what did not become one."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

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
    "REHEARSAL, NO BENCHMARK: verdicts simulated from graphs that were put together from questions."
)

DROPPED_FILES = ("perturb/unperturbed.jsonl", "screen/dropped.jsonl", "balance/unpaired.jsonl")


class Provenance(Record):
    """An item's whole story."""

    item: Item
    source_text: str
    source_image_id: str
    program: tuple[Step, ...]
    verifier_result: VerifierResult | None
    votes_invalid: int
    votes_valid: int
    votes_excluded: int
    decided_by: Literal["votes", "expert"] | None = None


def make_canary(dataset: str, version: str, simulated: bool = False, rehearsal: bool = False) -> str:
    """A string that stands in every row and nowhere else: if a model knows it, it has seen the benchmark. Where people
    judged nothing it says so."""
    warning = f"{REHEARSAL_WARNING} " if rehearsal else f"{SIMULATED_WARNING} " if simulated else ""
    return f"{warning}RGQA-CANARY {uuid.uuid5(uuid.NAMESPACE_URL, f'rgqa-pipeline/{dataset}/{version}')}"


def make_provenance(
    items: Iterable[Item], questions: Mapping[str, Question], verified: Mapping[str, CollectedCandidate]
) -> Iterator[Provenance]:
    """Join every item with its source question and, for a UQ, its candidate, evidence and votes."""
    for item in items:
        source, judged = questions[item.question_id], verified.get(item.item_id)
        yield Provenance(
            item=item,
            source_text=source.source_text or source.text,
            source_image_id=source.image_id,
            program=(judged and judged.candidate.program) or source.program,
            verifier_result=judged.verifier_result if judged else None,
            votes_invalid=judged.votes_invalid if judged else 0,
            votes_valid=judged.votes_valid if judged else 0,
            votes_excluded=judged.votes_excluded if judged else 0,
            decided_by=judged.decided_by if judged else None,
        )


def iter_dropped(
    folders: DatasetFolders, verified: Iterable[CollectedCandidate]
) -> Iterator[DroppedCandidate]:
    """Every candidate, or question to be edited, that did not become an item: what each stage dropped, and the candidates
    that the verdicts ended: said to be answerable, in doubt, or never judged."""
    for name in DROPPED_FILES:
        yield from read_jsonl(folders.stage_dir(name), DroppedCandidate)
    for row in verified:
        if row.status != "unanswerable":
            word = ", decided by an expert" if row.decided_by == "expert" else ""
            detail = f"{row.votes_invalid} invalid, {row.votes_valid} valid{word}"
            yield row.candidate.as_dropped("collect", row.status, detail)
