"""Measure what the benchmark gives away, what it kept and lost, and what it can resolve.

Reads   balance/items.jsonl, ingest/, embed/pictures.npy, the reports and drops of every stage,
        truth/ where the complete truth is known (the sample), paper/items.jsonl for the paper's rules beside ours,
        ingest/ and vocabulary/ for how often the judge agrees with the source
Writes  audit.json  every figure; `warnings` lists the limits that the release is over
        audit.md    the same for people
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
import numpy as np

from pipeline.auditing import attackers
from pipeline.auditing.attackers import Attack
from pipeline.auditing.audit_page import markdown
from pipeline.auditing.judge_agreement import agreement, read_source, trials
from pipeline.auditing.margins import Margin, margin, overlap
from pipeline.auditing.resolution import smallest_auaf_difference
from pipeline.auditing.screen_check import Screening, screening
from pipeline.auditing.text_attackers import TEXT_ATTACKERS
from pipeline.core import params
from pipeline.core.errors import run
from pipeline.core.files import read_json, read_jsonl, write_json, write_text
from pipeline.core.params import Params
from pipeline.core.paths import Folders
from pipeline.core.progress import done, track
from pipeline.core.randomness import generator
from pipeline.core.records import (
    SUBSETS,
    Candidate,
    Dropped,
    Item,
    Picture,
    Record,
    Screened,
    Subset,
    Vocabulary,
)
from pipeline.judge.facts import facts_of
from pipeline.judge.judgement import judge
from pipeline.screening.claims import HELD_ANSWERABLE
from pipeline.sources import gqa_files
from pipeline.words.lexicon import Lexicon

Share = Annotated[float, msgspec.Meta(ge=0.5, le=1)]


class AuditParams(Params):
    """Parameters of the audit.

    Attributes:
        limits: per subset, the highest text-only AUROC, max(a, 1 - a), without a warning (the project's own limits:
            0.55 for CLIP subsets, 0.65 for PT subsets; RGQA's released CLIP-Easy has 0.90).
        foreign: other pictures, drawn by lot, at which the judge tries each question of the source.
        folds: of every attacker. repetitions: bootstrap samples of every interval. seed: of folds and samples.
    """

    limits: dict[str, Share]
    foreign: Annotated[int, msgspec.Meta(ge=0)] = 2
    folds: Annotated[int, msgspec.Meta(ge=2)] = 5
    repetitions: Annotated[int, msgspec.Meta(ge=50)] = 500
    seed: int = 0


class SubsetAudit(Record):
    """All figures of one subset. Attacks are named by what the attacker sees."""

    uqs: int
    aqs: int
    text_margin: Margin
    picture_margin: Margin
    attacks: dict[str, Attack]
    clip_overlap: float | None
    clip_distance: float | None
    smallest_auaf_difference: float
    categories: dict[str, int]
    edit_kinds: dict[str, int]
    simulated: bool
    rehearsal: bool = False


TEXT_ATTACKS = tuple(TEXT_ATTACKERS)


def audit_subset(items: Sequence[Item], pictures: dict[str, np.ndarray], p: AuditParams) -> SubsetAudit:
    """Audit the items of one subset. `pictures` maps ids to vectors [d]."""
    labels = np.array([item.unanswerable for item in items], int)
    texts = [item.text for item in items]
    by_text, by_picture = (
        attackers.text_groups(texts, [item.question_id for item in items]),
        np.array([item.picture_id for item in items]),
    )
    rng = generator(p.seed, "audit", items[0].subset)
    scored = [item.score if item.score is not None else np.nan for item in items]
    scores = {
        **{
            name: (attack(texts, labels, by_text, p.folds, p.seed), by_text)
            for name, attack in TEXT_ATTACKERS.items()
        },
        "first three words": (attackers.first_words(texts, labels, by_text, p.folds, p.seed), by_text),
        "length": (np.array([len(text.split()) for text in texts], float), by_text),
        "picture": (
            attackers.vectors(
                np.array([pictures[i] for i in by_picture]), labels, by_picture, p.folds, p.seed
            ),
            by_picture,
        ),
        "CLIP score": (np.array(scored, float), by_picture),
    }
    both = overlap(
        [item.score for item in items if not item.unanswerable and item.score is not None],
        [item.score for item in items if item.unanswerable and item.score is not None],
    )
    uqs = [item for item in items if item.unanswerable]
    return SubsetAudit(
        uqs=len(uqs),
        aqs=len(items) - len(uqs),
        text_margin=margin(items, lambda item: item.text),
        picture_margin=margin(items, lambda item: item.picture_id),
        attacks={
            name: attackers.score(s, labels, groups, p.repetitions, rng)
            for name, (s, groups) in scores.items()
        },
        clip_overlap=both and both[0],
        clip_distance=both and both[1],
        smallest_auaf_difference=smallest_auaf_difference(labels == 0, by_picture, p.repetitions, rng),
        categories=dict(sorted(Counter(item.category or "not known" for item in uqs).items())),
        edit_kinds=dict(sorted(Counter(edit.kind for item in uqs for edit in item.edits).items())),
        simulated=any(item.simulated for item in items),
        rehearsal=any(item.rehearsal for item in items),
    )


def warnings(subsets: dict[str, SubsetAudit], limits: dict[str, float]) -> list[str]:
    """One line for each limit that a subset is over."""
    lines = []
    for name, subset in subsets.items():
        for attack in TEXT_ATTACKS:
            found, limit = subset.attacks[attack].auroc, limits.get(name, 1.0)
            if found is not None and found > limit:
                lines.append(
                    f"{name}: a model that sees only the text ({attack}) tells UQ from AQ with AUROC {found:.2f}; the limit is {limit:.2f}."
                )
    return lines


def _by_subset(
    items: Sequence[Item], pictures: dict[str, np.ndarray], p: AuditParams, label: str
) -> dict[str, SubsetAudit]:
    present = [name for name in SUBSETS if any(item.subset == name for item in items)]
    return {
        name: audit_subset([item for item in items if item.subset == name], pictures, p)
        for name in track(present, label, unit="subset")
    }


def screen_against_truth(folders: Folders) -> dict[Subset, Screening]:
    """Screen's decisions against the complete truth; {} where nobody knows it. Candidates without a program are left
    out: no program, no truth about them."""
    if not any(folders.truth.glob("*.json")):
        return {}
    vocabulary = read_json(folders.stage("vocabulary") / "vocabulary.json", Vocabulary)
    lexicon = Lexicon(vocabulary.categories, vocabulary.attribute_types)
    splits = (picture.split for picture in read_jsonl(folders.stage("ingest") / "pictures.jsonl", Picture))
    facts = {
        picture_id: facts_of(scene, lexicon)
        for picture_id, scene in gqa_files.truth(folders.truth, splits).items()
    }
    candidates = [
        c
        for stage in ("rank", "perturb")
        for c in read_jsonl(folders.stage(stage) / "candidates.jsonl", Candidate)
        if c.program
    ]
    truth = {c.candidate_id: judge(c.program, facts[c.picture_id], c.text).answerability for c in candidates}
    kept = {
        row.candidate.candidate_id for row in read_jsonl(folders.stage("screen") / "screened.jsonl", Screened)
    }
    dropped = read_jsonl(folders.stage("screen") / "dropped.jsonl", Dropped)
    held = {row.candidate_id for row in dropped if row.reason in HELD_ANSWERABLE}
    return screening(candidates, truth, kept, held)


def main() -> None:
    folders, p = Folders(), params.load("audit", AuditParams)
    vectors = np.load(folders.stage("embed") / "pictures.npy")
    ids: list[str] = read_json(folders.stage("embed") / "picture_ids.json", list[str])
    pictures = dict(zip(ids, vectors, strict=True))
    items = list(read_jsonl(folders.stage("balance") / "items.jsonl", Item))
    paper = list(read_jsonl(folders.stage("paper") / "items.jsonl", Item))
    ours = _by_subset(items, pictures, p, "audit")
    theirs = _by_subset(paper, pictures, p, "audit, paper's rules")
    report: dict[str, Any] = {
        "subsets": ours,
        "paper_rules": theirs,
        "yield": {
            stage: read_json(folders.stage(stage) / f"{stage}.json")
            for stage in ("rank", "perturb", "screen", "batch", "collect", "balance")
        },
        "screen_against_truth": screen_against_truth(folders),
        "judge_against_source": agreement(
            list(trials(read_source(folders), p.foreign, generator(p.seed, "audit", "agreement")))
        ),
        "warnings": warnings(ours, p.limits),
    }
    text, table = markdown(report, p.limits)
    report["table"] = table
    folder = folders.stage("audit")
    write_json(folder / "audit.json", report)
    write_text(folder / "audit.md", text)
    done("audit", f"{len(ours)} subsets, {len(report['warnings'])} warnings", folder / "audit.md")


if __name__ == "__main__":
    run(main)
