"""Assign tasks to annotators by adaptive voting: collect one vote at a time, until a candidate is decided.

The probability that a candidate is unanswerable starts from the estimate of stage `estimate` and the base rate
of the candidate's subset, which is learned from all votes (`annotation.study.base_rates`). Each vote changes the
probability by Bayes' rule. How much it does depends on the annotator's error rates, on whether the annotator's votes
can be trusted, and on the proportion of hard candidates. `annotation.study.vote_model`, which stage `collect` uses, too,
estimates all this again after every tenth of the judgements. A vote is requested only if it can change the decision.
A single "valid" never decides, whatever the prior. Nobody gives more than half of all judgements, if at least three
people take part. A random sample of tasks (the overlap) gets `MIN_OVERLAP_VOTES` votes in any case, so that agreement
can be measured. Adjudicators decide the candidates that the votes leave in doubt.

The module uses no clock and no files: the same calls in the same order give the same results. The module also
runs in Label Studio's Python environment, so it imports only NumPy and the standard library.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from math import log, nan
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from annotation.study.base_rates import BaseRate, BaseRatePrior, count_on_lattice, to_log_odds
from annotation.study.gold_agreement import GoldStatus, count_votes, decide_gold_status, is_uniform
from annotation.study.sequential_test import is_below_limit
from annotation.study.vote_model import (
    HARD_PRIOR,
    Credibility,
    VoteTable,
    compute_class_evidence,
    compute_vote_table,
    estimate_gold_rates,
    fit_votes,
)

# The constants were chosen on simulated crowds (`rgqa study votes-needed`, `rgqa study crowds`).

# Probability that an adjudication is right. Probabilities by stage `collect` are clipped to
# [1 - MAX_PROBABILITY, MAX_PROBABILITY].
MAX_PROBABILITY = 0.99
# Minimum number of valid votes for the decision that a candidate is answerable. An annotator who is in doubt
# or does not look says "valid".
MIN_VALID_VOTES = 2
# The same where a panel of models calls the candidate valid, too.
MIN_VALID_VOTES_WITH_PANEL = 1
# Minimum probability for this decision. It may be lower than for the decision that a candidate is unanswerable, because
# an unanswerable candidate that is called answerable is only lost.
MIN_VALID_POSTERIOR = 0.9
# Log odds that differ by so little are equal.
ROUNDING = 1e-9
# So many "invalid" votes suffice, if the posterior does, even if there are more "valid" ones: on a hard question, half of the
# annotators are wrong.
MIN_INVALID_VOTES = 2
# The model of the votes is fitted after so many judgements, and then each time their number has grown by this proportion.
# Each time their number has doubled, the fit does not begin with the last one, but searches thoroughly.
FIRST_FIT, FIT_GROWTH, THOROUGH_FIT_GROWTH = 50, 0.1, 1.0
# Nobody gives a larger share of all judgements, if at least so many people take part.
MAX_SHARE, MIN_PEOPLE = 0.5, 3
# Minimum number of votes for an overlap task (see `is_overlap_task`).
MIN_OVERLAP_VOTES = 3
# Minimum number of answers to gold questions of one kind (valid or invalid) before an annotator can be
# blocked.
MIN_GOLD_ANSWERS = 10
# Minimum sensitivity and specificity. The votes of an annotator below either limit do not count, as in stage
# `collect`.
MIN_SENSITIVITY_SPECIFICITY = (0.7, 0.8)

# Log probabilities of the votes of an annotator without gold answers, [2, 4].
_TYPICAL_VOTES = compute_vote_table(estimate_gold_rates(np.zeros((1, 4))))[0]

TaskMapping = Mapping[str, Any]
AnswerPair = tuple[str, str]
# Codes of an annotator's vote on a candidate.
NO_VOTE, VALID, INVALID = 0, 1, 2
# What NO_VOTE, VALID and INVALID add to (number of invalid votes - number of valid votes).
VOTE_SIGNS = np.array([0, -1, 1], np.int16)


class AssignmentRules(NamedTuple):
    """Rules of adaptive voting.

    Attributes:
        max_votes: Maximum number of votes per task. Use an odd number: with an even number, the last vote
            could only make a tie.
        min_posterior: No more votes are requested once the verdict is at least this probable, in (0.5, 1).
        overlap_rate: Proportion of tasks, sampled at random, that get `MIN_OVERLAP_VOTES` votes in any case.
            The tasks of the first wave get them, too.
        wave_size: Number of tasks that are finished before the next ones begin.
        max_judgements: Maximum number of judgements in the whole study; 0 means no limit. A judgement is the
            answer of one annotator to one task (with two questions).
        max_tasks_per_annotator: Maximum number of tasks per annotator; 0 means no limit.
        audit_rate: Proportion of tasks, sampled at random, that an adjudicator judges in any case, after the annotators.
            The error of the verdicts is measured on them.
        seed: Seed of the random order of tasks and of the random samples.
        min_gold_agreement: Number of annotators who must agree on an unconfirmed gold question before it counts.
        min_release_posterior: Stage `collect` releases candidates that are at least this probably unanswerable
            (`collect.min_posterior`). Where `min_posterior` is out of reach, voting goes on if the remaining votes can
            reach this value.
    """

    max_votes: int = 5
    min_posterior: float = 0.99
    overlap_rate: float = 0.1
    audit_rate: float = 0.0
    wave_size: int = 100
    max_judgements: int = 0
    max_tasks_per_annotator: int = 0
    seed: int = 0
    min_gold_agreement: int = 2
    min_release_posterior: float = 0.95


DEFAULT_RULES = AssignmentRules()


class AdaptiveAssigner:
    """The state of a study: all answers, and which task is open for which annotator.

    Args:
        tasks: Mappings {"key", "block", "subset", "first": {"role", "candidate", "expected"}, "second": {...}},
            see `annotation.study.assignment_params.to_task_mapping`. Without "subset", all tasks share one
            base rate. The role is "candidate" (one per task),
            "gold" (with the expected choice "valid" or "invalid", or None if the gold question is discarded;
            an unconfirmed gold question also has an id "unconfirmed", and counts only if annotators agree)
            or "repeat" (the candidate of another task).
        answerable: Candidate id -> estimated probability of being answerable before any vote. The estimate
            for all other candidates is 0.5.
        rules: The rules of voting.
        doubtful: Candidate id -> probability of being unanswerable, for the candidates whose votes stage
            `collect` found undecided.
        decided_by_panel: Ids of candidates that a panel of models decides (`collect.min_people: 0`). Their tasks get votes only if they
            are in the overlap.
        called_valid_by_panel: Ids of candidates that a panel of models calls valid. One "valid" vote of a person decides them, where others need
            `MIN_VALID_VOTES`.

    Raises:
        ValueError: Two tasks have the same candidate.

    >>> task = {"key": "t", "block": 0, "first": {"role": "candidate", "candidate": "c", "expected": None}}
    >>> task["second"] = {"role": "gold", "candidate": None, "expected": "valid"}
    >>> assigner = AdaptiveAssigner([task], {"c": 0.1})
    >>> assigner.assign_next_task("ann")
    't'
    >>> assigner.record_answer("ann", "t", "invalid", "valid")
    >>> round(assigner.get_posterior_invalid("c"), 3)
    0.993
    """

    def __init__(
        self,
        tasks: Sequence[TaskMapping],
        answerable: Mapping[str, float],
        rules: AssignmentRules = DEFAULT_RULES,
        doubtful: Mapping[str, float] = MappingProxyType({}),
        decided_by_panel: Collection[str] = (),
        called_valid_by_panel: Collection[str] = (),
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
        # Log odds of answerable by stage `estimate`.
        self._estimates = to_log_odds(np.array([answerable.get(key, 0.5) for key in self.candidate_index]))
        # Names of the subsets, and the subset of each task.
        self.subsets = sorted({str(task.get("subset", "")) for task in self.tasks}) or [""]
        self._subset_index = np.array(
            [self.subsets.index(str(task.get("subset", ""))) for task in self.tasks], np.int64
        )
        self._base_rate_prior = BaseRatePrior(self._estimates, self._subset_index, len(self.subsets))
        self.is_overlap = np.array(
            [index < rules.wave_size or is_overlap_task(key, rules) for index, key in enumerate(self.keys)],
            bool,
        )
        candidates = [*self.candidate_index]
        self._is_decided_by_panel = np.isin(candidates, sorted(decided_by_panel))
        self._min_valid_votes = np.where(
            np.isin(candidates, sorted(called_valid_by_panel)), MIN_VALID_VOTES_WITH_PANEL, MIN_VALID_VOTES
        )
        self.is_audited = np.array([is_audit_task(key, rules) for key in self.keys], bool)
        self.annotators: dict[str, _AnnotatorState] = {}
        self.gold_agreement = GoldAgreement(rules.min_gold_agreement)
        # Id of an unconfirmed gold question -> indices of its tasks.
        self._tasks_by_gold: dict[str, list[int]] = {}
        for index, task in enumerate(self.tasks):
            for row in (task["first"], task["second"]):
                if key := row.get("unconfirmed"):
                    self._tasks_by_gold.setdefault(key, []).append(index)
        # Whether annotators disagree on the gold question of each task.
        self._is_contested = np.zeros(len(self.keys), bool)
        self.num_judgements = 0
        count = len(self.keys)
        # For each task, the number of annotators who have it open now.
        self.num_open = np.zeros(count, np.int16)
        # For each candidate: log probability of its votes for each component (`vote_model`), their evidence for
        # answerable (a log likelihood ratio), number of votes that count, invalid minus valid votes,
        # invalid minus valid adjudications, and whether these values must be recomputed. Votes of copies of a
        # person count together as one.
        self._log_likelihood, self._evidence = np.zeros((count, 4)), np.zeros(count)
        self._vote_counts, self._margins = np.zeros((2, count))
        self._adjudicated_sign = np.zeros(count, np.int16)
        # By the last fit of the model: person -> log probabilities of votes [subsets, 2, 4], person -> first task whose votes
        # are not trusted [subsets], person -> number of the group of copies, and the proportions of hard candidates
        # [subsets, 2].
        self._vote_tables = dict[str, np.ndarray]()
        self._trusted_before = dict[str, np.ndarray]()
        self._groups = dict[str, int]()
        self._hard_rates = np.tile([mean for mean, _ in HARD_PRIOR], (len(self.subsets), 1))
        self._next_fit = self._next_thorough_fit = FIRST_FIT
        # Number of judgements at the last thorough fit.
        self._num_fitted = 0
        self._needs_update = np.ones(count, bool)
        # All evidence, as `BaseRatePrior.update` needs it.
        self._evidence_counts = self._count_on_lattice(np.arange(0))
        self._base_rates = self._base_rate_prior.update(self._evidence_counts)
        # For each candidate: log odds of invalid, whether the votes decide, and maximum number of annotators
        # who may have the task open now.
        self._log_odds, self._is_settled = np.zeros(count), np.zeros(count, bool)
        self._max_open = np.zeros(count, np.int16)
        doubtful_posteriors = np.clip(
            [doubtful.get(key, np.nan) for key in self.candidate_index], 1 - MAX_PROBABILITY, MAX_PROBABILITY
        )
        # Absolute log odds of candidates that stage `collect` found undecided (0 means full doubt), NaN for
        # others.
        self._collect_certainty = np.abs(np.log(doubtful_posteriors) - np.log(1 - doubtful_posteriors))

    def mark_adjudicator(self, person: str) -> None:
        """Mark a person as an adjudicator. Call this before any other method for that person.

        Adjudicators get only doubtful tasks, and their verdicts decide. The limits on judgements do not apply
        to adjudicators.
        """
        self._get_annotator(person).is_adjudicator = True
        self.gold_agreement.adjudicators.add(person)

    def assign_next_task(self, person: str) -> str | None:
        """Return the key of the next task for a person, and mark the task as open.

        Return None if there is no task for the person now.

        If the person has an open task, this task is returned again. Otherwise the task is from the earliest
        wave with a free task. In this wave, the task with most votes is chosen; ties are broken at random,
        differently for each person. An adjudicator gets the most doubtful task for which no more votes are
        requested.
        """
        state = self._get_annotator(person)
        if state.open_task is not None:
            return self.keys[state.open_task]
        if state.is_excluded or self.explain_stop(person):
            return None
        if state.is_adjudicator:
            return self._assign_adjudication(
                person, self.find_doubtful_tasks() & state.is_available & (self.num_open == 0)
            )
        if self._count_tasks_left(state) < 1 or self._count_judgements_left() < 1:
            return None
        free = (self.get_wanted_votes() > self.num_open) & self._find_new_tasks(state)
        if not free.any():
            return None
        start = int(free.argmax()) // self.rules.wave_size * self.rules.wave_size
        indices = start + np.flatnonzero(free[start : start + self.rules.wave_size])
        votes = self._vote_counts[indices] + self.num_open[indices]
        most = indices[votes == votes.max()].tolist()
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

        A correction replaces the vote on a candidate or a repeat. For a gold question the first answer counts,
        whatever follows. Otherwise somebody could try out answers, and see which ones get them more tasks.

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
        state.first_answers.setdefault(index, (first, second))
        self._update_votes(state, index)

    def record_test_answer(self, person: str, where: str, question: Mapping[str, Any], choice: str) -> None:
        """Record an answer in the qualification test, which also tells whether annotators agree.

        Args:
            person: The annotator.
            where: Identifies the task and the question in it.
            question: A question of a known task (`annotation.study.qualification_tasks`).
            choice: The choice.
        """
        self._get_annotator(person)
        called_invalid, is_invalid = choice == "invalid", question["expected"] == "invalid"
        gold = question.get("unconfirmed")
        self._apply_gold_changes(self.gold_agreement.record(person, where, gold, is_invalid, called_invalid))

    def is_gold_counted(self, question: Mapping[str, Any]) -> bool:
        """Return whether a gold question counts: it needs no confirmation, or annotators agree on it."""
        return self.gold_agreement.get_status(question.get("unconfirmed")) == "confirmed"

    def is_contested_in_test(self, question: Mapping[str, Any]) -> bool:
        """Return whether annotators disagree on a gold question of the qualification test that no task asks, so that
        an adjudicator can decide it only in the test task.
        """
        key = question.get("unconfirmed")
        return key not in self._tasks_by_gold and self.gold_agreement.get_status(key) == "contested"

    def record_skip(self, person: str, key: str) -> None:
        """Record a skip: the person does not get the task again, and an earlier answer of the person to this
        task no longer counts.
        """
        state, index = self._get_annotator(person), self.task_index[key]
        self._close_task(state, index)
        state.is_available[index] = False
        if state.answers.pop(index, None):
            self.num_judgements -= not state.is_adjudicator
            self._update_votes(state, index)

    def withhold_task(self, person: str, key: str) -> None:
        """Never give a task to a person, because the person has seen its gold question in the training or the
        test.
        """
        self._get_annotator(person).is_available[self.task_index[key]] = False

    def release_open_task(self, person: str) -> None:
        """Make the open task of a person available to others. The answers of the person are kept."""
        state = self._get_annotator(person)
        if state.open_task is not None:
            self._close_task(state, state.open_task)

    def remove_annotator(self, person: str) -> None:
        """Remove a person and all their answers, as if they had never taken part."""
        self.release_open_task(person)
        state = self.annotators.pop(person)
        self.num_judgements -= 0 if state.is_adjudicator else len(state.answers)
        self._needs_update |= state.votes != NO_VOTE
        self._apply_gold_changes(self.gold_agreement.remove_person(person))

    def exclude_annotator(self, person: str, since: int = 0) -> None:
        """Exclude a person, because stage `collect` decided so.

        Call this after all answers of the person are recorded.

        Args:
            person: The annotator, who gets no more tasks.
            since: Answers to the first `since` tasks of the annotator still count. Later answers are replaced
                by votes of other annotators.
        """
        self.release_open_task(person)
        state = self._get_annotator(person)
        state.is_excluded = True
        for index in [*state.answers][since:]:
            self._update_votes(state, index, counts=False)

    def has_failed_gold(self, person: str) -> bool:
        """Return whether a person has failed so many gold questions that none of their votes counts.

        Such a person gets no more tasks.
        """
        return self._get_annotator(person).has_failed_gold()

    def has_reached_share(self, person: str) -> bool:
        """Return whether a person (with all accounts that are copies) has given more than `MAX_SHARE` of all
        judgements, so that others must go on first.

        This needs `MIN_PEOPLE` people, and more judgements than a wave has tasks.
        """
        counts = dict[int | str, int]()
        for name, state in self.annotators.items():
            if state.answers and not state.is_adjudicator:
                group = self._groups.get(name, name)
                counts[group] = counts.get(group, 0) + len(state.answers)
        own = counts.get(self._groups.get(person, person), 0)
        return len(counts) >= MIN_PEOPLE and own > max(self.rules.wave_size, MAX_SHARE * sum(counts.values()))

    def is_distrusted(self, person: str) -> bool:
        """Return whether the model of the votes trusts no new vote of a person, in any subset."""
        return person in self._trusted_before and bool(np.isfinite(self._trusted_before[person]).all())

    def explain_stop(self, person: str) -> str:
        """Return why a person gets no more tasks, or none until others have caught up; "" if neither holds."""
        if self.has_failed_gold(person):
            return "fails gold questions"
        if self.is_distrusted(person):
            return "the votes do not depend on the images"
        return (
            f"gave more than {MAX_SHARE:.0%} of all votes, waits for others"
            if self.has_reached_share(person)
            else ""
        )

    def get_posterior_invalid(self, candidate: str) -> float:
        """Return the posterior probability that a candidate is unanswerable."""
        self._update_posteriors()
        return float(1 / (1 + np.exp(-self._log_odds[self.candidate_index[candidate]])))

    def get_base_rates(self) -> dict[str, BaseRate]:
        """Return subset -> proportion of its candidates that are answerable, given all votes."""
        self._update_posteriors()
        all_candidates = self._count_on_lattice(np.arange(len(self.keys)))
        rates = self._base_rates.compute_rates(all_candidates)
        return {name: rate for name, rate in zip(self.subsets, rates, strict=True) if rate}

    def count_votes(self, subset: str) -> tuple[int, int]:
        """Return the number of candidates of a subset, and of votes on them that count."""
        self._update_posteriors()
        is_member = self._subset_index == self.subsets.index(subset)
        return int(is_member.sum()), int(self._vote_counts[is_member].sum())

    def get_conditional_invalid(self, quantile: float) -> dict[str, float]:
        """Return candidate id -> posterior probability of being unanswerable, for base rates at a quantile of
        their uncertainty. All candidates become more often answerable with a higher quantile.
        """
        self._update_posteriors()
        shifts = self._base_rates.select_shifts(quantile)[self._subset_index]
        invalid = 1 / (1 + np.exp(self._estimates + self._evidence + shifts))
        return dict(zip(self.candidate_index, invalid.tolist(), strict=True))

    def get_error_rates(self, person: str) -> dict[str, float]:
        """Return true choice -> rate at which a person chooses wrongly, by their gold questions."""
        sensitivity, specificity = self._get_annotator(person).estimate_rates()
        return {"invalid": 1 - sensitivity, "valid": 1 - specificity}

    def is_decided(self, key: str) -> bool:
        """Return whether no more votes are requested for a task."""
        return not self.get_wanted_votes()[self.task_index[key]]

    def get_wanted_votes(self) -> np.ndarray:
        """Return how many annotators may have each task open now, [tasks] in the order of `keys`. 0 means
        that no vote is requested.
        """
        self._update_posteriors()
        return self._max_open

    def find_doubtful_tasks(self) -> np.ndarray:
        """Return for each task whether it waits for an adjudicator, [tasks] booleans in the order of `keys`.

        A task waits if its votes are complete, but do not decide or were found undecided by stage `collect`, and if it is
        in the audit sample. It also waits if annotators disagree on its gold question.
        """
        over = (self.get_wanted_votes() == 0) | (self._count_judgements_left() < 1)
        return (
            over
            & (self._vote_counts > 0)
            & (self._adjudicated_sign == 0)
            & (self.is_audited | ~self._is_settled | ~np.isnan(self._collect_certainty) | self._is_contested)
        )

    def get_progress(self, person: str) -> tuple[int, int]:
        """Return how many tasks a person has judged, and the maximum they could reach if all requested votes
        were theirs.
        """
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
            self.annotators[name] = _AnnotatorState(len(self.keys), name, self.gold_agreement)
        return self.annotators[name]

    def _find_new_tasks(self, state: _AnnotatorState) -> np.ndarray:
        """Return the tasks that a person may get, [tasks] of bool: not those whose candidate a copy of the person has judged."""
        is_new = state.is_available
        group = self._groups.get(state.name)
        for name, other in self.annotators.items():
            if group is not None and other is not state and self._groups.get(name) == group:
                is_new = is_new & (other.votes == NO_VOTE)
        return is_new

    def _assign_adjudication(self, person: str, free: np.ndarray) -> str | None:
        if not free.any():
            return None
        # Tasks of the audit sample and doubtful tasks take turns, so that a task does not tell why it is asked.
        certainty = np.fmin(np.abs(self._log_odds), self._collect_certainty)
        audited = free & self.is_audited
        if audited.any() and (len(self._get_annotator(person).answers) % 2 or not (free & ~audited).any()):
            key = self.keys[int(audited.argmax())]
        else:
            key = self.keys[int(np.where(free & ~audited, certainty, np.inf).argmin())]
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
        """Update the votes of a person after an answer to a task. Remove the votes if `counts` is false."""
        state.ignored_tasks.discard(index)
        if not counts:
            state.ignored_tasks.add(index)
        changed = set[str]()
        questions = self.tasks[index]["first"], self.tasks[index]["second"]
        for row, invalid in zip(questions, state.get_first_called_invalid(index), strict=True):
            if row["role"] == "gold" and row["expected"]:
                key, is_invalid = row.get("unconfirmed"), row["expected"] == "invalid"
                changed |= self.gold_agreement.record(state.name, index, key, is_invalid, invalid)
        self._apply_answer(state, index)
        # After a gold question, all votes of the person are weighted again. The same is done after any other
        # answer, so that the time that the server takes does not tell gold questions.
        self._needs_update |= state.votes != NO_VOTE
        self._apply_gold_changes(changed)

    def _apply_gold_changes(self, changed: set[str]) -> None:
        """Count the answers to tasks again whose gold question has changed its status."""
        for key in sorted(changed):
            tasks = self._tasks_by_gold.get(key, ())
            self._is_contested[[*tasks]] = self.gold_agreement.get_status(key) == "contested"
            for _, state in sorted(self.annotators.items()):
                for index in tasks:
                    if index in state.answers:
                        self._apply_answer(state, index)
        if changed:
            self._needs_update[:] = True

    def _apply_answer(self, state: _AnnotatorState, index: int) -> None:
        """Count the gold question and the votes in a person's answer to a task, as far as they count now."""
        questions = self.tasks[index]["first"], self.tasks[index]["second"]
        called_invalid, first_called = state.get_called_invalid(index), state.get_first_called_invalid(index)
        # After a failed gold question, the annotator may not have looked at the image, so the vote does not
        # count, as in stage `collect`.
        failed = False
        for row, invalid in zip(questions, first_called, strict=True):
            if row["role"] == "gold" and row["expected"]:
                if self.gold_agreement.get_status(row.get("unconfirmed")) != "confirmed":
                    invalid = None
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
        """Recompute the evidence of candidates whose votes have changed, and then the base rates, the posteriors
        and the wanted votes of all candidates.
        """
        if self.num_judgements >= self._next_fit:
            self._fit_model(is_thorough=self.num_judgements >= self._next_thorough_fit)
        self._update_changed()
        # Before the study ends, the model is fitted once more, as stage `collect` does it.
        is_fitted = self.num_judgements < FIRST_FIT or self.num_judgements == self._num_fitted
        if not is_fitted and not self._max_open.any():
            self._fit_model(is_thorough=True)
            self._update_changed()

    def _update_changed(self) -> None:
        """Do that for the candidates in `_needs_update`."""
        at = np.flatnonzero(self._needs_update)
        if not len(at):
            return
        self._needs_update[at] = False
        subset = self._subset_index[at]
        adjudicated = np.zeros(len(at), np.int16)
        # Sorted, so that floating-point sums do not depend on the order of arrival.
        by_group = dict[int | str, list[_AnnotatorState]]()
        for name, state in sorted(self.annotators.items()):
            if state.is_adjudicator:
                adjudicated += VOTE_SIGNS[state.votes[at]]
            elif self._are_votes_counted(state):
                by_group.setdefault(self._groups.get(name, name), []).append(state)
        log_likelihood, (count, margin) = np.zeros((len(at), 4)), np.zeros((2, len(at)))
        for states in by_group.values():
            counted = [self._select_trusted_votes(state, at) for state in states]
            num_votes = np.sum([votes != NO_VOTE for votes in counted], axis=0)
            weight = 1 / np.maximum(num_votes, 1)
            for state, votes in zip(states, counted, strict=True):
                logs = self._get_vote_table(state)[subset, np.maximum(votes - VALID, 0)]
                log_likelihood += np.where(votes == NO_VOTE, 0.0, weight)[:, None] * logs
                margin += weight * VOTE_SIGNS[votes]
            count += num_votes > 0
        self._log_likelihood[at], self._vote_counts[at], self._margins[at] = log_likelihood, count, margin
        self._adjudicated_sign[at] = adjudicated
        certain = log(MAX_PROBABILITY) - log(1 - MAX_PROBABILITY)
        before = self._count_on_lattice(at)
        evidence = compute_class_evidence(log_likelihood, self._hard_rates, subset)
        self._evidence[at] = np.where(
            adjudicated, -np.sign(adjudicated) * certain - self._estimates[at], evidence
        )
        self._evidence_counts += self._count_on_lattice(at) - before
        self._base_rates = self._base_rate_prior.update(self._evidence_counts)
        self._log_odds = np.where(
            self._adjudicated_sign,
            np.sign(self._adjudicated_sign) * certain,
            -self._base_rates.compute_log_odds(self._estimates + self._evidence, self._subset_index),
        )
        self._is_settled = self._find_settled(
            self._log_odds, *self._count_votes_by_choice(), self.rules.min_posterior
        )
        self._max_open = np.where(self._adjudicated_sign, 0, self._compute_wanted_votes())

    def _compute_log_odds_after(self, at: np.ndarray, choice: int, more_votes: np.ndarray) -> np.ndarray:
        """Return the log odds of invalid of the candidates `at`, after more votes of a typical annotator for one choice."""
        logs = _TYPICAL_VOTES[choice - VALID]
        log_likelihood = self._log_likelihood[at] + np.multiply.outer(more_votes, logs)
        subset = self._subset_index[at]
        evidence = compute_class_evidence(log_likelihood, self._hard_rates, subset)
        return -self._base_rates.compute_log_odds(self._estimates[at] + evidence, subset)

    def _count_votes_by_choice(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the number of invalid and of valid votes on each candidate."""
        return (self._vote_counts + self._margins) / 2, (self._vote_counts - self._margins) / 2

    def _find_settled(
        self, log_odds: np.ndarray, num_invalid: np.ndarray, num_valid: np.ndarray, min_posterior: float
    ) -> np.ndarray:
        """Return whether the votes decide about each candidate."""
        return find_unanswerable(log_odds, num_invalid, num_valid, min_posterior) | find_answerable(
            log_odds, num_invalid, num_valid, self._min_valid_votes
        )

    def _are_votes_counted(self, state: _AnnotatorState) -> bool:
        """Return whether the gold questions of a person allow votes to count."""
        rates = state.estimate_rates()
        return not state.has_failed_gold() and all(
            rate >= minimum for rate, minimum in zip(rates, MIN_SENSITIVITY_SPECIFICITY, strict=True)
        )

    def _get_vote_table(self, state: _AnnotatorState) -> np.ndarray:
        """Return the log probabilities of a person's votes by the last fit, or else by gold questions, [subsets, 2, 4]."""
        if state.name in self._vote_tables:
            return self._vote_tables[state.name]
        return np.tile(compute_vote_table(np.array(state.estimate_rates())), (len(self.subsets), 1, 1))

    def _select_trusted_votes(self, state: _AnnotatorState, at: np.ndarray) -> np.ndarray:
        """Return the votes of a person on candidates, without those that are not trusted."""
        votes = state.votes[at]
        if state.name not in self._trusted_before:
            return votes
        before = self._trusted_before[state.name][self._subset_index[at]]
        return np.where(state.vote_order[at] < before, votes, NO_VOTE)

    def _fit_model(self, *, is_thorough: bool) -> None:
        """Estimate error rates, hard candidates, and which votes can be trusted, from all votes."""
        self._next_fit = max(FIRST_FIT, int(self.num_judgements * (1 + FIT_GROWTH))) + 1
        if is_thorough:
            self._num_fitted = self.num_judgements
            self._next_thorough_fit = int(self.num_judgements * (1 + THOROUGH_FIT_GROWTH))
        names, votes = self._make_vote_table()
        if not len(votes.item):
            return
        all_trusted = np.full(len(self.subsets), np.inf)
        groups = [self._groups.get(name, -1) for name in names]
        known = [group for group in groups if group >= 0]
        # Groups are numbered by their first member.
        numbers = [groups.index(group) if group in known else index for index, group in enumerate(groups)]
        start = Credibility(
            np.array([self._trusted_before.get(name, all_trusted) for name in names]), np.array(numbers)
        )
        fit = fit_votes(votes, None if is_thorough else start)
        num_distrusted = np.isfinite(fit.credibility.trusted_before).all(axis=1).sum()
        # If so many people get no more tasks, no new votes might ever correct the model. So this needs a thorough search.
        if not is_thorough and 2 * num_distrusted >= len(names):
            fit = fit_votes(votes)
        self._vote_tables = dict(zip(names, compute_vote_table(fit.rates), strict=True))
        self._trusted_before = dict(zip(names, fit.credibility.trusted_before, strict=True))
        self._groups = dict(zip(names, fit.credibility.group.tolist(), strict=True))
        self._hard_rates = fit.hard_rates
        self._needs_update[:] = True

    def _make_vote_table(self) -> tuple[list[str], VoteTable]:
        """Return the annotators with votes that count, and all their votes."""
        states = [
            state
            for _, state in sorted(self.annotators.items())
            if not state.is_adjudicator and state.votes.any() and self._are_votes_counted(state)
        ]
        rows = [np.flatnonzero(state.votes) for state in states]
        item = np.concatenate([np.zeros(0, np.int64), *rows])
        people = [np.full(len(own), number) for number, own in enumerate(rows)]
        # Only candidates with votes, so that the fit is fast.
        items, index = np.unique(item, return_inverse=True)
        sign = self._adjudicated_sign[items]
        return [state.name for state in states], VoteTable(
            index,
            np.concatenate([np.zeros(0, np.int64), *people]),
            np.concatenate(
                [
                    np.zeros(0, np.int64),
                    *(state.vote_order[own] for state, own in zip(states, rows, strict=True)),
                ]
            ),
            np.concatenate(
                [
                    np.zeros(0, bool),
                    *(state.votes[own] == INVALID for state, own in zip(states, rows, strict=True)),
                ]
            ),
            np.array([state.list_gold_counts() for state in states]).reshape(-1, 4),
            self._estimates[items],
            self._subset_index[items],
            len(self.subsets),
            np.where(sign == 0, np.nan, (sign > 0).astype(float)),
        )

    def _count_on_lattice(self, at: np.ndarray) -> np.ndarray:
        """Count the log odds of the candidates `at`, with their evidence."""
        log_odds = self._estimates[at] + self._evidence[at]
        return count_on_lattice(log_odds, self._subset_index[at], len(self.subsets))

    def _compute_wanted_votes(self) -> np.ndarray:
        """Return how many annotators may have each task open now, if no adjudicator has decided it.

        An overlap task is open for as many annotators as it needs to reach `MIN_OVERLAP_VOTES` votes. Any
        other task is open for one annotator if it has no vote yet and no panel decides it, or if the remaining votes could still
        decide the candidate.
        """
        count = self._vote_counts
        num_invalid, num_valid = self._count_votes_by_choice()
        left = np.maximum(self.rules.max_votes - np.ceil(count), 0)
        # Only where it matters whether the remaining votes can decide.
        at = np.flatnonzero(~self._is_settled & (count > 0) & (left > 0))
        more, invalid, valid = left[at], num_invalid[at], num_valid[at]
        after = self._compute_log_odds_after(at, INVALID, more)
        min_release = self.rules.min_release_posterior
        is_released = find_unanswerable(self._log_odds[at], invalid, valid, min_release)
        reach = (count == 0) & ~self._is_decided_by_panel
        reach[at] = (
            find_unanswerable(after, invalid + more, valid, self.rules.min_posterior)
            | (~is_released & find_unanswerable(after, invalid + more, valid, min_release))
            | find_answerable(
                self._compute_log_odds_after(at, VALID, more),
                invalid,
                valid + more,
                self._min_valid_votes[at],
            )
        )
        for_overlap = np.minimum(left, np.maximum(MIN_OVERLAP_VOTES - np.ceil(count), 0)) * self.is_overlap
        wanted = np.maximum(for_overlap, np.minimum(left, ~self._is_settled & reach))
        return wanted.astype(np.int16)


def find_unanswerable(
    log_odds: np.ndarray, num_invalid: np.ndarray, num_valid: np.ndarray, min_posterior: float
) -> np.ndarray:
    """Return whether candidates are verified as unanswerable, [candidates] of bool.

    Not even a certain prior decides without a vote, and a single "invalid" vote does not decide against a "valid" one.

    Args:
        log_odds: Log odds of being unanswerable.
        num_invalid, num_valid: Numbers of votes.
        min_posterior: Minimum probability of being unanswerable.
    """
    has_votes = (num_invalid > num_valid) | (num_invalid >= MIN_INVALID_VOTES)
    threshold = log(min_posterior) - log(max(1 - min_posterior, 1e-12))
    return (log_odds >= threshold - ROUNDING) & has_votes & (num_invalid > 0)


def find_answerable(
    log_odds: np.ndarray,
    num_invalid: np.ndarray,
    num_valid: np.ndarray,
    min_valid_votes: np.ndarray | int = MIN_VALID_VOTES,
) -> np.ndarray:
    """Return whether candidates are verified as answerable, [candidates] of bool.

    Args:
        log_odds, num_invalid, num_valid: As in `find_unanswerable`.
        min_valid_votes: Minimum number of "valid" votes, [candidates] or one for all.
    """
    threshold = log(MIN_VALID_POSTERIOR) - log(1 - MIN_VALID_POSTERIOR)
    return (-log_odds >= threshold - ROUNDING) & (num_valid > num_invalid) & (num_valid >= min_valid_votes)


class GoldAgreement:
    """The answers of all people to gold questions, and which unconfirmed gold questions count.

    Attributes:
        adjudicators: The people whose answers decide.
    """

    def __init__(self, min_agreement: int) -> None:
        self.adjudicators = set[str]()
        self._min_agreement = min_agreement
        # Person -> where the question was asked -> (id or None if it needs no confirmation, is invalid, was
        # called invalid).
        self._answers: dict[str, dict[object, tuple[str | None, bool, bool]]] = {}
        # Id -> person -> where -> was called invalid.
        self._votes: dict[str, dict[str, dict[object, bool]]] = {}
        self._is_invalid: dict[str, bool] = {}
        self._statuses: dict[str, GoldStatus] = {}
        # People whose answers are uniform.
        self._uniform = set[str]()

    def record(
        self, person: str, where: object, key: str | None, is_invalid: bool, called_invalid: bool | None
    ) -> set[str]:
        """Record, correct or remove an answer.

        Args:
            person: The person.
            where: Identifies the task.
            key: The id of an unconfirmed gold question. None for a gold question that needs no confirmation.
            is_invalid: Whether the question is (presumably) invalid.
            called_invalid: Whether the person called it invalid. None removes the answer.

        Returns:
            The ids of the questions whose status has changed.
        """
        own = self._answers.setdefault(person, {})
        own.pop(where, None)
        if called_invalid is not None:
            own[where] = key, is_invalid, called_invalid
        if key:
            self._is_invalid[key] = is_invalid
            votes = self._votes.setdefault(key, {}).setdefault(person, {})
            votes.pop(where, None)
            if called_invalid is not None:
                votes[where] = called_invalid
        return self._update(person, {key} if key else set())

    def remove_person(self, person: str) -> set[str]:
        """Remove all answers of a person, and return the ids of the questions whose status has changed."""
        keys = {key for key, *_ in self._answers.pop(person, {}).values() if key}
        for key in keys:
            self._votes[key].pop(person, None)
        self._uniform.discard(person)
        return self._update(person, keys)

    def get_status(self, key: str | None) -> GoldStatus:
        """Return the status of an unconfirmed gold question. Without an id, the question counts."""
        return self._statuses.get(key, "open") if key else "confirmed"

    def is_uniform(self, person: str) -> bool:
        """Return whether a person gives the same answer to nearly all gold questions."""
        return person in self._uniform

    def _update(self, person: str, keys: set[str]) -> set[str]:
        answers = self._answers.get(person, {}).values()
        num_invalid = sum(is_invalid for _, is_invalid, _ in answers)
        called = sum(called_invalid for *_, called_invalid in answers)
        uniform = person not in self.adjudicators and is_uniform(
            len(answers) - num_invalid, num_invalid, called
        )
        if uniform != (person in self._uniform):
            self._uniform ^= {person}
            keys = keys | {key for key, *_ in answers if key}
        return {key for key in keys if self._update_status(key)}

    def _update_status(self, key: str) -> bool:
        # The first answer of each person counts.
        called = {
            person: next(iter(votes.values()))
            for person, votes in self._votes[key].items()
            if votes and person not in self._uniform
        }
        votes = count_votes(called, self._is_invalid[key], self.adjudicators)
        before, after = self.get_status(key), decide_gold_status(votes, self._min_agreement)
        self._statuses[key] = after
        return after != before


class _AnnotatorState:
    """The answers of one person.

    Attributes:
        name: The person.
        is_available: [tasks], whether the person may still get the task. This is so if the person has neither
            answered nor skipped the task, nor judged its candidate as a repeat in another task.
        votes: [candidates] of NO_VOTE, VALID or INVALID.
        vote_order: [candidates], the number of the person's task, from 0 on, in which the vote was given.
        answers: Task index -> both choices.
        first_answers: Task index -> both choices before any correction.
        votes_by_task: Candidate index -> task index -> vote.
        gold_answers: Task index -> (whether the gold question is invalid, whether the person called it
            invalid).
        gold_counts: Number of gold answers for each of these pairs of booleans.
        open_task: Index of the task that is open for the person.
        is_adjudicator: Whether the person's verdicts decide.
        is_excluded: Whether stage `collect` excludes the person.
        ignored_tasks: Indices of the tasks whose answers do not count because of that.
    """

    def __init__(self, num_tasks: int, name: str, gold_agreement: GoldAgreement) -> None:
        self.name, self._gold_agreement = name, gold_agreement
        self.ignored_tasks = set[int]()
        self.is_available = np.ones(num_tasks, bool)
        self.votes = np.zeros(num_tasks, np.int8)
        self.vote_order = np.zeros(num_tasks, np.int64)
        self._task_order = dict[int, int]()
        self.answers: dict[int, AnswerPair] = {}
        self.first_answers: dict[int, AnswerPair] = {}
        self.votes_by_task: dict[int, dict[int, int]] = {}
        self.gold_answers: dict[int, tuple[bool, bool]] = {}
        self.gold_counts = {
            (is_invalid, called): 0 for is_invalid in (True, False) for called in (True, False)
        }
        self.open_task: int | None = None
        self.is_adjudicator = self.is_excluded = False

    def get_called_invalid(self, index: int) -> list[bool | None]:
        """Return for both questions of a task whether the person called them invalid; None if no answer counts."""
        is_counted = index in self.answers and index not in self.ignored_tasks
        return [choice == "invalid" for choice in self.answers[index]] if is_counted else [None, None]

    def get_first_called_invalid(self, index: int) -> list[bool | None]:
        """Return the same for what the person chose before any correction."""
        is_counted = index in self.answers and index not in self.ignored_tasks
        return [choice == "invalid" for choice in self.first_answers[index]] if is_counted else [None, None]

    def record_vote(self, candidate: int, task: int, called_invalid: bool | None) -> None:
        """Record a vote on a candidate in one task. None removes the vote.

        Contradictory votes on a candidate cancel each other.
        """
        given = self.votes_by_task.setdefault(candidate, {})
        given.pop(task, None)
        order = self._task_order.setdefault(task, len(self._task_order))
        if called_invalid is not None:
            given[task] = INVALID if called_invalid else VALID
        self.votes[candidate] = next(iter(given.values())) if len(set(given.values())) == 1 else NO_VOTE
        self.vote_order[candidate] = min((self._task_order[other] for other in given), default=order)

    def record_gold_answer(self, task: int, is_invalid: bool, called_invalid: bool | None) -> None:
        """Record the answer to the gold question of a task. None as `called_invalid` removes the answer."""
        if task in self.gold_answers:
            self.gold_counts[self.gold_answers.pop(task)] -= 1
        if called_invalid is not None:
            self.gold_answers[task] = is_invalid, called_invalid
            self.gold_counts[is_invalid, called_invalid] += 1

    def estimate_rates(self) -> tuple[float, float]:
        """Return the posterior means of sensitivity and specificity."""
        return _estimate_rates(*self.list_gold_counts())

    def list_gold_counts(self) -> list[int]:
        """Return the numbers of answers to gold questions, in the order of `VoteTable.gold_counts`."""
        return [
            self.gold_counts[kind, called]
            for kind, called in ((True, True), (True, False), (False, False), (False, True))
        ]

    def has_failed_gold(self) -> bool:
        """Return whether sensitivity or specificity is below its minimum (`sequential_test.is_below_limit`), or
        whether the person gives the same answer to nearly all gold questions.
        """
        if self._gold_agreement.is_uniform(self.name):
            return True
        counts = [(self.gold_counts[kind, kind], self.gold_counts[kind, not kind]) for kind in (True, False)]
        return any(
            num_correct + num_wrong >= MIN_GOLD_ANSWERS
            and is_below_limit(num_correct, num_correct + num_wrong, minimum)
            for (num_correct, num_wrong), minimum in zip(counts, MIN_SENSITIVITY_SPECIFICITY, strict=True)
        )


@lru_cache(maxsize=100_000)
def _estimate_rates(*gold_counts: int) -> tuple[float, float]:
    sensitivity, specificity = estimate_gold_rates(np.array([gold_counts]))[0].tolist()
    return sensitivity, specificity


def is_overlap_task(key: str, rules: AssignmentRules) -> bool:
    """Return whether a task is in the overlap: the random sample of tasks that several annotators judge in
    any case.

    With an overlap rate of 0.1, about 100 of 1,000 tasks are in the overlap (standard deviation 9.5):

    >>> sum(is_overlap_task(f"t{number}", AssignmentRules(overlap_rate=0.1)) for number in range(1000))
    95
    """
    return int(_random_order_key(rules.seed, "overlap", key)[:8], 16) < rules.overlap_rate * 16**8


def is_audit_task(key: str, rules: AssignmentRules) -> bool:
    """Return whether an adjudicator judges a task in any case, so that the error of the verdicts can be measured."""
    return int(_random_order_key(rules.seed, "audit", key)[:8], 16) < rules.audit_rate * 16**8


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


def _random_order_key(seed: int, *key: str) -> str:
    """Return a random text that depends only on seed and key. Sorting by this text gives a random order."""
    return hashlib.sha256("\x1f".join((str(seed), *key)).encode()).hexdigest()
