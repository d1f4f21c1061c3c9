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

from pipeline.benchmark.auditing.attack_evaluation import UNLEARNED, Attack, Folds, attack, text_groups
from pipeline.benchmark.auditing.known_questions import KnownQuestions
from pipeline.benchmark.auditing.label_imbalance import Margin, margin_of
from pipeline.benchmark.auditing.labelled_rows import LabelledRows
from pipeline.benchmark.auditing.permutation_test import MAX_ROWS, MaxTest, RowsToTest, max_test
from pipeline.benchmark.auditing.predictive_words import PredictiveWord, predictive_words
from pipeline.benchmark.auditing.text_attackers import ATTACKERS, KNOW_THE_SOURCE, UNSIGNED
from pipeline.core.errors import counted
from pipeline.core.parallel import ordered_map, threads
from pipeline.core.progress import track
from pipeline.core.records import Record

By = Literal["text", "image"]
Finding = Literal["too small", "balanced", "chance", "predictable"]

# A smaller set shows nothing: of 40 rows, an attacker reaches 0.75 by chance once in a hundred times.
MIN_ROWS, MIN_PER_LABEL = 50, 10
PERMUTATIONS = 199
# Of the permutation tests of one set together. At most this proportion of the sets that are tested are false alarms.
SIGNIFICANCE = 0.02
PARALLEL_FROM = 2000  # rows; fewer are attacked faster than a second process starts


class AuditSettings(NamedTuple):
    """How attackers are trained and tested.

    Attributes:
        folds: Folds of every attacker, at least 2.
        repetitions: Bootstrap replicates of every interval.
        seed: Seed of folds, replicates and permutations.
    """

    folds: int = 5
    repetitions: int = 500
    seed: int = 0


class TextAttacks(Record):
    """What the attackers that see only the text reach on some rows.

    Attributes:
        attacks: By what the folds keep apart, then by attacker.
        tests: By what the folds keep apart, the permutation test of the maximum over attackers; null where it does not apply.
        not_tried: Why an attacker was not tried, by attacker.
        too_small: Why nothing was measured; empty if the set is large enough.
    """

    attacks: Mapping[By, Mapping[str, Attack]]
    tests: Mapping[By, MaxTest | None]
    not_tried: Mapping[str, str]
    too_small: str = ""


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
    zero: str = "AQ"
    one: str = "UQ"
    zeros: int = 0
    ones: int = 0
    texts: int = 0
    images: int | None = None
    repeated: int = 0
    contradicted: int = 0
    left_out: Mapping[str, int] = {}
    finding: Finding = "too small"
    p_value: float | None = None
    strongest: Mapping[By, str | None] = {}
    words: Sequence[PredictiveWord] = ()
    text_margin: Margin | None = None
    image_margin: Margin | None = None


class SetDescription(NamedTuple):
    """What is known of a set beside its rows; see `TextAudit`."""

    name: str
    format: str = ""
    meaning: tuple[str, str] = ("AQ", "UQ")
    left_out: Mapping[str, int] = {}


def audit_texts(
    about: SetDescription,
    rows: LabelledRows,
    settings: AuditSettings = AuditSettings(),  # noqa: B008 it is immutable
    known: KnownQuestions | None = None,
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
    by: list[By] = ["text", "image"] if rows.images is not None else ["text"]
    found = attack_texts(rows, by, settings, known, parallel=len(rows) > PARALLEL_FROM, meaning=about.meaning)
    images: Sequence[object] = [0] * len(rows) if rows.images is None else rows.images
    counts = Counter(zip(rows.texts, images, rows.labels.tolist(), strict=True))
    both = [count for (text, image, label), count in counts.items() if (text, image, 1 - label) in counts]
    labels = (rows.labels == 1).tolist()
    margin = margin_of(zip(rows.texts, labels, strict=True))
    p_value = corrected(found.tests.values())
    finding = finding_of(found.too_small, margin, p_value)
    # In small sets the normal approximation behind the words alone would list too many by chance.
    has_words = finding == "predictable" or (finding == "chance" and len(rows) > MAX_ROWS)
    return TextAudit(
        attacks=found.attacks,
        tests=found.tests,
        not_tried=found.not_tried,
        too_small=found.too_small,
        name=about.name,
        format=about.format,
        zero=about.meaning[0],
        one=about.meaning[1],
        zeros=labels.count(False),
        ones=labels.count(True),
        texts=len(set(rows.texts)),
        images=None if rows.images is None else len(set(images)),
        repeated=0 if rows.images is None else len(rows) - len(counts),
        contradicted=0 if rows.images is None else sum(both),
        left_out=about.left_out,
        finding=finding,
        p_value=p_value,
        strongest={key: strongest(attacks) for key, attacks in found.attacks.items()},
        words=predictive_words(rows) if has_words else [],
        text_margin=margin,
        image_margin=None if rows.images is None else margin_of(zip(rows.images, labels, strict=True)),
    )


def attack_texts(
    rows: LabelledRows,
    by: Sequence[By],
    settings: AuditSettings,
    known: KnownQuestions | None = None,
    *,
    parallel: bool = False,
    meaning: tuple[str, str] = ("AQ", "UQ"),
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
    reason = too_small(rows, settings.folds, meaning)
    unknown: tuple[str, ...] = KNOW_THE_SOURCE if known is None else ()
    not_tried: dict[str, str] = dict.fromkeys(unknown, "the questions of the source are not known")
    attacks: dict[By, dict[str, Attack]] = {}
    for key in by:
        none = Attack(auroc=None, low=None, high=None, groups=len(set(_groups(rows, key).tolist())))
        # What knows the source leaves out texts of the row's own group. In folds by image that says nothing.
        attacks[key] = {name: none for name in ATTACKERS if key == "text" or name not in KNOW_THE_SOURCE}
    tests: dict[By, MaxTest | None] = dict.fromkeys(by)
    if reason:
        return TextAttacks(attacks=attacks, tests=tests, not_tried=not_tried, too_small=reason)
    # A test is the task without an attacker.
    tasks: list[tuple[By, str]] = [(key, "") for key in by]
    for name in ATTACKERS:
        more: list[tuple[By, str]] = [(key, name) for key in by if name in attacks[key]]
        tasks += [] if name in unknown else more
    workers = min(threads(), len(tasks)) if parallel else 1
    results = ordered_map(_attack, tasks, partial(_Target, rows, settings, known), workers, 1)
    if parallel:
        results = track(results, "audit", len(tasks), "attack")
    for (key, name), result in zip(tasks, results, strict=True):
        if isinstance(result, Attack):
            attacks[key][name] = result
        else:
            tests[key] = result
    return TextAttacks(attacks=attacks, tests=tests, not_tried=not_tried)


def too_small(rows: LabelledRows, folds: int, meaning: tuple[str, str] = ("AQ", "UQ")) -> str:
    """Why a set is too small to be measured; empty if it is not."""
    counts = np.bincount(rows.labels, minlength=2)
    rarer = int(counts.argmin())
    if len(rows) < MIN_ROWS or counts[rarer] < MIN_PER_LABEL:
        return (
            f"{counted(len(rows), 'row')}, {counts[rarer]:,} of them {meaning[rarer]};"
            f" at least {MIN_ROWS} rows and {MIN_PER_LABEL} of either label are needed"
        )
    if (groups := len(set(_groups(rows, "text").tolist()))) < folds:
        return f"{counted(groups, 'distinct text')}; at least as many as folds ({folds}) are needed"
    return ""


class _Target(NamedTuple):
    """What a process works on."""

    rows: LabelledRows
    settings: AuditSettings
    known: KnownQuestions | None


def folds_of(
    rows: LabelledRows, by: By, settings: AuditSettings, known: KnownQuestions | None = None
) -> Folds:
    """The folds of every attacker on these rows."""
    return Folds(rows.labels, _groups(rows, by), settings.folds, settings.seed, known)


def _groups(rows: LabelledRows, by: By) -> np.ndarray:
    if by == "image":
        return np.array(rows.images, object)
    return text_groups(rows.texts, rows.texts if rows.source_ids is None else rows.source_ids)


def _attack(target: _Target, task: tuple[By, str]) -> Attack | MaxTest | None:
    (rows, settings, known), (by, name) = target, task
    if not name:
        return _test(target, by)
    folds = folds_of(rows, by, settings, known)
    with threadpool_limits(1):  # processes work side by side, and sums do not depend on their number
        scores = ATTACKERS[name](rows.texts, folds)
        return attack(
            scores, folds, settings.repetitions, learned=name not in UNLEARNED, signed=name not in UNSIGNED
        )


def _test(target: _Target, by: By) -> MaxTest | None:
    rows = target.rows
    clusters = {"text": _numbered(_groups(rows, "text"))}
    if rows.images is not None:
        clusters["image"] = _numbered(rows.images)
    units = None if rows.source_ids is None else _numbered(rows.source_ids)
    folds = folds_of(rows, by, target.settings)
    return max_test(RowsToTest(rows.texts, clusters, units), folds, by, PERMUTATIONS)


def _numbered(names: Sequence[str] | np.ndarray) -> np.ndarray:
    """Whole numbers [n], the same for the same name, in the order of the names."""
    number = {name: i for i, name in enumerate(sorted(set(names)))}
    return np.array([number[name] for name in names], int)


def finding_in(
    rows: LabelledRows,
    settings: AuditSettings = AuditSettings(),  # noqa: B008 it is immutable
) -> tuple[Finding, float | None]:
    """What `audit_texts` finds, and its p value, without the attackers, which decide nothing: some twenty times as fast."""
    rows = rows.in_canonical_order()
    reason = too_small(rows, settings.folds)
    target = _Target(rows, settings, None)
    by: list[By] = ["text", "image"] if rows.images is not None else ["text"]
    tests = [] if reason else [_test(target, key) for key in by]
    p_value = corrected(tests)
    margin = margin_of(zip(rows.texts, (rows.labels == 1).tolist(), strict=True))
    return finding_of(reason, margin, p_value), p_value


def corrected(tests: Iterable[MaxTest | None]) -> float | None:
    """The smallest p value of several tests, corrected for their number (Bonferroni); None if none applies."""
    tested = [test.p_value for test in tests if test is not None]
    return min(1.0, round(len(tested) * min(tested), 4)) if tested else None


def finding_of(too_small: str, margin: Margin, p_value: float | None) -> Finding:
    """What the figures of a set say; see `TextAudit`."""
    if too_small:
        return "too small"
    if not margin.unequal:
        return "balanced"
    return "predictable" if p_value is not None and p_value <= SIGNIFICANCE else "chance"


def strongest(attacks: Mapping[str, Attack]) -> str | None:
    """The attacker whose interval begins highest, or who reaches most if none begins above 0.5; None if none applies."""
    known = {
        name: (max(attack.low or 0.0, 0.5), attack.auroc)
        for name, attack in attacks.items()
        if attack.auroc is not None
    }
    return max(known, key=lambda name: known[name]) if known else None
