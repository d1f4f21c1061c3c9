"""Build annotation tasks: an image, a candidate and a second question (a gold question or a repeat) in random order."""

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

# Tasks per block: enough to hide that later blocks are less certain, few enough that a small budget covers the most certain candidates.
BLOCK_SIZE = 200


def assign_blocks(
    subset: np.ndarray,
    answerable_probabilities: np.ndarray,
    tiebreakers: np.ndarray,
    block_size: int = BLOCK_SIZE,
) -> np.ndarray:
    """Assign each candidate to a block: block 0 has the candidates of each subset that are least likely to be answerable, and so on.

    As far as the numbers allow, every block has the same proportions of the subsets, so that no budget omits one.

    Args:
        subset: [candidates] the number of the subset.
        answerable_probabilities: [candidates] the estimated probability of being answerable.
        tiebreakers: [candidates] numbers that order candidates with equal probabilities.
        block_size: Tasks per block.
    """
    number, block = -(-len(subset) // block_size), np.zeros(len(subset), np.int64)
    for each in np.unique(subset):
        members = np.flatnonzero(subset == each)
        ordered = members[np.lexsort((tiebreakers[members], answerable_probabilities[members]))]
        block[ordered] = np.arange(len(ordered)) * number // len(ordered)
    return block


class TaskColumns(NamedTuple):
    """All that is kept of the candidates, as arrays [candidates] in the order of their ids.

    Attributes:
        positions: Position of each candidate in the given sequence.
        image_numbers: Number of its image.
        blocks: Block of each candidate, see `assign_blocks`.
        tiebreakers: Order within a block, uint64.
    """

    positions: np.ndarray
    image_numbers: np.ndarray
    blocks: np.ndarray
    tiebreakers: np.ndarray

    @classmethod
    def from_candidates(cls, candidates: Iterable[Candidate], estimates: Iterable[tuple[str, float]]) -> Self:
        """Build the columns.

        Args:
            estimates: Pairs of candidate id and estimated probability of being answerable, for all candidates or for none. With none, all
                candidates form one block.

        Raises:
            UserError: The estimates are not those of the candidates.
        """
        ids, images, numbers = list[str](), dict[str, int](), array("I")
        subset, hashes = array("B"), (array("Q"), array("Q"))
        for row in candidates:
            ids.append(row.candidate_id)
            numbers.append(images.setdefault(row.image_id, len(images)))
            subset.append(SUBSETS.index(row.subset))
            for column, name in zip(hashes, ("made", "block"), strict=True):
                column.append(int(content_hash(name, row.candidate_id), 16))
        positions = np.array(sorted(range(len(ids)), key=ids.__getitem__), np.int64)
        order_in_block, tiebreakers, image_numbers = (
            np.array(column)[positions] for column in (*hashes, numbers)
        )
        known = sorted(estimates)
        if not known:
            return cls(positions, image_numbers, np.zeros(len(positions), np.int64), order_in_block)
        if [key for key, _ in known] != sorted(ids):
            raise UserError(
                "estimate/estimates.jsonl: the estimates are not those of the candidates. Run: dvc repro estimate"
            )
        estimate = np.array([value for _, value in known])
        blocks = assign_blocks(np.array(subset)[positions], estimate, tiebreakers)
        return cls(positions, image_numbers, blocks, order_in_block)

    def iter_by_image(self) -> Iterator[np.ndarray]:
        """Yield the numbers of each image's candidates."""
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
    """Yield one task per candidate, sorted by block, then by task id. Ids are hashes, so the order within a block reveals nothing.

    The tasks are made one block at a time. Half of each subset's gold questions are invalid, as far as the evidence allows. If no invalid one is left,
    a task gets a valid one, and if there is none at all, a repeat.

    Args:
        candidates: In any order. They are looked up when they are needed, and not kept.
        offers: Image id -> the gold questions that it offers.
        template_proportion: Proportion of gold questions made from the paper's templates, if there are any.
        gold_proportion: Maximum proportion of tasks with a gold question. The others have a repeat.
        estimates: See `TaskColumns.from_candidates`. Without them there is one block.

    Raises:
        UserError: The gold questions and the repeats of an image do not suffice for its candidates, or the estimates are not those of the
            candidates.
    """
    columns = TaskColumns.from_candidates(candidates, estimates)

    def candidate(number: int) -> Candidate:
        return candidates[int(columns.positions[number])]

    pickers = {}
    for numbers in track(columns.iter_by_image(), "batch: repeats", unit="image"):
        members = {number: candidate(number) for number in numbers.tolist()}
        key = next(iter(members.values())).image_id
        rng = make_generator(seed, "batch", "repeats", key)
        pickers[key] = SecondQuestionPicker(key, members, candidate, offers, gold_proportion, rng)
    builder = TaskBuilder(pickers, template_proportion, seed)
    order = np.lexsort((columns.tiebreakers, columns.blocks))
    ends = np.flatnonzero(np.diff(columns.blocks[order])) + 1
    blocks = np.split(order, ends) if len(order) else []
    for members in track(blocks, "batch: tasks", unit="block"):
        tasks = (builder.build_task(number, candidate(number)) for number in members.tolist())
        block = int(columns.blocks[members[0]])
        yield from sorted(
            (replace(task, priority_block=block) for task in tasks), key=lambda task: task.task_id
        )


class TaskBuilder:
    """Builds the tasks one after the other, and finds the second question of each by what was shown before.

    Args:
        pickers: Image id -> picker of its second questions.
        template_proportion, seed: See `make_tasks`.
    """

    def __init__(
        self, pickers: Mapping[str, SecondQuestionPicker], template_proportion: float, seed: int
    ) -> None:
        self._pickers, self._template_proportion, self._seed = pickers, template_proportion, seed
        self._verdict_counts = {subset: Counter[KnownVerdict | None]() for subset in SUBSETS}
        self._adversary = AnnotatorAdversary()

    def build_task(self, number: int, candidate: Candidate) -> Task:
        """Build the task of a candidate, in block 0.

        Raises:
            UserError: The gold questions and the repeats of its image are used up. The message says what to do.
        """
        rng = make_generator(self._seed, "batch", "task", candidate.candidate_id)
        picker, adversary = self._pickers[candidate.image_id], self._adversary
        from_template = bool(rng.random() < self._template_proportion)
        second = picker.get_planned_repeat(number)
        if second is None:
            expected = self._next_expected_choice(candidate.subset, picker)
            second = (
                picker.pick_gold_question(candidate, expected, from_template, adversary, rng)
                or picker.pick_repeat(candidate)
                or picker.pick_gold_question(candidate, expected, not from_template, adversary, rng)
            )
        if second is None:
            raise UserError(picker.describe_exhaustion(candidate))
        self._verdict_counts[candidate.subset][getattr(second, "expected_choice", None)] += 1
        for row in (candidate, second):
            adversary.observe(candidate.image_id, row.text, isinstance(row, GoldQuestion))
        return make_task(candidate, second, candidate_first=bool(rng.random() < 0.5))

    def _next_expected_choice(self, subset: Subset, picker: SecondQuestionPicker) -> KnownVerdict:
        counts = self._verdict_counts[subset]
        return (
            "invalid"
            if counts["invalid"] <= counts["valid"] and picker.has_gold_question("invalid")
            else "valid"
        )


def make_task(candidate: Candidate, second_question: GoldQuestion | Candidate, candidate_first: bool) -> Task:
    """Make a task of a candidate and a second question."""
    gold = second_question if isinstance(second_question, GoldQuestion) else None
    key = content_hash(
        "task",
        candidate.candidate_id,
        candidate.text,
        second_question.text,
        gold.expected_choice if gold else "",
        str(candidate_first),
    )
    judged = _make_task_question(key, candidate, "candidate")
    other = _make_task_question(key, second_question, "repeat")
    if gold:
        other = replace(
            other,
            role="gold",
            expected_choice=gold.expected_choice,
            gold_source=gold.source,
            gold_explanation=gold.explanation,
        )
    first, second = (judged, other) if candidate_first else (other, judged)
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
    """Return a task as Label Studio imports it. Nothing in it distinguishes the two questions.

    The address of the image is that of Label Studio's local file serving, with `data/` as document root.
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
