"""Annotation tasks: a picture, a candidate and a filter question in random order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from pipeline.batching.filter_questions import Filter, FilterPool, halves
from pipeline.core.errors import UserError
from pipeline.core.files import content_key
from pipeline.core.paths import DATA
from pipeline.core.progress import track
from pipeline.core.randomness import generator
from pipeline.core.records import Candidate, Picture, Screened, Task, TaskQuestion


def make_tasks(
    screened: Iterable[Screened], pools: Mapping[str, FilterPool], template_share: float, seed: int
) -> list[Task]:
    """One task per candidate, sorted by task id.

    Half of each subset's filters are invalid, as far as the evidence allows; a task for which there is no
    such filter gets a valid one.

    Args:
        pools: picture id -> its filter questions.
        template_share: how many filters are made from the paper's templates, where there are such.

    Raises:
        UserError: a picture offers no filter at all for a candidate.
    """
    candidates = sorted((row.candidate for row in screened), key=lambda candidate: candidate.candidate_id)
    offers = {key: pool.offer() for key, pool in pools.items()}
    offer = {candidate.candidate_id: offers[candidate.picture_id] for candidate in candidates}
    by_subset: dict[str, list[str]] = defaultdict(list)
    for candidate in candidates:
        by_subset[candidate.subset].append(candidate.candidate_id)
    invalid: set[str] = set()
    for subset, ids in by_subset.items():
        invalid |= halves(ids, offer.__getitem__, generator(seed, "batch", "halves", subset))
    tasks = []
    for candidate in track(candidates, "batch: tasks", unit="task"):
        rng = generator(seed, "batch", "task", candidate.candidate_id)
        wanted = "invalid" if candidate.candidate_id in invalid else "valid"
        known = pools[candidate.picture_id].draw(candidate, wanted, rng.random() < template_share, rng)
        if known is None:
            raise UserError(
                f"no filter question for candidate {candidate.candidate_id}: its picture has no other question "
                "with a program, and no template fits"
            )
        tasks.append(task_of(candidate, known, candidate_first=bool(rng.random() < 0.5)))
    return sorted(tasks, key=lambda task: task.task_id)


def task_of(candidate: Candidate, known: Filter, candidate_first: bool) -> Task:
    """A candidate and a filter question as a task."""
    key = content_key(
        "task", candidate.candidate_id, candidate.text, known.text, known.expected, str(candidate_first)
    )
    questions = [
        TaskQuestion(
            key=content_key(key, row.text),
            text=row.text,
            role="filter" if isinstance(row, Filter) else "candidate",
            candidate_id=row.candidate_id,
            question_id=row.question_id,
            expected=row.expected if isinstance(row, Filter) else None,
            source=row.source if isinstance(row, Filter) else "",
            program=row.program,
        )
        for row in ((candidate, known) if candidate_first else (known, candidate))
    ]
    return Task(
        task_id=key,
        picture_id=candidate.picture_id,
        subset=candidate.subset,
        first=questions[0],
        second=questions[1],
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
