"""Every candidate, or question to be edited, that did not become an item."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pipeline.core.files import read_jsonl
from pipeline.core.paths import Folders
from pipeline.core.records import Dropped, Verified

FILES = (("perturb", "unperturbed.jsonl"), ("screen", "dropped.jsonl"), ("balance", "unpaired.jsonl"))


def all_dropped(folders: Folders, verified: Iterable[Verified]) -> Iterator[Dropped]:
    """What each stage dropped, and the candidates that the verdicts ended."""
    for stage, name in FILES:
        yield from read_jsonl(folders.stage(stage) / name, Dropped)
    yield from not_unanswerable(verified)


def not_unanswerable(verified: Iterable[Verified]) -> Iterator[Dropped]:
    """Candidates that the verdicts ended: said to be answerable, in doubt, or never judged."""
    for row in verified:
        if row.status != "unanswerable":
            yield Dropped(
                candidate_id=row.candidate.candidate_id,
                subset=row.candidate.subset,
                picture_id=row.candidate.picture_id,
                question_id=row.candidate.question_id,
                text=row.candidate.text,
                stage="collect",
                reason=row.status,
                detail=f"{row.votes_invalid} invalid, {row.votes_valid} valid",
            )
