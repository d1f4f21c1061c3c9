"""Questions as arrays."""

from pathlib import Path

import numpy as np
import pytest

from pipeline.core.errors import UserError
from pipeline.sources.training_questions import TrainingQuestion
from research.reference_models.question_arrays import QuestionCollector, subsample_evenly
from research.reference_models.region_stores import ArrayStore
from research.reference_models.tokenization import WordVocabulary

TRAIN = [
    TrainingQuestion("n1", "Is the cup red?", "yes"),
    TrainingQuestion("n2", "Is the dog red?", "no"),
    TrainingQuestion("n1", "What is it?", "cup"),
    TrainingQuestion("n1", "?", "no"),
]
STORE = ArrayStore(["n0", "n1", "n2"], np.zeros((3, 1, 2)), np.zeros((3, 1, 4)))


def test_words_and_answers_are_the_frequent_ones():
    gathered = QuestionCollector(TRAIN)
    assert gathered.build_vocabulary(min_count=2) == WordVocabulary(("is", "red", "the"))
    assert gathered.top_answers(2) == ("cup", "no")  # "no" twice; "cup" stands before "yes"
    assert gathered.top_answers(9) == ("cup", "no", "yes")


def test_ids_are_those_of_vocabulary_answers_and_store():
    gathered = QuestionCollector(TRAIN)
    words = gathered.build_vocabulary(min_count=2)
    found = gathered.to_question_set(words, ("cup", "no"), STORE, Path("train.json"))
    assert found.tokens.tolist() == words.encode([q.text for q in TRAIN]).tolist()
    assert found.image_indices.tolist() == [1, 2, 1, 1] and found.answers.tolist() == [-1, 1, 0, 1]
    assert found.tokens.dtype == np.uint8  # 5 numbers


def test_a_very_long_question_is_truncated():
    long = [TrainingQuestion("n1", "cup " * 300, "no")]
    found = QuestionCollector(long).to_question_set(
        WordVocabulary(("cup",)), ("no",), STORE, Path("train.json")
    )
    assert found.tokens.shape == (1, 40)


def test_images_without_regions_are_named_with_their_number_of_questions():
    gathered = QuestionCollector(
        [*TRAIN, TrainingQuestion("n9", "Is it?", "no"), TrainingQuestion("n9", "Is?", "no")]
    )
    with pytest.raises(UserError, match=r"1 of its 3 images(.|\n)*image n9: 2 questions about it"):
        gathered.to_question_set(WordVocabulary(()), ("no",), STORE, Path("train.json"))


def test_an_even_subsample_has_first_and_last():
    whole = QuestionCollector(TRAIN).to_question_set(
        WordVocabulary(()), ("cup", "no"), STORE, Path("train.json")
    )
    assert (
        subsample_evenly(whole, 2).answers.tolist() == [-1, 1]
        and len(subsample_evenly(whole, 99).answers) == 4
    )
