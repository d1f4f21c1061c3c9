"""AUAF of rows on sets of items, on the data and on draws of pictures that all rows and sets share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import yaml
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from pipeline.scoring.bootstrap import apply_in_batches, cluster_counts
from pipeline.scoring.bootstrap_scores import realistic_on_counts
from pipeline.scoring.items import Items
from pipeline.scoring.join import join
from pipeline.scoring.joined_predictions import Answered, Options, Predictions
from pipeline.scoring.leaderboard.prediction_files import name_and_seed
from pipeline.scoring.prediction_reader import read_predictions
from pipeline.scoring.threshold_sweep import ranking
from research.studies.rank_agreement import SeedScores

ALL = ""  # beside categories: all unanswerable questions
ByCategory = dict[str, list[SeedScores]]


class RowSaid(NamedTuple):
    """What a row said, a file of predictions for each seed."""

    name: str
    reference: bool
    seeds: tuple[Predictions, ...]


def read_rows(files: Sequence[Path]) -> list[RowSaid]:
    """The rows of predictions files that lie in one folder with `rows.yaml`, in the order of the files."""
    about = yaml.safe_load((files[0].parent / "rows.yaml").read_text(encoding="utf-8"))
    found: dict[str, list[Predictions]] = {}
    for path in files:
        found.setdefault(name_and_seed(path)[0], []).append(read_predictions(path))
    return [RowSaid(name, about[name]["reference"], tuple(seeds)) for name, seeds in found.items()]


def together(rows: Sequence[RowSaid], others: Sequence[RowSaid]) -> list[RowSaid]:
    """The same rows with what they said to further items.

    Raises:
        ValueError: the rows or their seeds are not the same.
    """
    return [
        row._replace(seeds=tuple(_both(*pair) for pair in zip(row.seeds, more.seeds, strict=True)))
        for row, more in zip(rows, others, strict=True)
        if row.name == more.name
    ]


def _both(one: Predictions, other: Predictions) -> Predictions:
    places = one.places | {key: place + len(one.said) for key, place in other.places.items()}
    confidence = np.concatenate([_confidence(one), _confidence(other)])
    return one._replace(places=places, said=[*one.said, *other.said], confidence=confidence)


def _confidence(said: Predictions) -> np.ndarray:
    if said.confidence is None:
        raise ValueError(f"{said.name}: no confidences")
    return said.confidence


def scenes_of(items: Items) -> np.ndarray:
    """What is to be drawn as a whole, a name for each item, [n]: pictures, and where pairs of items join several pictures (of
    twins: the two drawings of a scene), all of these together."""
    pictures = items.clusters
    pairs = np.where(items["pair"] == "", pictures, items["pair"])
    (names, picture), (_, pair) = (
        np.unique(column.astype(str), return_inverse=True) for column in (pictures, pairs)
    )
    links = coo_array(
        (np.ones(len(items)), (picture, pair + len(names))), shape=2 * (len(names) + pair.max() + 1,)
    )
    joined = connected_components(links, directed=False)[1]
    return joined[picture].astype(str)


def redrawn(count: int, repetitions: int, seed: int) -> np.ndarray:
    """[1 + repetitions, count] how often each of so many pictures is drawn: each once, then with replacement."""
    return np.concatenate([np.ones((1, count), int), cluster_counts(count, repetitions, seed)])


def scores_of_rows(
    items: Items, rows: Sequence[RowSaid], picture: np.ndarray, drawn: np.ndarray
) -> ByCategory:
    """AUAF of each row: by `ALL`, and by category of unanswerable questions, these against all answerable ones.

    Args:
        picture: [n] the number of each item's picture. drawn: [1 + r, pictures], as `redrawn` makes them.

    Raises:
        UserError: a row says nothing to any item.
    """
    answerable = items.answerable
    names = sorted({*items["category"][~answerable]} - {""})
    kinds = {name: answerable | (items["category"] == name) for name in names}
    found: ByCategory = {name: [] for name in (ALL, *names)}
    for row in rows:
        seeds = []
        for said in row.seeds:
            at = _answered(items, said)
            scoring = realistic_on_counts(ranking(*at.columns), picture, ("auaf",), kinds)
            batches = apply_in_batches(scoring, drawn, len(items))
            seeds.append({name: np.concatenate([batch[name] for batch in batches]) for name in batches[0]})
        for name, scores in found.items():
            columns = np.array([seed["auaf" if name == ALL else f"auaf/{name}"] for seed in seeds])
            scores.append(SeedScores(row.name, row.reference, columns))
    return found


def _answered(items: Items, said: Predictions) -> Answered:
    return join(items, said, Options(part="all"))


def shares_of(items: Items) -> Mapping[str, float]:
    """What share of the unanswerable questions is of each category; those without one have the name ""."""
    names, counts = np.unique(items["category"][~items.answerable].astype(str), return_counts=True)
    return dict(zip(names.tolist(), (counts / counts.sum()).tolist(), strict=True))
