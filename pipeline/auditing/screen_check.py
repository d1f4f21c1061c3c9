"""How well screen decided, against the complete truth (known for drawn worlds alone)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from pipeline.core.records import Answerability, Candidate, Record, Subset


class Screening(Record):
    """Screen's decisions on one subset. `precision`: share of kept candidates that are truly unanswerable; `recall`:
    share of the truly unanswerable that were kept; `false_drop_rate`: share of the truly unanswerable among those
    dropped because they were held to be answerable. null where nothing is counted."""

    kept: int
    dropped: int
    unanswerable: int
    held_answerable: int
    precision: float | None
    recall: float | None
    false_drop_rate: float | None


def screening(
    candidates: Iterable[Candidate],
    truth: Mapping[str, Answerability],
    kept: Collection[str],
    held_answerable: Collection[str],
) -> dict[Subset, Screening]:
    """Compare screen's decisions with the truth.

    Args:
        candidates: all that went into screen. truth: candidate id -> what is true of it.
        kept: ids that stayed. held_answerable: ids dropped because the question was held to have an answer
            (other reasons, such as a text that gives its answer away, are no claim on the picture).
    """
    rows: dict[Subset, list[str]] = {}
    for candidate in candidates:
        rows.setdefault(candidate.subset, []).append(candidate.candidate_id)
    return {subset: _count(ids, truth, kept, held_answerable) for subset, ids in sorted(rows.items())}


def _count(
    ids: list[str], truth: Mapping[str, Answerability], kept: Collection[str], held: Collection[str]
) -> Screening:
    unanswerable = {i for i in ids if truth[i] == "unanswerable"}
    stayed, wrong = {i for i in ids if i in kept}, {i for i in ids if i in held}

    def share(part: set[str], whole: set[str]) -> float | None:
        return round(len(part & whole) / len(whole), 4) if whole else None

    return Screening(
        kept=len(stayed),
        dropped=len(ids) - len(stayed),
        unanswerable=len(unanswerable),
        held_answerable=len(wrong),
        precision=share(unanswerable, stayed),
        recall=share(stayed, unanswerable),
        false_drop_rate=share(unanswerable, wrong),
    )
