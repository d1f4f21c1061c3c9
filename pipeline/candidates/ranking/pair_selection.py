"""Select candidates among the ranked questions.

There are two rules: the rule of RGQA, and a selection that is balanced over images, questions and texts.

The argument `ranked_questions` of the functions below is `topk.Extreme.questions`: for each image the k most
similar (or least similar) questions, int32 [images, k]. The most extreme question comes first. The values are
positions in the question table, or -1 where an image has fewer questions.

In the released CLIP subsets, every image and every text has as many unanswerable questions (UQs) as
answerable questions (AQs), see `pipeline.benchmark.balancing`. So that balancing drops few candidates later,
the preset "balanced" already selects evenly. Each image receives as many questions from other images as it
gives to other images, at most `max_per_image`. No question is used more than `max_question_uses` times. Texts
that are not used yet are preferred. The selection is a minimum-cost circulation (network flow) with nodes for images and texts. It minimizes

    UNFILLED_PAIR_COST for every pair that is not made
    + TEXT_REUSE_COST x (k - 1) for the k-th use of a text
    + the cost of each pair, in [0, 1).

The minimum is exact. In a large data set the network is limited to the cheapest pairs of each text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from pipeline.candidates.ranking.rank_inputs import QuestionTable
from pipeline.core.min_cost_circulation import solve_min_cost_circulation
from pipeline.core.randomness import make_generator
from pipeline.core.records import Subset

UNFILLED_PAIR_COST, TEXT_REUSE_COST = 64.0, 4.0
# From the ninth use of a text on, the cost of a use stays at TEXT_REUSE_COST x MAX_PRICED_REUSES, which is
# less than UNFILLED_PAIR_COST.
MAX_PRICED_REUSES = 8
# Maximum number of arcs of the network. An arc takes about 150 bytes.
MAX_NETWORK_ARCS = 6_000_000


class SelectedPairs(NamedTuple):
    """Selected pairs, sorted by image, then rank.

    Attributes:
        image_rows: Row of the image of each pair, int64 [pairs].
        rank_columns: Column of the selected question in `ranked_questions`, int64 [pairs].
        method: A description of how the pairs were selected.
        upper_bound: Upper bound of the number of pairs that any method can select under the same limits.
    """

    image_rows: np.ndarray
    rank_columns: np.ndarray
    method: str
    upper_bound: int


@dataclass(frozen=True, slots=True)
class PairPool:
    """The pairs of an image and a text that may be selected, and the questions that provide the texts.

    The pairs are sorted by image, then by text.

    Attributes:
        pair_images: Index of the image of each pair, int32 [pairs].
        pair_texts: Index of the text of each pair, int32 [pairs].
        pair_costs: Cost of each pair in [0, 1), float64 [pairs]. Cheaper pairs are preferred.
        question_images: Index of the own image of each question, int32 [questions].
        question_texts: Index of the text of each question, int32 [questions].
        num_images: Number of images.
        num_texts: Number of texts.
    """

    pair_images: np.ndarray
    pair_texts: np.ndarray
    pair_costs: np.ndarray
    question_images: np.ndarray
    question_texts: np.ndarray
    num_images: int
    num_texts: int

    def count_arcs(self) -> int:
        """Return the number of arcs of the network."""
        return (
            len(self.pair_images)
            + len(self.question_images)
            + self.num_images
            + (MAX_PRICED_REUSES + 1) * len(np.unique(self.pair_texts))
        )

    def keep_cheapest_pairs(self, max_pairs: int) -> PairPool:
        """Return a pool with about `max_pairs` pairs.

        The pool keeps the n cheapest pairs of each text. n is as large as possible, but at least 1, so more
        than `max_pairs` pairs may be kept. Pairs are cut per text and not per image, because every image must
        be able to give its own questions to other images. Otherwise candidates would be lost.
        """
        if len(self.pair_images) <= max_pairs:
            return self
        order, counts = np.lexsort((self.pair_costs, self.pair_texts)), np.bincount(self.pair_texts)
        # Rank of each pair by its cost among the pairs of its text.
        cost_rank = np.empty(len(order), np.int32)
        cost_rank[order] = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
        stay = cost_rank < max(1, int(np.searchsorted(np.cumsum(np.bincount(cost_rank)), max_pairs, "right")))
        return replace(
            self,
            pair_images=self.pair_images[stay],
            pair_texts=self.pair_texts[stay],
            pair_costs=self.pair_costs[stay],
        )

    def compute_upper_bound(self, max_per_image: int, max_question_uses: int) -> int:
        """Return an upper bound of the number of pairs that can be selected.

        An image cannot receive more than `max_per_image` questions. It cannot receive more questions than it
        can give to other images, or than the pool has pairs of this image.
        """
        max_given = np.bincount(self.question_images, minlength=self.num_images) * max_question_uses
        max_received = np.bincount(self.pair_images, minlength=self.num_images)
        return int(np.minimum(np.minimum(max_given, max_received), max_per_image).sum())


@dataclass(frozen=True, slots=True)
class PoolAssignment:
    """The pairs of a pool that are selected.

    Attributes:
        pair_indices: Ascending indices of the selected pairs in the pool.
        question_indices: For each selected pair the index of the question that provides the text.
    """

    pair_indices: np.ndarray
    question_indices: np.ndarray


def select_pairs_by_paper_rule(
    subset: Subset, ranked_questions: np.ndarray, image_ids: Sequence[str], per_image: int, seed: int
) -> SelectedPairs:
    """Select pairs by the rule of RGQA.

    CLIP-Hard takes `per_image` of each image's ranked questions at random. CLIP-Easy takes the `per_image`
    least similar questions.

    Args:
        subset: "clip-easy" or "clip-hard".
        ranked_questions: int32 [images, k], see the docstring of this module.
        image_ids: The id of the image of each row.
        per_image: The number of questions per image.
        seed: Seed of the random selection.
    """
    is_selected = (ranked_questions >= 0) & (np.arange(ranked_questions.shape[1]) < per_image)
    if subset == "clip-hard":
        num_ranked, is_selected = (ranked_questions >= 0).sum(axis=1), np.zeros_like(is_selected)
        for row, image_id in enumerate(image_ids):
            rng = make_generator(seed, "rank", subset, image_id)
            sampled = rng.choice(num_ranked[row], min(per_image, num_ranked[row]), replace=False)
            is_selected[row, sampled] = True
    image, column = np.nonzero(is_selected)
    return SelectedPairs(image, column, "paper", len(column))


def select_balanced_pairs(
    subset: Subset,
    ranked_questions: np.ndarray,
    table: QuestionTable,
    is_validation: np.ndarray,
    max_per_image: int,
    max_question_uses: int,
    seed: int,
    max_arcs: int = MAX_NETWORK_ARCS,
) -> SelectedPairs:
    """Select up to `max_per_image` questions for each image, balanced over images, questions and texts.

    Each image receives as many questions as it gives to other images of the same split, and no question is
    used more than `max_question_uses` times (see the docstring of this module). Within these limits,
    CLIP-Hard selects at random and CLIP-Easy prefers the least similar questions.

    Args:
        subset: "clip-easy" or "clip-hard".
        ranked_questions: int32 [images, k], see the docstring of this module.
        table: The questions.
        is_validation: Whether each image belongs to the split validation, bool [images].
        max_per_image: Maximum number of questions per image.
        max_question_uses: Maximum number of uses of a question.
        seed: Seed of the random selection.
        max_arcs: Maximum number of arcs of the network of a split. A larger network is reduced to the
            cheapest pairs of each text.
    """

    def cost(row: int, columns: np.ndarray) -> np.ndarray:
        if subset == "clip-easy":
            return columns / max(1, ranked_questions.shape[1])
        return make_generator(seed, "rank", subset, table.image_ids[row]).random(len(columns))

    is_selected, bound, is_reduced = np.zeros(ranked_questions.shape, bool), 0, False
    for is_in_split in (is_validation, ~is_validation):
        rows, questions = np.flatnonzero(is_in_split), np.flatnonzero(is_in_split[table.image_rows])
        if not len(rows):
            continue
        full_pool = build_pair_pool(ranked_questions, table, rows, questions, cost)
        bound += full_pool.compute_upper_bound(max_per_image, max_question_uses)
        num_excess_arcs = max(0, full_pool.count_arcs() - max_arcs)
        pool = full_pool.keep_cheapest_pairs(len(full_pool.pair_images) - num_excess_arcs)
        is_reduced |= pool is not full_pool
        assignment = solve_pair_assignment(pool, max_per_image, max_question_uses)
        row_ends = np.searchsorted(pool.pair_images[assignment.pair_indices], np.arange(1, len(rows)))
        used_by_row = np.split(questions[assignment.question_indices], row_ends)
        for row, used in zip(rows, used_by_row, strict=True):
            is_selected[row] = np.isin(ranked_questions[row], used)
    image, column = np.nonzero(is_selected)
    return SelectedPairs(
        image, column, "exact on the cheapest pairs of each text" if is_reduced else "exact", bound
    )


def build_pair_pool(
    ranked_questions: np.ndarray,
    table: QuestionTable,
    image_rows: np.ndarray,
    question_rows: np.ndarray,
    cost_of: Callable[[int, np.ndarray], np.ndarray],
) -> PairPool:
    """Collect the pairs of image and text among the ranked questions.

    Args:
        ranked_questions: int32 [images, k], see the docstring of this module.
        table: The questions.
        image_rows: Rows of the images to include.
        question_rows: Rows of the questions whose texts may be used.
        cost_of: A function that takes the row of an image and columns [n] of `ranked_questions`, and returns
            their costs [n] in [0, 1).
    """
    image_index_by_row = np.full(len(ranked_questions), -1, np.int32)
    image_index_by_row[image_rows] = np.arange(len(image_rows))
    num_questions_by_text = table.count_questions_per_text()
    is_given = np.bincount(table.text_rows[question_rows], minlength=len(num_questions_by_text)) > 0
    num_ranked = int(np.count_nonzero(ranked_questions[image_rows] >= 0))
    image, text = np.empty(num_ranked, np.int32), np.empty(num_ranked, np.int32)
    costs = np.empty(num_ranked)
    end = 0
    for image_index, row in enumerate(image_rows.tolist()):
        ranked = ranked_questions[row][ranked_questions[row] >= 0]
        texts, first, count = np.unique(table.text_rows[ranked], return_index=True, return_counts=True)
        # A text is used only if all its questions are ranked for the image. Otherwise the question that the
        # solver assigns might have no column in `ranked_questions`.
        is_usable = is_given[texts] & (count == num_questions_by_text[texts])
        start, end = end, end + int(is_usable.sum())
        image[start:end], text[start:end] = image_index, texts[is_usable]
        costs[start:end] = cost_of(row, first[is_usable])
    return PairPool(
        image[:end],
        text[:end],
        costs[:end],
        image_index_by_row[table.image_rows[question_rows]],
        table.text_rows[question_rows],
        len(image_rows),
        len(is_given),
    )


def solve_pair_assignment(pool: PairPool, max_per_image: int, max_question_uses: int) -> PoolAssignment:
    """Select the pairs with the lowest total cost, and the question that each pair uses.

    The cost is defined in the docstring of this module.
    """
    n, t, pool_texts = pool.num_images, pool.num_texts, np.unique(pool.pair_texts)
    # Every image and every text has two nodes: one for receiving and one for giving.
    receiver_nodes, giver_nodes, given_text_nodes, received_text_nodes = np.split(
        np.arange(2 * n + 2 * t, dtype=np.int32), [n, 2 * n, 2 * n + t]
    )
    pair_flow, question_flow, *_ = solve_min_cost_circulation(
        # Each group of arcs has tails, heads, a capacity and costs.
        (
            received_text_nodes[pool.pair_texts],
            receiver_nodes[pool.pair_images],
            1,
            pool.pair_costs - UNFILLED_PAIR_COST,
        ),
        (
            giver_nodes[pool.question_images],
            given_text_nodes[pool.question_texts],
            max_question_uses,
            0.0,
        ),
        (receiver_nodes, giver_nodes, max_per_image, 0.0),
        *(
            (
                given_text_nodes[pool_texts],
                received_text_nodes[pool_texts],
                1 if k < MAX_PRICED_REUSES else len(pool.pair_images),
                TEXT_REUSE_COST * k,
            )
            for k in range(MAX_PRICED_REUSES + 1)
        ),
    )
    pair = np.flatnonzero(pair_flow)
    # List each question as often as it is used. Then assign the questions of each text to the pairs of the
    # same text, both in ascending order.
    question_uses = np.repeat(np.arange(len(question_flow)), question_flow)
    question = np.empty(len(pair), np.int64)
    question[np.argsort(pool.pair_texts[pair], kind="stable")] = question_uses[
        np.argsort(pool.question_texts[question_uses], kind="stable")
    ]
    return PoolAssignment(pair, question)
