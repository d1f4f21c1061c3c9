"""Annotation tasks: a picture, a candidate and a filter question in random order. Filters are given out evenly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np

from pipeline.batching.filter_questions import Filter, Known
from pipeline.core.errors import UserError
from pipeline.core.files import content_key
from pipeline.core.paths import DATA
from pipeline.core.progress import track
from pipeline.core.randomness import generator
from pipeline.core.records import Candidate, Picture, Screened, Task, TaskQuestion
from pipeline.core.rows import grouped

BLOCK = 200  # tasks: enough that nobody sees the sure ones thin out, few enough that a budget gets the surest


def halves(keys: Sequence[str], offer: Callable[[str], int], rng: np.random.Generator) -> set[str]:
    """The keys that get an invalid filter: half of them, as far as enough can have one, drawn by lot.

    Args:
        offer: how good the invalid filters for a key are; the best are taken first, 0 (none) never.
    """
    order: list[int] = rng.permutation(len(keys)).tolist()
    drawn = [keys[i] for i in order]
    able = sorted((key for key in drawn if offer(key)), key=offer, reverse=True)  # stable: then by lot
    return set(able[: len(keys) // 2])


class FilterPool:
    """The filters of one picture, given out evenly: what is seen again and again would be known as a filter."""

    def __init__(self, filters: Iterable[Filter]) -> None:
        self.filters = sorted(
            filters, key=lambda row: (row.text, row.source, row.candidate_id or "", row.question_id or "")
        )
        self.uses: Counter[str] = Counter()

    def offer(self) -> int:
        """How good the invalid filters are: 2 if some are like candidates, 1 for templates alone, 0 for none."""
        invalid = (1 + (row.source != "template") for row in self.filters if row.expected == "invalid")
        return max(invalid, default=0)

    def draw(
        self, candidate: Candidate, wanted: Known, templates: bool, rng: np.random.Generator
    ) -> Filter | None:
        """A filter to be shown beside a candidate: of the wanted verdict if there is one, and of the wanted kind (template or
        not); of those the least used, then one of the candidate's own subset, as they are most alike; ties are drawn by lot.

        Returns:
            None when there is none but the same question, or the one that the candidate was made from.
        """

        def preference(row: Filter) -> tuple[bool, bool, int, bool]:
            other_kind = (row.source == "template") != templates
            unlike = not other_kind and row.subset != candidate.subset
            return row.expected != wanted, other_kind, self.uses[row.text], unlike

        fit = [
            row
            for row in self.filters
            if row.text != candidate.text and row.question_id != candidate.question_id
        ]
        if not fit:
            return None
        best = min(map(preference, fit))
        ties = [row for row in fit if preference(row) == best]
        drawn = ties[rng.integers(len(ties))]
        self.uses[drawn.text] += 1
        return drawn


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
    pools: Mapping[str, FilterPool],
    template_share: float,
    seed: int,
    estimates: Mapping[str, float] | None = None,
) -> list[Task]:
    """One task per candidate, sorted by block, then by task id, which is a lot: within a block nothing tells what to expect.

    Half of each subset's filters are invalid, as far as the evidence allows; a task for which there is no
    such filter gets a valid one.

    Args:
        pools: picture id -> its filter questions.
        template_share: how many filters are made from the paper's templates, where there are such.
        estimates: as `blocks` takes them; without, there is one block.

    Raises:
        UserError: a picture offers no filter at all for a candidate.
    """
    candidates = sorted((row.candidate for row in screened), key=lambda candidate: candidate.candidate_id)
    offer = {candidate.candidate_id: pools[candidate.picture_id].offer() for candidate in candidates}
    invalid: set[str] = set()
    for subset, members in grouped(candidates, lambda candidate: candidate.subset).items():
        ids = [candidate.candidate_id for candidate in members]
        invalid |= halves(ids, offer.__getitem__, generator(seed, "batch", "halves", subset))
    block = blocks(candidates, estimates) if estimates else {}
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
        task = task_of(candidate, known, candidate_first=bool(rng.random() < 0.5))
        tasks.append(msgspec.structs.replace(task, block=block.get(candidate.candidate_id, 0)))
    return sorted(tasks, key=lambda task: (task.block, task.task_id))


def task_of(candidate: Candidate, known: Filter, candidate_first: bool) -> Task:
    """A candidate and a filter question as a task."""
    key = content_key(
        "task", candidate.candidate_id, candidate.text, known.text, known.expected, str(candidate_first)
    )
    first, second = (
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
    )
    subset, picture_id = candidate.subset, candidate.picture_id
    return Task(task_id=key, picture_id=picture_id, subset=subset, first=first, second=second)


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
