"""Build annotation tasks.

A task has an image and two questions in random order: a candidate, and a gold question or a repeat.
"""

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
from pipeline.core.records import (
    DRAFTED_AQ,
    SUBSETS,
    Candidate,
    ImageRecord,
    Subset,
    Task,
    TaskQuestion,
)
from pipeline.tasks.gold_questions import GoldQuestion, KnownVerdict
from pipeline.tasks.second_questions import AnnotatorAdversary, Offer, SecondQuestionPicker

# Number of tasks per block. A block is large enough that annotators do not notice that candidates of later
# blocks are more often answerable. It is small enough that even a small study covers the candidates that are
# least likely to be answerable.
BLOCK_SIZE = 200
_JUDGED = (*SUBSETS, DRAFTED_AQ)


def assign_blocks(
    subset: np.ndarray,
    answerable_probabilities: np.ndarray,
    tiebreakers: np.ndarray,
    block_size: int = BLOCK_SIZE,
) -> np.ndarray:
    """Assign each candidate to a block, beginning with the candidates that are least likely to be answerable.

    Block 0 has the least likely candidates of each subset, block 1 the next ones, and so on. As far as the
    numbers of candidates allow, every block has the same proportions of the subsets. So a study that ends
    early has judged candidates of all subsets.

    Args:
        subset: [candidates] the index of each candidate's subset.
        answerable_probabilities: [candidates] the estimated probability (0 to 1) of being answerable.
        tiebreakers: [candidates] integers that order candidates with equal probabilities.
        block_size: The number of tasks per block.

    Returns:
        [candidates] the index of each candidate's block, from 0.
    """
    num_blocks, block = -(-len(subset) // block_size), np.zeros(len(subset), np.int64)
    for subset_index in np.unique(subset):
        members = np.flatnonzero(subset == subset_index)
        ordered = members[np.lexsort((tiebreakers[members], answerable_probabilities[members]))]
        block[ordered] = np.arange(len(ordered)) * num_blocks // len(ordered)
    return block


class TaskColumns(NamedTuple):
    """What is kept in memory of the candidates: arrays [candidates], sorted by candidate id.

    Attributes:
        positions: Index of each candidate in the given sequence of candidates.
        image_numbers: Index of each candidate's image.
        blocks: Block of each candidate, see `assign_blocks`.
        tiebreakers: Hashes (uint64) by which the candidates of a block are ordered. They are independent of
            the argument `tiebreakers` of `assign_blocks`.
    """

    positions: np.ndarray
    image_numbers: np.ndarray
    blocks: np.ndarray
    tiebreakers: np.ndarray

    @classmethod
    def from_candidates(cls, candidates: Iterable[Candidate], estimates: Iterable[tuple[str, float]]) -> Self:
        """Build the columns.

        Args:
            candidates: The candidates, in any order.
            estimates: Pairs of candidate id and estimated probability of being answerable (0 to 1). There is
                a pair for every candidate, or no pair at all. Without pairs, all candidates form one block.

        Raises:
            UserError: The estimates are for other candidates.
        """
        ids, image_indices, images = list[str](), dict[str, int](), array("I")
        subsets, hashes = array("B"), (array("Q"), array("Q"))
        for candidate in candidates:
            ids.append(candidate.candidate_id)
            images.append(image_indices.setdefault(candidate.image_id, len(image_indices)))
            subsets.append(_JUDGED.index(candidate.subset))
            # The words are the salts of two independent hashes: for the order within a block, and for ties
            # between blocks.
            for column, salt in zip(hashes, ("made", "block"), strict=True):
                column.append(int(content_hash(salt, candidate.candidate_id), 16))
        positions = np.array(sorted(range(len(ids)), key=ids.__getitem__), np.int64)
        order_in_block, tiebreakers, image_numbers = (
            np.array(column)[positions] for column in (*hashes, images)
        )
        known = sorted(estimates)
        if not known:
            return cls(positions, image_numbers, np.zeros(len(positions), np.int64), order_in_block)
        if [candidate_id for candidate_id, _ in known] != sorted(ids):
            raise UserError(
                "estimate/estimates.jsonl: the estimates are not those of the candidates. Run: dvc repro estimate"
            )
        probabilities = np.array([probability for _, probability in known])
        blocks = assign_blocks(np.array(subsets)[positions], probabilities, tiebreakers)
        return cls(positions, image_numbers, blocks, order_in_block)

    def iter_by_image(self) -> Iterator[np.ndarray]:
        """Yield for each image the indices of its candidates in these arrays."""
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
    """Yield one task per candidate, sorted by block, then by task id.

    Task ids are hashes, so the order of the tasks in a block reveals nothing. The tasks are made one block at
    a time. Half of each subset's gold questions are invalid, as far as gold questions of both verdicts are
    available. If no gold question with the planned verdict and origin (template or not) fits a task, the
    builder tries a gold question with the other verdict, then a repeat, then a gold question of the other
    origin.

    Args:
        candidates: The candidates, in any order. They are looked up when they are needed, and not kept.
        offers: Image id -> the gold questions that can be used for the image.
        template_proportion: Proportion (0 to 1) of gold questions that are made from the templates of RGQA,
            if such questions are available.
        gold_proportion: Maximum proportion (0 to 1) of tasks with a gold question. The other tasks have a
            repeat.
        seed: Seed of all random choices.
        estimates: Pairs of candidate id and probability, see `TaskColumns.from_candidates`. Without pairs,
            all candidates form one block.

    Raises:
        UserError: No gold question and no repeat fits a candidate, or the estimates are for other candidates.
    """
    columns = TaskColumns.from_candidates(candidates, estimates)

    def get_candidate(index: int) -> Candidate:
        return candidates[int(columns.positions[index])]

    pickers = {}
    for indices in track(columns.iter_by_image(), "batch: repeats", unit="image"):
        members = {index: get_candidate(index) for index in indices.tolist()}
        image_id = next(iter(members.values())).image_id
        rng = make_generator(seed, "batch", "repeats", image_id)
        pickers[image_id] = SecondQuestionPicker(
            image_id, members, get_candidate, offers, gold_proportion, rng
        )
    builder = TaskBuilder(pickers, template_proportion, seed)
    order = np.lexsort((columns.tiebreakers, columns.blocks))
    ends = np.flatnonzero(np.diff(columns.blocks[order])) + 1
    blocks = np.split(order, ends) if len(order) else []
    for members in track(blocks, "batch: tasks", unit="block"):
        tasks = (builder.build_task(index, get_candidate(index)) for index in members.tolist())
        block = int(columns.blocks[members[0]])
        yield from sorted(
            (replace(task, priority_block=block) for task in tasks), key=lambda task: task.task_id
        )


class TaskBuilder:
    """Builds the tasks one after the other.

    The second question of each task is chosen so that the questions shown before do not reveal whether it is
    a gold question.

    Args:
        pickers: Image id -> picker of the second questions for the image.
        template_proportion, seed: As in `make_tasks`.
    """

    def __init__(
        self, pickers: Mapping[str, SecondQuestionPicker], template_proportion: float, seed: int
    ) -> None:
        self._pickers, self._template_proportion, self._seed = pickers, template_proportion, seed
        self._verdict_counts = {subset: Counter[KnownVerdict | None]() for subset in _JUDGED}
        self._adversary = AnnotatorAdversary()

    def build_task(self, number: int, candidate: Candidate) -> Task:
        """Build the task of a candidate. The caller sets `priority_block`, which is 0 here.

        Args:
            number: The index of the candidate in `TaskColumns`.
            candidate: The candidate.

        Raises:
            UserError: No gold question and no repeat fits the candidate.
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
        for question in (candidate, second):
            adversary.observe(candidate.image_id, question.text, isinstance(question, GoldQuestion))
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
    """Return a task in the format that Label Studio imports.

    The result does not show which of the two questions is the candidate. The image is addressed for Label
    Studio's local file serving, with `data/` as document root.
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
