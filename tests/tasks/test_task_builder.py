import json
from collections import Counter

import numpy as np
import pytest

from pipeline.core.errors import UserError
from pipeline.core.records import Candidate, ImageRecord
from pipeline.tasks.gold_questions import GoldQuestion
from pipeline.tasks.second_questions import Offer
from pipeline.tasks.task_builder import assign_blocks, make_tasks, to_label_studio_task


def candidate(number, text="What is it?", question_id=None):
    return Candidate(
        candidate_id=f"cliphard_n1+{number}",
        subset="clip-hard",
        image_id="n1",
        question_id=question_id or str(number),
        text=text,
    )


def valid(text, source="own question", question_id=None):
    return GoldQuestion(text=text, expected_choice="valid", source=source, question_id=question_id)


def invalid(text, source="candidate refuted by evidence"):
    return GoldQuestion(text=text, expected_choice="invalid", source=source)


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


def tasks_of(candidates, filters, *args, **named):
    offered = {key: Offer.from_questions(rows) for key, rows in filters.items()}
    return list(make_tasks(candidates, offered, *args, **named))


def made(filter_share=0.5, template_share=0.1, seed=3, candidates=CANDIDATES, filters=FILTERS):
    return tasks_of(candidates, {"n1": filters}, template_share, filter_share, seed)


MANY = [
    *(valid(f"valid {i}") for i in range(99)),
    *(invalid(f"invalid {i}") for i in range(99)),
    *FILTERS[-2:],
]


def test_every_candidate_has_one_task_with_a_second_question():
    tasks = made()
    assert sorted(roles(t)[0].candidate_id for t in tasks) == sorted(row.candidate_id for row in CANDIDATES)
    assert {roles(t)[1].role for t in tasks} == {"gold", "repeat"}
    assert len({t.task_id for t in tasks}) == 200
    assert [t.task_id for t in tasks] == sorted(t.task_id for t in tasks)


def test_no_text_occurs_more_than_twice_per_image_and_no_candidate_is_repeated_twice():
    for tasks in (made(), made(filters=MANY, filter_share=1.0)):
        shown_texts = Counter(q.text for task in tasks for q in (task.first, task.second))
        assert max(shown_texts.values()) == 2
        again = Counter(roles(t)[1].candidate_id for t in tasks if roles(t)[1].role == "repeat")
        assert max(again.values(), default=0) <= 1


def test_the_proportion_of_gold_questions_holds_as_far_as_they_suffice():
    # 18 filters beside 200 candidates: 2 * 18 * 200 / 218 = 33 tasks, of 33 shown 15 come again (0.45), and of 367 shown of
    # candidates 167 (0.455). The templates are no part of it.
    assert sum(roles(t)[1].role == "gold" for t in made(template_share=0)) == 33
    assert sum(roles(t)[1].role == "gold" for t in made(filters=MANY, template_share=0)) == 100


def test_half_of_the_gold_questions_are_invalid_some_are_templates_and_the_order_is_random():
    tasks = made(filters=MANY)
    found = [roles(t)[1] for t in tasks if roles(t)[1].role == "gold"]
    assert sum(q.expected_choice == "invalid" for q in found) in range(48, 53)  # one template of each
    assert 1 <= sum(q.gold_source == "template" for q in found) <= 4  # two, at most twice each
    assert (
        70 <= sum(t.first.role == "candidate" for t in tasks) <= 130
    )  # 100 expected; 4 standard deviations are 28


def test_a_repeat_is_the_candidate_of_another_task_and_carries_no_verdict():
    texts = {row.candidate_id: row.text for row in CANDIDATES}
    for task in made():
        asked, beside = roles(task)
        if beside.role == "repeat":
            assert (
                beside.expected_choice is None
                and beside.gold_source == ""
                and beside.candidate_id != asked.candidate_id
            )
            assert beside.text == texts[beside.candidate_id] != asked.text


def test_a_filter_says_why_it_is_one():
    (task,) = made(
        candidates=CANDIDATES[:1],
        filters=[GoldQuestion(text="?", expected_choice="valid", source="own question", explanation="red")],
    )
    assert roles(task)[1].gold_explanation == "red" and roles(task)[0].gold_explanation == ""


def test_the_order_does_not_depend_on_the_order_of_the_candidates():
    a = tasks_of(CANDIDATES, {"n1": FILTERS}, 0.1, 0.5, seed=3)
    assert tasks_of(CANDIDATES[::-1], {"n1": FILTERS}, 0.1, 0.5, seed=3) == a
    assert tasks_of(CANDIDATES, {"n1": FILTERS}, 0.1, 0.5, seed=4) != a


def test_a_filter_is_never_the_candidate_itself_nor_what_it_was_made_from():
    pool = [
        valid("What is it?", question_id="8"),
        valid("What was it?", question_id="7"),
        valid("Is it red?", question_id="9"),
    ]
    (task,) = tasks_of([candidate(1, "What is it?", question_id="7")], {"n1": pool}, 0, 0.5, seed=0)
    assert roles(task)[1].text == "Is it red?"


def test_without_evidence_of_absence_every_filter_is_valid():
    tasks = tasks_of(CANDIDATES[:10], {"n1": [valid("valid")]}, 0, 0.5, seed=0)
    assert {roles(t)[1].expected_choice for t in tasks} == {"valid", None}


def test_an_image_without_any_gold_question_is_refused():
    with pytest.raises(UserError, match="candidate cliphard_n1\\+0: no second question .* 0 gold questions"):
        tasks_of(CANDIDATES[:1], {"n1": []}, 0, 0.5, seed=0)


def test_used_up_texts_are_the_cause_that_is_named_with_the_remedy():
    # The same text as four candidates of one image: none can be shown again, and one gold question is shown twice.
    same = [candidate(number, "What is it?", question_id=f"q{number}") for number in range(4)]
    with pytest.raises(UserError) as caught:
        tasks_of(same, {"n1": [valid("Is it red?", question_id="9")]}, 0, 0.5, seed=0)
    message = str(caught.value)
    assert "4 candidates and 1 gold question (1 of its own)" in message
    assert "1 of these were" in message and "rank.hard_draw and rank.easy_last" in message
    # A quarter of four candidates.
    assert "1 question or more" in message


def test_the_browser_gets_only_a_key_an_image_and_two_texts():
    (task,) = tasks_of(
        [candidate(1, "What is the dog on?")], {"n1": [invalid("Where is the cat?")]}, 0, 0.5, seed=0
    )
    image = ImageRecord(
        image_id="n1", split="testdev", path="data/tiny/source/images/n1.jpg", width=1, height=1, sha256=""
    )
    row = to_label_studio_task(task, image)
    assert row == {
        "data": {
            "task": task.task_id,
            "image": "/data/local-files/?d=tiny/source/images/n1.jpg",
            "first": task.first.text,
            "second": task.second.text,
        }
    }
    for secret in ("candidate", "gold", "valid", "cliphard", "judged", task.first.key, task.second.key):
        assert secret not in json.dumps(row)


def test_the_most_certain_of_each_subset_come_first_and_no_block_lacks_a_subset():
    subset = np.repeat([0, 1], [30, 10])
    estimate = np.random.default_rng(0).random(40)
    block = assign_blocks(subset, estimate, np.arange(40), block_size=8)
    assert Counter(block.tolist()) == dict.fromkeys(range(5), 8)  # 6 of 30 and 2 of 10 in each of 5 blocks
    for each in (0, 1):
        own = block[subset == each][np.argsort(estimate[subset == each])].tolist()
        assert own == sorted(own) and set(own) == set(range(5))


def test_ties_are_broken_by_the_tiebreaker():
    assert assign_blocks(np.zeros(4, int), np.zeros(4), np.array([3, 0, 2, 1]), block_size=2).tolist() == [
        1,
        0,
        1,
        0,
    ]


def test_estimates_of_other_candidates_are_refused():
    with pytest.raises(UserError, match="estimates.jsonl: "):
        tasks_of(CANDIDATES, {"n1": FILTERS}, 0.1, 0.5, 3, [("cliphard_n1+0", 0.5)])


def test_the_order_within_a_block_is_independent_of_the_estimate():
    estimates = {row.candidate_id: i / 1000 for i, row in enumerate(CANDIDATES)}
    tasks = tasks_of(CANDIDATES, {"n1": FILTERS}, 0.1, 0.5, 3, estimates.items())
    assert {task.priority_block for task in tasks} == {0}
    order = [estimates[roles(task)[0].candidate_id] for task in tasks]
    # Of 200 in order of a hash: a rank correlation of 0.28 is four standard deviations (1 / sqrt(199)) from none.
    assert abs(np.corrcoef(order, range(200))[0, 1]) < 0.28


def test_tasks_stand_block_by_block():
    estimates = {row.candidate_id: 0.5 for row in CANDIDATES}
    more = [candidate(f"x{i}", f"Where is {i}?") for i in range(200)]
    estimates |= {row.candidate_id: 0.1 for row in more}
    tasks = tasks_of([*CANDIDATES, *more], {"n1": FILTERS}, 0.1, 0.5, 3, estimates.items())
    assert [task.priority_block for task in tasks] == [0] * 200 + [1] * 200
    assert all("+x" in roles(task)[0].candidate_id for task in tasks[:200])


def test_tasks_are_made_a_block_at_a_time():
    estimates = {row.candidate_id: i / 1000 for i, row in enumerate(CANDIDATES)}
    more = [candidate(f"x{i}", f"Where is {i}?") for i in range(200)]
    estimates |= {row.candidate_id: 0.9 for row in more}
    looked_up = []

    class Watched(dict):
        def __getitem__(self, key):
            looked_up.append(key)
            return super().__getitem__(key)

    watched = Watched(n1=Offer.from_questions(FILTERS))
    tasks = make_tasks([*CANDIDATES, *more], watched, 0.1, 0.5, 3, estimates.items())
    assert next(tasks).priority_block == 0
    before = len(looked_up)
    assert [next(tasks).priority_block for _ in range(199)] == [0] * 199 and len(looked_up) == before
    assert next(tasks).priority_block == 1 and len(looked_up) > before
