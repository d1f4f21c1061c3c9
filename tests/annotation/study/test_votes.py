import pandas as pd
import pytest

from annotation.study.dawid_skene import ConfusionTable
from annotation.study.judged import CollectRules, judged_tasks
from annotation.study.votes import another_vote, check_aqs, commonest, status, verify, votes_on
from pipeline.core.records import Candidate, Judgement, Screened, Task, TaskQuestion, Verdict

V, X, U = "valid", "invalid", "unsure"


def came_to(choices, rules, posterior=0.5):
    """The status of a single candidate."""
    votes = pd.DataFrame([{choice: choices.count(choice) for choice in (V, X, U)}])
    return status(votes, rules, posterior)[0]


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
    assert came_to(choices, CollectRules(rule="majority")) == majority
    assert came_to(choices, CollectRules(rule="unanimity")) == unanimity


def test_one_vote_is_enough_if_one_is_asked_for():
    assert came_to((X,), CollectRules(rule="majority", min_votes=1)) == "unanswerable"


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
    assert came_to(choices, rules, posterior) == expected


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
    judged = judged_tasks(tasks, verdicts)
    judged.loc[judged["verdict_id"] == "by", "aside"] = "filter failed"
    rows = verify([screened(key) for key in "cba"], judged, CollectRules())
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
        judged_tasks(tasks, verdicts),
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
    judged = judged_tasks(tasks, verdicts)
    assert [(r.question_id, r.status, r.votes_valid, r.votes_invalid) for r in check_aqs(judged)] == [
        ("qa", "verified", 2, 1),
        ("qb", "refuted", 1, 2),
        ("qc", "open", 1, 0),
    ]
    judged["aside"] = judged["annotator"].map({"x": "annotator excluded", "y": "filter failed", "z": ""})
    assert [(r.question_id, r.status) for r in check_aqs(judged)] == [("qa", "open"), ("qb", "open")]


def test_a_candidate_that_nobody_judged_or_whose_votes_do_not_count_has_none():
    judged = judged_tasks({"a": task("a")}, [verdict("a", "x", V, X)])
    assert votes_on(judged, ["ca", "cb"]).to_dict("list") == {V: [0, 0], X: [1, 0], U: [0, 0]}
    assert votes_on(judged.assign(aside="filter failed"), ["ca"]).to_dict("list") == {V: [0], X: [0], U: [0]}


def test_the_reason_given_most_often_is_kept_and_ties_go_by_the_alphabet():
    # Two of three say "wrong attribute"; an unclear picture is a reason, but none of a question's own.
    assert commonest(["wrong attribute", "missing object", "wrong attribute", ""]) == "wrong attribute"
    assert commonest(["wrong relation", "missing object"]) == "missing object"
    assert commonest(["", "unclear picture"]) is None


def one_more_decides(choices, rules, *of_the_rule):
    """Whether another vote is wanted on a single candidate that is in doubt."""
    verdicts = [verdict("a", str(who), V, choice) for who, choice in enumerate(choices)]
    judged = judged_tasks({"a": task("a")}, verdicts)
    verified = verify([screened("a")], judged, rules, *of_the_rule[:1])
    assert verified[0].status == "doubtful"
    return bool(another_vote(verified, judged, rules, *of_the_rule))


@pytest.mark.parametrize(
    ("choices", "majority", "unanimity"),
    [
        ((X, V), True, False),  # one more makes two of three
        ((X, X, V, V), True, False),
        ((X, V, U), False, False),  # two of four are no majority
        ((X, U), True, False),
        ((U, U), False, False),
        ((X, X, U, U), True, False),  # three of five
    ],
)
def test_one_more_vote_ends_a_doubt_only_where_it_can(choices, majority, unanimity):
    assert one_more_decides(choices, CollectRules(rule="majority")) is majority
    assert one_more_decides(choices, CollectRules(rule="unanimity")) is unanimity


@pytest.mark.parametrize(
    ("choices", "posterior", "expected"),
    # A vote of somebody right nine times in ten multiplies the odds by 9: 0.95 is 19 to 1, so from odds of 19/9 on, 0.679.
    [
        ((X, V), 0.68, True),
        ((X, V), 0.67, False),
        ((X, V), 0.5, False),
        ((X, V), 0.33, False),
        ((X, V), 0.32, True),
        ((X, V, V), 0.68, False),  # two against two would be a tie
    ],
)
def test_by_probability_one_more_vote_of_the_usual_kind_must_reach_what_is_asked_for(
    choices, posterior, expected
):
    rules = CollectRules(rule="dawid-skene", min_votes=2, min_posterior=0.95)
    usual = ConfusionTable(
        subset="clip-hard",
        annotator="x",
        votes=9,
        where_valid={V: 0.9, X: 0.1, U: 0},
        where_invalid={V: 0.1, X: 0.9, U: 0},
    )
    assert one_more_decides(choices, rules, {"ca": posterior}, [usual]) is expected


def test_tasks_that_lost_votes_and_ties_are_offered_again_and_no_others():
    tasks = {key: task(key) for key in "abcdef"}
    given = {
        "a": {"x": X, "y": V, "z": X},  # z's does not count: a tie
        "b": {"x": X, "z": X},  # one counts: too few
        "c": {"x": X, "y": X, "z": V},  # two count and agree
        "d": {"x": X},  # nobody's fault: the others are still to come
        "e": {"z": X},  # none counts
    }
    verdicts = [verdict(key, who, V, choice) for key, row in given.items() for who, choice in row.items()]
    judged = judged_tasks(tasks, verdicts)
    judged.loc[judged["annotator"] == "z", "aside"] = "annotator excluded"
    rules = CollectRules(rule="majority", min_votes=2)
    rows = another_vote(verify([screened(key) for key in tasks], judged, rules), judged, rules)
    assert [(r.task_id, r.candidate_id, r.votes_counted, r.votes_wanted, r.reason) for r in rows] == [
        ("a", "ca", 2, 3, "one more vote decides"),
        ("b", "cb", 1, 2, "votes were set aside"),
        ("e", "ce", 0, 2, "votes were set aside"),
    ]
