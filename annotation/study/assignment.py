"""Who is shown which task next, and when it is known: decided at the moment of asking, one vote after the other.

A candidate's probability of having no answer starts from what stage `estimate` says of it, and moves with every vote, by
as much as the filter questions say of the voter: how often they call invalid what is (sensitivity), and valid what is
(specificity). A vote is asked only where it can change what the votes come to; some tasks get three in any case, so
that agreement can be told. What the votes leave in doubt, experts decide. Pure: no clock, no file; the same calls in the
same order give the same. It also runs inside Label Studio's Python, so it stands on numpy alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from math import log, nan
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

# Constants fixed on one simulated crowd (`rgqa study votes-needed`).
# What is thought of somebody before any filter, as (right, wrong) answers to invalid filters, and to valid ones.
SENSITIVITY_PRIOR, SPECIFICITY_PRIOR = (18.0, 2.0), (19.0, 1.0)
MAX_PROBABILITY = 0.99  # no estimate is believed beyond this: what is wrong with the source, no graph tells
MIN_SHARED_VOTES = 3  # votes of a task that several judge in any case
MIN_GOLD_ANSWERS = 10  # filters of a kind, answered, from which on somebody may be out: of one or two an interval says little
MIN_SENSITIVITY_SPECIFICITY = (
    0.7,
    0.8,
)  # sensitivity and specificity from which on somebody's votes count, as `collect` has it

TaskMapping = Mapping[str, Any]
AnswerPair = tuple[str, str]
NO_VOTE, VALID, INVALID = 0, 1, 2  # a person's vote on a candidate
VOTE_SIGNS = np.array([0, -1, 1], np.int16)  # what each adds to the votes for invalid, less those for valid


class AssignmentRules(NamedTuple):
    """How votes are asked.

    Attributes:
        votes: how many a task gets at most; odd, as the last else only makes a tie. sure: the probability at which no more are asked.
        overlap: share of the tasks, drawn by lot, that get three votes whatever the first say; so does the first wave.
        wave: tasks that are finished before the next are begun.
        budget: judgements in all. most_tasks: judgements per person. 0 is no limit.
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
    """The state of a study: what everybody said, and has open.

    Args:
        tasks: {"key", "block", "first": {"role", "candidate", "expected"}, "second": {...}}. Roles: "candidate" (one a task),
            "filter" (expected: "valid", "invalid", or None once it has fallen), "repeat" (the candidate of another task).
        answerable: candidate id -> prior probability of having an answer; 0.5 where there is none.
        doubtful: candidate id -> probability of having no answer, of those that stage `collect` leaves in doubt.
    """

    def __init__(
        self,
        tasks: Sequence[TaskMapping],
        answerable: Mapping[str, float],
        rules: AssignmentRules = DEFAULT_RULES,
        doubtful: Mapping[str, float] = MappingProxyType({}),
    ) -> None:
        self.rules = rules
        # By block, which has the surest first, then by lot. All arrays below are in this order.
        self.tasks = sorted(
            tasks, key=lambda task: (task["block"], _random_order_key(rules.seed, "wave", task["key"]))
        )
        self.keys = [task["key"] for task in self.tasks]
        self.task_index = {key: place for place, key in enumerate(self.keys)}
        self.candidate_index: dict[str, int] = {}  # candidate -> the place of its task
        for place, task in enumerate(self.tasks):
            (own,) = (
                row["candidate"] for row in (task["first"], task["second"]) if row["role"] == "candidate"
            )
            if self.candidate_index.setdefault(own, place) != place:
                raise ValueError(f"candidate {own} is under judgement in two tasks")
        prior = np.array([answerable.get(key, 0.5) for key in self.candidate_index])
        prior = np.clip(prior, 1 - MAX_PROBABILITY, MAX_PROBABILITY)
        self.prior_log_odds = np.log(1 - prior) - np.log(prior)  # log odds of invalid
        # Tasks that several judge.
        self.is_overlap = np.array(
            [place < rules.wave_size or is_overlap_task(key, rules) for place, key in enumerate(self.keys)],
            bool,
        )
        self.annotators: dict[str, _AnnotatorState] = {}
        self.num_judgements = 0  # judgements in all
        count = len(self.keys)
        self.num_open = np.zeros(count, np.int16)  # with how many people each task is open
        # Of each candidate: log odds of invalid, votes that count, how many
        # people may have its task open, what experts say (as with votes), whether the votes leave no doubt; and whether
        # these are to be worked out anew.
        self._log_odds = self.prior_log_odds.copy()
        self._vote_counts, self._wanted_votes, self._adjudicated_sign = np.zeros((3, count), np.int16)
        self._is_settled, self._needs_update = np.zeros(count, bool), np.ones(count, bool)
        named = np.clip(
            [doubtful.get(key, np.nan) for key in self.candidate_index], 1 - MAX_PROBABILITY, MAX_PROBABILITY
        )
        self._collect_doubt = np.abs(
            np.log(named) - np.log(1 - named)
        )  # what `collect` is in doubt of, as log odds; else NaN

    def mark_adjudicator(self, person: str) -> None:
        """They are an expert: they get what stays doubtful, alone, and what they say decides. Budget and `most_tasks` do not
        bind them. To be called before anything of theirs is told."""
        self._get_annotator(person).is_adjudicator = True

    def assign_next_task(self, person: str) -> str | None:
        """The key of the task to show, which is then open with them: the one that is, if there is; None: nothing for them now.

        The earliest wave that has one for them; in it first what has most votes, then a lot of theirs. For an expert what is
        most in doubt, once nobody else is asked.
        """
        who = self._get_annotator(person)
        if who.open_task is not None:
            return self.keys[who.open_task]
        if who.is_excluded or who.has_failed_gold():
            return None
        if who.is_adjudicator:
            return self._assign_adjudication(
                person, self.find_doubtful_tasks() & who.is_available & (self.num_open == 0)
            )
        if self._count_tasks_left(who) < 1 or self._count_judgements_left() < 1:
            return None
        free = (self.get_wanted_votes() > self.num_open) & who.is_available
        if not free.any():
            return None
        start = int(free.argmax()) // self.rules.wave_size * self.rules.wave_size
        places = start + np.flatnonzero(free[start : start + self.rules.wave_size])
        votes = self._vote_counts[places] + self.num_open[places]
        most = places[votes == votes.max()].tolist()
        place = min(most, key=lambda place: _random_order_key(self.rules.seed, person, self.keys[place]))
        self.assign_task(person, self.keys[place])
        return self.keys[place]

    def assign_task(self, person: str, key: str) -> None:
        """The task is open with them, in place of what was."""
        self.release_open_task(person)
        who = self._get_annotator(person)
        who.open_task = self.task_index[key]
        self.num_open[who.open_task] += 1

    def record_answer(self, person: str, key: str, first: str, second: str) -> None:
        """What somebody said of the two questions: "valid", "invalid" or "unsure", which counts as valid. Again is a correction."""
        who, place = self._get_annotator(person), self.task_index[key]
        self._close_task(who, place)
        self.num_judgements += place not in who.answers and not who.is_adjudicator
        who.is_available[place] = False
        who.answers[place] = first, second
        self._update_votes(who, place)

    def record_skip(self, person: str, key: str) -> None:
        """They do not get it again; what they had said of it counts no more."""
        who, place = self._get_annotator(person), self.task_index[key]
        self._close_task(who, place)
        who.is_available[place] = False
        if who.answers.pop(place, None):
            self.num_judgements -= not who.is_adjudicator
            self._update_votes(who, place)

    def release_open_task(self, person: str) -> None:
        """What is open with them is free again; what they answered stays. Asking for more is coming back."""
        who = self._get_annotator(person)
        if who.open_task is not None:
            self._close_task(who, who.open_task)

    def remove_annotator(self, person: str) -> None:
        """As if they had never been there."""
        self.release_open_task(person)
        who = self.annotators.pop(person)
        self.num_judgements -= 0 if who.is_adjudicator else len(who.answers)
        self._needs_update |= who.votes != NO_VOTE

    def exclude_annotator(self, person: str, since: int = 0) -> None:
        """They get no more tasks, and of what they answered nothing counts from their task number `since` (the first is 0) on, as
        stage `collect` has it: others are asked instead. To be called when all their answers are told."""
        self.release_open_task(person)
        who = self._get_annotator(person)
        who.is_excluded = True
        for place in [*who.answers][since:]:
            self._update_votes(who, place, counts=False)

    def has_failed_gold(self, person: str) -> bool:
        """Whether they fail so many filters that no vote of theirs can count: they get no more tasks."""
        return self._get_annotator(person).has_failed_gold()

    def get_posterior_invalid(self, candidate: str) -> float:
        """Posterior probability of having no answer."""
        self._update_posteriors()
        return float(1 / (1 + np.exp(-self._log_odds[self.candidate_index[candidate]])))

    def is_decided(self, key: str) -> bool:
        """No more votes are wanted on this task's candidate."""
        return not self.get_wanted_votes()[self.task_index[key]]

    def get_wanted_votes(self) -> np.ndarray:
        """[tasks] in the order of `keys`: how many people may have each task open now; 0: no more votes are wanted."""
        self._update_posteriors()
        return self._wanted_votes

    def find_doubtful_tasks(self) -> np.ndarray:
        """[tasks] in the order of `keys`: whether an expert is to decide, as others' votes, of which no more are asked, do not."""
        over = (self.get_wanted_votes() == 0) | (self._count_judgements_left() < 1)
        return (
            over
            & (self._vote_counts > 0)
            & (self._adjudicated_sign == 0)
            & (~self._is_settled | ~np.isnan(self._collect_doubt))
        )

    def get_progress(self, person: str) -> tuple[int, int]:
        """How many they judged; and how many there may be at most for them, if all that is wanted now is theirs."""
        who = self._get_annotator(person)
        if who.is_adjudicator:
            return len(who.answers), len(who.answers) + int(
                (self.find_doubtful_tasks() & who.is_available).sum()
            )
        free = (
            0
            if who.is_excluded or who.has_failed_gold()
            else np.count_nonzero((self.get_wanted_votes() > 0) & who.is_available)
        )
        left = min(free, self._count_tasks_left(who), self._count_judgements_left())
        return len(who.answers), len(who.answers) + max(0, int(left))

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

    def _count_tasks_left(self, who: _AnnotatorState) -> float:
        return (
            self.rules.max_tasks_per_annotator - len(who.answers)
            if self.rules.max_tasks_per_annotator
            else np.inf
        )

    def _count_judgements_left(self) -> float:
        if not self.rules.max_judgements:
            return np.inf
        at_work = sum(
            who.open_task is not None and not who.is_adjudicator for who in self.annotators.values()
        )
        return self.rules.max_judgements - self.num_judgements - at_work

    def _close_task(self, who: _AnnotatorState, place: int) -> None:
        if who.open_task == place:
            who.open_task = None
            self.num_open[place] -= 1

    def _update_votes(self, who: _AnnotatorState, place: int, counts: bool = True) -> None:
        """Take in what somebody says of a task now, in place of what they said of it before; nothing if it does not count."""
        asked = self.tasks[place]["first"], self.tasks[place]["second"]
        given = who.answers.get(place) if counts else None
        said = [choice == "invalid" for choice in given] if given else [None, None]
        # Who fails the filter may not have looked: what they say of the candidate is no vote, as in `collect`.
        failed = False
        for row, invalid in zip(asked, said, strict=True):
            if row["role"] == "filter" and row["expected"]:
                failed = invalid is not None and invalid != (row["expected"] == "invalid")
                who.record_gold_answer(place, row["expected"] == "invalid", invalid)
                self._needs_update |= who.votes != NO_VOTE
        for row, invalid in zip(asked, said, strict=True):
            if row["role"] != "filter" and row["candidate"] in self.candidate_index:
                about = self.candidate_index[row["candidate"]]
                who.is_available[about] = False
                who.record_vote(about, place, None if failed else invalid)
                self._needs_update[about] = True

    def _update_posteriors(self) -> None:
        """Work out anew what the votes come to, where something was said, or more is known of who said it."""
        at = np.flatnonzero(self._needs_update)
        if not len(at):
            return
        self._needs_update[at] = False
        odds, (count, lead, word) = self.prior_log_odds[at], np.zeros((3, len(at)), np.int16)
        for _, who in sorted(self.annotators.items()):  # so that the sums do not depend on who came first
            sensitivity, specificity = who.estimate_rates()
            if (
                who.has_failed_gold()
                or sensitivity < MIN_SENSITIVITY_SPECIFICITY[0]
                or specificity < MIN_SENSITIVITY_SPECIFICITY[1]
            ):
                continue
            votes = who.votes[at]
            if who.is_adjudicator:
                word += VOTE_SIGNS[votes]
                continue
            odds += compute_vote_weights(sensitivity, specificity)[votes]
            count += votes != NO_VOTE
            lead += VOTE_SIGNS[votes]
        sure = log(self.rules.min_posterior) - log(1 - self.rules.min_posterior)
        settled = ((odds >= sure) & (lead > 0)) | ((-odds >= sure) & (lead < 0))
        self._wanted_votes[at] = np.where(
            word, 0, self._compute_wanted_votes(odds, count, lead, settled, self.is_overlap[at])
        )
        odds = np.where(word, np.sign(word) * (log(MAX_PROBABILITY) - log(1 - MAX_PROBABILITY)), odds)
        self._log_odds[at], self._vote_counts[at], self._adjudicated_sign[at], self._is_settled[at] = (
            odds,
            count,
            word,
            settled,
        )

    def _compute_wanted_votes(
        self, odds: np.ndarray, count: np.ndarray, lead: np.ndarray, settled: np.ndarray, thorough: np.ndarray
    ) -> np.ndarray:
        """How many people may have each task open now: as many as are missing of three where several judge in any case; else
        one, if nobody has judged it or votes to come can end the doubt."""
        left = np.maximum(self.rules.max_votes - count, 0)
        sure = log(self.rules.min_posterior) - log(1 - self.rules.min_posterior)
        usual = compute_vote_weights(
            *(right / (right + wrong) for right, wrong in (SENSITIVITY_PRIOR, SPECIFICITY_PRIOR))
        )
        reach = (odds + left * usual[INVALID] >= sure) & (lead + left > 0)
        reach |= (odds + left * usual[VALID] <= -sure) & (lead - left < 0)
        together = np.minimum(left, np.maximum(MIN_SHARED_VOTES - count, 0)) * thorough
        return np.maximum(together, np.minimum(left, ~settled & (reach | (count == 0))))


class _AnnotatorState:
    """What somebody said.

    Attributes:
        may: [tasks] neither answered nor skipped, nor the candidate judged as a repeat. votes: [candidates] VALID, INVALID or 0.
        answers: place of a task -> both answers. given: candidate -> place of a task -> vote. filters: place of a task -> whether its filter is invalid, and was called so;
        counts: how many of each.
        open: the place of the task that they have before them. expert: their word decides. excluded: by stage `collect`.
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

    def record_vote(self, about: int, place: int, invalid: bool | None) -> None:
        """What they say of a candidate in a task; None: nothing any more. Who says both, when it comes again, has no vote."""
        given = self.votes_by_task.setdefault(about, {})
        given.pop(place, None)
        if invalid is not None:
            given[place] = INVALID if invalid else VALID
        self.votes[about] = next(iter(given.values())) if len(set(given.values())) == 1 else NO_VOTE

    def record_gold_answer(self, place: int, expected: bool, invalid: bool | None) -> None:
        """What they say of a task's filter, which is invalid if that is expected; None: nothing any more."""
        if place in self.gold_answers:
            self.gold_counts[self.gold_answers.pop(place)] -= 1
        if invalid is not None:
            self.gold_answers[place] = expected, invalid
            self.gold_counts[expected, invalid] += 1

    def estimate_rates(self) -> tuple[float, float]:
        """Sensitivity and specificity."""
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
        """Whether sensitivity or specificity is below its limit even by the upper end of its interval, from filters alone."""
        asked = [(self.gold_counts[kind, kind], self.gold_counts[kind, not kind]) for kind in (True, False)]
        return any(
            right + wrong >= MIN_GOLD_ANSWERS and wilson_interval(right, right + wrong)[1] < least
            for (right, wrong), least in zip(asked, MIN_SENSITIVITY_SPECIFICITY, strict=True)
        )


def is_overlap_task(key: str, rules: AssignmentRules) -> bool:
    """Whether a task is of the overlap: of those, drawn by lot, that several judge whatever the first say.

    >>> sum(drawn(f"t{number}", AskingRules(overlap=0.1)) for number in range(1000))  # 100, give or take 9.5
    95
    """
    return int(_random_order_key(rules.seed, "overlap", key)[:8], 16) < rules.overlap_rate * 16**8


def wilson_interval(right: int, total: int) -> tuple[float, float]:
    """95 % Wilson score interval of a share (Wilson 1927); (nan, nan) for a total of 0.

    >>> low, high = wilson(8, 10)
    >>> round(low, 4), round(high, 4)
    (0.4902, 0.9433)
    """
    if not total:
        return nan, nan
    z, share = 1.959963984540054, right / total
    middle, half = share + z**2 / 2 / total, z * (share * (1 - share) / total + z**2 / 4 / total**2) ** 0.5
    return max(0.0, (middle - half) / (1 + z**2 / total)), min(1.0, (middle + half) / (1 + z**2 / total))


def compute_vote_weights(sensitivity: float, specificity: float) -> np.ndarray:
    """By how much no vote, VALID and INVALID move the log odds of invalid.

    >>> weights(0.9, 0.95).round(3).tolist()  # log(0.1 / 0.95) and log(0.9 / 0.05)
    [0.0, -2.251, 2.89]
    """
    valid, invalid = log(1 - sensitivity) - log(specificity), log(sensitivity) - log(1 - specificity)
    return np.array([0.0, valid, invalid])


def _random_order_key(seed: int, *key: str) -> str:
    """A place drawn by lot, which depends on the key alone."""
    return hashlib.sha256("\x1f".join((str(seed), *key)).encode()).hexdigest()
