"""Pairs are excluded until their wording reveals edits no more than chance allows."""

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
    """Return a pair whose other words are unique, so that only one n-gram of each change is counted."""
    return f"{number}a {old} b{number}", f"{number}a {new} b{number}"


def pairs(old, new, count, first=0):
    return [pair(old, new, number) for number in range(first, first + count)]


def find_kept(rows, max_imbalance=1.0, max_dropped=1.0, seed=0):
    excluded = find_telltale_pairs(rows, max_imbalance, max_dropped, np.random.default_rng(seed))
    return [row for index, row in enumerate(rows) if index not in excluded]


def measure_imbalance(rows):
    """Return s and n of every n-gram that enough pairs change (see the docstring of the module)."""
    surplus, changed = Counter(), Counter()
    for old, new in rows:
        surplus.update(extract_ngrams(new) - extract_ngrams(old))
        surplus.subtract(extract_ngrams(old) - extract_ngrams(new))
        changed.update(extract_ngrams(new) ^ extract_ngrams(old))
    return {
        ngram: (surplus[ngram], count) for ngram, count in changed.items() if count >= MIN_PAIRS_PER_NGRAM
    }


def test_ngrams_and_pairs_of_words_are_extracted():
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


def test_balanced_changes_are_all_kept():
    rows = pairs("red", "blue", 9) + pairs("blue", "red", 9, 9)
    assert find_kept(rows, max_imbalance=0.0) == rows


@pytest.mark.parametrize("seed", range(3))
def test_one_way_changes_are_reduced_to_the_level_of_chance(seed):
    # All 16 pairs change "happy" to "sad". With k pairs left, s is k, and k * k / 16 must fall to the level of chance, k / 16: k = 1.
    rows = pairs("happy", "sad", 16)
    assert len(find_kept(rows, seed=seed)) == 1
    # 20 pairs in one direction and 12 in the other: s = 8, 64 > 32. With 17 of the 20 left, s = 5 and 25 < 29; with 18, 36 > 30.
    rows = pairs("happy", "sad", 20) + pairs("sad", "happy", 12, 20)
    remaining = find_kept(rows, seed=seed)
    assert Counter("sad" in new for _, new in remaining) == {True: 17, False: 12}
    # The seed decides which pairs are excluded.
    assert remaining == find_kept(rows, seed=seed) != find_kept(rows, seed=seed + 10)


def test_the_number_of_excluded_pairs_is_limited():
    rows = pairs("happy", "sad", 20)
    assert len(find_kept(rows, max_dropped=0.1)) == 18
    assert find_kept(rows, max_dropped=0.0) == rows == find_kept(rows, max_imbalance=20.0)
    assert find_kept([]) == []


def test_the_pair_with_the_largest_gain_is_excluded_first():
    rows = pairs("left", "right", 6) + pairs("old", "young", 6, 6) + [("x left y old z", "x right y young z")]
    assert find_kept(rows, max_dropped=1 / 13) == rows[:-1]


def test_rare_ngrams_are_ignored():
    rows = pairs("happy", "sad", MIN_PAIRS_PER_NGRAM - 1) + pairs("red", "blue", MIN_PAIRS_PER_NGRAM, 10)
    assert (
        find_kept(rows)[: MIN_PAIRS_PER_NGRAM - 1] == rows[: MIN_PAIRS_PER_NGRAM - 1]
        and len(find_kept(rows)) == MIN_PAIRS_PER_NGRAM
    )


def test_starts_and_pairs_of_words_count_like_words():
    # Each word is inserted as often as removed. At the start, and together with "cup", "who" is only removed.
    rows = [(f"Who n{i} is cup", f"Is n{i} who cup") for i in range(8)]
    assert len(find_kept(rows)) == 1


def test_the_imbalance_of_random_directions_is_1():
    rng = np.random.default_rng(0)
    rows = [pair(*rng.choice(list("abcdefgh"), 2, replace=False), number) for number in range(200)]
    sums = []
    for _ in range(200):
        flipped = [row if rng.random() < 0.5 else row[::-1] for row in rows]
        found = measure_imbalance(flipped)
        sums.append(sum(s * s / n for s, n in found.values()) / len(found))
    # Mean 1, with a standard error of sqrt(2 / 8 n-grams) / sqrt(200) = 0.035.
    assert np.mean(sums) == pytest.approx(1, abs=0.12)


WORDS = st.sampled_from("abcd")


@given(st.lists(st.tuples(WORDS, WORDS, WORDS, WORDS), max_size=30), st.sampled_from([0.0, 1.0, 2.0]))
def test_the_result_is_balanced_or_no_exclusion_would_help(texts, max_imbalance):
    rows = [(f"{a} {b}", f"{c} {d}") for a, b, c, d in texts]
    all_changed = {ngram: n for ngram, (_, n) in measure_imbalance(rows).items()}

    def imbalance(some):
        surplus = Counter()
        for old, new in some:
            surplus.update(extract_ngrams(new) - extract_ngrams(old))
            surplus.subtract(extract_ngrams(old) - extract_ngrams(new))
        return sum(surplus[ngram] ** 2 / n for ngram, n in all_changed.items())

    def chance_level(some):
        return sum(
            1 / all_changed[w]
            for old, new in some
            for w in extract_ngrams(old) ^ extract_ngrams(new)
            if w in all_changed
        )

    rest = find_kept(rows, max_imbalance)
    assert imbalance(rest) <= imbalance(rows) + 1e-9
    if imbalance(rest) > max_imbalance * chance_level(rest) + 1e-6:
        assert all(imbalance(rest[:i] + rest[i + 1 :]) >= imbalance(rest) - 1e-6 for i in range(len(rest)))


def find_telltale_pairs_slowly(pairs, max_imbalance, max_dropped, rng):
    """Do the same as `find_telltale_pairs`, and compute every gain again before each exclusion."""
    changes = _compute_ngram_changes(pairs).toarray()
    tie_break, rest, excluded = rng.permutation(len(pairs)), list(range(len(pairs))), []
    while len(excluded) + 1 <= max_dropped * len(pairs):
        surplus = changes[rest].sum(axis=0)
        gains = {
            i: round(float(surplus @ surplus - (surplus - changes[i]) @ (surplus - changes[i])), 9)
            for i in rest
        }
        chosen = min(rest, key=lambda i: (-gains[i], tie_break[i]))
        if gains[chosen] <= 0 or surplus @ surplus <= max_imbalance * (changes[rest] ** 2).sum():
            break
        rest.remove(chosen)
        excluded.append(chosen)
    return excluded


@pytest.mark.parametrize("seed", range(6))
def test_updated_gains_choose_the_same_pairs_as_recomputed_gains(seed):
    rng = np.random.default_rng(seed)
    words = ["cup", "hat", "dog", "table", "red", "happy"]
    pairs = []
    # "cup" and "hat" are removed more often than inserted.
    for _ in range(60):
        old, new = rng.choice(words, 2, replace=False, p=[0.3, 0.25, 0.15, 0.1, 0.1, 0.1])
        pairs.append((f"Is the {old} on it?", f"Is the {new} on it?"))
    found = find_telltale_pairs(pairs, 0.0, 0.6, np.random.default_rng(seed))
    assert found == find_telltale_pairs_slowly(pairs, 0.0, 0.6, np.random.default_rng(seed))
    assert len(found) > 1
