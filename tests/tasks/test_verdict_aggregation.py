import msgspec
import pytest

from annotation.study.answers_table import build_answers_table
from pipeline.tasks.verdict_aggregation import (
    CollectParams,
    aggregate_verdicts,
    make_report,
)
from tests.annotation.study.conftest import screened, task, verdict

V, X, U = "valid", "invalid", "unsure"
# Candidate -> annotator -> what they said of the filter (valid is expected) and of the candidate.
GIVEN = {
    "a": {"x": (V, X), "y": (V, X), "z": (V, V)},
    "b": {"x": (V, V), "y": (U, V)},
    "c": {"x": (V, X), "y": (V, V)},
    "d": {"x": (X, X), "y": (V, X)},
}


def collected(prior=None, given=GIVEN, overlap=("ca", "cb", "cc", "cd"), **params):
    tasks = {key: task(key) for key in given}
    verdicts = [
        verdict(key, who, candidate, known, simulated=True)
        for key, row in given.items()
        for who, (known, candidate) in row.items()
    ]
    params, rows = CollectParams(simulate=True, **params), [screened(key) for key in given]
    return aggregate_verdicts(
        {row.candidate.candidate_id: row for row in rows},
        build_answers_table(tasks, verdicts),
        params,
        prior or {},
        overlap,
    )


def test_votes_are_counted_after_failed_gold_questions_are_excluded():
    result = collected(aggregation="majority")
    assert [(row.candidate.candidate_id, row.status) for row in result.verified] == [
        ("ca", "unanswerable"),  # two of three
        ("cb", "answerable"),
        ("cc", "doubtful"),
        ("cd", "no_votes"),  # x failed the filter
    ]
    assert result.quality.num_unanswerable == 1 and result.quality.label_error.value is None
    assert [(row.verdict_id, row.candidate_id) for row in result.excluded_answers] == [("dx", "cd")]
    assert [row.status for row in result.aq_checks] == ["verified", "verified", "verified", "open"]
    assert result.posteriors == []


def test_the_report_summarizes_the_results():
    figures = make_report(collected(aggregation="majority"))
    assert (figures["simulated"], figures["rehearsal"], figures["verdicts"]) == (True, False, 9)
    assert figures["excluded_answers"] == {"gold question failed": 1}
    assert figures["candidates"] == {
        "clip-hard": {"unanswerable": 1, "answerable": 1, "doubtful": 1, "no_votes": 1}
    }
    assert figures["annotators"]["x"]["specificity"]["rate"] == 0.75  # three of four filters
    assert figures["aqs"] == {"verified": 3, "open": 1}
    # Candidates a, b, c count twice or more: a third, all and none of the pairs of verdicts on them agree.
    assert figures["agreement"]["observed"]["value"] == pytest.approx(4 / 9, abs=1e-6)
    assert figures["retest"] == {
        "num_repeated": 0,
        "agreement_rate": {"value": None, "low": None, "high": None},
    }


def test_by_dawid_and_skene_every_candidate_with_votes_has_a_probability():
    result = collected(aggregation="dawid-skene", min_posterior=0.6)
    assert [row.candidate_id for row in result.posteriors] == ["ca", "cb", "cc", "cd"]
    assert all(0 < row.invalid < 1 for row in result.posteriors)
    assert {row.annotator for row in result.quality.rates} == {"x", "y", "z"}


def test_the_prior_of_a_candidate_is_what_is_estimated_of_it():
    even = dict.fromkeys(("ca", "cb", "cc", "cd"), 0.5)
    before = {row.candidate_id: row.invalid for row in collected(even).posteriors}
    after = {row.candidate_id: row.invalid for row in collected(even | {"cc": 0.1}).posteriors}
    assert after["cc"] > before["cc"] and after["ca"] == pytest.approx(before["ca"], abs=0.1)


@pytest.mark.parametrize("rule", ["majority", "unanimity", "dawid-skene"])
def test_an_adjudicators_verdict_overrides_the_votes_and_is_marked(rule):
    before = {row.candidate.candidate_id: row for row in collected(aggregation=rule).verified}
    words = {
        "a": (V, U),
        "c": (V, X),
        "d": (X, X),
    }  # "unsure" is valid; what is said beside a failed filter counts not
    given = {
        key: row | ({"adjudicator-01": words[key]} if key in words else {}) for key, row in GIVEN.items()
    }
    result = collected(aggregation=rule, given=given)
    a, b, c, d = result.verified
    assert [(row.status, row.decided_by) for row in (a, c)] == [
        ("answerable", "adjudicator"),
        ("unanswerable", "adjudicator"),
    ]
    assert (b, d.decided_by) == (before["cb"], "votes")
    assert (a.votes_invalid, a.votes_valid, a.votes_excluded) == (2, 1, 0)  # annotators' alone
    assert "ac" not in a.verdict_ids and "aadjudicator-01" in a.verdict_ids
    assert make_report(result)["by_adjudicator"] == {"answerable": 1, "unanswerable": 1}
    assert [row.by_adjudicator for row in result.quality.subsets] == [2]
    assert not {"ca", "cc"} & {
        *result.quality.doubtful,
        *(row.candidate_id for row in result.quality.uncertain_items),
    }
    if rule == "dawid-skene":
        assert {
            row.candidate_id: row.invalid for row in result.posteriors if row.candidate_id in ("ca", "cc")
        } == {"ca": 0, "cc": 1}
        assert {row.annotator for row in result.quality.rates} == {
            "x",
            "y",
            "z",
        }  # no expert is estimated


def test_adjudicators_who_are_split_evenly_decide_nothing():
    given = GIVEN | {"c": GIVEN["c"] | {"adjudicator-01": (V, X), "adjudicator-02": (V, V)}}
    row = collected(aggregation="majority", given=given).verified[2]
    assert (row.status, row.decided_by) == ("doubtful", "votes")


def test_doubtful_candidates_are_left_for_an_adjudicator_with_their_posterior():
    found = collected(aggregation="majority").quality
    assert found.doubtful == {"cc": 0.5}  # one vote each way
    rows = collected(min_posterior=0.999)
    left = {row.candidate.candidate_id for row in rows.verified if row.status == "doubtful"}
    assert left and rows.quality.doubtful == {
        row.candidate_id: pytest.approx(row.invalid) for row in rows.posteriors if row.candidate_id in left
    }


def test_agreement_is_measured_only_on_the_overlap_and_between_annotators():
    # All: a third, all and none of the pairs on a, b, c agree. What is asked again in doubt would lower it.
    assert collected().quality.agreement[0].observed.value == pytest.approx(4 / 9, abs=1e-6)
    given = GIVEN | {"b": GIVEN["b"] | {"adjudicator-01": (V, X)}}
    together = collected(given=given, overlap=("ca", "cb")).quality.agreement[0]
    assert (together.candidates, together.observed.value) == (2, pytest.approx(2 / 3, abs=1e-6))
    assert collected(overlap=()).quality.agreement[0].observed.value is None


@pytest.mark.parametrize(("simulate", "there"), [(True, True), ("rehearsal", True), (False, False)])
def test_the_parameters_of_the_simulation_are_active_only_if_it_runs(simulate, there):
    in_use = CollectParams(simulate=simulate).get_active_values()
    assert in_use["simulate"] == simulate
    assert ({"seed", "simulated_votes"} <= in_use.keys()) is there
    assert in_use["min_votes"] == 2


def test_without_valid_answers_nothing_is_estimated_and_no_candidate_has_votes():
    result = collected(given={"a": {"x": (X, X)}})  # beside a failed filter
    assert [row.status for row in result.verified] == ["no_votes"] and result.posteriors == []


def test_verified_candidates_are_kept_where_one_says_as_they_are_made():
    made = iter(())

    def keep(rows):
        nonlocal made
        made = rows
        return tuple(rows)

    rows = {f"c{key}": screened(key) for key in GIVEN}
    tasks = {key: task(key) for key in GIVEN}
    verdicts = [
        verdict(key, who, said, known)
        for key, all_said in GIVEN.items()
        for who, (known, said) in all_said.items()
    ]
    found = aggregate_verdicts(rows, build_answers_table(tasks, verdicts), CollectParams(), store=keep)
    assert iter(made) is made  # one at a time, not a list
    assert isinstance(found.verified, tuple)
    assert found == msgspec.structs.replace(
        aggregate_verdicts(rows, build_answers_table(tasks, verdicts), CollectParams()),
        verified=found.verified,
    )
