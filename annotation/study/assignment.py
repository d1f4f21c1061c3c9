"""Assign tasks to annotators by adaptive voting: collect one vote at a time, until a candidate is decided.

The probability that a candidate is unanswerable starts from the prior of stage `estimate`. Each vote changes it by Bayes' rule. How much a
vote counts depends on the annotator's accuracy on gold questions: sensitivity on invalid ones, specificity on valid ones. A vote is
requested only where it can change the decision. A random sample of tasks gets three votes in any case, so that agreement can be
measured. Adjudicators decide the candidates that the votes leave in doubt.

The module has no clock and no files: the same calls in the same order give the same results. It also runs in Label Studio's Python
environment, so it imports nothing but NumPy.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from math import log, nan
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

# The constants were chosen on one simulated crowd (`rgqa study votes-needed`).

# Beta priors of an annotator's sensitivity and specificity, as pseudo-counts of (correct, wrong) answers.
SENSITIVITY_PRIOR, SPECIFICITY_PRIOR = (18.0, 2.0), (19.0, 1.0)
# Priors and adjudications are clipped to [1 - MAX_PROBABILITY, MAX_PROBABILITY], because sources have errors that no graph shows.
MAX_PROBABILITY = 0.99
# Number of votes that an overlap task gets in any case.
MIN_SHARED_VOTES = 3
# Number of answers on gold questions of one kind from which on an annotator can be blocked.
MIN_GOLD_ANSWERS = 10
# Below this sensitivity or specificity an annotator's votes do not count, as in stage `collect`.
MIN_SENSITIVITY_SPECIFICITY = (0.7, 0.8)

TaskMapping = Mapping[str, Any]
AnswerPair = tuple[str, str]
# Codes of an annotator's vote on a candidate.
NO_VOTE, VALID, INVALID = 0, 1, 2
# What each vote adds to the difference between votes for invalid and votes for valid.
VOTE_SIGNS = np.array([0, -1, 1], np.int16)


class AssignmentRules(NamedTuple):
    """Rules of adaptive voting.

    Attributes:
        max_votes: Maximum number of votes per task. Use an odd number, because the last vote could otherwise only make a tie.
        min_posterior: No more votes are requested once the verdict is at least this probable, in (0.5, 1).
        overlap_rate: Proportion of tasks, sampled at random, that get three votes in any case. So do the tasks of the first wave.
        wave_size: Number of tasks that are finished before the next ones begin.
        max_judgements: Maximum number of judgements in the whole study; 0 means no limit.
        max_tasks_per_annotator: Maximum number of tasks per annotator; 0 means no limit.
        seed: Seed of the random order of tasks and of the overlap sample.
    """

    max_votes: int = 5
    min_posterior: float = 0.99
    overlap_rate: float = 0.1
    wave_size: int = 100
    max_judgements: int = 0
    max_tasks_per_annotator: int = 0
    seed: int = 0


DEFAULT_RULES = AssignmentRules()


class AdaptiveAssigner:
    """The state of a study: all answers, and which task is open for whom.

    Args:
        tasks: Mappings {"key", "block", "first": {"role", "candidate", "expected"}, "second": {...}}, see
            `annotation.study.assignment_params.to_task_mapping`. The role is "candidate" (one per task), "gold" (with the expected choice
            "valid" or "invalid", or None if the question is discarded) or "repeat" (the candidate of another task).
        answerable: Candidate id -> prior probability of being answerable; 0.5 for other candidates.
        rules: The rules of voting.
        doubtful: Candidate id -> probability of being unanswerable, for the candidates that stage `collect` leaves in doubt.

    Raises:
        ValueError: Two tasks have the same candidate.

    >>> task = {"key": "t", "block": 0, "first": {"role": "candidate", "candidate": "c", "expected": None}}
    >>> task["second"] = {"role": "gold", "candidate": None, "expected": "valid"}
    >>> assigner = AdaptiveAssigner([task], {"c": 0.1})
    >>> assigner.assign_next_task("ann")
    't'
    >>> assigner.record_answer("ann", "t", "invalid", "valid")
    >>> round(assigner.get_posterior_invalid("c"), 3)
    0.994
    """

    def __init__(
        self,
        tasks: Sequence[TaskMapping],
        answerable: Mapping[str, float],
        rules: AssignmentRules = DEFAULT_RULES,
        doubtful: Mapping[str, float] = MappingProxyType({}),
    ) -> None:
        self.rules = rules
        # Sorted by block, then at random. All arrays below follow this order.
        self.tasks = sorted(
            tasks, key=lambda task: (task["block"], _random_order_key(rules.seed, "wave", task["key"]))
        )
        self.keys = [task["key"] for task in self.tasks]
        self.task_index = {key: index for index, key in enumerate(self.keys)}
        # Candidate id -> index of its task.
        self.candidate_index: dict[str, int] = {}
        for index, task in enumerate(self.tasks):
            (own,) = (
                row["candidate"] for row in (task["first"], task["second"]) if row["role"] == "candidate"
            )
            if self.candidate_index.setdefault(own, index) != index:
                raise ValueError(f"two tasks have the candidate {own}")
        prior = np.array([answerable.get(key, 0.5) for key in self.candidate_index])
        prior = np.clip(prior, 1 - MAX_PROBABILITY, MAX_PROBABILITY)
        # Log odds of invalid.
        self.prior_log_odds = np.log(1 - prior) - np.log(prior)
        self.is_overlap = np.array(
            [index < rules.wave_size or is_overlap_task(key, rules) for index, key in enumerate(self.keys)],
            bool,
        )
        self.annotators: dict[str, _AnnotatorState] = {}
        self.num_judgements = 0
        count = len(self.keys)
        # For how many annotators each task is open.
        self.num_open = np.zeros(count, np.int16)
        # Per candidate: log odds of invalid, number of votes that count, number of annotators who may have its task open, net sign of
        # adjudications, whether the votes leave no doubt, and whether these values must be recomputed.
        self._log_odds = self.prior_log_odds.copy()
        self._vote_counts, self._wanted_votes, self._adjudicated_sign = np.zeros((3, count), np.int16)
        self._is_settled, self._needs_update = np.zeros(count, bool), np.ones(count, bool)
        named = np.clip(
            [doubtful.get(key, np.nan) for key in self.candidate_index], 1 - MAX_PROBABILITY, MAX_PROBABILITY
        )
        # Absolute log odds of candidates that stage `collect` leaves in doubt, else NaN.
        self._collect_doubt = np.abs(np.log(named) - np.log(1 - named))

    def mark_adjudicator(self, person: str) -> None:
        """Mark a person as an adjudicator. Call this before any other method for that person.

        Adjudicators get the doubtful tasks only, their verdicts decide, and the limits on judgements do not apply to them.
        """
        self._get_annotator(person).is_adjudicator = True

    def assign_next_task(self, person: str) -> str | None:
        """Return the key of the next task for a person and mark it as open; None if there is no task for them now.

        A task that is already open is returned again. Otherwise it comes from the earliest wave with a free task: first the tasks with
        most votes, ties in a random order of the person's own. An adjudicator gets the most doubtful task once no more votes
        are requested for it.
        """
        state = self._get_annotator(person)
        if state.open_task is not None:
            return self.keys[state.open_task]
        if state.is_excluded or state.has_failed_gold():
            return None
        if state.is_adjudicator:
            return self._assign_adjudication(
                person, self.find_doubtful_tasks() & state.is_available & (self.num_open == 0)
            )
        if self._count_tasks_left(state) < 1 or self._count_judgements_left() < 1:
            return None
        free = (self.get_wanted_votes() > self.num_open) & state.is_available
        if not free.any():
            return None
        start = int(free.argmax()) // self.rules.wave_size * self.rules.wave_size
        indexes = start + np.flatnonzero(free[start : start + self.rules.wave_size])
        votes = self._vote_counts[indexes] + self.num_open[indexes]
        most = indexes[votes == votes.max()].tolist()
        index = min(most, key=lambda index: _random_order_key(self.rules.seed, person, self.keys[index]))
        self.assign_task(person, self.keys[index])
        return self.keys[index]

    def assign_task(self, person: str, key: str) -> None:
        """Mark a task as open for a person, in place of their current open task."""
        self.release_open_task(person)
        state = self._get_annotator(person)
        state.open_task = self.task_index[key]
        self.num_open[state.open_task] += 1

    def record_answer(self, person: str, key: str, first: str, second: str) -> None:
        """Record or correct an answer.

        Args:
            person: The annotator.
            key: The task.
            first: The choice for the first question: "valid", "invalid" or "unsure", which counts as valid.
            second: The choice for the second question.
        """
        state, index = self._get_annotator(person), self.task_index[key]
        self._close_task(state, index)
        self.num_judgements += index not in state.answers and not state.is_adjudicator
        state.is_available[index] = False
        state.answers[index] = first, second
        self._update_votes(state, index)

    def record_skip(self, person: str, key: str) -> None:
        """Record a skip: the person does not get the task again, and an earlier answer to it no longer counts."""
        state, index = self._get_annotator(person), self.task_index[key]
        self._close_task(state, index)
        state.is_available[index] = False
        if state.answers.pop(index, None):
            self.num_judgements -= not state.is_adjudicator
            self._update_votes(state, index)

    def release_open_task(self, person: str) -> None:
        """Make the open task of a person available to others. Their answers are kept."""
        state = self._get_annotator(person)
        if state.open_task is not None:
            self._close_task(state, state.open_task)

    def remove_annotator(self, person: str) -> None:
        """Remove a person and all their answers, as if they had never taken part."""
        self.release_open_task(person)
        state = self.annotators.pop(person)
        self.num_judgements -= 0 if state.is_adjudicator else len(state.answers)
        self._needs_update |= state.votes != NO_VOTE

    def exclude_annotator(self, person: str, since: int = 0) -> None:
        """Exclude a person by the decision of stage `collect`. Call this after all their answers are recorded.

        Args:
            person: The annotator. They get no more tasks.
            since: Number of their first tasks whose answers still count. Others vote in place of later answers.
        """
        self.release_open_task(person)
        state = self._get_annotator(person)
        state.is_excluded = True
        for index in [*state.answers][since:]:
            self._update_votes(state, index, counts=False)

    def has_failed_gold(self, person: str) -> bool:
        """Return whether a person fails so many gold questions that none of their votes counts. They get no more tasks."""
        return self._get_annotator(person).has_failed_gold()

    def get_posterior_invalid(self, candidate: str) -> float:
        """Return the posterior probability that a candidate is unanswerable."""
        self._update_posteriors()
        return float(1 / (1 + np.exp(-self._log_odds[self.candidate_index[candidate]])))

    def is_decided(self, key: str) -> bool:
        """Return whether no more votes are requested for a task."""
        return not self.get_wanted_votes()[self.task_index[key]]

    def get_wanted_votes(self) -> np.ndarray:
        """Return [tasks], in the order of `keys`: for how many annotators each task may be open now. 0 means no more votes are requested."""
        self._update_posteriors()
        return self._wanted_votes

    def find_doubtful_tasks(self) -> np.ndarray:
        """Return [tasks] of bool, in the order of `keys`: whether the task waits for an adjudicator, because its votes are complete but do not decide."""
        over = (self.get_wanted_votes() == 0) | (self._count_judgements_left() < 1)
        return (
            over
            & (self._vote_counts > 0)
            & (self._adjudicated_sign == 0)
            & (~self._is_settled | ~np.isnan(self._collect_doubt))
        )

    def get_progress(self, person: str) -> tuple[int, int]:
        """Return how many tasks a person has judged, and the maximum they can reach if all requested votes were theirs."""
        state = self._get_annotator(person)
        if state.is_adjudicator:
            return len(state.answers), len(state.answers) + int(
                (self.find_doubtful_tasks() & state.is_available).sum()
            )
        free = (
            0
            if state.is_excluded or state.has_failed_gold()
            else np.count_nonzero((self.get_wanted_votes() > 0) & state.is_available)
        )
        left = min(free, self._count_tasks_left(state), self._count_judgements_left())
        return len(state.answers), len(state.answers) + max(0, int(left))

    def _get_annotator(self, name: str) -> _AnnotatorState:
        if name not in self.annotators:
            self.annotators[name] = _AnnotatorState(len(self.keys))
        return self.annotators[name]

    def _assign_adjudication(self, person: str, free: np.ndarray) -> str | None:
        if not free.any():
            return None
        doubt = np.fmin(np.abs(self._log_odds), self._collect_doubt)
        key = self.keys[int(np.where(free, doubt, np.inf).argmin())]
        self.assign_task(person, key)
        return key

    def _count_tasks_left(self, state: _AnnotatorState) -> float:
        return (
            self.rules.max_tasks_per_annotator - len(state.answers)
            if self.rules.max_tasks_per_annotator
            else np.inf
        )

    def _count_judgements_left(self) -> float:
        if not self.rules.max_judgements:
            return np.inf
        at_work = sum(
            state.open_task is not None and not state.is_adjudicator for state in self.annotators.values()
        )
        return self.rules.max_judgements - self.num_judgements - at_work

    def _close_task(self, state: _AnnotatorState, index: int) -> None:
        if state.open_task == index:
            state.open_task = None
            self.num_open[index] -= 1

    def _update_votes(self, state: _AnnotatorState, index: int, counts: bool = True) -> None:
        """Replace what a person said about a task by their current answer; by nothing if `counts` is false."""
        questions = self.tasks[index]["first"], self.tasks[index]["second"]
        answer = state.answers.get(index) if counts else None
        called_invalid = [choice == "invalid" for choice in answer] if answer else [None, None]
        # After a failed gold question the annotator may not have looked at the image. The vote does not count, as in stage `collect`.
        failed = False
        for row, invalid in zip(questions, called_invalid, strict=True):
            if row["role"] == "gold" and row["expected"]:
                failed = invalid is not None and invalid != (row["expected"] == "invalid")
                state.record_gold_answer(index, row["expected"] == "invalid", invalid)
                self._needs_update |= state.votes != NO_VOTE
        for row, invalid in zip(questions, called_invalid, strict=True):
            if row["role"] != "gold" and row["candidate"] in self.candidate_index:
                candidate = self.candidate_index[row["candidate"]]
                state.is_available[candidate] = False
                state.record_vote(candidate, index, None if failed else invalid)
                self._needs_update[candidate] = True

    def _update_posteriors(self) -> None:
        """Recompute posteriors and wanted votes of the candidates that need it."""
        at = np.flatnonzero(self._needs_update)
        if not len(at):
            return
        self._needs_update[at] = False
        odds, (count, lead, adjudicated) = self.prior_log_odds[at], np.zeros((3, len(at)), np.int16)
        # Sorted, so that floating-point sums do not depend on the order of arrival.
        for _, state in sorted(self.annotators.items()):
            sensitivity, specificity = state.estimate_rates()
            if (
                state.has_failed_gold()
                or sensitivity < MIN_SENSITIVITY_SPECIFICITY[0]
                or specificity < MIN_SENSITIVITY_SPECIFICITY[1]
            ):
                continue
            votes = state.votes[at]
            if state.is_adjudicator:
                adjudicated += VOTE_SIGNS[votes]
                continue
            odds += compute_vote_weights(sensitivity, specificity)[votes]
            count += votes != NO_VOTE
            lead += VOTE_SIGNS[votes]
        threshold = log(self.rules.min_posterior) - log(1 - self.rules.min_posterior)
        settled = ((odds >= threshold) & (lead > 0)) | ((-odds >= threshold) & (lead < 0))
        self._wanted_votes[at] = np.where(
            adjudicated, 0, self._compute_wanted_votes(odds, count, lead, settled, self.is_overlap[at])
        )
        odds = np.where(
            adjudicated, np.sign(adjudicated) * (log(MAX_PROBABILITY) - log(1 - MAX_PROBABILITY)), odds
        )
        self._log_odds[at], self._vote_counts[at], self._adjudicated_sign[at], self._is_settled[at] = (
            odds,
            count,
            adjudicated,
            settled,
        )

    def _compute_wanted_votes(
        self,
        odds: np.ndarray,
        count: np.ndarray,
        lead: np.ndarray,
        settled: np.ndarray,
        is_overlap: np.ndarray,
    ) -> np.ndarray:
        """Return for how many annotators each task may be open now.

        An overlap task is open for as many annotators as it lacks of three votes. Other tasks are open for one annotator, if they have no vote
        yet or if the remaining votes can end the doubt.
        """
        left = np.maximum(self.rules.max_votes - count, 0)
        threshold = log(self.rules.min_posterior) - log(1 - self.rules.min_posterior)
        usual = compute_vote_weights(
            *(right / (right + wrong) for right, wrong in (SENSITIVITY_PRIOR, SPECIFICITY_PRIOR))
        )
        reach = (odds + left * usual[INVALID] >= threshold) & (lead + left > 0)
        reach |= (odds + left * usual[VALID] <= -threshold) & (lead - left < 0)
        for_overlap = np.minimum(left, np.maximum(MIN_SHARED_VOTES - count, 0)) * is_overlap
        return np.maximum(for_overlap, np.minimum(left, ~settled & (reach | (count == 0))))


class _AnnotatorState:
    """The answers of one person.

    Attributes:
        is_available: [tasks], whether the person may still get the task: they have not answered or skipped it, nor judged its candidate
            as a repeat.
        votes: [candidates] of NO_VOTE, VALID or INVALID.
        answers: Task index -> both choices.
        votes_by_task: Candidate index -> task index -> vote.
        gold_answers: Task index -> whether the gold question is invalid, and whether it was called invalid.
        gold_counts: The number of each such pair.
        open_task: Index of the task that is open for the person.
        is_adjudicator: Whether the person's verdicts decide.
        is_excluded: Whether stage `collect` excludes the person.
    """

    def __init__(self, tasks: int) -> None:
        self.is_available = np.ones(tasks, bool)
        self.votes = np.zeros(tasks, np.int8)
        self.answers: dict[int, AnswerPair] = {}
        self.votes_by_task: dict[int, dict[int, int]] = {}
        self.gold_answers: dict[int, tuple[bool, bool]] = {}
        self.gold_counts = {(expected, said): 0 for expected in (True, False) for said in (True, False)}
        self.open_task: int | None = None
        self.is_adjudicator = self.is_excluded = False

    def record_vote(self, candidate: int, task: int, invalid: bool | None) -> None:
        """Record a vote on a candidate in one task; None removes it. Contradictory votes on the same candidate cancel each other."""
        given = self.votes_by_task.setdefault(candidate, {})
        given.pop(task, None)
        if invalid is not None:
            given[task] = INVALID if invalid else VALID
        self.votes[candidate] = next(iter(given.values())) if len(set(given.values())) == 1 else NO_VOTE

    def record_gold_answer(self, task: int, expected: bool, invalid: bool | None) -> None:
        """Record an answer on the gold question of a task: whether it is invalid, and whether it was called invalid; None removes it."""
        if task in self.gold_answers:
            self.gold_counts[self.gold_answers.pop(task)] -= 1
        if invalid is not None:
            self.gold_answers[task] = expected, invalid
            self.gold_counts[expected, invalid] += 1

    def estimate_rates(self) -> tuple[float, float]:
        """Return the posterior means of sensitivity and specificity."""
        found, missed = (
            SENSITIVITY_PRIOR[0] + self.gold_counts[True, True],
            SENSITIVITY_PRIOR[1] + self.gold_counts[True, False],
        )
        clear, alarms = (
            SPECIFICITY_PRIOR[0] + self.gold_counts[False, False],
            SPECIFICITY_PRIOR[1] + self.gold_counts[False, True],
        )
        return found / (found + missed), clear / (clear + alarms)

    def has_failed_gold(self) -> bool:
        """Return whether the upper end of the interval of sensitivity or specificity is below its minimum."""
        asked = [(self.gold_counts[kind, kind], self.gold_counts[kind, not kind]) for kind in (True, False)]
        return any(
            right + wrong >= MIN_GOLD_ANSWERS and wilson_interval(right, right + wrong)[1] < least
            for (right, wrong), least in zip(asked, MIN_SENSITIVITY_SPECIFICITY, strict=True)
        )


def is_overlap_task(key: str, rules: AssignmentRules) -> bool:
    """Return whether a task is in the overlap: the random sample of tasks that several annotators judge in any case.

    About 100 of 1,000 tasks, with a standard deviation of 9.5:

    >>> sum(is_overlap_task(f"t{number}", AssignmentRules(overlap_rate=0.1)) for number in range(1000))
    95
    """
    return int(_random_order_key(rules.seed, "overlap", key)[:8], 16) < rules.overlap_rate * 16**8


def wilson_interval(num_correct: int, total: int) -> tuple[float, float]:
    """Return the 95 % Wilson score interval of a proportion; (nan, nan) for a total of 0.

    Source: E. B. Wilson, Journal of the American Statistical Association 22, 1927.

    >>> low, high = wilson_interval(8, 10)
    >>> round(low, 4), round(high, 4)
    (0.4902, 0.9433)
    """
    if not total:
        return nan, nan
    z, rate = 1.959963984540054, num_correct / total
    center, half = rate + z**2 / 2 / total, z * (rate * (1 - rate) / total + z**2 / 4 / total**2) ** 0.5
    return max(0.0, (center - half) / (1 + z**2 / total)), min(1.0, (center + half) / (1 + z**2 / total))


def compute_vote_weights(sensitivity: float, specificity: float) -> np.ndarray:
    """Return by how much NO_VOTE, VALID and INVALID change the log odds of invalid.

    log(0.1 / 0.95) and log(0.9 / 0.05):

    >>> compute_vote_weights(0.9, 0.95).round(3).tolist()
    [0.0, -2.251, 2.89]
    """
    valid, invalid = log(1 - sensitivity) - log(specificity), log(sensitivity) - log(1 - specificity)
    return np.array([0.0, valid, invalid])


def _random_order_key(seed: int, *key: str) -> str:
    """Return a random text that depends on seed and key only. Sorting by it gives a random order."""
    return hashlib.sha256("\x1f".join((str(seed), *key)).encode()).hexdigest()
