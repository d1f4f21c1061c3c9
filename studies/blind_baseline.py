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
from pipeline.core.files import write_json
from pipeline.core.params import load
from pipeline.core.paths import Folders
from pipeline.core.progress import track
from pipeline.core.randomness import generator
from pipeline.core.records import Candidate, Picture, Question, Record, Screened, Subset, Tagged
from pipeline.perturbing.perturb_picture import perturb_by_the_paper
from pipeline.screening.screen_rules import pass_conflict_filter

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
    shown = {picture.picture_id for picture in folders.rows(Picture)}
    questions = {question.question_id: question for question in folders.asked(shown)}
    screened = sorted((row.candidate for row in folders.rows(Screened)), key=lambda row: row.candidate_id)
    vocabulary = folders.vocabulary()
    tags = {row.text: row for row in folders.rows(Tagged)}
    edited = perturb_by_the_paper(questions.values(), tags, vocabulary, seed)
    theirs = pass_conflict_filter(edited, vocabulary)
    baselines: dict[str, dict[Subset, Baseline]] = {OURS: {}, ALL: {}, PAPER: {}}
    for subset in track(LIMITS, "blind baseline", unit="subset"):
        ours = [row for row in screened if row.subset == subset]
        stays = even([row.edits for row in ours], slack, generator(seed, "balance words", subset))
        kept = [row for row, stay in zip(ours, stays, strict=True) if stay]
        paper = [row for row in theirs if row.subset == subset]
        for rules, rows in ((OURS, kept), (ALL, ours), (PAPER, paper)):
            baselines[rules][subset] = baseline(rows, questions, folds, repetitions, seed, most)
    if out:
        write_json(out, {"rules": baselines, "limits": LIMITS})
    return table(baselines)


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
    rows = [["subset", "rules", "pairs", *TEXT_ATTACKERS, "worst", "limit before annotation"]]
    rows += [["---"] * len(rows[0])]
    for subset, limit in LIMITS.items():
        for rules, by_subset in baselines.items():
            row = by_subset[subset]
            reaches = (reached(row.attacks[name], 3) for name in TEXT_ATTACKERS)
            own_limit = f"{limit:.2f}" if rules == OURS else ""
            rows.append([subset, rules, f"{row.pairs:,}", *reaches, f"{row.worst:.3f}", own_limit])
    return "\n".join("| " + " | ".join(cells) + " |" for cells in rows)
