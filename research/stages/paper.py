"""Apply RGQA's own rules to the same data, so that their effect stands beside ours in the audit.

No cap on how often a question is used, the very last questions for CLIP-Easy, blind perturbation, the conflict filter
alone for screening, CLIP subsets paired with any AQ of the same picture (RGQA 3.1). The verdicts come from the
simulated annotators: this needs the complete truth, so for pictures of the world there is nothing to compare.

Reads   ingest/, vocabulary/, embed/, tag/, rank/parts.json, rank/own_scores.jsonl
        data/<data set>/truth   where there is one
Writes  items.jsonl   Item: those under the paper's rules; empty without a truth
        paper.json    counts per subset
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

import msgspec

from annotation.study.answers_table import CollectRules, judged_questions
from annotation.study.vote_aggregation import verify
from pipeline.benchmark.balancing.pairing import BalanceParams, balance
from pipeline.benchmark.balancing.release_items import items
from pipeline.candidates.perturbing.perturb_image import perturb_by_the_paper
from pipeline.candidates.ranking.clip_candidates import RankParams, propose, with_programs
from pipeline.candidates.ranking.rank_inputs import read_vectors
from pipeline.candidates.screening.screen_rules import pass_conflict_filter
from pipeline.core import records
from pipeline.core.errors import counted, run
from pipeline.core.json_files import read_json
from pipeline.core.jsonl_index import Groups, Joined, PutAside, Singles, grouped
from pipeline.core.params import Count, Params, Seed, load
from pipeline.core.paths import Folders
from pipeline.core.progress import track
from pipeline.core.records import SUBSETS, Candidate, Item, Question, Screened, Subset, Verified, Vocabulary
from pipeline.tasks.gold_questions import existence
from pipeline.tasks.task_builder import task_of
from research.simulated_annotators.annotators import ANNOTATORS, Look, annotate
from research.simulated_annotators.simulated_verdicts import faultless

AT_ONCE = (
    100  # pictures: their candidates are made, judged and paired together, no other picture's among them
)


class PaperParams(Params):
    """Parameters of the comparison.

    Attributes:
        hard_draw, hard_pool, easy_last: as in `rank`; RGQA: 85 of 2,500 and 50, of 12,578 questions.
        votes: simulated annotators per candidate; the majority decides. seed: of all draws.
    """

    hard_draw: Count = 85
    hard_pool: Count = 2500
    easy_last: Count = 50
    votes: Annotated[int, msgspec.Meta(ge=1, le=len(ANNOTATORS))] = 3
    seed: Seed = 0


def asked(folders: Folders, part: Mapping[str, str]) -> dict[str, Question]:
    """The questions on the pictures by id, without what neither ranking nor an item needs: half of their size."""
    none = {"annotations": {}, "full_answer_annotations": {}, "entailed": (), "equivalent": ()}
    return {row.question_id: msgspec.structs.replace(row, **none) for row in folders.asked(part)}


def ranked_by_the_paper(
    folders: Folders, questions: Sequence[Question], part: Mapping[str, str], p: PaperParams
) -> Mapping[str, list[Candidate]]:
    """Picture id -> candidates of the CLIP subsets by the paper's rules."""
    draws = {"hard_draw": p.hard_draw, "hard_pool": p.hard_pool, "easy_last": p.easy_last}
    rank_params = RankParams(preset="paper", cap=0, seed=p.seed, **draws)
    ranked, _ = propose(questions, read_vectors(folders.stage("embed")), part, rank_params)
    return grouped(ranked, lambda row: row.picture_id)


def judged(
    candidates: Sequence[Candidate], vocabulary: Vocabulary, look: Look, p: PaperParams
) -> list[Verified]:
    """What the simulated annotators say of them, by majority. (Nobody is excluded: filters are a matter of `collect`.)"""
    if not candidates:
        return []
    filter_question = existence(min(vocabulary.objects, default="thing"), "singular")
    asked = [task_of(candidate, filter_question, True) for candidate in candidates]
    tasks = {task.task_id: task for task in asked}
    verdicts = annotate(tasks.values(), look, p.votes, p.seed)
    unknown = records.Judgement(answerability="unknown")
    screened = {row.candidate_id: Screened(candidate=row, judgement=unknown) for row in candidates}
    answers, rules = judged_questions(tasks, verdicts), CollectRules(rule="majority", min_votes=1)
    return list(verify(screened, answers, rules))


def released(folders: Folders, p: PaperParams, counts: Counter[tuple[Subset, str]]) -> Iterator[Item]:
    """The items under the paper's rules, some pictures at a time: none of these rules looks further than a picture once
    questions are ranked. What there was is counted in `counts`, by subset."""
    parts = folders.stage("rank") / "parts.json"
    part = Joined(parts, read_json(parts, dict[str, str]))
    questions, vocabulary = Joined(folders.file(Question), asked(folders, part)), folders.vocabulary()
    scores = {row.question_id: row.score for row in folders.rows(records.OwnScore)}
    ranked = ranked_by_the_paper(folders, list(questions.values()), part, p)
    whole = Groups(folders.file(Question), Question, "picture_id")
    tags = Singles(folders.file(records.Tagged), records.Tagged, "text")
    rules, look, pictures = BalanceParams(rule="image", seed=p.seed), faultless(folders), sorted(part)
    for start in track(range(0, len(pictures), AT_ONCE), "paper", unit=f"{AT_ONCE} pictures"):
        some = pictures[start : start + AT_ONCE]
        own = {row.question_id: row for key in some if key in whole for row in whole[key]}
        edited = perturb_by_the_paper(own.values(), tags, vocabulary, p.seed)
        asked_of = (row for key in some for row in ranked.get(key, ()))
        proposed = [*with_programs(asked_of, questions), *edited]
        verified = judged(pass_conflict_filter(proposed, vocabulary), vocabulary, look, p)
        for subset in SUBSETS:
            rows = [row for row in verified if row.candidate.subset == subset]
            uqs = [row for row in rows if row.status == "unanswerable"]
            counts[subset, "candidates"] += len(rows)
            counts[subset, "unanswerable"] += len(uqs)
            pairs, _ = balance(subset, uqs, own, set(), part, rules)
            yield from items(subset, pairs, questions, scores, part)


def main() -> None:
    folders, p = Folders(), load("paper", PaperParams)
    counts, truth_known = Counter[tuple[Subset, str]](), any(folders.truth.glob("*.json"))
    made = released(folders, p, counts) if truth_known else ()
    by_subset = ((f"{SUBSETS.index(row.subset)} {row.item_id}", row) for row in made)
    aside = PutAside(folders.stage("paper"), Item, by_subset)
    subsets = {
        subset: {name: counts[subset, name] for name in ("candidates", "unanswerable")}
        for subset in SUBSETS
        if truth_known
    }
    what = counted(len(aside), "item") if truth_known else "no complete truth, so no comparison"
    report = {"truth_known": truth_known, "subsets": subsets}
    in_order = (aside[key] for key in sorted(aside))
    folders.finish("paper", what, {"items.jsonl": in_order, "paper.json": report})


if __name__ == "__main__":
    run(main)
