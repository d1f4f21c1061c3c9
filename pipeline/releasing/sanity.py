"""Predictions whose scores anyone can check: constant, blind and CLIP score. They prove that a release arrived whole
and that a scorer reads it as we do; they are baselines, not models."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from pipeline.core.records import Item, Record
from pipeline.releasing.rgqa_format import Prediction
from pipeline.scorers import auaf, auroc, facc, ff95


class SanityScores(Record):
    """AUAF, FF95, FACC and AUROC of one predictions file on one subset, as fractions; null where undefined."""

    auaf: float | None
    ff95: float | None
    facc: float | None
    auroc: float | None
    aqs: int
    uqs: int


def sanity_predictions(items: Sequence[Item], folds: int, seed: int) -> dict[str, list[Prediction]]:
    """Predictions of one subset's items.

    constant   always "yes" with confidence 0.5: AUAF is half the share of AQs that "yes" answers, AUROC 0.5.
    blind      out-of-fold word n-grams of the text for the confidence; the commonest answer to questions with the
               same first two words, among the other folds' pictures, for the answer.
    clip_score the CLIP score as confidence (0 where there is none), the same answers.
    """
    # Late, as it loads scikit-learn, which checking a release does not need.
    from pipeline.auditing.attackers import Folds, word_ngrams

    labels = np.array([item.unanswerable for item in items], int)
    pairs = Folds(labels, np.array([item.pair_id for item in items]), folds, seed)
    blind = np.nan_to_num(1 - word_ngrams([item.text for item in items], pairs), nan=0.5)
    answers = _blind_answers(items)
    columns: dict[str, tuple[list[str], list[float]]] = {
        "constant": (["yes"] * len(items), [0.5] * len(items)),
        "blind": (answers, np.round(blind, 6).tolist()),
        "clip_score": (answers, [0.0 if item.score is None else item.score for item in items]),
    }
    return {
        name: [
            Prediction(questionId=item.item_id, prediction=answer, confidence=confidence)
            for item, answer, confidence in zip(items, *column, strict=True)
        ]
        for name, column in columns.items()
    }


def score_predictions(items: Sequence[Item], predictions: Sequence[Prediction]) -> SanityScores:
    """Score predictions, joined by id; an answer is right when it equals the item's, letter case aside."""
    by_id = {prediction.questionId: prediction for prediction in predictions}
    rows = [by_id[item.item_id] for item in items]
    confidence = np.array([row.confidence for row in rows])
    answerable = np.array([not item.unanswerable for item in items])
    correct = np.array(
        [row.prediction.lower() == item.answer.lower() for row, item in zip(rows, items, strict=True)]
    )

    def defined(value: float) -> float | None:
        return None if np.isnan(value) else round(value, 6)

    return SanityScores(
        auaf=defined(auaf(confidence, correct, answerable)),
        ff95=defined(ff95(confidence, correct, answerable)),
        facc=defined(facc(confidence, correct, answerable)),
        auroc=defined(auroc(confidence, answerable)),
        aqs=int(answerable.sum()),
        uqs=int((~answerable).sum()),
    )


def _blind_answers(items: Sequence[Item]) -> list[str]:
    """For each item the commonest answer to AQs of *other pictures* with the same first two words, else "yes"."""
    starts = [" ".join(item.text.lower().split()[:2]) for item in items]
    everywhere: dict[str, Counter[str]] = defaultdict(Counter)
    here: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for item, start in zip(items, starts, strict=True):
        if not item.unanswerable:
            everywhere[start][item.answer] += 1
            here[start, item.picture_id][item.answer] += 1
    answers = []
    for item, start in zip(items, starts, strict=True):
        rest = everywhere[start] - here[start, item.picture_id]
        answers.append(min(rest, key=lambda answer: (-rest[answer], answer), default="yes"))
    return answers
