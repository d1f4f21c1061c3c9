import pytest

from annotation.study.votes import check_aqs, commonest, set_aside, status, verify
from pipeline.core.records import Candidate, Judgement, Screened, Task, TaskQuestion, Verdict

V, I, U = "valid", "invalid", "unsure"


@pytest.mark.parametrize(
    ("choices", "majority", "unanimity"),
    [
        ((I, I, I), "unanswerable", "unanswerable"),
        ((I, I, V), "unanswerable", "doubtful"),
        ((I, I, U), "unanswerable", "doubtful"),
        ((I, V, V), "answerable", "doubtful"),
        ((V, V, V), "answerable", "answerable"),
        ((I, V, U), "doubtful", "doubtful"),
        ((V, U, U), "doubtful", "doubtful"),
        ((I, V), "doubtful", "doubtful"),
        ((I, I, V, V), "doubtful", "doubtful"),
        ((I,), "unjudged", "unjudged"),
        ((), "unjudged", "unjudged"),
    ],
)
def test_a_candidate_goes_on_only_when_enough_say_invalid(choices, majority, unanimity):
    assert status(choices, "majority", 2) == majority
    assert status(choices, "unanimity", 2) == unanimity


def test_one_vote_is_enough_if_one_is_asked_for():
    assert status((I,), "majority", 1) == "unanswerable"


@pytest.mark.parametrize(
    ("choices", "posterior", "expected"),
    [
        ((I, I, V), 0.95, "unanswerable"),
        ((I, U), 0.95, "unanswerable"),
        ((I, I, V), 0.949, "doubtful"),
        ((I, V), 0.99, "doubtful"),  # a tie of votes, however probable
        ((V, V, I), 0.99, "doubtful"),  # most say the opposite
        ((U, U), 0.99, "doubtful"),
        ((V, V, I), 0.05, "answerable"),
        ((V, V, I), 0.06, "doubtful"),
        ((I, I, V), 0.01, "doubtful"),
        ((I,), 0.99, "unjudged"),
    ],
)
def test_by_probability_a_candidate_is_decided_if_it_is_high_and_the_votes_agree(
    choices, posterior, expected
):
    assert status(choices, "dawid-skene", 2, posterior, 0.95) == expected


def task(key, expected="valid", source="own question"):
    return Task(
        task_id=key,
        picture_id="n1",
        subset="clip-hard",
        first=TaskQuestion(
            key="1", text="filter", role="filter", expected=expected, source=source, question_id=f"q{key}"
        ),
        second=TaskQuestion(key="2", text="candidate", role="candidate", candidate_id=f"c{key}"),
    )


def verdict(key, who, filter_choice, candidate):
    return Verdict(verdict_id=key + who, task_id=key, annotator=who, first=filter_choice, second=candidate)


def screened(key):
    candidate = Candidate(
        candidate_id=f"c{key}", subset="clip-hard", picture_id="n1", question_id="q", text="candidate"
    )
    return Screened(candidate=candidate, judgement=Judgement(answerability="unknown"))


def test_verdicts_of_excluded_annotators_and_with_failed_filters_are_set_aside_with_the_reason():
    tasks = {"a": task("a"), "b": task("b", "invalid")}
    verdicts = [
        verdict("a", "x", V, I),
        verdict("a", "y", I, I),
        verdict("a", "z", V, I),
        verdict("b", "x", U, I),
        verdict("b", "z", V, I),
    ]
    rows = set_aside(tasks, verdicts, {"z": ["accuracy: 1 of 9", "speed: 8 of 9"]}, set())
    assert {(row.verdict_id, row.reason, row.detail) for row in rows} == {
        ("ay", "filter failed", "said invalid, valid was expected"),
        ("az", "annotator excluded", "accuracy: 1 of 9; speed: 8 of 9"),
        ("bx", "filter failed", "said unsure, invalid was expected"),
        ("bz", "annotator excluded", "accuracy: 1 of 9; speed: 8 of 9"),
    }
    assert set_aside(tasks, verdicts, {}, {("n1", "filter")}) == []  # a refuted filter fails nobody


def test_every_candidate_gets_one_status_and_votes_add_up():
    tasks = {key: task(key) for key in "abc"}
    verdicts = [
        verdict("a", "x", V, I),
        verdict("a", "y", V, I),
        verdict("a", "z", V, U),
        verdict("b", "x", V, V),
        verdict("b", "y", I, I),
        verdict("b", "z", V, V),
    ]
    rows = verify([screened(key) for key in "cba"], tasks, verdicts, {"by"}, "majority", 2)
    assert [
        (r.candidate.candidate_id, r.status, r.votes_invalid, r.votes_valid, r.votes_set_aside) for r in rows
    ] == [("ca", "unanswerable", 2, 1, 0), ("cb", "answerable", 0, 2, 1), ("cc", "unjudged", 0, 0, 0)]
    assert rows[1].verdict_ids == ("bx", "by", "bz")
    assert not any(row.simulated for row in rows)


def test_by_probability_each_candidate_is_decided_by_its_own():
    tasks = {key: task(key) for key in "ab"}
    verdicts = [verdict(key, who, V, I) for key in "ab" for who in "xy"]
    rows = verify(
        [screened(key) for key in "ab"],
        tasks,
        verdicts,
        set(),
        "dawid-skene",
        2,
        {"ca": 0.95, "cb": 0.6},
        0.9,
    )
    assert [row.status for row in rows] == ["unanswerable", "doubtful"]


def test_own_questions_are_verified_or_refuted_on_the_way():
    tasks = {"a": task("a"), "b": task("b"), "c": task("c"), "d": task("d", source="template")}
    verdicts = [
        verdict("a", "x", V, I),
        verdict("a", "y", U, I),
        verdict("a", "z", I, I),
        verdict("b", "x", I, I),
        verdict("b", "y", I, I),
        verdict("b", "z", V, I),
        verdict("c", "x", V, I),
        verdict("d", "x", V, I),
        verdict("d", "y", V, I),
    ]
    assert [
        (r.question_id, r.status, r.votes_valid, r.votes_invalid) for r in check_aqs(tasks, verdicts, set())
    ] == [("qa", "verified", 2, 1), ("qb", "refuted", 1, 2), ("qc", "open", 1, 0)]
    assert [(r.question_id, r.status) for r in check_aqs(tasks, verdicts, {"x"})] == [
        ("qa", "open"),
        ("qb", "open"),
    ]


def test_the_reason_given_most_often_is_kept_and_ties_go_by_the_alphabet():
    # Two of three say "wrong attribute"; an unclear picture is a reason, but none of a question's own.
    assert commonest(["wrong attribute", "missing object", "wrong attribute", ""]) == "wrong attribute"
    assert commonest(["wrong relation", "missing object"]) == "missing object"
    assert commonest(["", "unclear picture"]) is None
