"""`rgqa study blind-baseline`: what models that see only the text can tell of perturbed questions, before anybody has
judged one.

Every screened PT candidate of the data set in use stands beside the question that it was made from, one original for
each: all of them, those that `balance` would keep for their words, and those of the paper's rules on the same questions.
An attacker guesses which of all these texts are edited. Needs `dvc repro screen tag`.

max(AUROC, 1 - AUROC) with a 95 % interval over resampled groups; an edited question, its original and all rows of the
same text are one group, and a group is never on both sides of a fold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from pipeline.auditing.attackers import Attack, Folds, attack, text_groups
from pipeline.auditing.audit_page import reached
from pipeline.auditing.text_attackers import TEXT_ATTACKERS
from pipeline.balancing.balance_subset import BalanceParams
from pipeline.balancing.even_words import even
from pipeline.core.errors import UserError
from pipeline.core.files import read_json, read_jsonl, write_json
from pipeline.core.params import load
from pipeline.core.paths import Folders
from pipeline.core.progress import track
from pipeline.core.randomness import generator
from pipeline.core.records import Candidate, Picture, Question, Record, Screened, Subset, Tagged, Vocabulary
from pipeline.perturbing.perturb_picture import perturb_by_the_paper
from pipeline.screening.screen_picture import pass_conflict_filter

OURS, ALL, PAPER = "ours, balanced", "ours, all candidates", "the paper's"
LIMITS: dict[Subset, float] = {  # before annotation, of the worst attacker on ours, balanced
    "pt-easy": 0.75,
    "pt-hard": 0.65,
}


class Baseline(Record):
    """What attackers reach on one subset: `pairs` edited questions with their originals, made from `questions`."""

    questions: int
    candidates: int
    pairs: int
    attacks: dict[str, Attack]

    @property
    def worst(self) -> float:
        return max((reach.auroc for reach in self.attacks.values() if reach.auroc is not None), default=0.5)


def blind_baseline(folds: int, repetitions: int, seed: int, most: int, out: Path | None) -> str:
    """The table of the data set in use; `out` is a JSON file for the figures. See `baseline` for the numbers."""
    folders, slack = Folders(), load("balance", BalanceParams).word_slack
    questions = _questions(folders)
    baselines: dict[str, dict[Subset, Baseline]] = {}
    for (rules, subset), candidates in track(
        _candidates(folders, questions, seed, slack).items(), "blind baseline", unit="set"
    ):
        baselines.setdefault(rules, {})[subset] = baseline(
            candidates, questions, folds, repetitions, seed, most
        )
    if out:
        write_json(out, {"rules": baselines, "limits": LIMITS})
    return table(baselines)


def _questions(folders: Folders) -> dict[str, Question]:
    ingest = folders.stage("ingest")
    shown = {picture.picture_id for picture in read_jsonl(ingest / "pictures.jsonl", Picture)}
    asked = read_jsonl(ingest / "questions.jsonl", Question)
    return {question.question_id: question for question in asked if question.picture_id in shown}


def _candidates(
    folders: Folders, questions: Mapping[str, Question], seed: int, slack: float
) -> dict[tuple[str, Subset], list[Candidate]]:
    """The candidates of each subset under each of the rules."""
    path = folders.stage("screen") / "screened.jsonl"
    if not path.exists():
        raise UserError(f"{path} is missing; run `dvc repro screen`")
    screened = sorted((row.candidate for row in read_jsonl(path, Screened)), key=lambda row: row.candidate_id)
    vocabulary = read_json(folders.stage("vocabulary") / "vocabulary.json", Vocabulary)
    tags = {row.text: row for row in read_jsonl(folders.stage("tag") / "tags.jsonl", Tagged)}
    theirs = pass_conflict_filter(
        perturb_by_the_paper(questions.values(), tags, vocabulary, seed), vocabulary
    )
    candidates: dict[tuple[str, Subset], list[Candidate]] = {}
    for subset in LIMITS:
        ours = [row for row in screened if row.subset == subset]
        stays = even([row.edits for row in ours], slack, generator(seed, "balance words", subset))
        candidates[OURS, subset] = [row for row, stay in zip(ours, stays, strict=True) if stay]
        candidates[ALL, subset] = ours
        candidates[PAPER, subset] = [row for row in theirs if row.subset == subset]
    return candidates


def baseline(
    candidates: Sequence[Candidate],
    questions: Mapping[str, Question],
    folds: int,
    repetitions: int,
    seed: int,
    most: int,
) -> Baseline:
    """Attack one subset's candidates.

    Args:
        folds: of the cross-validation. repetitions: bootstrap samples of each interval.
        most: pairs to be tried; of more, so many are drawn by lot.
    """
    rng = generator(seed, "blind baseline")
    rows = sorted(candidates, key=lambda candidate: candidate.candidate_id)
    tried = [rows[i] for i in sorted(rng.permutation(len(rows))[:most])]
    texts = [text for row in tried for text in (questions[row.question_id].text, row.text)]
    groups = text_groups(texts, [row.question_id for row in tried for _ in range(2)])
    parts = Folds(np.tile([0, 1], len(tried)), groups, folds, seed)
    attacks = {
        name: attack(guess(texts, parts), parts, repetitions, rng) for name, guess in TEXT_ATTACKERS.items()
    }
    return Baseline(questions=len(questions), candidates=len(rows), pairs=len(tried), attacks=attacks)


def table(baselines: Mapping[str, Mapping[Subset, Baseline]]) -> str:
    """All figures (rules -> subset -> baseline) as a table in Markdown."""
    head = ["subset", "rules", "pairs", *TEXT_ATTACKERS, "worst", "limit before annotation"]
    rows = [
        [
            subset,
            rules,
            f"{by_subset[subset].pairs:,}",
            *(reached(by_subset[subset].attacks[name], 3) for name in TEXT_ATTACKERS),
            f"{by_subset[subset].worst:.3f}",
            f"{limit:.2f}" if rules == OURS else "",
        ]
        for subset, limit in LIMITS.items()
        for rules, by_subset in baselines.items()
    ]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows))
