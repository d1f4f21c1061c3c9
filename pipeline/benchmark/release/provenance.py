"""The story of each item of a release, and what did not become one."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from pipeline.core.json_files import read_jsonl
from pipeline.core.paths import Folders
from pipeline.core.records import Dropped, Item, Judgement, Question, Record, Step, Verified

SIMULATED = "VERDICTS SIMULATED BY PROGRAMS."
REHEARSAL = "REHEARSAL, NO BENCHMARK: verdicts simulated from graphs that were put together from questions."

DROPS = ("perturb/unperturbed.jsonl", "screen/dropped.jsonl", "balance/unpaired.jsonl")


class Provenance(Record):
    """An item's whole story."""

    item: Item
    source_text: str
    source_picture_id: str
    program: tuple[Step, ...]
    judgement: Judgement | None
    votes_invalid: int
    votes_valid: int
    votes_set_aside: int
    decided_by: Literal["votes", "expert"] | None = None


def canary(dataset: str, version: str, simulated: bool = False, rehearsal: bool = False) -> str:
    """A string that stands in every row and nowhere else: if a model knows it, it has seen the benchmark. Where people
    judged nothing it says so."""
    warning = f"{REHEARSAL} " if rehearsal else f"{SIMULATED} " if simulated else ""
    return f"{warning}RGQA-CANARY {uuid.uuid5(uuid.NAMESPACE_URL, f'rgqa-pipeline/{dataset}/{version}')}"


def provenance(
    items: Iterable[Item], questions: Mapping[str, Question], verified: Mapping[str, Verified]
) -> Iterator[Provenance]:
    """Join every item with its source question and, for a UQ, its candidate, evidence and votes."""
    for item in items:
        source, judged = questions[item.question_id], verified.get(item.item_id)
        yield Provenance(
            item=item,
            source_text=source.source_text or source.text,
            source_picture_id=source.picture_id,
            program=(judged and judged.candidate.program) or source.program,
            judgement=judged.judgement if judged else None,
            votes_invalid=judged.votes_invalid if judged else 0,
            votes_valid=judged.votes_valid if judged else 0,
            votes_set_aside=judged.votes_set_aside if judged else 0,
            decided_by=judged.decided_by if judged else None,
        )


def all_dropped(folders: Folders, verified: Iterable[Verified]) -> Iterator[Dropped]:
    """Every candidate, or question to be edited, that did not become an item: what each stage dropped, and the candidates
    that the verdicts ended: said to be answerable, in doubt, or never judged."""
    for name in DROPS:
        yield from read_jsonl(folders.stage(name), Dropped)
    for row in verified:
        if row.status != "unanswerable":
            word = ", decided by an expert" if row.decided_by == "expert" else ""
            detail = f"{row.votes_invalid} invalid, {row.votes_valid} valid{word}"
            yield row.candidate.dropped("collect", row.status, detail)
