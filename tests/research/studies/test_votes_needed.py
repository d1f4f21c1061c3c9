from collections import Counter
from itertools import product

import pytest

from annotation.study.assignment import Asking, AskingRules
from annotation.study.assignment_params import as_asked
from pipeline.core.records import Candidate, Judgement, Screened, Task, TaskQuestion
from research.simulated_annotators.annotator_crowds import crowd
from research.simulated_annotators.annotators import SimulatedAnnotator
from research.studies.votes_needed import (
    APART,
    COUNTING,
    PLAIN,
    SURE,
    curve,
    errors,
    gather,
    means,
    plot,
    told,
)

COUNT = 300
UNANSWERABLE = {f"c{n}" for n in range(COUNT) if n % 10}


def task(number):
    subset = ("clip-hard", "pt-hard")[number % 2]
    asked = TaskQuestion(key="a", text=f"candidate {number}", role="candidate", candidate_id=f"c{number}")
    known = TaskQuestion(
        key="b",
        text=f"filter {number}",
        role="filter",
        expected=("valid", "invalid")[number // 2 % 2],
        source="own question",
    )
    return Task(task_id=f"t{number}", picture_id=f"n{number // 10}", subset=subset, first=asked, second=known)


TASKS = {task.task_id: task for task in map(task, range(COUNT))}
SCREENED = [
    Screened(
        candidate=Candidate(
            candidate_id=f"c{n}",
            subset=TASKS[f"t{n}"].subset,
            picture_id=f"n{n // 10}",
            question_id="q",
            text=f"candidate {n}",
        ),
        judgement=Judgement(answerability="unknown"),
    )
    for n in range(COUNT)
]
PRIOR = {f"c{n}": 0.1 for n in range(COUNT)}


def see(question, at):
    bad = (
        question.expected == "invalid" if question.role == "filter" else question.candidate_id in UNANSWERABLE
    )
    return "missing object" if bad else ""


@pytest.fixture(scope="module")
def spent():
    return curve(TASKS, SCREENED, PRIOR, see, [7])


def test_people_who_never_err_are_asked_once_and_settle_everything():
    perfect = [SimulatedAnnotator(f"s{n}", misses=0, false_alarms=0, hesitates=0) for n in range(4)]
    rules = AskingRules(votes=3, sure=0.9, overlap=0, wave=10)
    study = Asking([as_asked(row) for row in TASKS.values()], PRIOR, rules)
    verdicts = gather(study, TASKS, perfect, see, 0)
    assert max(Counter((row.annotator, row.task_id) for row in verdicts).values()) == 1
    # Those of the first wave three times; of the others an unanswerable one once (9 * 0.9 / 0.05), an answerable one twice or
    # thrice, since 0.9 * 20 / 19 to 1 is in doubt.
    votes = Counter(row.task_id for row in verdicts)
    once = [key for key, count in votes.items() if count == 1]
    assert len(once) >= 0.8 * COUNT and {f"c{key[1:]}" for key in once} <= UNANSWERABLE
    assert [row.order for row in verdicts if row.annotator == "s0"] == list(range(study.progress("s0")[0]))


@pytest.mark.parametrize(
    ("released", "expected"),
    [
        ({"a", "c"}, (0, 0, 0)),
        ({"a", "b", "c", "d"}, (0.5, 0, 0.5)),
        (set(), (0, 1, 0.5)),
        ({"b", "e"}, (1, 1, 0.75)),  # of e nothing is known
    ],
)
def test_errors_are_of_what_is_released_and_of_what_is_lost(released, expected):
    truth = {"a": "missing object", "b": "", "c": "wrong relation", "d": "", "e": "unclear"}
    assert errors(released, truth) == expected


def test_every_way_is_tried_at_every_setting(spent):
    assert [(row.way, row.setting) for row in spent] == [
        *product([PLAIN], (1, 2, 3)),
        *product([COUNTING], (1, 2, 3)),
        *product([APART], SURE),
    ]
    assert all(row.votes == row.judgements for row in spent)  # no repeat among these tasks


def test_a_plain_study_takes_as_many_judgements_as_it_says_and_one_that_asks_takes_fewer(spent):
    by = {(row.way, row.setting): row for row in spent}
    assert [by[PLAIN, votes].judgements for votes in (1, 2, 3)] == [300, 600, 900]
    # One after the other beside three that count: fewer by far, and not much worse; 300 are too few to say more.
    assert by[APART, 0.95].judgements < 0.85 * by[COUNTING, 3].judgements
    assert by[APART, 0.95].error < by[COUNTING, 3].error + 0.04


def test_the_figures_are_means_over_crowds_and_drawn(spent, tmp_path):
    table = means(spent, [7])
    assert len(table) == len(spent) and (table["least"] == table["error"]).all()
    text = told(table)
    assert text.count("\n") == 1 + len(spent) and f"| {PLAIN} | 3 | 900 |" in text
    plot(table).save(str(tmp_path / "votes.svg"))
    assert (tmp_path / "votes.svg").stat().st_size > 1000


def test_crowds_of_the_figures_are_not_the_one_of_the_constants():
    from research.studies.votes_needed import FIXED_ON, TOLD_OF

    assert FIXED_ON not in TOLD_OF and len({crowd(seed)[0].misses for seed in (FIXED_ON, *TOLD_OF)}) == 4
