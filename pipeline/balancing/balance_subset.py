"""Balance one subset by the rule that applies to it, and make the items of the release."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec

from pipeline.balancing.pairing import (
    Paired,
    UqAqPair,
    by_image,
    by_image_and_text,
    by_original,
    by_original_and_words,
)
from pipeline.core.params import Params
from pipeline.core.randomness import generator
from pipeline.core.records import Item, Question, Subset, Verified


class BalanceParams(Params):
    """Parameters of balance.

    Attributes:
        rule: "image_and_text" makes both margins equal, "image" is the paper's.
        word_slack: by how much, in PT subsets, a word may be put in more or less often than it is taken out, as a
            share of the mean of both counts (`pipeline/balancing/even_words.py`); 2 leaves out nothing. Not under "image".
        seed: of the AQs that `image` draws, and of what is left out for its words.
    """

    rule: Literal["image_and_text", "image"] = "image_and_text"
    word_slack: Annotated[float, msgspec.Meta(ge=0, le=2)] = 0.3
    seed: int = 0


def balance(
    subset: Subset,
    uqs: Sequence[Verified],
    questions: Mapping[str, Question],
    refuted: Collection[str],
    part: Mapping[str, str],
    p: BalanceParams,
) -> Paired:
    """UqAqPair the UQs of one subset by the rule that applies to it; UQs and questions come sorted by id."""
    if subset.startswith("pt"):
        if p.rule == "image":
            return by_original(uqs, questions, refuted, once=False)
        rng = generator(p.seed, "balance words", subset)
        return by_original_and_words(uqs, questions, refuted, p.word_slack, rng)
    if p.rule == "image":
        return by_image(uqs, questions.values(), refuted, p.seed)
    return by_image_and_text(uqs, questions.values(), refuted, part)


def items(
    subset: Subset,
    pairs: Sequence[UqAqPair],
    questions: Mapping[str, Question],
    own: Mapping[str, float],
    part: Mapping[str, str],
) -> list[Item]:
    """Rows of the release, sorted by id. An AQ that several pairs share becomes one row."""
    rows: dict[str, Item] = {}
    for pair in pairs:
        candidate, aq = pair.uq.candidate, pair.aq
        common = {
            "subset": subset,
            "pair_id": f"{subset}+{aq.question_id}",
            "paired_because": pair.because,
            "simulated": pair.uq.simulated,
            "rehearsal": pair.uq.rehearsal,
            "part": part[candidate.picture_id],
        }
        rows[candidate.candidate_id] = _item(
            questions[candidate.question_id],
            item_id=candidate.candidate_id,
            picture_id=candidate.picture_id,
            text=candidate.text,
            unanswerable=True,
            answer="",
            category=pair.uq.judgement.category or pair.uq.reason,
            edits=candidate.edits,
            score=candidate.score,
            rank=candidate.rank,
            verdict_ids=pair.uq.verdict_ids,
            **common,
        )
        if aq.question_id not in rows:
            rows[aq.question_id] = _item(
                aq,
                item_id=aq.question_id,
                picture_id=aq.picture_id,
                text=aq.text,
                unanswerable=False,
                answer=aq.answer,
                score=own.get(aq.question_id),
                **common | {"part": part[aq.picture_id]},
            )
    return [rows[key] for key in sorted(rows)]


def _item(source: Question, **fields: Any) -> Item:
    """An item that was made from a source question, with its types."""
    kinds = {"structural": source.structural, "semantic": source.semantic, "detailed": source.detailed}
    return Item(question_id=source.question_id, **kinds, **fields)
