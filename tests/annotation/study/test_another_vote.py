import pytest

from annotation.study.another_vote import another_vote, one_more, one_more_by_posterior
from annotation.study.votes import verify
from pipeline.core.records import Candidate, Judgement, Screened, Task, TaskQuestion, Verdict

V, I, U = "valid", "invalid", "unsure"


@pytest.mark.parametrize(
    ("choices", "majority", "unanimity"),
    [
        ((I, V), True, False),  # one more makes two of three
        ((I, I, V, V), True, False),
        ((I, V, U), False, False),  # two of four are no majority
        ((I, U), True, False),
        ((U, U), False, False),
        ((I, I, U, U), True, False),  # three of five
    ],
)
def test_one_more_vote_ends_a_doubt_only_where_it_can(choices, majority, unanimity):
    assert one_more(choices, "majority", 2) is majority
    assert one_more(choices, "unanimity", 2) is unanimity


@pytest.mark.parametrize(
    ("choices", "posterior", "expected"),
    # A vote of somebody right nine times in ten multiplies the odds by 9: 0.95 is 19 to 1, so from odds of 19/9 on, 0.679.
    [
        ((I, V), 0.68, True),
        ((I, V), 0.67, False),
        ((I, V), 0.5, False),
        ((I, V), 0.33, False),
        ((I, V), 0.32, True),
        ((I, V, V), 0.68, False),  # two against two would be a tie
    ],
)
def test_by_probability_one_more_vote_of_the_usual_kind_must_reach_what_is_asked_for(
    choices, posterior, expected
):
    assert one_more_by_posterior(choices, posterior, (0.9, 0.1), (0.1, 0.9), 0.95, 2) is expected


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
        "a": {"x": I, "y": V, "z": I},  # z's does not count: a tie
        "b": {"x": I, "z": I},  # one counts: too few
        "c": {"x": I, "y": I, "z": V},  # two count and agree
        "d": {"x": I},  # nobody's fault: the others are still to come
        "e": {"z": I},  # none counts
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
    verified = verify(screened, tasks, verdicts, aside, "majority", 2)
    rows = another_vote(
        verified, tasks, verdicts, aside, lambda key, choices: one_more(choices, "majority", 2), 2
    )
    assert [(r.task_id, r.candidate_id, r.votes_counted, r.votes_wanted, r.reason) for r in rows] == [
        ("ta", "ca", 2, 3, "one more vote decides"),
        ("tb", "cb", 1, 2, "votes were set aside"),
        ("te", "ce", 0, 2, "votes were set aside"),
    ]
