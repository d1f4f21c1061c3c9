import pytest

from annotation.study.judged import judged_tasks
from pipeline.collecting.collected import CollectParams, collect, report
from pipeline.core.records import Candidate, Judgement, Screened, Task, TaskQuestion, Verdict

V, X, U = "valid", "invalid", "unsure"
# Candidate -> annotator -> what they said of the filter (valid is expected) and of the candidate.
GIVEN = {
    "a": {"x": (V, X), "y": (V, X), "z": (V, V)},
    "b": {"x": (V, V), "y": (U, V)},
    "c": {"x": (V, X), "y": (V, V)},
    "d": {"x": (X, X), "y": (V, X)},
}


def collected(**params):
    tasks = {
        key: Task(
            task_id=key,
            picture_id=f"n{key}",
            subset="pt-hard",
            first=TaskQuestion(
                key="1",
                text="filter",
                role="filter",
                expected=V,
                source="own question",
                question_id=f"q{key}",
            ),
            second=TaskQuestion(key="2", text="candidate", role="candidate", candidate_id=f"c{key}"),
        )
        for key in GIVEN
    }
    verdicts = [
        Verdict(verdict_id=key + who, task_id=key, annotator=who, first=first, second=second, simulated=True)
        for key, row in GIVEN.items()
        for who, (first, second) in row.items()
    ]
    screened = [
        Screened(
            candidate=Candidate(
                candidate_id=f"c{key}",
                subset="pt-hard",
                picture_id=f"n{key}",
                question_id="q",
                text="candidate",
            ),
            judgement=Judgement(answerability="unknown"),
        )
        for key in GIVEN
    ]
    return collect(screened, judged_tasks(tasks, verdicts), CollectParams(simulate=True, **params))


def test_votes_are_counted_after_failed_filters_are_set_aside():
    result = collected()
    assert [(row.candidate.candidate_id, row.status) for row in result.verified] == [
        ("ca", "unanswerable"),  # two of three
        ("cb", "answerable"),
        ("cc", "doubtful"),
        ("cd", "unjudged"),  # x failed the filter
    ]
    assert result.quality.unanswerable == 1
    assert [row.verdict_id for row in result.set_aside] == ["dx"]
    assert [(row.task_id, row.reason) for row in result.another_vote] == [
        ("c", "one more vote decides"),
        ("d", "votes were set aside"),
    ]
    assert [row.status for row in result.aq_checks] == ["verified", "verified", "verified", "open"]
    assert result.posteriors == []


def test_the_report_tells_the_same_in_short():
    figures = report(collected())
    assert (figures["simulated"], figures["rehearsal"], figures["verdicts"]) == (True, False, 9)
    assert figures["set_aside"] == {"filter failed": 1}
    assert figures["candidates"] == {
        "pt-hard": {"unanswerable": 1, "answerable": 1, "doubtful": 1, "unjudged": 1}
    }
    assert figures["annotators"]["x"]["accuracy"] == 0.75  # three of four filters
    assert figures["aqs"] == {"verified": 3, "open": 1}
    # Candidates a, b, c count twice or more: of 3 + 1 + 1 pairs of verdicts one of a's and b's agree.
    assert figures["agreement"]["share"] == 0.4
    assert [(p["first"], p["second"], p["both"], p["same"]) for p in figures["agreement"]["pairs"]] == [
        ("x", "y", 3, 2),
        ("x", "z", 1, 0),
        ("y", "z", 1, 0),
    ]


def test_by_dawid_and_skene_every_candidate_with_votes_has_a_probability():
    result = collected(rule="dawid-skene", min_posterior=0.6)
    assert [row.candidate_id for row in result.posteriors] == ["ca", "cb", "cc", "cd"]
    assert all(0 < row.invalid < 1 for row in result.posteriors)


@pytest.mark.parametrize(("simulate", "there"), [(True, True), ("rehearsal", True), (False, False)])
def test_the_parameters_of_the_simulation_are_told_only_if_it_ran(simulate, there):
    in_use = CollectParams(simulate=simulate).in_use()
    assert in_use["simulate"] == simulate
    assert ({"seed", "votes"} <= in_use.keys()) is there
    assert in_use["min_votes"] == 2
