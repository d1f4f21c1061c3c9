"""Results of the study on sets with made-up scores, so that the results are known."""

import numpy as np
import pytest

from pipeline.core.errors import UserError
from pipeline.scoring.items import BenchmarkItem, Items
from research.studies.item_sets import OUR_RULES, PAPER_RULES
from research.studies.rank_agreement import RowScores
from research.studies.row_scores import ALL_CATEGORIES
from research.studies.validity_results import TEXT_ONLY_ROW, ScoredSet, compute_validity, rank_text_only_rows

OBJECT, ATTRIBUTE = "missing object", "wrong attribute"
ROWS = 14


def scored(of_objects, of_attributes, categories, wording=0.5):
    """A set with these scores [rows] of each category's UQs, with two resamples that repeat the data; its text-only net has 0.45."""
    uqs = [BenchmarkItem(f"u{i}", "p", {}, category=name) for i, name in enumerate(categories)]
    items = Items.from_rows([BenchmarkItem("a", "p", {"red": 1.0}), *uqs])
    share = categories.count(OBJECT) / len(categories)
    by_name = {OBJECT: np.array(of_objects), ATTRIBUTE: np.array(of_attributes)}
    by_name[ALL_CATEGORIES] = share * by_name[OBJECT] + (1 - share) * by_name[ATTRIBUTE]
    scores = {
        name: [
            *(RowScores(f"row {i}", False, np.full((1, 3), value)) for i, value in enumerate(values)),
            RowScores(TEXT_ONLY_ROW, True, np.full((1, 3), 0.45)),
        ]
        for name, values in by_name.items()
    }
    return ScoredSet(items, scores, wording, [RowScores("reads", True, np.array([[0.2, 0, 0], [0.4, 0, 0]]))])


UP = np.arange(ROWS) / 100
# On objects the rows are in one order, on attributes in the other; attributes weigh three of four UQs in counterfactual pairs.
PAIRS = scored(UP, 1 - UP, [OBJECT] + 3 * [ATTRIBUTE])
SETS = {
    (OUR_RULES, "clip-easy"): scored(UP, 1 - UP, 4 * [OBJECT]),  # the order of objects
    (PAPER_RULES, "clip-easy"): scored(UP, 1 - UP, 4 * [ATTRIBUTE], wording=0.9),  # that of attributes
}


def test_reweighting_to_a_sets_own_categories_restores_agreement():
    found = compute_validity(SETS, PAIRS)
    ours, paper = found.sets
    assert ours.agreement_reweighted and paper.agreement_reweighted
    # Pairs: 0.25 x up + 0.75 x (1 - up) falls, so that all 14 * 13 / 2 = 91 pairs are the other way round in ours.
    assert (
        ours.agreement.num_pairs,
        ours.agreement.tau,
        ours.agreement_reweighted.tau,
        ours.proportion_unmatched,
    ) == (91, -1, 1, 0)
    assert ours.agreement.pearson == pytest.approx(-1) and ours.category_proportions == {OBJECT: 1.0}
    assert (paper.agreement.tau, paper.agreement_reweighted.tau, paper.text_only_auroc) == (1, 1, 0.9)
    (gain,) = found.tau_differences
    assert (
        gain.subset,
        gain.tau_difference.tau,
        gain.tau_difference.interval,
        gain.reweighted_difference,
    ) == ("clip-easy", -2, (-2, -2), 0)


def test_the_text_only_net_is_not_ranked_but_has_a_rank():
    found = compute_validity(SETS, PAIRS)
    assert found.num_rows == ROWS and TEXT_ONLY_ROW not in found.auaf and len(found.auaf) == ROWS
    at = {(one.row, one.rules, one.subset): one for one in found.text_only_ranks}
    # Ours: all rows are below 0.14. Pairs: 0.25 x up + 0.75 x (1 - up) = 0.75 - up / 2, which is 0.685 or more.
    assert (
        at[TEXT_ONLY_ROW, OUR_RULES, "clip-easy"].rank == 1
        and at[TEXT_ONLY_ROW, "", "counterfactual"].rank == ROWS + 1
    )


def test_a_rank_counts_the_rows_above_the_mean_over_seeds():
    one = scored(UP + 0.3, UP, 4 * [OBJECT])  # 0.30 to 0.43
    blind, reads = rank_text_only_rows((OUR_RULES, "clip-easy"), one)
    assert (blind.auaf, blind.rank) == (0.45, 1)
    assert (reads.auaf, reads.rank) == (0.3, ROWS)  # the mean of 0.2 and 0.4; thirteen rows are above


def test_the_ceiling_is_the_agreement_of_two_sets_of_counterfactual_pairs():
    assert compute_validity(SETS, PAIRS).ceiling is None
    found = compute_validity(SETS, PAIRS, [scored(UP, 1 - UP, 3 * [OBJECT] + [ATTRIBUTE])]).ceiling
    assert found is not None and found.tau == -1  # three of four the other way: 0.25 + up / 2 rises


def test_too_few_rows_are_an_error():
    few = scored(UP[:3], UP[:3], [OBJECT, ATTRIBUTE])
    with pytest.raises(UserError, match="At least 14"):
        compute_validity({}, few)
