"""Pairs whose wording tells no more than chance would."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.benchmark.balancing.telltale_pairs import (
    MIN_PAIRS_PER_NGRAM,
    _compute_ngram_changes,
    extract_ngrams,
    find_telltale_pairs,
)


def pair(old, new, number=0):
    """The words around differ from pair to pair, so that only one wording of each change is counted."""
    return f"{number}a {old} b{number}", f"{number}a {new} b{number}"


def pairs(old, new, count, first=0):
    return [pair(old, new, number) for number in range(first, first + count)]


def kept(rows, slack=1.0, most=1.0, seed=0):
    gone = find_telltale_pairs(rows, slack, most, np.random.default_rng(seed))
    return [row for place, row in enumerate(rows) if place not in gone]


def unevenness(rows):
    """The sum over wordings of s squared / n, and their number: as the module says, counted the slow way."""
    put, changed = Counter(), Counter()
    for old, new in rows:
        put.update(extract_ngrams(new) - extract_ngrams(old))
        put.subtract(extract_ngrams(old) - extract_ngrams(new))
        changed.update(extract_ngrams(new) ^ extract_ngrams(old))
    return {
        wording: (put[wording], count) for wording, count in changed.items() if count >= MIN_PAIRS_PER_NGRAM
    }


def test_words_runs_and_pairs_of_words_are_counted():
    assert extract_ngrams("What's on the T-shirt?") == {
        *(
            "^",
            "^ what's",
            "^ what's on",
            "what's",
            "what's on",
            "what's on the",
            "on",
            "on the",
            "on the t-shirt",
            "the",
        ),
        *("the t-shirt", "t-shirt", "what's ... on", "what's ... the", "what's ... t-shirt", "on ... the"),
        *("on ... t-shirt", "the ... t-shirt"),
    }


def test_wordings_that_come_and_go_equally_often_all_stay():
    rows = pairs("red", "blue", 9) + pairs("blue", "red", 9, 9)
    assert kept(rows, slack=0.0) == rows


@pytest.mark.parametrize("seed", range(3))
def test_of_a_one_way_change_as_many_stay_as_chance_would_leave(seed):
    # 16 pairs change "happy" and "sad", all in one direction: s = 16. Of k that stay s is k, and k * k / 16 a wording has
    # to fall to the k / 16 that chance leaves: k = 1.
    rows = pairs("happy", "sad", 16)
    assert len(kept(rows, seed=seed)) == 1
    # 20 to and 12 fro: s = 8, 64 > 32. The first that go are of the 20: with 17, s = 5 and 25 < 29; with 18, 36 > 30.
    rows = pairs("happy", "sad", 20) + pairs("sad", "happy", 12, 20)
    stay = kept(rows, seed=seed)
    assert Counter("sad" in new for _, new in stay) == {True: 17, False: 12}
    assert stay == kept(rows, seed=seed) != kept(rows, seed=seed + 10)  # which of them go is drawn


def test_no_more_go_than_may():
    rows = pairs("happy", "sad", 20)
    assert len(kept(rows, most=0.1)) == 18
    assert kept(rows, most=0.0) == rows == kept(rows, slack=20.0)
    assert kept([]) == []


def test_a_pair_that_helps_twice_goes_first():
    rows = pairs("left", "right", 6) + pairs("old", "young", 6, 6) + [("x left y old z", "x right y young z")]
    assert kept(rows, most=1 / 13) == rows[:-1]


def test_rare_wordings_are_left_alone():
    rows = pairs("happy", "sad", MIN_PAIRS_PER_NGRAM - 1) + pairs("red", "blue", MIN_PAIRS_PER_NGRAM, 10)
    assert (
        kept(rows)[: MIN_PAIRS_PER_NGRAM - 1] == rows[: MIN_PAIRS_PER_NGRAM - 1]
        and len(kept(rows)) == MIN_PAIRS_PER_NGRAM
    )


def test_a_start_or_two_words_apart_count_as_words_do():
    # Each word is as often put in as taken out; at the start, and beside "cup", "who" is only taken out.
    rows = [(f"Who n{i} is cup", f"Is n{i} who cup") for i in range(8)]
    assert len(kept(rows)) == 1


def test_what_chance_throws_is_as_uneven_as_the_module_says():
    rng = np.random.default_rng(0)
    rows = [pair(*rng.choice(list("abcdefgh"), 2, replace=False), number) for number in range(200)]
    sums = []
    for _ in range(200):
        thrown = [row if rng.random() < 0.5 else row[::-1] for row in rows]
        found = unevenness(thrown)
        sums.append(sum(s * s / n for s, n in found.values()) / len(found))
    # Mean 1, with a standard error of sqrt(2 / 8 wordings) / sqrt(200) = 0.035.
    assert np.mean(sums) == pytest.approx(1, abs=0.12)


WORDS = st.sampled_from("abcd")


@given(st.lists(st.tuples(WORDS, WORDS, WORDS, WORDS), max_size=30), st.sampled_from([0.0, 1.0, 2.0]))
def test_in_the_end_it_is_even_enough_or_no_pair_would_help_by_going(drawn, slack):
    rows = [(f"{a} {b}", f"{c} {d}") for a, b, c, d in drawn]
    all_changed = {wording: n for wording, (_, n) in unevenness(rows).items()}

    def uneven(some):
        put = Counter()
        for old, new in some:
            put.update(extract_ngrams(new) - extract_ngrams(old))
            put.subtract(extract_ngrams(old) - extract_ngrams(new))
        return sum(put[wording] ** 2 / n for wording, n in all_changed.items())

    def chance(some):
        return sum(
            1 / all_changed[w]
            for old, new in some
            for w in extract_ngrams(old) ^ extract_ngrams(new)
            if w in all_changed
        )

    stay = kept(rows, slack)
    assert uneven(stay) <= uneven(rows) + 1e-9
    if uneven(stay) > slack * chance(stay) + 1e-6:
        assert all(uneven(stay[:i] + stay[i + 1 :]) >= uneven(stay) - 1e-6 for i in range(len(stay)))


def left_out_by_the_rule(pairs, slack, most, rng):
    """`even`, with every gain worked out anew before each pair that goes."""
    changes = _compute_ngram_changes(pairs).toarray()
    chance, stays, left = rng.permutation(len(pairs)), list(range(len(pairs))), []
    while len(left) + 1 <= most * len(pairs):
        surplus = changes[stays].sum(axis=0)
        gains = {
            i: round(float(surplus @ surplus - (surplus - changes[i]) @ (surplus - changes[i])), 9)
            for i in stays
        }
        gone = min(stays, key=lambda i: (-gains[i], chance[i]))
        if gains[gone] <= 0 or surplus @ surplus <= slack * (changes[stays] ** 2).sum():
            break
        stays.remove(gone)
        left.append(gone)
    return left


@pytest.mark.parametrize("seed", range(6))
def test_gains_kept_up_to_date_choose_the_pairs_that_gains_worked_out_anew_do(seed):
    rng = np.random.default_rng(seed)
    words = ["cup", "hat", "dog", "table", "red", "happy"]
    pairs = []
    for _ in range(60):  # "cup" and "hat" go out more often than they come in
        old, new = rng.choice(words, 2, replace=False, p=[0.3, 0.25, 0.15, 0.1, 0.1, 0.1])
        pairs.append((f"Is the {old} on it?", f"Is the {new} on it?"))
    found = find_telltale_pairs(pairs, 0.0, 0.6, np.random.default_rng(seed))
    assert found == left_out_by_the_rule(pairs, 0.0, 0.6, np.random.default_rng(seed))
    assert len(found) > 1
