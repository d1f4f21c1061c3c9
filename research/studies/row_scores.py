"""Score models by AUAF on item sets, on the data and on resamples of images that all models and sets share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import yaml
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from pipeline.scoring.bootstrap import apply_in_batches, sample_cluster_counts
from pipeline.scoring.bootstrap_scores import make_realistic_statistic
from pipeline.scoring.items import Items
from pipeline.scoring.join import join_predictions
from pipeline.scoring.joined_predictions import JoinedPredictions, Predictions, ScoringOptions
from pipeline.scoring.leaderboard.prediction_files import parse_name_and_seed
from pipeline.scoring.prediction_reader import read_predictions
from pipeline.scoring.threshold_sweep import rank_items
from research.studies.rank_agreement import RowScores

# Key of the score over all unanswerable questions, in a dict whose other keys are categories.
ALL_CATEGORIES = ""
ScoresByCategory = dict[str, list[RowScores]]


class RowPredictions(NamedTuple):
    """The predictions of a row, a file for each seed."""

    name: str
    is_reference: bool
    predictions: tuple[Predictions, ...]


def read_rows(files: Sequence[Path]) -> list[RowPredictions]:
    """Return the rows of predictions files in one folder with `rows.yaml`, in the order of the files."""
    about = yaml.safe_load((files[0].parent / "rows.yaml").read_text(encoding="utf-8"))
    found: dict[str, list[Predictions]] = {}
    for path in files:
        found.setdefault(parse_name_and_seed(path)[0], []).append(read_predictions(path))
    return [RowPredictions(name, about[name]["reference"], tuple(seeds)) for name, seeds in found.items()]


def merge_predictions(
    rows: Sequence[RowPredictions], others: Sequence[RowPredictions]
) -> list[RowPredictions]:
    """Return the same rows with their predictions for further items.

    Raises:
        ValueError: The rows or their seeds differ.
    """
    return [
        row._replace(
            predictions=tuple(_merge(*pair) for pair in zip(row.predictions, more.predictions, strict=True))
        )
        for row, more in zip(rows, others, strict=True)
        if row.name == more.name
    ]


def _merge(one: Predictions, other: Predictions) -> Predictions:
    places = one.index_by_id | {key: place + len(one.answer) for key, place in other.index_by_id.items()}
    confidence = np.concatenate([_require_confidence(one), _require_confidence(other)])
    return one._replace(index_by_id=places, answer=[*one.answer, *other.answer], confidence=confidence)


def _require_confidence(said: Predictions) -> np.ndarray:
    if said.confidence is None:
        raise ValueError(f"{said.name}: there are no confidences")
    return said.confidence


def make_cluster_names(items: Items) -> np.ndarray:
    """Return the name of the resampling unit of each item, [n].

    A unit is an image. Images that are joined by pairs of items, such as the two images of a counterfactual
    pair, are one unit.
    """
    images = items.clusters
    pairs = np.where(items["pair_id"] == "", images, items["pair_id"])
    (names, image), (_, pair) = (
        np.unique(column.astype(str), return_inverse=True) for column in (images, pairs)
    )
    links = coo_array(
        (np.ones(len(items)), (image, pair + len(names))), shape=2 * (len(names) + pair.max() + 1,)
    )
    joined = connected_components(links, directed=False)[1]
    return joined[image].astype(str)


def draw_image_counts(count: int, repetitions: int, seed: int) -> np.ndarray:
    """Return how often each image is drawn, [1 + repetitions, count]. The first row is all ones (the data), the others are bootstrap counts."""
    return np.concatenate([np.ones((1, count), int), sample_cluster_counts(count, repetitions, seed)])


def score_rows(
    items: Items, rows: Sequence[RowPredictions], image: np.ndarray, image_counts: np.ndarray
) -> ScoresByCategory:
    """Return the AUAF of each row over all unanswerable questions (`ALL_CATEGORIES`) and by their category.

    The unanswerable questions of a category are scored against all answerable ones.

    Args:
        items: The set.
        rows: The predictions.
        image: The number of each item's image, [n].
        image_counts: [1 + r, images], as `draw_image_counts` returns them.

    Raises:
        UserError: A model lacks a prediction for at least one item.
    """
    answerable = items.answerable
    names = sorted({*items["category"][~answerable]} - {""})
    kinds = {name: answerable | (items["category"] == name) for name in names}
    found: ScoresByCategory = {name: [] for name in (ALL_CATEGORIES, *names)}
    for row in rows:
        seeds = []
        for said in row.predictions:
            at = _join_predictions(items, said)
            scoring = make_realistic_statistic(rank_items(*at.metric_inputs), image, ("auaf",), kinds)
            batches = apply_in_batches(scoring, image_counts, len(items))
            seeds.append({name: np.concatenate([batch[name] for batch in batches]) for name in batches[0]})
        for name, scores in found.items():
            columns = np.array([seed["auaf" if name == ALL_CATEGORIES else f"auaf/{name}"] for seed in seeds])
            scores.append(RowScores(row.name, row.is_reference, columns))
    return found


def _join_predictions(items: Items, said: Predictions) -> JoinedPredictions:
    return join_predictions(items, said, ScoringOptions(split="all"))


def category_proportions(items: Items) -> Mapping[str, float]:
    """Return the proportion of each category among unanswerable questions.

    Those without a category have the name "".
    """
    names, counts = np.unique(items["category"][~items.answerable].astype(str), return_counts=True)
    return dict(zip(names.tolist(), (counts / counts.sum()).tolist(), strict=True))
