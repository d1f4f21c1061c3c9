"""How probable it is that each candidate is unanswerable, by Dawid and Skene's estimate of what is true from what several
annotators say (Applied Statistics 28, 1979), over the answers that count.

Every annotator has tables: how often they give each response where each class is true. Tables and truths are estimated
in turn (EM), from the shares of responses on. Beside the original:
- responses are more than classes: "unsure" is one, and says as much as the annotator's habit makes it say;
- filter questions are items whose class is known; so are candidates on which an expert has decided;
- an annotator has a table for each subset, and one for filters, as what is easily missed in one is plain in another. It leans
  on their table over all of them, that on everybody's, each as if by SHRINK more answers, so that thin ones do not overfit;
- a candidate's prior odds are those that stage `estimate` gives it, held within 1 - MOST_SURE and MOST_SURE, times one factor for
  each subset, which is estimated like the original's share of a class: estimates that are all too high or low do no harm.
Libraries (crowd-kit 1.4.2) know none of this; in the plain case the test has their numbers.

Constants are fixed on one simulated crowd (seed 20231001), figures told of others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from scipy.special import expit, logit

from annotation.study.answers_table import get_adjudications, select_gold_answers, select_votes
from annotation.study.exports import CHOICES
from pipeline.core.errors import format_count
from pipeline.core.records import SUBSETS, Record, Subset
from pipeline.scoring.bootstrap import percentile_intervals, sample_cluster_counts

NUM_CLASSES = 2  # valid and invalid
SHRINKAGE, MAX_PRIOR = 10.0, 0.98
TOLERANCE = 1e-6  # a round that moves no probability by more is the last
# Bootstrap replicates over images. Each is fitted again, starting from the fit of all data, in this many rounds.
NUM_REPLICATES, BOOTSTRAP_SEED, NUM_REPLICATE_ITERATIONS = 100, 0, 10
GOLD_SUBSET_CODE = len(SUBSETS)  # as a table's subset
MILLION = 1e6
# Of the table of answers: what else it has would be copied as often.
USED_COLUMNS = (
    *("annotator", "candidate_id", "choice", "expected", "image_id", "role", "subset", "text"),
    *("aside", "expert", "fallen"),
)
BLOCK_SIZE = 1 << 14  # candidates whose intervals are worked out together


class Posterior(Record):
    """`invalid` is the probability that the candidate is unanswerable, with its 95 % interval by bootstrap over images."""

    candidate_id: str
    invalid: float
    low: float
    high: float


class ConfusionTable(Record):
    """What somebody says in a subset (None: of filters), in shares with 95 % intervals by bootstrap over images: invalid
    called invalid (sensitivity), valid not called invalid (specificity)."""

    subset: Subset | None
    annotator: str
    votes: int
    sensitivity: tuple[float, float, float]
    specificity: tuple[float, float, float]


class VoteData(NamedTuple):
    """What is fitted: responses, and how they hang together.

    Attributes:
        counts: [items, tables x responses] sparse, how often. owner: [tables] whose table it is, from 0 on.
        prior: [items] probability of class 1, as far as its odds stand to others' of its group; 0 or 1 where it is known.
        group: [items], from 0 on. With equal priors in it, its items have their common share, which is estimated.
        responses: how many there are to choose from; the first two name the classes.
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
        owner: np.ndarray,
        prior: np.ndarray | None = None,
        group: np.ndarray | None = None,
        responses: int = 3,
    ) -> VoteData:
        """From arrays of one length, [votes]: which item, which table, which response, all from 0 on; without priors all are
        equal, without groups there is one."""
        if not len(item) or not len(item) == len(table) == len(response):
            raise ValueError(
                f"{format_count(len(item), 'item')}, {format_count(len(table), 'table')}, {len(response)} responses: wanted as many of each"
            )
        shape = int(item.max()) + 1, len(owner) * responses
        cells = item, table * responses + response
        counts = csr_array((np.ones(len(item)), cells), shape)
        prior = np.full(shape[0], 0.5) if prior is None else prior
        return cls(counts, owner, prior, np.zeros(shape[0], int) if group is None else group, responses)


class DawidSkeneFit(NamedTuple):
    """`posterior`: [items] probability of class 1. `tables`: [tables, classes, responses] shares."""

    posterior: np.ndarray
    confusion_matrices: np.ndarray


def fit_dawid_skene(
    votes: VoteData,
    *,
    shrinkage: float = SHRINKAGE,
    smoothing: float = 1.0,
    weights: np.ndarray | None = None,
    initial_posterior: np.ndarray | None = None,
    max_iterations: int = 500,
) -> DawidSkeneFit:
    """Estimate truths and tables in turn.

    Args:
        shrink: answers that a table is leaned on by; with 0, and `smoothing` 0 (answers of each response and class that
            everybody's table and the common share begin with), it is the original.
        weights: [items], how often each counts. start: [items], instead of the shares of responses.
    """
    counts, owner, responses = votes.counts, votes.table_annotator, votes.num_responses
    members = csr_array((np.ones(len(owner)), (owner, np.arange(len(owner)))))  # [owners, tables]
    known = np.isin(votes.prior, (0, 1))
    log_odds, shift = logit(votes.prior), np.zeros(int(votes.group.max()) + 1)
    weights = np.ones(len(known)) if weights is None else weights
    said = np.asarray(counts @ np.tile(np.eye(responses), (len(owner), 1)))  # [items, responses]
    shares = (said[:, 1] + said[:, 2:].sum(axis=1) / 2) / said.sum(axis=1)
    posterior, tables = (
        np.where(known, votes.prior, shares if initial_posterior is None else initial_posterior),
        np.empty(0),
    )
    for _ in range(max_iterations):
        belief = np.stack([1 - posterior, posterior], axis=1)
        own = np.asarray(counts.T @ (belief * weights[:, None])).reshape(-1, responses * NUM_CLASSES)
        person = np.asarray(members @ own).reshape(-1, responses, NUM_CLASSES)
        own = own.reshape(-1, responses, NUM_CLASSES)
        everybody = _normalize(person.sum(axis=0) + smoothing)
        tables = _normalize(own + shrinkage * _normalize(person + shrinkage * everybody)[owner])
        size, found, given = (
            np.bincount(votes.group, weights * ~known * values, len(shift))
            for values in (1, posterior, expit(log_odds + shift[votes.group]))
        )
        with np.errstate(divide="ignore", invalid="ignore"):  # a probability of 0 rules a class out
            shift += logit((found + smoothing) / (size + 2 * smoothing)) - logit(given / size)
            shift[size == 0] = 0
            evidence = counts @ np.log(tables).reshape(-1, NUM_CLASSES)
        odds = log_odds + shift[votes.group] + evidence[:, 1] - evidence[:, 0]
        before, posterior = posterior, np.where(known, votes.prior, expit(odds))
        if np.abs(posterior - before).max() <= TOLERANCE:
            break
    return DawidSkeneFit(posterior, tables.transpose(0, 2, 1))


def estimate_posteriors(
    answers: pd.DataFrame, prior_answerable: Mapping[str, float]
) -> tuple[list[Posterior], list[ConfusionTable], np.ndarray]:
    """Candidates with votes sorted by id; annotators' tables sorted by subset and name; and for each resample of images the
    probabilities in millionths, int32 [resamples, candidates].

    Args:
        judged: as weighed. answerable: candidate id -> prior probability of having an answer; 0.5 of those without.
    """
    answers = answers[list(USED_COLUMNS)]
    known, word = select_gold_answers(answers), get_adjudications(answers)
    rows = pd.concat([select_votes(answers), known[(known["aside"] == "") & ~known["expert"]]])
    anchor = (rows["role"] == "filter").to_numpy()
    # Candidates come first, sorted; a filter question is a text at an image. Their categories are in order.
    at, text, key = (rows[name].cat.codes.to_numpy() for name in ("image_id", "text", "candidate_id"))
    name, more = np.where(anchor, at, key), np.where(anchor, text, 0)
    order = np.lexsort((more, name, anchor))
    rows, anchor, named = rows.iloc[order], anchor[order], np.stack([anchor, name, more])[:, order]
    new = np.r_[True, (named[:, 1:] != named[:, :-1]).any(axis=0)]
    once, item = np.flatnonzero(new), np.cumsum(new) - 1
    first, fixed = rows.iloc[once], anchor[once]
    keys = first["candidate_id"].astype(object).to_numpy()[~fixed]
    decided = pd.Series(keys).map(word).to_numpy(float)
    truth = np.r_[decided, (first["expected"] == "invalid").to_numpy(float)[fixed]]
    thought = [*(1 - prior_answerable.get(key, 0.5) for key in keys), *[0.5] * int(fixed.sum())]
    prior = np.where(np.isnan(truth), np.clip(thought, 1 - MAX_PRIOR, MAX_PRIOR), truth)
    subset = np.where(anchor, GOLD_SUBSET_CODE, pd.Categorical(rows["subset"], SUBSETS).codes)
    who, people = pd.factorize(rows["annotator"], sort=True)
    table, place = np.unique(subset * len(people) + who, return_inverse=True)
    response = pd.Categorical(rows["choice"], CHOICES).codes
    given = VoteData.from_arrays(item, place, response, table % len(people), prior, subset[once])
    fit = fit_dawid_skene(given)
    images, number = np.unique(first["image_id"].cat.codes, return_inverse=True)
    drawn = sample_cluster_counts(len(images), NUM_REPLICATES, BOOTSTRAP_SEED)
    candidates = len(keys)
    resampled, again = np.empty((NUM_REPLICATES, candidates), np.int32), list[np.ndarray]()
    for chosen, millionths in zip(drawn, resampled, strict=True):
        weights = chosen[number].astype(float)
        found = fit_dawid_skene(
            given, weights=weights, initial_posterior=fit.posterior, max_iterations=NUM_REPLICATE_ITERATIONS
        )
        millionths[:] = np.rint(found.posterior[:candidates] * MILLION)  # as the fit's are told
        again.append(found.confusion_matrices)
    bounds = [
        percentile_intervals(resampled[:, start : start + BLOCK_SIZE] / MILLION)
        for start in range(0, candidates, BLOCK_SIZE)
    ]
    low, high = np.concatenate(bounds, axis=1) if bounds else np.empty((2, 0))
    columns = (array.round(6).tolist() for array in (fit.posterior[:candidates], low, high))
    probable = [
        Posterior(candidate_id=key, invalid=value, low=least, high=most)
        for key, value, least, most in zip(keys, *columns, strict=True)
    ]
    return (
        probable,
        _summarize_tables(table, people, np.bincount(place), [fit.confusion_matrices, *again]),
        resampled,
    )


def _summarize_tables(
    table: np.ndarray, people: pd.Index, count: np.ndarray, tables: list[np.ndarray]
) -> list[ConfusionTable]:
    """The tables of the first fit, with intervals by the others."""
    called = np.array([shares[:, :, 1] for shares in tables])  # [fits, tables, classes]
    rates = np.stack([1 - called[:, :, 0], called[:, :, 1]])  # specificity, sensitivity
    ends = percentile_intervals(np.moveaxis(rates[:, 1:], 1, 0))
    bounds = np.stack([rates[:, 0], *ends], axis=-1).round(4)
    return [
        ConfusionTable(
            subset=(*SUBSETS, None)[key // len(people)],
            annotator=str(people[key % len(people)]),
            votes=number,
            sensitivity=tuple(sensitivity),
            specificity=tuple(specificity),
        )
        for key, number, specificity, sensitivity in zip(table, count.tolist(), *bounds.tolist(), strict=True)
    ]


def _normalize(counts: np.ndarray) -> np.ndarray:
    """[..., responses, classes] divided by their sums over the responses; equal where there is nothing."""
    total = counts.sum(axis=-2, keepdims=True)
    return np.divide(counts, total, out=np.full_like(counts, 1 / counts.shape[-2]), where=total > 0)
