"""Pick the second question of each task: a gold question or a repeat.

A repeat is another candidate of the same image, which is shown a second time.

Annotators must gain nothing by counting how often a text occurred before, or by learning the words of gold
questions. So a text occurs at most twice per image: twice as a gold question, or once as a candidate and once
as a repeat. In addition, gold questions are sampled against an adversary. The adversary is an annotator who
learns with naive Bayes, from all tasks so far, what gold questions look like. A question that looks like a
gold question to the adversary is sampled less often.
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

# Maximum number of uses of a text per image.
MAX_TEXT_USES = 2
# Weight of a repetition cue ("this text occurred once before") relative to the weight of a word. A question
# has about ten words, but anyone can count repetitions.
REPETITION_CUE_WEIGHT = 16


class AnnotatorAdversary:
    """An annotator to whom all gold questions shown so far have been revealed.

    The adversary counts how many gold questions, and how many candidates and repeats, had each cue. The cues
    of a question are its words and how often its text occurred before.
    """

    def __init__(self) -> None:
        self.text_counts_by_image: defaultdict[str, TextCounts] = defaultdict(TextCounts)
        # Hash of a text -> how often the text was shown.
        self.text_counts: Counter[int] = Counter()
        # Whether a question is a gold question -> counts of the cues, and of the questions.
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
        log_odds = {
            cue: log((gold[cue] + 1) / (others[cue] + 1)) - prior
            for cue in self._extract_cues(image_id, text)
        }
        return sum(
            (REPETITION_CUE_WEIGHT if cue.startswith("#") else 1) * value for cue, value in log_odds.items()
        )

    def _extract_cues(self, image_id: str, text: str) -> list[str]:
        """Return the words of a text, and how often the text occurred before (for this and for any image)."""
        count_here, count_anywhere = (
            self.text_counts_by_image[image_id][text],
            self.text_counts[hash_text(text)],
        )
        return [
            *sorted(set(text.lower().split())),
            f"#same_image {count_here}",
            f"#anywhere {count_anywhere}",
        ]


class Offer(Record):
    """The gold questions that can be used for an image, sorted."""

    gold_questions: tuple[GoldQuestion, ...] = ()

    @classmethod
    def from_questions(cls, questions: Iterable[GoldQuestion]) -> Self:
        def order(row: GoldQuestion) -> tuple[str, ...]:
            return (row.text, row.source, row.candidate_id or "", row.question_id or "")

        return cls(gold_questions=tuple(sorted(questions, key=order)))


class SecondQuestionPicker:
    """Picks the second questions of one image's tasks, and counts the uses of each text.

    The object keeps indices of candidates and not the candidates themselves. Otherwise memory would not
    suffice, because a data set has a hundred thousand images and all of them have tasks in every block.

    Args:
        image_id: The id of the image.
        candidates: Index -> candidate, for all candidates of the image. The candidates are not kept.
        get_candidate: A function that returns the candidate with an index. It is called again later.
        offers: Image id -> the gold questions for the image. They are looked up when they are needed, and not
            kept.
        gold_proportion: Maximum proportion (0 to 1) of tasks with a gold question.
        rng: The random generator that plans the repeats.
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
        texts = {row.text for row in self.gold_questions if not row.is_template}
        indices = list(candidates)
        shuffled = [indices[i] for i in rng.permutation(len(indices)).tolist()]
        # Candidates that are not repeated yet. Candidates whose text is also a gold question come last.
        self.unrepeated = array("I", sorted(shuffled, key=lambda index: candidates[index].text in texts))
        num_repeats = len(candidates) - count_gold_questions(len(candidates), len(texts), gold_proportion)
        # Candidates whose task has a repeat (the hosts), and the repeats in the same order.
        self._hosts_with_repeat, self._repeats = array("I"), array("I")
        for index in (indices[i] for i in rng.permutation(len(indices)).tolist()):
            repeat = (
                self._take_repeat(candidates[index], candidates)
                if len(self._hosts_with_repeat) < num_repeats
                else None
            )
            if repeat is not None:
                self._hosts_with_repeat.append(index)
                self._repeats.append(repeat)

    @property
    def gold_questions(self) -> tuple[GoldQuestion, ...]:
        """All gold questions for the image, including those that were used as often as allowed."""
        return self.offers[self.image_id].gold_questions

    def get_planned_repeat(self, number: int) -> Candidate | None:
        """Return the repeat that is planned for the task of a candidate, or None if none is planned.

        Args:
            number: The index of the candidate.
        """
        if number not in self._hosts_with_repeat:
            return None
        return self._get_candidate(self._repeats[self._hosts_with_repeat.index(number)])

    def pick_repeat(self, host: Candidate) -> Candidate | None:
        """Pick another candidate as the repeat for the task of `host`, or return None if none is left.

        The repeat has another text than the host. If possible, the two were made from different questions.
        """
        candidates = {index: self._get_candidate(index) for index in self.unrepeated}
        repeat = self._take_repeat(host, candidates)
        return None if repeat is None else candidates[repeat]

    def _take_repeat(self, host: Candidate, candidates: Mapping[int, Candidate]) -> int | None:
        """Return the index of a candidate to repeat, and mark the candidate as used. None if none is left."""
        eligible = [
            index
            for index in self.unrepeated
            if candidates[index].text != host.text and self.text_uses[candidates[index].text] < MAX_TEXT_USES
        ]
        repeat = next(
            (index for index in eligible if _differ(candidates[index], host)), next(iter(eligible), None)
        )
        if repeat is not None:
            self.unrepeated.remove(repeat)
            self.text_uses.add(candidates[repeat].text)
        return repeat

    def describe_exhaustion(self, host: Candidate) -> str:
        """Say why neither a gold question nor a repeat is left for a candidate, and what to do about it."""
        texts = {row.text for row in self.gold_questions}
        own = {row.text for row in self.gold_questions if row.source.startswith("own question")}
        used_up = sum(self.text_uses[text] >= MAX_TEXT_USES for text in texts)
        num_candidates = self._num_candidates
        return (
            f"candidate {host.candidate_id}: no second question is left for its task. Image {self.image_id} has {format_count(num_candidates, 'candidate')} and "
            f"{format_count(len(texts), 'gold question')} ({len(own):,} of its own). A text is shown at most {MAX_TEXT_USES} times per image, and {used_up:,} of these "
            f"were. Lower rank.hard_draw and rank.easy_last (auto fits them), or add questions about this image: {format_count(-(-num_candidates // 4), 'question')} "
            "or more suffice"
        )

    def has_gold_question(self, expected: KnownVerdict) -> bool:
        """Return whether a gold question with a verdict is left. Questions from templates do not count."""
        return any(
            question.expected_choice == expected
            and not question.is_template
            and self.text_uses[question.text] < MAX_TEXT_USES
            for question in self.gold_questions
        )

    def pick_gold_question(
        self,
        host: Candidate,
        expected_choice: KnownVerdict,
        from_template: bool,
        adversary: AnnotatorAdversary,
        rng: np.random.Generator,
    ) -> GoldQuestion | None:
        """Pick a gold question for the task of a candidate, and mark it as used.

        If no gold question with the expected verdict fits, a question with the other verdict is picked. The
        more a question looks like a gold question to the adversary, the less often it is picked.

        Args:
            host: The candidate of the task.
            expected_choice: The verdict that the gold question should have.
            from_template: Whether the gold question must be made from a template (True) or must not (False).
            adversary: The adversary, who has seen all tasks so far.
            rng: The random generator.

        Returns:
            The gold question. It has neither the text nor the source question of the candidate. None if no
            such gold question is left.
        """
        eligible = [
            question
            for question in self.gold_questions
            if question.is_template == from_template
            and _differ(question, host)
            and self.text_uses[question.text] < MAX_TEXT_USES
        ]
        expected = [question for question in eligible if question.expected_choice == expected_choice]
        eligible = expected or eligible
        if not eligible:
            return None
        # The probability of a question is inversely proportional to its odds of being a gold question. Always
        # taking the question with the lowest odds would overshoot.
        log_odds = np.array([adversary.compute_log_odds(self.image_id, row.text) for row in eligible])
        picked = eligible[int(np.argmin(log_odds - rng.gumbel(size=len(eligible))))]
        self.text_uses.add(picked.text)
        return picked


def _differ(row: GoldQuestion | Candidate, host: Candidate) -> bool:
    return row.text != host.text and row.question_id != host.question_id


def count_gold_questions(candidates: int, texts: int, gold_proportion: float) -> int:
    """Return how many of an image's tasks get a gold question.

    The number is chosen so that gold questions are shown again as often as candidates. An image has n tasks:
    f with a gold question and n - f with a repeat. So a proportion (n - f) / (2 n - f) of all shown
    candidates has been shown before. If the gold questions have d different texts, a proportion (f - d) / f
    of the shown gold questions has been shown before. The two proportions are equal if f = 2 d n / (n + d).

    Args:
        candidates: n, the number of candidates (and tasks) of the image.
        texts: d, the number of different texts of the image's gold questions.
        gold_proportion: Maximum proportion (0 to 1) of tasks with a gold question.

    >>> # 24 gold questions have 20 texts, so 4 of 24 were shown before. 6 of 36 shown candidates are repeats.
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
