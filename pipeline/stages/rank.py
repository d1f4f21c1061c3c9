"""Propose CLIP candidates: every picture's most and least similar questions among those of other pictures.

Existence questions and the picture's own questions (by id and by text) are never proposed. CLIP-Hard draws from the
best questions, CLIP-Easy takes from the last ones (RGQA 3.1). Beyond the paper, `cap` limits how often a question is
used, and the draw is spread so that every picture is asked as many questions as it gives to others, within its part.

Reads   ingest/questions.jsonl, embed/pictures.npy, picture_ids.json, texts.npy, texts.json
Writes  candidates.jsonl   clip-easy and clip-hard
        own_scores.jsonl   the CLIP score of every question with its own picture
        parts.json         dev or test, for every picture
        rank.json          pairs left out by reason, margins, score quantiles, distance from the optimum
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
import numpy as np

from pipeline.balancing.dev_test import parts
from pipeline.core import params
from pipeline.core.errors import Problems, UserError, run
from pipeline.core.files import read_jsonl, write_json, write_jsonl
from pipeline.core.params import Params
from pipeline.core.paths import Folders
from pipeline.core.progress import done, track
from pipeline.core.records import Candidate, OwnScore, Question, Subset, candidate_id
from pipeline.ranking import rank_figures
from pipeline.ranking.admissible import QuestionTable, question_table
from pipeline.ranking.clip_vectors import Vectors, read_vectors
from pipeline.ranking.draw import Drawn, evenly, paper_easy, paper_hard
from pipeline.ranking.topk import ROWS, Ends, ends, scores_of

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
) -> tuple[list[Candidate], dict[str, Any]]:
    """Rank all pairs and draw the candidates of both subsets; also the report. `part` maps pictures to dev and test."""
    ids = vectors.picture_ids
    table = question_table(questions, ids, vectors.text_list)
    if not table.ids:
        raise UserError(
            "rank: no question can be proposed: all ask for existence, or none is asked of an embedded picture"
        )
    paper = p.preset == "paper" or p.cap == 0
    found = ends(
        vectors.pictures,
        vectors.texts,
        table,
        p.hard_pool,
        p.easy_last if paper else p.easy_pool,
        watch=lambda blocks: track(blocks, "rank", -(-len(ids) // ROWS), "block"),
    )
    if paper:
        drawn = {
            "clip-easy": paper_easy(found.last, p.easy_last),
            "clip-hard": paper_hard(found.best, ids, p.hard_draw, p.seed),
        }
    else:
        dev = np.array([part[picture] == "dev" for picture in ids])
        drawn = {
            "clip-easy": evenly(found.last, table, "clip-easy", ids, dev, p.easy_last, p.cap, p.seed),
            "clip-hard": evenly(found.best, table, "clip-hard", ids, dev, p.hard_draw, p.cap, p.seed),
        }
    by_id = {q.question_id: q for q in questions}
    made = {subset: candidates(subset, pairs, found, table, ids, by_id) for subset, pairs in drawn.items()}
    wanted = {"clip-easy": p.easy_last, "clip-hard": p.hard_draw}
    return sorted((c for rows in made.values() for c in rows), key=lambda c: c.candidate_id), {
        "pictures": len(ids),
        "pairs": rank_figures.pairs(table, len(ids)),
        "subsets": {
            subset: rank_figures.figures(made[subset], drawn[subset], by_id, ids, wanted[subset])
            for subset in drawn
        },
    }


def candidates(
    subset: Subset,
    drawn: Drawn,
    found: Ends,
    table: QuestionTable,
    picture_ids: Sequence[str],
    questions: Mapping[str, Question],
) -> list[Candidate]:
    """Records of the drawn pairs of one subset."""
    places, scores = (
        (found.last, found.last_scores) if subset == "clip-easy" else (found.best, found.best_scores)
    )
    admissible = table.admissible()
    rows = []
    for picture, place in zip(drawn.picture.tolist(), drawn.place.tolist(), strict=True):
        question = questions[table.ids[places[picture, place]]]
        rows.append(
            Candidate(
                candidate_id=candidate_id(subset, picture_ids[picture], question.question_id),
                subset=subset,
                picture_id=picture_ids[picture],
                question_id=question.question_id,
                text=question.text,
                program=question.program,
                score=_cosine(scores[picture, place]),
                rank=int(admissible[picture]) - place if subset == "clip-easy" else place + 1,
            )
        )
    return rows


def own_scores(questions: Sequence[Question], vectors: Vectors) -> list[OwnScore]:
    """The score of every question with its own picture, sorted by question id."""
    picture, text = (
        {key: row for row, key in enumerate(keys)} for keys in (vectors.picture_ids, vectors.text_list)
    )
    own = sorted((q for q in questions if q.picture_id in picture), key=lambda q: q.question_id)
    rows = [
        np.array([row[key(q)] for q in own], np.int64)
        for row, key in ((picture, lambda q: q.picture_id), (text, lambda q: q.text))
    ]
    scores = scores_of(vectors.pictures, vectors.texts, *rows)
    return [
        OwnScore(question_id=q.question_id, score=_cosine(score))
        for q, score in zip(own, scores, strict=True)
    ]


def _cosine(millionths: int) -> float:
    return int(millionths) / 1e6


def _checked(p: RankParams) -> RankParams:
    problems = Problems("params.yaml, rank")
    for draw, pool in (("hard_draw", "hard_pool"), ("easy_last", "easy_pool")):
        if getattr(p, draw) > getattr(p, pool):
            problems.add(draw, f"{getattr(p, draw)} cannot be drawn from {pool}: {getattr(p, pool)}")
    problems.raise_if_any()
    return p


def main() -> None:
    folders, p = Folders(), _checked(params.load("rank", RankParams))
    vectors = read_vectors(folders.stage("embed"))
    shown = set(vectors.picture_ids)
    questions = [
        q for q in read_jsonl(folders.stage("ingest") / "questions.jsonl", Question) if q.picture_id in shown
    ]
    part = parts(vectors.picture_ids, p.dev_share, p.seed)
    proposed, figures = propose(questions, vectors, part, p)
    own = own_scores(questions, vectors)

    folder = folders.stage("rank")
    write_jsonl(folder / "candidates.jsonl", proposed)
    write_jsonl(folder / "own_scores.jsonl", own)
    write_json(folder / "parts.json", part)
    write_json(
        folder / "rank.json",
        {
            **figures,
            "parts": Counter(part.values()),
            "own_score_quantiles": rank_figures.quantiles([o.score for o in own]),
        },
    )
    done("rank", f"{len(proposed):,} candidates", folder)


if __name__ == "__main__":
    run(main)
