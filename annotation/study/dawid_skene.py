"""Estimate how probable it is that each candidate is unanswerable, with the method of Dawid and Skene.

Source: A. P. Dawid and A. M. Skene, Applied Statistics 28, 1979. The method infers the true classes of items
from the responses of several annotators. Each annotator has a confusion matrix, which says how often the
annotator gives each response for each true class. Matrices and classes are estimated alternately (EM),
starting from the proportions of responses. The responses used here are the answers that passed quality
control.

This implementation differs from the original:

- There are more responses than classes: "unsure" is a separate response, whose meaning is estimated for each annotator.
- Gold questions, and candidates decided by an adjudicator, are items whose class is known.
- An annotator has one table per subset and one for gold questions, because subsets differ in difficulty. Each table is shrunk towards
  the overall table of the annotator, and the overall table towards the table of all annotators, with the
  weight of `SHRINKAGE` answers. So matrices with few answers do not overfit.
- The prior odds of a candidate are the odds by stage `estimate` times a factor per subset, which is learned
  from the votes (`annotation.study.base_rates`, the model that task assignment uses, too). So it matters little
  if the probabilities of stage `estimate` are all too high or all too low. The factor replaces the class
  proportions of the original method.

Libraries such as crowd-kit 1.4.2 have none of these extensions. Without the extensions, the results agree
with crowd-kit (see the tests).

The constants were chosen on one simulated crowd (seed 20231001). Reported numbers come from other crowds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from scipy.special import expit, logit

from annotation.study.agreement import IntervalEstimate
from annotation.study.answers_table import get_adjudications, select_gold_answers, select_votes
from annotation.study.base_rates import MAX_PRIOR, BaseRate, BaseRatePrior, count_on_lattice
from annotation.study.exports import CHOICES
from pipeline.core.errors import format_count
from pipeline.core.records import SUBSETS, Record, Subset
from pipeline.scoring.bootstrap import percentile_intervals, sample_cluster_counts

# Class 0 is valid, class 1 is invalid.
NUM_CLASSES = 2
# Weight of the shrinkage of tables, as a number of answers.
SHRINKAGE = 10.0
# EM stops when no probability changes by more than this.
TOLERANCE = 1e-6
# Number of bootstrap replicates over images, their seed, and the number of EM iterations per replicate. Each
# replicate starts from the fit of all data.
NUM_REPLICATES, BOOTSTRAP_SEED, NUM_REPLICATE_ITERATIONS = 100, 0, 10
# Subset code of gold questions, which belong to no subset.
GOLD_SUBSET_CODE = len(SUBSETS)
MILLION = 1e6
# Columns of the answers table that are used. All others are dropped, so that they are not copied.
USED_COLUMNS = (
    *("annotator", "candidate_id", "choice", "expected_choice", "image_id", "role", "subset", "text"),
    *("exclusion_reason", "is_adjudicator", "is_discarded", "is_pending"),
)
# Number of candidates whose intervals are computed together.
BLOCK_SIZE = 1 << 14


class Posterior(Record):
    """The probability that a candidate is unanswerable (`invalid`), with its 95 % bootstrap interval over
    images.
    """

    candidate_id: str
    invalid: float
    low: float
    high: float


class ConfusionTable(Record):
    """Estimated accuracy of one annotator in one subset.

    Attributes:
        subset: The subset; None for gold questions.
        annotator: The pseudonym.
        votes: Number of votes.
        sensitivity: Rate at which unanswerable items are called invalid, and its 95 % bootstrap interval
            (low, high).
        specificity: Rate at which answerable items are not called invalid, and its 95 % bootstrap interval
            (low, high).
    """

    subset: Subset | None
    annotator: str
    votes: int
    sensitivity: tuple[float, float, float]
    specificity: tuple[float, float, float]


class VoteData(NamedTuple):
    """The responses of annotators to items.

    Attributes:
        counts: [items, tables x responses], sparse: how often each response was given.
        table_annotator: [tables], the annotator of each table, from 0 on.
        prior: [items], the prior probability of class 1; 0 or 1 if the class is known. Only the ratio of
            prior odds within a group matters.
        group: [items], the group of each item, from 0 on. The proportion of class 1 is estimated for each
            group.
        num_responses: Number of possible responses. Responses 0 and 1 name classes 0 and 1.
    """

    counts: csr_array
    table_annotator: np.ndarray
    prior: np.ndarray
    group: np.ndarray
    num_responses: int

    @classmethod
    def from_arrays(
        cls,
        item: np.ndarray,
        table: np.ndarray,
        response: np.ndarray,
        table_annotator: np.ndarray,
        prior: np.ndarray | None = None,
        group: np.ndarray | None = None,
        num_responses: int = 3,
    ) -> VoteData:
        """Build the data from one row per vote.

        Args:
            item: [votes], the item of each vote, from 0 on.
            table: [votes], the table of each vote, from 0 on.
            response: [votes], the response of each vote, from 0 on.
            table_annotator: [tables], the annotator of each table, from 0 on.
            prior: [items], as in the attribute `prior`; None: all priors are 0.5.
            group: [items], as in the attribute `group`; None: all items are in one group.
            num_responses: Number of possible responses.

        Raises:
            ValueError: There are no votes, or the arrays differ in length.
        """
        if not len(item) or not len(item) == len(table) == len(response):
            raise ValueError(
                f"{format_count(len(item), 'item')}, {format_count(len(table), 'table')}, {format_count(len(response), 'response')}. Pass at least one vote, and arrays of equal length"
            )
        shape = int(item.max()) + 1, len(table_annotator) * num_responses
        cells = item, table * num_responses + response
        counts = csr_array((np.ones(len(item)), cells), shape)
        prior = np.full(shape[0], 0.5) if prior is None else prior
        group = np.zeros(shape[0], int) if group is None else group
        return cls(counts, table_annotator, prior, group, num_responses)


class DawidSkeneFit(NamedTuple):
    """The result of EM.

    Attributes:
        posterior: [items], the probability of class 1.
        confusion_matrices: [tables, classes, responses], the rate of each response for each true class.
        base_rates: For each group the proportion of class 0 among its items of unknown class, with its 95 %
            credible interval; None without such items. [] if base rates were not learned.
    """

    posterior: np.ndarray
    confusion_matrices: np.ndarray
    base_rates: list[BaseRate | None]


def fit_dawid_skene(
    votes: VoteData,
    *,
    shrinkage: float = SHRINKAGE,
    smoothing: float = 1.0,
    weights: np.ndarray | None = None,
    initial_posterior: np.ndarray | None = None,
    max_iterations: int = 500,
    learns_base_rates: bool = False,
) -> DawidSkeneFit:
    """Fit classes and confusion matrices by EM.

    With `shrinkage` and `smoothing` 0, this is the original method.

    Args:
        votes: The responses.
        shrinkage: Weight, in answers, of the shrinkage of tables.
        smoothing: Pseudo-count, in answers, for each response in the table of all annotators and for each
            class in a group.
        weights: [items], how often each item counts; None: each item counts once.
        initial_posterior: [items], the probabilities of class 1 at the start; None: the proportions of
            responses.
        max_iterations: Maximum number of EM iterations.
        learns_base_rates: Whether the model of `annotation.study.base_rates` takes the place of the class
            proportions. Items are then averaged over the plausible base rates of their group.

    Returns:
        The posterior probabilities, the confusion matrices and the base rates.
    """
    counts, annotator, responses = votes.counts, votes.table_annotator, votes.num_responses
    # [annotators, tables]
    tables_of = csr_array((np.ones(len(annotator)), (annotator, np.arange(len(annotator)))))
    known = np.isin(votes.prior, (0, 1))
    num_groups = int(votes.group.max()) + 1
    log_odds, shift = logit(votes.prior), np.zeros(num_groups)
    # Log odds of class 0 and groups of the items of unknown class, for the base rates.
    unknown, unknown_group = -log_odds[~known], votes.group[~known]
    rate_prior = BaseRatePrior(unknown, unknown_group, num_groups) if learns_base_rates else None
    found: list[BaseRate | None] = []
    weights = np.ones(len(known)) if weights is None else weights
    # [items, responses]
    totals = np.asarray(counts @ np.tile(np.eye(responses), (len(annotator), 1)))
    proportions = (totals[:, 1] + totals[:, 2:].sum(axis=1) / 2) / totals.sum(axis=1)
    posterior, tables = (
        np.where(known, votes.prior, proportions if initial_posterior is None else initial_posterior),
        np.empty(0),
    )
    for _ in range(max_iterations):
        probability = np.stack([1 - posterior, posterior], axis=1)
        own = np.asarray(counts.T @ (probability * weights[:, None])).reshape(-1, responses * NUM_CLASSES)
        per_annotator = np.asarray(tables_of @ own).reshape(-1, responses, NUM_CLASSES)
        own = own.reshape(-1, responses, NUM_CLASSES)
        overall = _normalize(per_annotator.sum(axis=0) + smoothing)
        tables = _normalize(own + shrinkage * _normalize(per_annotator + shrinkage * overall)[annotator])
        # A class with probability 0 is impossible; its logarithm is -inf.
        with np.errstate(divide="ignore"):
            evidence = counts @ np.log(tables).reshape(-1, NUM_CLASSES)
        if rate_prior:
            judged = unknown + evidence[~known, 0] - evidence[~known, 1]
            with_votes, without = (
                count_on_lattice(values, unknown_group, num_groups, weights[~known])
                for values in (judged, unknown)
            )
            rates = rate_prior.update(with_votes - without)
            found, odds = rates.compute_rates(with_votes), np.zeros(len(known))
            odds[~known] = -rates.compute_log_odds(judged, unknown_group)
        else:
            size, estimated, expected = (
                np.bincount(votes.group, weights * ~known * values, num_groups)
                for values in (1, posterior, expit(log_odds + shift[votes.group]))
            )
            with np.errstate(divide="ignore", invalid="ignore"):
                shift += logit((estimated + smoothing) / (size + 2 * smoothing)) - logit(expected / size)
                shift[size == 0] = 0
            odds = log_odds + shift[votes.group] + evidence[:, 1] - evidence[:, 0]
        before, posterior = posterior, np.where(known, votes.prior, expit(odds))
        if np.abs(posterior - before).max() <= TOLERANCE:
            break
    return DawidSkeneFit(posterior, tables.transpose(0, 2, 1), found)


class PosteriorEstimates(NamedTuple):
    """The estimates for a whole study.

    Attributes:
        posteriors: The posteriors of candidates with votes, sorted by id.
        confusion_tables: Sorted by subset and annotator.
        replicates: The posteriors of each bootstrap replicate in millionths, int32 [replicates, candidates].
        base_rates: For each subset the proportion of answerable candidates among those with votes that no
            adjudicator decided, with its 95 % credible interval.
    """

    posteriors: list[Posterior]
    confusion_tables: list[ConfusionTable]
    replicates: np.ndarray
    base_rates: dict[Subset, IntervalEstimate]


def estimate_posteriors(answers: pd.DataFrame, prior_answerable: Mapping[str, float]) -> PosteriorEstimates:
    """Estimate the probability that each candidate is unanswerable.

    Args:
        answers: The answers table after quality control.
        prior_answerable: Candidate id -> prior probability of being answerable; 0.5 for other candidates.
    """
    answers = answers[list(USED_COLUMNS)]
    gold, adjudicated = select_gold_answers(answers), get_adjudications(answers)
    rows = pd.concat(
        [select_votes(answers), gold[(gold["exclusion_reason"] == "") & ~gold["is_adjudicator"]]]
    )
    is_gold = (rows["role"] == "gold").to_numpy()
    # Candidates come first, sorted by id. A gold question is identified by image and text. Categories are
    # sorted, so that sorting by code is sorting by text.
    image, text, candidate = (
        rows[name].cat.codes.to_numpy() for name in ("image_id", "text", "candidate_id")
    )
    major, minor = np.where(is_gold, image, candidate), np.where(is_gold, text, 0)
    order = np.lexsort((minor, major, is_gold))
    rows, is_gold, keys_of = rows.iloc[order], is_gold[order], np.stack([is_gold, major, minor])[:, order]
    is_new = np.r_[True, (keys_of[:, 1:] != keys_of[:, :-1]).any(axis=0)]
    starts, item = np.flatnonzero(is_new), np.cumsum(is_new) - 1
    first, is_gold_item = rows.iloc[starts], is_gold[starts]
    keys = first["candidate_id"].astype(object).to_numpy()[~is_gold_item]
    decided = pd.Series(keys).map(adjudicated).to_numpy(float)
    truth = np.r_[decided, (first["expected_choice"] == "invalid").to_numpy(float)[is_gold_item]]
    prior_invalid = [*(1 - prior_answerable.get(key, 0.5) for key in keys), *[0.5] * int(is_gold_item.sum())]
    prior = np.where(np.isnan(truth), np.clip(prior_invalid, 1 - MAX_PRIOR, MAX_PRIOR), truth)
    subset = np.where(is_gold, GOLD_SUBSET_CODE, pd.Categorical(rows["subset"], SUBSETS).codes)
    annotator, names = pd.factorize(rows["annotator"], sort=True)
    tables, table = np.unique(subset * len(names) + annotator, return_inverse=True)
    response = pd.Categorical(rows["choice"], CHOICES).codes
    votes = VoteData.from_arrays(item, table, response, tables % len(names), prior, subset[starts])
    fit = fit_dawid_skene(votes, learns_base_rates=True)
    images, image_index = np.unique(first["image_id"].cat.codes, return_inverse=True)
    samples = sample_cluster_counts(len(images), NUM_REPLICATES, BOOTSTRAP_SEED)
    num_candidates = len(keys)
    replicates, replicate_matrices = (
        np.empty((NUM_REPLICATES, num_candidates), np.int32),
        list[np.ndarray](),
    )
    for counts, millionths in zip(samples, replicates, strict=True):
        weights = counts[image_index].astype(float)
        replicate = fit_dawid_skene(
            votes,
            weights=weights,
            initial_posterior=fit.posterior,
            max_iterations=NUM_REPLICATE_ITERATIONS,
            learns_base_rates=True,
        )
        # Posteriors of replicates are rounded like the posteriors of the fit.
        millionths[:] = np.rint(replicate.posterior[:num_candidates] * MILLION)
        replicate_matrices.append(replicate.confusion_matrices)
    bounds = [
        percentile_intervals(replicates[:, start : start + BLOCK_SIZE] / MILLION)
        for start in range(0, num_candidates, BLOCK_SIZE)
    ]
    low, high = np.concatenate(bounds, axis=1) if bounds else np.empty((2, 0))
    columns = (array.round(6).tolist() for array in (fit.posterior[:num_candidates], low, high))
    posteriors = [
        Posterior(candidate_id=key, invalid=value, low=lower, high=upper)
        for key, value, lower, upper in zip(keys, *columns, strict=True)
    ]
    return PosteriorEstimates(
        posteriors,
        _summarize_tables(tables, names, np.bincount(table), [fit.confusion_matrices, *replicate_matrices]),
        replicates,
        {
            name: IntervalEstimate(
                **{end: round(value, 4) for end, value in zip(("value", "low", "high"), rate, strict=True)}
            )
            for name, rate in zip(SUBSETS, fit.base_rates, strict=False)
            if rate
        },
    )


def _summarize_tables(
    tables: np.ndarray, names: pd.Index, num_votes: np.ndarray, matrices: list[np.ndarray]
) -> list[ConfusionTable]:
    """Return the tables of the first fit in `matrices`, with intervals from the other fits (the bootstrap
    replicates).
    """
    # [fits, tables, classes]
    rate_invalid = np.array([matrix[:, :, 1] for matrix in matrices])
    # Specificity and sensitivity, [2, fits, tables].
    rates = np.stack([1 - rate_invalid[:, :, 0], rate_invalid[:, :, 1]])
    ends = percentile_intervals(np.moveaxis(rates[:, 1:], 1, 0))
    bounds = np.stack([rates[:, 0], *ends], axis=-1).round(4)
    return [
        ConfusionTable(
            subset=(*SUBSETS, None)[key // len(names)],
            annotator=str(names[key % len(names)]),
            votes=number,
            sensitivity=tuple(sensitivity),
            specificity=tuple(specificity),
        )
        for key, number, specificity, sensitivity in zip(
            tables, num_votes.tolist(), *bounds.tolist(), strict=True
        )
    ]


def _normalize(counts: np.ndarray) -> np.ndarray:
    """Divide [..., responses, classes] by the sums over responses. Where a sum is 0, return a uniform distribution."""
    total = counts.sum(axis=-2, keepdims=True)
    return np.divide(counts, total, out=np.full_like(counts, 1 / counts.shape[-2]), where=total > 0)
