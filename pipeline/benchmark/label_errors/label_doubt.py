"""Estimate for each item of a set the probability that its label is wrong, with reasons."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pipeline.benchmark.label_errors.evidence import (
    YES_NO,
    LabelledItems,
    ModelEvidence,
    make_features,
    select_rows,
)
from pipeline.benchmark.label_errors.noise_model import fit_label_noise, predict_labels
from pipeline.core.randomness import make_generator
from pipeline.core.records import Record
from pipeline.scoring import auroc
from pipeline.scoring.bootstrap import number_clusters, percentile_interval

# Number of bootstrap replicates of the intervals.
NUM_REPLICATES = 100
# Below this AUROC, models say too little about the labels of a subset.
MIN_AUROC = 0.7
# A text-only classifier is a reason if it is this much surer of the other label than of chance.
MIN_TEXT_SCORE = 0.15


class DoubtedItem(Record):
    """An item, with the probability that its label is wrong.

    Attributes:
        item_id: Id of the item.
        subset: Its subsets, separated by commas.
        label: The given label.
        probability: Probability that the label is wrong (0 to 1): the mean over its subsets.
        reasons: What speaks against the label, or for it if nothing speaks against it.
        question, image_id: The question, and the id of the image.
        source_id: Id of the source question, or of the item.
    """

    item_id: str
    subset: str
    label: str
    probability: float
    reasons: tuple[str, ...]
    question: str
    image_id: str
    source_id: str = ""


class WrongLabels(Record):
    """Expected wrong labels among the rows of a subset with one label.

    Attributes:
        subset, label: The subset and the given label.
        rows: Number of rows.
        expected: Expected number of wrong labels.
        rate, low, high: Their proportion, and its 95 % interval (bootstrap over images).
    """

    subset: str
    label: str
    rows: int
    expected: float
    rate: float
    low: float
    high: float


class LabelDoubt(Record):
    """The result.

    Attributes:
        name: Name of the set.
        models: Names of the models.
        auroc: Subset -> AUROC of the given labels by all evidence, cross-fitted.
        summary: Expected wrong labels by subset and label.
        total: Expected wrong labels of all rows.
        advice: What would help where the evidence is weak.
        items: All items, the most doubtful first.
    """

    name: str
    models: tuple[str, ...]
    auroc: dict[str, float]
    summary: tuple[WrongLabels, ...]
    total: WrongLabels
    advice: tuple[str, ...]
    items: tuple[DoubtedItem, ...]


class WrongProbabilities(NamedTuple):
    """What `estimate_wrong_labels` computes, in the order of the rows.

    Attributes:
        wrong: [n] probability that the label is wrong.
        log_odds: [n] cross-fitted log odds of label 1.
        text_scores: [n] as in `Features`.
        replicates: [replicates, n] probabilities on bootstrap samples of images; NaN for rows that were not sampled.
    """

    wrong: np.ndarray
    log_odds: np.ndarray
    text_scores: np.ndarray
    replicates: np.ndarray


def estimate_wrong_labels(
    items: LabelledItems, models: Sequence[ModelEvidence], seed: int = 0, num_replicates: int = 0
) -> WrongProbabilities:
    """Estimate the probability that each label is wrong.

    Args:
        items: The items.
        models: What the models say about them.
        seed: Seed of the folds and the bootstrap.
        num_replicates: Number of bootstrap replicates.
    """
    count = len(items.labels)
    log_odds, text_scores = np.zeros(count), np.zeros(count)
    for name in sorted(set(items.subsets.tolist())):
        rows = np.flatnonzero(items.subsets == name)
        part, said = select_rows(items, models, rows)
        features = make_features(part, said, part.labels, seed)
        log_odds[rows] = predict_labels(features.matrix, part.labels, features.groups, seed)
        text_scores[rows] = features.text_scores
    fitted = fit_label_noise(log_odds, items.labels, items.subsets)
    units = [image or key for image, key in zip(items.images, items.ids, strict=True)]
    num_units, (unit,) = number_clusters([units])
    rng = make_generator(seed, "doubt")
    members = np.split(np.argsort(unit, kind="stable"), np.cumsum(np.bincount(unit))[:-1])
    replicates = np.full((num_replicates, count), np.nan)
    for replicate in replicates:
        rows = np.concatenate([members[i] for i in rng.integers(num_units, size=num_units)])
        drawn = fit_label_noise(log_odds[rows], items.labels[rows], items.subsets[rows], fitted)
        replicate[rows] = drawn.wrong
    return WrongProbabilities(fitted.wrong, log_odds, text_scores, replicates)


def doubt_labels(items: LabelledItems, models: Sequence[ModelEvidence], seed: int = 0) -> LabelDoubt:
    """Estimate which labels are wrong, and say why.

    Args:
        items: The items of a set.
        models: What models say about them.
        seed: Seed of the folds and the bootstrap.
    """
    found = estimate_wrong_labels(items, models, seed, NUM_REPLICATES)
    names = sorted(set(items.subsets.tolist()))
    aurocs = {
        name: round(auroc(found.log_odds[rows], items.labels[rows] == 1), 3)
        for name in names
        for rows in [items.subsets == name]
        if len(set(items.labels[rows].tolist())) > 1
    }
    summary = tuple(
        _summarize(name, items.label_names[label], found, (items.subsets == name) & (items.labels == label))
        for name in names
        for label in (0, 1)
        if ((items.subsets == name) & (items.labels == label)).any()
    )
    total = _summarize("all", "all", found, np.ones(len(items.labels), bool))
    return LabelDoubt(
        name=items.name,
        models=tuple(model.name for model in models),
        auroc=aurocs,
        summary=summary,
        total=total,
        advice=tuple(_advise(models, aurocs)),
        items=tuple(_list_items(items, models, found)),
    )


def _summarize(subset: str, label: str, found: WrongProbabilities, rows: np.ndarray) -> WrongLabels:
    drawn = found.replicates[:, rows]
    drawn = drawn[~np.isnan(drawn).all(axis=1)]
    low, high = percentile_interval(np.nanmean(drawn, axis=1)) if len(drawn) else (np.nan, np.nan)
    expected = float(found.wrong[rows].sum())
    rate = expected / int(rows.sum())
    return WrongLabels(
        subset=subset,
        label=label,
        rows=int(rows.sum()),
        expected=round(expected, 2),
        rate=round(rate, 5),
        low=round(min(float(low), rate), 5),
        high=round(max(float(high), rate), 5),
    )


def _advise(models: Sequence[ModelEvidence], aurocs: dict[str, float]) -> list[str]:
    """Return what would make the result surer."""
    advice = []
    if len(models) == 1:
        advice.append(
            "With one model, its own mistakes look like wrong labels. Add models of other families; copies of the same model add nothing."
        )
    weak = [f"{name} ({value:.2f})" for name, value in aurocs.items() if value < MIN_AUROC]
    if weak:
        advice.append(
            f"The evidence hardly separates the labels of {', '.join(weak)} (AUROC below {MIN_AUROC}). There the estimate rests on"
            " the other subsets and on published error rates. Add stronger models, or let people judge a random sample."
        )
    return advice


def _list_items(
    items: LabelledItems, models: Sequence[ModelEvidence], found: WrongProbabilities
) -> list[DoubtedItem]:
    """Return each item once, the most doubtful first; ties are broken by id."""
    rows_of: dict[str, list[int]] = defaultdict(list)
    for row, key in enumerate(items.ids):
        rows_of[key].append(row)
    votes = [_count_as_positive(items, model) for model in models]
    listed = []
    for key, rows in rows_of.items():
        worst = max(rows, key=lambda row: found.wrong[row])
        listed.append(
            DoubtedItem(
                item_id=key,
                subset=", ".join(str(items.subsets[row]) for row in rows),
                label=items.label_names[items.labels[worst]],
                probability=round(float(np.mean(found.wrong[rows])), 4),
                reasons=tuple(_explain(items, models, votes, found, worst)),
                question=items.texts[worst],
                image_id=items.images[worst],
                source_id=items.sources[worst],
            )
        )
    return sorted(listed, key=lambda item: (-item.probability, item.item_id))


def _count_as_positive(items: LabelledItems, model: ModelEvidence) -> np.ndarray:
    """Return for each item whether a model says label 1, [n].

    A confidence has no natural threshold. So a model says label 1 of as many items of a subset as have this label.
    """
    if items.label_names == YES_NO:
        return model.scores > 0
    says = np.zeros(len(items.labels), bool)
    for name in set(items.subsets.tolist()):
        rows = items.subsets == name
        says[rows] = model.scores[rows] > np.quantile(model.scores[rows], 1 - items.labels[rows].mean())
    return says


def _explain(
    items: LabelledItems,
    models: Sequence[ModelEvidence],
    votes: Sequence[np.ndarray],
    found: WrongProbabilities,
    row: int,
) -> list[str]:
    """Return the reasons for and against a label, those against it first."""
    label = int(items.labels[row])
    names = items.label_names if items.label_names != ("AQ", "UQ") else ("answerable", "unanswerable")
    other = names[1 - label]
    against = [model for model, says in zip(models, votes, strict=True) if bool(says[row]) != bool(label)]
    reasons = []
    if against:
        detail = ""
        if items.label_names == YES_NO or label == 1:
            answers = Counter(model.answers[row] for model in against)
            answer, times = answers.most_common(1)[0]
            detail = f"; {times} of them answer{'s' if times == 1 else ''} {answer!r}"
        known = [float(model.confidence[row]) for model in against if model.confidence is not None]
        if known:
            detail += f", with a median confidence of {np.median(known):.2g}"
        reasons.append(f"{len(against)} of {len(models)} models take it as {other}{detail}")
    if label == 0 and items.keys[row] and models:
        right = sum(model.answers[row] in items.keys[row] for model in models)
        if right < len(models) / 2:
            reasons.append(f"{right} of {len(models)} models give the listed answer {items.keys[row][0]!r}")
    text = found.text_scores[row]
    if (text if label == 0 else -text) > MIN_TEXT_SCORE:
        reasons.append(f"its text looks {other}")
    reasons += items.notes.get((str(items.subsets[row]), items.ids[row]), ())
    return reasons or [f"nothing speaks against {names[label]}"]
