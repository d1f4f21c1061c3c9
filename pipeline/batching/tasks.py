"""Annotation tasks: a picture, a candidate and its companion (a filter question or a repeat) in random order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from pipeline.batching.companions import Companions, Onlooker
from pipeline.batching.filter_questions import Filter, Known
from pipeline.core.errors import UserError
from pipeline.core.files import content_key
from pipeline.core.paths import DATA
from pipeline.core.progress import track
from pipeline.core.randomness import generator
from pipeline.core.records import SUBSETS, Candidate, Picture, Screened, Task, TaskQuestion
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
    screened: Iterable[Screened],
    filters: Mapping[str, Sequence[Filter]],
    template_share: float,
    filter_share: float,
    seed: int,
    estimates: Mapping[str, float] | None = None,
) -> list[Task]:
    """One task per candidate, sorted by block, then by task id, which is a lot: within a block nothing tells what to expect.

    Half of each subset's filters are invalid, as far as the evidence allows; where there is no such filter left, a task gets a
    valid one, and where there is none at all a repeat.

    Args:
        filters: picture id -> the filter questions that it offers.
        template_share: how many filters are made from the paper's templates, where there are such.
        filter_share: how many tasks have a filter at most; the others have a repeat.
        estimates: as `blocks` takes them; without, there is one block.

    Raises:
        UserError: the only candidate of a picture has no filter.
    """
    candidates = sorted((row.candidate for row in screened), key=lambda candidate: candidate.candidate_id)
    block = blocks(candidates, estimates) if estimates else {}
    companions = {
        key: Companions(key, members, filters[key], filter_share, generator(seed, "batch", "repeats", key))
        for key, members in grouped(candidates, lambda candidate: candidate.picture_id).items()
    }
    given = {subset: Counter[Known | None]() for subset in SUBSETS}
    onlooker, tasks = Onlooker(), []
    order = sorted(
        candidates, key=lambda row: (block.get(row.candidate_id, 0), content_key("made", row.candidate_id))
    )
    for candidate in track(order, "batch: tasks", unit="task"):
        rng = generator(seed, "batch", "task", candidate.candidate_id)
        beside, counts = companions[candidate.picture_id], given[candidate.subset]
        wanted = "invalid" if counts["invalid"] <= counts["valid"] and beside.has("invalid") else "valid"
        template = bool(rng.random() < template_share)
        companion = (
            beside.repeats.get(candidate.candidate_id)
            or beside.draw(candidate, wanted, template, onlooker, rng)
            or beside.repeat(candidate)
            or beside.draw(candidate, wanted, not template, onlooker, rng)
        )
        if companion is None:
            raise UserError(
                f"no filter question for candidate {candidate.candidate_id}: its picture has no other question "
                "with a program, and no template fits"
            )
        counts[getattr(companion, "expected", None)] += 1
        for row in (candidate, companion):
            onlooker.note(candidate.picture_id, row.text, isinstance(row, Filter))
        task = task_of(candidate, companion, candidate_first=bool(rng.random() < 0.5))
        tasks.append(msgspec.structs.replace(task, block=block.get(candidate.candidate_id, 0)))
    return sorted(tasks, key=lambda task: (task.block, task.task_id))


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
