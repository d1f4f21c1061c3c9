"""Pick the second question of each task: a gold question, or a repeat (another candidate of the image shown again).

Annotators must gain nothing by counting how often a text occurred before, or by learning the words of gold questions. So a text occurs at
most twice per image, as a gold question or as candidate and repeat. And gold questions are sampled against an adversary: an annotator who
learns with naive Bayes, from all tasks so far, what gold questions look like. What resembles one is sampled less often.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from math import floor, log
from typing import Self

import numpy as np

from pipeline.core.errors import format_count
from pipeline.core.records import Candidate, Record
from pipeline.tasks.gold_questions import GoldQuestion, KnownVerdict
from pipeline.tasks.text_counts import TextCounts, hash_text

# Uses of a text per image.
MAX_TEXT_USES = 2
# Weight of a repetition cue relative to a word. A question has about ten words, but anyone can count repetitions.
REPETITION_CUE_WEIGHT = 16


class AnnotatorAdversary:
    """An annotator to whom all gold questions shown so far have been revealed.

    It counts how many gold questions, and how many candidates or repeats, had each cue.
    """

    def __init__(self) -> None:
        self.text_counts_by_image: defaultdict[str, TextCounts] = defaultdict(TextCounts)
        # By the hash of the text.
        self.text_counts: Counter[int] = Counter()
        # By whether the question is a gold question.
        self.cue_counts = {is_gold: Counter[str]() for is_gold in (True, False)}
        self.question_counts = {True: 1, False: 1}

    def observe(self, image_id: str, text: str, is_gold: bool) -> None:
        """Record that a question is shown."""
        self.cue_counts[is_gold].update(self._extract_cues(image_id, text))
        self.question_counts[is_gold] += 1
        self.text_counts_by_image[image_id].add(text)
        self.text_counts[hash_text(text)] += 1

    def compute_log_odds(self, image_id: str, text: str) -> float:
        """Return the log odds that a question is a gold question, by naive Bayes on its cues."""
        gold, others = self.cue_counts[True], self.cue_counts[False]
        prior = log(self.question_counts[True] / self.question_counts[False])
        odds = {
            cue: log((gold[cue] + 1) / (others[cue] + 1)) - prior
            for cue in self._extract_cues(image_id, text)
        }
        return sum(
            (REPETITION_CUE_WEIGHT if cue.startswith("#") else 1) * value for cue, value in odds.items()
        )

    def _extract_cues(self, image_id: str, text: str) -> list[str]:
        """Return the words of a text, and how often it occurred before, for this image and for any."""
        here, anywhere = self.text_counts_by_image[image_id][text], self.text_counts[hash_text(text)]
        return [*sorted(set(text.lower().split())), f"#same_image {here}", f"#anywhere {anywhere}"]


class Offer(Record):
    """The gold questions that an image offers, sorted."""

    gold_questions: tuple[GoldQuestion, ...] = ()

    @classmethod
    def from_questions(cls, questions: Iterable[GoldQuestion]) -> Self:
        def order(row: GoldQuestion) -> tuple[str, ...]:
            return (row.text, row.source, row.candidate_id or "", row.question_id or "")

        return cls(gold_questions=tuple(sorted(questions, key=order)))


class SecondQuestionPicker:
    """Picks the second questions of one image's tasks, each text at most twice, and keeps track of their uses.

    It holds only numbers, because a data set has a hundred thousand images and all of them have tasks in every block.

    Args:
        candidates: Number -> candidate of the image. They are not kept.
        get_candidate: Returns the candidate with a number, also later.
        offers: Image id -> its gold questions. They are looked up when they are needed, and not kept.
        gold_proportion: Maximum proportion of tasks with a gold question.
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
        self._num_candidates = len(candidates)
        self.text_uses = TextCounts(row.text for row in candidates.values())
        texts = {row.text for row in self.gold_questions if row.source != "template"}
        numbers = list(candidates)
        shuffled = [numbers[i] for i in rng.permutation(len(numbers)).tolist()]
        # Candidates that are not repeated yet. Those whose text is also a gold question come last.
        self.unrepeated = array("I", sorted(shuffled, key=lambda number: candidates[number].text in texts))
        repeated = len(candidates) - count_gold_questions(len(candidates), len(texts), gold_proportion)
        # Candidates whose task has a repeat, and these repeats.
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
        """The gold questions of the image, used up or not."""
        return self.offers[self.image_id].gold_questions

    def get_planned_repeat(self, number: int) -> Candidate | None:
        """Return the repeat that is shown with a candidate, if one is planned."""
        if number not in self._hosts_with_repeat:
            return None
        return self._get_candidate(self._repeats[self._hosts_with_repeat.index(number)])

    def pick_repeat(self, host: Candidate) -> Candidate | None:
        """Pick another candidate at random. It has another text, and was made from another question if there is such a candidate."""
        rows = {number: self._get_candidate(number) for number in self.unrepeated}
        other = self._take_repeat(host, rows)
        return None if other is None else rows[other]

    def _take_repeat(self, host: Candidate, rows: Mapping[int, Candidate]) -> int | None:
        """Return the number of a repeat and mark it as used."""
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

    def describe_exhaustion(self, host: Candidate) -> str:
        """Say why neither a gold question nor a repeat is left for a candidate, and what to do about it."""
        texts = {row.text for row in self.gold_questions}
        own = {row.text for row in self.gold_questions if row.source == "own question"}
        used_up = sum(self.text_uses[text] >= MAX_TEXT_USES for text in texts)
        num_candidates = self._num_candidates
        return (
            f"candidate {host.candidate_id}: no second question is left for its task. Image {self.image_id} has {format_count(num_candidates, 'candidate')} and "
            f"{format_count(len(texts), 'gold question')} ({len(own):,} of its own). A text is shown at most {MAX_TEXT_USES} times per image, and {used_up:,} of these "
            f"were. Lower rank.hard_draw and rank.easy_last (auto fits them), or add questions about this image: {format_count(-(-num_candidates // 4), 'question')} "
            "or more suffice"
        )

    def has_gold_question(self, expected: KnownVerdict) -> bool:
        """Return whether a gold question with this verdict is left that does not come from a template."""
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
        """Pick a gold question, from a template or not, with the expected verdict if there is one.

        Of several, the more one resembles a gold question, the less often it is picked.

        Returns:
            The gold question, or None if there is none but the candidate's own text or its source question.
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
        # The probability is inversely proportional to the odds of being a gold question. Always taking the lowest odds would overshoot.
        log_odds = np.array([adversary.compute_log_odds(self.image_id, row.text) for row in fit])
        picked = fit[int(np.argmin(log_odds - rng.gumbel(size=len(fit))))]
        self.text_uses.add(picked.text)
        return picked


def _differ(row: GoldQuestion | Candidate, host: Candidate) -> bool:
    return row.text != host.text and row.question_id != host.question_id


def count_gold_questions(candidates: int, texts: int, gold_proportion: float) -> int:
    """Return how many of an image's tasks have a gold question, so that gold questions are repeated as often as candidates.

    With f gold questions and n - f repeats, a proportion (n - f) / (2 n - f) of all shown candidates has been shown before. With d texts of gold
    questions, (f - d) / f of the gold questions have. Both are equal if f = 2 d n / (n + d).

    Args:
        candidates: n, tasks of the image.
        texts: d, texts of its gold questions.
        gold_proportion: Maximum proportion of tasks with a gold question.

    >>> # 24 gold questions of 20 texts: 4 of 24 are repeated. 6 of 36 shown candidates are repeats.
    >>> count_gold_questions(candidates=30, texts=20, gold_proportion=1.0)
    24
    >>> count_gold_questions(candidates=30, texts=100, gold_proportion=0.5)
    15
    """
    if candidates == 1:
        # There is no other candidate to repeat.
        return 1
    return min(
        round(gold_proportion * candidates), floor(2 * texts * candidates / (candidates + texts)), candidates
    )
