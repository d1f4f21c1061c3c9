"""Measure how well the label can be predicted from the question text alone.

Stage `audit` uses this module for the items of a run. `rgqa audit` uses this module for a release and for any
other set of questions with two labels. Folds, seeds and scores depend only on the content of the rows, so the
same rows always give the same values.

Attackers (classifiers that see only the text) are trained in two grouped cross-validations. With groups by
text, all rows with the same text are in the same fold, so attackers can learn only how texts of each label
are written. With groups by image, the same text may occur with other images in other folds. So attackers can also learn which label a text mostly has. A
model that is trained on similar data can learn the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from pipeline.benchmark.auditing.attack_evaluation import (
    UNTRAINED_ATTACKERS,
    AttackResult,
    Folds,
    evaluate_attack,
    group_by_text,
)
from pipeline.benchmark.auditing.known_questions import KnownQuestions
from pipeline.benchmark.auditing.label_imbalance import LabelImbalance, measure_imbalance_of_labels
from pipeline.benchmark.auditing.labelled_rows import LabelledRows
from pipeline.benchmark.auditing.permutation_test import (
    MAX_TESTED_ROWS,
    MaxTResult,
    PermutationInputs,
    run_max_t_test,
)
from pipeline.benchmark.auditing.predictive_words import PredictiveWord, find_predictive_words
from pipeline.benchmark.auditing.text_attackers import ATTACKERS, SOURCE_AWARE_ATTACKERS, UNDIRECTED_ATTACKERS
from pipeline.core.errors import format_count
from pipeline.core.parallel import num_local_workers, ordered_map
from pipeline.core.progress import track
from pipeline.core.records import Record

GroupBy = Literal["text", "image"]
Finding = Literal["too small", "balanced", "chance", "predictable"]

# Minimum number of rows, in total and of each label. Smaller sets are not measured: with 40 rows, an attacker
# reaches an AUROC of 0.75 by chance in 1 % of sets.
MIN_ROWS, MIN_PER_LABEL = 50, 10
NUM_PERMUTATIONS = 199
# Family-wise significance level of the permutation tests of one set. If texts do not predict labels, at most
# this proportion of sets is reported as predictable by chance.
SIGNIFICANCE_LEVEL = 0.02
# Smaller sets are audited in one process, because this takes less time than starting a second process.
MIN_ROWS_FOR_PARALLEL = 2000


class AuditSettings(NamedTuple):
    """Settings of the attackers.

    Attributes:
        folds: Number of cross-validation folds, at least 2.
        num_replicates: Number of bootstrap replicates of every interval.
        seed: Seed of folds, replicates and permutations.
    """

    folds: int = 5
    num_replicates: int = 500
    seed: int = 0


class TextAttacks(Record):
    """Results of the text-only attackers on a set.

    Attributes:
        attacks: Kind of folds ("text" or "image") -> attacker -> result.
        permutation_tests: Kind of folds -> permutation test of the maximum over attackers, or None if the
            test does not apply.
        skipped_attackers: Attacker -> why the attacker was not run.
        too_small_reason: Why nothing was measured, or "" if the set is large enough.
    """

    attacks: Mapping[GroupBy, Mapping[str, AttackResult]]
    permutation_tests: Mapping[GroupBy, MaxTResult | None]
    skipped_attackers: Mapping[str, str]
    too_small_reason: str = ""


class TextAudit(TextAttacks):
    """The audit of a set.

    Attributes:
        name: Name of the set.
        format: Name of the format of the set's file.
        negative_label, positive_label: Names of the labels 0 and 1.
        negatives, positives: Number of rows with label 0, and with label 1.
        texts, images: Number of distinct texts and images. `images` is None if images are not known.
        duplicates: Number of rows whose text, image and label occur in an earlier row.
        contradictory: Number of rows whose text and image occur with both labels.
        excluded_rows: Reason -> number of excluded rows of the source.
        finding: The main result. "too small": the set is too small to measure. "balanced": every text occurs
            equally often with both labels. "chance": no attacker predicts the label beyond chance.
            "predictable": at least one attacker predicts the label beyond chance.
        p_value: The smallest p value of the permutation tests, corrected for the number of tests, or None if
            there is no test.
        strongest_attackers: Kind of folds -> attacker with the highest lower bound, or with the highest AUROC
            if no lower bound exceeds 0.5.
        predictive_words: Words that occur more often with one label than chance explains. For sets of up to
            10,000 rows they are listed only if the finding is "predictable".
        text_imbalance, image_imbalance: The imbalance of the labels within a text and within an image. Label
            1 counts as UQ (unanswerable question).
    """

    name: str = ""
    format: str = ""
    negative_label: str = "AQ"
    positive_label: str = "UQ"
    negatives: int = 0
    positives: int = 0
    texts: int = 0
    images: int | None = None
    duplicates: int = 0
    contradictory: int = 0
    excluded_rows: Mapping[str, int] = {}
    finding: Finding = "too small"
    p_value: float | None = None
    strongest_attackers: Mapping[GroupBy, str | None] = {}
    predictive_words: Sequence[PredictiveWord] = ()
    text_imbalance: LabelImbalance | None = None
    image_imbalance: LabelImbalance | None = None


class SetDescription(NamedTuple):
    """What the report states about a set, apart from its rows. The fields are explained in `TextAudit`."""

    name: str
    format: str = ""
    label_names: tuple[str, str] = ("AQ", "UQ")
    excluded_rows: Mapping[str, int] = {}


def audit_texts(
    description: SetDescription,
    rows: LabelledRows,
    settings: AuditSettings = AuditSettings(),  # noqa: B008 (immutable)
    known_questions: KnownQuestions | None = None,
) -> TextAudit:
    """Audit a set: run all text-only attackers and the permutation tests, and measure the label imbalance.

    Args:
        description: The name and the format of the set, and the names of its labels.
        rows: The rows of the set, in any order.
        settings: Folds, replicates and seed.
        known_questions: The questions of the source, for attackers that use them, or None if they are not
            available.

    Returns:
        The audit. It depends neither on the order of the rows nor on the number of processes.
    """
    rows = rows.in_canonical_order()
    by: list[GroupBy] = ["text", "image"] if rows.images is not None else ["text"]
    found = run_text_attacks(
        rows,
        by,
        settings,
        known_questions,
        parallel=len(rows) > MIN_ROWS_FOR_PARALLEL,
        label_names=description.label_names,
    )
    images: Sequence[object] = [0] * len(rows) if rows.images is None else rows.images
    counts = Counter(zip(rows.texts, images, rows.labels.tolist(), strict=True))
    both = [count for (text, image, label), count in counts.items() if (text, image, 1 - label) in counts]
    labels = (rows.labels == 1).tolist()
    margin = measure_imbalance_of_labels(zip(rows.texts, labels, strict=True))
    p_value = correct_p_values(found.permutation_tests.values())
    finding = classify_finding(found.too_small_reason, margin, p_value)
    # In small sets the normal approximation behind the word list would list too many words by chance.
    has_words = finding == "predictable" or (finding == "chance" and len(rows) > MAX_TESTED_ROWS)
    return TextAudit(
        attacks=found.attacks,
        permutation_tests=found.permutation_tests,
        skipped_attackers=found.skipped_attackers,
        too_small_reason=found.too_small_reason,
        name=description.name,
        format=description.format,
        negative_label=description.label_names[0],
        positive_label=description.label_names[1],
        negatives=labels.count(False),
        positives=labels.count(True),
        texts=len(set(rows.texts)),
        images=None if rows.images is None else len(set(images)),
        duplicates=0 if rows.images is None else len(rows) - len(counts),
        contradictory=0 if rows.images is None else sum(both),
        excluded_rows=description.excluded_rows,
        finding=finding,
        p_value=p_value,
        strongest_attackers={key: find_strongest_attacker(attacks) for key, attacks in found.attacks.items()},
        predictive_words=find_predictive_words(rows) if has_words else [],
        text_imbalance=margin,
        image_imbalance=None
        if rows.images is None
        else measure_imbalance_of_labels(zip(rows.images, labels, strict=True)),
    )


def run_text_attacks(
    rows: LabelledRows,
    group_by: Sequence[GroupBy],
    settings: AuditSettings,
    known_questions: KnownQuestions | None = None,
    *,
    parallel: bool = False,
    label_names: tuple[str, str] = ("AQ", "UQ"),
) -> TextAttacks:
    """Run every text-only attacker with each grouping of the folds, and the permutation test of the attackers' maximum.

    Args:
        rows: Rows in canonical order.
        group_by: Kinds of folds: "text" and "image". "image" needs rows with images.
        settings: Folds, replicates and seed.
        known_questions: The questions of the source, or None if they are not available. Then the attackers
            that need them are skipped.
        parallel: Whether to use several processes.
        label_names: Names of the labels 0 and 1, for messages.
    """
    reason = explain_too_small(rows, settings.folds, label_names)
    unknown: tuple[str, ...] = SOURCE_AWARE_ATTACKERS if known_questions is None else ()
    skipped: dict[str, str] = dict.fromkeys(unknown, "the questions of the source are not known")
    attacks: dict[GroupBy, dict[str, AttackResult]] = {}
    for key in group_by:
        none = AttackResult(
            auroc=None, low=None, high=None, groups=len(set(_make_groups(rows, key).tolist()))
        )
        # Attackers that use the questions of the source exclude the texts of the row's own group. This is
        # meaningful only in folds grouped by text.
        attacks[key] = {
            name: none for name in ATTACKERS if key == "text" or name not in SOURCE_AWARE_ATTACKERS
        }
    tests: dict[GroupBy, MaxTResult | None] = dict.fromkeys(group_by)
    if reason:
        return TextAttacks(
            attacks=attacks, permutation_tests=tests, skipped_attackers=skipped, too_small_reason=reason
        )
    # An empty name stands for the permutation test.
    tasks: list[tuple[GroupBy, str]] = [(key, "") for key in group_by]
    for name in ATTACKERS:
        named: list[tuple[GroupBy, str]] = [(key, name) for key in group_by if name in attacks[key]]
        tasks += [] if name in unknown else named
    workers = min(num_local_workers(), len(tasks)) if parallel else 1
    results = ordered_map(
        _run_attack, tasks, partial(_AttackInputs, rows, settings, known_questions), workers, 1
    )
    if parallel:
        results = track(results, "audit", len(tasks), "attack")
    for (key, name), result in zip(tasks, results, strict=True):
        if isinstance(result, AttackResult):
            attacks[key][name] = result
        else:
            tests[key] = result
    return TextAttacks(attacks=attacks, permutation_tests=tests, skipped_attackers=skipped)


def explain_too_small(rows: LabelledRows, folds: int, label_names: tuple[str, str] = ("AQ", "UQ")) -> str:
    """Return why a set is too small to measure, or "" if the set is large enough."""
    counts = np.bincount(rows.labels, minlength=2)
    rarer = int(counts.argmin())
    if len(rows) < MIN_ROWS or counts[rarer] < MIN_PER_LABEL:
        return (
            f"{format_count(len(rows), 'row')}, {counts[rarer]:,} of them {label_names[rarer]};"
            f" at least {MIN_ROWS} rows and {MIN_PER_LABEL} of each label are needed"
        )
    if (groups := len(set(_make_groups(rows, "text").tolist()))) < folds:
        return f"{format_count(groups, 'distinct text')}; at least as many as folds ({folds}) are needed"
    return ""


class _AttackInputs(NamedTuple):
    """The input of a worker process."""

    rows: LabelledRows
    settings: AuditSettings
    known_questions: KnownQuestions | None


def make_folds(
    rows: LabelledRows, by: GroupBy, settings: AuditSettings, known: KnownQuestions | None = None
) -> Folds:
    """Return the folds of every attacker on these rows."""
    return Folds(rows.labels, _make_groups(rows, by), settings.folds, settings.seed, known)


def _make_groups(rows: LabelledRows, by: GroupBy) -> np.ndarray:
    if by == "image":
        return np.array(rows.images, object)
    return group_by_text(rows.texts, rows.texts if rows.source_ids is None else rows.source_ids)


def _run_attack(inputs: _AttackInputs, task: tuple[GroupBy, str]) -> AttackResult | MaxTResult | None:
    (rows, settings, known), (by, name) = inputs, task
    if not name:
        return _run_permutation_test(inputs, by)
    folds = make_folds(rows, by, settings, known)
    # Several processes share the cores, and sums must not depend on the number of threads.
    with threadpool_limits(1):
        scores = ATTACKERS[name](rows.texts, folds)
        return evaluate_attack(
            scores,
            folds,
            settings.num_replicates,
            is_trained=name not in UNTRAINED_ATTACKERS,
            has_direction=name not in UNDIRECTED_ATTACKERS,
        )


def _run_permutation_test(inputs: _AttackInputs, by: GroupBy) -> MaxTResult | None:
    rows = inputs.rows
    clusters = {"text": _encode_names(_make_groups(rows, "text"))}
    if rows.images is not None:
        clusters["image"] = _encode_names(rows.images)
    units = None if rows.source_ids is None else _encode_names(rows.source_ids)
    folds = make_folds(rows, by, inputs.settings)
    return run_max_t_test(PermutationInputs(rows.texts, clusters, units), folds, by, NUM_PERMUTATIONS)


def _encode_names(names: Sequence[str] | np.ndarray) -> np.ndarray:
    """Return integers [n], equal for equal names, in the sorted order of the names."""
    index_by_name = {name: i for i, name in enumerate(sorted(set(names)))}
    return np.array([index_by_name[name] for name in names], int)


def compute_finding(
    rows: LabelledRows,
    settings: AuditSettings = AuditSettings(),  # noqa: B008 (immutable)
) -> tuple[Finding, float | None]:
    """Return the finding of `audit_texts` and its p value without running the slow attackers.

    This function is about 20 times as fast as `audit_texts`.
    """
    rows = rows.in_canonical_order()
    reason = explain_too_small(rows, settings.folds)
    inputs = _AttackInputs(rows, settings, None)
    by: list[GroupBy] = ["text", "image"] if rows.images is not None else ["text"]
    tests = [] if reason else [_run_permutation_test(inputs, key) for key in by]
    p_value = correct_p_values(tests)
    margin = measure_imbalance_of_labels(zip(rows.texts, (rows.labels == 1).tolist(), strict=True))
    return classify_finding(reason, margin, p_value), p_value


def correct_p_values(tests: Iterable[MaxTResult | None]) -> float | None:
    """Return the smallest p value of several tests, corrected for the number of tests (Bonferroni).

    The result is None if no test applies.
    """
    tested = [test.p_value for test in tests if test is not None]
    return min(1.0, round(len(tested) * min(tested), 4)) if tested else None


def classify_finding(too_small_reason: str, margin: LabelImbalance, p_value: float | None) -> Finding:
    """Return the finding about a set. The values are explained in `TextAudit`."""
    if too_small_reason:
        return "too small"
    if not margin.unbalanced_keys:
        return "balanced"
    return "predictable" if p_value is not None and p_value <= SIGNIFICANCE_LEVEL else "chance"


def find_strongest_attacker(attacks: Mapping[str, AttackResult]) -> str | None:
    """Return the attacker with the highest lower bound of the AUROC.

    If no lower bound exceeds 0.5, return the attacker with the highest AUROC.

    Returns:
        The name of the attacker, or None if no attacker applies.
    """
    known = {
        name: (max(attack.low or 0.0, 0.5), attack.auroc)
        for name, attack in attacks.items()
        if attack.auroc is not None
    }
    return max(known, key=lambda name: known[name]) if known else None
