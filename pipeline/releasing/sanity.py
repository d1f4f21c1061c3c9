"""Predictions whose scores anyone can check: constant, blind and CLIP score. They prove that a release arrived whole
and that a scorer reads it as we do; they are baselines, not models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from pipeline.auditing import attackers
from pipeline.core.records import Item, Record
from pipeline.releasing.rgqa_format import Prediction
from pipeline.scorers import auaf, auroc, facc, ff95

NAMES = ("constant", "blind", "clip_score")


class Scores(Record):
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
    labels = np.array([item.unanswerable for item in items], int)
    groups = np.array([item.pair_id for item in items])
    blind = 1 - attackers.word_ngrams([item.text for item in items], labels, groups, folds, seed)
    answers = _blind_answers(items)
    confidences = {
        "constant": [0.5] * len(items),
        "blind": np.round(np.nan_to_num(blind, nan=0.5), 6).tolist(),
        "clip_score": [item.score if item.score is not None else 0.0 for item in items],
    }
    return {
        name: [
            Prediction(
                questionId=item.item_id,
                prediction="yes" if name == "constant" else answers[i],
                confidence=confidences[name][i],
            )
            for i, item in enumerate(items)
        ]
        for name in NAMES
    }


def score_predictions(items: Sequence[Item], predictions: Sequence[Prediction]) -> Scores:
    """Score predictions, joined by id; an answer is right when it equals the item's, letter case aside."""
    found = {prediction.questionId: prediction for prediction in predictions}
    rows = [found[item.item_id] for item in items]
    confidence = np.array([row.confidence for row in rows])
    answerable = np.array([not item.unanswerable for item in items])
    correct = np.array(
        [row.prediction.lower() == item.answer.lower() for row, item in zip(rows, items, strict=True)]
    )

    def defined(value: float) -> float | None:
        return None if np.isnan(value) else round(value, 6)

    return Scores(
        auaf=defined(auaf(confidence, correct, answerable)),
        ff95=defined(ff95(confidence, correct, answerable)),
        facc=defined(facc(confidence, correct, answerable)),
        auroc=defined(auroc(confidence, answerable)),
        aqs=int(answerable.sum()),
        uqs=int((~answerable).sum()),
    )


def _blind_answers(items: Sequence[Item]) -> list[str]:
    """For each item the commonest answer to AQs of *other pictures* with the same first two words, else "yes"."""

    def start(item: Item) -> str:
        return " ".join(item.text.lower().split()[:2])

    counts: dict[str, Counter[str]] = {}
    own: dict[tuple[str, str], Counter[str]] = {}
    for item in items:
        if not item.unanswerable:
            counts.setdefault(start(item), Counter())[item.answer] += 1
            own.setdefault((start(item), item.picture_id), Counter())[item.answer] += 1
    answers = []
    for item in items:
        rest = counts.get(start(item), Counter()) - own.get((start(item), item.picture_id), Counter())
        answers.append(min(rest, key=lambda answer: (-rest[answer], answer)) if rest else "yes")
    return answers
