"""Measure what a model can know about a text if it has read other questions of the source.

Answerable questions (AQs) occur word for word in a public set, and edited questions do not. Two measures use
this. `count_verbatim` counts how often the exact text occurs. `familiarity_features` measures how familiar a
text looks, given all other questions. Use `excluding` to leave out the text itself and the question from
which it was made.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from itertools import combinations

from pipeline.benchmark.auditing.ngram_model import NGRAM_ORDER, NgramModel, make_ngrams, tokenize
from pipeline.core.records import Question

STOP_WORDS = frozenset(("the", "a", "an", "is", "are"))


class KnownQuestions:
    """Counts of texts, of their n-grams and of their pairs of words.

    >>> known = KnownQuestions(["Is the cup red?", "Is the cup red?", "Is the hat red?"])
    >>> known.count_verbatim("is the CUP red?"), known.count_verbatim("Is the hat blue?")
    (2, 0)

    Args:
        texts: The questions of the source.
        source_wordings: Lowercase paraphrase -> its lowercase wordings in the source. Excluding a paraphrase
            also excludes these wordings. None if no question is paraphrased.
    """

    def __init__(self, texts: Iterable[str], source_wordings: Mapping[str, Set[str]] | None = None) -> None:
        self._text_counts, self._source_wordings = (
            Counter(text.lower() for text in texts),
            source_wordings or {},
        )
        self._model = NgramModel()
        self._pair_counts: Counter[tuple[str, str]] = Counter()
        for text, times in self._text_counts.items():
            self._add(text, times)

    def count_verbatim(self, text: str) -> int:
        """Return how often the exact text occurs among the questions, ignoring case."""
        return self._text_counts[text.lower()]

    @contextmanager
    def excluding(self, texts: Iterable[str]) -> Iterator[None]:
        """Remove texts from the counts while the context is open."""
        excluded = {text.lower() for text in texts}
        excluded |= {source for text in excluded for source in self._source_wordings.get(text, ())}
        excluded = sorted(excluded & self._text_counts.keys())
        for text in excluded:
            self._add(text, -self._text_counts[text])
        yield
        for text in excluded:
            self._add(text, self._text_counts[text])

    def familiarity_features(self, text: str) -> list[float]:
        """Return features of how familiar a text is.

        Returns:
            The mean and the minimum log probability of the words. Then three features for the n-grams of each
            length and for the pairs of words at any distance: the mean and the minimum of log(1 + count), and
            the proportion with count 0.
        """
        words = tokenize(text)
        logs, parts = self._model.log_probabilities(words), make_ngrams(words)
        counts = [
            [self._model.counts[part] for part in parts if len(part) == n + 1] for n in range(NGRAM_ORDER)
        ]
        counts.append([self._pair_counts[pair] for pair in make_word_pairs(words)] or [0])
        row = [sum(logs) / len(logs), min(logs)]
        for part_counts in counts:
            row += [
                sum(map(math.log1p, part_counts)) / len(part_counts),
                math.log1p(min(part_counts)),
                part_counts.count(0) / len(part_counts),
            ]
        return row

    def _add(self, text: str, times: int) -> None:
        words = tokenize(text)
        self._model.add(words, times)
        for pair in make_word_pairs(words):
            self._pair_counts[pair] += times


def collect_known_questions(questions: Iterable[Question]) -> KnownQuestions:
    """Count the questions in the wording of the source. For a paraphrased question, this is its wording before
    paraphrasing.
    """
    texts: list[str] = []
    source_wordings: defaultdict[str, set[str]] = defaultdict(set)
    for question in questions:
        texts.append(question.source_text or question.text)
        if question.source_text:
            source_wordings[question.text.lower()].add(question.source_text.lower())
    return KnownQuestions(texts, source_wordings)


def make_word_pairs(words: Sequence[str]) -> list[tuple[str, str]]:
    """Return the distinct pairs of content words, in the order of the text.

    >>> make_word_pairs(["is", "the", "cup", "red"])
    [('cup', 'red')]
    """
    content_words = [word for word in words if word not in STOP_WORDS]
    return list(dict.fromkeys(combinations(content_words, 2)))
