"""The scores of a subset as statistics of cluster counts, for the bootstrap.

Items are sorted by confidence once. A replicate only changes how often each item counts, so every score is
computed from running sums over the sorted items. All statistics take counts [replicates, clusters] and return
a column [replicates] for each score. The values equal the results of the functions in `realistic_vqa`,
`selective_prediction` and `calibration` on data in which each item is repeated as often as it was sampled.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from .answer_scores import compute_item_scores
from .bootstrap import bootstrap_batches, cluster_mean, gather, number_clusters
from .calibration import NUM_BINS, find_calibration_obstacle, get_calibration_outcomes
from .dual_accuracy import choose_dual_threshold, find_pairs, has_enough_pairs
from .joined_predictions import JoinedPredictions, ScoringOptions
from .realistic_vqa import REALISTIC_SCORES
from .reason_accuracy import compute_reason_columns, find_reason_obstacle
from .selective_prediction import choose_thresholds, compute_item_accuracy, compute_utility
from .threshold_sweep import BLOCK_SIZE, TOLERANCE, RankedItems, rank_items, safe_divide, safe_divide_arrays

# Minimum number of items for using two threads. With fewer items, two threads are not faster than one.
MIN_ITEMS_FOR_THREADS = 100_000
INT32_LIMIT = 2**31
# Score -> values of the replicates, [replicates].
ScoreColumns = dict[str, np.ndarray]
# A function that takes counts [replicates, clusters] and returns the scores of each replicate.
ScoreStatistic = Callable[[np.ndarray], ScoreColumns]
# Subset (or "mean") -> scores of the replicates.
Replicates = dict[str, ScoreColumns]


def bootstrap_subsets(
    subsets: Mapping[str, JoinedPredictions],
    make_statistic: Callable[[JoinedPredictions, np.ndarray, ScoringOptions], ScoreStatistic],
    options: ScoringOptions,
) -> Replicates:
    """Compute the scores of every replicate for every subset and, if there are several, for their mean.

    The same seed resamples the same images for every model, so differences are paired.

    Args:
        subsets: The joined predictions by subset.
        make_statistic: Creates the statistic of a subset from its joined predictions, the cluster index of
            each item, and the options.
        options: The number of replicates and the seed are used.
    """
    count, clusters = number_clusters([at.items.clusters.tolist() for at in subsets.values()])
    statistics = [
        make_statistic(answered, cluster, options)
        for answered, cluster in zip(subsets.values(), clusters, strict=True)
    ]
    largest = max(map(len, clusters))
    batches = bootstrap_batches(
        lambda counts: [statistic(counts) for statistic in statistics],
        count,
        options.bootstrap,
        options.seed,
        num_rows=largest,
        threads=2 if largest >= MIN_ITEMS_FOR_THREADS else 1,
    )
    found = {
        name: {
            score: np.concatenate([batch[place][score] for batch in batches]) for score in batches[0][place]
        }
        for place, name in enumerate(subsets)
    }
    if len(subsets) > 1:
        columns = list(found.values())
        shared = [score for score in columns[0] if all(score in column for column in columns)]
        found["mean"] = {score: np.mean([column[score] for column in columns], axis=0) for score in shared}
    return found


def make_score_statistic(
    answered: JoinedPredictions, cluster: np.ndarray, options: ScoringOptions, groups: Collection[str]
) -> ScoreStatistic:
    """Create the statistic of all scores that have an interval.

    The key of a score is its path within its group, such as "coverage_at_risk/0.01".

    Args:
        answered: The joined predictions of a subset.
        cluster: [n], the index of the image of each item.
        options: The risks, the costs and the threshold of dual accuracy are used.
        groups: Score groups to compute: any of "realistic", "pairs", "answers", "selective", "calibration" and
            "reasons".
    """
    statistics: list[ScoreStatistic] = []
    if "realistic" in groups:
        statistics.append(make_realistic_statistic(rank_items(*answered.metric_inputs), cluster))
    if "pairs" in groups and has_enough_pairs(answered):
        statistics.append(_make_pair_statistic(answered, cluster, options))
    if "answers" in groups:
        statistics.append(_make_mean_statistic(compute_item_scores(answered), cluster))
    if "selective" in groups and answered.has_confidence:
        statistics += _make_selective_statistics(answered, cluster, options)
    if "calibration" in groups and not find_calibration_obstacle(answered):
        statistics += _make_calibration_statistics(answered, cluster)
    if "reasons" in groups and not find_reason_obstacle(answered):
        statistics.append(_make_mean_statistic(compute_reason_columns(answered, options), cluster))
    return lambda counts: {
        name: values for statistic in statistics for name, values in statistic(counts).items()
    }


class _RankedClass(NamedTuple):
    """All AQs or all UQs, sorted by falling confidence.

    Attributes:
        cluster: Cluster index of each item.
        aqs_above, uqs_above: Number of AQs and UQs with a higher confidence than each item.
        aqs_through_tie, uqs_through_tie: Number of AQs and UQs with at least the confidence of each item.
    """

    cluster: np.ndarray
    aqs_above: np.ndarray
    uqs_above: np.ndarray
    aqs_through_tie: np.ndarray
    uqs_through_tie: np.ndarray


def make_realistic_statistic(
    ranked_items: RankedItems,
    cluster: np.ndarray,
    scores: Collection[str] | None = None,
    subgroups: Mapping[str, np.ndarray] | None = None,
) -> ScoreStatistic:
    """Create the statistic of the realistic scores.

    Args:
        ranked_items: The items in the order of their confidence.
        cluster: [n], the index of the image of each item, in the order of the data.
        scores: Names of `REALISTIC_SCORES` to compute; None for all.
        subgroups: Name -> mask [n] of booleans, in the order of the data. The score "auaf/NAME" is the AUAF
            of the UQs in the mask against all AQs.

    Returns:
        A statistic that returns each score, NaN where a replicate leaves it undefined.
    """
    wanted = [*REALISTIC_SCORES] if scores is None else [*scores]
    subgroups = subgroups or {}
    count, is_aq = len(ranked_items.rows), ranked_items.aqs.astype(bool)
    ends = np.arange(count + 1) if ranked_items.tie_ends is None else ranked_items.tie_ends
    sizes = np.diff(ends)
    above, to = np.repeat(ends[:-1], sizes), np.repeat(ends[1:], sizes)
    aqs_before = np.append(0, np.cumsum(is_aq))
    uqs_before = np.arange(count + 1) - aqs_before
    of_aq, of_uq = (
        _RankedClass(
            cluster[ranked_items.rows[which]],
            *(before[place[which]] for place in (above, to) for before in (aqs_before, uqs_before)),
        )
        for which in (np.flatnonzero(is_aq), np.flatnonzero(~is_aq))
    )
    right_worth, tied = ranked_items.correct[is_aq], ranked_items.tie_ends is not None
    members = np.array(
        [which[ranked_items.rows[~is_aq]] for which in subgroups.values()], float
    ).T  # [UQs, kinds]
    # Number of items of the largest cluster.
    largest = int(np.bincount(cluster).max(initial=0))
    inward, outward = "aupr_in" in wanted, "aupr_out" in wanted
    areas = "auaf" in wanted or "auroc" in wanted or bool(subgroups)

    def on_counts(counts: np.ndarray) -> ScoreColumns:
        # Upper bound of all sums: every sampled cluster is as large as the largest cluster.
        most = int(counts.sum(axis=1).max(initial=0)) * largest
        counts = counts.astype(np.int32 if most < INT32_LIMIT else np.int64, copy=False)
        weight_aqs, weight_uqs = gather(counts, of_aq.cluster), gather(counts, of_uq.cluster)
        aqs, right, uqs = map(_prefix_sums, (weight_aqs, right_worth * weight_aqs, weight_uqs))
        all_aqs, all_uqs = aqs[:, -1], uqs[:, -1]
        area, area_right, found_aqs, found_uqs = np.zeros((4, len(counts)))
        by_kind = np.zeros((len(counts), len(subgroups)))
        for here in _block_slices(len(of_aq.cluster)) if inward else ():
            # For each AQ, the number of AQs that are accepted at its confidence.
            hits = gather(aqs, of_aq.aqs_through_tie[here])
            precision = hits / np.maximum(hits + gather(uqs, of_aq.uqs_through_tie[here]), 1)
            found_aqs += (weight_aqs[:, here] * precision).sum(axis=1)
        for here in _block_slices(len(of_uq.cluster)):
            each, over = weight_uqs[:, here], of_uq.aqs_above[here]
            lost = gather(aqs, over)
            if outward:
                # For each UQ, the number of UQs that are rejected if this UQ is rejected.
                left = all_uqs[:, None] - gather(uqs, of_uq.uqs_above[here])
                found_uqs += (each * left / np.maximum(all_aqs[:, None] - lost + left, 1)).sum(axis=1)
            if areas:
                # For each UQ, the AQs of higher confidence, and half of the AQs of equal confidence.
                gained = gather(right, over)
                if tied:
                    down_to = of_uq.aqs_through_tie[here]
                    lost, gained = (lost + gather(aqs, down_to)) / 2, (gained + gather(right, down_to)) / 2
                area += (each * lost).sum(axis=1)
                pairs_right = each * gained
                area_right += pairs_right.sum(axis=1)
                if subgroups:
                    by_kind += pairs_right @ members[here]
        pairs = all_aqs * all_uqs
        fractions: dict[str, tuple[np.ndarray, np.ndarray]] = {
            "auaf": (area_right, pairs),
            "facc": (right[:, -1], all_aqs),
            "auroc": (area, pairs),
            "aupr_in": (found_aqs, all_aqs),
            "aupr_out": (found_uqs, all_uqs),
        }
        if "ff95" in wanted:
            fractions["ff95"] = _lowest_fpr(right, uqs, of_aq), all_uqs * (right[:, -1] > 0)
        if "fpr95" in wanted:
            fractions["fpr95"] = _lowest_fpr(aqs, uqs, of_aq), all_uqs * (all_aqs > 0)
        if "detection_error" in wanted:
            errors = all_aqs + _fewest_errors(aqs, uqs, of_aq)
            fractions["detection_error"] = errors, (all_aqs + all_uqs) * (pairs > 0)
        computed = np.array([*fractions.values()])
        found = dict(zip(fractions, safe_divide_arrays(computed[:, 0], computed[:, 1]), strict=True))
        for name in (name for name in wanted if name not in found):
            sweeps = (ranked_items.sweep(row[cluster[ranked_items.rows]]) for row in counts)
            found[name] = np.array([REALISTIC_SCORES[name].compute(swept) for swept in sweeps])
        of_kinds = (
            safe_divide_arrays(by_kind, all_aqs[:, None] * (weight_uqs @ members)) if subgroups else by_kind
        )
        return {name: found[name] for name in wanted} | {
            f"auaf/{kind}": column for kind, column in zip(subgroups, of_kinds.T, strict=True)
        }

    return on_counts


def _prefix_sums(weights: np.ndarray) -> np.ndarray:
    """Return the sums of the first 0, 1, ... columns as floats.

    Integer sums are exact and ten times faster.
    """
    sums = np.zeros((len(weights), weights.shape[1] + 1))
    sums[:, 1:] = np.cumsum(weights, axis=1, dtype=weights.dtype)
    return sums


def _lowest_fpr(gain: np.ndarray, uqs: np.ndarray, of_aq: _RankedClass) -> np.ndarray:
    """Return the number of accepted UQs where 95 % of the gain is reached, interpolated like
    `threshold_sweep.lowest_fpr`.
    """
    if gain.shape[1] == 1:
        return np.zeros(len(gain))
    target, row = 0.95 * gain[:, -1], np.arange(len(gain))
    one = np.maximum(_first_reaching(gain, target) - 1, 0)
    low, high = gain[row, of_aq.aqs_above[one]], gain[row, of_aq.aqs_through_tie[one]]
    start, end = uqs[row, of_aq.uqs_above[one]], uqs[row, of_aq.uqs_through_tie[one]]
    way = (target - low) / np.maximum(high - low, TOLERANCE)
    return start + np.minimum(np.maximum(way, 0), 1) * (end - start)


def _fewest_errors(aqs: np.ndarray, uqs: np.ndarray, of_aq: _RankedClass) -> np.ndarray:
    """Return the lowest difference of accepted UQs and accepted AQs over thresholds that accept at least 95 %
    of the AQs.
    """
    enough = np.maximum(_first_reaching(aqs, 0.95 * aqs[:, -1]) - 1, 0)
    first, fewest = int(enough.min()) if len(enough) else 0, np.full(len(aqs), np.inf)
    for here in _block_slices(aqs.shape[1] - 1 - first):
        place = slice(first + here.start, first + here.stop)
        errors = gather(uqs, of_aq.uqs_through_tie[place]) - gather(aqs, of_aq.aqs_through_tie[place])
        if len(aqs) > 1:
            late = np.arange(place.start, place.start + errors.shape[1]) >= enough[:, None]
            errors = np.where(late, errors, np.inf)
        fewest = np.minimum(fewest, errors.min(axis=1))
    return fewest


def _first_reaching(gain: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return for each row of `gain` the first index at which the value reaches the target of the row."""
    return np.array(
        [np.searchsorted(row, at * (1 - TOLERANCE)) for row, at in zip(gain, target, strict=True)], int
    )


def _block_slices(count: int) -> Iterator[slice]:
    return (slice(start, start + BLOCK_SIZE) for start in range(0, count, BLOCK_SIZE))


def _make_mean_statistic(columns: Mapping[str, np.ndarray], cluster: np.ndarray) -> ScoreStatistic:
    """Create the statistic of the mean of each column over items; columns are [n], and NaN items are not
    counted.
    """
    mean = cluster_mean(np.array([*columns.values()]).T.reshape(len(cluster), len(columns)), cluster)
    return lambda counts: dict(zip(columns, mean(counts).T, strict=True))


def _make_pair_statistic(
    answered: JoinedPredictions, cluster: np.ndarray, options: ScoringOptions
) -> ScoreStatistic:
    """Create the statistic of dual accuracy.

    All replicates use the threshold that was chosen on the validation items.
    """
    threshold = (
        choose_dual_threshold(*answered.validation.paired_metric_inputs)
        if answered.validation
        else options.threshold
    )
    uqs, lowest, right = find_pairs(*answered.paired_metric_inputs)
    high = answered.metric_inputs[0][uqs]
    columns = {
        "dual_accuracy": right * (lowest > high),
        "dual_accuracy_at_threshold": right * ((lowest >= threshold) & (high < threshold)),
    }
    return _make_mean_statistic(columns, cluster[uqs])


def _make_selective_statistics(
    answered: JoinedPredictions, cluster: np.ndarray, options: ScoringOptions
) -> list[ScoreStatistic]:
    """Create the statistics of C@R and Phi_c.

    The thresholds of C@R are chosen on each replicate, those of Phi_c on the validation items.
    """
    accuracy = compute_item_accuracy(answered)
    statistics: list[ScoreStatistic] = [
        make_risk_coverage_statistic(answered.confidence, accuracy, cluster, options.risks)
    ]
    if answered.validation:
        thresholds = choose_thresholds(
            answered.validation.confidence, compute_item_accuracy(answered.validation), options.costs
        )
        statistics.append(
            _make_mean_statistic(
                {
                    f"effective_reliability/{cost:g}/phi": np.where(
                        answered.confidence >= threshold, compute_utility(accuracy, cost), 0.0
                    )
                    for cost, threshold in thresholds.items()
                },
                cluster,
            )
        )
    return statistics


def make_risk_coverage_statistic(
    confidence: np.ndarray, accuracy: np.ndarray, cluster: np.ndarray, risks: Sequence[float]
) -> ScoreStatistic:
    """Create the statistic of the area under the risk-coverage curve ("auc") and C@R
    ("coverage_at_risk/0.01").

    Args:
        confidence, accuracy, cluster: [n] each: confidence, accuracy in [0, 1] and cluster index of each
            item.
        risks: Risk levels in [0, 1].
    """
    by = rank_items(confidence, accuracy, np.ones(len(accuracy), bool))
    ends = np.arange(len(by.rows) + 1) if by.tie_ends is None else by.tie_ends
    ordered = cluster[by.rows]

    def on_counts(counts: np.ndarray) -> ScoreColumns:
        weights = gather(counts, ordered)
        answered, right = (
            gather(_prefix_sums(weights), ends),
            gather(_prefix_sums(weights * by.correct), ends),
        )
        items, losses = answered[:, -1], answered - right
        found = {"auc": _risk_coverage_area(answered, losses)}
        for risk in risks:
            within = losses <= (risk + TOLERANCE) * answered
            found[f"coverage_at_risk/{risk}"] = safe_divide_arrays(
                np.where(within, answered, 0).max(axis=1), items
            )
        return found

    return on_counts


def _risk_coverage_area(answered: np.ndarray, losses: np.ndarray) -> np.ndarray:
    """Compute the area like `selective_prediction.risk_coverage_auc`: the sum over k of the risk when k items
    are answered.

    Within a tie (and so among copies of an item) the loss is spread evenly. Let `t` items with a total loss
    of `l` be answered before a tie of `s` items with a total loss of `d`. The tie then contributes the sum
    over j = 1 to s of (l + d j / s) / (t + j) = l D + d / s (s - t D), where D is the sum of 1 / (t + j).
    """
    items, row = answered[:, -1], np.arange(len(answered))
    if not answered.shape[1] - 1:
        return np.full(len(answered), np.nan)
    harmonic = np.append(0, np.cumsum(1 / np.arange(1, int(items.max(initial=0)) + 1)))
    more, lost, start = np.diff(answered), np.diff(losses), answered[:, :-1]
    inverse = np.diff(harmonic[answered.astype(int)])
    each = safe_divide_arrays(lost, more)
    sums = np.where(more > 0, losses[:, :-1] * inverse + each * (more - start * inverse), 0).sum(axis=1)
    first = each[row, (more > 0).argmax(axis=1)]
    whole = np.where(items >= 2, items, 0)
    return safe_divide_arrays(sums - (first + safe_divide_arrays(losses[:, -1], items)) / 2, whole)


def _make_calibration_statistics(answered: JoinedPredictions, cluster: np.ndarray) -> list[ScoreStatistic]:
    """Create the statistics of the calibration error (ECE) and the Brier score.

    The items are sorted by confidence. So the items of a bin are adjacent, and sums over a bin are
    differences of running sums.
    """
    at, happened = get_calibration_outcomes(answered)
    cluster = cluster[~answered.missing]
    by = rank_items(at.confidence, happened["correct"], at.answerable)
    ordered = cluster[by.rows]
    of_width = np.searchsorted(np.linspace(0, 1, NUM_BINS + 1)[1:-1], by.thresholds)
    width_starts = np.flatnonzero(np.diff(of_width, prepend=-1))

    def of_one(counts: np.ndarray, memory: np.ndarray) -> dict[str, float]:
        weights = counts[ordered]
        sums = by.sweep(weights, memory)
        taken = sums.accepted
        # Counted from the lowest confidence, bin b of equal mass starts after b / NUM_BINS of the items.
        items = int(taken[-1])
        limits = items - -(-np.arange(NUM_BINS - 1, 0, -1) * items // NUM_BINS)
        starts = np.searchsorted(taken[1:], limits, side="right")
        mass_starts = np.unique(np.append(0, starts[starts < len(taken) - 1]))
        said = by.confidence * weights
        found = {}
        for name, of_bins in (("ece", width_starts), ("ece_equal_mass", mass_starts)):
            places = of_bins if by.tie_ends is None else by.tie_ends[of_bins]
            confidences = np.add.reduceat(said, places)
            for outcome in happened:
                column = sums.aqs if outcome == "answerable" else sums.correct
                true = np.diff(np.append(column[of_bins], column[-1]))
                found[f"{outcome}/{name}"] = safe_divide(np.abs(confidences - true).sum(), items)
        return found

    def on_counts(counts: np.ndarray) -> ScoreColumns:
        memory = by.allocate_sums()
        rows = [of_one(row, memory) for row in counts]
        return {name: np.array([row[name] for row in rows]) for name in rows[0]}

    squares = {f"{name}/brier": (at.confidence - true) ** 2 for name, true in happened.items()}
    return [on_counts, _make_mean_statistic(squares, cluster)]
