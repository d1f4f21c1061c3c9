"""What tells a filter question from a candidate without a look at the image: repetition, text, position, order.

Who knows which question counts passes with any answer to the other. Each cue is an AUROC within annotators: how often,
of a filter and a question under judgement that the same person was shown, the filter has the larger value, ties counted half;
max(a, 1 - a), as what is reliably wrong tells as much. Intervals are of a bootstrap over images, whose tasks go together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from threadpoolctl import threadpool_limits

from pipeline.core.records import Record, Task
from pipeline.scoring.bootstrap import bootstrap, cluster_auroc, percentile_interval

MAX_HIDDEN_AUROC = 0.6  # the interval's upper end up to which filters count as hidden
NUM_REPLICATES = 200  # of the bootstrap
NUM_FOLDS = 5
MAX_TEXTS = 8_000  # questions on which the text model is tried; more does not sharpen the figure


class GoldLeakage(Record):
    """How well a cue tells filters, in [0.5, 1], with a 95 % interval; None where there is nothing to compare."""

    cue: str
    auroc: float | None
    low: float | None
    high: float | None

    @property
    def is_leak(self) -> bool:
        """Whether filters may be known by it."""
        return (self.high or 0) > MAX_HIDDEN_AUROC


def build_shown_questions(stream: Iterable[tuple[str, str]], tasks: Mapping[str, Task]) -> pd.DataFrame:
    """The table that `betrayals` takes, of who was shown which task, in each person's order."""
    rows = []
    for order, (person, key) in enumerate(stream):
        task = tasks[key]
        for position, question in enumerate((task.first, task.second)):
            rows.append((person, order, position, task.image_id, question.text, question.role))
    return pd.DataFrame(rows, columns=["person", "order", "position", "image", "text", "role"])


def measure_gold_leakage(shown: pd.DataFrame, seed: int = 0) -> list[GoldLeakage]:
    """Every cue, in a fixed order.

    Args:
        shown: a row per question shown: person, order (of the task, in the person's stream), position (0 first, 1 second),
            image, text, role ("filter", or one under judgement: "candidate", "repeat").
    """
    shown = shown.sort_values(["person", "order", "position"]).reset_index(drop=True)
    of_person = shown.groupby("person", observed=True)["order"]
    values = {
        "the text came before": shown.groupby(["person", "text"], observed=True).cumcount(),
        "the text came before at this image": shown.groupby(
            ["person", "image", "text"], observed=True
        ).cumcount(),
        "words, learnt on other texts": _score_by_words(shown, "text", seed),
        "words, learnt on other images": _score_by_words(shown, "image", seed),
        "position in the task": shown["position"],
        "place in the stream": of_person.rank(method="dense"),
    }
    filters = (shown["role"] == "filter").to_numpy()
    people, images = (pd.factorize(shown[name])[0] for name in ("person", "image"))
    return [
        _measure_cue(cue, np.asarray(scores, float), filters, people, images, seed)
        for cue, scores in values.items()
    ]


def select_leaks(leakage: Iterable[GoldLeakage]) -> list[GoldLeakage]:
    """Those by which filters may be known."""
    return [row for row in leakage if row.is_leak]


def _measure_cue(
    cue: str, scores: np.ndarray, filters: np.ndarray, people: np.ndarray, images: np.ndarray, seed: int
) -> GoldLeakage:
    """Compute the AUROC of a cue and its interval, over pairs of questions that were shown to the same person."""
    known = ~np.isnan(scores)
    auroc = cluster_auroc(scores[known], filters[known], images[known], people[known])
    count = int(images.max(initial=-1)) + 1
    (plain,) = auroc(np.ones((1, count), int))
    if np.isnan(plain):
        return GoldLeakage(cue=cue, auroc=None, low=None, high=None)
    samples = bootstrap(auroc, count, NUM_REPLICATES, seed, num_rows=len(scores))
    low, high = percentile_interval(1 - samples if plain < 0.5 else samples)
    figures = (
        None if np.isnan(value) else round(float(value), 4) for value in (max(plain, 1 - plain), low, high)
    )
    reached, low, high = figures
    return GoldLeakage(cue=cue, auroc=reached, low=low, high=high)


def _score_by_words(shown: pd.DataFrame, groups: str, seed: int) -> pd.Series:
    """How a bag of words, learnt on other groups, scores each question; NaN for those not tried, or nothing to learn from.

    Everybody is shown the same texts at the same images, so each is tried once.
    """
    keys = ["image", "text", "role"]
    once = shown[keys].drop_duplicates()
    once = once.sample(min(MAX_TEXTS, len(once)), random_state=seed).sort_values(keys)
    labels, of = (once["role"] == "filter").to_numpy(), once[groups].to_numpy()
    scores = np.full(len(once), np.nan)
    if len(np.unique(of)) >= NUM_FOLDS:
        bag: Any = CountVectorizer(binary=True, token_pattern=r"[^\s]+").fit_transform(once["text"])
        folds = GroupKFold(NUM_FOLDS, shuffle=True, random_state=seed).split(labels, groups=of)
        with threadpool_limits(1):
            for learnt, tried in folds:
                if len(np.unique(labels[learnt])) == 2:
                    model = LogisticRegression(max_iter=300).fit(bag[learnt], labels[learnt])
                    # Folds differ in their share of filters; that is nothing that the words tell.
                    scores[tried] = np.round(model.decision_function(bag[tried]) - model.intercept_, 6)
    found = once.assign(scores=scores)
    return shown.merge(found, on=keys, how="left")["scores"]
