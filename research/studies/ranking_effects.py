"""What wrong labels, the cap, balancing and the size of a set do to its ranking: tau with the reference's, one thing changed
at a time.

Noise: annotators who err call an answerable question unanswerable, and it comes into the set as a UQ; or they call an
unanswerable one answerable, and it is left out. A share of the AQs is told as UQs, and as many UQs are left out.
Cap: CLIP candidates are proposed anew with other caps; the truth says which of them have an answer, so that nobody errs; they
are paired by our rule, and by the paper's.
Balancing: the same verified UQs, paired by our rule and by the paper's. Size: some of the pictures, with all their items.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from pipeline.core.progress import track
from pipeline.core.randomness import generator
from pipeline.core.records import Record
from pipeline.scoring.bootstrap import percentile_interval
from pipeline.scoring.items import Items
from research.studies.item_sets import OURS, RankedSet
from research.studies.rank_agreement import Figure, ranked, separated, tau
from research.studies.row_scores import ALL, RowSaid, redrawn, scores_of_rows
from research.studies.text_only_rows import wording_auroc, wording_scores

Effect = Literal["noise", "cap", "balancing", "size"]
EFFECTS: tuple[Effect, ...] = ("noise", "cap", "balancing", "size")
NOISE = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3)  # shares of AQs told as UQs
SIZES = (0.05, 0.1, 0.2, 0.4, 0.7, 1.0)  # shares of the pictures
REPEATS = 40  # of what is drawn by lot


class EffectPoint(Record):
    """A changed set.

    Attributes:
        series: by whose rules its questions are paired. x: the share of AQs told as UQs, the cap, or the share of pictures.
        items: how many (the mean, if by lot). tau: with the reference's ranking; with 95 % of what comes of the lots (noise,
            size), or of pictures drawn anew (cap, balancing). wording: AUROC of the wording alone, where that is told.
    """

    effect: Effect
    subset: str
    series: str
    x: float
    items: float
    tau: Figure
    low: Figure
    high: Figure
    wording: float | None = None


class Variant(NamedTuple):
    """A changed set: how often each item is taken, [v, n], by lots or by draws of pictures; of the latter the first row is
    the set itself."""

    effect: Effect
    subset: str
    series: str
    x: float
    one: RankedSet
    taken: np.ndarray


def point(variant: Variant, rows: Sequence[RowSaid], reference: np.ndarray, seed: int) -> EffectPoint:
    """What comes of a variant.

    Args:
        reference: [rows, 1 + r] of the ranked rows.
    """
    plain = variant.one.items.with_columns(category=[""] * len(variant.one.items))
    each = np.arange(len(plain))
    scores = ranked(scores_of_rows(plain, rows, each, variant.taken)[ALL])[1]
    taus = tau(reference[:, :1], scores, separated(reference))
    by_lot = variant.effect in ("noise", "size")
    low, high = percentile_interval(taus)
    wording = None if by_lot else wording_auroc(variant.one, wording_scores(variant.one, seed))
    return EffectPoint(
        effect=variant.effect,
        subset=variant.subset,
        series=variant.series,
        x=variant.x,
        items=float(variant.taken.sum(axis=1).mean() if by_lot else len(plain)),
        tau=_figure(taus.mean() if by_lot else taus[0]),
        low=_figure(low),
        high=_figure(high),
        wording=None if wording is None else round(wording, 4),
    )


def _figure(value: float) -> Figure:
    return None if np.isnan(value) else round(float(value), 4)


def points(
    variants: Iterable[Variant], rows: Sequence[RowSaid], reference: np.ndarray, seed: int
) -> list[EffectPoint]:
    """All of them, in their order."""
    return [point(one, rows, reference, seed) for one in track([*variants], "effects", unit="set")]


def noisy(subset: str, one: RankedSet, seed: int) -> Iterator[Variant]:
    """Sets with wrong labels."""
    (aqs,), (uqs,) = np.nonzero(one.items.answerable), np.nonzero(~one.items.answerable)
    flipped = one.items.at(aqs).with_columns(answers=[{}] * len(aqs))
    both = RankedSet(joined(one.items, flipped), one.sources + [one.sources[place] for place in aqs])
    for share in NOISE:
        wrong = min(round(share * len(aqs)), len(uqs))
        taken = np.zeros((REPEATS if wrong else 1, len(both.items)), int)
        taken[:, : len(one.items)] = 1
        for number, row in enumerate(taken):
            rng = generator(seed, "noise", subset, str(share), str(number))
            out, lost = rng.permutation(len(aqs))[:wrong], rng.permutation(uqs)[:wrong]
            row[aqs[out]], row[lost], row[len(one.items) + out] = 0, 0, 1
        yield Variant("noise", subset, OURS, share, both, taken)


def smaller(subset: str, series: str, one: RankedSet, seed: int) -> Iterator[Variant]:
    """Sets of some of the pictures."""
    names, place = np.unique(one.items.clusters.astype(str), return_inverse=True)
    for share in SIZES:
        count = max(2, round(share * len(names)))
        lots = REPEATS if count < len(names) else 1
        rngs = (generator(seed, "size", subset, str(share), str(number)) for number in range(lots))
        chosen = (rng.permutation(len(names))[:count] for rng in rngs)
        taken = np.array([np.isin(place, some) for some in chosen], int)
        yield Variant("size", subset, series, share, one, taken)


def joined(*tables: Items) -> Items:
    """Items of several tables, one after the other."""
    columns = ("id", "picture", "asked", "answers", "category", "pair")
    return Items(
        {name: np.concatenate([table[name] for table in tables]) for name in columns}, sum(map(len, tables))
    )


def on_pictures(
    effect: Effect, subset: str, series: str, x: float, one: RankedSet, repetitions: int, seed: int
) -> Variant:
    """A set with draws of its pictures."""
    names, place = np.unique(one.items.clusters.astype(str), return_inverse=True)
    drawn = redrawn(len(names), repetitions, seed)
    return Variant(effect, subset, series, x, one, drawn[:, place])


def variants(
    sets: Mapping[tuple[str, str], RankedSet],
    changed: Mapping[tuple[str | int, ...], RankedSet],
    repetitions: int,
    seed: int,
) -> Iterator[Variant]:
    """Every variant of a data set.

    Args:
        sets: by rules and subset. changed: `balancing_sets` and `cap_sets`, by subset, series, and of the latter the cap.
        repetitions: draws of pictures, where nothing goes by lot.
    """
    for (rules, subset), one in sets.items():
        if rules == OURS:
            yield from noisy(subset, one, seed)
        yield from smaller(subset, rules, one, seed)
    for (subset, series, *cap), one in changed.items():
        effect, x = ("cap", float(cap[0])) if cap else ("balancing", 0.0)
        if one.items.answerable.any() and not one.items.answerable.all():
            yield on_pictures(effect, str(subset), str(series), x, one, repetitions, seed)
