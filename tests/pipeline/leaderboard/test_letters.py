"""Letters of models that are not told apart."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from pipeline.leaderboard.letters import letters

NAMES = [f"m{number}" for number in range(7)]
PAIRS = [*combinations(NAMES, 2)]


def test_all_alike_share_one_letter_and_all_apart_share_none():
    assert set(letters(NAMES, []).values()) == {"a"}
    assert list(letters(NAMES, PAIRS).values()) == [*"abcdefg"]


def test_one_between_two_that_are_apart_has_the_letters_of_both():
    assert letters(["a1", "b1", "c1"], [("c1", "a1")]) == {"a1": "a", "b1": "ab", "c1": "b"}


def test_a_letter_whose_models_all_share_another_is_left_out():
    # Apart: 1-3, 1-4, 2-4. The sets that hold only models not apart, none within another: {1, 2}, {2, 3}, {3, 4}.
    apart = [("m1", "m3"), ("m1", "m4"), ("m2", "m4")]
    assert letters(["m1", "m2", "m3", "m4"], apart) == {"m1": "a", "m2": "ab", "m3": "bc", "m4": "c"}


@given(st.sets(st.sampled_from(PAIRS)))
def test_two_share_a_letter_exactly_if_they_are_not_told_apart(apart):
    given_letters = letters(NAMES, [*apart])
    for pair in PAIRS:
        shared = set(given_letters[pair[0]]) & set(given_letters[pair[1]])
        assert bool(shared) == (pair not in apart)
    assert all(given_letters.values())


def test_more_than_26_letters_have_a_number():
    names = [f"m{number:02}" for number in range(28)]
    assert [*letters(names, [*combinations(names, 2)]).values()][24:] == ["y", "z", "a1", "b1"]
