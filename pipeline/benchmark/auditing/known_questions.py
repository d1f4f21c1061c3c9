"""What somebody may know who has read other questions of the source: AQs are questions of a public set, word for word,
and edited ones are not.

How often a text itself stands there is one thing (`verbatim`). The other is how usual it is, judged by all questions
but itself and the one that it was made from (`traits`): that an attacker may learn without having seen a label.
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
    """Counts of texts and of what they are made of.

    >>> known = KnownQuestions(["Is the cup red?", "Is the cup red?", "Is the hat red?"])
    >>> known.verbatim("is the CUP red?"), known.verbatim("Is the hat blue?")
    (2, 0)

    Args:
        paraphrased: text in small letters -> the source's own wordings, where a question is asked in other words: who leaves
            it out leaves out these.
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
        """How often the very text stands among the questions."""
        return self._text_counts[text.lower()]

    @contextmanager
    def excluding(self, texts: Iterable[str]) -> Iterator[None]:
        """As if none of these texts had ever stood among the questions."""
        left_out = {text.lower() for text in texts}
        left_out |= {source for text in left_out for source in self._source_wordings.get(text, ())}
        left_out = sorted(left_out & self._text_counts.keys())
        for text in left_out:
            self._add(text, -self._text_counts[text])
        yield
        for text in left_out:
            self._add(text, self._text_counts[text])

    def familiarity_features(self, text: str) -> list[float]:
        """How usual a text is: log probabilities of its words after the two before (mean, least), and by log(1 + count)
        its n-grams of each length and its pairs of words, however far apart (mean, least, share of those never
        seen)."""
        words = tokenize(text)
        logs, parts = self._model.log_probabilities(words), make_ngrams(words)
        counts = [
            [self._model.counts[part] for part in parts if len(part) == n + 1] for n in range(NGRAM_ORDER)
        ]
        counts.append([self._pair_counts[pair] for pair in make_word_pairs(words)] or [0])
        row = [sum(logs) / len(logs), min(logs)]
        for found in counts:
            row += [
                sum(map(math.log1p, found)) / len(found),
                math.log1p(min(found)),
                found.count(0) / len(found),
            ]
        return row

    def _add(self, text: str, times: int) -> None:
        words = tokenize(text)
        self._model.add(words, times)
        for pair in make_word_pairs(words):
            self._pair_counts[pair] += times


def collect_known_questions(questions: Iterable[Question]) -> KnownQuestions:
    """Questions as the source has them, whatever the words in which they are asked."""
    texts: list[str] = []
    paraphrased: defaultdict[str, set[str]] = defaultdict(set)
    for question in questions:
        texts.append(question.source_text or question.text)
        if question.source_text:
            paraphrased[question.text.lower()].add(question.source_text.lower())
    return KnownQuestions(texts, paraphrased)


def make_word_pairs(words: Sequence[str]) -> list[tuple[str, str]]:
    """Each pair of the words that say something, once, in the order in which they stand."""
    telling = [word for word in words if word not in STOP_WORDS]
    return list(dict.fromkeys(combinations(telling, 2)))
