"""Rows that read a set's wording in place of its images: what a set's rules reward if this pays.

The confidence is that of the audit's plainest attacker, TF-IDF of word n-grams with logistic regression, which learns the set's
own labels out of fold: rows of one text, or from one source question, are never on both sides. It needs labels, which no model
is given; a model that was trained on questions of such a set would have come by it.
"""

from __future__ import annotations

import numpy as np

from pipeline.benchmark.auditing.attack_evaluation import Folds, group_by_text, score_by_word_ngrams
from pipeline.scoring import auroc
from pipeline.scoring.joined_predictions import Predictions
from research.studies.item_sets import ItemSet
from research.studies.row_scores import RowPredictions

NUM_FOLDS = 5
ROW_SUFFIX = " with the wording's confidence"


def compute_text_only_scores(one: ItemSet, seed: int) -> np.ndarray:
    """How unanswerable each item's wording looks, [n]; all alike where there are too few texts to learn from."""
    texts = one.items["asked"].tolist()
    labels = (~one.items.answerable).astype(int)
    scores = score_by_word_ngrams(texts, Folds(labels, group_by_text(texts, one.source_ids), NUM_FOLDS, seed))
    return np.zeros(len(texts)) if np.isnan(scores).any() else scores


def compute_text_only_auroc(one: ItemSet, scores: np.ndarray) -> float:
    """How well the wording alone tells AQs from UQs: 0.5 is chance."""
    return float(auroc(-scores, one.items.answerable))


def replace_confidence(one: ItemSet, row: RowPredictions, scores: np.ndarray) -> RowPredictions:
    """A row's answers, with the confidence that the wording of this set gives."""
    ids = one.items["id"].tolist()
    seeds = []
    for said in row.predictions:
        answers = [said.answer[said.index_by_id[key]] for key in ids]
        # Where a set asks one question twice, as AQ and as UQ, an id has one confidence: both have one text, so one score.
        places = {key: place for place, key in enumerate(ids)}
        seeds.append(Predictions(said.name, said.sha256, places, answers, -scores))
    return RowPredictions(row.name + ROW_SUFFIX, True, tuple(seeds))
