"""Propose the CLIP candidates.

All pairs of an image and a question are ranked by CLIP score. The candidates of CLIP-Easy and CLIP-Hard are
selected among the ranked pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Literal

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
from pipeline.core.json_files import content_hash
from pipeline.core.params import Count, CountOrUnlimited, Params, Seed
from pipeline.core.records import Candidate, Question, Subset, make_candidate_id

BenchmarkSplit = Literal["validation", "test"]


class RankParams(Params):
    """Parameters of stage `rank`.

    Attributes:
        preset: Rule by which ranked pairs become candidates. `balanced` limits how often a question is used,
            and spreads the selection evenly over images. `paper` follows RGQA (section 3.1): questions have
            no limit, CLIP-Hard is purely random, and CLIP-Easy takes the least similar questions.
        hard_draw: Number of questions selected for each image from its `hard_pool` most similar questions.
            They become the candidates of CLIP-Hard. RGQA: 85.
        hard_pool: Number of most similar questions of each image from which `hard_draw` questions are
            selected. A smaller pool makes harder candidates. RGQA: 2,500 of 12,578.
        easy_last: Number of questions selected for each image among its least similar questions. They become
            the candidates of CLIP-Easy. RGQA: 50.
        easy_pool: Number of least similar questions of each image from which the preset `balanced` selects
            `easy_last` questions. The very last questions of the ranking are the same few for most images.
        max_question_uses: Maximum number of uses of a question in a subset. 0 means no limit and has the same
            effect as the preset `paper`.
        validation_proportion: Proportion of the images (0 to 1) assigned to the split validation, on which
            thresholds are chosen.
        seed: Seed of the selection and of the splits.
    """

    preset: Literal["balanced", "paper"] = "balanced"
    hard_draw: Count = 85
    hard_pool: Count = 2500
    easy_last: Count = 50
    easy_pool: Count = 2500
    max_question_uses: CountOrUnlimited = 3
    validation_proportion: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.2
    seed: Seed = 0


def assign_splits(
    image_ids: Iterable[str], validation_proportion: float, seed: int
) -> dict[str, BenchmarkSplit]:
    """Assign each image to a split. Thresholds are chosen on validation and applied to test.

    The split depends only on the id of the image and on the seed. So adding or removing images does not
    change the split of any other image.

    Args:
        image_ids: The ids of the images.
        validation_proportion: Expected proportion of the images in validation (0 to 1).
        seed: Seed of the assignment.

    Returns:
        Image id -> "validation" or "test".
    """
    # The salt "part" is the name that the first version used. Another salt would move images between the
    # splits.
    keys = {image: int(content_hash(str(seed), "part", image), 16) for image in image_ids}
    return {
        image: "validation" if key < validation_proportion * 2**64 else "test" for image, key in keys.items()
    }


def propose_candidates(
    questions: Iterable[Question], embeddings: Embeddings, split: Mapping[str, str], params: RankParams
) -> tuple[list[Candidate], dict[str, object]]:
    """Rank all pairs and select the candidates of both CLIP subsets.

    Args:
        questions: The questions of the source.
        embeddings: The vectors of the images and texts.
        split: Image id -> "validation" or "test".
        params: The parameters of the stage rank.

    Returns:
        The candidates, sorted by id and without programs (see `attach_programs`), and the numbers for the
        report: `images`, `pairs` (see `count_pairs`) and `subsets` (see `summarize_selection`).

    Raises:
        UserError: No question can be proposed.
    """
    table = build_question_table(questions, embeddings.image_ids, embeddings.text_strings)
    if not table.question_ids:
        raise UserError(
            "rank: no question can be proposed. All questions ask for existence, or none is about an embedded"
            " image. Add questions of other kinds to the source."
        )
    paper = params.preset == "paper" or params.max_question_uses == 0
    easy_pool = params.easy_last if paper else params.easy_pool
    top, bottom, _ = top_and_bottom_k(
        embeddings.image_vectors,
        embeddings.text_vectors,
        table,
        params.hard_pool,
        easy_pool,
        npy_paths=embeddings.npy_paths,
    )
    validation = np.array([split.get(image) == "validation" for image in table.image_ids])
    selections: dict[Subset, tuple[Extreme, int]] = {
        "clip-easy": (bottom, params.easy_last),
        "clip-hard": (top, params.hard_draw),
    }
    proposed: list[Candidate] = []
    subsets = {}
    for subset, (extreme, per_image) in selections.items():
        if paper:
            selected = select_pairs_by_paper_rule(
                subset, extreme.questions, table.image_ids, per_image, params.seed
            )
        else:
            selected = select_balanced_pairs(
                subset, extreme.questions, table, validation, per_image, params.max_question_uses, params.seed
            )
        proposed += _make_candidates(subset, selected, extreme, table, embeddings.text_strings)
        subsets[subset] = summarize_selection(selected, extreme, table, per_image)
    figures = {"images": len(table.image_ids), "pairs": count_pairs(table), "subsets": subsets}
    return sorted(proposed, key=lambda candidate: candidate.candidate_id), figures


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
