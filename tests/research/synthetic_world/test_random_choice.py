"""Weighted random choices have the wanted proportions, within four standard deviations."""

from collections import Counter

import numpy as np

from research.synthetic_world.random_choice import choose_by_odds, choose_key, choose_skewed, choose_uniform

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
