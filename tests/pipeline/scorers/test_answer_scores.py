import numpy as np
import pytest

from pipeline.scorers.answer_scores import answers_group, item_scores, resample_answers
from pipeline.scorers.items import Options
from tests.pipeline.scorers.conftest import answered, vqa_answered


def test_with_people_the_scores_of_vqa_are_given_too():
    # Three of ten people said red: 0.9; VQA3+ the same. As a string it is one of the right answers.
    joined = vqa_answered([["red"] * 3 + ["blue"] * 7, ["cat"] * 10], ["red", "a dog"])
    scores = answers_group(joined, Options())
    assert scores["vqa_accuracy"] == pytest.approx(0.45) and scores["vqa3_plus"] == pytest.approx(0.45)
    assert scores["exact_match"] == 0.5 and scores["normalized_match"] == 0.5
    assert scores["vqa_accuracy_corrected"] == pytest.approx(0.45)


def test_without_people_answers_are_compared_with_the_label():
    scores = item_scores(answered().at(np.array([0, 2, 4])))
    assert set(scores) >= {"exact_match", "normalized_match", "token_f1", "anls", "anls_no_threshold"}
    assert not {"vqa_accuracy", "vqa_accuracy_corrected", "vqa3_plus"} & set(scores)
    # red - red, no - yes, Dog - dog.
    assert scores["exact_match"].tolist() == [1, 0, 0] and scores["token_f1"].tolist() == [1, 0, 1]


def test_a_repetition_is_the_mean_of_the_drawn_items():
    # Vqa accuracies 0.9, 0, NaN (one person, corrected): the undefined one never counts.
    joined = vqa_answered([["red"] * 3 + ["blue"] * 7, ["cat"] * 10, ["cat"]], ["red", "dog", "cat"])
    scores = resample_answers(joined, np.array([0, 1, 1]))(np.array([[1.0, 1.0], [3.0, 1.0], [0.0, 2.0]]))
    assert scores["vqa_accuracy_corrected"] == pytest.approx([0.45, 0.675, 0.0])
    # 0.9, 0, 0 (official: one person leaves nobody).
    assert scores["vqa_accuracy"] == pytest.approx([0.3, 2.7 / 5, 0.0])
