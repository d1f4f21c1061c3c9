"""What stands beside each candidate: a filter question, or a repeat, another candidate of the picture once more.

Who counts how often a text came before, or learns the words of filters, must gain nothing by it. So a text comes at most twice
at a picture, as a filter or as candidate and repeat. And filters are drawn against an annotator who learns (naive Bayes, from all
tasks so far) what filters look like: what looks like one is drawn the less.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import floor, log
from typing import Self

import numpy as np

from pipeline.batching.filter_questions import Filter, Known
from pipeline.core.records import Candidate, Record

MOST_USES = 2  # of a text at a picture
COUNTED = 16  # how much heavier than a word it weighs how often a text came before: there are ten words, and any can count


class Onlooker:
    """What an annotator could have learnt so far who was told which questions are filters, and saw all tasks in this order:
    in how many filters and in how many candidates (or repeats) each sign was."""

    def __init__(self) -> None:
        self.here: Counter[tuple[str, str]] = Counter()
        self.anywhere: Counter[str] = Counter()
        self.signs = {is_filter: Counter[str]() for is_filter in (True, False)}
        self.questions = {True: 1, False: 1}

    def note(self, picture_id: str, text: str, is_filter: bool) -> None:
        """A question is shown."""
        self.signs[is_filter].update(self._signs(picture_id, text))
        self.questions[is_filter] += 1
        self.here[picture_id, text] += 1
        self.anywhere[text] += 1

    def told(self, picture_id: str, text: str) -> float:
        """Log odds of being a filter, naive Bayes on the question's signs."""
        filters, others = self.signs[True], self.signs[False]
        usual = log(self.questions[True] / self.questions[False])
        odds = {
            sign: log((filters[sign] + 1) / (others[sign] + 1)) - usual
            for sign in self._signs(picture_id, text)
        }
        return sum((COUNTED if sign.startswith("#") else 1) * value for sign, value in odds.items())

    def _signs(self, picture_id: str, text: str) -> list[str]:
        """Its words, and how often its text came before, at this picture and anywhere."""
        here, anywhere = self.here[picture_id, text], self.anywhere[text]
        return [*sorted(set(text.lower().split())), f"#here {here}", f"#anywhere {anywhere}"]


class Offered(Record):
    """The filter questions that a picture offers, sorted."""

    filters: tuple[Filter, ...] = ()

    @classmethod
    def of(cls, filters: Iterable[Filter]) -> Self:
        def order(row: Filter) -> tuple[str, ...]:
            return (row.text, row.source, row.candidate_id or "", row.question_id or "")

        return cls(filters=tuple(sorted(filters, key=order)))


class Companions:
    """What one picture offers as companions: filters and repeats, each text at most twice, with what its tasks use up.

    Args:
        members: its candidates. offered: its filters, by picture; they are looked up whenever they are needed, and not held.
        share: how many tasks have a filter, at most.
    """

    def __init__(
        self,
        picture_id: str,
        members: Sequence[Candidate],
        offered: Mapping[str, Offered],
        share: float,
        rng: np.random.Generator,
    ) -> None:
        self.picture_id, self.offered = picture_id, offered
        self.uses = Counter(row.text for row in members)
        texts = {row.text for row in self.filters if row.source != "template"}
        drawn = [members[i] for i in rng.permutation(len(members)).tolist()]
        self.left = sorted(
            drawn, key=lambda row: row.text in texts
        )  # not yet repeated; what is a filter too comes last
        repeated = len(members) - filters_for(len(members), len(texts), share)
        hosts = [members[i] for i in rng.permutation(len(members)).tolist()]
        self.repeats: dict[
            str, Candidate
        ] = {}  # id of the candidate under judgement -> what stands beside it
        for host in hosts:
            if len(self.repeats) < repeated and (other := self.repeat(host)):
                self.repeats[host.candidate_id] = other

    @property
    def filters(self) -> tuple[Filter, ...]:
        """What the picture offers, used up or not."""
        return self.offered[self.picture_id].filters

    def repeat(self, host: Candidate) -> Candidate | None:
        """Another candidate once more, by lot; not of the same text, and made from another question if there is such."""
        fit = [row for row in self.left if row.text != host.text and self.uses[row.text] < MOST_USES]
        if other := next((row for row in fit if _differ(row, host)), next(iter(fit), None)):
            self.left.remove(other)
            self.uses[other.text] += 1
        return other

    def has(self, expected: Known) -> bool:
        """Whether a filter of this verdict is left that is like candidates."""
        return any(
            row.expected == expected and row.source != "template" and self.uses[row.text] < MOST_USES
            for row in self.filters
        )

    def draw(
        self, host: Candidate, wanted: Known, templates: bool, onlooker: Onlooker, rng: np.random.Generator
    ) -> Filter | None:
        """A filter made from a template or not, of the wanted verdict if there is one; of several by lot, the less often the
        more it looks like a filter. None if there is none but the same question, or the one that the candidate was made from.
        """
        fit = [
            row
            for row in self.filters
            if (row.source == "template") == templates
            and _differ(row, host)
            and self.uses[row.text] < MOST_USES
        ]
        fit = [row for row in fit if row.expected == wanted] or fit
        if not fit:
            return None
        # In inverse proportion to its odds of being a filter; to take the least would overshoot.
        told = np.array([onlooker.told(self.picture_id, row.text) for row in fit])
        drawn = fit[int(np.argmin(told - rng.gumbel(size=len(fit))))]
        self.uses[drawn.text] += 1
        return drawn


def _differ(row: Filter | Candidate, host: Candidate) -> bool:
    return row.text != host.text and row.question_id != host.question_id


def filters_for(candidates: int, texts: int, share: float) -> int:
    """How many of a picture's tasks have a filter, so that filters come again as often as candidates.

    With f filters and n - f repeats, (n - f) / (2 n - f) of all that is shown of candidates came before; with d texts
    (f - d) / f of the filters did. Both are equal where f = 2 d n / (n + d).

    Args:
        candidates: n, tasks of the picture. texts: d, of its filters. share: how many tasks have a filter at most.

    >>> filters_for(candidates=30, texts=20, share=1.0)  # 24 of 20 texts: 4 of 24 come again; 6 repeats, of 36 shown
    24
    >>> filters_for(candidates=30, texts=100, share=0.5)
    15
    """
    if candidates == 1:
        return 1  # there is nothing to be repeated
    return min(round(share * candidates), floor(2 * texts * candidates / (candidates + texts)), candidates)
