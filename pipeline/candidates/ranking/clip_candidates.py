"""Propose the CLIP candidates.

All pairs of an image and a question are ranked by CLIP score. The candidates of CLIP-Easy and CLIP-Hard are
selected among the ranked pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from pipeline.candidates.ranking.pair_scores import compute_quantiles
from pipeline.candidates.ranking.pair_selection import (
    SelectedPairs,
    select_balanced_pairs,
    select_pairs_by_paper_rule,
)
from pipeline.candidates.ranking.rank_inputs import Embeddings, QuestionTable, build_question_table
from pipeline.candidates.ranking.topk import Extreme, top_and_bottom_k
from pipeline.core.errors import UserError
from pipeline.core.rank_params import SIZE_NAMES, RankParams, SourceSize, resolve_rank_sizes
from pipeline.core.records import Candidate, Question, Subset, make_candidate_id


def propose_candidates(
    questions: Iterable[Question], embeddings: Embeddings, split: Mapping[str, str], params: RankParams
) -> tuple[list[Candidate], dict[str, Any]]:
    """Rank all pairs and select the candidates of both CLIP subsets.

    Args:
        questions: The questions of the source.
        embeddings: The vectors of the images and texts.
        split: Image id -> "validation" or "test".
        params: The parameters of the stage rank.

    Returns:
        The candidates, sorted by id and without programs (see `attach_programs`), and the numbers for the
        report: `images`, `pairs` (see `count_pairs`), `sizes` (see `summarize_sizes`), `images_with_limited_pools`
        (see `separate_extremes`) and `subsets` (see `summarize_selection`).

    No pair of an image and a question is in both subsets. The easy candidates of an image have lower scores
    than its hard candidates.

    Raises:
        UserError: No question can be proposed, or more questions are selected than their pool has.
    """
    table = build_question_table(questions, embeddings.image_ids, embeddings.text_strings)
    if not table.question_ids:
        raise UserError(
            "rank: no question can be proposed. All questions ask for existence, or none is about an embedded"
            " image. Add questions of other kinds to the source."
        )
    size = table.measure_size()
    sizes, paper = resolve_rank_sizes(params, size), params.uses_paper_rule
    top, bottom, _ = top_and_bottom_k(
        embeddings.image_vectors,
        embeddings.text_vectors,
        table,
        sizes.hard_pool,
        sizes.easy_last if paper else sizes.easy_pool,
        npy_paths=embeddings.npy_paths,
    )
    top, bottom, num_limited = separate_extremes(top, bottom, table.count_eligible())
    validation = np.array([split.get(image) == "validation" for image in table.image_ids])
    proposed: list[Candidate] = []
    subsets: dict[Subset, dict[str, object]] = {"clip-easy": {}, "clip-hard": {}}
    # The hard candidates come first, because the easy candidates must have lower scores.
    selections: tuple[tuple[Subset, int], ...] = (
        ("clip-hard", sizes.hard_draw),
        ("clip-easy", sizes.easy_last),
    )
    for subset, per_image in selections:
        extreme = top if subset == "clip-hard" else bottom
        if paper:
            selected = select_pairs_by_paper_rule(
                subset, extreme.questions, table.image_ids, per_image, params.seed
            )
        else:
            selected = select_balanced_pairs(
                subset, extreme.questions, table, validation, per_image, params.max_question_uses, params.seed
            )
        if subset == "clip-hard":
            bottom = keep_below(bottom, top, selected)
        proposed += _make_candidates(subset, selected, extreme, table, embeddings.text_strings)
        subsets[subset] = summarize_selection(selected, extreme, table, per_image)
    figures = {
        "images": len(table.image_ids),
        "pairs": count_pairs(table),
        "sizes": summarize_sizes(params, size),
        "images_with_limited_pools": num_limited,
        "subsets": subsets,
    }
    return sorted(proposed, key=lambda candidate: candidate.candidate_id), figures


def separate_extremes(top: Extreme, bottom: Extreme, eligible: np.ndarray) -> tuple[Extreme, Extreme, int]:
    """Make the top and the bottom of each image's ranking disjoint.

    Where both together are longer than the ranking, it is divided between them in the ratio of their lengths.

    Args:
        eligible: Number of questions in each image's ranking, int [images].

    Returns:
        Both, with -1 where a question belongs to the other one, and the number of images that this concerns.

    Example:
        >>> both = Extreme(np.array([[2, 0, 1]]), np.array([[30, 20, 10]])), Extreme(np.array([[1, 0, 2]]), np.array([[10, 20, 30]]))
        >>> top, bottom, num_limited = separate_extremes(*both, np.array([3]))
        >>> top.questions.tolist(), bottom.questions.tolist(), num_limited
        ([[2, -1, -1]], [[1, 0, -1]], 1)
    """
    k_top, k_bottom = top.questions.shape[1], bottom.questions.shape[1]
    overlaps = k_top + k_bottom > eligible
    at_top = np.where(overlaps, eligible * k_top // max(1, k_top + k_bottom), k_top)
    at_bottom = np.where(overlaps, eligible - at_top, k_bottom)

    def limit(extreme: Extreme, lengths: np.ndarray) -> Extreme:
        inside = np.arange(extreme.questions.shape[1]) < lengths[:, None]
        return extreme._replace(questions=np.where(inside, extreme.questions, -1))

    return limit(top, at_top), limit(bottom, at_bottom), int(overlaps.sum())


def keep_below(bottom: Extreme, top: Extreme, selected: SelectedPairs) -> Extreme:
    """Keep the questions of the bottom whose score is lower than all scores selected from the top for the same image.

    Different texts can have the same score.
    """
    lowest = np.full(len(top.scores), np.iinfo(np.int32).max, np.int64)
    np.minimum.at(lowest, selected.image_rows, top.scores[selected.image_rows, selected.rank_columns])
    return bottom._replace(questions=np.where(bottom.scores < lowest[:, None], bottom.questions, -1))


def summarize_sizes(params: RankParams, size: SourceSize) -> dict[str, object]:
    """Return the sizes for the report, those that were `auto`, and what they follow from."""
    auto = [name for name in SIZE_NAMES if getattr(params, name) == "auto"]
    return {**resolve_rank_sizes(params, size)._asdict(), "auto": auto, "from": size._asdict()}


def _make_candidates(
    subset: Subset, selected: SelectedPairs, extreme: Extreme, table: QuestionTable, texts: Sequence[str]
) -> Iterator[Candidate]:
    eligible = table.count_eligible()
    pairs: list[tuple[int, int]] = list(
        zip(selected.image_rows.tolist(), selected.rank_columns.tolist(), strict=True)
    )
    for image, column in pairs:
        question = int(extreme.questions[image, column])
        image_id, question_id = table.image_ids[image], table.question_ids[question]
        yield Candidate(
            candidate_id=make_candidate_id(subset, image_id, question_id),
            subset=subset,
            image_id=image_id,
            question_id=question_id,
            text=texts[int(table.text_rows[question])],
            score=int(extreme.scores[image, column]) / 1e6,
            rank=int(eligible[image]) - column if subset == "clip-easy" else column + 1,
        )


def attach_programs(proposed: Iterable[Candidate], questions: Mapping[str, Question]) -> Iterator[Candidate]:
    """Add to each candidate the program of its question. `questions` maps question ids to questions."""
    return (msgspec.structs.replace(row, program=questions[row.question_id].program) for row in proposed)


def count_pairs(table: QuestionTable) -> dict[str, int]:
    """Count the pairs of an image and a question.

    Returns:
        The number of all pairs, of pairs excluded for each reason, and of eligible pairs. The numbers of
        excluded and of eligible pairs add up to the number of all pairs.
    """
    images, own = len(table.image_ids), len(table.question_ids)
    eligible = int(table.count_eligible().sum())
    return {
        "all": images * (own + table.num_existence),
        "existence question": images * table.num_existence,
        "own question": own,
        "text of an own question": images * own - own - eligible,
        "eligible": eligible,
    }


def summarize_selection(
    selected: SelectedPairs, extreme: Extreme, table: QuestionTable, num_wanted: int
) -> dict[str, object]:
    """Summarize the selected pairs of one subset.

    Args:
        selected: The selected pairs.
        extreme: The extreme of the ranking from which the pairs were selected.
        table: The questions.
        num_wanted: Number of questions that should be selected per image.

    Returns:
        Numbers for the report:

        - `candidates`: number of selected pairs.
        - `upper_bound`: upper bound of the number of pairs that any method can select.
        - `short_of_upper_bound`: proportion of `upper_bound` that was not selected. It can be positive even
          for an optimal selection.
        - `received`, `given`: minimum, mean and maximum of the number of questions that an image receives
          from other images, and gives to other images.
        - `received_minus_given`: largest absolute difference of the two numbers, and the sum over all images.
        - `questions_by_use_count`: number of uses -> number of questions that are used so often.
    """
    questions, images = (
        extreme.questions[selected.image_rows, selected.rank_columns],
        len(table.image_ids),
    )
    received = np.bincount(selected.image_rows, minlength=images)
    given = np.bincount(table.image_rows[questions], minlength=images)
    differences, used = np.abs(received - given), np.bincount(np.bincount(questions))
    return {
        "candidates": len(questions),
        "method": selected.method,
        "upper_bound": selected.upper_bound,
        "short_of_upper_bound": round(1 - len(questions) / selected.upper_bound, 6)
        if selected.upper_bound
        else 0.0,
        "images_with_fewer_than_wanted": int((received < num_wanted).sum()),
        **{
            name: {"least": int(n.min()), "mean": round(float(n.mean()), 3), "most": int(n.max())}
            for name, n in (("received", received), ("given", given))
        },
        "received_minus_given": {"largest": int(differences.max()), "sum": int(differences.sum())},
        "questions_by_use_count": {str(uses): int(used[uses]) for uses in np.flatnonzero(used) if uses},
        "distinct_texts": len(np.unique(table.text_rows[questions])),
        "score_quantiles": compute_quantiles(
            extreme.scores[selected.image_rows, selected.rank_columns] / 1e6
        ),
    }
