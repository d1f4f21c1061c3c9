"""Edits whose words are put in as often as they are taken out."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.balancing.even_words import even
from pipeline.core.records import Edit


def edits(*pairs, kind="attribute"):
    return [Edit(start=0, end=1, kind=kind, old=old, new=new) for old, new in pairs]


def kept(rows, slack=0.3, seed=0):
    return [
        row for row, stays in zip(rows, even(rows, slack, np.random.default_rng(seed)), strict=True) if stays
    ]


def test_words_that_come_and_go_equally_often_all_stay():
    rows = [edits(("red", "blue")), edits(("blue", "green")), edits(("green", "red"))] * 4
    assert kept(rows, 0.0) == rows


def test_of_a_one_way_change_one_may_stay():
    rows = [edits(("happy", "sad"))] * 12 + [edits(("red", "blue")), edits(("blue", "red"))] * 5
    stay = Counter(row[0].old for row in kept(rows))
    assert stay == {"happy": 1, "red": 5, "blue": 5}


def test_the_slack_is_a_share_of_the_mean_count():
    # "on" is taken out 60 times and put in 40: the mean is 50, and 0.3 of it is 15. Taking out "on" for "under", of
    # which as many come and go, has to fall to 55.
    rows = [edits(("on", "under"))] * 60 + [edits(("under", "on"))] * 40
    stay = Counter(row[0].old for row in kept(rows))
    assert stay == {"on": 55, "under": 40}
    assert kept(rows, 2.0) == rows


def test_an_edit_that_helps_twice_goes_first():
    # "left" is taken out once too often, and so is "old" (5 of each, one allowed): one question does both
    rows = (
        [edits(("left", "right"), ("old", "young"))]
        + [edits(("left", "right"))] * 1
        + [edits(("old", "young"))] * 1
    )
    assert kept(rows, 0.0) == rows[1:]


def test_the_same_word_of_another_kind_is_another_word():
    rows = [edits(("orange", "blue"))] * 5 + [edits(("apple", "orange"), kind="object")] * 5
    assert len(kept(rows)) == 2


def test_capitals_make_no_other_word():
    rows = [edits(("Red", "blue")), edits(("blue", "red"))] * 3
    assert kept(rows, 0.0) == rows


@pytest.mark.parametrize("seed", range(3))
def test_which_of_equals_go_is_drawn(seed):
    rows = [[Edit(start=i, end=i + 1, kind="attribute", old="happy", new="sad")] for i in range(20)]
    assert kept(rows, seed=seed) == kept(rows, seed=seed)
    assert kept(rows, seed=seed) != kept(rows, seed=seed + 10)


WORDS = st.sampled_from("abcd")


@given(
    st.lists(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=2), max_size=30),
    st.sampled_from([0.0, 0.3, 1.0]),
)
def test_in_the_end_no_word_would_gain_by_leaving_out_one_more(pairs, slack):
    rows = [edits(*row) for row in pairs]

    def surplus(some):
        found = Counter()
        for row in some:
            change = Counter(edit.new for edit in row)
            change.subtract(edit.old for edit in row)
            found.update({word: by for word, by in change.items() if by})
        return found

    def beyond(some):
        return sum(max(abs(found) - allowed[word], 0) for word, found in surplus(some).items())

    allowed = (
        Counter()
    )  # how often a question's edits change the count of a word, before anything is left out
    for row in rows:
        allowed.update({word: abs(by) for word, by in surplus([row]).items()})
    allowed = {word: max(1.0, slack * count / 2) for word, count in allowed.items()}
    stay = kept(rows, slack)
    best = beyond(stay)
    assert best <= beyond(rows)
    for i in range(len(stay)):
        assert beyond(stay[:i] + stay[i + 1 :]) >= best - 1e-9
