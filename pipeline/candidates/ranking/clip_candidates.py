"""Propose the CLIP candidates: rank all pairs of an image and a question, draw those of both subsets."""

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
    """Parameters of rank.

    Attributes:
        preset: "even" caps and spreads the draw; "paper" draws as RGQA did (no cap, pure draw, the very last).
        hard_draw, hard_pool: so many questions per image out of so many best ones (RGQA: 85 of 2,500).
        easy_last: so many of the least similar ones (RGQA: 50). easy_pool: how far up from the end the even draw may
            go for them, as the very last are the same few questions for most images.
        cap: how often one question may be used in a subset; 0 is no cap, which leaves the paper's rule.
        validation_share: share of the images in the validation part.
        seed: of the draw and of the splits.
    """

    preset: Literal["even", "paper"] = "even"
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
    """The part of each image, by id: thresholds are chosen on validation and applied to test.

    The image's id alone decides, so that images added or removed change no other image's part."""
    keys = {image: int(content_hash(str(seed), "split", image), 16) for image in image_ids}
    return {
        image: "validation" if key < validation_proportion * 2**64 else "test" for image, key in keys.items()
    }


def propose_candidates(
    questions: Iterable[Question], embeddings: Embeddings, split: Mapping[str, str], params: RankParams
) -> tuple[list[Candidate], dict[str, object]]:
    """Rank all pairs and draw the candidates of both subsets; also what the report says of them: `images`, `pairs`
    (`pair_counts`), `subsets` (`spread` of each). `part` maps images to validation and test. The candidates are without programs
    (`with_programs`).

    Raises:
        UserError: there is no question to propose.
    """
    table = build_question_table(questions, embeddings.image_ids, embeddings.text_strings)
    if not table.question_ids:
        raise UserError(
            "rank: no question can be proposed: all ask for existence, or none is asked of an embedded image"
        )
    paper = params.preset == "paper" or params.max_question_uses == 0
    easy_pool = params.easy_last if paper else params.easy_pool
    best, last, _ = top_and_bottom_k(
        embeddings.image_vectors,
        embeddings.text_vectors,
        table,
        params.hard_pool,
        easy_pool,
        npy_paths=embeddings.npy_paths,
    )
    validation = np.array([split.get(image) == "validation" for image in table.image_ids])
    wanted: dict[Subset, tuple[Extreme, int]] = {
        "clip-easy": (last, params.easy_last),
        "clip-hard": (best, params.hard_draw),
    }
    proposed: list[Candidate] = []
    subsets = {}
    for subset, (end, draw) in wanted.items():
        if paper:
            drawn = select_pairs_by_paper_rule(subset, end.questions, table.image_ids, draw, params.seed)
        else:
            drawn = select_balanced_pairs(
                subset, end.questions, table, validation, draw, params.max_question_uses, params.seed
            )
        proposed += _make_candidates(subset, drawn, end, table, embeddings.text_strings)
        subsets[subset] = summarize_selection(drawn, end, table, draw)
    figures = {"images": len(table.image_ids), "pairs": count_pairs(table), "subsets": subsets}
    return sorted(proposed, key=lambda candidate: candidate.candidate_id), figures


def _make_candidates(
    subset: Subset, drawn: SelectedPairs, end: Extreme, table: QuestionTable, texts: Sequence[str]
) -> Iterator[Candidate]:
    admissible = table.count_eligible()
    pairs: list[tuple[int, int]] = list(
        zip(drawn.image_rows.tolist(), drawn.rank_columns.tolist(), strict=True)
    )
    for image, place in pairs:
        number = int(end.questions[image, place])
        image_id, question_id = table.image_ids[image], table.question_ids[number]
        yield Candidate(
            candidate_id=make_candidate_id(subset, image_id, question_id),
            subset=subset,
            image_id=image_id,
            question_id=question_id,
            text=texts[int(table.text_rows[number])],
            score=int(end.scores[image, place]) / 1e6,
            rank=int(admissible[image]) - place if subset == "clip-easy" else place + 1,
        )


def attach_programs(proposed: Iterable[Candidate], questions: Mapping[str, Question]) -> Iterator[Candidate]:
    """Proposed candidates with the programs of their questions, which are given by their ids."""
    return (msgspec.structs.replace(row, program=questions[row.question_id].program) for row in proposed)


def count_pairs(table: QuestionTable) -> dict[str, int]:
    """All pairs of an image and a question asked of any image = those left out, by reason + the admissible."""
    images, own = len(table.image_ids), len(table.question_ids)
    admissible = int(table.count_eligible().sum())
    return {
        "all": images * (own + table.num_existence),
        "existence question": images * table.num_existence,
        "own question": own,
        "text of an own question": images * own - own - admissible,
        "admissible": admissible,
    }


def summarize_selection(
    selected: SelectedPairs, extreme: Extreme, table: QuestionTable, num_wanted: int
) -> dict[str, object]:
    """How one subset's candidates are spread, of which `wanted` were to be drawn for each image.

    Returns:
        bound: no method can draw more. short_of_bound: share of it that is missing (an exact draw is optimal all
        the same). asked, given: pairs per image: least, mean, most; asked_minus_given: largest difference, sum of
        all. questions_by_uses: how many questions are used so often.
    """
    questions, images = (
        extreme.questions[selected.image_rows, selected.rank_columns],
        len(table.image_ids),
    )
    asked = np.bincount(selected.image_rows, minlength=images)
    given = np.bincount(table.image_rows[questions], minlength=images)
    apart, used = np.abs(asked - given), np.bincount(np.bincount(questions))
    return {
        "candidates": len(questions),
        "method": selected.method,
        "bound": selected.upper_bound,
        "short_of_bound": round(1 - len(questions) / selected.upper_bound, 6)
        if selected.upper_bound
        else 0.0,
        "images_with_fewer_than_wanted": int((asked < num_wanted).sum()),
        **{
            name: {"least": int(n.min()), "mean": round(float(n.mean()), 3), "most": int(n.max())}
            for name, n in (("asked", asked), ("given", given))
        },
        "asked_minus_given": {"largest": int(apart.max()), "sum": int(apart.sum())},
        "questions_by_uses": {str(uses): int(used[uses]) for uses in np.flatnonzero(used) if uses},
        "distinct_texts": len(np.unique(table.text_rows[questions])),
        "score_quantiles": compute_quantiles(
            extreme.scores[selected.image_rows, selected.rank_columns] / 1e6
        ),
    }
