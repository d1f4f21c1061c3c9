import pytest

from annotation.study.collect_rules import CollectRules
from annotation.study.judged import judged_tasks
from annotation.study.votes import by_candidate, check_aqs, commonest, status, verify
from pipeline.core.records import Candidate, Judgement, Screened, Task, TaskQuestion, Verdict

V, X, U = "valid", "invalid", "unsure"


@pytest.mark.parametrize(
    ("choices", "majority", "unanimity"),
    [
        ((X, X, X), "unanswerable", "unanswerable"),
        ((X, X, V), "unanswerable", "doubtful"),
        ((X, X, U), "unanswerable", "doubtful"),
        ((X, V, V), "answerable", "doubtful"),
        ((V, V, V), "answerable", "answerable"),
        ((X, V, U), "doubtful", "doubtful"),
        ((V, U, U), "doubtful", "doubtful"),
        ((X, V), "doubtful", "doubtful"),
        ((X, X, V, V), "doubtful", "doubtful"),
        ((X,), "unjudged", "unjudged"),
        ((), "unjudged", "unjudged"),
    ],
)
def test_a_candidate_goes_on_only_when_enough_say_invalid(choices, majority, unanimity):
    assert status(choices, CollectRules(rule="majority")) == majority
    assert status(choices, CollectRules(rule="unanimity")) == unanimity


def test_one_vote_is_enough_if_one_is_asked_for():
    assert status((X,), CollectRules(rule="majority", min_votes=1)) == "unanswerable"


@pytest.mark.parametrize(
    ("choices", "posterior", "expected"),
    [
        ((X, X, V), 0.95, "unanswerable"),
        ((X, U), 0.95, "unanswerable"),
        ((X, X, V), 0.949, "doubtful"),
        ((X, V), 0.99, "doubtful"),  # a tie of votes, however probable
        ((V, V, X), 0.99, "doubtful"),  # most say the opposite
        ((U, U), 0.99, "doubtful"),
        ((V, V, X), 0.05, "answerable"),
        ((V, V, X), 0.06, "doubtful"),
        ((X, X, V), 0.01, "doubtful"),
        ((X,), 0.99, "unjudged"),
    ],
)
def test_by_probability_a_candidate_is_decided_if_it_is_high_and_the_votes_agree(
    choices, posterior, expected
):
    rules = CollectRules(rule="dawid-skene", min_votes=2, min_posterior=0.95)
    assert status(choices, rules, posterior) == expected


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


def test_every_candidate_gets_one_status_and_votes_add_up():
    tasks = {key: task(key) for key in "abc"}
    verdicts = [
        verdict("a", "x", V, X),
        verdict("a", "y", V, X),
        verdict("a", "z", V, U),
        verdict("b", "x", V, V),
        verdict("b", "y", X, X),
        verdict("b", "z", V, V),
    ]
    rows = verify(
        [screened(key) for key in "cba"], by_candidate(judged_tasks(tasks, verdicts), {"by"}), CollectRules()
    )
    assert [
        (r.candidate.candidate_id, r.status, r.votes_invalid, r.votes_valid, r.votes_set_aside) for r in rows
    ] == [("ca", "unanswerable", 2, 1, 0), ("cb", "answerable", 0, 2, 1), ("cc", "unjudged", 0, 0, 0)]
    assert rows[1].verdict_ids == ("bx", "by", "bz")
    assert not any(row.simulated for row in rows)


def test_by_probability_each_candidate_is_decided_by_its_own():
    tasks = {key: task(key) for key in "ab"}
    verdicts = [verdict(key, who, V, X) for key in "ab" for who in "xy"]
    rows = verify(
        [screened(key) for key in "ab"],
        by_candidate(judged_tasks(tasks, verdicts)),
        CollectRules(rule="dawid-skene", min_posterior=0.9),
        {"ca": 0.95, "cb": 0.6},
    )
    assert [row.status for row in rows] == ["unanswerable", "doubtful"]


def test_own_questions_are_verified_or_refuted_on_the_way():
    tasks = {"a": task("a"), "b": task("b"), "c": task("c"), "d": task("d", source="template")}
    verdicts = [
        verdict("a", "x", V, X),
        verdict("a", "y", U, X),
        verdict("a", "z", X, X),
        verdict("b", "x", X, X),
        verdict("b", "y", X, X),
        verdict("b", "z", V, X),
        verdict("c", "x", V, X),
        verdict("d", "x", V, X),
        verdict("d", "y", V, X),
    ]
    assert [
        (r.question_id, r.status, r.votes_valid, r.votes_invalid)
        for r in check_aqs(judged_tasks(tasks, verdicts), set())
    ] == [("qa", "verified", 2, 1), ("qb", "refuted", 1, 2), ("qc", "open", 1, 0)]
    assert [(r.question_id, r.status) for r in check_aqs(judged_tasks(tasks, verdicts), {"x"})] == [
        ("qa", "open"),
        ("qb", "open"),
    ]


def test_the_reason_given_most_often_is_kept_and_ties_go_by_the_alphabet():
    # Two of three say "wrong attribute"; an unclear picture is a reason, but none of a question's own.
    assert commonest(["wrong attribute", "missing object", "wrong attribute", ""]) == "wrong attribute"
    assert commonest(["wrong relation", "missing object"]) == "missing object"
    assert commonest(["", "unclear picture"]) is None
