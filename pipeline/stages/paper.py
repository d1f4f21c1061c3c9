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

from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec

from annotation.study.judged import CollectRules, judged_questions
from annotation.study.votes import verify
from pipeline.balancing.balance_subset import BalanceParams, balance
from pipeline.balancing.item_rows import items
from pipeline.batching.filter_questions import existence
from pipeline.batching.tasks import task_of
from pipeline.collecting.simulated_verdicts import simulated
from pipeline.core import records
from pipeline.core.errors import run
from pipeline.core.files import read_json
from pipeline.core.params import Params, load
from pipeline.core.paths import Folders
from pipeline.core.records import SUBSETS, Candidate, Item, Screened, Verified, Vocabulary
from pipeline.perturbing.perturb_picture import perturb_by_the_paper
from pipeline.ranking.propose import RankParams, propose
from pipeline.ranking.rank_inputs import read_vectors
from pipeline.screening.screen_rules import pass_conflict_filter
from simulation.annotators import ANNOTATORS

Count = Annotated[int, msgspec.Meta(ge=1)]


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
    seed: int = 0


def propose_by_the_paper(
    folders: Folders,
    questions: Sequence[records.Question],
    vocabulary: Vocabulary,
    part: Mapping[str, str],
    p: PaperParams,
) -> list[Candidate]:
    """Candidates of all four subsets by the paper's rules, without those that its conflict filter removes."""
    draws = {"hard_draw": p.hard_draw, "hard_pool": p.hard_pool, "easy_last": p.easy_last}
    rank_params = RankParams(preset="paper", cap=0, seed=p.seed, **draws)
    ranked, _ = propose(questions, read_vectors(folders.stage("embed")), part, rank_params)
    tags = {row.text: row for row in folders.rows(records.Tagged)}
    perturbed = perturb_by_the_paper(questions, tags, vocabulary, p.seed)
    return pass_conflict_filter([*ranked, *perturbed], vocabulary)


def judged(
    folders: Folders, candidates: Sequence[Candidate], vocabulary: Vocabulary, p: PaperParams
) -> list[Verified]:
    """What the simulated annotators say of them, by majority. (Nobody is excluded: filters are a matter of `collect`.)"""
    if not candidates:
        return []
    filter_question = existence(min(vocabulary.objects, default="thing"), "singular")
    asked = [task_of(candidate, filter_question, True) for candidate in candidates]
    tasks = {task.task_id: task for task in asked}
    verdicts = simulated(folders, list(tasks.values()), p.votes, p.seed)
    unknown = records.Judgement(answerability="unknown")
    screened = {row.candidate_id: Screened(candidate=row, judgement=unknown) for row in candidates}
    answers, rules = judged_questions(tasks, verdicts), CollectRules(rule="majority", min_votes=1)
    return list(verify(screened, answers, rules))


def main() -> None:
    folders, p = Folders(), load("paper", PaperParams)
    released: list[Item] = []
    subsets: dict[str, dict[str, int]] = {}
    truth_known = any(folders.truth.glob("*.json"))
    if truth_known:
        part = read_json(folders.stage("rank") / "parts.json", dict[str, str])
        questions = {q.question_id: q for q in folders.asked(part)}
        vocabulary = folders.vocabulary()
        own = {row.question_id: row.score for row in folders.rows(records.OwnScore)}
        proposed = propose_by_the_paper(folders, list(questions.values()), vocabulary, part, p)
        verified = judged(folders, proposed, vocabulary, p)
        for subset in SUBSETS:
            rows = [row for row in verified if row.candidate.subset == subset]
            uqs = [row for row in rows if row.status == "unanswerable"]
            pairs, _ = balance(subset, uqs, questions, set(), part, BalanceParams(rule="image", seed=p.seed))
            released += items(subset, pairs, questions, own, part)
            subsets[subset] = {"candidates": len(rows), "unanswerable": len(uqs)}
    what = f"{len(released):,} items" if truth_known else "no complete truth, so no comparison"
    report = {"truth_known": truth_known, "subsets": subsets}
    folders.finish("paper", what, {"items.jsonl": released, "paper.json": report})


if __name__ == "__main__":
    run(main)
