"""Annotation tasks: a picture, a candidate and a filter question in random order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from pipeline.batching.filter_questions import Filter, Pool, halves
from pipeline.core.errors import UserError
from pipeline.core.files import content_key
from pipeline.core.paths import DATA
from pipeline.core.progress import track
from pipeline.core.randomness import generator
from pipeline.core.records import Candidate, Picture, Screened, Task, TaskQuestion


def make_tasks(
    screened: Sequence[Screened], pools: Mapping[str, Pool], template_share: float, seed: int
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
    picture_of = {candidate.candidate_id: candidate.picture_id for candidate in candidates}
    offers = {key: pool.offer() for key, pool in pools.items()}
    invalid: set[str] = set()
    for subset in sorted({candidate.subset for candidate in candidates}):
        ids = [candidate.candidate_id for candidate in candidates if candidate.subset == subset]
        invalid |= halves(
            ids, lambda key: offers[picture_of[key]], generator(seed, "batch", "halves", subset)
        )
    tasks = []
    for candidate in track(candidates, "batch: tasks", unit="task"):
        rng = generator(seed, "batch", "task", candidate.candidate_id)
        wanted = "invalid" if candidate.candidate_id in invalid else "valid"
        found = draw(candidate, pools[candidate.picture_id], wanted, rng.random() < template_share, rng)
        tasks.append(task_of(candidate, found, candidate_first=bool(rng.random() < 0.5)))
    return sorted(tasks, key=lambda task: task.task_id)


def draw(candidate: Candidate, pool: Pool, wanted: str, template: bool, rng: np.random.Generator) -> Filter:
    """A filter for a candidate: of the wanted verdict and kind if there is one, else the nearest to that."""

    def fit(found: Filter) -> bool:  # not the same question, nor the one that the candidate was made from
        return found.text != candidate.text and found.question_id != candidate.question_id

    def of_kind(
        found: Filter,
    ) -> int | None:  # like candidates first: those of the same subset are most alike
        if not fit(found) or (found.source == "template") != template:
            return None
        return 0 if found.subset == candidate.subset else 1

    def of_any_kind(found: Filter) -> int | None:
        return 0 if fit(found) else None

    other = "valid" if wanted == "invalid" else "invalid"
    for expected, rank in ((wanted, of_kind), (wanted, of_any_kind), (other, of_kind), (other, of_any_kind)):
        found = pool.draw(expected, rank, rng)
        if found is not None:
            return found
    raise UserError(
        f"no filter question for candidate {candidate.candidate_id}: its picture has no other question "
        "with a program, and no template fits"
    )


def task_of(candidate: Candidate, found: Filter, candidate_first: bool) -> Task:
    key = content_key(
        "task", candidate.candidate_id, candidate.text, found.text, found.expected, str(candidate_first)
    )
    asked = TaskQuestion(
        key=content_key(key, candidate.text),
        text=candidate.text,
        role="candidate",
        candidate_id=candidate.candidate_id,
        question_id=candidate.question_id,
        program=candidate.program,
    )
    known = TaskQuestion(
        key=content_key(key, found.text),
        text=found.text,
        role="filter",
        candidate_id=found.candidate_id,
        question_id=found.question_id,
        expected=found.expected,
        source=found.source,
        program=found.program,
    )
    first, second = (asked, known) if candidate_first else (known, asked)
    return Task(
        task_id=key, picture_id=candidate.picture_id, subset=candidate.subset, first=first, second=second
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
