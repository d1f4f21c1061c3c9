from collections import Counter

import numpy as np
import pytest

from pipeline.core.records import Candidate
from pipeline.tasks.gold_questions import GoldQuestion
from pipeline.tasks.second_questions import (
    AnnotatorAdversary,
    Offer,
    SecondQuestionPicker,
    count_gold_questions,
)


def candidate(number, text=None, question_id=None):
    return Candidate(
        candidate_id=f"c{number}",
        subset="pt-hard",
        image_id="p",
        question_id=question_id or f"q{number}",
        text=text or f"asked {number}",
    )


def filters(*texts, expected="valid", source="own question"):
    return [GoldQuestion(text=text, expected_choice=expected, source=source) for text in texts]


ASKED = candidate(0)


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
    shown_twice = [candidate(1, "a"), candidate(2, "a")]
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
    pool = companions([*filters("asked 0"), original], [ASKED, candidate(1)])
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
    members = [candidate(n) for n in range(10)]
    found = repeats(members)
    assert len(found) >= 9  # the last may find nobody but themselves left
    assert len({row.candidate_id for row in found.values()}) == len(found)
    assert all(key != row.candidate_id for key, row in found.items())


def test_a_repeat_is_made_from_another_question_where_there_is_such():
    members = [candidate(n, question_id=f"q{n % 2}") for n in range(8)]
    asked = {row.candidate_id: row.question_id for row in members}
    found = repeats(members)
    assert (
        sum(asked[key] != row.question_id for key, row in found.items()) >= 6
    )  # the last pair may have no choice
    assert repeats([candidate(n, question_id="q") for n in range(2)])  # better than a template


def test_no_repeat_has_the_same_text_or_a_text_that_came_twice():
    members = [candidate(1, "same"), candidate(2, "same"), candidate(3, "other")]
    found = repeats(members)
    texts = Counter([row.text for row in members] + [row.text for row in found.values()])
    assert texts == {"same": 2, "other": 2}
    assert found["c1" if "c1" in found else "c2"].text == "other"


def test_a_repeat_that_was_not_planned_is_one_of_those_left():
    members = [candidate(n) for n in range(6)]
    pool = companions(filters("a", "b", "c"), members)  # 2 * 3 * 6 / 9 = 4 have a filter, 2 a repeat
    planned = [row for number in range(6) if (row := pool.get_planned_repeat(number))]
    later = [pool.pick_repeat(ASKED) for _ in range(5)]
    assert len(planned) == 2 and later[-1] is None
    given = [row.candidate_id for row in (*planned, *later) if row]
    assert len(set(given)) == len(given) and set(given) >= {f"c{n}" for n in range(1, 6)}
