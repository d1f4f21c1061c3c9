"""Measure how well the label can be predicted from the question text alone.

Stage `audit` and `rgqa audit` both use this module: for the items of a run, for a release, and for any other set of questions with
two labels. Folds, seeds and scores depend only on the content of the rows, so the same rows always give the same values.

Attackers are trained in two kinds of folds. In folds by text, no text is in two folds, so they can only learn how texts of either
label are written. In folds by image, the same text may occur with other images in other folds, so they can also learn which texts
mostly have which label. A model that is trained on similar data can learn that, too.
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

# Smaller sets are not measured: with 40 rows an attacker reaches an AUROC of 0.75 by chance in 1 % of sets.
MIN_ROWS, MIN_PER_LABEL = 50, 10
NUM_PERMUTATIONS = 199
# The level applies to all permutation tests of one set together, so at most this proportion of sets are false alarms.
SIGNIFICANCE_LEVEL = 0.02
# Smaller sets are audited faster than a second process starts.
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
        attacks: Results by kind of folds ("text" or "image"), then by attacker.
        permutation_tests: By kind of folds, the permutation test of the maximum over attackers; null if it does not apply.
        skipped_attackers: Why an attacker was not run, by attacker.
        too_small_reason: Why nothing was measured; empty if the set is large enough.
    """

    attacks: Mapping[GroupBy, Mapping[str, AttackResult]]
    permutation_tests: Mapping[GroupBy, MaxTResult | None]
    skipped_attackers: Mapping[str, str]
    too_small_reason: str = ""


class TextAudit(TextAttacks):
    """The audit of a set.

    Attributes:
        name, format: Name of the set, and the format that it was read in.
        negative_label, positive_label: Names of the labels 0 and 1.
        negatives, positives: Number of rows with label 0 and label 1.
        texts, images: Number of distinct texts and images; `images` is null if images are not known.
        duplicates: Rows whose text, image and label occur in an earlier row.
        contradictory: Rows whose text and image occur under both labels.
        excluded_rows: Number of excluded rows of the source, by reason.
        finding: "too small" to measure; "balanced": every text occurs equally often under both labels; "chance": no attacker
            predicts the label beyond chance; "predictable": at least one attacker does.
        p_value: The smallest p value of the permutation tests, corrected for their number; null if there is none.
        strongest_attackers: By kind of folds, the attacker with the highest lower bound, or with the highest AUROC if no lower bound
            exceeds 0.5.
        predictive_words: Words that occur more often under one label than chance explains. For sets of up to 10,000 rows they are
            only listed if the finding is "predictable".
        text_imbalance, image_imbalance: How unequal the labels are within a text and within an image. Label 1 counts as UQ.
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
    """What the report states about a set besides its rows. See `TextAudit` for the fields."""

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
    """Audit a set: run all text-only attackers and the permutation tests, and measure label imbalance.

    Args:
        description: Its name, its format and the names of its labels.
        rows: Its rows, in any order.
        settings: Folds, replicates and seed.
        known_questions: The source's questions, for attackers that read them; None if they are not available.

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
    """Run every text-only attacker in each kind of folds, and the permutation test of their maximum.

    Args:
        rows: Rows in canonical order.
        group_by: Kinds of folds: "text" and "image". "image" needs rows with images.
        settings: Folds, replicates and seed.
        known_questions: The source's questions. Without them the attackers that need them are skipped.
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
        # Source-aware attackers exclude the texts of the row's own group, which is only meaningful in folds by text.
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
    """Return why a set is too small to measure; an empty string if it is large enough."""
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


def _run_attack(target: _AttackInputs, task: tuple[GroupBy, str]) -> AttackResult | MaxTResult | None:
    (rows, settings, known), (by, name) = target, task
    if not name:
        return _run_permutation_test(target, by)
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


def _run_permutation_test(target: _AttackInputs, by: GroupBy) -> MaxTResult | None:
    rows = target.rows
    clusters = {"text": _encode_names(_make_groups(rows, "text"))}
    if rows.images is not None:
        clusters["image"] = _encode_names(rows.images)
    units = None if rows.source_ids is None else _encode_names(rows.source_ids)
    folds = make_folds(rows, by, target.settings)
    return run_max_t_test(PermutationInputs(rows.texts, clusters, units), folds, by, NUM_PERMUTATIONS)


def _encode_names(names: Sequence[str] | np.ndarray) -> np.ndarray:
    """Return integers [n], equal for equal names, in the sorted order of the names."""
    number = {name: i for i, name in enumerate(sorted(set(names)))}
    return np.array([number[name] for name in names], int)


def compute_finding(
    rows: LabelledRows,
    settings: AuditSettings = AuditSettings(),  # noqa: B008 (immutable)
) -> tuple[Finding, float | None]:
    """Return the finding of `audit_texts` and its p value without running the slow attackers. This is about 20 times as fast."""
    rows = rows.in_canonical_order()
    reason = explain_too_small(rows, settings.folds)
    target = _AttackInputs(rows, settings, None)
    by: list[GroupBy] = ["text", "image"] if rows.images is not None else ["text"]
    tests = [] if reason else [_run_permutation_test(target, key) for key in by]
    p_value = correct_p_values(tests)
    margin = measure_imbalance_of_labels(zip(rows.texts, (rows.labels == 1).tolist(), strict=True))
    return classify_finding(reason, margin, p_value), p_value


def correct_p_values(tests: Iterable[MaxTResult | None]) -> float | None:
    """Return the smallest p value of several tests, corrected for their number (Bonferroni); None if no test applies."""
    tested = [test.p_value for test in tests if test is not None]
    return min(1.0, round(len(tested) * min(tested), 4)) if tested else None


def classify_finding(too_small_reason: str, margin: LabelImbalance, p_value: float | None) -> Finding:
    """Return the finding about a set. See `TextAudit` for its values."""
    if too_small_reason:
        return "too small"
    if not margin.unbalanced_keys:
        return "balanced"
    return "predictable" if p_value is not None and p_value <= SIGNIFICANCE_LEVEL else "chance"


def find_strongest_attacker(attacks: Mapping[str, AttackResult]) -> str | None:
    """Return the attacker with the highest lower bound, or with the highest AUROC if no lower bound exceeds 0.5.

    Returns:
        Its name; None if no attacker applies.
    """
    known = {
        name: (max(attack.low or 0.0, 0.5), attack.auroc)
        for name, attack in attacks.items()
        if attack.auroc is not None
    }
    return max(known, key=lambda name: known[name]) if known else None
