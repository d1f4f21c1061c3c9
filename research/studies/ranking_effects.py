"""What wrong labels, the cap, balancing and the size of a set do to its ranking: tau with the reference's, one thing changed
at a time.

Noise: annotators who err call an answerable question unanswerable, and it comes into the set as a UQ; or they call an
unanswerable one answerable, and it is left out. A share of the AQs is told as UQs, and as many UQs are left out.
Cap: CLIP candidates are proposed anew with other caps; the truth says which of them have an answer, so that nobody errs; they
are paired by our rule, and by the paper's.
Balancing: the same verified UQs, paired by our rule and by the paper's. Size: some of the images, with all their items.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from pipeline.core.progress import track
from pipeline.core.randomness import make_generator
from pipeline.core.records import Record
from pipeline.scoring.bootstrap import percentile_interval
from pipeline.scoring.items import Items
from research.studies.item_sets import OUR_RULES, ItemSet
from research.studies.rank_agreement import (
    OptionalFloat,
    average_ranked_rows,
    find_separated_pairs,
    kendall_tau,
)
from research.studies.row_scores import ALL_CATEGORIES, RowPredictions, draw_image_counts, score_rows
from research.studies.text_only_rows import compute_text_only_auroc, compute_text_only_scores

Effect = Literal["noise", "cap", "balancing", "size"]
EFFECTS: tuple[Effect, ...] = ("noise", "cap", "balancing", "size")
NOISE_RATES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3)  # shares of AQs told as UQs
IMAGE_RATES = (0.05, 0.1, 0.2, 0.4, 0.7, 1.0)  # shares of the images
NUM_REPEATS = 40  # of what is drawn by lot


class EffectPoint(Record):
    """A changed set.

    Attributes:
        series: by whose rules its questions are paired. x: the share of AQs told as UQs, the cap, or the share of images.
        items: how many (the mean, if by lot). tau: with the reference's ranking; with 95 % of what comes of the lots (noise,
            size), or of images drawn anew (cap, balancing). wording: AUROC of the wording alone, where that is told.
    """

    effect: Effect
    subset: str
    pairing_rules: str
    x: float
    num_items: float
    tau: OptionalFloat
    low: OptionalFloat
    high: OptionalFloat
    text_only_auroc: float | None = None


class SetVariant(NamedTuple):
    """A changed set: how often each item is taken, [v, n], by lots or by draws of images; of the latter the first row is
    the set itself."""

    effect: Effect
    subset: str
    pairing_rules: str
    x: float
    items: ItemSet
    item_counts: np.ndarray


def measure_variant(
    variant: SetVariant, rows: Sequence[RowPredictions], reference: np.ndarray, seed: int
) -> EffectPoint:
    """What comes of a variant.

    Args:
        reference: [rows, 1 + r] of the ranked rows.
    """
    plain = variant.items.items.with_columns(category=[""] * len(variant.items.items))
    each = np.arange(len(plain))
    scores = average_ranked_rows(score_rows(plain, rows, each, variant.item_counts)[ALL_CATEGORIES])[1]
    taus = kendall_tau(reference[:, :1], scores, find_separated_pairs(reference))
    by_lot = variant.effect in ("noise", "size")
    low, high = percentile_interval(taus)
    wording = (
        None
        if by_lot
        else compute_text_only_auroc(variant.items, compute_text_only_scores(variant.items, seed))
    )
    return EffectPoint(
        effect=variant.effect,
        subset=variant.subset,
        pairing_rules=variant.pairing_rules,
        x=variant.x,
        num_items=float(variant.item_counts.sum(axis=1).mean() if by_lot else len(plain)),
        tau=_round_or_none(taus.mean() if by_lot else taus[0]),
        low=_round_or_none(low),
        high=_round_or_none(high),
        text_only_auroc=None if wording is None else round(wording, 4),
    )


def _round_or_none(value: float) -> OptionalFloat:
    return None if np.isnan(value) else round(float(value), 4)


def measure_variants(
    variants: Iterable[SetVariant], rows: Sequence[RowPredictions], reference: np.ndarray, seed: int
) -> list[EffectPoint]:
    """All of them, in their order."""
    return [measure_variant(one, rows, reference, seed) for one in track([*variants], "effects", unit="set")]


def make_noisy_variants(subset: str, one: ItemSet, seed: int) -> Iterator[SetVariant]:
    """Sets with wrong labels."""
    (aqs,), (uqs,) = np.nonzero(one.items.answerable), np.nonzero(~one.items.answerable)
    flipped = one.items.select(aqs).with_columns(answers=[{}] * len(aqs))
    both = ItemSet(
        concatenate_items(one.items, flipped), one.source_ids + [one.source_ids[place] for place in aqs]
    )
    for share in NOISE_RATES:
        wrong = min(round(share * len(aqs)), len(uqs))
        taken = np.zeros((NUM_REPEATS if wrong else 1, len(both.items)), int)
        taken[:, : len(one.items)] = 1
        for number, row in enumerate(taken):
            rng = make_generator(seed, "noise", subset, str(share), str(number))
            out, lost = rng.permutation(len(aqs))[:wrong], rng.permutation(uqs)[:wrong]
            row[aqs[out]], row[lost], row[len(one.items) + out] = 0, 0, 1
        yield SetVariant("noise", subset, OUR_RULES, share, both, taken)


def make_smaller_variants(subset: str, series: str, one: ItemSet, seed: int) -> Iterator[SetVariant]:
    """Sets of some of the images."""
    names, place = np.unique(one.items.clusters.astype(str), return_inverse=True)
    for share in IMAGE_RATES:
        count = max(2, round(share * len(names)))
        lots = NUM_REPEATS if count < len(names) else 1
        rngs = (make_generator(seed, "size", subset, str(share), str(number)) for number in range(lots))
        chosen = (rng.permutation(len(names))[:count] for rng in rngs)
        taken = np.array([np.isin(place, some) for some in chosen], int)
        yield SetVariant("size", subset, series, share, one, taken)


def concatenate_items(*tables: Items) -> Items:
    """Items of several tables, one after the other."""
    columns = ("id", "image", "asked", "answers", "category", "pair")
    return Items(
        {name: np.concatenate([table[name] for table in tables]) for name in columns}, sum(map(len, tables))
    )


def resample_images(
    effect: Effect, subset: str, series: str, x: float, one: ItemSet, repetitions: int, seed: int
) -> SetVariant:
    """A set with draws of its images."""
    names, place = np.unique(one.items.clusters.astype(str), return_inverse=True)
    drawn = draw_image_counts(len(names), repetitions, seed)
    return SetVariant(effect, subset, series, x, one, drawn[:, place])


def make_variants(
    sets: Mapping[tuple[str, str], ItemSet],
    changed: Mapping[tuple[str | int, ...], ItemSet],
    repetitions: int,
    seed: int,
) -> Iterator[SetVariant]:
    """Every variant of a data set.

    Args:
        sets: by rules and subset. changed: `balancing_sets` and `cap_sets`, by subset, series, and of the latter the cap.
        repetitions: draws of images, where nothing goes by lot.
    """
    for (rules, subset), one in sets.items():
        if rules == OUR_RULES:
            yield from make_noisy_variants(subset, one, seed)
        yield from make_smaller_variants(subset, rules, one, seed)
    for (subset, series, *cap), one in changed.items():
        effect, x = ("cap", float(cap[0])) if cap else ("balancing", 0.0)
        if one.items.answerable.any() and not one.items.answerable.all():
            yield resample_images(effect, str(subset), str(series), x, one, repetitions, seed)
