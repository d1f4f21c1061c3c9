"""Apply RGQA's own rules to the same data, so that the audit can compare their effect with ours.

RGQA's rules (section 3.1) differ from ours: there is no limit on how often a question is used; CLIP-Easy uses
the very last questions of the ranking; questions are perturbed without using the image; only the conflict
filter screens candidates; and the UQs of CLIP subsets are paired with any AQ of the same image. The verdicts
are made by simulated annotators. These need the complete ground truth. If it is unknown, there is nothing to
compare, and the outputs are empty.

Reads   ingest/, vocabulary/, embed/, tag/, rank/splits.json, rank/source_scores.jsonl; data/<data set>/truth if it exists
Writes  items.jsonl   Item: the items under RGQA's rules; empty if the complete ground truth is unknown
        paper.json    numbers of candidates and items by subset
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

import msgspec

from annotation.study.answers_table import QualityRules, build_answers_table
from annotation.study.vote_aggregation import verify_candidates
from pipeline.benchmark.balancing.pairing import BalanceParams, balance_subset
from pipeline.benchmark.balancing.release_items import make_items
from pipeline.candidates.perturbing.perturb_image import perturb_by_paper_rule
from pipeline.candidates.ranking.clip_candidates import attach_programs, propose_candidates
from pipeline.candidates.ranking.rank_inputs import load_embeddings
from pipeline.candidates.screening.screen_rules import apply_conflict_filter
from pipeline.core import records
from pipeline.core.errors import format_count, run_command
from pipeline.core.json_files import read_json
from pipeline.core.jsonl_index import GroupedIndex, RecordLookup, SpillMap, UniqueIndex, group_by
from pipeline.core.params import Count, Params, Seed, load_params
from pipeline.core.paths import DatasetFolders
from pipeline.core.progress import track
from pipeline.core.rank_params import RankParams
from pipeline.core.records import (
    SUBSETS,
    Candidate,
    CollectedCandidate,
    Item,
    Question,
    ScreenedCandidate,
    Subset,
    Vocabulary,
)
from pipeline.tasks.gold_questions import make_existence_question
from pipeline.tasks.task_builder import make_task
from research.simulated_annotators.annotators import ANNOTATORS, FindObstacle, simulate_verdicts
from research.simulated_annotators.simulated_verdicts import load_truth_view

# Number of images in a batch. The candidates of a batch are made, verified and paired together.
IMAGES_PER_BATCH = 100


class PaperParams(Params):
    """Parameters of stage `paper`, which applies RGQA's own rules for comparison.

    Attributes:
        hard_draw: As in `rank`. RGQA: 85.
        hard_pool: As in `rank`. RGQA: 2,500 of 12,578 questions.
        easy_last: As in `rank`. RGQA: 50.
        votes_per_candidate: Number of simulated annotators (1 to 8) who judge each candidate. The
            majority decides.
        seed: Seed of all random choices.
    """

    hard_draw: Count = 85
    hard_pool: Count = 2500
    easy_last: Count = 50
    votes_per_candidate: Annotated[int, msgspec.Meta(ge=1, le=len(ANNOTATORS))] = 3
    seed: Seed = 0


def read_questions(folders: DatasetFolders, split: Mapping[str, str]) -> dict[str, Question]:
    """Read the questions about the images, without the fields that neither ranking nor items need.

    Return id -> question.
    """
    none = {"annotations": {}, "full_answer_annotations": {}, "entailed": (), "equivalent": ()}
    return {
        row.question_id: msgspec.structs.replace(row, **none) for row in folders.read_questions_about(split)
    }


def rank_by_paper_rules(
    folders: DatasetFolders, questions: Sequence[Question], split: Mapping[str, str], p: PaperParams
) -> Mapping[str, list[Candidate]]:
    """Return image id -> candidates of the CLIP subsets under RGQA's rules; empty if no CLIP subset is made."""
    if not set(records.CLIP_SUBSETS).intersection(folders.read_subsets()):
        return {}
    draws = {"hard_draw": p.hard_draw, "hard_pool": p.hard_pool, "easy_last": p.easy_last}
    rank_params = RankParams(preset="paper", max_question_uses=0, seed=p.seed, **draws)
    ranked, _ = propose_candidates(questions, load_embeddings(folders.stage_dir("embed")), split, rank_params)
    return group_by(ranked, lambda row: row.image_id)


def simulate_verification(
    candidates: Sequence[Candidate], vocabulary: Vocabulary, observe: FindObstacle, p: PaperParams
) -> list[CollectedCandidate]:
    """Return the majority verdicts of the simulated annotators.

    No annotator is excluded, because quality control is a part of stage `collect` and not of RGQA's rules.
    """
    if not candidates:
        return []
    gold_question = make_existence_question(min(vocabulary.objects, default="thing"), "singular")
    tasks = {
        task.task_id: task for task in (make_task(candidate, gold_question, True) for candidate in candidates)
    }
    verdicts = simulate_verdicts(tasks.values(), observe, p.votes_per_candidate, p.seed)
    unknown = records.VerifierResult(answerability="unknown")
    screened = {
        row.candidate_id: ScreenedCandidate(candidate=row, verifier_result=unknown) for row in candidates
    }
    answers, rules = build_answers_table(tasks, verdicts), QualityRules(aggregation="majority", min_votes=1)
    return list(verify_candidates(screened, answers, rules))


def make_paper_items(
    folders: DatasetFolders, p: PaperParams, counts: Counter[tuple[Subset, str]]
) -> Iterator[Item]:
    """Yield the items under RGQA's rules, batch by batch.

    Images can be processed in batches, because after the ranking no rule needs more than one image. The
    numbers of candidates are added to `counts`, by subset.
    """
    splits = folders.stage_dir("rank") / "splits.json"
    split = RecordLookup(splits, read_json(splits, dict[str, str]))
    questions, vocabulary = (
        RecordLookup(folders.record_file(Question), read_questions(folders, split)),
        folders.read_vocabulary(),
    )
    scores = {row.question_id: row.score for row in folders.read_records(records.SourceQuestionScore)}
    ranked = rank_by_paper_rules(folders, list(questions.values()), split, p)
    whole = GroupedIndex(folders.record_file(Question), Question, "image_id")
    tags = UniqueIndex(folders.record_file(records.TaggedText), records.TaggedText, "text")
    subsets = folders.read_subsets()
    rules, look, images = BalanceParams(rule="image", seed=p.seed), load_truth_view(folders), sorted(split)
    for start in track(range(0, len(images), IMAGES_PER_BATCH), "paper", unit=f"{IMAGES_PER_BATCH} images"):
        some = images[start : start + IMAGES_PER_BATCH]
        own = {row.question_id: row for key in some if key in whole for row in whole[key]}
        edited = perturb_by_paper_rule(own.values(), tags, vocabulary, p.seed)
        asked_of = (row for key in some for row in ranked.get(key, ()))
        proposed = [*attach_programs(asked_of, questions), *edited]
        verified = simulate_verification(apply_conflict_filter(proposed, vocabulary), vocabulary, look, p)
        for subset in subsets:
            rows = [row for row in verified if row.candidate.subset == subset]
            uqs = [row for row in rows if row.status == "unanswerable"]
            counts[subset, "candidates"] += len(rows)
            counts[subset, "unanswerable"] += len(uqs)
            pairs, _ = balance_subset(subset, uqs, own, {}, split, rules)
            yield from make_items(subset, pairs, questions, scores, split)


def main() -> None:
    folders, p = DatasetFolders(), load_params("paper", PaperParams)
    counts, truth_known = Counter[tuple[Subset, str]](), any(folders.truth.glob("*.json"))
    made = make_paper_items(folders, p, counts) if truth_known else ()
    by_subset = ((f"{SUBSETS.index(row.subset)} {row.item_id}", row) for row in made)
    aside = SpillMap(folders.stage_dir("paper"), Item, by_subset)
    subsets = {
        subset: {name: counts[subset, name] for name in ("candidates", "unanswerable")}
        for subset in folders.read_subsets()
        if truth_known
    }
    what = format_count(len(aside), "item") if truth_known else "no complete ground truth, so no comparison"
    report = {"truth_known": truth_known, "subsets": subsets}
    in_order = (aside[key] for key in sorted(aside))
    folders.write_stage_outputs("paper", what, {"items.jsonl": in_order, "paper.json": report})


if __name__ == "__main__":
    run_command(main)
