"""Propose the CLIP candidates: rank all pairs of a picture and a question, draw those of both subsets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import msgspec
import numpy as np

from pipeline.core.errors import UserError
from pipeline.core.params import Params
from pipeline.core.progress import track
from pipeline.core.records import Candidate, OwnScore, Question, Subset, candidate_id
from pipeline.ranking.admissible import QuestionTable, question_table
from pipeline.ranking.clip_vectors import Vectors
from pipeline.ranking.draw import Drawn, draw_by_the_paper, draw_evenly
from pipeline.ranking.rank_figures import RankFigures, pair_counts, subset_figures
from pipeline.ranking.topk import ROWS, End, ends, scores_of

Count = Annotated[int, msgspec.Meta(ge=1)]


class RankParams(Params):
    """Parameters of rank.

    Attributes:
        preset: "even" caps and spreads the draw; "paper" draws as RGQA did (no cap, pure draw, the very last).
        hard_draw, hard_pool: so many questions per picture out of so many best ones (RGQA: 85 of 2,500).
        easy_last: so many of the least similar ones (RGQA: 50). easy_pool: how far up from the end the even draw may
            go for them, as the very last are the same few questions for most pictures.
        cap: how often one question may be used in a subset; 0 is no cap, which leaves the paper's rule.
        dev_share: share of the pictures in the dev part.
        seed: of the draw and of the parts.
    """

    preset: Literal["even", "paper"] = "even"
    hard_draw: Count = 85
    hard_pool: Count = 2500
    easy_last: Count = 50
    easy_pool: Count = 2500
    cap: Annotated[int, msgspec.Meta(ge=0)] = 3
    dev_share: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.2
    seed: int = 0


def propose(
    questions: Sequence[Question], vectors: Vectors, part: Mapping[str, str], p: RankParams
) -> tuple[list[Candidate], RankFigures]:
    """Rank all pairs and draw the candidates of both subsets; also their figures. `part` maps pictures to dev and test.

    Raises:
        UserError: there is no question to propose.
    """
    table = question_table(questions, vectors.picture_ids, vectors.text_list)
    if not table.questions:
        raise UserError(
            "rank: no question can be proposed: all ask for existence, or none is asked of an embedded picture"
        )
    paper = p.preset == "paper" or p.cap == 0
    best, last, _ = ends(
        vectors.pictures,
        vectors.texts,
        table,
        p.hard_pool,
        p.easy_last if paper else p.easy_pool,
        watch=lambda blocks: track(blocks, "rank", -(-len(table.picture_ids) // ROWS), "block"),
    )
    dev = np.array([part.get(picture) == "dev" for picture in table.picture_ids])
    wanted: dict[Subset, tuple[End, int]] = {
        "clip-easy": (last, p.easy_last),
        "clip-hard": (best, p.hard_draw),
    }
    proposed: list[Candidate] = []
    figures = {}
    for subset, (end, draw) in wanted.items():
        if paper:
            drawn = draw_by_the_paper(subset, end.places, table.picture_ids, draw, p.seed)
        else:
            drawn = draw_evenly(subset, end.places, table, dev, draw, p.cap, p.seed)
        candidates = _candidates(subset, drawn, end, table)
        figures[subset] = subset_figures(candidates, drawn, table, draw)
        proposed += candidates
    counts = RankFigures(pictures=len(table.picture_ids), pairs=pair_counts(table), subsets=figures)
    return sorted(proposed, key=lambda candidate: candidate.candidate_id), counts


def _candidates(subset: Subset, drawn: Drawn, end: End, table: QuestionTable) -> list[Candidate]:
    admissible = table.admissible()
    candidates = []
    for picture, place in np.column_stack([drawn.picture, drawn.place]).tolist():
        question = table.questions[end.places[picture, place]]
        picture_id = table.picture_ids[int(picture)]
        candidate = Candidate(
            candidate_id=candidate_id(subset, picture_id, question.question_id),
            subset=subset,
            picture_id=picture_id,
            question_id=question.question_id,
            text=question.text,
            program=question.program,
            score=int(end.scores[picture, place]) / 1e6,
            rank=int(admissible[picture]) - place if subset == "clip-easy" else place + 1,
        )
        candidates.append(candidate)
    return candidates


def own_scores(questions: Sequence[Question], vectors: Vectors) -> list[OwnScore]:
    """The score of every question with its own picture, sorted by question id."""
    picture_row = {picture_id: row for row, picture_id in enumerate(vectors.picture_ids)}
    text_row = {text: row for row, text in enumerate(vectors.text_list)}
    own = sorted((q for q in questions if q.picture_id in picture_row), key=lambda q: q.question_id)
    pictures = np.array([picture_row[q.picture_id] for q in own], np.int64)
    texts = np.array([text_row[q.text] for q in own], np.int64)
    scores = scores_of(vectors.pictures, vectors.texts, pictures, texts).tolist()
    return [
        OwnScore(question_id=q.question_id, score=score / 1e6) for q, score in zip(own, scores, strict=True)
    ]
