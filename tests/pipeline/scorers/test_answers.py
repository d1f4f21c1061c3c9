"""VQA accuracy, normalisation, matching."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.scorers import anls, exact_match, normalize_answer, token_f1, vqa3_plus, vqa_accuracy
from pipeline.scorers.matching import edit_distance
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


@pytest.mark.parametrize(
    ("text", "official", "corrected"),
    [
        ("The Dog", "dog", "dog"),
        ("two cats", "2 cats", "2 cats"),
        ("none", "0", "0"),
        ("dont know", "don't know", "don't know"),
        ("black-and-white", "black and white", "black and white"),
        (
            "black- and-white",
            "black andwhite",
            "black and white",
        ),  # a mark beside a space anywhere makes all of its kind vanish
        ("1,000", "1000", "1000"),
        ("1,000 red/blue", "1000 redblue", "1000 red blue"),  # a number with a comma: all marks vanish
        ("3.5", "3.5", "3.5"),
        ("yes.", "yes", "yes"),
        ("no . 1", "no 1", "no 1"),
        ("...." * 9, "....", ""),  # Python's flag stands in the place of the count: 32 full stops go
        ("Im here", "im here", "i'm here"),
        ("somebody'd", "somebodyd", "somebody'd"),
        ("a\nb", "b", "b"),
        ("youd've", "you'd've", "you'd've"),
        ("y'alld've", "y'all'd've", "y'all'd've"),
        ("(a) dog", "dog", "dog"),
        ("12:30", "12:30", "12:30"),
    ],
)
def test_normalisation(text, official, corrected):
    assert normalize_answer(text) == official
    assert normalize_answer(text, form="corrected") == corrected


def test_the_most_frequent_answer_of_several_is_the_first_by_letter():
    assert most_frequent(["b", "a", "c", "b", "a"]) == "a"


def test_matching_is_worked_out_by_hand():
    assert exact_match(["Red", "red"], [["red"], ["blue", "red"]]).tolist() == [0, 1]
    assert exact_match(["The red!"], [["red"]], form="squad").tolist() == [1]
    # 2 of 4 words and 2 of 3: 2 x 2 / 7. Repeated words count as often as in both.
    assert token_f1(["man on red horse", "no no"], [["man with horse"], ["no"]]) == pytest.approx(
        [4 / 7, 2 / 3]
    )
    assert token_f1(["", "", "a"], [[""], ["dog"], ["the"]]).tolist() == [1, 0, 1]
    # One letter of five replaced: 0.8. Three of five: 0.4, below the field's threshold.
    assert anls(["horse"], [["house"]]) == pytest.approx([0.8])
    assert anls(["abcde"], [["abxyz"]]).tolist() == [0] and anls(
        ["abcde"], [["abxyz"]], threshold=0
    ) == pytest.approx([0.4])
    assert anls(["", " A b"], [[""], ["a  B"]]).tolist() == [1, 1]


@given(st.text("ab", max_size=6), st.text("ab", max_size=6), st.text("ab", max_size=6))
def test_edit_distance_is_a_distance(a, b, c):
    assert edit_distance(a, b) == edit_distance(b, a) and (edit_distance(a, b) == 0) == (a == b)
    assert edit_distance(a, c) <= edit_distance(a, b) + edit_distance(b, c)
    assert abs(len(a) - len(b)) <= edit_distance(a, b) <= max(len(a), len(b))


@pytest.mark.parametrize(
    ("predictions", "answers", "expected"),
    [
        (["a"], ["a"], "answers holds a string"),
        (["a"], [[]], "1 empty lists"),
        ([1], [["a"]], "no strings"),
        (["a", "b"], [["a"]], "lengths differ"),
    ],
)
def test_wrong_answers_are_refused(predictions, answers, expected):
    with pytest.raises(ValueError, match=expected):
        vqa_accuracy(predictions, answers)
