import json
from collections import Counter

import msgspec
import numpy as np
import pytest

from pipeline.batching.filter_questions import Filter
from pipeline.batching.tasks import FilterPool, blocks, halves, make_tasks, shown
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


def test_half_get_an_invalid_filter_and_only_where_there_is_one():
    keys = [f"{i:02}" for i in range(20)]
    chosen = halves(keys, lambda key: int(key < "15"), np.random.default_rng(0))
    assert len(chosen) == 10
    assert max(chosen) < "15"
    assert halves(keys, lambda key: int(key < "03"), np.random.default_rng(0)) == {"00", "01", "02"}
    better = halves(keys, lambda key: 2 if key < "07" else 1, np.random.default_rng(0))
    assert len(better) == 10
    assert set(keys[:7]) <= better


def test_a_pool_that_has_more_than_templates_offers_more():
    template = Filter(text="t", expected="invalid", source="template")
    assert [
        FilterPool(row).offer()
        for row in ([], filters("a"), [template], [template, *filters("b", expected="invalid")])
    ] == [0, 0, 1, 2]


def filters(*texts, expected="valid"):
    return [Filter(text=text, expected=expected, source="own question") for text in texts]


ASKED = Candidate(candidate_id="k", subset="pt-hard", picture_id="p", question_id="9", text="asked")


def test_a_pool_gives_every_filter_once_before_any_twice():
    pool, rng = FilterPool(filters(*"abcd") + filters("z", expected="invalid")), np.random.default_rng(0)
    drawn = [pool.draw(ASKED, "valid", False, rng).text for _ in range(8)]
    assert sorted(drawn[:4]) == sorted(drawn[4:]) == list("abcd")


def test_a_pool_gives_the_wanted_verdict_and_kind_first_then_the_verdict_alone():
    rng = np.random.default_rng(0)
    template = Filter(text="t", expected="valid", source="template")
    rows = [template, *filters("v"), *filters("i", expected="invalid")]
    assert FilterPool(rows).draw(ASKED, "valid", True, rng).text == "t"
    assert FilterPool(rows).draw(ASKED, "valid", False, rng).text == "v"
    assert FilterPool(rows).draw(ASKED, "invalid", True, rng).text == "i"  # there is no invalid template
    assert FilterPool(rows[:2]).draw(ASKED, "invalid", False, rng).text == "v"  # nor any that is invalid
    assert FilterPool([]).draw(ASKED, "valid", False, rng) is None


def test_a_pool_gives_candidates_of_the_same_subset_first():
    rows = [
        Filter(text=subset, expected="valid", source="verified candidate", subset=subset)
        for subset in ("clip-easy", "pt-easy", "pt-hard")
    ]
    pool, rng = FilterPool(rows), np.random.default_rng(0)
    drawn = [pool.draw(ASKED, "valid", False, rng).text for _ in range(4)]
    assert drawn[0] == drawn[3] == "pt-hard"  # each once before any twice
    assert set(drawn) == {row.text for row in rows}


def test_a_pool_never_gives_the_same_question_nor_the_one_that_was_edited():
    same = Filter(text="asked", expected="valid", source="own question")
    original = Filter(text="?", expected="valid", source="own question", question_id="9")
    assert FilterPool([same, original]).draw(ASKED, "valid", False, np.random.default_rng(0)) is None


def rows(subset, many):
    ids = [f"{subset}{number:03}" for number in range(many)]
    return [msgspec.structs.replace(CANDIDATES[0].candidate, candidate_id=key, subset=subset) for key in ids]


def test_the_surest_of_each_subset_go_out_first_and_no_block_lacks_a_subset():
    candidates = [*rows("pt-easy", 30), *rows("pt-hard", 10)]
    estimates = {row.candidate_id: int(row.candidate_id[-3:]) / 100 for row in candidates}
    block = blocks(candidates, estimates, size=8)
    assert Counter(block.values()) == dict.fromkeys(range(5), 8)  # 6 of 30 and 2 of 10 in each of 5 blocks
    for subset in ("pt-easy", "pt-hard"):
        own = [block[row.candidate_id] for row in candidates if row.subset == subset]
        assert own == sorted(own) and set(own) == set(range(5))


def test_within_a_block_the_order_tells_nothing_of_the_estimate():
    estimates = {row.candidate.candidate_id: i / 1000 for i, row in enumerate(CANDIDATES)}
    tasks = make_tasks(CANDIDATES, {"n1": FilterPool(FILTERS)}, 0.1, 3, estimates)
    assert {task.block for task in tasks} == {0}
    order = [estimates[roles(task)[0].candidate_id] for task in tasks]
    # Of 200 in order of a hash: a rank correlation of 0.28 is four standard deviations (1 / sqrt(199)) from none.
    assert abs(np.corrcoef(order, range(200))[0, 1]) < 0.28


def test_tasks_stand_block_by_block():
    estimates = {row.candidate.candidate_id: 0.5 for row in CANDIDATES}
    more = [candidate(f"x{i}", f"Where is {i}?") for i in range(200)]
    estimates |= {row.candidate.candidate_id: 0.1 for row in more}
    tasks = make_tasks([*CANDIDATES, *more], {"n1": FilterPool(FILTERS)}, 0.1, 3, estimates)
    assert [task.block for task in tasks] == [0] * 200 + [1] * 200
    assert all("+x" in roles(task)[0].candidate_id for task in tasks[:200])
