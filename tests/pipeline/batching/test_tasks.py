import json

import pytest

from pipeline.batching.filter_questions import Filter, FilterPool
from pipeline.batching.tasks import make_tasks, shown
from pipeline.core.errors import UserError
from pipeline.core.records import Candidate, Judgement, Picture, Screened


def candidate(number, text="What is it?", question_id=None):
    row = Candidate(
        candidate_id=f"cliphard_n1+{number}",
        subset="clip-hard",
        picture_id="n1",
        question_id=question_id or str(number),
        text=text,
    )
    return Screened(candidate=row, judgement=Judgement(answerability="unknown"))


def valid(text, source="own question", question_id=None):
    return Filter(text=text, expected="valid", source=source, question_id=question_id)


def invalid(text, source="judged candidate"):
    return Filter(text=text, expected="invalid", source=source)


CANDIDATES = [candidate(i, f"What is {i}?") for i in range(200)]
FILTERS = [
    *(valid(f"valid {i}") for i in range(9)),
    *(invalid(f"invalid {i}") for i in range(9)),
    valid("template +", "template"),
    invalid("template -", "template"),
]


def roles(task):
    asked = next(q for q in (task.first, task.second) if q.role == "candidate")
    return asked, next(q for q in (task.first, task.second) if q is not asked)


def test_every_candidate_is_asked_once_beside_one_filter():
    tasks = make_tasks(CANDIDATES, {"n1": FilterPool(FILTERS)}, 0.1, seed=3)
    assert sorted(roles(t)[0].candidate_id for t in tasks) == sorted(
        row.candidate.candidate_id for row in CANDIDATES
    )
    assert {roles(t)[1].role for t in tasks} == {"filter"}
    assert len({t.task_id for t in tasks}) == 200
    assert [t.task_id for t in tasks] == sorted(t.task_id for t in tasks)


def test_half_of_the_filters_are_invalid_and_a_tenth_are_templates_and_either_comes_first():
    tasks = make_tasks(CANDIDATES, {"n1": FilterPool(FILTERS)}, 0.1, seed=3)
    found = [roles(t)[1] for t in tasks]
    assert sum(q.expected == "invalid" for q in found) == 100
    assert 8 <= sum(q.source == "template" for q in found) <= 36  # 20 expected; 4 standard deviations are 17
    assert (
        70 <= sum(t.first.role == "candidate" for t in tasks) <= 130
    )  # 100 expected; 4 standard deviations are 28


def test_the_order_does_not_depend_on_the_order_of_the_candidates():
    a = make_tasks(CANDIDATES, {"n1": FilterPool(FILTERS)}, 0.1, seed=3)
    assert make_tasks(CANDIDATES[::-1], {"n1": FilterPool(FILTERS)}, 0.1, seed=3) == a
    assert make_tasks(CANDIDATES, {"n1": FilterPool(FILTERS)}, 0.1, seed=4) != a


def test_a_filter_is_never_the_candidate_itself_nor_what_it_was_made_from():
    pool = FilterPool(
        [
            valid("What is it?", question_id="8"),
            valid("What was it?", question_id="7"),
            valid("Is it red?", question_id="9"),
        ]
    )
    (task,) = make_tasks([candidate(1, "What is it?", question_id="7")], {"n1": pool}, 0, seed=0)
    assert roles(task)[1].text == "Is it red?"


def test_without_evidence_of_absence_every_filter_is_valid():
    tasks = make_tasks(CANDIDATES[:10], {"n1": FilterPool([valid("valid")])}, 0, seed=0)
    assert {roles(t)[1].expected for t in tasks} == {"valid"}


def test_a_picture_without_any_filter_is_told():
    with pytest.raises(UserError, match="no filter question for candidate cliphard_n1\\+0"):
        make_tasks(CANDIDATES[:1], {"n1": FilterPool([])}, 0, seed=0)


def test_the_browser_gets_a_key_a_picture_and_two_texts_and_nothing_else():
    (task,) = make_tasks(
        [candidate(1, "What is the dog on?")], {"n1": FilterPool([invalid("Where is the cat?")])}, 0, seed=0
    )
    picture = Picture(
        picture_id="n1", split="testdev", path="data/tiny/source/images/n1.jpg", width=1, height=1, sha256=""
    )
    row = shown(task, picture)
    assert row == {
        "data": {
            "task": task.task_id,
            "image": "/data/local-files/?d=tiny/source/images/n1.jpg",
            "first": task.first.text,
            "second": task.second.text,
        }
    }
    for secret in ("candidate", "filter", "valid", "cliphard", "judged", task.first.key, task.second.key):
        assert secret not in json.dumps(row)
