"""Measure how well the label can be predicted from the question text alone: the one text-only audit.

Stage `audit` and `rgqa audit` both call this module, for the items of a run, for a release, and for any other set of questions with
two labels. Folds, seeds and scores depend on the content of the rows alone, so that the same rows have the same figures.

Attackers are trained twice. In folds by text, no text is in two folds: what they predict then comes from how the texts of either
label are made. In folds by image, the same text may occur beside other images: what they predict then is also which texts mostly
have which label. Whoever trains on similar data can learn that.
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

# A smaller set shows nothing: of 40 rows, an attacker reaches 0.75 by chance once in a hundred times.
MIN_ROWS, MIN_PER_LABEL = 50, 10
NUM_PERMUTATIONS = 199
# Of the permutation tests of one set together. At most this proportion of the sets that are tested are false alarms.
SIGNIFICANCE_LEVEL = 0.02
MIN_ROWS_FOR_PARALLEL = 2000  # rows; fewer are attacked faster than a second process starts


class AuditSettings(NamedTuple):
    """How attackers are trained and tested.

    Attributes:
        folds: Folds of every attacker, at least 2.
        repetitions: Bootstrap replicates of every interval.
        seed: Seed of folds, replicates and permutations.
    """

    folds: int = 5
    num_replicates: int = 500
    seed: int = 0


class TextAttacks(Record):
    """What the attackers that see only the text reach on some rows.

    Attributes:
        attacks: By what the folds keep apart, then by attacker.
        tests: By what the folds keep apart, the permutation test of the maximum over attackers; null where it does not apply.
        not_tried: Why an attacker was not tried, by attacker.
        too_small: Why nothing was measured; empty if the set is large enough.
    """

    attacks: Mapping[GroupBy, Mapping[str, AttackResult]]
    permutation_tests: Mapping[GroupBy, MaxTResult | None]
    skipped_attackers: Mapping[str, str]
    too_small_reason: str = ""


class TextAudit(TextAttacks):
    """All figures of a set.

    Attributes:
        name, format: What the set is called, and how it was read.
        zero, one: What the labels 0 and 1 stand for. zeros, ones: How many rows have them.
        texts, images: How many distinct texts and images there are; null where images are not known.
        repeated: Rows whose text, image and label occur in an earlier row.
        contradicted: Rows whose text and image occur under both labels.
        left_out: Rows of the source that do not count, by reason.
        finding: What the figures say: "too small" to measure; "balanced": every text is as often under either label; "chance": no
            attacker predicts the label beyond chance; "predictable": at least one does.
        p_value: The smallest p value of the tests, corrected for their number; null where none was made.
        strongest: Of each kind of folds the attacker whose interval begins highest, or who reaches most if none is above 0.5.
        words: Words that one label has more often than chance would have it; of up to 10,000 rows only if the finding is "predictable".
        text_margin, image_margin: How unequal the labels are within a text and within an image; `one` counts as UQ.
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
    """What is known of a set beside its rows; see `TextAudit`."""

    name: str
    format: str = ""
    label_names: tuple[str, str] = ("AQ", "UQ")
    excluded_rows: Mapping[str, int] = {}


def audit_texts(
    description: SetDescription,
    rows: LabelledRows,
    settings: AuditSettings = AuditSettings(),  # noqa: B008 it is immutable
    known_questions: KnownQuestions | None = None,
) -> TextAudit:
    """Measure a set.

    Args:
        about: Its name and what its labels mean.
        rows: Its rows, in any order.
        settings: Folds, replicates and seed.
        known: The source's questions, for attackers that have read them.

    Returns:
        All figures. They depend neither on the order of the rows nor on the number of processes.
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
    # In small sets the normal approximation behind the words alone would list too many by chance.
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
    """Try every attacker that sees only the text, in each kind of folds, and test their maximum.

    Args:
        rows: Rows in canonical order.
        by: Which folds: "text", "image" (only where images are known).
        settings: Folds, replicates and seed.
        known: The source's questions; without them the attackers that need them are not tried.
        parallel: Whether to use several processes.
        meaning: What the labels 0 and 1 stand for, for messages.
    """
    reason = explain_too_small(rows, settings.folds, label_names)
    unknown: tuple[str, ...] = SOURCE_AWARE_ATTACKERS if known_questions is None else ()
    not_tried: dict[str, str] = dict.fromkeys(unknown, "the questions of the source are not known")
    attacks: dict[GroupBy, dict[str, AttackResult]] = {}
    for key in group_by:
        none = AttackResult(
            auroc=None, low=None, high=None, groups=len(set(_make_groups(rows, key).tolist()))
        )
        # What knows the source leaves out texts of the row's own group. In folds by image that says nothing.
        attacks[key] = {
            name: none for name in ATTACKERS if key == "text" or name not in SOURCE_AWARE_ATTACKERS
        }
    tests: dict[GroupBy, MaxTResult | None] = dict.fromkeys(group_by)
    if reason:
        return TextAttacks(
            attacks=attacks, permutation_tests=tests, skipped_attackers=not_tried, too_small_reason=reason
        )
    # A test is the task without an attacker.
    tasks: list[tuple[GroupBy, str]] = [(key, "") for key in group_by]
    for name in ATTACKERS:
        more: list[tuple[GroupBy, str]] = [(key, name) for key in group_by if name in attacks[key]]
        tasks += [] if name in unknown else more
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
    return TextAttacks(attacks=attacks, permutation_tests=tests, skipped_attackers=not_tried)


def explain_too_small(rows: LabelledRows, folds: int, label_names: tuple[str, str] = ("AQ", "UQ")) -> str:
    """Why a set is too small to be measured; empty if it is not."""
    counts = np.bincount(rows.labels, minlength=2)
    rarer = int(counts.argmin())
    if len(rows) < MIN_ROWS or counts[rarer] < MIN_PER_LABEL:
        return (
            f"{format_count(len(rows), 'row')}, {counts[rarer]:,} of them {label_names[rarer]};"
            f" at least {MIN_ROWS} rows and {MIN_PER_LABEL} of either label are needed"
        )
    if (groups := len(set(_make_groups(rows, "text").tolist()))) < folds:
        return f"{format_count(groups, 'distinct text')}; at least as many as folds ({folds}) are needed"
    return ""


class _AttackInputs(NamedTuple):
    """What a process works on."""

    rows: LabelledRows
    settings: AuditSettings
    known_questions: KnownQuestions | None


def make_folds(
    rows: LabelledRows, by: GroupBy, settings: AuditSettings, known: KnownQuestions | None = None
) -> Folds:
    """The folds of every attacker on these rows."""
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
    with threadpool_limits(1):  # processes work side by side, and sums do not depend on their number
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
    """Whole numbers [n], the same for the same name, in the order of the names."""
    number = {name: i for i, name in enumerate(sorted(set(names)))}
    return np.array([number[name] for name in names], int)


def compute_finding(
    rows: LabelledRows,
    settings: AuditSettings = AuditSettings(),  # noqa: B008 it is immutable
) -> tuple[Finding, float | None]:
    """What `audit_texts` finds, and its p value, without the attackers, which decide nothing: some twenty times as fast."""
    rows = rows.in_canonical_order()
    reason = explain_too_small(rows, settings.folds)
    target = _AttackInputs(rows, settings, None)
    by: list[GroupBy] = ["text", "image"] if rows.images is not None else ["text"]
    tests = [] if reason else [_run_permutation_test(target, key) for key in by]
    p_value = correct_p_values(tests)
    margin = measure_imbalance_of_labels(zip(rows.texts, (rows.labels == 1).tolist(), strict=True))
    return classify_finding(reason, margin, p_value), p_value


def correct_p_values(tests: Iterable[MaxTResult | None]) -> float | None:
    """The smallest p value of several tests, corrected for their number (Bonferroni); None if none applies."""
    tested = [test.p_value for test in tests if test is not None]
    return min(1.0, round(len(tested) * min(tested), 4)) if tested else None


def classify_finding(too_small_reason: str, margin: LabelImbalance, p_value: float | None) -> Finding:
    """What the figures of a set say; see `TextAudit`."""
    if too_small_reason:
        return "too small"
    if not margin.unbalanced_keys:
        return "balanced"
    return "predictable" if p_value is not None and p_value <= SIGNIFICANCE_LEVEL else "chance"


def find_strongest_attacker(attacks: Mapping[str, AttackResult]) -> str | None:
    """The attacker whose interval begins highest, or who reaches most if none begins above 0.5; None if none applies."""
    known = {
        name: (max(attack.low or 0.0, 0.5), attack.auroc)
        for name, attack in attacks.items()
        if attack.auroc is not None
    }
    return max(known, key=lambda name: known[name]) if known else None
