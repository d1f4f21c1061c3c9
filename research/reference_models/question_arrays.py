"""Millions of questions as arrays: read once, one by one, so that memory is that of the numbers and not of records."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from pipeline.core.errors import Problems, format_count
from pipeline.sources.training_questions import TrainingQuestion
from research.reference_models.net_training import QuestionSet
from research.reference_models.region_stores import RegionStore
from research.reference_models.tokenization import PADDING_ID, UNKNOWN_ID, WordVocabulary, split_words

MAX_WORDS = 40  # of a question; GQA's longest has 29. What is beyond is left out
MIN_WORD_COUNT = (
    2  # a word that train has only once counts as unknown, so that the unknown word is learned, too
)


class QuestionCollector:
    """Questions by numbers that are given out as they come: words, images, answers."""

    def __init__(self, questions: Iterable[TrainingQuestion]) -> None:
        self.word_ids: dict[str, int] = {}
        self.image_ids: dict[str, int] = {}
        self.answer_ids: dict[str, int] = {}
        self._token_ids, self._lengths = array("I"), array("B")
        self._image_numbers, self._answer_numbers = array("I"), array("I")
        for question in questions:
            said = split_words(question.text)[:MAX_WORDS] or [""]
            self._token_ids.extend(_assign_id(self.word_ids, word) for word in said)
            self._lengths.append(len(said))
            self._image_numbers.append(_assign_id(self.image_ids, question.image_id))
            self._answer_numbers.append(_assign_id(self.answer_ids, question.answer))

    def __len__(self) -> int:
        return len(self._lengths)

    def build_vocabulary(self, min_count: int = MIN_WORD_COUNT) -> WordVocabulary:
        """The words that are there at least so often."""
        counts = np.bincount(np.asarray(self._token_ids), minlength=len(self.word_ids))
        return WordVocabulary(
            tuple(sorted(w for w, i in self.word_ids.items() if w and counts[i] >= min_count))
        )

    def top_answers(self, max_answers: int) -> tuple[str, ...]:
        """The `most` most frequent answers, sorted; of equally frequent ones the first by the alphabet."""
        counts = np.bincount(np.asarray(self._answer_numbers), minlength=len(self.answer_ids))
        often = sorted(self.answer_ids, key=lambda answer: (-counts[self.answer_ids[answer]], answer))
        return tuple(sorted(often[:max_answers]))

    def to_question_set(
        self, vocabulary: WordVocabulary, answers: Sequence[str], store: RegionStore, path: Path
    ) -> QuestionSet:
        """All of them in the numbers of a net and of a store; an answer that is not among `answers` is -1.

        Raises:
            UserError: names the images that the store does not have.
        """
        if missing := [image for image in self.image_ids if image not in store.index_of]:
            asked = np.bincount(np.asarray(self._image_numbers), minlength=len(self.image_ids))
            problems = Problems(
                f"{path}: {len(missing)} of its {format_count(len(self.image_ids), 'image')} have no region features"
            )
            for image in missing:
                problems.add(f"image {image}", f"{asked[self.image_ids[image]]} questions ask about it")
            problems.raise_if_any()
        word_of = {word: place for place, word in enumerate(vocabulary.words, UNKNOWN_ID + 1)}
        answer_of = {answer: place for place, answer in enumerate(answers)}
        lengths = np.asarray(self._lengths)
        tokens = np.full((len(self), int(lengths.max())), PADDING_ID, np.min_scalar_type(len(vocabulary)))
        numbers = np.array([word_of.get(word, UNKNOWN_ID) for word in self.word_ids], tokens.dtype)
        tokens[np.arange(tokens.shape[1]) < lengths[:, None]] = numbers[np.asarray(self._token_ids)]
        places = np.array([store.index_of[image] for image in self.image_ids], np.int32)
        right = np.array([answer_of.get(answer, -1) for answer in self.answer_ids], np.int32)
        return QuestionSet(
            tokens, places[np.asarray(self._image_numbers)], right[np.asarray(self._answer_numbers)]
        )


def _assign_id(numbers: dict[str, int], name: str) -> int:
    return numbers.setdefault(name, len(numbers))


def take_rows(questions: QuestionSet, rows: np.ndarray) -> QuestionSet:
    """Some rows of questions."""
    return QuestionSet(questions.tokens[rows], questions.image_indices[rows], questions.answers[rows])


def subsample_evenly(questions: QuestionSet, max_questions: int) -> QuestionSet:
    """At most so many, evenly spread."""
    count = len(questions.answers)
    return take_rows(questions, np.unique(np.linspace(0, count - 1, min(max_questions, count)).astype(int)))
