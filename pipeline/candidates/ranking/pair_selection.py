"""Select candidates among the ranked questions: by the paper's rule, or balanced over images, questions and texts.

`ranked_questions` below is one extreme of the ranking (`topk.Extreme`): int32 [images, k], positions in the question table from that
extreme inwards, -1 where there are no more.

In the released CLIP subsets every image and every text has as many UQs as AQs (see `pipeline.benchmark.balancing`). To lose
little when balancing, the balanced selection is already even. Each image receives as many questions as it gives to others, at
most `max_per_image`. No question is used more than `max_question_uses` times. Texts that are not used yet come first. The selection is a
circulation through images and texts that minimizes

    UNFILLED_PAIR_COST for every pair that is not made
    + TEXT_REUSE_COST x (k - 1) for the k-th use of a text
    + the cost of each pair, in [0, 1).

It is optimal. In a large data set the network is limited to the cheapest pairs of each text.
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
# From the ninth use of a text on, the cost stays at TEXT_REUSE_COST x MAX_PRICED_REUSES, which is less than UNFILLED_PAIR_COST.
MAX_PRICED_REUSES = 8
# An arc takes about 150 bytes.
MAX_NETWORK_ARCS = 6_000_000


class SelectedPairs(NamedTuple):
    """Selected pairs, sorted by image, then rank.

    Attributes:
        image_rows: Row of the image, int64 [pairs].
        rank_columns: Column of the selected question in `ranked_questions`, int64 [pairs].
        method: How the pairs were selected.
        upper_bound: No method can select more pairs under the same limits.
    """

    image_rows: np.ndarray
    rank_columns: np.ndarray
    method: str
    upper_bound: int


@dataclass(frozen=True, slots=True)
class PairPool:
    """Pairs of an image and a text that may be proposed, sorted by image, then text, and the questions that provide the texts.

    Attributes:
        pair_images, pair_texts: int32 [pairs].
        pair_costs: float64 [pairs], in [0, 1). Cheaper pairs are preferred.
        question_images, question_texts: int32 [questions], the image and the text of each question, numbered as above.
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
        """Keep at most `max_pairs` pairs: the cheapest of each text, equally many per text and at least one.

        An image receives as many questions as it gives, so its own questions have to stay within reach of others. Keeping the cheapest pairs
        of each image instead would lose candidates.
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

        An image receives no more than `max_per_image` questions, no more than it can give, and no more than its pool holds.
        """
        gives = np.bincount(self.question_images, minlength=self.num_images) * max_question_uses
        receives = np.bincount(self.pair_images, minlength=self.num_images)
        return int(np.minimum(np.minimum(gives, receives), max_per_image).sum())


@dataclass(frozen=True, slots=True)
class PoolAssignment:
    """Selected pairs: ascending positions in the pool, and the question that each pair uses."""

    pair_indices: np.ndarray
    question_indices: np.ndarray


def select_pairs_by_paper_rule(
    subset: Subset, ranked_questions: np.ndarray, image_ids: Sequence[str], per_image: int, seed: int
) -> SelectedPairs:
    """Select pairs as RGQA did.

    CLIP-Hard takes `per_image` of each image's ranked questions at random. CLIP-Easy takes the `per_image` least similar ones.
    """
    chosen = (ranked_questions >= 0) & (np.arange(ranked_questions.shape[1]) < per_image)
    if subset == "clip-hard":
        known, chosen = (ranked_questions >= 0).sum(axis=1), np.zeros_like(chosen)
        for row, image_id in enumerate(image_ids):
            rng = make_generator(seed, "rank", subset, image_id)
            chosen[row, rng.choice(known[row], min(per_image, known[row]), replace=False)] = True
    image, column = np.nonzero(chosen)
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

    Each image receives as many questions as it gives to others of the same split, and no question is used more than `max_question_uses` times
    (see `solve_pair_assignment`). Within these limits, CLIP-Hard selects at random and CLIP-Easy prefers the least similar questions.

    Args:
        ranked_questions: int32 [images, k].
        is_validation: bool [images].
        max_arcs: Limit of the network of a split. A larger one is reduced to the cheapest pairs of each text.
    """

    def cost(row: int, columns: np.ndarray) -> np.ndarray:
        if subset == "clip-easy":
            return columns / max(1, ranked_questions.shape[1])
        return make_generator(seed, "rank", subset, table.image_ids[row]).random(len(columns))

    chosen, bound, is_reduced = np.zeros(ranked_questions.shape, bool), 0, False
    for split in (is_validation, ~is_validation):
        rows, questions = np.flatnonzero(split), np.flatnonzero(split[table.image_rows])
        if not len(rows):
            continue
        whole = build_pair_pool(ranked_questions, table, rows, questions, cost)
        bound += whole.compute_upper_bound(max_per_image, max_question_uses)
        pool = whole.keep_cheapest_pairs(len(whole.pair_images) - max(0, whole.count_arcs() - max_arcs))
        is_reduced |= pool is not whole
        choice = solve_pair_assignment(pool, max_per_image, max_question_uses)
        ends = np.searchsorted(pool.pair_images[choice.pair_indices], np.arange(1, len(rows)))
        for row, used in zip(rows, np.split(questions[choice.question_indices], ends), strict=True):
            chosen[row] = np.isin(ranked_questions[row], used)
    image, column = np.nonzero(chosen)
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
        image_rows: The images to include.
        question_rows: The questions whose texts may be used.
        cost_of: Row of an image, columns [n] of `ranked_questions` -> costs [n] in [0, 1).
    """
    giver_row = np.full(len(ranked_questions), -1, np.int32)
    giver_row[image_rows] = np.arange(len(image_rows))
    repeats = table.count_questions_per_text()
    given = np.bincount(table.text_rows[question_rows], minlength=len(repeats)) > 0
    most = int(np.count_nonzero(ranked_questions[image_rows] >= 0))
    image, text, costs = np.empty(most, np.int32), np.empty(most, np.int32), np.empty(most)
    end = 0
    for number, row in enumerate(image_rows.tolist()):
        here = ranked_questions[row][ranked_questions[row] >= 0]
        texts, first, count = np.unique(table.text_rows[here], return_index=True, return_counts=True)
        # If only some questions of a text are ranked, the text is at the very edge of the pool. It is skipped, so that the column
        # of whichever question is used is known.
        usable = given[texts] & (count == repeats[texts])
        start, end = end, end + int(usable.sum())
        image[start:end], text[start:end] = number, texts[usable]
        costs[start:end] = cost_of(row, first[usable])
    givers = giver_row[table.image_rows[question_rows]]
    return PairPool(
        image[:end],
        text[:end],
        costs[:end],
        givers,
        table.text_rows[question_rows],
        len(image_rows),
        len(given),
    )


def solve_pair_assignment(pool: PairPool, max_per_image: int, max_question_uses: int) -> PoolAssignment:
    """Select the pairs with the least total cost (see the head of this module), and the question that each uses."""
    n, t, pairs, there = pool.num_images, pool.num_texts, len(pool.pair_images), np.unique(pool.pair_texts)
    # Nodes: images as receivers, images as givers, texts as they are given, texts as they are received.
    receives, gives, given, used = np.split(np.arange(2 * n + 2 * t, dtype=np.int32), [n, 2 * n, 2 * n + t])
    taken, uses, *_ = solve_min_cost_circulation(
        # Tail, head, capacity, cost.
        (used[pool.pair_texts], receives[pool.pair_images], 1, pool.pair_costs - UNFILLED_PAIR_COST),
        (gives[pool.question_images], given[pool.question_texts], max_question_uses, 0.0),
        (receives, gives, max_per_image, 0.0),
        *(
            (given[there], used[there], 1 if k < MAX_PRICED_REUSES else pairs, TEXT_REUSE_COST * k)
            for k in range(MAX_PRICED_REUSES + 1)
        ),
    )
    pair = np.flatnonzero(taken)
    # Assign the questions, each as often as it is used, to the pairs of the same text, both in ascending order.
    dealt, question = np.repeat(np.arange(len(uses)), uses), np.empty(len(pair), np.int64)
    question[np.argsort(pool.pair_texts[pair], kind="stable")] = dealt[
        np.argsort(pool.question_texts[dealt], kind="stable")
    ]
    return PoolAssignment(pair, question)
