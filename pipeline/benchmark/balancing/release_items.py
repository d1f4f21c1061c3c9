"""Make the items of a release from the pairs of one subset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from pipeline.benchmark.balancing.drafted_questions import describe_unjudged
from pipeline.benchmark.balancing.pairing import NO_ESTIMATES, UqAqPair
from pipeline.core.records import (
    Candidate,
    CandidateEstimate,
    Category,
    CollectedCandidate,
    EditKind,
    GoldQuestionCheck,
    Item,
    Question,
    Subset,
)

CATEGORY_BY_EDIT_KIND: dict[EditKind, Category] = {
    "object": "missing object",
    "attribute": "wrong attribute",
    "relation": "wrong relation",
}
NO_CHECKS: Mapping[str, GoldQuestionCheck] = MappingProxyType({})


def make_items(
    subset: Subset,
    pairs: Sequence[UqAqPair],
    questions: Mapping[str, Question],
    scores: Mapping[str, float | None],
    split: Mapping[str, str],
    estimates: Mapping[str, CandidateEstimate] = NO_ESTIMATES,
    checks: Mapping[str, GoldQuestionCheck] = NO_CHECKS,
) -> list[Item]:
    """Return the items of one subset, sorted by id. An AQ that several pairs share becomes one item.

    Args:
        subset: The subset.
        pairs: The pairs of an unanswerable question (UQ) and an answerable question (AQ).
        questions: Question id -> question of the source.
        scores: Id of a question or of an edited candidate -> CLIP score, or None if there is no score.
        split: Image id -> "validation" or "test".
        estimates: Candidate id -> estimate, or {} if there are no estimates.
        checks: Question id -> votes of annotators on it.
    """
    rows: dict[str, Item] = {}
    for pair in pairs:
        candidate, aq = pair.uq.candidate, pair.aq
        common = {
            "subset": subset,
            "pair_id": f"{subset}+{aq.question_id}",
            "pairing_reason": pair.pairing_reason,
            "simulated": pair.uq.simulated,
            "rehearsal": pair.uq.rehearsal,
        }
        rows[candidate.candidate_id] = _make_item(
            questions[candidate.question_id],
            candidate,
            split,
            item_id=candidate.candidate_id,
            unanswerable=True,
            answer="",
            category=(category := determine_category(pair.uq)),
            category_confirmed=category is not None and pair.uq.reason == category,
            difficulty=estimates[candidate.candidate_id].difficulty if estimates else None,
            edits=candidate.edits,
            query_only=candidate.query_only,
            score=scores.get(candidate.candidate_id, candidate.score),
            rank=candidate.rank,
            verdict_ids=pair.uq.verdict_ids,
            **common,
        )
        if aq.question_id not in rows:
            fields = {"answer": aq.answer, "score": scores.get(aq.question_id), **common}
            if unjudged := describe_unjudged(aq, checks.get(aq.question_id)):
                fields["unjudged"] = unjudged
            rows[aq.question_id] = _make_item(
                aq, aq, split, item_id=aq.question_id, unanswerable=False, **fields
            )
    return [rows[key] for key in sorted(rows)]


def determine_category(uq: CollectedCandidate) -> Category | None:
    """Return why a question has no answer.

    The category is that of the verifier. If the verifier has none, the category is that of the annotators.
    Otherwise it follows from the edits, if all edits are of one kind.
    """
    edits = uq.candidate.edits
    by_edits = CATEGORY_BY_EDIT_KIND[edits[0].kind] if len({edit.kind for edit in edits}) == 1 else None
    return uq.verifier_result.category or uq.reason or by_edits


def _make_item(
    source: Question, asked: Candidate | Question, split: Mapping[str, Any], **fields: Any
) -> Item:
    """Return an item with the question types of `source`, and the text and image of `asked`."""
    return Item(
        question_id=source.question_id,
        structural=source.structural,
        semantic=source.semantic,
        detailed=source.detailed,
        image_id=asked.image_id,
        text=asked.text,
        split=split[asked.image_id],
        source_text=source.source_text,
        **fields,
    )
