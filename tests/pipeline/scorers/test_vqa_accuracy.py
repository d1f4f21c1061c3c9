import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.scorers import vqa3_plus, vqa_accuracy
from pipeline.scorers.vqa_accuracy import most_frequent

WORDS = st.sampled_from(["red", "blue", "dark red"])


@given(WORDS, st.lists(WORDS, min_size=2, max_size=10), st.sampled_from(["official", "corrected"]))
def test_vqa_accuracy_is_the_mean_over_all_ways_to_leave_one_person_out(said, people, form):
    left = itertools.combinations(people, len(people) - 1)
    expected = np.mean([min(rest.count(said) / 3, 1) for rest in left])
    assert vqa_accuracy([said], [people], form=form)[0] == pytest.approx(expected)


@pytest.mark.parametrize(("agree", "expected"), [(0, 0.0), (1, 0.3), (2, 0.6), (3, 0.9), (4, 1.0), (10, 1.0)])
def test_with_ten_people_accuracy_is_as_the_papers_say(agree, expected):
    people = [["red"] * agree + ["blue"] * (10 - agree)]
    assert vqa_accuracy(["red"], people)[0] == pytest.approx(expected)
    assert vqa3_plus(["red"], people)[0] == pytest.approx(expected)


def test_official_leaves_unanimous_people_as_they_wrote_it_and_corrected_does_not():
    # The prediction loses its article and becomes a digit; people's "the dog", "two" do not.
    assert vqa_accuracy(["the dog", "two"], [["the dog"] * 10, ["two"] * 10]).tolist() == [0, 0]
    assert vqa_accuracy(["the dog", "two"], [["the dog"] * 10, ["two"] * 10], form="corrected").tolist() == [
        1,
        1,
    ]
    # Where people differ only punctuation is treated: "two" is still not "2".
    assert vqa_accuracy(["two"], [["two"] * 5 + ["3"] * 5]).tolist() == [0]


def test_one_person_leaves_nobody():
    assert vqa_accuracy(["red"], [["red"]]).tolist() == [0.0]
    assert np.isnan(vqa_accuracy(["red"], [["red"]], form="corrected"))[0]


def test_the_most_frequent_answer_of_several_is_the_first_by_letter():
    assert most_frequent(["b", "a", "c", "b", "a"]) == "a"
