import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.scoring import anls, exact_match, token_f1, vqa3_plus, vqa_accuracy
from pipeline.scoring.answer_scores import (
    compute_item_scores,
    edit_distance,
    most_frequent_answer,
    score_answers,
)
from pipeline.scoring.joined_predictions import ScoringOptions
from tests.scoring.conftest import answered, vqa_answered


def test_with_human_answers_the_scores_of_vqa_are_given_too():
    # Three of ten people said red: 0.9; VQA3+ the same. As a string it is one of the right answers.
    joined = vqa_answered([["red"] * 3 + ["blue"] * 7, ["cat"] * 10], ["red", "a dog"])
    scores = score_answers(joined, ScoringOptions())
    assert scores["vqa_accuracy"] == pytest.approx(0.45) and scores["vqa3_plus"] == pytest.approx(0.45)
    assert scores["exact_match"] == 0.5 and scores["normalized_match"] == 0.5
    assert scores["vqa_accuracy_corrected"] == pytest.approx(0.45)


def test_without_human_answers_the_label_counts():
    scores = compute_item_scores(answered().select(np.array([0, 2, 4])))
    assert set(scores) >= {"exact_match", "normalized_match", "token_f1", "anls", "anls_no_threshold"}
    assert not {"vqa_accuracy", "vqa_accuracy_corrected", "vqa3_plus"} & set(scores)
    # red - red, no - yes, Dog - dog.
    assert scores["exact_match"].tolist() == [1, 0, 0] and scores["token_f1"].tolist() == [1, 0, 1]


def test_matching_is_worked_out_by_hand():
    assert exact_match(["Red", "red"], [["red"], ["blue", "red"]]).tolist() == [0, 1]
    assert exact_match(["The red!"], [["red"]], normalization="squad").tolist() == [1]
    # VQA's evaluation writes digits, SQuAD's does not.
    assert [exact_match(["two"], [["2"]], normalization=form).tolist() for form in ("official", "squad")] == [
        [1],
        [0],
    ]
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


WORDS = st.sampled_from(["red", "blue", "dark red"])


@given(
    WORDS,
    st.lists(WORDS, min_size=2, max_size=10),
    st.sampled_from(["official", "official-2017", "corrected"]),
)
def test_vqa_accuracy_is_the_mean_over_all_ways_to_omit_one_answer(said, people, form):
    left = itertools.combinations(people, len(people) - 1)
    expected = np.mean([min(rest.count(said) / 3, 1) for rest in left])
    assert vqa_accuracy([said], [people], normalization=form)[0] == pytest.approx(expected)


@pytest.mark.parametrize(("agree", "expected"), [(0, 0.0), (1, 0.3), (2, 0.6), (3, 0.9), (4, 1.0), (10, 1.0)])
def test_with_ten_human_answers_accuracy_is_as_the_papers_say(agree, expected):
    people = [["red"] * agree + ["blue"] * (10 - agree)]
    assert vqa_accuracy(["red"], people)[0] == pytest.approx(expected)
    assert vqa3_plus(["red"], people)[0] == pytest.approx(expected)


def test_where_people_agree_official_compares_letter_by_letter_and_corrected_does_not():
    people = [["the dog"] * 10, ["two"] * 10]
    assert vqa_accuracy(["the dog", "two"], people).tolist() == [1, 1]
    assert vqa_accuracy(["dog", "2"], people).tolist() == [0, 0]
    assert vqa_accuracy(["dog", "2"], people, normalization="corrected").tolist() == [1, 1]
    # Until 2021 the prediction lost its article and became a digit, and people's answers did not.
    assert vqa_accuracy(["the dog", "two"], people, normalization="official-2017").tolist() == [0, 0]


def test_where_people_differ_both_are_normalised_since_2021():
    # Five of ten agree: min(4/3, 1) and min(5/3, 1) are both 1.
    people = [["two"] * 5 + ["3"] * 5]
    assert vqa_accuracy(["two"], people).tolist() == vqa_accuracy(["2."], people).tolist() == [1]
    assert vqa_accuracy(["two"], people, normalization="official-2017").tolist() == [0]


def test_corrected_takes_a_full_stop_away_where_official_does():
    assert vqa_accuracy(["pm"], [["p.m."] * 10], normalization="corrected").tolist() == [1]


def test_one_human_answer_leaves_none():
    assert vqa_accuracy(["red"], [["red"]]).tolist() == [0.0]
    assert np.isnan(vqa_accuracy(["red"], [["red"]], normalization="corrected"))[0]


def test_the_most_frequent_answer_of_several_is_the_first_by_letter():
    assert most_frequent_answer(["b", "a", "c", "b", "a"]) == "a"
