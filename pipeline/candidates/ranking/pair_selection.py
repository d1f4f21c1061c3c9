"""Which of the ranked questions become candidates: the paper's draw, or a draw spread evenly.

`places` below are one end of the ranking (`topk.End`): int32 [images, k], positions in the question table in the
order in which they stand from that end, -1 where there are no more.

In the released CLIP subsets every image has as many UQs as AQs and every text too (see `balancing`). So that
balancing loses little afterwards, already the even draw is spread: each image is asked as many questions as it gives to
others, at most `per_image`; no question is used more than `cap` times; texts that are not used yet come first. The
choice is a circulation through images and texts, the cheapest by

    FILLED for every pair not made, REUSED x (k - 1) for a text's k-th use, and each pair's own cost in [0, 1).

It is the best one; in a large data set of the cheapest pairs of each text, as many as a network may have arcs.
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
MAX_PRICED_REUSES = (
    8  # from the ninth use of a text on, the price stays at REUSED x REUSES, which is less than FILLED
)
MAX_NETWORK_ARCS = 6_000_000  # of a network: some 150 bytes each


class SelectedPairs(NamedTuple):
    """Pairs drawn, sorted by image, then place.

    Attributes:
        image: row of the image. place: column in `places` of the question drawn. Both int64 [pairs].
        method: how they were chosen. bound: no method can draw more pairs than this under the same limits.
    """

    image_rows: np.ndarray
    rank_columns: np.ndarray
    method: str
    upper_bound: int


@dataclass(frozen=True, slots=True)
class PairPool:
    """Pairs that may be proposed, sorted by image, then text; and the questions that give the texts.

    Attributes:
        image, text: int32 [pairs]. cost: float64 [pairs], in [0, 1); the cheaper the sooner chosen.
        giver, given: int32 [questions], the image and the text of each question; the same numbering.
    """

    pair_images: np.ndarray
    pair_texts: np.ndarray
    pair_costs: np.ndarray
    question_images: np.ndarray
    question_texts: np.ndarray
    num_images: int
    num_texts: int

    def count_arcs(self) -> int:
        """How many arcs the network has."""
        return (
            len(self.pair_images)
            + len(self.question_images)
            + self.num_images
            + (MAX_PRICED_REUSES + 1) * len(np.unique(self.pair_texts))
        )

    def keep_cheapest_pairs(self, max_pairs: int) -> PairPool:
        """At most so many pairs, of each text the cheapest ones, as many of one text as of another; at least one of each.

        An image must be asked as many questions as it gives, so that its own have to stay within reach of others: by
        the cheapest pairs of each image a fifth to a half of the candidates would be lost (docs/size.md).
        """
        if len(self.pair_images) <= max_pairs:
            return self
        order, counts = np.lexsort((self.pair_costs, self.pair_texts)), np.bincount(self.pair_texts)
        place = np.empty(len(order), np.int32)  # of a pair among those of its text
        place[order] = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
        stay = place < max(1, int(np.searchsorted(np.cumsum(np.bincount(place)), max_pairs, "right")))
        return replace(
            self,
            pair_images=self.pair_images[stay],
            pair_texts=self.pair_texts[stay],
            pair_costs=self.pair_costs[stay],
        )

    def compute_upper_bound(self, max_per_image: int, max_question_uses: int) -> int:
        """More pairs than this nobody can choose: an image is asked no more than `per_image`, than it can give,
        and than its pool holds."""
        gives = np.bincount(self.question_images, minlength=self.num_images) * max_question_uses
        asked = np.bincount(self.pair_images, minlength=self.num_images)
        return int(np.minimum(np.minimum(gives, asked), max_per_image).sum())


@dataclass(frozen=True, slots=True)
class PoolAssignment:
    """Chosen pairs: `pair` are positions in the pool, ascending; `question` the question that each uses."""

    pair_indices: np.ndarray
    question_indices: np.ndarray


def select_pairs_by_paper_rule(
    subset: Subset, ranked_questions: np.ndarray, image_ids: Sequence[str], per_image: int, seed: int
) -> SelectedPairs:
    """RGQA's draw: CLIP-Hard takes `draw` of each image's questions at random, CLIP-Easy the `draw` last ones."""
    chosen = (ranked_questions >= 0) & (np.arange(ranked_questions.shape[1]) < per_image)
    if subset == "clip-hard":
        known, chosen = (ranked_questions >= 0).sum(axis=1), np.zeros_like(chosen)
        for row, image_id in enumerate(image_ids):
            rng = make_generator(seed, "rank", subset, image_id)
            chosen[row, rng.choice(known[row], min(per_image, known[row]), replace=False)] = True
    image, place = np.nonzero(chosen)
    return SelectedPairs(image, place, "paper", len(place))


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
    """Draw up to `per_image` questions for each image so that it is asked as many as it gives to others and no
    question is used more than `cap` times (see `choose`). Questions pass only between images of the same part.

    CLIP-Hard draws at random within these limits, CLIP-Easy prefers the places nearest to the end.

    Args:
        validation: bool [images], which split each image belongs to. most_arcs: of the network of a split; of more, each text's
            cheapest pairs alone are in it.
    """

    def cost(row: int, columns: np.ndarray) -> np.ndarray:
        if subset == "clip-easy":
            return columns / max(1, ranked_questions.shape[1])
        return make_generator(seed, "rank", subset, table.image_ids[row]).random(len(columns))

    chosen, bound, left_out = np.zeros(ranked_questions.shape, bool), 0, False
    for split in (is_validation, ~is_validation):
        rows, questions = np.flatnonzero(split), np.flatnonzero(split[table.image_rows])
        if not len(rows):
            continue
        whole = build_pair_pool(ranked_questions, table, rows, questions, cost)
        bound += whole.compute_upper_bound(max_per_image, max_question_uses)
        pool = whole.keep_cheapest_pairs(len(whole.pair_images) - max(0, whole.count_arcs() - max_arcs))
        left_out |= pool is not whole
        choice = solve_pair_assignment(pool, max_per_image, max_question_uses)
        ends = np.searchsorted(pool.pair_images[choice.pair_indices], np.arange(1, len(rows)))
        for row, used in zip(rows, np.split(questions[choice.question_indices], ends), strict=True):
            chosen[row] = np.isin(ranked_questions[row], used)
    image, place = np.nonzero(chosen)
    return SelectedPairs(image, place, "exact, of each text's cheapest pairs" if left_out else "exact", bound)


def build_pair_pool(
    ranked_questions: np.ndarray,
    table: QuestionTable,
    image_rows: np.ndarray,
    question_rows: np.ndarray,
    cost_of: Callable[[int, np.ndarray], np.ndarray],
) -> PairPool:
    """The pairs of image and text within `places`, for the images `rows` and the texts of `questions`.

    Args:
        cost: row of an image, columns [n] of `places` -> costs [n] in [0, 1).
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
        # A text of which only some questions reach into the pool stands at its very edge: left out, so that the
        # place of whichever question is used is known.
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
    """Choose the pairs that cost least together (see the module's head), and the question that each uses."""
    n, t, pairs, there = pool.num_images, pool.num_texts, len(pool.pair_images), np.unique(pool.pair_texts)
    # nodes: an image as it is asked, an image as it gives, a text as it is given, a text as it is asked
    asked, gives, given, used = np.split(np.arange(2 * n + 2 * t, dtype=np.int32), [n, 2 * n, 2 * n + t])
    taken, uses, *_ = solve_min_cost_circulation(  # tail, head, capacity, cost
        (used[pool.pair_texts], asked[pool.pair_images], 1, pool.pair_costs - UNFILLED_PAIR_COST),
        (gives[pool.question_images], given[pool.question_texts], max_question_uses, 0.0),
        (asked, gives, max_per_image, 0.0),
        *(
            (given[there], used[there], 1 if k < MAX_PRICED_REUSES else pairs, TEXT_REUSE_COST * k)
            for k in range(MAX_PRICED_REUSES + 1)
        ),
    )
    pair = np.flatnonzero(taken)
    # Deal the questions, each as often as it is used, to the pairs of the same text, both in ascending order.
    dealt, question = np.repeat(np.arange(len(uses)), uses), np.empty(len(pair), np.int64)
    question[np.argsort(pool.pair_texts[pair], kind="stable")] = dealt[
        np.argsort(pool.question_texts[dealt], kind="stable")
    ]
    return PoolAssignment(pair, question)
