"""What the scores of rows on twins, on our sets and on those by the paper's rules come to: agreement, and where blind rows stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pipeline.core.records import SUBSETS, Record
from pipeline.scoring.items import Items
from research.studies.item_sets import COUNTERFACTUAL_PAIRS, OURS, PAPER
from research.studies.rank_agreement import (
    Figure,
    Gain,
    RankAgreement,
    SeedScores,
    agreement,
    gain,
    ranked,
    reweighted,
)
from research.studies.row_scores import ALL, ByCategory, shares_of

BLIND, SEEING = "blind_net", "msp"  # rows whose answers are told with the wording's confidence
SetName = tuple[str, str]  # rules, subset


class SetFigures(Record):
    """How a set's ranking agrees with that by twins.

    Attributes:
        items: scored. shares: of categories among its UQs. agreement: with twins as they are.
        alike: with twins whose UQs are weighted to the set's own shares of categories; `lost` is the share of its UQs whose
            category twins do not have; None where that is all of them.
        wording: AUROC of the wording alone.
    """

    rules: str
    subset: str
    items: int
    shares: dict[str, float]
    agreement: RankAgreement
    alike: RankAgreement | None
    lost: float
    wording: float


class SubsetGain(Record):
    """Tau of our rules less that of the paper's on a subset, with twins as they are, and weighted to each set's shares."""

    subset: str
    gain: Gain
    alike: Figure


class BlindPlace(Record):
    """Where a row that reads no picture, or the wording in place of it, would stand: `place` 1 is above all ranked rows."""

    row: str
    rules: str
    subset: str
    auaf: float
    place: int


class Validity(Record):
    """All figures of the study.

    `counterfactual_items`: how many items counterfactual pairs have. `auaf`: by row and set ("ours, clip-easy"; "twins"), means over
    seeds, of ranked rows."""

    rows: int
    counterfactual_items: int
    twins_wording: float
    ceiling: RankAgreement | None
    sets: list[SetFigures]
    gains: list[SubsetGain]
    blind: list[BlindPlace]
    auaf: dict[str, dict[str, float]]


class ScoredSet(NamedTuple):
    """A set with its rows' scores by category, and those of the rows that read its wording."""

    items: Items
    scores: ByCategory
    wording: float
    by_wording: list[SeedScores]


def figures(sets: Mapping[SetName, ScoredSet], twins: ScoredSet, again: Sequence[ScoredSet] = ()) -> Validity:
    """All figures; every set has the same rows.

    Args:
        again: fresh twins, one set or none.

    Raises:
        UserError: fewer rows than `rankings.LEAST`.
    """
    names, reference = ranked(twins.scores[ALL])
    by_category = {name: ranked(rows)[1] for name, rows in twins.scores.items() if name != ALL}
    scores = {name: ranked(one.scores[ALL])[1] for name, one in sets.items()}
    shares = {name: dict(shares_of(one.items)) for name, one in sets.items()}
    alike = {
        name: reweighted(by_category, shares[name]) for name in sets if by_category.keys() & shares[name]
    }
    told = [
        SetFigures(
            rules=name[0],
            subset=name[1],
            items=len(one.items),
            shares={category: round(share, 4) for category, share in shares[name].items()},
            agreement=agreement(reference, scores[name]),
            alike=agreement(alike[name][0], scores[name]) if name in alike else None,
            lost=round(alike[name][1], 4) if name in alike else 1.0,
            wording=round(one.wording, 4),
        )
        for name, one in sets.items()
    ]
    taus = {(one.rules, one.subset): one.alike.tau for one in told if one.alike}
    gains = [
        SubsetGain(
            subset=subset,
            gain=gain(reference, scores[OURS, subset], scores[PAPER, subset]),
            alike=_less(taus.get((OURS, subset)), taus.get((PAPER, subset))),
        )
        for subset in SUBSETS
        if (PAPER, subset) in sets
    ]
    everything = {", ".join(name): one for name, one in scores.items()} | {COUNTERFACTUAL_PAIRS: reference}
    return Validity(
        rows=len(names),
        counterfactual_items=len(twins.items),
        twins_wording=round(twins.wording, 4),
        ceiling=agreement(reference, ranked(again[0].scores[ALL])[1]) if again else None,
        sets=told,
        gains=gains,
        blind=[
            place
            for name, one in {**sets, ("", COUNTERFACTUAL_PAIRS): twins}.items()
            for place in places(name, one)
        ],
        auaf={
            row: {name: round(float(one[number, 0]), 4) for name, one in everything.items()}
            for number, row in enumerate(names)
        },
    )


def _less(one: Figure, other: Figure) -> Figure:
    return None if one is None or other is None else round(one - other, 4)


def places(name: SetName, one: ScoredSet) -> list[BlindPlace]:
    """Where the blind net would stand among the ranked rows of a set, and those that read its wording."""
    values = ranked(one.scores[ALL])[1][:, 0]
    blind = [row for row in one.scores[ALL] if row.name == BLIND]
    told = []
    for row in [*blind, *one.by_wording]:
        auaf = float(row.seeds[:, 0].mean())
        place = 1 + int((values > auaf).sum())
        told.append(BlindPlace(row=row.name, rules=name[0], subset=name[1], auaf=round(auaf, 4), place=place))
    return told
