"""Propose CLIP candidates: every picture's most and least similar questions among those of other pictures.

Existence questions and the picture's own questions (by id and by text) are never proposed. CLIP-Hard draws from the
best questions, CLIP-Easy takes from the last ones (RGQA 3.1). Beyond the paper, `cap` limits how often a question is
used, and the draw is spread so that every picture is asked as many questions as it gives to others, within its part.

Reads   ingest/questions.jsonl, embed/pictures.npy, picture_ids.json, texts.npy, texts.json
Writes  candidates.jsonl   Candidate: clip-easy and clip-hard
        own_scores.jsonl   OwnScore: the CLIP score of every question with its own picture
        parts.json         dev or test, for every picture
        rank.json          pairs left out by reason, margins, score quantiles, distance from the optimum
"""

from __future__ import annotations

from collections import Counter

from pipeline.candidates.ranking.clip_candidates import RankParams, parts, propose, with_programs
from pipeline.candidates.ranking.pair_scores import own_scores, quantiles
from pipeline.candidates.ranking.rank_inputs import read_vectors
from pipeline.core.errors import Problems, counted, run
from pipeline.core.jsonl_index import Singles
from pipeline.core.params import load
from pipeline.core.paths import Folders
from pipeline.core.records import Question


def _checked(p: RankParams) -> RankParams:
    problems = Problems("params.yaml, rank")
    for draw, pool in (("hard_draw", "hard_pool"), ("easy_last", "easy_pool")):
        if getattr(p, draw) > getattr(p, pool):
            problems.add(draw, f"{getattr(p, draw)} cannot be drawn from {pool}: {getattr(p, pool)}")
    problems.raise_if_any()
    return p


def main() -> None:
    folders, p = Folders(), _checked(load("rank", RankParams))
    vectors = read_vectors(folders.stage("embed"))
    part = parts(vectors.picture_ids, p.dev_share, p.seed)
    proposed, figures = propose(folders.asked(part), vectors, part, p)
    own = own_scores(folders.asked(part), vectors)
    in_parts, scores = Counter(part.values()), quantiles([row.score for row in own])
    report = {**figures, "parts": in_parts, "own_score_quantiles": scores}
    asked = Singles(folders.file(Question), Question, "question_id")
    files = {
        "candidates.jsonl": with_programs(proposed, asked),
        "own_scores.jsonl": own,
        "parts.json": part,
        "rank.json": report,
    }
    folders.finish("rank", counted(len(proposed), "candidate"), files)


if __name__ == "__main__":
    run(main)
