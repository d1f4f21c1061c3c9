"""What stands beside each candidate: a filter question, or a repeat, another candidate of the picture once more.

Who counts how often a text came before, or learns the words of filters, must gain nothing by it. So a text comes at most twice
at a picture, as a filter or as candidate and repeat. And filters are drawn against an annotator who learns (naive Bayes, from all
tasks so far) what filters look like: what looks like one is drawn the less.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from math import floor, log
from typing import Self

import numpy as np

from pipeline.core.records import Candidate, Record
from pipeline.tasks.gold_questions import Filter, Known
from pipeline.tasks.text_counts import TextCounts, text_number

MOST_USES = 2  # of a text at a picture
COUNTED = 16  # how much heavier than a word it weighs how often a text came before: there are ten words, and any can count


class Onlooker:
    """What an annotator could have learnt so far who was told which questions are filters, and saw all tasks in this order:
    in how many filters and in how many candidates (or repeats) each sign was."""

    def __init__(self) -> None:
        self.here: defaultdict[str, TextCounts] = defaultdict(TextCounts)  # by picture
        self.anywhere: Counter[int] = Counter()  # by the text's number
        self.signs = {is_filter: Counter[str]() for is_filter in (True, False)}
        self.questions = {True: 1, False: 1}

    def note(self, picture_id: str, text: str, is_filter: bool) -> None:
        """A question is shown."""
        self.signs[is_filter].update(self._signs(picture_id, text))
        self.questions[is_filter] += 1
        self.here[picture_id].add(text)
        self.anywhere[text_number(text)] += 1

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
        here, anywhere = self.here[picture_id][text], self.anywhere[text_number(text)]
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
    """What one picture offers as companions: filters and repeats, each text at most twice, with what its tasks use up. Held are
    numbers alone: a data set has a hundred thousand pictures, and all have tasks in every block.

    Args:
        members: its candidates, by number. candidate: number -> candidate, also later.
        offered: its filters, by picture; they are looked up whenever they are needed, and not held.
        share: how many tasks have a filter, at most.
    """

    def __init__(
        self,
        picture_id: str,
        members: Mapping[int, Candidate],
        candidate: Callable[[int], Candidate],
        offered: Mapping[str, Offered],
        share: float,
        rng: np.random.Generator,
    ) -> None:
        self.picture_id, self.offered, self._candidate = picture_id, offered, candidate
        self.uses = TextCounts(row.text for row in members.values())
        texts = {row.text for row in self.filters if row.source != "template"}
        numbers = list(members)
        drawn = [numbers[i] for i in rng.permutation(len(numbers)).tolist()]
        # Not yet repeated; what is a filter too comes last.
        self.left = array("I", sorted(drawn, key=lambda number: members[number].text in texts))
        repeated = len(members) - filters_for(len(members), len(texts), share)
        # Of those with a repeat: the candidates under judgement, and what stands beside them.
        self._hosts, self._repeats = array("I"), array("I")
        for number in (numbers[i] for i in rng.permutation(len(numbers)).tolist()):
            other = self._take(members[number], members) if len(self._hosts) < repeated else None
            if other is not None:
                self._hosts.append(number)
                self._repeats.append(other)

    @property
    def filters(self) -> tuple[Filter, ...]:
        """What the picture offers, used up or not."""
        return self.offered[self.picture_id].filters

    def planned(self, number: int) -> Candidate | None:
        """The repeat that stands beside a candidate, if it is to have one."""
        if number not in self._hosts:
            return None
        return self._candidate(self._repeats[self._hosts.index(number)])

    def repeat(self, host: Candidate) -> Candidate | None:
        """Another candidate once more, by lot; not of the same text, and made from another question if there is such."""
        rows = {number: self._candidate(number) for number in self.left}
        other = self._take(host, rows)
        return None if other is None else rows[other]

    def _take(self, host: Candidate, rows: Mapping[int, Candidate]) -> int | None:
        """The number of a repeat, which is no more left then."""
        fit = [n for n in self.left if rows[n].text != host.text and self.uses[rows[n].text] < MOST_USES]
        other = next((n for n in fit if _differ(rows[n], host)), next(iter(fit), None))
        if other is not None:
            self.left.remove(other)
            self.uses.add(rows[other].text)
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
        self.uses.add(drawn.text)
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
