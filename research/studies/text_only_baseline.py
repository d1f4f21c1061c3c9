"""Measure how well a text-only model can tell edited questions from originals: `rgqa study
text-only-baseline`.

This needs no human verdict. Every screened PT candidate of the data set in use is paired with its original
question. Three sets are compared: candidates that remain after the word balancing of stage `balance`, all candidates, and
candidates by the paper's rules from the same questions. The attackers and folds are those of the text-only
audit (`pipeline.benchmark.auditing.text_audit`). Needs `dvc repro screen tag`.
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
# Maximum AUROC of the worst attacker, before human verification.
MAX_AUROC = {OUR_BALANCED_RULES: 0.58, OUR_UNBALANCED_RULES: 0.62}


class TextOnlyBaseline(Record):
    """The attack results on one subset: `num_pairs` edited questions with their originals."""

    num_questions: int
    num_candidates: int
    num_pairs: int
    attacks: dict[str, AttackResult]

    @property
    def worst_auroc(self) -> float:
        """The highest AUROC of the audit's attackers."""
        return max((self.attacks[name].auroc or 0.5 for name in TEXT_ATTACKERS), default=0.5)


class CandidatesByRules(NamedTuple):
    """Candidates by rules and subset, with all questions and what an attacker may know."""

    questions: Mapping[str, Question]
    known_questions: KnownQuestions
    candidates: Mapping[str, Mapping[Subset, Sequence[Candidate]]]


def run_text_only_baseline(folds: int, repetitions: int, seed: int, max_pairs: int, out: Path | None) -> str:
    """Return the results for the current data set as a Markdown table. `out` is a JSON file.

    See `attack_candidates` for the numbers.
    """
    DatasetFolders().check_outputs(Output("--out", out) if out else None)
    questions, known, ruled = load_candidates_by_rules(seed)
    baselines: dict[str, dict[Subset, TextOnlyBaseline]] = {
        rules: {
            subset: attack_candidates(rows, questions, folds, repetitions, seed, max_pairs, known)
            for subset, rows in track(by_subset.items(), f"text-only baseline: {rules}", unit="subset")
        }
        for rules, by_subset in ruled.items()
    }
    if out:
        write_json(out, {"rules": baselines, "max_auroc": MAX_AUROC})
    return render_table(baselines)


def load_candidates_by_rules(seed: int) -> CandidatesByRules:
    """Load the candidates of the data set in use: ours as `balance` would keep them, all of ours, and the
    paper's.
    """
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
    """Attack the candidates of one subset.

    Args:
        candidates: Edited questions.
        questions: Original questions by id.
        folds: Folds of the cross-validation.
        repetitions: Bootstrap replicates of each interval.
        seed: Seed of the choice of pairs, of folds and of the bootstrap.
        max_pairs: Pairs to use. If there are more, they are sampled at random.
        known: The source's questions, if attackers know them.
        extra_attackers: Attackers beside those of the audit, by name.
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
    """Return the candidates of one subset that `balance` would keep for their words, if all were verified."""
    if not candidates:
        return []
    rng = make_generator(p.seed, "balance words", candidates[0].subset)
    pairs = [(questions[row.question_id].text, row.text) for row in candidates]
    gone = find_telltale_pairs(pairs, p.max_word_imbalance, p.max_dropped_proportion, rng)
    return [row for place, row in enumerate(candidates) if place not in gone]


def render_table(baselines: Mapping[str, Mapping[Subset, TextOnlyBaseline]]) -> str:
    """Render all results (rules -> subset -> baseline) as a Markdown table."""
    rows = [["subset", "rules", "pairs", *TEXT_ATTACKERS, "worst", "limit", *REPORT_ONLY_ATTACKERS]]
    for subset in SUBSETS:
        for rules, by_subset in baselines.items():
            row = by_subset[subset]
            audited, report_only = (
                [format_auroc(row.attacks[name], 3) for name in names]
                for names in (TEXT_ATTACKERS, REPORT_ONLY_ATTACKERS)
            )
            own_limit = f"{MAX_AUROC[rules]:.2f}" if rules in MAX_AUROC else ""
            rows.append(
                [
                    subset,
                    rules,
                    f"{row.num_pairs:,}",
                    *audited,
                    f"{row.worst_auroc:.3f}",
                    own_limit,
                    *report_only,
                ]
            )
    return format_markdown_table(rows)
