"""Compare the rankings on counterfactual pairs, on our sets and on the paper's, and rank text-only rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pipeline.core.records import SUBSETS, Record
from pipeline.scoring.items import Items
from research.studies.item_sets import COUNTERFACTUAL_PAIRS, OUR_RULES, PAPER_RULES
from research.studies.rank_agreement import (
    OptionalFloat,
    RankAgreement,
    RowScores,
    TauDifference,
    average_ranked_rows,
    compare_tau,
    measure_agreement,
    reweight_categories,
)
from research.studies.row_scores import ALL_CATEGORIES, ScoresByCategory, category_proportions

# The answers of these rows are also scored with text-only confidence.
TEXT_ONLY_ROW, IMAGE_ROW = "text_only_net", "msp"
# Rules and subset.
SetName = tuple[str, str]


class SetAgreement(Record):
    """How the ranking on a set agrees with that on counterfactual pairs.

    Attributes:
        num_items: Scored items.
        category_proportions: Proportions of categories among the set's UQs.
        agreement: With counterfactual pairs as they are.
        agreement_reweighted: With counterfactual pairs whose UQs are weighted to the set's proportions of
            categories. None if counterfactual pairs have none of the set's categories.
        proportion_unmatched: Proportion of the set's UQs whose category counterfactual pairs do not have.
        text_only_auroc: AUROC of the text alone.
    """

    rules: str
    subset: str
    num_items: int
    category_proportions: dict[str, float]
    agreement: RankAgreement
    agreement_reweighted: RankAgreement | None
    proportion_unmatched: float
    text_only_auroc: float


class SubsetTauDifference(Record):
    """Tau of our rules minus tau of the paper's on a subset, with and without reweighting of categories."""

    subset: str
    tau_difference: TauDifference
    reweighted_difference: OptionalFloat


class TextOnlyRank(Record):
    """The rank that a text-only model, or a model with text-only confidence, would have. 1 is above all ranked
    rows.
    """

    row: str
    rules: str
    subset: str
    auaf: float
    rank: int


class ValidityResults(Record):
    """All results of the study.

    Attributes:
        num_rows: Ranked rows.
        counterfactual_items: Items of the counterfactual pairs.
        counterfactual_text_only_auroc: AUROC of their text alone.
        ceiling: Agreement between two sets of counterfactual pairs, if there are two.
        auaf: By row and set ("ours, clip-easy"; "counterfactual"), means over seeds, of ranked rows.
    """

    num_rows: int
    counterfactual_items: int
    counterfactual_text_only_auroc: float
    ceiling: RankAgreement | None
    sets: list[SetAgreement]
    tau_differences: list[SubsetTauDifference]
    text_only_ranks: list[TextOnlyRank]
    auaf: dict[str, dict[str, float]]


class ScoredSet(NamedTuple):
    """A set with its rows' scores by category, and the scores of rows with text-only confidence."""

    items: Items
    scores: ScoresByCategory
    text_only_auroc: float
    text_only_scores: list[RowScores]


def compute_validity(
    sets: Mapping[SetName, ScoredSet], counterfactual_pairs: ScoredSet, replications: Sequence[ScoredSet] = ()
) -> ValidityResults:
    """Compute all results. Every set has the same rows.

    Args:
        sets: Our sets and the paper's.
        counterfactual_pairs: The reference.
        replications: Other counterfactual pairs, one set or none.

    Raises:
        UserError: There are fewer rows than `MIN_RANKED_ROWS`.
    """
    names, reference = average_ranked_rows(counterfactual_pairs.scores[ALL_CATEGORIES])
    by_category = {
        name: average_ranked_rows(rows)[1]
        for name, rows in counterfactual_pairs.scores.items()
        if name != ALL_CATEGORIES
    }
    scores = {name: average_ranked_rows(one.scores[ALL_CATEGORIES])[1] for name, one in sets.items()}
    shares = {name: dict(category_proportions(one.items)) for name, one in sets.items()}
    alike = {
        name: reweight_categories(by_category, shares[name])
        for name in sets
        if by_category.keys() & shares[name]
    }
    agreements = [
        SetAgreement(
            rules=name[0],
            subset=name[1],
            num_items=len(one.items),
            category_proportions={category: round(share, 4) for category, share in shares[name].items()},
            agreement=measure_agreement(reference, scores[name]),
            agreement_reweighted=measure_agreement(alike[name][0], scores[name]) if name in alike else None,
            proportion_unmatched=round(alike[name][1], 4) if name in alike else 1.0,
            text_only_auroc=round(one.text_only_auroc, 4),
        )
        for name, one in sets.items()
    ]
    taus = {
        (one.rules, one.subset): one.agreement_reweighted.tau
        for one in agreements
        if one.agreement_reweighted
    }
    gains = [
        SubsetTauDifference(
            subset=subset,
            tau_difference=compare_tau(reference, scores[OUR_RULES, subset], scores[PAPER_RULES, subset]),
            reweighted_difference=_difference(taus.get((OUR_RULES, subset)), taus.get((PAPER_RULES, subset))),
        )
        for subset in SUBSETS
        if (PAPER_RULES, subset) in sets
    ]
    everything = {", ".join(name): one for name, one in scores.items()} | {COUNTERFACTUAL_PAIRS: reference}
    return ValidityResults(
        num_rows=len(names),
        counterfactual_items=len(counterfactual_pairs.items),
        counterfactual_text_only_auroc=round(counterfactual_pairs.text_only_auroc, 4),
        ceiling=measure_agreement(reference, average_ranked_rows(replications[0].scores[ALL_CATEGORIES])[1])
        if replications
        else None,
        sets=agreements,
        tau_differences=gains,
        text_only_ranks=[
            rank
            for name, one in {**sets, ("", COUNTERFACTUAL_PAIRS): counterfactual_pairs}.items()
            for rank in rank_text_only_rows(name, one)
        ],
        auaf={
            row: {name: round(float(one[number, 0]), 4) for name, one in everything.items()}
            for number, row in enumerate(names)
        },
    )


def _difference(one: OptionalFloat, other: OptionalFloat) -> OptionalFloat:
    return None if one is None or other is None else round(one - other, 4)


def rank_text_only_rows(name: SetName, one: ScoredSet) -> list[TextOnlyRank]:
    """Rank the text-only net, and the rows with text-only confidence, among the ranked rows of a set."""
    values = average_ranked_rows(one.scores[ALL_CATEGORIES])[1][:, 0]
    text_only = [row for row in one.scores[ALL_CATEGORIES] if row.name == TEXT_ONLY_ROW]
    ranks = []
    for row in [*text_only, *one.text_only_scores]:
        auaf = float(row.scores[:, 0].mean())
        rank = 1 + int((values > auaf).sum())
        ranks.append(
            TextOnlyRank(row=row.name, rules=name[0], subset=name[1], auaf=round(auaf, 4), rank=rank)
        )
    return ranks
