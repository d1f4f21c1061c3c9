"""Annotation tasks: an image, a candidate and its companion (a filter question or a repeat) in random order."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, Self

import numpy as np
from msgspec.structs import replace

from pipeline.core.errors import UserError
from pipeline.core.json_files import content_hash
from pipeline.core.paths import DATA_DIR
from pipeline.core.progress import track
from pipeline.core.randomness import make_generator
from pipeline.core.records import SUBSETS, Candidate, ImageRecord, Subset, Task, TaskQuestion
from pipeline.tasks.gold_questions import GoldQuestion, KnownVerdict
from pipeline.tasks.second_questions import AnnotatorAdversary, Offer, SecondQuestionPicker

BLOCK_SIZE = (
    200  # tasks: enough that nobody sees the sure ones thin out, few enough that a budget gets the surest
)


def assign_blocks(
    subset: np.ndarray,
    answerable_probabilities: np.ndarray,
    tiebreakers: np.ndarray,
    block_size: int = BLOCK_SIZE,
) -> np.ndarray:
    """The block of each candidate: 0 for those of each subset that are the least likely to have an answer, and so on.

    Every block has as much of each subset, as far as the numbers allow, so that no budget leaves one out.

    Args:
        subset, estimate, lot: [candidates] a number of its subset, how probably it has an answer (`Estimate`), and what decides
            between equals. size: tasks of a block.
    """
    number, block = -(-len(subset) // block_size), np.zeros(len(subset), np.int64)
    for each in np.unique(subset):
        members = np.flatnonzero(subset == each)
        ordered = members[np.lexsort((tiebreakers[members], answerable_probabilities[members]))]
        block[ordered] = np.arange(len(ordered)) * number // len(ordered)
    return block


class TaskColumns(NamedTuple):
    """Candidates in the order of their ids, as numbers: all that is held of them. Arrays [candidates].

    Attributes:
        place: where each stands among the candidates as they were given. image: the number of its image.
        block: as in `blocks`. lot: what decides the order within a block, uint64.
    """

    positions: np.ndarray
    image_numbers: np.ndarray
    blocks: np.ndarray
    tiebreakers: np.ndarray

    @classmethod
    def from_candidates(cls, candidates: Iterable[Candidate], estimates: Iterable[tuple[str, float]]) -> Self:
        """Args:
        estimates: candidate id -> how probably it has an answer, as pairs; of all candidates, or of none, who then are one block.
        """
        ids, images, numbers = list[str](), dict[str, int](), array("I")
        subset, lots = array("B"), (array("Q"), array("Q"))
        for row in candidates:
            ids.append(row.candidate_id)
            numbers.append(images.setdefault(row.image_id, len(images)))
            subset.append(SUBSETS.index(row.subset))
            for lot, name in zip(lots, ("made", "block"), strict=True):
                lot.append(int(content_hash(name, row.candidate_id), 16))
        place = np.array(sorted(range(len(ids)), key=ids.__getitem__), np.int64)
        made, lot, image = (np.array(column)[place] for column in (*lots, numbers))
        known = sorted(estimates)
        if not known:
            return cls(place, image, np.zeros(len(place), np.int64), made)
        if [key for key, _ in known] != sorted(ids):
            raise UserError("candidates without an estimate, or estimates of others; run: dvc repro estimate")
        estimate = np.array([value for _, value in known])
        return cls(place, image, assign_blocks(np.array(subset)[place], estimate, lot), made)

    def iter_by_image(self) -> Iterator[np.ndarray]:
        """The numbers of each image's candidates."""
        order = np.argsort(self.image_numbers, kind="stable")
        yield from (
            np.split(order, np.flatnonzero(np.diff(self.image_numbers[order])) + 1) if len(order) else ()
        )


def make_tasks(
    candidates: Sequence[Candidate],
    offers: Mapping[str, Offer],
    template_proportion: float,
    gold_proportion: float,
    seed: int,
    estimates: Iterable[tuple[str, float]] = (),
) -> Iterator[Task]:
    """One task per candidate, sorted by block, then by task id, which is a lot: within a block nothing tells what to expect.
    They are made a block at a time; without estimates there is one.

    Half of each subset's filters are invalid, as far as the evidence allows; where there is no such filter left, a task gets a
    valid one, and where there is none at all a repeat.

    Args:
        candidates: in any order; they are looked up whenever they are needed, and not held.
        offered: image id -> the filter questions that it offers.
        template_share: how many filters are made from the paper's templates, where there are such.
        filter_share: how many tasks have a filter at most; the others have a repeat.
        estimates: as `TaskColumns.of` takes them.

    Raises:
        UserError: the only candidate of an image has no filter; estimates are not those of the candidates.
    """
    columns = TaskColumns.from_candidates(candidates, estimates)

    def candidate(number: int) -> Candidate:
        return candidates[int(columns.positions[number])]

    companions = {}
    for numbers in track(columns.iter_by_image(), "batch: repeats", unit="image"):
        members = {number: candidate(number) for number in numbers.tolist()}
        key = next(iter(members.values())).image_id
        rng = make_generator(seed, "batch", "repeats", key)
        companions[key] = SecondQuestionPicker(key, members, candidate, offers, gold_proportion, rng)
    beside = TaskBuilder(companions, template_proportion, seed)
    order = np.lexsort((columns.tiebreakers, columns.blocks))
    ends = np.flatnonzero(np.diff(columns.blocks[order])) + 1
    each = np.split(order, ends) if len(order) else []
    for members in track(each, "batch: tasks", unit="block"):
        made = (beside.build_task(number, candidate(number)) for number in members.tolist())
        block = int(columns.blocks[members[0]])
        yield from sorted(
            (replace(task, priority_block=block) for task in made), key=lambda task: task.task_id
        )


class TaskBuilder:
    """Finds a companion for one candidate after the other, by what was shown before.

    Args:
        companions: what each image has left. template_share, seed: as `make_tasks` takes them.
    """

    def __init__(
        self, pickers: Mapping[str, SecondQuestionPicker], template_proportion: float, seed: int
    ) -> None:
        self._pickers, self._template_proportion, self._seed = pickers, template_proportion, seed
        self._verdict_counts = {subset: Counter[KnownVerdict | None]() for subset in SUBSETS}
        self._adversary = AnnotatorAdversary()

    def build_task(self, number: int, candidate: Candidate) -> Task:
        """A candidate's task, in block 0.

        Raises:
            UserError: it is the only one of an image that has no filter.
        """
        rng = make_generator(self._seed, "batch", "task", candidate.candidate_id)
        beside, onlooker = self._pickers[candidate.image_id], self._adversary
        template = bool(rng.random() < self._template_proportion)
        companion = beside.get_planned_repeat(number)
        if companion is None:
            wanted = self._next_expected_choice(candidate.subset, beside)
            companion = (
                beside.pick_gold_question(candidate, wanted, template, onlooker, rng)
                or beside.pick_repeat(candidate)
                or beside.pick_gold_question(candidate, wanted, not template, onlooker, rng)
            )
        if companion is None:
            raise UserError(
                f"no filter question for candidate {candidate.candidate_id}: its image has no other question "
                "with a program, and no template fits"
            )
        self._verdict_counts[candidate.subset][getattr(companion, "expected_choice", None)] += 1
        for row in (candidate, companion):
            onlooker.observe(candidate.image_id, row.text, isinstance(row, GoldQuestion))
        return make_task(candidate, companion, candidate_first=bool(rng.random() < 0.5))

    def _next_expected_choice(self, subset: Subset, beside: SecondQuestionPicker) -> KnownVerdict:
        counts = self._verdict_counts[subset]
        return (
            "invalid"
            if counts["invalid"] <= counts["valid"] and beside.has_gold_question("invalid")
            else "valid"
        )


def make_task(candidate: Candidate, second_question: GoldQuestion | Candidate, candidate_first: bool) -> Task:
    """A candidate and its companion as a task."""
    known = second_question if isinstance(second_question, GoldQuestion) else None
    key = content_hash(
        "task",
        candidate.candidate_id,
        candidate.text,
        second_question.text,
        known.expected_choice if known else "",
        str(candidate_first),
    )
    asked = _make_task_question(key, candidate, "candidate")
    beside = _make_task_question(key, second_question, "repeat")
    if known:
        beside = replace(
            beside,
            role="gold",
            expected_choice=known.expected_choice,
            gold_source=known.source,
            gold_explanation=known.explanation,
        )
    first, second = (asked, beside) if candidate_first else (beside, asked)
    subset, image_id = candidate.subset, candidate.image_id
    return Task(task_id=key, image_id=image_id, subset=subset, first=first, second=second)


def _make_task_question(
    key: str, row: GoldQuestion | Candidate, role: Literal["candidate", "repeat"]
) -> TaskQuestion:
    return TaskQuestion(
        key=content_hash(key, row.text),
        text=row.text,
        role=role,
        candidate_id=row.candidate_id,
        question_id=row.question_id,
        program=row.program,
    )


def to_label_studio_task(task: Task, image: ImageRecord) -> dict[str, dict[str, str]]:
    """A task as Label Studio imports it: nothing in it tells the two questions apart.

    The image's address is that of Label Studio's local file serving, with `data/` as document root.
    """
    path = Path(image.path).relative_to(DATA_DIR).as_posix()
    return {
        "data": {
            "task": task.task_id,
            "image": f"/data/local-files/?d={path}",
            "first": task.first.text,
            "second": task.second.text,
        }
    }
