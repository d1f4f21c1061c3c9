"""All figures of a subset, and the audit's report that holds them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
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

NUM_HISTOGRAM_BINS = 50  # of a histogram
MAX_ITEMS_IN_PARALLEL = 150_000  # items that are audited side by side: attackers take some 6 KB for each
DETECTABLE_STANDARD_ERRORS = 2.80  # two-sided 5 % test with 80 % power: 1.96 + 0.84 standard errors


class AuditParams(Params):
    """Parameters of the audit.

    Attributes:
        limits: Per subset, the highest text-only AUROC (or 1 - AUROC) without a warning. These are the project's own: 0.55 for
            CLIP subsets, 0.58 for PT subsets; RGQA's released CLIP-Easy has 0.90.
        foreign: Other images, chosen at random, at which the judge tries each question of the source.
        folds: Folds of every attacker.
        repetitions: Bootstrap replicates of every interval.
        seed: Seed of the judge's trials and of the models behind `smallest_auaf_difference`. Attackers have a seed that never
            changes (`AuditSettings`), so that a release audited elsewhere has the same figures.
    """

    max_text_auroc: dict[Subset, Annotated[float, msgspec.Meta(ge=0.5, le=1)]]
    num_negative_trials: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 2
    folds: FoldCount = 5
    num_replicates: BootstrapReplicates = 500
    seed: Seed = 0


class ScoreHistograms(Record):
    """Two histograms over the same BINS bins of equal width, from the least to the greatest score of either kind.

    `aq[i]` is the share of the AQs with a score in bin i, so that each list sums to 1 (RGQA, Fig. 3: "normalized
    histograms (sum of overall area=1)"); `uq` likewise. A bin holds its lower edge and not its upper one, but for the
    last, which holds both. `area` is the overlap area, the sum over all bins of min(aq[i], uq[i]): 0 when no bin holds
    both kinds, 1 when the histograms are equal. `distance` is mean(AQ) - mean(UQ) of the scores themselves, in units of
    the cosine. Both depend on the data alone, but `area` also on the number of bins: finer bins overlap less.
    """

    edges: tuple[float, ...]
    aq: tuple[float, ...]
    uq: tuple[float, ...]
    aq_mean: float
    uq_mean: float
    overlap: float
    mean_difference: float


class SubsetAudit(Record):
    """All figures of one subset.

    Attributes:
        attacks: What each attacker reaches: those of the text-only audit in folds by text (`text_audit`), then "image" and "CLIP
            score" in folds by image.
        text_test: The permutation test of the maximum over attackers that see only the text; null if the subset is too small.
        too_small: Why no attacker was tried; empty if the subset is large enough.
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
    """audit.json.

    Attributes:
        yields: The report of each stage.
        source_questions_sha256: SHA-256 of ingest/questions.jsonl, which "other questions" and "verbatim" have read. Whoever audits
            the release elsewhere needs the same file for the same figures of these two.
        table: The attackers, in Markdown, for the card.
    """

    subsets: dict[Subset, SubsetAudit]
    stage_reports: dict[str, Any] = msgspec.field(name="yield")
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
    """Audit each subset of a file of items: as many subsets at a time as there are cores, and no more than come to AT_ONCE items.

    Args:
        items: JSON Lines of `Item`.
        images: Vectors [d] by image id.
        known: The source's questions, if attackers know them.

    Returns:
        The figures of each subset that has items.
    """
    counts = Counter(row.subset for row in read_jsonl(items, _ItemSubset))
    present: list[Subset] = [subset for subset in SUBSETS if subset in counts]
    side_by_side = max(
        1, min(num_local_workers(), len(present), MAX_ITEMS_IN_PARALLEL // max(counts.values(), default=1))
    )
    results = ordered_map(
        _audit_one_subset,
        present,
        partial(_AuditInputs, items, images, p, known_questions),
        side_by_side,
        1,
    )
    return dict(zip(present, track(results, "audit", len(present), "subset"), strict=True))


def read_image_vectors(folders: DatasetFolders) -> dict[str, np.ndarray]:
    """The CLIP vector [d] of each image by its id, as stage `embed` wrote them."""
    ids = read_json(folders.stage_dir("embed") / "image_ids.json", list[str])
    return dict(zip(ids, np.load(folders.stage_dir("embed") / "images.npy"), strict=True))


class _ItemSubset(msgspec.Struct):
    """An item, of which nothing else matters."""

    subset: Subset


class _AuditInputs(NamedTuple):
    """What every subset is audited with."""

    items: Path
    images: Mapping[str, np.ndarray]
    params: AuditParams
    known_questions: KnownQuestions | None


def _audit_one_subset(own: _AuditInputs, subset: Subset) -> SubsetAudit:
    # Read here, so that no process holds more than one subset; what no figure tells of is left out.
    rows = (row for row in read_jsonl(own.items, Item) if row.subset == subset)
    items = [msgspec.structs.replace(row, verdict_ids=(), pairing_reason="") for row in rows]
    with threadpool_limits(1):  # processes work side by side, and sums do not depend on their number
        return audit_subset(items, own.images, own.params, own.known_questions)


def audit_subset(
    items: Sequence[Item],
    images: Mapping[str, np.ndarray],
    p: AuditParams,
    known_questions: KnownQuestions | None = None,
) -> SubsetAudit:
    """Audit the items of one subset."""
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
    """The items as the text-only audit takes them; UQs have the label 1."""
    return LabelledRows(
        texts=[item.text for item in items],
        labels=np.array([item.unanswerable for item in items], int),
        images=[item.image_id for item in items],
        source_ids=[item.question_id for item in items],
    )


def _run_image_attacks(
    items: Sequence[Item], images: Mapping[str, np.ndarray], p: AuditParams, too_small: bool
) -> dict[str, AttackResult]:
    """What attackers reach that see only the image, or only the CLIP score; nothing on a subset that is too small."""
    ordered = sorted(items, key=lambda item: (item.image_id, item.item_id))
    labels = np.array([item.unanswerable for item in ordered], int)
    folds = Folds(
        labels, np.array([item.image_id for item in ordered], object), p.folds, AuditSettings().seed
    )
    nothing: np.ndarray = np.full(len(ordered), np.nan)
    scores: dict[str, np.ndarray] = {"image": nothing, "CLIP score": nothing}
    if not too_small:
        scores["image"] = score_by_vectors(np.array([images[item.image_id] for item in ordered]), folds)
        scores["CLIP score"] = np.array(
            [np.nan if item.score is None else item.score for item in ordered], float
        )
    return {
        name: evaluate_attack(
            of,
            folds,
            p.num_replicates,
            is_trained=name not in UNTRAINED_ATTACKERS,
            has_direction=name not in UNDIRECTED_ATTACKERS,
        )
        for name, of in scores.items()
    }


def make_warnings(subsets: Mapping[Subset, SubsetAudit], limits: Mapping[Subset, float]) -> list[str]:
    """One line for each subset that is too small to be audited, and for each limit that an attacker exceeds."""
    return [
        f"{subset}: too small to measure what the text gives away: {audit.too_small_reason}."
        for subset, audit in subsets.items()
        if audit.too_small_reason
    ] + [
        f"{subset}: a text-only model ({attacker}) predicts the label with AUROC {reached:.2f}; the limit is {limits[subset]:.2f}."
        for subset, audit in subsets.items()
        for attacker in TEXT_ATTACKERS
        if (reached := audit.attacks[attacker].auroc) is not None and reached > limits.get(subset, 1.0)
    ]


def compute_histograms(aq_scores: Sequence[float], uq_scores: Sequence[float]) -> ScoreHistograms | None:
    """Histograms of one subset's scores; None if either kind has none.

    >>> equal = histograms([0.1, 0.3], [0.1, 0.3])
    >>> equal.area, equal.distance
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
    answerable: np.ndarray, images: np.ndarray, repetitions: int, seed: int, rng: np.random.Generator
) -> float:
    """The AUAF difference of two models that this subset shows with 80 % power in a two-sided 5 % test.

    Both models are stand-ins of equal, middling skill (60 % of answers right, confidences one standard deviation
    apart between AQ and UQ, errors independent of each other), so the figure is on the cautious side: real models
    err on the same items, which makes paired differences sharper. Images are resampled, as the items of one
    image are not independent.

    Args:
        answerable: [n] booleans.
        images: [n] ids.
        repetitions: Bootstrap replicates.
        seed: Of the bootstrap.
        rng: Draws what the two models say.
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

    differences = bootstrap(difference, count, repetitions, seed, num_rows=len(cluster))
    return round(float(DETECTABLE_STANDARD_ERRORS * np.nanstd(differences)), 4)
