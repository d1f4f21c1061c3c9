"""What stands beside each candidate: a filter question, or a repeat, another candidate of the image once more.

Who counts how often a text came before, or learns the words of filters, must gain nothing by it. So a text comes at most twice
at an image, as a filter or as candidate and repeat. And filters are drawn against an annotator who learns (naive Bayes, from all
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
from pipeline.tasks.gold_questions import GoldQuestion, KnownVerdict
from pipeline.tasks.text_counts import TextCounts, hash_text

MAX_TEXT_USES = 2  # of a text at an image
REPETITION_CUE_WEIGHT = 16  # how much heavier than a word it weighs how often a text came before: there are ten words, and any can count


class AnnotatorAdversary:
    """What an annotator could have learnt so far who was told which questions are filters, and saw all tasks in this order:
    in how many filters and in how many candidates (or repeats) each sign was."""

    def __init__(self) -> None:
        self.text_counts_by_image: defaultdict[str, TextCounts] = defaultdict(TextCounts)  # by image
        self.text_counts: Counter[int] = Counter()  # by the text's number
        self.cue_counts = {is_filter: Counter[str]() for is_filter in (True, False)}
        self.question_counts = {True: 1, False: 1}

    def observe(self, image_id: str, text: str, is_gold: bool) -> None:
        """A question is shown."""
        self.cue_counts[is_gold].update(self._extract_cues(image_id, text))
        self.question_counts[is_gold] += 1
        self.text_counts_by_image[image_id].add(text)
        self.text_counts[hash_text(text)] += 1

    def compute_log_odds(self, image_id: str, text: str) -> float:
        """Log odds of being a filter, naive Bayes on the question's signs."""
        filters, others = self.cue_counts[True], self.cue_counts[False]
        usual = log(self.question_counts[True] / self.question_counts[False])
        odds = {
            sign: log((filters[sign] + 1) / (others[sign] + 1)) - usual
            for sign in self._extract_cues(image_id, text)
        }
        return sum(
            (REPETITION_CUE_WEIGHT if sign.startswith("#") else 1) * value for sign, value in odds.items()
        )

    def _extract_cues(self, image_id: str, text: str) -> list[str]:
        """Its words, and how often its text came before, at this image and anywhere."""
        here, anywhere = self.text_counts_by_image[image_id][text], self.text_counts[hash_text(text)]
        return [*sorted(set(text.lower().split())), f"#same_image {here}", f"#anywhere {anywhere}"]


class Offer(Record):
    """The filter questions that an image offers, sorted."""

    gold_questions: tuple[GoldQuestion, ...] = ()

    @classmethod
    def from_questions(cls, questions: Iterable[GoldQuestion]) -> Self:
        def order(row: GoldQuestion) -> tuple[str, ...]:
            return (row.text, row.source, row.candidate_id or "", row.question_id or "")

        return cls(gold_questions=tuple(sorted(questions, key=order)))


class SecondQuestionPicker:
    """What one image offers as companions: filters and repeats, each text at most twice, with what its tasks use up. Held are
    numbers alone: a data set has a hundred thousand images, and all have tasks in every block.

    Args:
        members: its candidates, by number. candidate: number -> candidate, also later.
        offered: its filters, by image; they are looked up whenever they are needed, and not held.
        share: how many tasks have a filter, at most.
    """

    def __init__(
        self,
        image_id: str,
        candidates: Mapping[int, Candidate],
        get_candidate: Callable[[int], Candidate],
        offers: Mapping[str, Offer],
        gold_proportion: float,
        rng: np.random.Generator,
    ) -> None:
        self.image_id, self.offers, self._get_candidate = image_id, offers, get_candidate
        self.text_uses = TextCounts(row.text for row in candidates.values())
        texts = {row.text for row in self.gold_questions if row.source != "template"}
        numbers = list(candidates)
        drawn = [numbers[i] for i in rng.permutation(len(numbers)).tolist()]
        # Not yet repeated; what is a filter too comes last.
        self.unrepeated = array("I", sorted(drawn, key=lambda number: candidates[number].text in texts))
        repeated = len(candidates) - count_gold_questions(len(candidates), len(texts), gold_proportion)
        # Of those with a repeat: the candidates under judgement, and what stands beside them.
        self._hosts_with_repeat, self._repeats = array("I"), array("I")
        for number in (numbers[i] for i in rng.permutation(len(numbers)).tolist()):
            other = (
                self._take_repeat(candidates[number], candidates)
                if len(self._hosts_with_repeat) < repeated
                else None
            )
            if other is not None:
                self._hosts_with_repeat.append(number)
                self._repeats.append(other)

    @property
    def gold_questions(self) -> tuple[GoldQuestion, ...]:
        """What the image offers, used up or not."""
        return self.offers[self.image_id].gold_questions

    def get_planned_repeat(self, number: int) -> Candidate | None:
        """The repeat that stands beside a candidate, if it is to have one."""
        if number not in self._hosts_with_repeat:
            return None
        return self._get_candidate(self._repeats[self._hosts_with_repeat.index(number)])

    def pick_repeat(self, host: Candidate) -> Candidate | None:
        """Another candidate once more, by lot; not of the same text, and made from another question if there is such."""
        rows = {number: self._get_candidate(number) for number in self.unrepeated}
        other = self._take_repeat(host, rows)
        return None if other is None else rows[other]

    def _take_repeat(self, host: Candidate, rows: Mapping[int, Candidate]) -> int | None:
        """The number of a repeat, which is no more left then."""
        fit = [
            n
            for n in self.unrepeated
            if rows[n].text != host.text and self.text_uses[rows[n].text] < MAX_TEXT_USES
        ]
        other = next((n for n in fit if _differ(rows[n], host)), next(iter(fit), None))
        if other is not None:
            self.unrepeated.remove(other)
            self.text_uses.add(rows[other].text)
        return other

    def has_gold_question(self, expected: KnownVerdict) -> bool:
        """Whether a filter of this verdict is left that is like candidates."""
        return any(
            row.expected_choice == expected
            and row.source != "template"
            and self.text_uses[row.text] < MAX_TEXT_USES
            for row in self.gold_questions
        )

    def pick_gold_question(
        self,
        host: Candidate,
        expected_choice: KnownVerdict,
        from_template: bool,
        adversary: AnnotatorAdversary,
        rng: np.random.Generator,
    ) -> GoldQuestion | None:
        """A filter made from a template or not, of the wanted verdict if there is one; of several by lot, the less often the
        more it looks like a filter. None if there is none but the same question, or the one that the candidate was made from.
        """
        fit = [
            row
            for row in self.gold_questions
            if (row.source == "template") == from_template
            and _differ(row, host)
            and self.text_uses[row.text] < MAX_TEXT_USES
        ]
        fit = [row for row in fit if row.expected_choice == expected_choice] or fit
        if not fit:
            return None
        # In inverse proportion to its odds of being a filter; to take the least would overshoot.
        told = np.array([adversary.compute_log_odds(self.image_id, row.text) for row in fit])
        drawn = fit[int(np.argmin(told - rng.gumbel(size=len(fit))))]
        self.text_uses.add(drawn.text)
        return drawn


def _differ(row: GoldQuestion | Candidate, host: Candidate) -> bool:
    return row.text != host.text and row.question_id != host.question_id


def count_gold_questions(candidates: int, texts: int, gold_proportion: float) -> int:
    """How many of an image's tasks have a filter, so that filters come again as often as candidates.

    With f filters and n - f repeats, (n - f) / (2 n - f) of all that is shown of candidates came before; with d texts
    (f - d) / f of the filters did. Both are equal where f = 2 d n / (n + d).

    Args:
        candidates: n, tasks of the image. texts: d, of its filters. share: how many tasks have a filter at most.

    >>> filters_for(candidates=30, texts=20, share=1.0)  # 24 of 20 texts: 4 of 24 come again; 6 repeats, of 36 shown
    24
    >>> filters_for(candidates=30, texts=100, share=0.5)
    15
    """
    if candidates == 1:
        return 1  # there is nothing to be repeated
    return min(
        round(gold_proportion * candidates), floor(2 * texts * candidates / (candidates + texts)), candidates
    )
