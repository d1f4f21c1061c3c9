import pytest

from annotation.study.another_vote import another_vote, one_more_decides
from annotation.study.collect_rules import CollectRules
from annotation.study.judged import judged_tasks
from annotation.study.votes import by_candidate, verify
from pipeline.core.records import Candidate, Judgement, Screened, Task, TaskQuestion, Verdict

V, X, U = "valid", "invalid", "unsure"


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
    likelihoods = {V: (0.9, 0.1), X: (0.1, 0.9)}
    assert one_more_decides(choices, rules, posterior, likelihoods) is expected


def test_tasks_that_lost_votes_and_ties_are_offered_again_and_no_others():
    keys = "abcdef"
    tasks = {
        key: Task(
            task_id=f"t{key}",
            picture_id="n1",
            subset="clip-hard",
            first=TaskQuestion(key="1", text="filter", role="filter", expected=V),
            second=TaskQuestion(key="2", text="candidate", role="candidate", candidate_id=f"c{key}"),
        )
        for key in keys
    }
    tasks = {task.task_id: task for task in tasks.values()}
    given = {
        "a": {"x": X, "y": V, "z": X},  # z's does not count: a tie
        "b": {"x": X, "z": X},  # one counts: too few
        "c": {"x": X, "y": X, "z": V},  # two count and agree
        "d": {"x": X},  # nobody's fault: the others are still to come
        "e": {"z": X},  # none counts
    }
    verdicts = [
        Verdict(verdict_id=key + who, task_id=f"t{key}", annotator=who, first=V, second=choice)
        for key, row in given.items()
        for who, choice in row.items()
    ]
    aside = {v.verdict_id for v in verdicts if v.annotator == "z"}
    screened = [
        Screened(
            candidate=Candidate(
                candidate_id=f"c{k}", subset="clip-hard", picture_id="n1", question_id="q", text="candidate"
            ),
            judgement=Judgement(answerability="unknown"),
        )
        for k in keys
    ]
    judged, rules = judged_tasks(tasks, verdicts), CollectRules(rule="majority", min_votes=2)
    votes = by_candidate(judged, aside)
    rows = another_vote(verify(screened, votes, rules), votes, rules)
    assert [(r.task_id, r.candidate_id, r.votes_counted, r.votes_wanted, r.reason) for r in rows] == [
        ("ta", "ca", 2, 3, "one more vote decides"),
        ("tb", "cb", 1, 2, "votes were set aside"),
        ("te", "ce", 0, 2, "votes were set aside"),
    ]
