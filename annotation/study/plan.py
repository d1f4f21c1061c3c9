"""Who judges what: every task into as many queues as it needs verdicts. Pure; the same input gives the same plan.

What somebody judged or began stays with them. Open tasks stay too, unless their annotator left, the batch changed, or
somebody has much more or less open than their share: then as few as possible move. Agreement can be computed when
people judge the same tasks, so pairs of annotators are spread evenly.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from math import inf
from typing import Annotated

import msgspec

from annotation.study.roster import Annotator
from pipeline.core.files import content_key
from pipeline.core.params import Params
from pipeline.core.randomness import generator
from pipeline.core.records import Record, Task

NEAR = 5  # the next tasks of a queue never move: one of them is on somebody's screen
SLACK = 0.1  # open tasks move once somebody has this much more or less of them than their share,
LEAST = 5  # and at least so many tasks


class AnnotateParams(Params):
    """Section `annotate` of a data set: how the people's work is shared out."""

    votes: Annotated[int, msgspec.Meta(ge=1)] = 2  # verdicts per task, each of another annotator
    overlap: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.0  # share of the tasks that everybody judges
    most_tasks: Annotated[int, msgspec.Meta(ge=0)] = 0  # per annotator; 0 = no limit
    qualification: Annotated[int, msgspec.Meta(ge=0)] = 0  # tasks of known answers to pass first; 0 = none
    qualification_share: Annotated[float, msgspec.Meta(ge=0, le=1)] = (
        0.8  # of their questions to be answered as known
    )
    seed: int = 0
    # `local`: pictures are served by Label Studio from data/. Else the address that stands before a picture's path
    # below data/, for a server elsewhere.
    pictures: Annotated[str, msgspec.Meta(pattern=r"^(local|https?://.+)$")] = "local"


class Assignment(Record):
    """A line of `study/plan.jsonl`: an open task of an annotator. Lines of one annotator stand in the queue's order."""

    annotator: str
    task_id: str


class Given(Record):
    """What is given already: task id -> pseudonyms.

    Attributes:
        judged: who gave a verdict, or has begun to; counts as a vote and never moves.
        skipped: who skipped it; no vote, and they do not get it again.
        held: pseudonym -> the open tasks of their queue, in its order.
        wanted: task id -> how many verdicts it shall have, where that is more than `votes`.
        excluded: annotators who get no tasks.
    """

    judged: dict[str, set[str]] = msgspec.field(default_factory=dict)
    skipped: dict[str, set[str]] = msgspec.field(default_factory=dict)
    held: dict[str, list[str]] = msgspec.field(default_factory=dict)
    wanted: dict[str, int] = msgspec.field(default_factory=dict)
    excluded: frozenset[str] = frozenset()


class Plan(Record):
    """Open tasks, and votes that nobody can give.

    Attributes:
        queues: pseudonym -> open tasks in the order in which they are to be shown; a key for every active annotator.
        short: task id -> votes that are missing, because there are too few people or they have as much as they may.
    """

    queues: dict[str, list[str]]
    short: dict[str, int]


def plan(
    tasks: Sequence[Task], roster: Sequence[Annotator], params: AnnotateParams, given: Given | None = None
) -> Plan:
    """Share out the tasks among those who are active."""
    return _Planner(tasks, roster, params, given or Given()).made()


def overlapping(tasks: Sequence[Task], params: AnnotateParams) -> set[str]:
    """The tasks that everybody judges: `overlap` of each subset, drawn by lot."""
    by_subset: dict[str, list[str]] = defaultdict(list)
    for task in tasks:
        by_subset[task.subset].append(task.task_id)
    return {
        key
        for keys in by_subset.values()
        for key in sorted(keys, key=lambda key: lot(params.seed, "overlap", key))[
            : round(params.overlap * len(keys))
        ]
    }


def lot(seed: int, *key: str) -> str:
    """A place drawn by lot that depends on the key alone, so that others joining or leaving change nothing."""
    return content_key("annotate", str(seed), *key)


class _Planner:
    """The plan while it is made: who has what, and how much everybody has."""

    def __init__(
        self, tasks: Sequence[Task], roster: Sequence[Annotator], params: AnnotateParams, given: Given
    ) -> None:
        self.params, self.given = params, given
        self.task = {task.task_id: task for task in tasks}
        self.share = {
            person.pseudonym: person.share
            for person in roster
            if person.active and person.pseudonym not in given.excluded
        }
        together = overlapping(tasks, params)
        names = sorted(self.task)
        keys = [names[i] for i in generator(params.seed, "annotate", "order").permutation(len(names))]
        # Tasks for all come first: if people may take only so many tasks, these are the ones that tell agreement.
        self.keys = sorted(keys, key=lambda key: key not in together)
        self.barred = {key: {*given.judged.get(key, ()), *given.skipped.get(key, ())} for key in self.task}
        self.missing = {key: self._missing(key, key in together) for key in self.keys}
        self.having: dict[str, list[str]] = {key: [] for key in self.task}  # open, by task
        self.load: dict[str, Counter[str]] = {name: Counter() for name in self.share}  # open, by subset
        self.total = dict.fromkeys(self.share, 0)
        self.seen: dict[str, Counter[str]] = {name: Counter() for name in self.share}  # by picture
        self.pairs: Counter[tuple[str, str]] = Counter()
        limit = params.most_tasks or inf
        self.room = dict.fromkeys(self.share, limit)
        for key, people in self.barred.items():
            for name in people & self.share.keys():
                self.room[name] -= 1
                self.seen[name][self.task[key].picture_id] += 1
            for a in people:
                self.pairs.update((a, b) for b in people if a != b)

    def _missing(self, key: str, for_all: bool) -> int:
        if for_all:
            return len(self.share.keys() - self.barred[key])
        wanted = max(self.params.votes, self.given.wanted.get(key, 0))
        return max(0, wanted - len(self.given.judged.get(key, ())))

    def made(self) -> Plan:
        self._keep()
        short = self._fill()
        self._level()
        queues: dict[str, list[str]] = {name: [] for name in self.share}
        for key in self.keys:
            for name in self.having[key]:
                queues[name].append(key)
        for name, row in queues.items():
            place = {key: i for i, key in enumerate(self.given.held.get(name, ()))}
            # What is there already keeps its place; what is new comes after it, drawn by lot.
            row.sort(
                key=lambda key, place=place, name=name: (
                    place.get(key, inf),
                    lot(self.params.seed, name, key),
                )
            )
        return Plan(queues=queues, short=short)

    def _keep(self) -> None:
        """Leave open tasks where they are, as far as they are still wanted."""
        held = {name: set(row) for name, row in self.given.held.items() if name in self.share}
        for key in self.keys:
            holders = [
                name
                for name in held
                if key in held[name] and name not in self.barred[key] and self.room[name] > 0
            ]
            holders.sort(
                key=lambda name: (self.total[name] / self.share[name], lot(self.params.seed, key, name))
            )
            for name in holders[: self.missing[key]]:
                self._give(key, name)

    def _fill(self) -> dict[str, int]:
        short = {}
        for key in self.keys:
            for done in range(len(self.having[key]), self.missing[key]):
                name = self._next(key)
                if name is None:
                    short[key] = self.missing[key] - done
                    break
                self._give(key, name)
        return short

    def _next(self, key: str) -> str | None:
        """Who gets a task next: the one with least of its subset, then of pairs with those who have it, and so on."""
        task = self.task[key]
        on_it = [*self.barred[key], *self.having[key]]
        free = [name for name in self.share if self.room[name] > 0 and name not in on_it]
        if not free:
            return None
        return min(
            free,
            key=lambda name: (
                int(self.load[name][task.subset] / self.share[name]),
                int(self.total[name] / self.share[name]),
                sum(self.pairs[name, other] for other in on_it),
                self.seen[name][task.picture_id],
                lot(self.params.seed, key, name),
            ),
        )

    def _give(self, key: str, name: str) -> None:
        task = self.task[key]
        for other in (*self.barred[key], *self.having[key]):
            self.pairs[name, other] += 1
            self.pairs[other, name] += 1
        self.having[key].append(name)
        self.load[name][task.subset] += 1
        self.total[name] += 1
        self.room[name] -= 1
        self.seen[name][task.picture_id] += 1

    def _take(self, key: str, name: str) -> None:
        task = self.task[key]
        self.having[key].remove(name)
        for other in (*self.barred[key], *self.having[key]):
            self.pairs[name, other] -= 1
            self.pairs[other, name] -= 1
        self.load[name][task.subset] -= 1
        self.total[name] -= 1
        self.room[name] += 1
        self.seen[name][task.picture_id] -= 1

    def _level(self) -> None:
        """Move open tasks from those who have too many to those who have too few."""
        everything, shares = sum(self.total.values()), sum(self.share.values())
        quota = {name: everything * share / shares for name, share in self.share.items()}
        uneven = [
            name for name in quota if abs(self.total[name] - quota[name]) > max(LEAST, SLACK * quota[name])
        ]
        if not uneven:
            return
        near = {
            (name, key)
            for name, row in self.given.held.items()
            for key in [key for key in row if key in self.having and name in self.having[key]][:NEAR]
        }
        for subset in sorted({task.subset for task in self.task.values()}):
            movable = {name: [] for name in self.share}
            for key in self.keys:
                if self.task[key].subset == subset:
                    for name in self.having[key]:
                        if (name, key) not in near:
                            movable[name].append(key)
            self._level_subset(subset, shares, movable)

    def _level_subset(self, subset: str, shares: float, movable: dict[str, list[str]]) -> None:
        whole = sum(self.load[name][subset] for name in self.share)
        over = {name: self.load[name][subset] - whole * share / shares for name, share in self.share.items()}
        stuck: set[tuple[str, str]] = set()
        while pairs := [
            (over[b] - over[a], a, b)
            for a in over
            for b in over
            if over[a] - over[b] > 1 + 1e-9 and (a, b) not in stuck and self.room[b] > 0
        ]:
            _, giver, taker = min(pairs)
            found = next(
                (
                    key
                    for key in reversed(movable[giver])
                    if taker not in self.having[key] and taker not in self.barred[key]
                ),
                None,
            )
            if found is None:
                stuck.add((giver, taker))
                continue
            movable[giver].remove(found)
            movable[taker].append(found)
            self._take(found, giver)
            self._give(found, taker)
            over[giver] -= 1
            over[taker] += 1
