"""`rgqa study blind-baseline`: how well a text-only model predicts which questions are edited, before anybody has judged one.

Every screened PT candidate of the data set in use is paired with the question that it was made from: the candidates that `balance`
would keep for their words, all of them, and those of the paper's rules on the same questions. The attackers are those of the
text-only audit (`pipeline.benchmark.auditing.text_audit`), in its folds by text. Needs `dvc repro screen tag`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipeline.benchmark.auditing.attack_evaluation import Attack, attack
from pipeline.benchmark.auditing.audit_markdown import reached
from pipeline.benchmark.auditing.known_questions import KnownQuestions, known_questions
from pipeline.benchmark.auditing.labelled_rows import LabelledRows
from pipeline.benchmark.auditing.text_attackers import REPORT_ONLY_ATTACKERS, TEXT_ATTACKERS, Attacker
from pipeline.benchmark.auditing.text_audit import AuditSettings, attack_texts, folds_of
from pipeline.benchmark.balancing.pairing import BalanceParams
from pipeline.benchmark.balancing.telltale_pairs import even
from pipeline.candidates.perturbing.perturb_image import perturb_by_the_paper
from pipeline.candidates.screening.screen_rules import pass_conflict_filter
from pipeline.core.json_files import write_json
from pipeline.core.output_paths import Output
from pipeline.core.params import load
from pipeline.core.paths import Folders
from pipeline.core.progress import track
from pipeline.core.randomness import generator
from pipeline.core.records import Candidate, Picture, Question, Record, Screened, Subset, Tagged
from pipeline.core.rendering import markdown_table

SUBSETS: tuple[Subset, ...] = ("pt-easy", "pt-hard")
OURS, ALL, PAPER = "ours, balanced", "ours, all candidates", "the paper's"
LIMITS = {OURS: 0.58, ALL: 0.62}  # on the worst attacker, before anybody has judged


class Baseline(Record):
    """What attackers reach on one subset: `pairs` edited questions with their originals, made from `questions`."""

    questions: int
    candidates: int
    pairs: int
    attacks: dict[str, Attack]

    @property
    def worst(self) -> float:
        """Of the audit's attackers."""
        return max((self.attacks[name].auroc or 0.5 for name in TEXT_ATTACKERS), default=0.5)


class RuledRows(NamedTuple):
    """Candidates to be attacked, rules -> subset -> rows, with all questions asked, and what an attacker may know."""

    questions: Mapping[str, Question]
    known: KnownQuestions
    rows: Mapping[str, Mapping[Subset, Sequence[Candidate]]]


def blind_baseline(folds: int, repetitions: int, seed: int, most: int, out: Path | None) -> str:
    """The table of the data set in use; `out` is a JSON file for the figures. See `baseline` for the numbers."""
    Folders().check_outputs(Output("--out", out) if out else None)
    questions, known, ruled = ruled_rows(seed)
    baselines: dict[str, dict[Subset, Baseline]] = {
        rules: {
            subset: baseline(rows, questions, folds, repetitions, seed, most, known)
            for subset, rows in track(by_subset.items(), f"blind baseline: {rules}", unit="subset")
        }
        for rules, by_subset in ruled.items()
    }
    if out:
        write_json(out, {"rules": baselines, "limits": LIMITS})
    return table(baselines)


def ruled_rows(seed: int) -> RuledRows:
    """The candidates of the data set in use: ours as `balance` would keep them and all, and the paper's."""
    folders, p = Folders(), load("balance", BalanceParams)
    shown = {picture.picture_id for picture in folders.rows(Picture)}
    questions = {question.question_id: question for question in folders.asked(shown)}
    screened = sorted((row.candidate for row in folders.rows(Screened)), key=lambda row: row.candidate_id)
    known = known_questions(folders.rows(Question))
    vocabulary = folders.vocabulary()
    tags = {row.text: row for row in folders.rows(Tagged)}
    edited = perturb_by_the_paper(questions.values(), tags, vocabulary, seed)
    theirs = pass_conflict_filter(edited, vocabulary)
    ours: dict[Subset, list[Candidate]] = {
        subset: [row for row in screened if row.subset == subset] for subset in SUBSETS
    }
    rows: dict[str, dict[Subset, list[Candidate]]] = {
        OURS: {subset: balanced(ours[subset], questions, p) for subset in SUBSETS},
        ALL: ours,
        PAPER: {subset: [row for row in theirs if row.subset == subset] for subset in SUBSETS},
    }
    return RuledRows(questions, known, rows)


def baseline(
    candidates: Sequence[Candidate],
    questions: Mapping[str, Question],
    folds: int,
    repetitions: int,
    seed: int,
    most: int,
    known: KnownQuestions | None = None,
    more: Mapping[str, Attacker] | None = None,
) -> Baseline:
    """Attack one subset's candidates.

    Args:
        folds: of the cross-validation. repetitions: bootstrap samples of each interval.
        most: pairs to be tried; of more, so many are sampled at random.
        known: the source's questions, if attackers know them. more: attackers beside those of the audit, by name.
    """
    rng = generator(seed, "blind baseline")
    rows = sorted(candidates, key=lambda candidate: candidate.candidate_id)
    tried = [rows[i] for i in sorted(rng.permutation(len(rows))[:most])]
    texts = [text for row in tried for text in (questions[row.question_id].text, row.text)]
    asked = [row.question_id for row in tried for _ in range(2)]
    paired = LabelledRows(
        texts=texts, labels=np.tile([0, 1], len(tried)), source_ids=asked
    ).in_canonical_order()
    settings = AuditSettings(folds, repetitions, seed)
    audited = attack_texts(paired, ["text"], settings, known)
    attacks, parts = dict(audited.attacks["text"]), folds_of(paired, "text", settings, known)
    for name, guess in (more or {}).items():
        scores = np.full(len(paired), np.nan) if audited.too_small else guess(paired.texts, parts)
        attacks[name] = attack(scores, parts, repetitions)
    return Baseline(questions=len(questions), candidates=len(rows), pairs=len(tried), attacks=attacks)


def balanced(
    candidates: Sequence[Candidate], questions: Mapping[str, Question], p: BalanceParams
) -> list[Candidate]:
    """The candidates of one subset that `balance` would keep for their words, if all of them were verified."""
    if not candidates:
        return []
    rng = generator(p.seed, "balance words", candidates[0].subset)
    pairs = [(questions[row.question_id].text, row.text) for row in candidates]
    gone = even(pairs, p.word_slack, p.most_uneven, rng)
    return [row for place, row in enumerate(candidates) if place not in gone]


def table(baselines: Mapping[str, Mapping[Subset, Baseline]]) -> str:
    """All figures (rules -> subset -> baseline) as a table in Markdown."""
    rows = [["subset", "rules", "pairs", *TEXT_ATTACKERS, "worst", "limit", *REPORT_ONLY_ATTACKERS]]
    for subset in SUBSETS:
        for rules, by_subset in baselines.items():
            row = by_subset[subset]
            held, apart = (
                [reached(row.attacks[name], 3) for name in names]
                for names in (TEXT_ATTACKERS, REPORT_ONLY_ATTACKERS)
            )
            own_limit = f"{LIMITS[rules]:.2f}" if rules in LIMITS else ""
            rows.append([subset, rules, f"{row.pairs:,}", *held, f"{row.worst:.3f}", own_limit, *apart])
    return markdown_table(rows)
