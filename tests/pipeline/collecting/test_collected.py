import numpy as np
import pytest

from annotation.study.judged import judged_questions
from pipeline.collecting.collected import CollectParams, collect, expected_wrong, report
from tests.annotation.study.conftest import screened, task, verdict

V, X, U = "valid", "invalid", "unsure"
# Candidate -> annotator -> what they said of the filter (valid is expected) and of the candidate.
GIVEN = {
    "a": {"x": (V, X), "y": (V, X), "z": (V, V)},
    "b": {"x": (V, V), "y": (U, V)},
    "c": {"x": (V, X), "y": (V, V)},
    "d": {"x": (X, X), "y": (V, X)},
}


def collected(prior=None, **params):
    tasks = {key: task(key) for key in GIVEN}
    verdicts = [
        verdict(key, who, candidate, known, simulated=True)
        for key, row in GIVEN.items()
        for who, (known, candidate) in row.items()
    ]
    params = CollectParams(simulate=True, **params)
    return collect([screened(key) for key in GIVEN], judged_questions(tasks, verdicts), params, prior or {})


def test_votes_are_counted_after_failed_filters_are_set_aside():
    result = collected(rule="majority")
    assert [(row.candidate.candidate_id, row.status) for row in result.verified] == [
        ("ca", "unanswerable"),  # two of three
        ("cb", "answerable"),
        ("cc", "doubtful"),
        ("cd", "unjudged"),  # x failed the filter
    ]
    assert result.quality.unanswerable == 1 and result.quality.wrong.value is None
    assert [(row.verdict_id, row.candidate_id) for row in result.set_aside] == [("dx", "cd")]
    assert [row.status for row in result.aq_checks] == ["verified", "verified", "verified", "open"]
    assert result.posteriors == []


def test_the_report_tells_the_same_in_short():
    figures = report(collected(rule="majority"))
    assert (figures["simulated"], figures["rehearsal"], figures["verdicts"]) == (True, False, 9)
    assert figures["set_aside"] == {"filter failed": 1}
    assert figures["candidates"] == {
        "clip-hard": {"unanswerable": 1, "answerable": 1, "doubtful": 1, "unjudged": 1}
    }
    assert figures["annotators"]["x"]["specificity"]["share"] == 0.75  # three of four filters
    assert figures["aqs"] == {"verified": 3, "open": 1}
    # Candidates a, b, c count twice or more: a third, all and none of the pairs of verdicts on them agree.
    assert figures["agreement"]["share"]["value"] == pytest.approx(4 / 9, abs=1e-6)
    assert figures["retest"] == {"twice": 0, "same": {"value": None, "low": None, "high": None}}


def test_by_dawid_and_skene_every_candidate_with_votes_has_a_probability():
    result = collected(rule="dawid-skene", min_posterior=0.6)
    assert [row.candidate_id for row in result.posteriors] == ["ca", "cb", "cc", "cd"]
    assert all(0 < row.invalid < 1 for row in result.posteriors)
    assert {row.annotator for row in result.quality.tables} == {"x", "y", "z"}


def test_the_prior_of_a_candidate_is_what_is_estimated_of_it():
    even = dict.fromkeys(("ca", "cb", "cc", "cd"), 0.5)
    before = {row.candidate_id: row.invalid for row in collected(even).posteriors}
    after = {row.candidate_id: row.invalid for row in collected(even | {"cc": 0.1}).posteriors}
    assert after["cc"] > before["cc"] and after["ca"] == pytest.approx(before["ca"], abs=0.1)


def test_what_is_expected_to_be_wrong_is_what_the_probabilities_say():
    found = expected_wrong(np.array([0.9, 1.0]), np.array([[0.9, 1.0], [0.8, 1.0]]))
    assert (found.value, found.low, found.high) == pytest.approx((0.05, 0.05125, 0.09875))
    assert expected_wrong(np.array([]), np.empty((2, 0))).value is None


@pytest.mark.parametrize(("simulate", "there"), [(True, True), ("rehearsal", True), (False, False)])
def test_the_parameters_of_the_simulation_are_told_only_if_it_ran(simulate, there):
    in_use = CollectParams(simulate=simulate).in_use()
    assert in_use["simulate"] == simulate
    assert ({"seed", "votes"} <= in_use.keys()) is there
    assert in_use["min_votes"] == 2
