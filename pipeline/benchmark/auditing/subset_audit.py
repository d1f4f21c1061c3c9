"""Audit the subsets of a run: attackers, label imbalance, CLIP scores, categories and statistical power."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import numpy as np
from threadpoolctl import threadpool_limits

from pipeline.benchmark.auditing.attack_evaluation import (
    UNTRAINED_ATTACKERS,
    AttackResult,
    Folds,
    evaluate_attack,
    score_by_vectors,
)
from pipeline.benchmark.auditing.estimate_reliability import Reliability
from pipeline.benchmark.auditing.known_questions import KnownQuestions
from pipeline.benchmark.auditing.label_imbalance import LabelImbalance, measure_imbalance
from pipeline.benchmark.auditing.labelled_rows import LabelledRows
from pipeline.benchmark.auditing.permutation_test import MaxTResult
from pipeline.benchmark.auditing.screening_accuracy import ScreeningAccuracy
from pipeline.benchmark.auditing.text_attackers import TEXT_ATTACKERS, UNDIRECTED_ATTACKERS
from pipeline.benchmark.auditing.text_audit import AuditSettings, run_text_attacks
from pipeline.benchmark.auditing.verifier_agreement import VerifierAgreement
from pipeline.core.json_files import read_json, read_jsonl
from pipeline.core.parallel import num_local_workers, ordered_map
from pipeline.core.params import BootstrapReplicates, FoldCount, Params, Seed
from pipeline.core.paths import DatasetFolders
from pipeline.core.progress import track
from pipeline.core.randomness import make_generator
from pipeline.core.records import SUBSETS, Item, Record, Subset
from pipeline.scoring.bootstrap import bootstrap, number_clusters
from pipeline.scoring.threshold_sweep import area_under_curve, rank_items

NUM_HISTOGRAM_BINS = 50
# Maximum number of items that are audited at the same time. Attackers need about 6 KB of memory per item.
MAX_ITEMS_IN_PARALLEL = 150_000
# A two-sided 5 % test with 80 % power detects a difference of 1.96 + 0.84 standard errors.
DETECTABLE_STANDARD_ERRORS = 2.80


DEFAULT_MAX_TEXT_AUROC: Mapping[Subset, float] = MappingProxyType(
    {"clip-easy": 0.55, "clip-hard": 0.55, "pt-easy": 0.58, "pt-hard": 0.58}
)


class AuditParams(Params):
    """Parameters of stage `audit`.

    Attributes:
        max_text_auroc: Maximum text-only AUROC of each subset (max(AUROC, 1 - AUROC), 0.5 to 1). The
            stage warns if it is exceeded. This project chose these limits. The released CLIP-Easy of RGQA reaches 0.90.
        num_negative_trials: Number of other images, sampled at random, on which the verifier is tested with
            each source question.
        folds: Number of cross-validation folds of every classifier.
        num_replicates: Number of bootstrap replicates for every confidence interval.
        seed: Seed of the trials of the verifier. Classifiers have a fixed seed, so that an audit on another
            machine gives the same numbers.
    """

    max_text_auroc: dict[Subset, Annotated[float, msgspec.Meta(ge=0.5, le=1)]] = msgspec.field(
        default_factory=lambda: dict(DEFAULT_MAX_TEXT_AUROC)
    )
    num_negative_trials: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 2
    folds: FoldCount = 5
    num_replicates: BootstrapReplicates = 500
    seed: Seed = 0


class ScoreHistograms(Record):
    """Histograms of the CLIP scores of answerable questions (AQs) and unanswerable questions (UQs).

    Both histograms have the same `NUM_HISTOGRAM_BINS` bins of equal width.

    The bins cover the range from the lowest to the highest of all scores. A bin includes its lower edge; the
    last bin also includes its upper edge.

    Attributes:
        edges: [bins + 1] edges of the bins.
        aq, uq: [bins] proportion of the AQs (UQs) with a score in each bin. Each sums to 1 (RGQA, Fig. 3:
            "normalized histograms (sum of overall area=1)").
        aq_mean, uq_mean: Mean scores.
        overlap: Sum over all bins of min(aq[i], uq[i]): 0 if no bin contains both kinds, 1 if the histograms
            are equal. The overlap also depends on the number of bins: it is smaller with narrower bins.
        mean_difference: mean(AQ) - mean(UQ) of the scores, in units of the cosine.
    """

    edges: tuple[float, ...]
    aq: tuple[float, ...]
    uq: tuple[float, ...]
    aq_mean: float
    uq_mean: float
    overlap: float
    mean_difference: float


class SubsetAudit(Record):
    """The audit of one subset.

    Attributes:
        uqs, aqs: Number of unanswerable and answerable questions.
        text_imbalance, image_imbalance: The imbalance of the labels within a text and within an image.
        attacks: Attacker -> result. The text-only attackers have folds grouped by text (`text_audit`). The attackers
            "image" and "CLIP score" have folds grouped by image.
        permutation_test: The permutation test of the maximum over text-only attackers, or None if the subset
            is too small.
        too_small_reason: Why no attacker was run, or "" if the subset is large enough.
        clip_overlap, clip_mean_difference: As in `ScoreHistograms`, or None if AQs or UQs have no scores.
        min_detectable_auaf_difference: See `estimate_min_detectable_auaf_difference`.
        categories, difficulties: Number of UQs by category and by difficulty.
        edit_kinds: Number of edits by kind.
        query_only: Number of UQs whose edits change only what the question asks for.
        simulated, rehearsal: Whether any verdict behind the items is simulated, or comes from a rehearsal.
    """

    uqs: int
    aqs: int
    text_imbalance: LabelImbalance
    image_imbalance: LabelImbalance
    attacks: dict[str, AttackResult]
    permutation_test: MaxTResult | None
    too_small_reason: str
    clip_overlap: float | None
    clip_mean_difference: float | None
    min_detectable_auaf_difference: float
    categories: dict[str, int]
    difficulties: dict[str, int]
    edit_kinds: dict[str, int]
    query_only: int
    simulated: bool
    rehearsal: bool = False


class AuditReport(Record):
    """The content of `audit.json`.

    Attributes:
        subsets: The audit of each subset.
        stage_reports: Stage -> report of the stage.
        screening_accuracy: Subset -> accuracy of stage `screen`, or {} if the complete ground truth is not known.
        estimate_reliability: Subset (or "all") -> calibration of stage `estimate`, or {} if the complete
            truth is not known.
        verifier_agreement: Agreement of the verifier with the source.
        warnings: One sentence per warning.
        attack_table: The results of the attackers as a Markdown table, for the release card.
        source_questions_sha256: SHA-256 of ingest/questions.jsonl, which the attackers "other questions" and
            "verbatim count" read. An audit on another machine needs the same file to reproduce the results of
            these two attackers.
    """

    subsets: dict[Subset, SubsetAudit]
    stage_reports: dict[str, Any]
    screening_accuracy: dict[Subset, ScreeningAccuracy]
    estimate_reliability: dict[Subset | Literal["all"], Reliability]
    verifier_agreement: VerifierAgreement
    warnings: list[str]
    attack_table: str
    source_questions_sha256: str = ""


def audit_items(
    items: Path,
    images: Mapping[str, np.ndarray],
    p: AuditParams,
    known_questions: KnownQuestions | None = None,
) -> dict[Subset, SubsetAudit]:
    """Audit each subset of a file of items. Several subsets are audited in parallel if memory allows.

    Args:
        items: A JSON Lines file of `Item`.
        images: Image id -> CLIP vector [d] of the image.
        p: Parameters of the audit.
        known_questions: The questions of the source, for the attackers that use them, or None if they are not
            available.

    Returns:
        The audit of each subset that has items.
    """
    counts = Counter(row.subset for row in read_jsonl(items, _ItemSubset))
    present: list[Subset] = [subset for subset in SUBSETS if subset in counts]
    num_workers = max(
        1, min(num_local_workers(), len(present), MAX_ITEMS_IN_PARALLEL // max(counts.values(), default=1))
    )
    results = ordered_map(
        _audit_one_subset,
        present,
        partial(_AuditInputs, items, images, p, known_questions),
        num_workers,
        1,
    )
    return dict(zip(present, track(results, "audit", len(present), "subset"), strict=True))


def read_image_vectors(folders: DatasetFolders) -> dict[str, np.ndarray]:
    """Return image id -> CLIP vector [d], as written by stage `embed`."""
    ids = read_json(folders.stage_dir("embed") / "image_ids.json", list[str])
    return dict(zip(ids, np.load(folders.stage_dir("embed") / "images.npy"), strict=True))


class _ItemSubset(msgspec.Struct):
    subset: Subset


class _AuditInputs(NamedTuple):
    items: Path
    images: Mapping[str, np.ndarray]
    params: AuditParams
    known_questions: KnownQuestions | None


def _audit_one_subset(inputs: _AuditInputs, subset: Subset) -> SubsetAudit:
    # Each process reads only its subset and drops the fields that the audit does not use, to save memory.
    rows = (row for row in read_jsonl(inputs.items, Item) if row.subset == subset)
    items = [msgspec.structs.replace(row, verdict_ids=(), pairing_reason="") for row in rows]
    # Several processes share the cores, and sums must not depend on the number of threads.
    with threadpool_limits(1):
        return audit_subset(items, inputs.images, inputs.params, inputs.known_questions)


def audit_subset(
    items: Sequence[Item],
    images: Mapping[str, np.ndarray],
    p: AuditParams,
    known_questions: KnownQuestions | None = None,
) -> SubsetAudit:
    """Audit the items of one subset. See `audit_items` for the arguments."""
    rng = make_generator(p.seed, "audit", items[0].subset)
    uqs, aqs = ([item for item in items if item.unanswerable == kind] for kind in (True, False))
    texts = run_text_attacks(
        to_labelled_rows(items).in_canonical_order(),
        ["text"],
        AuditSettings(p.folds, p.num_replicates),
        known_questions,
    )
    clip = compute_histograms(
        *([item.score for item in kind if item.score is not None] for kind in (aqs, uqs))
    )
    return SubsetAudit(
        uqs=len(uqs),
        aqs=len(aqs),
        text_imbalance=measure_imbalance(items, lambda item: item.text),
        image_imbalance=measure_imbalance(items, lambda item: item.image_id),
        attacks={
            **texts.attacks["text"],
            **_run_image_attacks(items, images, p, bool(texts.too_small_reason)),
        },
        permutation_test=texts.permutation_tests["text"],
        too_small_reason=texts.too_small_reason,
        clip_overlap=clip and clip.overlap,
        clip_mean_difference=clip and clip.mean_difference,
        min_detectable_auaf_difference=estimate_min_detectable_auaf_difference(
            np.array([not item.unanswerable for item in items]),
            np.array([item.image_id for item in items]),
            p.num_replicates,
            p.seed,
            rng,
        ),
        categories=dict(sorted(Counter(item.category or "not known" for item in uqs).items())),
        difficulties=dict(sorted(Counter(item.difficulty or "not known" for item in uqs).items())),
        edit_kinds=dict(sorted(Counter(edit.kind for item in uqs for edit in item.edits).items())),
        query_only=sum(item.query_only for item in uqs),
        simulated=any(item.simulated for item in items),
        rehearsal=any(item.rehearsal for item in items),
    )


def to_labelled_rows(items: Sequence[Item]) -> LabelledRows:
    """Convert items to the input of the text-only audit. UQs have label 1."""
    return LabelledRows(
        texts=[item.text for item in items],
        labels=np.array([item.unanswerable for item in items], int),
        images=[item.image_id for item in items],
        source_ids=[item.question_id for item in items],
    )


def _run_image_attacks(
    items: Sequence[Item], images: Mapping[str, np.ndarray], p: AuditParams, too_small: bool
) -> dict[str, AttackResult]:
    """Run the attackers that see only the image or only the CLIP score.

    The results have no AUROC if the subset is too small.
    """
    ordered = sorted(items, key=lambda item: (item.image_id, item.item_id))
    labels = np.array([item.unanswerable for item in ordered], int)
    folds = Folds(
        labels, np.array([item.image_id for item in ordered], object), p.folds, AuditSettings().seed
    )
    no_scores: np.ndarray = np.full(len(ordered), np.nan)
    scores: dict[str, np.ndarray] = {"image": no_scores, "CLIP score": no_scores}
    if not too_small:
        vectors = np.array([images[item.image_id] for item in ordered])
        # Without a CLIP model, vectors have no components.
        if vectors.shape[1]:
            scores["image"] = score_by_vectors(vectors, folds)
        scores["CLIP score"] = np.array(
            [np.nan if item.score is None else item.score for item in ordered], float
        )
    return {
        name: evaluate_attack(
            attacker_scores,
            folds,
            p.num_replicates,
            is_trained=name not in UNTRAINED_ATTACKERS,
            has_direction=name not in UNDIRECTED_ATTACKERS,
        )
        for name, attacker_scores in scores.items()
    }


def make_warnings(subsets: Mapping[Subset, SubsetAudit], limits: Mapping[Subset, float]) -> list[str]:
    """Return a sentence for each subset that is too small to audit, and for each attacker above its limit."""
    return [
        f"{subset}: too small to measure how well the text predicts the label: {audit.too_small_reason}."
        for subset, audit in subsets.items()
        if audit.too_small_reason
    ] + [
        f"{subset}: a text-only model ({attacker}) predicts the label with AUROC {reached:.2f};"
        f" the limit is {limits[subset]:.2f}."
        for subset, audit in subsets.items()
        for attacker in TEXT_ATTACKERS
        if (reached := audit.attacks[attacker].auroc) is not None and reached > limits.get(subset, 1.0)
    ]


def compute_histograms(aq_scores: Sequence[float], uq_scores: Sequence[float]) -> ScoreHistograms | None:
    """Return the score histograms of one subset, or None if AQs or UQs have no scores.

    >>> equal = compute_histograms([0.1, 0.3], [0.1, 0.3])
    >>> equal.overlap, equal.mean_difference
    (1.0, 0.0)
    """
    if not aq_scores or not uq_scores:
        return None
    edges = np.histogram_bin_edges([*aq_scores, *uq_scores], NUM_HISTOGRAM_BINS)
    aq, uq = (np.histogram(scores, edges)[0] / len(scores) for scores in (aq_scores, uq_scores))
    aq_mean, uq_mean = float(np.mean(aq_scores)), float(np.mean(uq_scores))
    return ScoreHistograms(
        edges=tuple(edges.tolist()),
        aq=tuple(aq.tolist()),
        uq=tuple(uq.tolist()),
        aq_mean=aq_mean,
        uq_mean=uq_mean,
        overlap=round(float(np.minimum(aq, uq).sum()), 4),
        mean_difference=round(aq_mean - uq_mean, 6),
    )


def estimate_min_detectable_auaf_difference(
    answerable: np.ndarray, images: np.ndarray, num_replicates: int, seed: int, rng: np.random.Generator
) -> float:
    """Estimate the smallest difference in AUAF between two models that can be detected on a subset.

    AUAF is the area under the curve of accuracy against the rate of accepted unanswerable questions (RGQA). A
    difference counts as detected with 80 % power at the 5 % level. Two simulated models of equal skill answer
    the items: 60 % of the answers are right, the mean confidences of AQs and UQs are one standard deviation
    apart, and the errors of the two models are independent. The estimate is conservative, because real models
    err on the same items, which makes paired differences more precise. The bootstrap resamples images,
    because items of one image are not independent.

    Args:
        answerable: [n] whether each item is answerable.
        images: [n] image id of each item.
        num_replicates: Number of bootstrap replicates.
        seed: Seed of the bootstrap.
        rng: The random generator for the answers and confidences of the two models.

    Returns:
        The difference, from 0 to 1 as AUAF.
    """
    count, (cluster,) = number_clusters([images.tolist()])
    models = [
        rank_items(rng.normal(answerable.astype(float), 1.0), rng.random(len(answerable)) < 0.6, answerable)
        for _ in range(2)
    ]

    def difference(counts: np.ndarray) -> np.ndarray:
        one, other = (
            [area_under_curve(model.sweep(row[cluster[model.rows]])) for row in counts] for model in models
        )
        return np.subtract(one, other)

    differences = bootstrap(difference, count, num_replicates, seed, num_rows=len(cluster))
    return round(float(DETECTABLE_STANDARD_ERRORS * np.nanstd(differences)), 4)
