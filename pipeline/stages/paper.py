"""Apply RGQA's own rules to the same data, so that their effect stands beside ours in the audit.

No cap on how often a question is used, the very last questions for CLIP-Easy, blind perturbation, the conflict filter
alone for screening, CLIP subsets paired with any AQ of the same picture (RGQA 3.1). The verdicts come from the
simulated annotators: this needs the complete truth, so for pictures of the world there is nothing to compare.

Reads   ingest/, vocabulary/, embed/, tag/, rank/parts.json, rank/own_scores.jsonl
        data/<data set>/truth   where there is one
Writes  items.jsonl   items under the paper's rules; empty without a truth
        paper.json    counts per subset
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec

from annotation.study.votes import verify
from pipeline.batching.filter_questions import existence
from pipeline.batching.tasks import task_of
from pipeline.core import params
from pipeline.core.errors import run
from pipeline.core.files import read_json, read_jsonl, write_json, write_jsonl
from pipeline.core.params import Params
from pipeline.core.paths import Folders
from pipeline.core.progress import done
from pipeline.core.records import (
    SUBSETS,
    Candidate,
    Item,
    Judgement,
    OwnScore,
    Picture,
    Question,
    Scene,
    Screened,
    Tagged,
    Verified,
    Vocabulary,
)
from pipeline.programs.operations import parse
from pipeline.ranking.clip_vectors import Vectors, read_vectors
from pipeline.screening import form
from pipeline.sources import gqa_files
from pipeline.stages.balance import BalanceParams, balance, items
from pipeline.stages.perturb import PerturbParams, perturb
from pipeline.stages.rank import RankParams, propose
from simulation.annotators import ANNOTATORS, annotate
from simulation.word_senses import Words

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


def candidates(
    questions: Sequence[Question],
    vectors: Vectors,
    part: Mapping[str, str],
    tags: Mapping[str, Sequence],
    vocabulary: Vocabulary,
    p: PaperParams,
) -> list[Candidate]:
    """Candidates of all four subsets by the paper's rules, without those that its conflict filter removes."""
    ranked = RankParams(
        preset="paper",
        hard_draw=p.hard_draw,
        hard_pool=p.hard_pool,
        easy_last=p.easy_last,
        cap=0,
        seed=p.seed,
    )
    clip, _ = propose(questions, vectors, part, ranked)
    return sound([*clip, *perturbed(questions, tags, vocabulary, p.seed)], vocabulary)


def perturbed(
    questions: Sequence[Question], tags: Mapping[str, Sequence], vocabulary: Vocabulary, seed: int
) -> list[Candidate]:
    """Candidates of the PT subsets by the paper's rules."""
    return perturb(questions, tags, vocabulary, {}, PerturbParams(seed=seed, preset="paper"))[0]


def sound(proposed: Sequence[Candidate], vocabulary: Vocabulary) -> list[Candidate]:
    """Candidates without those that the paper's conflict filter removes."""
    found = []
    for candidate in proposed:
        if candidate.program:
            fault = form.fault(parse(candidate.program, candidate.candidate_id), (), vocabulary.categories)
        else:
            fault = form.text_fault(candidate.text, vocabulary.attribute_types)
        if not fault:
            found.append(candidate)
    return found


def judged(
    found: Sequence[Candidate], truth: Mapping[str, Scene], vocabulary: Vocabulary, p: PaperParams
) -> list[Verified]:
    """What the simulated annotators say of them, by majority. (Nobody is excluded: filters are a matter of `collect`.)"""
    filter_question = existence(min(vocabulary.objects), "singular")
    tasks = {
        task.task_id: task for task in (task_of(candidate, filter_question, True) for candidate in found)
    }
    words = Words(categories=vocabulary.categories, attribute_types=vocabulary.attribute_types)
    verdicts = annotate(list(tasks.values()), truth, words, p.votes, p.seed)
    rows = [
        Screened(candidate=candidate, judgement=Judgement(answerability="unknown")) for candidate in found
    ]
    return verify(rows, tasks, verdicts, set(), "majority", 1)


def main() -> None:
    folders, p = Folders(), params.load("paper", PaperParams)
    ingest, out = folders.stage("ingest"), folders.stage("paper")
    pictures = list(read_jsonl(ingest / "pictures.jsonl", Picture))
    known = any(folders.truth.glob("*.json"))
    truth = gqa_files.truth(folders.truth, (picture.split for picture in pictures)) if known else {}
    released: list[Item] = []
    report: dict[str, object] = {"truth_known": known, "subsets": {}}
    if known:
        shown = {picture.picture_id for picture in pictures}
        asked = sorted(
            (q for q in read_jsonl(ingest / "questions.jsonl", Question) if q.picture_id in shown),
            key=lambda q: q.question_id,
        )
        part = read_json(folders.stage("rank") / "parts.json", dict[str, str])
        own = {
            row.question_id: row.score
            for row in read_jsonl(folders.stage("rank") / "own_scores.jsonl", OwnScore)
        }
        tags = {row.text: row.words for row in read_jsonl(folders.stage("tag") / "tags.jsonl", Tagged)}
        vocabulary = read_json(folders.stage("vocabulary") / "vocabulary.json", Vocabulary)
        proposed = candidates(asked, read_vectors(folders.stage("embed")), part, tags, vocabulary, p)
        rows = judged(proposed, truth, vocabulary, p)
        questions = {q.question_id: q for q in asked}
        for subset in SUBSETS:
            uqs = [row for row in rows if row.candidate.subset == subset and row.status == "unanswerable"]
            pairs, _ = balance(subset, uqs, questions, set(), part, BalanceParams(rule="image", seed=p.seed))
            released += items(subset, pairs, questions, own, part)
            report["subsets"][subset] = {
                "candidates": sum(row.candidate.subset == subset for row in rows),
                "unanswerable": len(uqs),
            }
    write_jsonl(out / "items.jsonl", released)
    write_json(out / "paper.json", report)
    done("paper", f"{len(released):,} items" if known else "no complete truth, so no comparison", out)


if __name__ == "__main__":
    run(main)
