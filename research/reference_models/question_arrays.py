"""Store millions of questions as arrays.

Questions are read one by one, so that only numbers are kept in memory.
"""

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

# Maximum number of words of a question; further words are ignored. The longest question of GQA has 29 words.
MAX_WORDS = 40
# Minimum number of occurrences of a word in the vocabulary. Words that occur once in train are unknown, so
# that the vector of the unknown word is trained, too.
MIN_WORD_COUNT = 2


class QuestionCollector:
    """Collects questions. Each new word, image and answer gets an index.

    Args:
        questions: The questions.
    """

    def __init__(self, questions: Iterable[TrainingQuestion]) -> None:
        self.word_ids: dict[str, int] = {}
        self.image_ids: dict[str, int] = {}
        self.answer_ids: dict[str, int] = {}
        self._token_ids, self._lengths = array("I"), array("B")
        self._image_numbers, self._answer_numbers = array("I"), array("I")
        for question in questions:
            words = split_words(question.text)[:MAX_WORDS] or [""]
            self._token_ids.extend(_assign_id(self.word_ids, word) for word in words)
            self._lengths.append(len(words))
            self._image_numbers.append(_assign_id(self.image_ids, question.image_id))
            self._answer_numbers.append(_assign_id(self.answer_ids, question.answer))

    def __len__(self) -> int:
        return len(self._lengths)

    def build_vocabulary(self, min_count: int = MIN_WORD_COUNT) -> WordVocabulary:
        """Return the words that occur at least `min_count` times."""
        counts = np.bincount(np.asarray(self._token_ids), minlength=len(self.word_ids))
        return WordVocabulary(
            tuple(sorted(w for w, i in self.word_ids.items() if w and counts[i] >= min_count))
        )

    def top_answers(self, max_answers: int) -> tuple[str, ...]:
        """Return the most frequent answers, sorted. Ties are broken alphabetically."""
        counts = np.bincount(np.asarray(self._answer_numbers), minlength=len(self.answer_ids))
        often = sorted(self.answer_ids, key=lambda answer: (-counts[self.answer_ids[answer]], answer))
        return tuple(sorted(often[:max_answers]))

    def to_question_set(
        self, vocabulary: WordVocabulary, answers: Sequence[str], store: RegionStore, path: Path
    ) -> QuestionSet:
        """Return the questions as indices into a vocabulary, answers and a store.

        An answer that is not in `answers` is -1.

        Args:
            vocabulary: The words.
            answers: The answer vocabulary.
            store: Regions of the images.
            path: File of the questions, for the message.

        Raises:
            UserError: The store does not have an image. All missing images are listed.
        """
        if missing := [image for image in self.image_ids if image not in store.index_of]:
            num_questions = np.bincount(np.asarray(self._image_numbers), minlength=len(self.image_ids))
            problems = Problems(
                f"{path}: {len(missing)} of its {format_count(len(self.image_ids), 'image')} have no region features"
            )
            for image in missing:
                problems.add(
                    f"image {image}",
                    f"{format_count(int(num_questions[self.image_ids[image]]), 'question')} about it",
                )
            problems.raise_if_any()
        word_of = {word: i for i, word in enumerate(vocabulary.words, UNKNOWN_ID + 1)}
        answer_of = {answer: i for i, answer in enumerate(answers)}
        lengths = np.asarray(self._lengths)
        tokens = np.full((len(self), int(lengths.max())), PADDING_ID, np.min_scalar_type(len(vocabulary)))
        numbers = np.array([word_of.get(word, UNKNOWN_ID) for word in self.word_ids], tokens.dtype)
        tokens[np.arange(tokens.shape[1]) < lengths[:, None]] = numbers[np.asarray(self._token_ids)]
        image_indices = np.array([store.index_of[image] for image in self.image_ids], np.int32)
        answer_indices = np.array([answer_of.get(answer, -1) for answer in self.answer_ids], np.int32)
        return QuestionSet(
            tokens,
            image_indices[np.asarray(self._image_numbers)],
            answer_indices[np.asarray(self._answer_numbers)],
        )


def _assign_id(numbers: dict[str, int], name: str) -> int:
    return numbers.setdefault(name, len(numbers))


def take_rows(questions: QuestionSet, rows: np.ndarray) -> QuestionSet:
    """Return some questions of a set, without target boxes."""
    return QuestionSet(questions.tokens[rows], questions.image_indices[rows], questions.answers[rows])


def subsample_evenly(questions: QuestionSet, max_questions: int) -> QuestionSet:
    """Return at most `max_questions` questions, evenly spaced in the set."""
    count = len(questions.answers)
    return take_rows(questions, np.unique(np.linspace(0, count - 1, min(max_questions, count)).astype(int)))
