"""Answers compared with people's, item by item: what a report gives for GQA's and VQA's questions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from .items import Answered, Options, ReportedScore
from .matching import anls, exact_match, token_f1
from .sweep import mean_defined, share
from .vqa_accuracy import vqa3_plus, vqa_accuracy

# Each score is a function of the predictions and, for each of them, its right answers; [n], NaN where undefined. One
# that is added here stands in every report, with an interval. Those of VQA need the answers of several people.
VQA_SCORES = {
    "vqa_accuracy": ReportedScore("VQA accuracy", vqa_accuracy),
    "vqa_accuracy_corrected": ReportedScore(
        "vqa accuracy corrected", partial(vqa_accuracy, form="corrected")
    ),
    "vqa3_plus": ReportedScore("VQA3+", vqa3_plus),
}
SCORES = {
    "exact_match": ReportedScore("exact match", exact_match),
    "normalized_match": ReportedScore("normalized match", partial(exact_match, form="squad")),
    "token_f1": ReportedScore("token F1", token_f1),
    "anls": ReportedScore("ANLS", anls),
    "anls_no_threshold": ReportedScore("anls no threshold", partial(anls, threshold=0.0)),
}


def item_scores(answered: Answered) -> dict[str, np.ndarray]:
    """Every answer score of every item, [n]; an item without prediction has the answer ""."""
    right = [item.right for item in answered.items]
    scores = VQA_SCORES | SCORES if answered.items[0].people else SCORES
    return {name: score.of(answered.said, right) for name, score in scores.items()}


def answers_group(answered: Answered, options: Options) -> dict[str, float]:
    return {name: mean_defined(values) for name, values in item_scores(answered).items()}


def resample_answers(
    answered: Answered, cluster: np.ndarray
) -> Callable[[np.ndarray], dict[str, np.ndarray]]:
    """A function from the weights of the pictures [b, pictures] to the mean answer scores of b repetitions."""
    items = item_scores(answered)

    def scores(weights: np.ndarray) -> dict[str, np.ndarray]:
        drawn = weights[:, cluster]
        return {
            name: share(drawn @ np.nan_to_num(values), drawn @ ~np.isnan(values))
            for name, values in items.items()
        }

    return scores
