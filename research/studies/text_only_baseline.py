"""`rgqa study text-only-baseline`: how well a text-only model predicts which questions are edited, before anybody has judged one.

Every screened PT candidate of the data set in use is paired with the question that it was made from: the candidates that `balance`
would keep for their words, all of them, and those of the paper's rules on the same questions. The attackers are those of the
text-only audit (`pipeline.benchmark.auditing.text_audit`), in its folds by text. Needs `dvc repro screen tag`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipeline.benchmark.auditing.attack_evaluation import AttackResult, evaluate_attack
from pipeline.benchmark.auditing.audit_markdown import format_auroc
from pipeline.benchmark.auditing.known_questions import KnownQuestions, collect_known_questions
from pipeline.benchmark.auditing.labelled_rows import LabelledRows
from pipeline.benchmark.auditing.text_attackers import REPORT_ONLY_ATTACKERS, TEXT_ATTACKERS, Attacker
from pipeline.benchmark.auditing.text_audit import AuditSettings, make_folds, run_text_attacks
from pipeline.benchmark.balancing.pairing import BalanceParams
from pipeline.benchmark.balancing.telltale_pairs import find_telltale_pairs
from pipeline.candidates.perturbing.perturb_image import perturb_by_paper_rule
from pipeline.candidates.screening.screen_rules import apply_conflict_filter
from pipeline.core.json_files import write_json
from pipeline.core.output_paths import Output
from pipeline.core.params import load_params
from pipeline.core.paths import DatasetFolders
from pipeline.core.progress import track
from pipeline.core.randomness import make_generator
from pipeline.core.records import (
    Candidate,
    ImageRecord,
    Question,
    Record,
    ScreenedCandidate,
    Subset,
    TaggedText,
)
from pipeline.core.rendering import format_markdown_table

SUBSETS: tuple[Subset, ...] = ("pt-easy", "pt-hard")
OUR_BALANCED_RULES, OUR_UNBALANCED_RULES, PAPER_RULES = (
    "ours, balanced",
    "ours, all candidates",
    "the paper's",
)
MAX_AUROC = {
    OUR_BALANCED_RULES: 0.58,
    OUR_UNBALANCED_RULES: 0.62,
}  # on the worst attacker, before anybody has judged


class TextOnlyBaseline(Record):
    """What attackers reach on one subset: `pairs` edited questions with their originals, made from `questions`."""

    num_questions: int
    num_candidates: int
    num_pairs: int
    attacks: dict[str, AttackResult]

    @property
    def worst_auroc(self) -> float:
        """Of the audit's attackers."""
        return max((self.attacks[name].auroc or 0.5 for name in TEXT_ATTACKERS), default=0.5)


class CandidatesByRules(NamedTuple):
    """Candidates to be attacked, rules -> subset -> rows, with all questions asked, and what an attacker may know."""

    questions: Mapping[str, Question]
    known_questions: KnownQuestions
    candidates: Mapping[str, Mapping[Subset, Sequence[Candidate]]]


def run_text_only_baseline(folds: int, repetitions: int, seed: int, max_pairs: int, out: Path | None) -> str:
    """The table of the data set in use; `out` is a JSON file for the figures. See `baseline` for the numbers."""
    DatasetFolders().check_outputs(Output("--out", out) if out else None)
    questions, known, ruled = load_candidates_by_rules(seed)
    baselines: dict[str, dict[Subset, TextOnlyBaseline]] = {
        rules: {
            subset: attack_candidates(rows, questions, folds, repetitions, seed, max_pairs, known)
            for subset, rows in track(by_subset.items(), f"blind baseline: {rules}", unit="subset")
        }
        for rules, by_subset in ruled.items()
    }
    if out:
        write_json(out, {"rules": baselines, "limits": MAX_AUROC})
    return render_table(baselines)


def load_candidates_by_rules(seed: int) -> CandidatesByRules:
    """The candidates of the data set in use: ours as `balance` would keep them and all, and the paper's."""
    folders, p = DatasetFolders(), load_params("balance", BalanceParams)
    shown = {image.image_id for image in folders.read_records(ImageRecord)}
    questions = {question.question_id: question for question in folders.read_questions_about(shown)}
    screened = sorted(
        (row.candidate for row in folders.read_records(ScreenedCandidate)), key=lambda row: row.candidate_id
    )
    known = collect_known_questions(folders.read_records(Question))
    vocabulary = folders.read_vocabulary()
    tags = {row.text: row for row in folders.read_records(TaggedText)}
    edited = perturb_by_paper_rule(questions.values(), tags, vocabulary, seed)
    theirs = apply_conflict_filter(edited, vocabulary)
    ours: dict[Subset, list[Candidate]] = {
        subset: [row for row in screened if row.subset == subset] for subset in SUBSETS
    }
    rows: dict[str, dict[Subset, list[Candidate]]] = {
        OUR_BALANCED_RULES: {subset: balance_candidates(ours[subset], questions, p) for subset in SUBSETS},
        OUR_UNBALANCED_RULES: ours,
        PAPER_RULES: {subset: [row for row in theirs if row.subset == subset] for subset in SUBSETS},
    }
    return CandidatesByRules(questions, known, rows)


def attack_candidates(
    candidates: Sequence[Candidate],
    questions: Mapping[str, Question],
    folds: int,
    repetitions: int,
    seed: int,
    max_pairs: int,
    known: KnownQuestions | None = None,
    extra_attackers: Mapping[str, Attacker] | None = None,
) -> TextOnlyBaseline:
    """Attack one subset's candidates.

    Args:
        folds: of the cross-validation. repetitions: bootstrap samples of each interval.
        most: pairs to be tried; of more, so many are sampled at random.
        known: the source's questions, if attackers know them. more: attackers beside those of the audit, by name.
    """
    rng = make_generator(seed, "blind baseline")
    rows = sorted(candidates, key=lambda candidate: candidate.candidate_id)
    tried = [rows[i] for i in sorted(rng.permutation(len(rows))[:max_pairs])]
    texts = [text for row in tried for text in (questions[row.question_id].text, row.text)]
    asked = [row.question_id for row in tried for _ in range(2)]
    paired = LabelledRows(
        texts=texts, labels=np.tile([0, 1], len(tried)), source_ids=asked
    ).in_canonical_order()
    settings = AuditSettings(folds, repetitions, seed)
    audited = run_text_attacks(paired, ["text"], settings, known)
    attacks, parts = dict(audited.attacks["text"]), make_folds(paired, "text", settings, known)
    for name, guess in (extra_attackers or {}).items():
        scores = np.full(len(paired), np.nan) if audited.too_small_reason else guess(paired.texts, parts)
        attacks[name] = evaluate_attack(scores, parts, repetitions)
    return TextOnlyBaseline(
        num_questions=len(questions), num_candidates=len(rows), num_pairs=len(tried), attacks=attacks
    )


def balance_candidates(
    candidates: Sequence[Candidate], questions: Mapping[str, Question], p: BalanceParams
) -> list[Candidate]:
    """The candidates of one subset that `balance` would keep for their words, if all of them were verified."""
    if not candidates:
        return []
    rng = make_generator(p.seed, "balance words", candidates[0].subset)
    pairs = [(questions[row.question_id].text, row.text) for row in candidates]
    gone = find_telltale_pairs(pairs, p.max_word_imbalance, p.max_dropped_proportion, rng)
    return [row for place, row in enumerate(candidates) if place not in gone]


def render_table(baselines: Mapping[str, Mapping[Subset, TextOnlyBaseline]]) -> str:
    """All figures (rules -> subset -> baseline) as a table in Markdown."""
    rows = [["subset", "rules", "pairs", *TEXT_ATTACKERS, "worst", "limit", *REPORT_ONLY_ATTACKERS]]
    for subset in SUBSETS:
        for rules, by_subset in baselines.items():
            row = by_subset[subset]
            held, apart = (
                [format_auroc(row.attacks[name], 3) for name in names]
                for names in (TEXT_ATTACKERS, REPORT_ONLY_ATTACKERS)
            )
            own_limit = f"{MAX_AUROC[rules]:.2f}" if rules in MAX_AUROC else ""
            rows.append(
                [subset, rules, f"{row.num_pairs:,}", *held, f"{row.worst_auroc:.3f}", own_limit, *apart]
            )
    return format_markdown_table(rows)
