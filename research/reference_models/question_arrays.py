"""Millions of questions as arrays: read once, one by one, so that memory is that of the numbers and not of records."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from pipeline.core.errors import Problems, counted
from pipeline.sources.training_questions import AskedQuestion
from research.reference_models.net_training import QuestionSet
from research.reference_models.region_stores import RegionStore
from research.reference_models.tokenization import PADDING, UNKNOWN, WordTable, words

MOST_WORDS = 40  # of a question; GQA's longest has 29. What is beyond is left out
LEAST = 2  # a word that train has only once counts as unknown, so that the unknown word is learned, too


class Gathered:
    """Questions by numbers that are given out as they come: words, pictures, answers."""

    def __init__(self, questions: Iterable[AskedQuestion]) -> None:
        self.words: dict[str, int] = {}
        self.pictures: dict[str, int] = {}
        self.answers: dict[str, int] = {}
        self._flat, self._lengths = array("I"), array("B")
        self._picture, self._answer = array("I"), array("I")
        for question in questions:
            said = words(question.text)[:MOST_WORDS] or [""]
            self._flat.extend(_number(self.words, word) for word in said)
            self._lengths.append(len(said))
            self._picture.append(_number(self.pictures, question.picture_id))
            self._answer.append(_number(self.answers, question.answer))

    def __len__(self) -> int:
        return len(self._lengths)

    def known_words(self, least: int = LEAST) -> WordTable:
        """The words that are there at least so often."""
        counts = np.bincount(np.asarray(self._flat), minlength=len(self.words))
        return WordTable(tuple(sorted(w for w, i in self.words.items() if w and counts[i] >= least)))

    def frequent_answers(self, most: int) -> tuple[str, ...]:
        """The `most` most frequent answers, sorted; of equally frequent ones the first by the alphabet."""
        counts = np.bincount(np.asarray(self._answer), minlength=len(self.answers))
        often = sorted(self.answers, key=lambda answer: (-counts[self.answers[answer]], answer))
        return tuple(sorted(often[:most]))

    def numbered(
        self, known: WordTable, answers: Sequence[str], store: RegionStore, where: Path
    ) -> QuestionSet:
        """All of them in the numbers of a net and of a store; an answer that is not among `answers` is -1.

        Raises:
            UserError: names the pictures that the store does not have.
        """
        if missing := [picture for picture in self.pictures if picture not in store.place_of]:
            asked = np.bincount(np.asarray(self._picture), minlength=len(self.pictures))
            problems = Problems(
                f"{where}: {len(missing)} of its {counted(len(self.pictures), 'picture')} have no region features"
            )
            for picture in missing:
                problems.add(f"picture {picture}", f"{asked[self.pictures[picture]]} questions ask about it")
            problems.raise_if_any()
        word_of = {word: place for place, word in enumerate(known.known, UNKNOWN + 1)}
        answer_of = {answer: place for place, answer in enumerate(answers)}
        lengths = np.asarray(self._lengths)
        tokens = np.full((len(self), int(lengths.max())), PADDING, np.min_scalar_type(len(known)))
        numbers = np.array([word_of.get(word, UNKNOWN) for word in self.words], tokens.dtype)
        tokens[np.arange(tokens.shape[1]) < lengths[:, None]] = numbers[np.asarray(self._flat)]
        places = np.array([store.place_of[picture] for picture in self.pictures], np.int32)
        right = np.array([answer_of.get(answer, -1) for answer in self.answers], np.int32)
        return QuestionSet(tokens, places[np.asarray(self._picture)], right[np.asarray(self._answer)])


def _number(numbers: dict[str, int], name: str) -> int:
    return numbers.setdefault(name, len(numbers))


def rows_of(questions: QuestionSet, rows: np.ndarray) -> QuestionSet:
    """Some rows of questions."""
    return QuestionSet(questions.tokens[rows], questions.pictures[rows], questions.answers[rows])


def spread(questions: QuestionSet, most: int) -> QuestionSet:
    """At most so many, evenly spread."""
    count = len(questions.answers)
    return rows_of(questions, np.unique(np.linspace(0, count - 1, min(most, count)).astype(int)))
