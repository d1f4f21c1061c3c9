"""Rows that read a set's wording in place of its pictures: what a set's rules reward if this pays.

The confidence is that of the audit's plainest attacker, TF-IDF of word n-grams with logistic regression, which learns the set's
own labels out of fold: rows of one text, or from one source question, are never on both sides. It needs labels, which no model
is given; a model that was trained on questions of such a set would have come by it.
"""

from __future__ import annotations

import numpy as np

from pipeline.benchmark.auditing.attack_evaluation import Folds, text_groups, word_ngrams
from pipeline.scoring import auroc
from pipeline.scoring.joined_predictions import Predictions
from research.studies.item_sets import RankedSet
from research.studies.row_scores import RowSaid

FOLDS = 5
SUFFIX = " with the wording's confidence"


def wording_scores(one: RankedSet, seed: int) -> np.ndarray:
    """How unanswerable each item's wording looks, [n]; all alike where there are too few texts to learn from."""
    texts = one.items["asked"].tolist()
    labels = (~one.items.answerable).astype(int)
    scores = word_ngrams(texts, Folds(labels, text_groups(texts, one.sources), FOLDS, seed))
    return np.zeros(len(texts)) if np.isnan(scores).any() else scores


def wording_auroc(one: RankedSet, scores: np.ndarray) -> float:
    """How well the wording alone tells AQs from UQs: 0.5 is chance."""
    return float(auroc(-scores, one.items.answerable))


def by_wording(one: RankedSet, row: RowSaid, scores: np.ndarray) -> RowSaid:
    """A row's answers, with the confidence that the wording of this set gives."""
    ids = one.items["id"].tolist()
    seeds = []
    for said in row.seeds:
        answers = [said.said[said.places[key]] for key in ids]
        # Where a set asks one question twice, as AQ and as UQ, an id has one confidence: both have one text, so one score.
        places = {key: place for place, key in enumerate(ids)}
        seeds.append(Predictions(said.name, said.sha256, places, answers, -scores))
    return RowSaid(row.name + SUFFIX, True, tuple(seeds))
