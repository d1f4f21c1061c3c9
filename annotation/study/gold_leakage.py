"""Measure gold question leakage: how well gold questions can be recognized without the image, by repetition,
text, position, order, or by looking questions up in a public source.

An annotator who recognizes the gold question of a task can answer the other question carelessly and still
pass.

For each cue, an AUROC within annotators is computed: for a random gold question and a random other question
that were shown to the same annotator, the probability that the gold question has the larger value of the cue
(ties count one half). A value a below 0.5 is reported as 1 - a, because a cue that is reliably wrong is as
informative. Intervals come from a cluster bootstrap over images.
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

# A cue leaks if the upper end of the interval of its AUROC is above this value.
MAX_HIDDEN_AUROC = 0.6
# Number of bootstrap replicates.
NUM_REPLICATES = 200
# Number of folds of the cross-validated text model.
NUM_FOLDS = 5
# Maximum number of questions for the text model. More questions would not make the AUROC more precise.
MAX_TEXTS = 8_000


class GoldLeakage(Record):
    """How well a cue separates gold questions from others: AUROC in [0.5, 1] with its 95 % interval; None if
    undefined.
    """

    cue: str
    auroc: float | None
    low: float | None
    high: float | None

    @property
    def is_leak(self) -> bool:
        """Return whether gold questions may be recognized by this cue."""
        return (self.high or 0) > MAX_HIDDEN_AUROC


def build_shown_questions(stream: Iterable[tuple[str, str]], tasks: Mapping[str, Task]) -> pd.DataFrame:
    """Build the table of shown questions for `measure_gold_leakage`.

    Args:
        stream: (annotator, task id) in the order in which tasks were shown.
        tasks: Task id -> task.
    """
    rows = []
    for order, (person, key) in enumerate(stream):
        task = tasks[key]
        for position, question in enumerate((task.first, task.second)):
            rows.append((person, order, position, task.image_id, question.text, question.role))
    return pd.DataFrame(rows, columns=["annotator", "sequence_index", "position", "image_id", "text", "role"])


def find_source_levels(shown: pd.DataFrame, source: Iterable[tuple[str, str]]) -> np.ndarray:
    """Return what a search for each shown question in the source tells: [rows] of 0, 1 or 2.

    2 means that the source has the text for this image. Then the question is one of the image's own questions,
    which are gold questions and never candidates. 1 means that the source has the text for another image only,
    and 0 that the source does not have it.

    Args:
        shown: The shown questions, with the columns image_id and text.
        source: Image id and text of every question of the source. The letter case does not matter.
    """
    here = {(image_id, text.casefold()) for image_id, text in source}
    anywhere = {text for _, text in here}
    texts = shown["text"].map(str.casefold)
    rows = zip(shown["image_id"], texts, strict=True)
    return np.array([2 if row in here else int(row[1] in anywhere) for row in rows], int)


def measure_source_leakage(
    shown: pd.DataFrame, source: Iterable[tuple[str, str, str]], seed: int = 0
) -> list[GoldLeakage]:
    """Measure how well somebody who has the source's questions can recognize gold questions.

    There are two cues. "public source, by wording" is a search for the text. "public source, by meaning" also
    finds every paraphrase of a question, as an annotator can who knows the questions by heart.

    Args:
        shown: As for `measure_gold_leakage`.
        source: Image id, wording in the source, and wording in the study of every question of the source.
        seed: Seed of the bootstrap.
    """
    wanted = {text.casefold() for text in shown["text"].unique()}
    # A large source is read once, and only what is shown is kept.
    rows = [row for row in source if row[1].casefold() in wanted or row[2].casefold() in wanted]
    sources = {
        "public source, by wording": [(image_id, text) for image_id, text, _ in rows],
        "public source, by meaning": [(image_id, text) for image_id, *both in rows for text in both],
    }
    is_gold = (shown["role"] == "gold").to_numpy()
    annotators, images = (pd.factorize(shown[name])[0] for name in ("annotator", "image_id"))
    return [
        _measure_cue(cue, find_source_levels(shown, texts).astype(float), is_gold, annotators, images, seed)
        for cue, texts in sources.items()
    ]


def measure_gold_leakage(shown: pd.DataFrame, seed: int = 0) -> list[GoldLeakage]:
    """Measure the leakage of every cue that anybody has, in a fixed order.

    Args:
        shown: One row per question shown, with the columns annotator, sequence_index (of the task, per
            annotator), position (0 for the first question of the task, 1 for the second), image_id, text and
            role ("gold", "candidate" or "repeat").
        seed: Seed of the cross-validation folds and the bootstrap.
    """
    shown = shown.sort_values(["annotator", "sequence_index", "position"]).reset_index(drop=True)
    by_annotator = shown.groupby("annotator", observed=True)["sequence_index"]
    values = {
        "repeated text": shown.groupby(["annotator", "text"], observed=True).cumcount(),
        "repeated text and image": shown.groupby(["annotator", "image_id", "text"], observed=True).cumcount(),
        "bag of words, grouped by text": _score_by_words(shown, "text", seed),
        "bag of words, grouped by image": _score_by_words(shown, "image_id", seed),
        "position in the task": shown["position"],
        "position in the task sequence": by_annotator.rank(method="dense"),
    }
    is_gold = (shown["role"] == "gold").to_numpy()
    annotators, images = (pd.factorize(shown[name])[0] for name in ("annotator", "image_id"))
    return [
        _measure_cue(cue, np.asarray(scores, float), is_gold, annotators, images, seed)
        for cue, scores in values.items()
    ]


def select_leaks(leakage: Iterable[GoldLeakage]) -> list[GoldLeakage]:
    """Return the cues by which gold questions may be recognized."""
    return [row for row in leakage if row.is_leak]


def _measure_cue(
    cue: str, scores: np.ndarray, is_gold: np.ndarray, annotators: np.ndarray, images: np.ndarray, seed: int
) -> GoldLeakage:
    """Compute the AUROC of a cue, and its interval, over pairs of questions that were shown to the same
    annotator.
    """
    known = ~np.isnan(scores)
    auroc = cluster_auroc(scores[known], is_gold[known], images[known], annotators[known])
    count = int(images.max(initial=-1)) + 1
    (estimate,) = auroc(np.ones((1, count), int))
    if np.isnan(estimate):
        return GoldLeakage(cue=cue, auroc=None, low=None, high=None)
    samples = bootstrap(auroc, count, NUM_REPLICATES, seed, num_rows=len(scores))
    low, high = percentile_interval(1 - samples if estimate < 0.5 else samples)
    figures = (
        None if np.isnan(value) else round(float(value), 4)
        for value in (max(estimate, 1 - estimate), low, high)
    )
    value, low, high = figures
    return GoldLeakage(cue=cue, auroc=value, low=low, high=high)


def _score_by_words(shown: pd.DataFrame, groups: str, seed: int) -> pd.Series:
    """Return a bag-of-words score of each question by grouped cross-validation; NaN where no score was
    computed.

    All annotators see the same texts with the same images, so each distinct question is scored once.
    """
    keys = ["image_id", "text", "role"]
    distinct = shown[keys].drop_duplicates()
    distinct = distinct.sample(min(MAX_TEXTS, len(distinct)), random_state=seed).sort_values(keys)
    labels, group = (distinct["role"] == "gold").to_numpy(), distinct[groups].to_numpy()
    scores = np.full(len(distinct), np.nan)
    if len(np.unique(group)) >= NUM_FOLDS:
        bag: Any = CountVectorizer(binary=True, token_pattern=r"[^\s]+").fit_transform(distinct["text"])
        folds = GroupKFold(NUM_FOLDS, shuffle=True, random_state=seed).split(labels, groups=group)
        with threadpool_limits(1):
            for train, held_out in folds:
                if len(np.unique(labels[train])) == 2:
                    model = LogisticRegression(max_iter=300).fit(bag[train], labels[train])
                    # The intercept reflects the proportion of gold questions in the fold, which is not a cue.
                    scores[held_out] = np.round(model.decision_function(bag[held_out]) - model.intercept_, 6)
    return shown.merge(distinct.assign(scores=scores), on=keys, how="left")["scores"]
