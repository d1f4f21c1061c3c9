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

# Constants fixed on one simulated crowd (`rgqa study votes`).
# What is thought of somebody before any filter, as (right, wrong) answers to invalid filters, and to valid ones.
SENSITIVITY, SPECIFICITY = (18.0, 2.0), (19.0, 1.0)
SUREST = 0.99  # no estimate is believed beyond this: what is wrong with the source, no graph tells
TOGETHER = 3  # votes of a task that several judge in any case
FEWEST = 10  # filters of a kind, answered, from which on somebody may be out: of one or two an interval says little
LEAST = 0.7, 0.8  # sensitivity and specificity from which on somebody's votes count, as `collect` has it

Task = Mapping[str, Any]
Answers = tuple[str, str]
NONE, VALID, INVALID = 0, 1, 2  # a person's vote on a candidate
LEADS = np.array([0, -1, 1], np.int16)  # what each adds to the votes for invalid, less those for valid


class AskingRules(NamedTuple):
    """How votes are asked.

    Attributes:
        votes: how many a task gets at most; odd, as the last else only makes a tie. sure: the probability at which no more are asked.
        overlap: share of the tasks, drawn by lot, that get three votes whatever the first say; so does the first wave.
        wave: tasks that are finished before the next are begun.
        budget: judgements in all. most_tasks: judgements per person. 0 is no limit.
    """

    votes: int = 5
    sure: float = 0.99
    overlap: float = 0.1
    wave: int = 100
    budget: int = 0
    most_tasks: int = 0
    seed: int = 0


DEFAULTS = AskingRules()


class Asking:
    """The state of a study: what everybody said, and has open.

    Args:
        tasks: {"key", "block", "first": {"role", "candidate", "expected"}, "second": {...}}. Roles: "candidate" (one a task),
            "filter" (expected: "valid", "invalid", or None once it has fallen), "repeat" (the candidate of another task).
        answerable: candidate id -> prior probability of having an answer; 0.5 where there is none.
        doubtful: candidate id -> probability of having no answer, of those that stage `collect` leaves in doubt.
    """

    def __init__(
        self,
        tasks: Sequence[Task],
        answerable: Mapping[str, float],
        rules: AskingRules = DEFAULTS,
        doubtful: Mapping[str, float] = MappingProxyType({}),
    ) -> None:
        self.rules = rules
        # By block, which has the surest first, then by lot. All arrays below are in this order.
        self.tasks = sorted(tasks, key=lambda task: (task["block"], _lot(rules.seed, "wave", task["key"])))
        self.keys = [task["key"] for task in self.tasks]
        self.place = {key: place for place, key in enumerate(self.keys)}
        self.candidate: dict[str, int] = {}  # candidate -> the place of its task
        for place, task in enumerate(self.tasks):
            (own,) = (
                row["candidate"] for row in (task["first"], task["second"]) if row["role"] == "candidate"
            )
            if self.candidate.setdefault(own, place) != place:
                raise ValueError(f"candidate {own} is under judgement in two tasks")
        prior = np.array([answerable.get(key, 0.5) for key in self.candidate])
        prior = np.clip(prior, 1 - SUREST, SUREST)
        self.prior = np.log(1 - prior) - np.log(prior)  # log odds of invalid
        # Tasks that several judge.
        self.thorough = np.array(
            [place < rules.wave or drawn(key, rules) for place, key in enumerate(self.keys)], bool
        )
        self.people: dict[str, _Person] = {}
        self.judged = 0  # judgements in all
        count = len(self.keys)
        self.open = np.zeros(count, np.int16)  # with how many people each task is open
        # Of each candidate: log odds of invalid, votes that count, how many
        # people may have its task open, what experts say (as with votes), whether the votes leave no doubt; and whether
        # these are to be worked out anew.
        self._odds = self.prior.copy()
        self._count, self._wanted, self._word = np.zeros((3, count), np.int16)
        self._settled, self._stale = np.zeros(count, bool), np.ones(count, bool)
        named = np.clip([doubtful.get(key, np.nan) for key in self.candidate], 1 - SUREST, SUREST)
        self._named = np.abs(
            np.log(named) - np.log(1 - named)
        )  # what `collect` is in doubt of, as log odds; else NaN

    def appoint(self, person: str) -> None:
        """They are an expert: they get what stays doubtful, alone, and what they say decides. Budget and `most_tasks` do not
        bind them. To be called before anything of theirs is told."""
        self._person(person).expert = True

    def next(self, person: str) -> str | None:
        """The key of the task to show, which is then open with them: the one that is, if there is; None: nothing for them now.

        The earliest wave that has one for them; in it first what has most votes, then a lot of theirs. For an expert what is
        most in doubt, once nobody else is asked.
        """
        who = self._person(person)
        if who.open is not None:
            return self.keys[who.open]
        if who.excluded or who.out():
            return None
        if who.expert:
            return self._adjudication(person, self.doubtful() & who.may & (self.open == 0))
        if self._left(who) < 1 or self._budget_left() < 1:
            return None
        free = (self.wanted() > self.open) & who.may
        if not free.any():
            return None
        start = int(free.argmax()) // self.rules.wave * self.rules.wave
        places = start + np.flatnonzero(free[start : start + self.rules.wave])
        votes = self._count[places] + self.open[places]
        most = places[votes == votes.max()].tolist()
        place = min(most, key=lambda place: _lot(self.rules.seed, person, self.keys[place]))
        self.hold(person, self.keys[place])
        return self.keys[place]

    def hold(self, person: str, key: str) -> None:
        """The task is open with them, in place of what was."""
        self.leave(person)
        who = self._person(person)
        who.open = self.place[key]
        self.open[who.open] += 1

    def answer(self, person: str, key: str, first: str, second: str) -> None:
        """What somebody said of the two questions: "valid", "invalid" or "unsure", which counts as valid. Again is a correction."""
        who, place = self._person(person), self.place[key]
        self._close(who, place)
        self.judged += place not in who.answers and not who.expert
        who.may[place] = False
        who.answers[place] = first, second
        self._learn(who, place)

    def skip(self, person: str, key: str) -> None:
        """They do not get it again; what they had said of it counts no more."""
        who, place = self._person(person), self.place[key]
        self._close(who, place)
        who.may[place] = False
        if who.answers.pop(place, None):
            self.judged -= not who.expert
            self._learn(who, place)

    def leave(self, person: str) -> None:
        """What is open with them is free again; what they answered stays. Asking for more is coming back."""
        who = self._person(person)
        if who.open is not None:
            self._close(who, who.open)

    def forget(self, person: str) -> None:
        """As if they had never been there."""
        self.leave(person)
        who = self.people.pop(person)
        self.judged -= 0 if who.expert else len(who.answers)
        self._stale |= who.votes != NONE

    def exclude(self, person: str, since: int = 0) -> None:
        """They get no more tasks, and of what they answered nothing counts from their task number `since` (the first is 0) on, as
        stage `collect` has it: others are asked instead. To be called when all their answers are told."""
        self.leave(person)
        who = self._person(person)
        who.excluded = True
        for place in [*who.answers][since:]:
            self._learn(who, place, counts=False)

    def out(self, person: str) -> bool:
        """Whether they fail so many filters that no vote of theirs can count: they get no more tasks."""
        return self._person(person).out()

    def invalid(self, candidate: str) -> float:
        """Posterior probability of having no answer."""
        self._weigh()
        return float(1 / (1 + np.exp(-self._odds[self.candidate[candidate]])))

    def known(self, key: str) -> bool:
        """No more votes are wanted on this task's candidate."""
        return not self.wanted()[self.place[key]]

    def wanted(self) -> np.ndarray:
        """[tasks] in the order of `keys`: how many people may have each task open now; 0: no more votes are wanted."""
        self._weigh()
        return self._wanted

    def doubtful(self) -> np.ndarray:
        """[tasks] in the order of `keys`: whether an expert is to decide, as others' votes, of which no more are asked, do not."""
        over = (self.wanted() == 0) | (self._budget_left() < 1)
        return over & (self._count > 0) & (self._word == 0) & (~self._settled | ~np.isnan(self._named))

    def progress(self, person: str) -> tuple[int, int]:
        """How many they judged; and how many there may be at most for them, if all that is wanted now is theirs."""
        who = self._person(person)
        if who.expert:
            return len(who.answers), len(who.answers) + int((self.doubtful() & who.may).sum())
        free = 0 if who.excluded or who.out() else np.count_nonzero((self.wanted() > 0) & who.may)
        left = min(free, self._left(who), self._budget_left())
        return len(who.answers), len(who.answers) + max(0, int(left))

    def _person(self, name: str) -> _Person:
        if name not in self.people:
            self.people[name] = _Person(len(self.keys))
        return self.people[name]

    def _adjudication(self, person: str, free: np.ndarray) -> str | None:
        if not free.any():
            return None
        doubt = np.fmin(np.abs(self._odds), self._named)
        key = self.keys[int(np.where(free, doubt, np.inf).argmin())]
        self.hold(person, key)
        return key

    def _left(self, who: _Person) -> float:
        return self.rules.most_tasks - len(who.answers) if self.rules.most_tasks else np.inf

    def _budget_left(self) -> float:
        if not self.rules.budget:
            return np.inf
        at_work = sum(who.open is not None and not who.expert for who in self.people.values())
        return self.rules.budget - self.judged - at_work

    def _close(self, who: _Person, place: int) -> None:
        if who.open == place:
            who.open = None
            self.open[place] -= 1

    def _learn(self, who: _Person, place: int, counts: bool = True) -> None:
        """Take in what somebody says of a task now, in place of what they said of it before; nothing if it does not count."""
        asked = self.tasks[place]["first"], self.tasks[place]["second"]
        given = who.answers.get(place) if counts else None
        said = [choice == "invalid" for choice in given] if given else [None, None]
        # Who fails the filter may not have looked: what they say of the candidate is no vote, as in `collect`.
        failed = False
        for row, invalid in zip(asked, said, strict=True):
            if row["role"] == "filter" and row["expected"]:
                failed = invalid is not None and invalid != (row["expected"] == "invalid")
                who.passed(place, row["expected"] == "invalid", invalid)
                self._stale |= who.votes != NONE
        for row, invalid in zip(asked, said, strict=True):
            if row["role"] != "filter" and row["candidate"] in self.candidate:
                about = self.candidate[row["candidate"]]
                who.may[about] = False
                who.vote(about, place, None if failed else invalid)
                self._stale[about] = True

    def _weigh(self) -> None:
        """Work out anew what the votes come to, where something was said, or more is known of who said it."""
        at = np.flatnonzero(self._stale)
        if not len(at):
            return
        self._stale[at] = False
        odds, (count, lead, word) = self.prior[at], np.zeros((3, len(at)), np.int16)
        for _, who in sorted(self.people.items()):  # so that the sums do not depend on who came first
            sensitivity, specificity = who.rates()
            if who.out() or sensitivity < LEAST[0] or specificity < LEAST[1]:
                continue
            votes = who.votes[at]
            if who.expert:
                word += LEADS[votes]
                continue
            odds += weights(sensitivity, specificity)[votes]
            count += votes != NONE
            lead += LEADS[votes]
        sure = log(self.rules.sure) - log(1 - self.rules.sure)
        settled = ((odds >= sure) & (lead > 0)) | ((-odds >= sure) & (lead < 0))
        self._wanted[at] = np.where(word, 0, self._wants(odds, count, lead, settled, self.thorough[at]))
        odds = np.where(word, np.sign(word) * (log(SUREST) - log(1 - SUREST)), odds)
        self._odds[at], self._count[at], self._word[at], self._settled[at] = odds, count, word, settled

    def _wants(
        self, odds: np.ndarray, count: np.ndarray, lead: np.ndarray, settled: np.ndarray, thorough: np.ndarray
    ) -> np.ndarray:
        """How many people may have each task open now: as many as are missing of three where several judge in any case; else
        one, if nobody has judged it or votes to come can end the doubt."""
        left = np.maximum(self.rules.votes - count, 0)
        sure = log(self.rules.sure) - log(1 - self.rules.sure)
        usual = weights(*(right / (right + wrong) for right, wrong in (SENSITIVITY, SPECIFICITY)))
        reach = (odds + left * usual[INVALID] >= sure) & (lead + left > 0)
        reach |= (odds + left * usual[VALID] <= -sure) & (lead - left < 0)
        together = np.minimum(left, np.maximum(TOGETHER - count, 0)) * thorough
        return np.maximum(together, np.minimum(left, ~settled & (reach | (count == 0))))


class _Person:
    """What somebody said.

    Attributes:
        may: [tasks] neither answered nor skipped, nor the candidate judged as a repeat. votes: [candidates] VALID, INVALID or 0.
        answers: place of a task -> both answers. given: candidate -> place of a task -> vote. filters: place of a task -> whether its filter is invalid, and was called so;
        counts: how many of each.
        open: the place of the task that they have before them. expert: their word decides. excluded: by stage `collect`.
    """

    def __init__(self, tasks: int) -> None:
        self.may = np.ones(tasks, bool)
        self.votes = np.zeros(tasks, np.int8)
        self.answers: dict[int, Answers] = {}
        self.given: dict[int, dict[int, int]] = {}
        self.filters: dict[int, tuple[bool, bool]] = {}
        self.counts = {(expected, said): 0 for expected in (True, False) for said in (True, False)}
        self.open: int | None = None
        self.expert = self.excluded = False

    def vote(self, about: int, place: int, invalid: bool | None) -> None:
        """What they say of a candidate in a task; None: nothing any more. Who says both, when it comes again, has no vote."""
        given = self.given.setdefault(about, {})
        given.pop(place, None)
        if invalid is not None:
            given[place] = INVALID if invalid else VALID
        self.votes[about] = next(iter(given.values())) if len(set(given.values())) == 1 else NONE

    def passed(self, place: int, expected: bool, invalid: bool | None) -> None:
        """What they say of a task's filter, which is invalid if that is expected; None: nothing any more."""
        if place in self.filters:
            self.counts[self.filters.pop(place)] -= 1
        if invalid is not None:
            self.filters[place] = expected, invalid
            self.counts[expected, invalid] += 1

    def rates(self) -> tuple[float, float]:
        """Sensitivity and specificity."""
        found, missed = SENSITIVITY[0] + self.counts[True, True], SENSITIVITY[1] + self.counts[True, False]
        clear, alarms = SPECIFICITY[0] + self.counts[False, False], SPECIFICITY[1] + self.counts[False, True]
        return found / (found + missed), clear / (clear + alarms)

    def out(self) -> bool:
        """Whether sensitivity or specificity is below its limit even by the upper end of its interval, from filters alone."""
        asked = [(self.counts[kind, kind], self.counts[kind, not kind]) for kind in (True, False)]
        return any(
            right + wrong >= FEWEST and wilson(right, right + wrong)[1] < least
            for (right, wrong), least in zip(asked, LEAST, strict=True)
        )


def drawn(key: str, rules: AskingRules) -> bool:
    """Whether a task is of the overlap: of those, drawn by lot, that several judge whatever the first say.

    >>> sum(drawn(f"t{number}", AskingRules(overlap=0.1)) for number in range(1000))  # 100, give or take 9.5
    95
    """
    return int(_lot(rules.seed, "overlap", key)[:8], 16) < rules.overlap * 16**8


def wilson(right: int, total: int) -> tuple[float, float]:
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


def weights(sensitivity: float, specificity: float) -> np.ndarray:
    """By how much no vote, VALID and INVALID move the log odds of invalid.

    >>> weights(0.9, 0.95).round(3).tolist()  # log(0.1 / 0.95) and log(0.9 / 0.05)
    [0.0, -2.251, 2.89]
    """
    valid, invalid = log(1 - sensitivity) - log(specificity), log(sensitivity) - log(1 - specificity)
    return np.array([0.0, valid, invalid])


def _lot(seed: int, *key: str) -> str:
    """A place drawn by lot, which depends on the key alone."""
    return hashlib.sha256("\x1f".join((str(seed), *key)).encode()).hexdigest()
