"""Choices by seeds: random choice, balancing of answers, and secret seeds."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from pipeline.core.errors import UserError
from research.synthetic_world.balancing import balance_answers
from research.synthetic_world.questions import SampleQuestion
from research.synthetic_world.random_choice import choose_by_odds, choose_key, choose_skewed, choose_uniform
from research.synthetic_world.secret_seeds import derive_seed, hash_seed

# Weighted random choices have the wanted proportions, within four standard deviations.


TIMES = 4000


def counts(draw):
    rng = np.random.default_rng(7)
    return Counter(draw(rng) for _ in range(TIMES))


def expect(found, shares):
    for item, share in shares.items():
        spread = (TIMES * share * (1 - share)) ** 0.5
        assert abs(found[item] - TIMES * share) <= 4 * spread, (item, found[item])


def test_odds_need_not_sum_to_one():
    expect(counts(lambda rng: choose_by_odds(rng, "abc", (2, 1, 1))), {"a": 0.5, "b": 0.25, "c": 0.25})
    expect(counts(lambda rng: choose_key(rng, {"a": 30, "b": 10})), {"a": 0.75, "b": 0.25})


def test_each_item_is_so_much_rarer_than_the_one_before():
    # 1, 1/2, 1/4: 4/7, 2/7, 1/7
    expect(counts(lambda rng: choose_skewed(rng, "abc", 0.5)), {"a": 4 / 7, "b": 2 / 7, "c": 1 / 7})


def test_picked_options_are_equally_likely():
    expect(counts(lambda rng: choose_uniform(rng, "abcd")), dict.fromkeys("abcd", 0.25))


def test_an_item_without_odds_is_never_chosen():
    assert set(counts(lambda rng: choose_by_odds(rng, "abc", (0, 1, 0)))) == {"b"}


class Highest:
    """A generator that returns the largest possible number, as rounding can."""

    def random(self):
        return 1.0


def test_a_draw_at_the_very_end_gives_the_last_item():
    assert choose_by_odds(Highest(), "abc", (0.1, 0.2, 0.3)) == "c"


# Balanced questions: the answer cannot be guessed from the group.


def asked(group, answers):
    return [
        SampleQuestion(
            question_id=f"{group}{i}",
            image_id="p",
            split="val",
            text=f"{group}?",
            answer=answer,
            answer_annotations={},
            group_local=group,
        )
        for i, answer in enumerate(answers)
    ]


def kept(questions, seed=0):
    return Counter((questions[i].group_local, questions[i].answer) for i in balance_answers(questions, seed))


def test_the_most_common_answer_is_reduced_to_the_second_in_each_group():
    questions = asked("colour", ["red"] * 5 + ["blue"] * 2 + ["green"]) + asked("is it", ["yes", "no", "yes"])
    assert kept(questions) == {
        ("colour", "red"): 2,
        ("colour", "blue"): 2,
        ("colour", "green"): 1,
        ("is it", "yes"): 1,
        ("is it", "no"): 1,
    }


def test_a_group_of_one_answer_is_left_out_and_one_of_even_answers_stays():
    assert kept(asked("sky", ["blue"] * 3)) == {}
    assert kept(asked("is it", ["yes", "no"] * 2)) == {("is it", "yes"): 2, ("is it", "no"): 2}


def test_the_choice_of_questions_depends_on_the_seed():
    questions = asked("colour", ["red"] * 50 + ["blue"] * 2)
    assert (
        balance_answers(questions, 1)
        == balance_answers(questions, 1)
        == sorted(balance_answers(questions, 1))
    )
    assert len({tuple(balance_answers(questions, seed)) for seed in range(5)}) == 5


def test_the_group_alone_predicts_at_most_half_of_the_answers(drawn):
    found = Counter((drawn[i].group_local, drawn[i].answer) for i in balance_answers(drawn, 0))
    groups = Counter(group for group, _ in found.elements())
    assert all(2 * count <= groups[group] for (group, _), count in found.items()) and len(groups) > 20


# Seeds of any text: the hash can be checked by anyone and does not reveal the random numbers.


def test_the_hash_is_what_sha256sum_says() -> None:
    # printf %s abc | sha256sum: FIPS 180-4's own example
    assert hash_seed("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_the_number_does_not_follow_from_the_published_hash() -> None:
    assert derive_seed("abc") != derive_seed("abd")
    assert 0 <= derive_seed("abc") < 2**128
    assert f"{derive_seed('abc'):032x}" not in hash_seed("abc")


def test_an_empty_seed_is_an_error() -> None:
    with pytest.raises(UserError, match="--seed is empty"):
        derive_seed("")
