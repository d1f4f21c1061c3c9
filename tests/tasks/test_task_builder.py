"""Tasks and their second questions."""

import json
from collections import Counter

import numpy as np
import pytest

from pipeline.core.errors import UserError
from pipeline.core.records import Candidate, ImageRecord
from pipeline.tasks.gold_questions import GoldQuestion
from pipeline.tasks.second_questions import (
    AnnotatorAdversary,
    Offer,
    SecondQuestionPicker,
    count_gold_questions,
)
from pipeline.tasks.task_builder import assign_blocks, make_tasks, to_label_studio_task
from pipeline.tasks.text_counts import TextCounts, hash_text

# Task builder


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


# Second questions


def make_candidate(number, text=None, question_id=None):
    return Candidate(
        candidate_id=f"c{number}",
        subset="pt-hard",
        image_id="p",
        question_id=question_id or f"q{number}",
        text=text or f"asked {number}",
    )


def filters(*texts, expected="valid", source="own question"):
    return [GoldQuestion(text=text, expected_choice=expected, source=source) for text in texts]


ASKED = make_candidate(0)


def rng():
    return np.random.default_rng(0)


def companions(offered, members=(ASKED,), share=1.0):
    return SecondQuestionPicker(
        "p", dict(enumerate(members)), members.__getitem__, {"p": Offer.from_questions(offered)}, share, rng()
    )


def repeats(members):
    """What stands beside each candidate that has a repeat, by id."""
    pool = companions([], members)
    beside = {row.candidate_id: pool.get_planned_repeat(number) for number, row in enumerate(members)}
    return {key: row for key, row in beside.items() if row}


def draw(pool, wanted="valid", templates=False, shown=None, host=ASKED):
    row = pool.pick_gold_question(host, wanted, templates, shown or AnnotatorAdversary(), rng())
    return row and row.text


@pytest.mark.parametrize(
    ("candidates", "texts", "share", "expected"),
    [
        (30, 20, 1.0, 24),
        (10, 10, 1.0, 10),  # every filter once, no repeat: nothing comes again
        (10, 100, 1.0, 10),
        (10, 100, 0.4, 4),
        (10, 0, 1.0, 0),
        (1, 0, 0.1, 1),  # alone on its image
    ],
)
def test_how_many_have_a_filter(candidates, texts, share, expected):
    assert count_gold_questions(candidates, texts, share) == expected


@pytest.mark.parametrize(("candidates", "texts"), [(30, 20), (34, 24), (100, 7), (12, 11)])
def test_gold_questions_are_repeated_as_often_as_candidates(candidates, texts):
    count = count_gold_questions(candidates, texts, 1.0)
    repeated = candidates - count
    # One filter more or less moves the first share by at most 1 / count.
    assert abs((count - texts) / count - repeated / (candidates + repeated)) <= 1 / count


def test_a_text_is_picked_at_most_twice_and_never_if_candidates_used_it_up():
    pool = companions(filters("a"))
    assert [draw(pool) for _ in range(3)] == ["a", "a", None]
    shown_twice = [make_candidate(1, "a"), make_candidate(2, "a")]
    assert draw(companions(filters("a"), [ASKED, *shown_twice])) is None


def test_the_expected_verdict_is_preferred_and_templates_are_picked_on_request():
    rows = [*filters("t", source="template"), *filters("v"), *filters("i", expected="invalid")]
    assert draw(companions(rows)) == "v"
    assert draw(companions(rows), "invalid") == "i"
    assert draw(companions(rows), "invalid", templates=True) == "t"  # there is no invalid template
    assert draw(companions(rows[:2]), "invalid") == "v"  # nor any that is invalid
    assert draw(companions(rows[1:]), templates=True) is None
    assert draw(companions([])) is None


def test_never_the_same_question_nor_the_one_that_was_edited():
    original = GoldQuestion(text="?", expected_choice="valid", source="own question", question_id="q0")
    pool = companions([*filters("asked 0"), original], [ASKED, make_candidate(1)])
    assert draw(pool) is None


def test_the_remaining_gold_questions_of_a_verdict_are_known():
    pool = companions([*filters("v"), *filters("t", expected="invalid", source="template")])
    assert pool.has_gold_question("valid") and not pool.has_gold_question("invalid")
    draw(pool), draw(pool)
    assert not pool.has_gold_question("valid")


def test_a_question_that_resembles_a_gold_question_is_picked_less_often():
    shown = AnnotatorAdversary()
    for number in range(20):
        shown.observe(f"p{number}", f"a pear {number}", is_gold=True)
        shown.observe(f"p{number}", f"a cow {number}", is_gold=False)
    drawn = Counter(
        companions(filters("a pear", "a cow"))
        .pick_gold_question(ASKED, "valid", False, shown, np.random.default_rng(n))
        .text
        for n in range(300)
    )
    # Odds of "pear" are 21 to 1 and of "cow" 1 to 21, so each is drawn in inverse proportion: 1 to 441
    assert drawn["a pear"] <= 5


def test_a_repeated_text_is_picked_if_candidates_are_repeated_more_often():
    shown = AnnotatorAdversary()
    for number in range(20):
        shown.observe(f"p{number}", "asked again", is_gold=False)
        shown.observe(f"p{number}", f"new {number}", is_gold=True)
    shown.observe("elsewhere", "old", is_gold=True)
    assert draw(companions(filters("fresh", "old")), shown=shown) == "old"


def test_naive_bayes_without_observations_has_log_odds_zero():
    assert AnnotatorAdversary().compute_log_odds("p", "any text") == 0


def test_repeats_are_other_candidates_each_once():
    members = [make_candidate(n) for n in range(10)]
    found = repeats(members)
    assert len(found) >= 9  # the last may find nobody but themselves left
    assert len({row.candidate_id for row in found.values()}) == len(found)
    assert all(key != row.candidate_id for key, row in found.items())


def test_a_repeat_is_made_from_another_question_where_there_is_such():
    members = [make_candidate(n, question_id=f"q{n % 2}") for n in range(8)]
    asked = {row.candidate_id: row.question_id for row in members}
    found = repeats(members)
    assert (
        sum(asked[key] != row.question_id for key, row in found.items()) >= 6
    )  # the last pair may have no choice
    assert repeats([make_candidate(n, question_id="q") for n in range(2)])  # better than a template


def test_no_repeat_has_the_same_text_or_a_text_that_came_twice():
    members = [make_candidate(1, "same"), make_candidate(2, "same"), make_candidate(3, "other")]
    found = repeats(members)
    texts = Counter([row.text for row in members] + [row.text for row in found.values()])
    assert texts == {"same": 2, "other": 2}
    assert found["c1" if "c1" in found else "c2"].text == "other"


def test_a_repeat_that_was_not_planned_is_one_of_those_left():
    members = [make_candidate(n) for n in range(6)]
    pool = companions(filters("a", "b", "c"), members)  # 2 * 3 * 6 / 9 = 4 have a filter, 2 a repeat
    planned = [row for number in range(6) if (row := pool.get_planned_repeat(number))]
    later = [pool.pick_repeat(ASKED) for _ in range(5)]
    assert len(planned) == 2 and later[-1] is None
    given = [row.candidate_id for row in (*planned, *later) if row]
    assert len(set(given)) == len(given) and set(given) >= {f"c{n}" for n in range(1, 6)}


# Text counts


def test_counts_are_those_of_a_counter():
    drawn = [f"text {n}" for n in np.random.default_rng(0).integers(0, 50, 500)]
    counts, expected = TextCounts(drawn[:100]), Counter(drawn)
    for text in drawn[100:]:
        counts.add(text)
    assert {text: counts[text] for text in [*expected, "none"]} == expected | {"none": 0}


def test_a_number_is_of_64_bits_and_the_same_in_every_process():
    # python -c "import hashlib; print(hashlib.blake2b(b'red', digest_size=8).hexdigest())"
    assert f"{hash_text('red'):016x}" == "0de917af2f0a48a3"
    assert hash_text("red") != hash_text("Red")
