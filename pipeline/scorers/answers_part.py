"""The parts of a report on answers alone: GQA's or VQA's questions, without unanswerable ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .gqa_diagnostics import gqa_diagnostics
from .join import Joined
from .masses import majority, masses, semantic_subjectivity, subjectivity
from .matching import anls, exact_match, token_f1
from .realistic_part import calibration_of, selective_scores
from .sweep import share
from .vqa_accuracy import most_frequent, vqa3_plus, vqa_accuracy
from .wups import wups

if TYPE_CHECKING:
    from .model_report import Options

THRESHOLDS = (0.7, 0.9)
NO_CONFIDENCE = {"absent": "the predictions give no confidences"}


def answers(joined: Joined, options: Options) -> dict[str, Any]:
    return {name: _mean(values) for name, values in per_item(joined).items()}


def per_item(joined: Joined) -> dict[str, np.ndarray]:
    """Every answer score of every item, [n]; an item without prediction has the answer ""."""
    right = [list(row.people or row.answers) for row in joined.rows]
    found = {}
    if joined.rows[0].people:
        found["vqa_accuracy"] = vqa_accuracy(joined.said, right)
        found["vqa_accuracy_corrected"] = vqa_accuracy(joined.said, right, form="corrected")
        found["vqa3_plus"] = vqa3_plus(joined.said, right)
    return found | {
        "exact_match": exact_match(joined.said, right),
        "normalized_match": exact_match(joined.said, right, form="squad"),
        "token_f1": token_f1(joined.said, right),
        "anls": anls(joined.said, right),
        "anls_no_threshold": anls(joined.said, right, threshold=0.0),
    }


def accuracy_of(joined: Joined) -> np.ndarray:
    """The accuracy that selective prediction rests on: VQA's where people answered, else exact match."""
    if joined.rows[0].people:
        return vqa_accuracy(joined.said, [list(row.people) for row in joined.rows])
    return joined.correct


def masses_part(joined: Joined, options: Options) -> dict[str, Any]:
    if not joined.rows[0].people:
        return {"absent": "needs several people's answers to each question (VQA's annotations)"}
    people = [list(row.people) for row in joined.rows]
    found: dict[str, Any] = {
        "ma": _mean(majority(joined.said, people)),
        "s": _mean(subjectivity(people)),
        "ma_x_s": _mean(masses(joined.said, people)),
    }
    vectors = options.extras.get("vectors")
    if vectors is None:
        return found | {"ses": {"absent": "needs word vectors (--vectors)"}}
    for t in THRESHOLDS:
        found[f"ses_{t}"] = _mean(semantic_subjectivity(people, vectors, threshold=t))
        found[f"masses_{t}"] = _mean(masses(joined.said, people, vectors, threshold=t))
    return found


def wups_part(joined: Joined, options: Options) -> dict[str, Any]:
    taxonomy = options.extras.get("taxonomy")
    if taxonomy is None:
        return {"absent": "needs WordNet's dict folder (--wordnet)"}
    right = [list(row.people or row.answers) for row in joined.rows]
    return {
        f"{name}_{t}": _mean(wups(joined.said, right, taxonomy, threshold=t, consensus=kind))
        for name, kind in (("acm", "mean"), ("mcm", "max"))
        for t in (0.9, 0.0)
    }


def selective(joined: Joined, options: Options) -> dict[str, Any]:
    if not joined.confident:
        return NO_CONFIDENCE
    return selective_scores(joined.confidence, accuracy_of(joined))


def calibration(joined: Joined, options: Options) -> dict[str, Any]:
    if not joined.confident:
        return NO_CONFIDENCE
    at = joined.at(~joined.missing)
    if (at.confidence < 0).any() or (at.confidence > 1).any():
        return {"absent": "some confidences lie outside [0, 1]: they are no probabilities"}
    right = np.array(
        [
            float(said == most_frequent(row.people)) if row.people else c
            for said, row, c in zip(at.said, at.rows, at.correct, strict=True)
        ]
    )
    return {"right": calibration_of(at.confidence, right), "items": len(at.rows)}


def gqa(joined: Joined, options: Options) -> dict[str, Any]:
    questions = options.extras.get("questions")
    if not questions:
        return {"absent": "needs GQA's questions file as the benchmark"}
    said = {row.id: text for row, text in zip(joined.rows, joined.said, strict=True)} | dict(
        options.extras.get("other_answers", {})
    )
    names = ("all_questions", "choices", "scenes", "attention")
    return gqa_diagnostics(questions, said, **{name: options.extras.get(name) for name in names})


def repeat(joined: Joined, cluster: np.ndarray) -> Callable[[np.ndarray], dict[str, np.ndarray]]:
    """A function from the weights of the pictures [b, pictures] to the mean answer scores of b repetitions."""
    items = per_item(joined)

    def scores(weights: np.ndarray) -> dict[str, np.ndarray]:
        drawn = weights[:, cluster]
        return {
            name: share(drawn @ np.nan_to_num(values), drawn @ ~np.isnan(values))
            for name, values in items.items()
        }

    return scores


def _mean(values: np.ndarray) -> float:
    """The mean of what is defined; NaN where nothing is."""
    return float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")
