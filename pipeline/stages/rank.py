"""Propose the candidates of the CLIP subsets: for each image, the most and the least similar questions of
other images.

Existence questions and the image's own questions (by id and by text) are never proposed. The candidates of
clip-hard are selected from the most similar questions, the candidates of clip-easy from the least similar
questions (RGQA paper, section 3.1). Two rules go beyond the paper: `max_question_uses` limits how often a
question is used, and the selection is balanced, so that each image receives as many questions as it gives to
other images of its split.

Reads   ingest/questions.jsonl, embed/images.npy, image_ids.json, texts.npy, texts.json
Writes  candidates.jsonl     Candidate: clip-easy and clip-hard
        source_scores.jsonl  SourceQuestionScore: the CLIP score of every question with its own image
        splits.json          validation or test, for every image
        rank.json            number of excluded pairs by reason, balance, quantiles of the scores, and how far the selection
                             is from the optimum
"""

from __future__ import annotations

from collections import Counter

from pipeline.candidates.ranking.clip_candidates import (
    RankParams,
    assign_splits,
    attach_programs,
    propose_candidates,
)
from pipeline.candidates.ranking.pair_scores import compute_quantiles, score_own_questions
from pipeline.candidates.ranking.rank_inputs import load_embeddings
from pipeline.core.errors import Problems, format_count, run_command
from pipeline.core.jsonl_index import UniqueIndex
from pipeline.core.params import load_params
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import Question


def _check_pools(p: RankParams) -> RankParams:
    problems = Problems("params.yaml, rank")
    for draw, pool in (("hard_draw", "hard_pool"), ("easy_last", "easy_pool")):
        if getattr(p, draw) > getattr(p, pool):
            problems.add(
                draw, f"{getattr(p, draw)} is more than {pool}, {getattr(p, pool)}. Lower it or raise {pool}."
            )
    problems.raise_if_any()
    return p


def main() -> None:
    folders, p = DatasetFolders(), _check_pools(load_params("rank", RankParams))
    vectors = load_embeddings(folders.stage_dir("embed"))
    split = assign_splits(vectors.image_ids, p.validation_proportion, p.seed)
    proposed, figures = propose_candidates(folders.read_questions_about(split), vectors, split, p)
    own_scores = score_own_questions(folders.read_questions_about(split), vectors)
    split_sizes, quantiles = Counter(split.values()), compute_quantiles([row.score for row in own_scores])
    report = {**figures, "splits": split_sizes, "source_score_quantiles": quantiles}
    questions = UniqueIndex(folders.record_file(Question), Question, "question_id")
    files = {
        "candidates.jsonl": attach_programs(proposed, questions),
        "source_scores.jsonl": own_scores,
        "splits.json": split,
        "rank.json": report,
    }
    folders.write_stage_outputs("rank", format_count(len(proposed), "candidate"), files)


if __name__ == "__main__":
    run_command(main)
