"""Who judges what: every task into as many queues as it needs verdicts. Pure; the same input gives the same plan.

What somebody judged or began stays with them. Open tasks stay too, unless their annotator left, the batch changed, or
somebody has much more or less open than their share: then as few as possible move. Agreement can be computed when
people judge the same tasks, so pairs of annotators are spread evenly.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import permutations
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
    qualification_share: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.8  # of their answers to be right
    seed: int = 0
    # `local`: pictures are served by Label Studio from data/. Else the address that stands before a picture's path
    # below data/, for a server elsewhere.
    pictures: Annotated[str, msgspec.Meta(pattern=r"^(local|https?://.+)$")] = "local"


class Assignment(Record):
    """A line of `study/plan.jsonl`: an open task of an annotator. Lines of one annotator stand in the queue's order."""

    annotator: str
    task_id: str


class StudyState(Record):
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


class WorkPlan(Record):
    """Open tasks, and votes that nobody can give.

    Attributes:
        queues: pseudonym -> open tasks in the order in which they are to be shown; a key for every active annotator.
        short: task id -> votes that are missing, because there are too few people or they have as much as they may.
    """

    queues: dict[str, list[str]]
    short: dict[str, int]


def plan(
    tasks: Sequence[Task],
    roster: Sequence[Annotator],
    params: AnnotateParams,
    state: StudyState | None = None,
) -> WorkPlan:
    """Share out the tasks among those who are active."""
    board = _Board(tasks, roster, params, state or StudyState())
    held = {name: set(keys) for name, keys in board.state.held.items()}
    _share_out(board, lambda key: [name for name in board.shares if key in held.get(name, ())], board.stays)
    short = _share_out(board, lambda key: board.shares, board.next)
    _level(board)
    queues: dict[str, list[str]] = {}
    for name in board.shares:
        place = {key: number for number, key in enumerate(board.state.held.get(name, ()))}
        # What is there already keeps its place; what is new comes after it, block by block, drawn by lot.
        order = {
            key: (place.get(key, inf), board.task[key].block, lot(params.seed, name, key))
            for key in board.queue(name)
        }
        queues[name] = sorted(order, key=order.__getitem__)
    return WorkPlan(queues=queues, short=short)


def overlapping(tasks: Iterable[Task], params: AnnotateParams) -> set[str]:
    """The tasks that everybody judges: `overlap` of each subset, drawn by lot."""
    by_subset: dict[str, list[str]] = defaultdict(list)
    for task in tasks:
        by_subset[task.subset].append(task.task_id)
    together: set[str] = set()
    for keys in by_subset.values():
        keys.sort(key=lambda key: lot(params.seed, "overlap", key))
        together.update(keys[: round(params.overlap * len(keys))])
    return together


def lot(seed: int, *key: str) -> str:
    """A place drawn by lot that depends on the key alone, so that others joining or leaving change nothing."""
    return content_key("annotate", str(seed), *key)


class _Board:
    """The plan while it is made: who has which open tasks, and how much of what everybody has.

    Attributes:
        shares: active annotators. barred: task -> who judged, began or skipped it.
        wanted: task -> how many shall have it open. open: task -> who has it, in the order of getting it.
        left: how many more tasks somebody may get. load: open tasks, by subset.
        seen: (annotator, picture) -> tasks done and open. pairs: two annotators -> tasks in common.
    """

    def __init__(
        self, tasks: Sequence[Task], roster: Sequence[Annotator], params: AnnotateParams, state: StudyState
    ) -> None:
        self.params, self.state = params, state
        self.task = {task.task_id: task for task in tasks}
        self.shares = {
            person.pseudonym: person.share
            for person in roster
            if person.active and person.pseudonym not in state.excluded
        }
        self.barred = {key: {*state.judged.get(key, ()), *state.skipped.get(key, ())} for key in self.task}
        together = overlapping(tasks, params)
        names = sorted(self.task)
        keys = [names[i] for i in generator(params.seed, "annotate", "order").permutation(len(names))]
        # Tasks for all come first: if people may take only so many tasks, these are the ones that tell agreement. Then
        # those whose candidate is most probably unanswerable.
        keys.sort(key=lambda key: (key not in together, self.task[key].block))
        self.open: dict[str, list[str]] = {key: [] for key in keys}
        self.wanted = {
            key: len(self.shares.keys() - self.barred[key])
            if key in together
            else max(params.votes, state.wanted.get(key, 0)) - len(state.judged.get(key, ()))
            for key in self.open
        }
        self.left = dict.fromkeys(self.shares, params.most_tasks or inf)
        self.load: dict[str, Counter[str]] = {name: Counter() for name in self.shares}
        self.seen: Counter[tuple[str, str]] = Counter()
        self.pairs: Counter[tuple[str, str]] = Counter()
        for key, people in self.barred.items():
            self.pairs.update(permutations(people, 2))
            for name in people & self.shares.keys():
                self.left[name] -= 1
                self.seen[name, self.task[key].picture_id] += 1

    def give(self, key: str, name: str) -> None:
        self._count(key, name, 1)
        self.open[key].append(name)

    def take(self, key: str, name: str) -> None:
        self.open[key].remove(name)
        self._count(key, name, -1)

    def _count(self, key: str, name: str, by: int) -> None:
        for other in self.on(key):
            self.pairs[name, other] += by
            self.pairs[other, name] += by
        self.load[name][self.task[key].subset] += by
        self.left[name] -= by
        self.seen[name, self.task[key].picture_id] += by

    def on(self, key: str) -> list[str]:
        """Who judged or skipped a task, or has it open."""
        return [*self.barred[key], *self.open[key]]

    def queue(self, name: str) -> list[str]:
        """The open tasks of somebody."""
        return [key for key, people in self.open.items() if name in people]

    def fullness(self, name: str) -> float:
        return self.load[name].total() / self.shares[name]

    def stays(self, key: str, name: str) -> tuple[float | str, ...]:
        """For the order of those who have a task already: who keeps it."""
        return self.fullness(name), lot(self.params.seed, key, name)

    def next(self, key: str, name: str) -> tuple[float | str, ...]:
        """For the order of all: first the one with least of its subset, then of pairs with those who have it, and so on."""
        return (
            int(self.load[name][self.task[key].subset] / self.shares[name]),
            int(self.fullness(name)),
            sum(self.pairs[name, other] for other in self.on(key)),
            self.seen[name, self.task[key].picture_id],
            lot(self.params.seed, key, name),
        )


def _share_out(
    board: _Board,
    among: Callable[[str], Iterable[str]],
    order: Callable[[str, str], tuple[float | str, ...]],
) -> dict[str, int]:
    """Give out what is still wanted of each task to the first of those who may get it; the votes that nobody can give."""
    short = {}
    for key, people in board.open.items():
        while len(people) < board.wanted[key]:
            others = board.on(key)
            free = [name for name in among(key) if board.left[name] > 0 and name not in others]
            if not free:
                short[key] = board.wanted[key] - len(people)
                break
            board.give(key, min(free, key=partial(order, key)))
    return short


def _level(board: _Board) -> None:
    """Move open tasks from those who have too many to those who have too few, if somebody does."""
    totals = {name: load.total() for name, load in board.load.items()}
    each = sum(totals.values()) / sum(board.shares.values()) if board.shares else 0
    quotas = {name: each * share for name, share in board.shares.items()}
    if all(abs(totals[name] - quota) <= max(LEAST, SLACK * quota) for name, quota in quotas.items()):
        return
    queues = {name: board.queue(name) for name in board.shares}
    near = {
        (name, key)
        for name, keys in board.state.held.items()
        for key in [key for key in keys if name in board.open.get(key, ())][:NEAR]
    }
    for subset in sorted({task.subset for task in board.task.values()}):
        movable = {
            name: [key for key in queue if board.task[key].subset == subset and (name, key) not in near]
            for name, queue in queues.items()
        }
        _level_subset(board, subset, movable)


def _level_subset(board: _Board, subset: str, movable: Mapping[str, list[str]]) -> None:
    """Move as few tasks of a subset as bring everybody to their share; those far down in the lists go first."""
    each = sum(load[subset] for load in board.load.values()) / sum(board.shares.values())
    over = {name: board.load[name][subset] - each * share for name, share in board.shares.items()}
    stuck: set[tuple[str, str]] = set()
    while pairs := [
        (over[taker] - over[giver], giver, taker)
        for giver, taker in permutations(over, 2)
        if over[giver] - over[taker] > 1 + 1e-9 and (giver, taker) not in stuck and board.left[taker] > 0
    ]:
        _, giver, taker = min(pairs)
        key = next((key for key in reversed(movable[giver]) if taker not in board.on(key)), None)
        if key is None:
            stuck.add((giver, taker))
            continue
        movable[giver].remove(key)
        movable[taker].append(key)
        board.take(key, giver)
        board.give(key, taker)
        over[giver] -= 1
        over[taker] += 1
