"""Let the intervals of a leaderboard include the errors of the labels (`rgqa leaderboard --label-noise`).

The labels of a release have errors, and the scores of models depend on which labels are wrong. What is known of the errors has one of two
forms:

- **The probability that each label is wrong**, from `rgqa doubt --out FILE`. In each bootstrap replicate, each label is turned over
  with its probability. All rows are scored with the same labels, so their differences stay paired. This is multiple imputation of the
  true labels (Rubin, 1987, Multiple Imputation for Nonresponse in Surveys), one imputation in each bootstrap replicate (Schomaker and
  Heumann, 2018, Statistics in Medicine 37, 2252-2266). The probabilities must know the answers of the models that are compared. Otherwise the
  imputed labels are independent of a model's confidences, and its scores come out too low (uncongenial imputation: Meng, 1994,
  Statistical Science 9, 538-558).
- **The proportion of unanswerable questions (UQs) that have an answer after all**, from the audit sample of the release (`study.json`).
  It does not say which ones. In each replicate, a proportion `r` is drawn and the scores are corrected for it. The curve of a model on the
  labelled UQs is a mixture, FPR = (1 - r) FPR* + r TPR, where FPR* is that of the true UQs, because the wrong ones are
  accepted as often as other answerable questions (AQs). This is solved for FPR* (Menon, van Rooyen, Ong and Williamson, 2015,
  Learning from corrupted binary labels via class-probability estimation, ICML, for AUROC). So errors are taken to be as hard as other AQs.

An AQ that turns out to be unanswerable counts as a UQ. A UQ that turns out to be answerable counts as an AQ. Its right answer is not
known, so the model's answer counts as right to the degree to which the model answers the other AQs of the subset.

The scores themselves are still those of the given labels. If many labels are wrong, the interval, which is for the true
labels, can lie beside the score.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipeline.core.errors import Problems, UserError, format_count, join_examples
from pipeline.core.json_files import read_json
from pipeline.core.progress import track
from pipeline.core.records import Record
from pipeline.scoring.bootstrap import number_clusters, sample_cluster_counts
from pipeline.scoring.input_validation import read_bytes
from pipeline.scoring.items import Benchmark
from pipeline.scoring.joined_predictions import JoinedPredictions, Predictions, ScoringOptions
from pipeline.scoring.leaderboard.pairwise_comparison import ScoreEstimate
from pipeline.scoring.leaderboard.release_study import read_release_study
from pipeline.scoring.leaderboard.row_scores import MEAN, RowScores, join_row_predictions
from pipeline.scoring.subgroups import REPORTED_SCORES
from pipeline.scoring.threshold_sweep import (
    RankedItems,
    ThresholdSweep,
    area_under_curve,
    lowest_fpr,
    rank_items,
)

# Value of --label-noise that means the audit sample of the release.
AUDIT = "audit"
# With a larger proportion of wrong UQs, corrected scores say nothing.
MAX_UQ_ERROR = 0.99
FF_PROPORTION = 0.95
# Quantiles of the proportion of wrong UQs that a release states: `low`, `value` and `high`.
KNOWN_QUANTILES = (0.025, 0.5, 0.975)


class LabelNoise(NamedTuple):
    """What is known of the errors of the labels.

    Attributes:
        description: Where it is known from, for the reader of the table.
        probabilities: Item id -> probability that its label is wrong; empty if only `uq_error` is known.
        uq_error: Lower end of the 95 % interval, median and upper end of the proportion of UQs that have an answer.
        models: Names of the models from which the probabilities were estimated.
    """

    description: str
    probabilities: Mapping[str, float] = {}
    uq_error: tuple[float, float, float] = (0.0, 0.0, 0.0)
    models: tuple[str, ...] = ()


class _DoubtedItem(Record, forbid_unknown_fields=False):
    item_id: str
    probability: float


class _Doubt(Record, forbid_unknown_fields=False):
    """The part of the JSON file of `rgqa doubt --out` that is used."""

    name: str
    models: tuple[str, ...]
    items: tuple[_DoubtedItem, ...]


def read_label_noise(source: str, release: Path, benchmark: Benchmark) -> LabelNoise:
    """Read what is known of the errors of a release's labels.

    Args:
        source: "audit", or a .csv or .json file that `rgqa doubt --out` wrote.
        release: Folder of the release.
        benchmark: The scored items.

    Raises:
        UserError: The release has no audit sample, or the file cannot be read, lacks an item, or is for another release.
    """
    if source == AUDIT:
        return _read_audit(release)
    path = Path(source)
    if path.suffix.lower() not in (".csv", ".json"):
        raise UserError(
            f"--label-noise is {source}; expected {AUDIT}, or a .csv or .json file of rgqa doubt --out"
        )
    if not path.is_file():
        raise UserError(
            f"--label-noise {source}: no such file. Write it with rgqa doubt {release} PREDICTIONS ... --out {source}"
        )
    return _read_doubt(path, benchmark)


def _read_audit(release: Path) -> LabelNoise:
    error = read_release_study(release).label_error
    if error.value is None or error.low is None or error.high is None:
        reason = error.unknown_because or "the release states none"
        raise UserError(
            f"--label-noise {AUDIT}: the label error of {release} is not known: {reason}. Estimate it with rgqa doubt {release}"
            " PREDICTIONS ... --out FILE, then use --label-noise FILE"
        )
    bounds = f"{100 * error.low:.1f} to {100 * error.high:.1f} %"
    description = (
        f"{100 * error.value:.1f} % (95 % interval {bounds}) of the UQs have an answer after all, by the release's audit sample of"
        f" {format_count(error.num_audited, 'candidate')}"
    )
    return LabelNoise(description, uq_error=(error.low, error.value, error.high))


def _read_doubt(path: Path, benchmark: Benchmark) -> LabelNoise:
    if path.suffix.lower() == ".json":
        doubt = read_json(path, _Doubt)
        if doubt.name != benchmark.full_name:
            raise UserError(
                f"--label-noise {path}: made for {doubt.name}, but the models are compared on {benchmark.full_name}"
            )
        models, rows = doubt.models, [(row.item_id, row.probability) for row in doubt.items]
    else:
        models, rows = (), _read_csv(path)
    problems, found = Problems(f"--label-noise {path}"), dict[str, float]()
    for key, probability in rows:
        if key in found:
            problems.add(key, "the item occurs more than once")
        if not 0 <= probability <= 1:
            problems.add(key, f"the probability is {probability}; expected 0 to 1")
        found[key] = probability
    problems.raise_if_any()
    scored = {key for items in benchmark.subsets.values() for key in items.ids}
    if missing := sorted(scored - found.keys()):
        raise UserError(
            f"--label-noise {path}: {len(missing):,} of {format_count(len(scored), 'scored item')} are not in it:"
            f" {join_examples(missing)}. Run rgqa doubt on the same split and subsets"
        )
    probabilities = {key: found[key] for key in sorted(scored)}
    expected = sum(probabilities.values())
    description = (
        f"about {expected:,.1f} of the {format_count(len(scored), 'item')} have a wrong label, by {path.name}"
    )
    return LabelNoise(description, probabilities, models=models)


def _read_csv(path: Path) -> list[tuple[str, float]]:
    rows = list(csv.DictReader(io.StringIO(read_bytes(path).decode("utf-8-sig", "replace"), newline="")))
    if not rows or not {"item_id", "probability"} <= rows[0].keys():
        raise UserError(
            f"--label-noise {path}: expected the columns item_id and probability, as rgqa doubt --out writes them"
        )
    try:
        return [(row["item_id"], float(row["probability"])) for row in rows]
    except (TypeError, ValueError) as error:
        raise UserError(f"--label-noise {path}: a probability is not a number: {error}") from error


class _ScoredSeed(NamedTuple):
    """One seed on one subset.

    Attributes:
        ranked: The items in the order of their confidence.
        cluster, item: [n] index of the image and of the id of each item, in the order of `ranked`.
        answerable: [n] given labels, in the order of `ranked`.
        correct: [n] degree to which the answer is right if the question is answerable, in the order of `ranked`.
    """

    ranked: RankedItems
    cluster: np.ndarray
    item: np.ndarray
    answerable: np.ndarray
    correct: np.ndarray

    def score(self, counts: np.ndarray, flips: np.ndarray | None, uq_error: float) -> dict[str, float]:
        """Return the scores on one replicate.

        Args:
            counts: [clusters] how often each image was sampled.
            flips: [ids] whether each label is turned over; None if none is.
            uq_error: Proportion of the UQs that have an answer.
        """
        aqs = self.answerable if flips is None else self.answerable ^ flips[self.item]
        relabelled = self.ranked._replace(aqs=aqs.view(np.int8), correct=aqs * self.correct)
        return score_sweep(relabelled.sweep(counts[self.cluster]), uq_error)


def score_sweep(swept: ThresholdSweep, uq_error: float = 0.0) -> dict[str, float]:
    """Return the scores of a sweep, corrected for UQs that have an answer.

    With FPR = (1 - r) FPR* + r TPR, an area under a curve over FPR is (1 - r) times that over FPR*, plus r times that over TPR.

    Args:
        swept: The sums over accepted items.
        uq_error: r, the proportion of UQs that have an answer, in [0, 1]. It counts as `MAX_UQ_ERROR` at most.

    Returns:
        The scores in `REPORTED_SCORES`.

    >>> swept = ThresholdSweep(np.array([0, 1, 1, 2]), np.array([0, 1, 1, 2]), np.array([0, 0, 1, 1]))
    >>> score_sweep(swept)
    {'auaf': 0.5, 'ff95': 1.0, 'facc': 1.0, 'auroc': 0.5}
    """
    by_tpr = swept._replace(uqs=swept.aqs)

    def correct(over_fpr: float, over_tpr: float) -> float:
        # By chance, a corrected score of a small sample can lie outside of the possible range.
        return float(np.clip((over_fpr - uq_error * over_tpr) / (1 - uq_error), 0, 1))

    # If all UQs may have an answer, nothing is known.
    uq_error = min(uq_error, MAX_UQ_ERROR)
    total = float(swept.aqs[-1])
    return {
        "auaf": correct(area_under_curve(swept), area_under_curve(by_tpr)),
        "ff95": correct(
            lowest_fpr(swept.correct, swept.uqs, FF_PROPORTION),
            lowest_fpr(swept.correct, swept.aqs, FF_PROPORTION),
        ),
        "facc": float(swept.correct[-1]) / total if total else math.nan,
        "auroc": correct(
            area_under_curve(swept, count_all_accepted=True),
            area_under_curve(by_tpr, count_all_accepted=True),
        ),
    }


def add_label_noise(
    scored: Sequence[RowScores], benchmark: Benchmark, options: ScoringOptions, noise: LabelNoise
) -> list[RowScores]:
    """Return rows whose bootstrap replicates include the errors of the labels.

    Images are resampled as in `score_rows`. The scores by kind of UQ stay as they are.

    Args:
        scored: The rows, scored on the given labels.
        benchmark: The scored items.
        options: As in `score_rows`.
        noise: What is known of the errors.
    """
    count, numbers = number_clusters([items.clusters.tolist() for items in benchmark.subsets.values()])
    images = dict(zip(benchmark.subsets, numbers, strict=True))
    ids = sorted({key for items in benchmark.subsets.values() for key in items.ids})
    place = {key: number for number, key in enumerate(ids)}
    wrong = np.array([noise.probabilities.get(key, 0.0) for key in ids])
    seeds = [
        {name: _prepare(benchmark, name, seed[name], images[name], place, options) for name in one.num_items}
        for one in scored
        for seed in one.row.seeds
    ]
    drawn: list[dict[tuple[str, str], np.ndarray]] = [
        {(name, score): np.empty(options.bootstrap) for name in seed for score in REPORTED_SCORES}
        for seed in seeds
    ]
    for number in track(
        range(options.bootstrap), "leaderboard: label errors", options.bootstrap, "replicate"
    ):
        counts = sample_cluster_counts(count, range(number, number + 1), options.seed)[0]
        flips, uq_error = draw_errors(noise, wrong, number, options.seed)
        for seed, values in zip(seeds, drawn, strict=True):
            for name, prepared in seed.items():
                for score, value in prepared.score(counts, flips, uq_error).items():
                    values[name, score][number] = value
    remaining = iter(drawn)
    return [_replace_replicates(one, [next(remaining) for _ in one.row.seeds]) for one in scored]


def draw_errors(
    noise: LabelNoise, wrong: np.ndarray, number: int, seed: int
) -> tuple[np.ndarray | None, float]:
    """Draw the errors of the labels for one replicate.

    The proportion of wrong UQs is drawn by its quantile function, which is linear between the three quantiles that are known, and constant
    beyond them.

    Args:
        noise: What is known of the errors.
        wrong: [ids] probability that each label is wrong.
        number: Number of the replicate.
        seed: Seed of the bootstrap.

    Returns:
        [ids] whether each label is turned over, or None if the probabilities are not known, and the proportion of wrong UQs.
    """
    # The last number separates these draws from those of the images.
    rng = np.random.default_rng([seed, number, 1])
    if noise.probabilities:
        return rng.random(len(wrong)) < wrong, 0.0
    return None, float(np.interp(rng.random(), KNOWN_QUANTILES, noise.uq_error))


def _prepare(
    benchmark: Benchmark,
    subset: str,
    predictions: Predictions,
    cluster: np.ndarray,
    place: Mapping[str, int],
    options: ScoringOptions,
) -> _ScoredSeed:
    joined: JoinedPredictions = join_row_predictions(benchmark.subsets[subset], predictions, options)
    confidence, correct, answerable = joined.metric_inputs
    ranked = rank_items(confidence, correct, answerable)
    mean = float(np.mean(correct[answerable])) if answerable.any() else 0.0
    item = np.array([place[key] for key in joined.items["id"]])
    worth = np.where(answerable, correct, mean).astype(float)
    rows = ranked.rows
    return _ScoredSeed(ranked, cluster[rows], item[rows], answerable.astype(bool)[rows], worth[rows])


def _replace_replicates(one: RowScores, seeds: Sequence[Mapping[tuple[str, str], np.ndarray]]) -> RowScores:
    mean = {key: np.mean([seed[key] for seed in seeds], axis=0) for key in seeds[0]}
    scores: dict[str, dict[str, ScoreEstimate]] = {}
    for scope, estimates in one.scores.items():
        subsets = [*one.num_items] if scope == MEAN else [scope]
        scores[scope] = {
            score: ScoreEstimate(
                estimate.seed_values, np.mean([mean[name, score] for name in subsets], axis=0)
            )
            for score, estimate in estimates.items()
        }
    return one._replace(scores=scores)
