"""Annotation tasks: a picture, a candidate and its companion (a filter question or a repeat) in random order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Literal

import msgspec

from pipeline.batching.companions import Companions, Offered, Onlooker
from pipeline.batching.filter_questions import Filter, Known
from pipeline.core.errors import UserError
from pipeline.core.files import content_key
from pipeline.core.paths import DATA
from pipeline.core.progress import track
from pipeline.core.randomness import generator
from pipeline.core.records import SUBSETS, Candidate, Picture, Step, Subset, Task, TaskQuestion
from pipeline.core.rows import grouped

BLOCK = 200  # tasks: enough that nobody sees the sure ones thin out, few enough that a budget gets the surest


def blocks(
    candidates: Sequence[Candidate], estimates: Mapping[str, float], size: int = BLOCK
) -> dict[str, int]:
    """The block of each candidate, by id: 0 for those of each subset that are the least likely to have an answer, and so on.

    Every block has as much of each subset, as far as the numbers allow, so that no budget leaves one out.

    Args:
        estimates: candidate id -> how probably it has an answer (`Estimate`). size: tasks of a block.
    """
    number = -(-len(candidates) // size)
    block = {}
    for members in grouped(candidates, lambda candidate: candidate.subset).values():
        ids = sorted(
            (row.candidate_id for row in members),
            key=lambda key: (estimates[key], content_key("block", key)),
        )
        block |= {key: place * number // len(ids) for place, key in enumerate(ids)}
    return block


def make_tasks(
    candidates: Iterable[Candidate],
    offered: Mapping[str, Offered],
    template_share: float,
    filter_share: float,
    seed: int,
    estimates: Mapping[str, float] | None = None,
) -> Iterator[Task]:
    """One task per candidate, sorted by block, then by task id, which is a lot: within a block nothing tells what to expect.
    They are made a block at a time; without estimates there is one.

    Half of each subset's filters are invalid, as far as the evidence allows; where there is no such filter left, a task gets a
    valid one, and where there is none at all a repeat.

    Args:
        offered: picture id -> the filter questions that it offers.
        template_share: how many filters are made from the paper's templates, where there are such.
        filter_share: how many tasks have a filter at most; the others have a repeat.
        estimates: as `blocks` takes them.

    Raises:
        UserError: the only candidate of a picture has no filter.
    """
    candidates = sorted(candidates, key=lambda candidate: candidate.candidate_id)
    block = blocks(candidates, estimates) if estimates else {}
    companions = {
        key: Companions(key, members, offered, filter_share, generator(seed, "batch", "repeats", key))
        for key, members in grouped(candidates, lambda candidate: candidate.picture_id).items()
    }
    candidates.sort(key=lambda row: (block.get(row.candidate_id, 0), content_key("made", row.candidate_id)))
    beside = Beside(companions, template_share, seed)
    order = track(candidates, "batch: tasks", unit="task")
    for number, members in groupby(order, lambda row: block.get(row.candidate_id, 0)):
        made = (msgspec.structs.replace(beside.task(row), block=number) for row in members)
        yield from sorted(made, key=lambda task: task.task_id)


class Beside:
    """Finds a companion for one candidate after the other, by what was shown before.

    Args:
        companions: what each picture has left. template_share, seed: as `make_tasks` takes them.
    """

    def __init__(self, companions: Mapping[str, Companions], template_share: float, seed: int) -> None:
        self._companions, self._template_share, self._seed = companions, template_share, seed
        self._given = {subset: Counter[Known | None]() for subset in SUBSETS}
        self._onlooker = Onlooker()

    def task(self, candidate: Candidate) -> Task:
        """A candidate's task, in block 0.

        Raises:
            UserError: it is the only one of a picture that has no filter.
        """
        rng = generator(self._seed, "batch", "task", candidate.candidate_id)
        beside, onlooker = self._companions[candidate.picture_id], self._onlooker
        template = bool(rng.random() < self._template_share)
        companion = beside.repeats.get(candidate.candidate_id)
        if companion is None:
            wanted = self._wanted(candidate.subset, beside)
            companion = (
                beside.draw(candidate, wanted, template, onlooker, rng)
                or beside.repeat(candidate)
                or beside.draw(candidate, wanted, not template, onlooker, rng)
            )
        if companion is None:
            raise UserError(
                f"no filter question for candidate {candidate.candidate_id}: its picture has no other question "
                "with a program, and no template fits"
            )
        self._given[candidate.subset][getattr(companion, "expected", None)] += 1
        for row in (candidate, companion):
            onlooker.note(candidate.picture_id, row.text, isinstance(row, Filter))
        return task_of(candidate, companion, candidate_first=bool(rng.random() < 0.5))

    def _wanted(self, subset: Subset, beside: Companions) -> Known:
        counts = self._given[subset]
        return "invalid" if counts["invalid"] <= counts["valid"] and beside.has("invalid") else "valid"


def task_of(candidate: Candidate, companion: Filter | Candidate, candidate_first: bool) -> Task:
    """A candidate and its companion as a task."""
    known = companion if isinstance(companion, Filter) else None
    key = content_key(
        "task",
        candidate.candidate_id,
        candidate.text,
        companion.text,
        known.expected if known else "",
        str(candidate_first),
    )
    asked = _question(key, candidate, "candidate")
    beside = _question(key, companion, "repeat")
    if known:
        beside = msgspec.structs.replace(
            beside, role="filter", expected=known.expected, source=known.source, why=known.why
        )
    first, second = (asked, beside) if candidate_first else (beside, asked)
    subset, picture_id = candidate.subset, candidate.picture_id
    return Task(task_id=key, picture_id=picture_id, subset=subset, first=first, second=second)


def whole(task: Task, programs: Callable[[TaskQuestion], tuple[Step, ...]]) -> Task:
    """The task with the programs of its candidates, which were made without to save memory."""
    first, second = (
        row if row.role == "filter" else msgspec.structs.replace(row, program=programs(row))
        for row in (task.first, task.second)
    )
    return msgspec.structs.replace(task, first=first, second=second)


def _question(key: str, row: Filter | Candidate, role: Literal["candidate", "repeat"]) -> TaskQuestion:
    return TaskQuestion(
        key=content_key(key, row.text),
        text=row.text,
        role=role,
        candidate_id=row.candidate_id,
        question_id=row.question_id,
        program=row.program,
    )


def shown(task: Task, picture: Picture) -> dict[str, dict[str, str]]:
    """A task as Label Studio imports it: nothing in it tells the two questions apart.

    The picture's address is that of Label Studio's local file serving, with `data/` as document root.
    """
    path = Path(picture.path).relative_to(DATA).as_posix()
    return {
        "data": {
            "task": task.task_id,
            "image": f"/data/local-files/?d={path}",
            "first": task.first.text,
            "second": task.second.text,
        }
    }
