"""The label error, measured on the audit sample."""

import numpy as np
import pytest
from scipy.stats import beta

from annotation.study.label_error import estimate_error, measure_label_error

EXACT, MANY = (100_000, 0, 100_000, 0), 1_000_000


def test_without_errors_of_adjudicators_the_interval_is_that_of_a_beta_distribution():
    # Jeffreys prior, no error among n of very many: the error has a beta distribution. At most 2.5 % lie above the interval.
    for total in (30, 100, 400):
        value, low, high = estimate_error(0, total, MANY, EXACT)
        own = beta(0.5, total + 0.5)
        assert low == 0 and high == pytest.approx(own.ppf(0.975), rel=0.03)
        # The steps of the grid are wide here.
        assert value == pytest.approx(own.ppf(0.5), rel=0.2)
    # Ten errors among 100: the interval of highest density is shorter than that between quantiles, (0.0526, 0.1701), and its upper
    # end is raised to the quantile.
    value, low, high = estimate_error(10, 100, MANY, EXACT)
    own = beta(10.5, 90.5)
    assert value == pytest.approx(own.ppf(0.5), abs=0.002) and high == pytest.approx(
        own.ppf(0.975), abs=0.002
    )
    assert own.ppf(0.01) < low < own.ppf(0.025)


def test_the_interval_is_for_the_uqs_of_the_study():
    # All 40 were audited by adjudicators who never err, so nothing is unknown: 3 of 40.
    assert estimate_error(3, 40, 40, EXACT) == pytest.approx((0.075, 0.075, 0.075))
    # Three of 40 were found among 80, so at least 3 and at most 3 + 40 are wrong.
    _, low, high = estimate_error(3, 40, 80, EXACT)
    assert low >= 3 / 80 and high < estimate_error(3, 40, MANY, EXACT)[2]


def test_errors_of_adjudicators_explain_a_part_of_what_they_call_answerable():
    # They miss 10 of 200 unanswerable gold questions. So 5 of 100 UQs are called answerable although no label is wrong.
    value, low, high = estimate_error(5, 100, MANY, (190, 10, 200, 0))
    assert value < 0.02 and low == 0 and high < estimate_error(5, 100, MANY, EXACT)[2]
    # With few gold questions, it is not known how often they err.
    assert estimate_error(5, 100, MANY, (10, 0, 10, 0))[1] == 0 < estimate_error(5, 100, MANY, EXACT)[1]


@pytest.mark.parametrize("error", [0.005, 0.03, 0.08])
def test_the_interval_contains_the_truth_in_about_95_percent_of_all_audits(error):
    # 95 of 480 UQs are audited. Adjudicators miss up to 4 % and raise a false alarm in up to 2 %, also on 24 gold questions of each
    # kind. 200 audits: 95 % are 190, with a standard deviation of 3.1. The interval is wider for small errors, because the
    # counts are small.
    rng, inside, above = np.random.default_rng(7), 0, 0
    for _ in range(200):
        miss, alarm = rng.uniform(0, 0.04), rng.uniform(0, 0.02)
        missed, alarms = rng.binomial(24, miss), rng.binomial(24, alarm)
        wrong = rng.binomial(480, error)
        hits = rng.hypergeometric(wrong, 480 - wrong, 95)
        called = rng.binomial(hits, 1 - alarm) + rng.binomial(95 - hits, miss)
        _, low, high = estimate_error(called, 95, 480, (24 - missed, missed, 24 - alarms, alarms))
        inside += low <= wrong / 480 <= high
        above += wrong / 480 > high
    # An error that is too low is worse than one that is too high: 2.5 % are 5, with a standard deviation of 2.2.
    assert inside >= 184 and above <= 10


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
