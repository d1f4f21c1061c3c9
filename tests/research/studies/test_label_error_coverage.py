"""Whole studies with an audit, on 60 small tasks."""

import json

import msgspec
import numpy as np
import pytest
from typer.testing import CliRunner

from annotation.study.label_error import LabelError
from pipeline.core.errors import UserError
from research.studies.cli import app
from research.studies.label_error_coverage import (
    BIN_ENDS,
    KINDS,
    AuditedStudy,
    CalibrationBin,
    StudyResult,
    bin_posteriors,
    choose_kinds,
    find_max_deviation,
    measure_study,
    pool_bins,
    render_results,
    simulate_audited_study,
)
from tests.research.studies.test_crowd_robustness import TASKS

KIND = {kind.key: kind for kind in KINDS}


@pytest.fixture(scope="module")
def studies():
    return {
        key: simulate_audited_study(TASKS, KIND[key]._replace(num_tasks=240), 5)
        for key in ("honest-small", "misreading", "hard", "hard-for-all")
    }


def find_errors(study):
    """Return the true error, and the proportion of audited UQs that the adjudicator calls answerable."""
    uqs = [key for key, status in study.status_by_votes.items() if status == "unanswerable"]
    judged = [study.adjudicated[key] for key in study.audited if key in study.adjudicated and key in uqs]
    return np.mean([not study.truth[key] for key in uqs]), judged.count(False) / len(judged)


def test_a_study_has_its_own_truth_and_audit(studies):
    study = studies["honest-small"]
    assert len(study.truth) == 240 and set(study.status_by_votes) == set(study.truth)
    # A fifth of 240 tasks are audited: 48, with a standard deviation of 6.2.
    assert 30 <= len(study.audited) <= 66
    # Nearly all tasks have a gold question, and an adjudicator errs on at most 4 % of them.
    assert sum(study.gold_counts) == len(study.audited) and study.gold_counts[1] + study.gold_counts[3] <= 6
    # The candidates that the adjudicator judged have no posterior of the votes alone.
    assert not set(study.invalid) & set(study.adjudicated)
    small = KIND["honest-small"]._replace(num_tasks=60)
    one, again, other = (simulate_audited_study(TASKS, small, seed) for seed in (5, 5, 6))
    assert one == again and one.truth != other.truth


def test_the_audit_sees_errors_that_people_share(studies):
    _, found = find_errors(studies["misreading"])
    # A shared misreading is an error of the votes, not of the adjudicator.
    study = studies["misreading"]
    wrong = [
        key
        for key, status in study.status_by_votes.items()
        if status == "unanswerable" and not study.truth[key]
    ]
    assert len(wrong) >= 2
    assert [study.adjudicated[key] for key in wrong if key in study.adjudicated].count(True) <= 1
    assert found > 0 and find_errors(studies["honest-small"])[0] <= 0.005


def test_hard_questions_are_hard_for_the_adjudicator_only_in_one_kind(studies):
    def count_missed(study):
        return sum(not study.adjudicated[key] and bool(study.truth[key]) for key in study.adjudicated)

    # Half of 15 % of about 40 unanswerable candidates are missed in addition: 3, with a standard deviation of 1.7.
    assert count_missed(studies["hard-for-all"]) > count_missed(studies["hard"])


def test_results_by_arithmetic():
    # 40 UQs, two of them answerable. All 40 are audited, and the adjudicator finds both.
    keys = [f"c{number}" for number in range(50)]
    study = AuditedStudy(
        truth={key: "" if key in ("c0", "c1", "c49") else "missing object" for key in keys},
        status_by_votes={
            key: "unanswerable" if number < 40 else "doubtful" for number, key in enumerate(keys)
        },
        adjudicated={key: key not in ("c0", "c1") for key in keys[:40]},
        audited=keys[:40],
        gold_counts=(10_000, 0, 10_000, 0),
        invalid={"c48": 0.6, "c49": 0.4},
    )
    result = measure_study(study, "hard", 3)
    assert (result.num_uqs, result.true_error, result.is_covered) == (40, 0.05, True)
    assert (result.label_error.low, result.label_error.high) == (0.05, 0.05)
    assert [row.count for row in result.bins] == [0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0]
    assert [round(row.deviation, 3) for row in result.bins if row.count] == [0.4, -0.4]
    # An adjudicator who finds none states an error that does not contain the truth.
    blind = measure_study(study._replace(adjudicated=dict.fromkeys(keys[:40], True)), "hard", 4)
    assert not blind.is_covered
    unknown = measure_study(study._replace(audited=keys[:5]), "hard", 5)
    assert not unknown.is_covered and unknown.label_error.unknown_because.startswith("only 5 of the 30")
    table = render_results([result, blind, unknown])
    # One of two known intervals contains the truth; Wilson's interval of 1 of 2 is 9.5 to 90.5 %.
    assert "| 3 | 50.0% (9.5% to 90.5%) | 50.0% | 0.0% | 5.00% | 2.5% | 0% | 33.3% |" in table
    assert "Unknown in 1: only 5 of the 30" in table
    assert (
        "| 0.35 to 0.45 | 0.40 / 0.00 (3) |" in table
        and "| largest deviation, at least 100 candidates | - |" in table
    )
    assert msgspec.convert(json.loads(msgspec.json.encode(result)), StudyResult) == result


def test_deviations_count_only_where_there_are_enough_candidates():
    values = np.repeat([0.3, 0.7, 1.0], [100, 99, 200])
    is_invalid = np.repeat([True, False, True, False], [36, 64, 1, 298])
    (few, many, last) = (bin_posteriors(values, is_invalid)[at] for at in (7, 3, 10))
    assert (few.count, many.count, last.count) == (99, 100, 200)
    # 0.3 - 36 / 100; the bin of 99 has the larger deviation 0.7 - 1 / 99, and the last one 1.0 - 0.
    assert many.deviation == pytest.approx(-0.06)
    assert find_max_deviation([few, many]) == pytest.approx(-0.06) and find_max_deviation([few]) is None
    assert find_max_deviation([few, many, last]) == pytest.approx(1.0)
    empty = CalibrationBin(count=0, sum_invalid=0.0, num_invalid=0)
    result = StudyResult(
        kind="hard", seed=0, num_uqs=0, true_error=0.0, label_error=LabelError(), bins=(few, empty)
    )
    assert pool_bins([result, result])[0] == CalibrationBin(
        count=198, sum_invalid=2 * few.sum_invalid, num_invalid=2
    )
    assert len(BIN_ENDS) == 12


def test_unknown_kinds_are_refused():
    with pytest.raises(UserError, match="--kind: unknown: nobody"):
        choose_kinds(["hard", "nobody"])
    assert [kind.key for kind in choose_kinds(["no-majority", "hard"])] == ["hard", "no-majority"]
    assert choose_kinds([]) == list(KINDS)
    assert CliRunner().invoke(app, ["coverage", "--studies", "0"]).exit_code == 2
