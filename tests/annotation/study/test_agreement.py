"""Agreement of annotators."""

import krippendorff
import numpy as np
import pandas as pd
import pytest

from annotation.study.agreement import (
    bootstrap_estimate,
    compute_agreement,
    compute_retest,
    compute_terms,
    gwet_ac1,
    krippendorff_alpha,
    observed_agreement,
)
from annotation.study.answers_table import build_answers_table, select_votes
from tests.annotation.study.conftest import U, V, X, repeating, task, verdict


def of(function, counts):
    """A figure of units whose values were given so often, [units, 2]."""
    return float(function(compute_terms(np.array(counts)).sum(axis=0)))


def test_alpha_matches_krippendorffs_example():
    # Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), section B: two observers, ten units, binary.
    # Coincidences: 00 -> 10, 01 and 10 -> 4, 11 -> 2; alpha = 1 - 19 * 4 / (14 * 6) = 0.095.
    first, second = (0, 1, 0, 0, 0, 0, 0, 0, 1, 0), (1, 1, 1, 0, 0, 1, 0, 0, 0, 0)
    counts = [[(a, b).count(0), (a, b).count(1)] for a, b in zip(first, second, strict=True)]
    assert of(krippendorff_alpha, counts) == pytest.approx(1 - 19 * 4 / (14 * 6), abs=1e-12)


def test_alpha_matches_the_krippendorff_package():
    counts = np.random.default_rng(4).integers(0, 4, (60, 2))
    counts = counts[counts.sum(axis=1) > 0]
    library = krippendorff.alpha(value_counts=counts[counts.sum(axis=1) > 1], level_of_measurement="nominal")
    assert of(krippendorff_alpha, counts) == pytest.approx(library, abs=1e-12)


def test_ac1_matches_gwets_table():
    # Gwet (2008), table 1 with A = 118, B = 5, C = 2, D = 0 of 125: observed 118 / 125 = 0.944; marginals of + are
    # (123 + 120) / 250 = 0.972, chance 2 * 0.972 * 0.028 = 0.0544, AC1 = (0.944 - 0.0544) / (1 - 0.0544) = 0.941. Alpha is negative.
    counts = [[2, 0]] * 118 + [[1, 1]] * 7
    assert of(gwet_ac1, counts) == pytest.approx(
        (0.944 - 2 * 0.972 * 0.028) / (1 - 2 * 0.972 * 0.028), abs=1e-12
    )
    assert of(krippendorff_alpha, counts) < 0


def test_units_judged_once_only_affect_the_prevalence():
    # Pairs alike: 1 and 1/3 of the two units answers twice; of value 1: (0 + 2/3 + 1) / 3.
    counts = [[2, 0], [1, 2], [0, 1]]
    assert of(observed_agreement, counts) == pytest.approx((1 + 1 / 3) / 2)
    chance = 2 * (5 / 9) * (4 / 9)
    assert of(gwet_ac1, counts) == pytest.approx((2 / 3 - chance) / (1 - chance))


@pytest.mark.parametrize("counts", [[[2, 0], [3, 0]], [[2, 0], [0, 1]], [[1, 0], [0, 1]]])
def test_alpha_is_undefined_without_variation_or_pairs(counts):
    assert (
        bootstrap_estimate(compute_terms(np.array(counts)), np.arange(len(counts)), krippendorff_alpha).value
        is None
    )


def test_interval_has_nominal_coverage():
    # 200 draws of 60 images with 4 units each, alike with 0.8 at a time an image: the 95 % interval has the truth in it.
    rng, inside = np.random.default_rng(1), 0
    for _ in range(200):
        alike = (rng.random(60) < 0.8).repeat(4)
        counts = np.where(alike[:, None], [2, 0], [1, 1])
        found = bootstrap_estimate(compute_terms(counts), np.arange(60).repeat(4), observed_agreement)
        inside += found.low <= 0.8 <= found.high
    assert 180 <= inside <= 198


def test_agreement_is_computed_overall_and_by_subset():
    tasks = {
        t.task_id: t for t in (task("a"), task("b"), task("c", subset="pt-easy"), task("d", subset="pt-easy"))
    }
    given = {"ax": V, "ay": U, "bx": V, "by": X, "cx": X, "cz": X, "dx": X}
    verdicts = [verdict(key[0], key[1], said, V) for key, said in given.items()]
    together, hard, easy = compute_agreement(select_votes(build_answers_table(tasks, verdicts)))
    assert (together.subset, together.candidates, together.verdicts) == (None, 3, 6)
    assert together.observed.value == pytest.approx(2 / 3)
    # Units (2, 0), (1, 1), (0, 2) of valid, invalid: 1 - (2 / 6) / (2 * 3 * 3 / 30) = 4/9.
    assert together.krippendorff_alpha.value == pytest.approx(4 / 9)
    assert (hard.subset, hard.candidates, hard.observed.value) == ("clip-hard", 2, 0.5)
    assert (easy.subset, easy.candidates, easy.observed.value, easy.krippendorff_alpha.value) == (
        "pt-easy",
        1,
        1.0,
        None,
    )


def test_agreement_without_pairs_is_undefined():
    rows = select_votes(build_answers_table({"a": task("a")}, [verdict("a", "x", V, V)]))
    for some in (rows, rows[:0]):
        together = compute_agreement(some)[0]
        assert (together.krippendorff_alpha.value, together.observed.value, together.candidates) == (
            None,
            None,
            0,
        )


def test_retest_uses_candidates_judged_twice_by_one_annotator():
    tasks = {
        "a": task("a"),
        "b": task("b"),
        "c": repeating("c", "a"),
        "d": repeating("d", "b"),
        "e": repeating("e", "z"),
    }
    said = [
        ("a", "x", X, V),
        ("b", "x", V, V),
        ("c", "x", V, X),
        ("d", "x", V, X),
        ("a", "y", X, V),
        ("e", "y", V, V),
    ]
    answers = build_answers_table(tasks, [verdict(*row) for row in said])
    found = compute_retest(select_votes(answers))
    assert (found.num_repeated, found.agreement_rate.value) == (2, 0.5)  # a the same, b not
    assert compute_retest(select_votes(answers)[:0]).agreement_rate.value is None
    assert isinstance(answers, pd.DataFrame)
