"""Propose the candidates of the CLIP subsets: for each image, the most and the least similar questions of
other images.

Existence questions and the image's own questions (by id and by text) are never proposed. The candidates of
clip-hard are selected from the most similar questions, the candidates of clip-easy from the least similar
questions (RGQA paper, section 3.1). Two rules go beyond the paper: `max_question_uses` limits how often a
question is used, and the selection is balanced, so that each image receives as many questions as it gives to
other images of its split.
No pair of an image and a question is in both subsets, and the easy questions of an image have lower scores
than its hard questions. Without CLIP subsets (`ingest.subsets`) nothing is ranked, and no question has a
score.

Reads   ingest/questions.jsonl, ingest/ingest.json, embed/images.npy, image_ids.json, texts.npy, texts.json
Writes  candidates.jsonl     Candidate: clip-easy and clip-hard
        source_scores.jsonl  SourceQuestionScore: the CLIP score of every question with its own image
        splits.json          validation or test, for every image
        rank.json            number of excluded pairs by reason, sizes (also those that `auto` chose), balance, quantiles of
                             the scores, and how far the selection is from the optimum
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pipeline.candidates.ranking.clip_candidates import attach_programs, propose_candidates
from pipeline.candidates.ranking.pair_scores import compute_quantiles, score_own_questions
from pipeline.candidates.ranking.rank_inputs import load_embeddings
from pipeline.core.errors import format_count, run_command, warn
from pipeline.core.json_files import read_json
from pipeline.core.jsonl_index import UniqueIndex
from pipeline.core.params import load_params
from pipeline.core.paths import DatasetFolders
from pipeline.core.rank_params import RankParams, assign_splits
from pipeline.core.records import CLIP_SUBSETS, Candidate, Question, SourceQuestionScore, Subset


def rank_pairs(
    folders: DatasetFolders, p: RankParams, subsets: Sequence[Subset]
) -> tuple[list[Candidate], list[SourceQuestionScore], dict[str, Any]]:
    """Return the candidates of the requested CLIP subsets, the scores of all questions, and the figures for the report."""
    if p.preset != "paper" and p.uses_paper_rule:
        warn(
            f"rank.max_question_uses is 0, so pairs are selected as by `preset: paper`, and not as by `preset: {p.preset}`. Set a limit, or "
            "set the preset"
        )
    vectors = load_embeddings(folders.stage_dir("embed"))
    split = assign_splits(vectors.image_ids, p.validation_proportion, p.seed)
    proposed, figures = propose_candidates(folders.read_questions_about(split), vectors, split, p)
    if figures["images_with_limited_pools"]:
        warn(
            f"rank.hard_pool and rank.easy_pool overlap for {format_count(figures['images_with_limited_pools'], 'image')}, so the ranking was "
            "divided between them there. Lower them, or set them to auto."
        )
    figures["subsets"] = {name: row for name, row in figures["subsets"].items() if name in subsets}
    own_scores = score_own_questions(folders.read_questions_about(split), vectors)
    return [row for row in proposed if row.subset in subsets], own_scores, figures


def skip_ranking(
    questions: Iterable[Question], num_images: int
) -> tuple[list[Candidate], list[SourceQuestionScore], dict[str, Any]]:
    """Return the same without a CLIP model: no candidate, and no question with a score."""
    scores = [SourceQuestionScore(question_id=row.question_id, score=None) for row in questions]
    return [], sorted(scores, key=lambda row: row.question_id), {"images": num_images, "subsets": {}}


def main() -> None:
    folders, p = DatasetFolders(), load_params("rank", RankParams)
    images = read_json(folders.stage_dir("embed") / "image_ids.json", list[str])
    split = assign_splits(images, p.validation_proportion, p.seed)
    subsets: list[Subset] = [name for name in folders.read_subsets() if name in CLIP_SUBSETS]
    proposed, own_scores, figures = (
        rank_pairs(folders, p, subsets)
        if subsets
        else skip_ranking(folders.read_questions_about(split), len(images))
    )
    known = [row.score for row in own_scores if row.score is not None]
    report = {
        **figures,
        "splits": Counter(split.values()),
        "source_score_quantiles": compute_quantiles(known),
    }
    questions = UniqueIndex(folders.record_file(Question), Question, "question_id")
    files: Mapping[str, object] = {
        "candidates.jsonl": attach_programs(proposed, questions),
        "source_scores.jsonl": own_scores,
        "splits.json": split,
        "rank.json": report,
    }
    what = (
        format_count(len(proposed), "candidate")
        if subsets
        else "nothing ranked, because no CLIP subset is made"
    )
    folders.write_stage_outputs("rank", what, files)


if __name__ == "__main__":
    run_command(main)
