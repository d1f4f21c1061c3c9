"""Measure how wrong labels, the reuse cap, balancing and size change the ranking of models on an item set.

Each study changes one property and measures tau with the reference ranking.

Noise: annotators may call an answerable question unanswerable, so that it enters the set as a UQ, or an
unanswerable one answerable, so that it is left out. A proportion of the AQs is labelled as UQs, and as many
UQs are left out. Cap: CLIP candidates are proposed with other reuse caps. The truth says which of them are
unanswerable. They are paired by our rule and by the paper's. Balancing: the same verified UQs are paired by
our rule and by the paper's. Size: a sample of the images, with all their items.
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
from pipeline.scoring.rank_correlation import kendall_tau
from research.studies.item_sets import OUR_RULES, ItemSet
from research.studies.rank_agreement import (
    OptionalFloat,
    average_ranked_rows,
    find_separated_pairs,
)
from research.studies.row_scores import ALL_CATEGORIES, RowPredictions, draw_image_counts, score_rows
from research.studies.text_only_rows import compute_text_only_auroc, compute_text_only_scores

Effect = Literal["noise", "cap", "balancing", "size"]
EFFECTS: tuple[Effect, ...] = ("noise", "cap", "balancing", "size")
# Proportions of AQs that are labelled as UQs.
NOISE_RATES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3)
# Proportions of the images.
IMAGE_RATES = (0.05, 0.1, 0.2, 0.4, 0.7, 1.0)
# Number of random variants for each rate.
NUM_REPEATS = 40


class EffectPoint(Record):
    """The ranking on a changed set.

    Attributes:
        pairing_rules: The rules by which its questions are paired.
        x: The proportion of AQs labelled as UQs, the reuse cap, or the proportion of images.
        num_items: Number of items, averaged over random variants.
        tau: With the reference ranking, averaged over random variants.
        low, high: 95 % interval of tau over random variants (noise, size) or resampled images (cap,
            balancing).
        text_only_auroc: AUROC of the text alone, for cap and balancing.
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
    """A changed set and how often each item counts, [v, n], in each of its v random variants or resamples.

    The first resample is the set itself.
    """

    effect: Effect
    subset: str
    pairing_rules: str
    x: float
    items: ItemSet
    item_counts: np.ndarray


def measure_variant(
    variant: SetVariant, rows: Sequence[RowPredictions], reference: np.ndarray, seed: int
) -> EffectPoint:
    """Measure the ranking on a variant.

    Args:
        variant: The changed set.
        rows: Predictions of all rows.
        reference: Reference scores [rows, 1 + r] of the ranked rows.
        seed: Seed of the folds of the text-only attacker.
    """
    plain = variant.items.items.with_columns(category=[""] * len(variant.items.items))
    each = np.arange(len(plain))
    scores = average_ranked_rows(score_rows(plain, rows, each, variant.item_counts)[ALL_CATEGORIES])[1]
    taus = kendall_tau(reference[:, :1], scores, find_separated_pairs(reference))
    is_random = variant.effect in ("noise", "size")
    low, high = percentile_interval(taus)
    text_only_auroc = (
        None
        if is_random
        else compute_text_only_auroc(variant.items, compute_text_only_scores(variant.items, seed))
    )
    return EffectPoint(
        effect=variant.effect,
        subset=variant.subset,
        pairing_rules=variant.pairing_rules,
        x=variant.x,
        num_items=float(variant.item_counts.sum(axis=1).mean() if is_random else len(plain)),
        tau=_round_or_none(taus.mean() if is_random else taus[0]),
        low=_round_or_none(low),
        high=_round_or_none(high),
        text_only_auroc=None if text_only_auroc is None else round(text_only_auroc, 4),
    )


def _round_or_none(value: float) -> OptionalFloat:
    return None if np.isnan(value) else round(float(value), 4)


def measure_variants(
    variants: Iterable[SetVariant], rows: Sequence[RowPredictions], reference: np.ndarray, seed: int
) -> list[EffectPoint]:
    """Measure the rankings on all variants, in their order."""
    return [measure_variant(one, rows, reference, seed) for one in track([*variants], "effects", unit="set")]


def make_noisy_variants(subset: str, one: ItemSet, seed: int) -> Iterator[SetVariant]:
    """Yield variants of a set with wrong labels."""
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
    """Yield variants of a set with a sample of its images."""
    names, place = np.unique(one.items.clusters.astype(str), return_inverse=True)
    for share in IMAGE_RATES:
        count = max(2, round(share * len(names)))
        lots = NUM_REPEATS if count < len(names) else 1
        rngs = (make_generator(seed, "size", subset, str(share), str(number)) for number in range(lots))
        chosen = (rng.permutation(len(names))[:count] for rng in rngs)
        taken = np.array([np.isin(place, some) for some in chosen], int)
        yield SetVariant("size", subset, series, share, one, taken)


def concatenate_items(*tables: Items) -> Items:
    """Concatenate tables of items."""
    columns = ("id", "image", "question_text", "answers", "category", "pair_id")
    return Items(
        {name: np.concatenate([table[name] for table in tables]) for name in columns}, sum(map(len, tables))
    )


def resample_images(
    effect: Effect, subset: str, series: str, x: float, one: ItemSet, repetitions: int, seed: int
) -> SetVariant:
    """Return a set with resamples of its images."""
    names, place = np.unique(one.items.clusters.astype(str), return_inverse=True)
    drawn = draw_image_counts(len(names), repetitions, seed)
    return SetVariant(effect, subset, series, x, one, drawn[:, place])


def make_variants(
    sets: Mapping[tuple[str, str], ItemSet],
    changed: Mapping[tuple[str | int, ...], ItemSet],
    repetitions: int,
    seed: int,
) -> Iterator[SetVariant]:
    """Yield every variant of a data set.

    Args:
        sets: Item sets by rules and subset.
        changed: The results of `build_balancing_sets` and `build_cap_sets`.
        repetitions: Resamples of images for cap and balancing.
        seed: Seed of everything random.
    """
    for (rules, subset), one in sets.items():
        if rules == OUR_RULES:
            yield from make_noisy_variants(subset, one, seed)
        yield from make_smaller_variants(subset, rules, one, seed)
    for (subset, series, *cap), one in changed.items():
        effect, x = ("cap", float(cap[0])) if cap else ("balancing", 0.0)
        if one.items.answerable.any() and not one.items.answerable.all():
            yield resample_images(effect, str(subset), str(series), x, one, repetitions, seed)
