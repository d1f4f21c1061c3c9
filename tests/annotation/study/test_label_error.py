"""The label error, measured on the audit sample."""

import numpy as np
import pytest

from annotation.study.label_error import estimate_error, measure_label_error

EXACT = (100_000, 0, 100_000, 0)


def test_without_errors_of_adjudicators_the_interval_is_that_of_a_beta_distribution():
    # Uniform prior, no error among n: the density is (n + 1) (1 - e) ** n, so 95 % lie below 1 - 0.05 ** (1 / (n + 1)).
    for total in (30, 100, 400):
        value, low, high = estimate_error(0, total, EXACT)
        assert (value, low) == (0, 0) and high == pytest.approx(1 - 0.05 ** (1 / (total + 1)), rel=0.02)
    assert estimate_error(10, 100, EXACT)[0] == pytest.approx(0.1, abs=0.002)


def test_errors_of_adjudicators_explain_a_part_of_what_they_call_answerable():
    # They miss 10 of 200 unanswerable gold questions. So 5 of 100 UQs are called answerable although no label is wrong.
    value, low, high = estimate_error(5, 100, (190, 10, 200, 0))
    assert (value, low) == (pytest.approx(0, abs=0.01), 0) and high < estimate_error(5, 100, EXACT)[2]


@pytest.mark.parametrize("error", [0.005, 0.03, 0.08])
def test_the_interval_contains_the_truth_in_about_95_percent_of_all_audits(error):
    # Adjudicators miss 2 % and raise a false alarm in 0.5 %, also on 50 gold questions of each kind. 200 audits: 95 % are 190, with a
    # standard deviation of 3.1. The interval is often too wide for small errors, because the counts are small.
    rng, inside = np.random.default_rng(7), 0
    for _ in range(200):
        found, clear = rng.binomial(50, 0.98), rng.binomial(50, 0.995)
        wrong = rng.binomial(150, error * 0.995 + (1 - error) * 0.02)
        _, low, high = estimate_error(wrong, 150, (found, 50 - found, clear, 50 - clear))
        inside += low <= error <= high
    assert inside >= 183


def test_only_audited_candidates_that_votes_called_unanswerable_count():
    status = {f"c{n:02}": "unanswerable" if n < 40 else "answerable" for n in range(60)}
    adjudicated = {key: key != "c03" for key in status if key != "c05"}
    found = measure_label_error(status, adjudicated, [*status])
    assert (found.num_audited, found.num_wrong, found.unknown_because) == (39, 1, "")
    assert measure_label_error(status, adjudicated, ["c01", "c02"]).unknown_because.startswith(
        "only 2 of the 30"
    )
    assert (
        measure_label_error(status, {}, [*status]).unknown_because
        == "no adjudicator has judged the audit sample"
    )
