"""Replace the confidence of rows by that of a text-only attacker, to measure how much a set rewards it.

The confidence is that of the audit's simplest attacker, TF-IDF of word n-grams with logistic regression. ut-
of-fold predictions of a grouped cross-validation on the set's own labels: items with the same text, or from
one source question, are in the same fold. No model gets these labels, but a model that was trained on questions of such a set could
have learned them.
"""

from __future__ import annotations

import numpy as np

from pipeline.benchmark.auditing.attack_evaluation import Folds, group_by_text, score_by_word_ngrams
from pipeline.scoring import auroc
from pipeline.scoring.joined_predictions import Predictions
from research.studies.item_sets import ItemSet
from research.studies.row_scores import RowPredictions

NUM_FOLDS = 5
ROW_SUFFIX = " with text-only confidence"


def compute_text_only_scores(one: ItemSet, seed: int) -> np.ndarray:
    """Return how unanswerable each item's text looks, [n].

    All are 0 if there are too few texts to train on.
    """
    texts = one.items["question_text"].tolist()
    labels = (~one.items.answerable).astype(int)
    scores = score_by_word_ngrams(texts, Folds(labels, group_by_text(texts, one.source_ids), NUM_FOLDS, seed))
    return np.zeros(len(texts)) if np.isnan(scores).any() else scores


def compute_text_only_auroc(one: ItemSet, scores: np.ndarray) -> float:
    """Return the AUROC of the text alone for AQs against UQs. 0.5 is chance."""
    return float(auroc(-scores, one.items.answerable))


def replace_confidence(one: ItemSet, row: RowPredictions, scores: np.ndarray) -> RowPredictions:
    """Return a row's answers with the text-only confidence of this set."""
    ids = one.items["id"].tolist()
    seeds = []
    for said in row.predictions:
        answers = [said.answer[said.index_by_id[key]] for key in ids]
        # Where a set asks one question twice, as AQ and as UQ, an id has one confidence, because both have
        # the same text and so the same score.
        places = {key: place for place, key in enumerate(ids)}
        seeds.append(Predictions(said.name, said.sha256, places, answers, -scores))
    return RowPredictions(row.name + ROW_SUFFIX, True, tuple(seeds))
