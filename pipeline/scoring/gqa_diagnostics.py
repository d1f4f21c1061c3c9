"""Compute GQA's diagnostics: accuracy by type, consistency, validity, plausibility, grounding and
distribution.

Source: Hudson and Manning, CVPR 2019, with the definitions on GQA's evaluation page.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..core.errors import UserError, format_count
from .joined_predictions import JoinedPredictions, ScoringOptions

# Questions, choices or scene graphs by id.
GqaRecords = Mapping[str, Mapping[str, Any]]
Answers = Mapping[str, str]
Score = dict[str, Any]
# Maximum difference of 1 and the sum of attention weights, which may be rounded to four decimals.
SUM_TOLERANCE = 1e-3
# Valid answers to the question what two objects have in common.
COMMON_ATTRIBUTES = ("color", "material", "shape")


def compute_gqa_diagnostics(
    questions: GqaRecords,
    predictions: Answers,
    *,
    all_questions: GqaRecords | None = None,
    choices: GqaRecords | None = None,
    scenes: GqaRecords | None = None,
    attention: Any = None,
) -> dict[str, Score]:
    """Compute GQA's diagnostics.

    Args:
        questions: GQA's questions by id. Questions with `isBalanced: false` are not scored, as in GQA's own
            script.
        predictions: Question id -> predicted answer.
        all_questions: GQA's unbalanced questions by id. They contain the entailed questions that are not in
            `questions`. Entailed questions need predictions, too. None: consistency uses `questions` only.
        choices: `valid` and `plausible` answers by question id (GQA's *_choices.json).
        scenes: Scene graphs by image id.
        attention: Question id -> attention weights, which must sum to 1. The weights are either a square
            grid, [x][y] in GQA's order, or a list of regions [x0, y0, x1, y1, weight], with corners as
            fractions of the image size. A list of five rows of five numbers is read as a grid.

    Returns:
        Each score with the number of its items, or {"unavailable": reason} if a file is missing: accuracy,
        also for binary and open questions (those with a `query`) and by structural type, semantic type and
        number of steps; consistency; validity; plausibility; grounding; distribution (chi-square per group /
        100, lower is better). All but the distribution are fractions; higher is better. GQA's eval.py defines
        them.

    Raises:
        UserError: Lists balanced questions without a prediction, or faults of the attention.
    """
    everything = {**(all_questions or {}), **questions}
    questions = {name: question for name, question in questions.items() if question.get("isBalanced", True)}
    if lost := [name for name in questions if name not in predictions]:
        raise UserError(f"{format_count(len(lost), 'question')} without a prediction: {', '.join(lost[:20])}")
    right = {name: predictions[name] == question["answer"] for name, question in questions.items()}
    types = {name: question.get("types") or {} for name, question in questions.items()}
    structural = {name: kinds.get("structural") or "none" for name, kinds in types.items()}
    semantic = {name: kinds.get("semantic") or "none" for name, kinds in types.items()}
    return {
        "accuracy": _mean(list(right.values())),
        "binary": _mean([right[name] for name in questions if structural[name] != "query"]),
        "open": _mean([right[name] for name in questions if structural[name] == "query"]),
        "by_structural": _mean_by(structural, right),
        "by_semantic": _mean_by(semantic, right),
        "by_steps": _mean_by(
            {name: str(count_reasoning_steps(question)) for name, question in questions.items()}, right
        ),
        "consistency": _consistency(questions, predictions, right, everything),
        "validity": _choice_rate(questions, predictions, choices, "valid"),
        "plausibility": _choice_rate(questions, predictions, choices, "plausible"),
        "grounding": _grounding(questions, scenes, attention),
        "distribution": _distribution(questions, predictions),
    }


def count_reasoning_steps(question: Mapping[str, Any]) -> int:
    """Count the reasoning steps of a program, without `exist`, `query: name` and `choose name`."""
    asking = ("exist", "query: name", "choose name")
    program = [f"{step['operation']}: {step['argument']}" for step in question.get("semantic") or ()]
    return sum(not any(text in step for text in asking) for step in program)


def score_gqa(answered: JoinedPredictions, options: ScoringOptions) -> dict[str, Any]:
    questions = dict(zip(answered.items["id"], answered.items["gqa_question"], strict=True))
    if not all(questions.values()):
        return {"unavailable": "needs GQA's questions file as the benchmark"}
    said = dict(zip(questions, answered.answer, strict=True)) | answered.predictions.answer_by_id
    names = ("all_questions", "choices", "scenes", "attention")
    return compute_gqa_diagnostics(questions, said, **{name: getattr(options, name) for name in names})


def _mean(values: Sequence[float]) -> Score:
    if not len(values):
        return {"unavailable": "no question of this kind"}
    return {"value": float(np.mean(values)), "items": len(values)}


def _mean_by(kinds: Mapping[str, str], right: Mapping[str, bool]) -> dict[str, Score]:
    return {
        kind: _mean([right[name] for name in kinds if kinds[name] == kind])
        for kind in sorted(set(kinds.values()))
    }


def _consistency(
    questions: GqaRecords, said: Answers, right: Mapping[str, bool], everything: GqaRecords
) -> Score:
    """For each question that is answered correctly, compute the mean accuracy on its entailed questions;
    return the average.
    """
    scores, lost, entailing = [], 0, 0
    for name, question in questions.items():
        others = [other for other in question.get("entailed") or () if other != name]
        entailing += bool(others)
        if others and right[name]:
            known = [other for other in others if other in said and other in everything]
            lost += len(others) - len(known)
            if known:
                scores.append(np.mean([said[other] == everything[other]["answer"] for other in known]))
    if not entailing:
        return {
            "unavailable": "no question of this file has entailed questions (GQA's test splits have none)"
        }
    if lost:
        return {
            "unavailable": f"{lost} entailed questions have no prediction or are in no questions file. Add --resource all-questions=FILE and predict them, too"
        }
    return _mean(scores) if scores else {"unavailable": "no question that entails others was answered right"}


def _choice_rate(questions: GqaRecords, said: Answers, choices: GqaRecords | None, which: str) -> Score:
    if choices is None:
        return {
            "unavailable": "needs GQA's file of choices for this split (*_choices.json, with the evaluation script)"
        }
    if lost := sum(which not in choices.get(name, {}) for name in questions):
        return {
            "unavailable": f"the file of choices has no `{which}` answers for {lost} of {format_count(len(questions), 'question')}"
        }
    marks = []
    for name, question in questions.items():
        common = "Common" in ((question.get("types") or {}).get("detailed") or "")
        marks.append(said[name] in (COMMON_ATTRIBUTES if common else choices[name][which]))
    return _mean(marks)


def _distribution(questions: GqaRecords, predictions: Answers) -> Score:
    """Compute chi-square / 100 of predicted and correct answers in each global group, averaged with the group
    sizes as weights.
    """
    truth: dict[str, Counter[str]] = defaultdict(Counter)
    said: dict[str, Counter[str]] = defaultdict(Counter)
    for name, question in questions.items():
        group = (question.get("groups") or {}).get("global")
        if group is not None:
            truth[group][question["answer"]] += 1
            said[group][predictions[name]] += 1
    if not truth:
        return {"unavailable": "no question of this file has a global group"}
    total = sum(counts.total() for counts in truth.values())
    chi_squares = (
        counts.total() * sum((said[group][answer] - n) ** 2 / n for answer, n in counts.items())
        for group, counts in truth.items()
    )
    return {"value": float(sum(chi_squares) / total / 100), "items": total}


def _grounding(questions: GqaRecords, scenes: GqaRecords | None, attention: Any) -> Score:
    """Compute the attention on the boxes of the objects to which the question and the full answer point.

    The score of a question is the sum, over all boxes and cells, of the weight of the cell times the fraction
    of the cell inside the box. As in GQA's script, the overlap of two boxes counts twice, and a question
    without boxes scores 0. No question points to the whole image, because GQA's script looks for "scene" in
    the *keys* of a step, where it never occurs.
    """
    if attention is None:
        return {"unavailable": "needs the model's attention over the image (--resource attention=FILE)"}
    if scenes is None:
        return {
            "unavailable": "needs scene graphs, which GQA has for train and val only (--resource scenes=FILE)"
        }
    lost = sum(name not in attention or q["imageId"] not in scenes for name, q in questions.items())
    if lost:
        return {
            "unavailable": f"{lost} of {format_count(len(questions), 'question')} have no attention or no scene graph"
        }
    scores, faults = [], []
    for name, question in questions.items():
        try:
            cells = _attention_cells(attention[name])
            scores.append(_weight_inside_boxes(cells, _pointer_boxes(question, scenes[question["imageId"]])))
        except ValueError as error:
            faults.append(f"question {name}: {error}")
    if faults:
        raise UserError(
            [
                f"attention: {len(faults)} of {format_count(len(questions), 'question')} cannot be scored",
                *faults,
            ]
        )
    return _mean(scores)


def _attention_cells(weights: Any) -> np.ndarray:
    """Return the cells of an attention map, [cells, 5]: left, top, right, bottom, weight.

    Raises:
        ValueError: The weights are invalid.
    """
    try:
        table = np.array(weights, float)
    except (TypeError, ValueError):
        raise ValueError("attention is ragged or has values that are not numbers") from None
    if table.ndim != 2 or not len(table) or table.shape[1] not in (len(table), 5):
        raise ValueError(f"attention has shape {table.shape}, expected a square grid or rows of 5")
    if table.shape[0] == table.shape[1]:
        x, y = np.divmod(np.arange(table.size), len(table))
        table = np.stack([x, y, x + 1, y + 1, table.ravel() * len(table)], axis=1) / len(table)
    if not np.isfinite(table).all():
        raise ValueError("attention has NaN or infinite values")
    if (table[:, 4] < 0).any() or abs(table[:, 4].sum() - 1) > SUM_TOLERANCE:
        raise ValueError(
            f"smallest weight {table[:, 4].min():.6g}, sum {table[:, 4].sum():.6g}; expected no negative weight and a sum of 1"
        )
    if ((table[:, 2] <= table[:, 0]) | (table[:, 3] <= table[:, 1])).any():
        raise ValueError("a region of the attention is empty or inverted")
    return table


def _pointer_boxes(question: Mapping[str, Any], scene: Mapping[str, Any]) -> np.ndarray:
    """Return the boxes of all objects to which the question and the full answer point.

    Returns:
        [boxes, 4]: left, top, right, bottom as fractions of the image.

    Raises:
        ValueError: An object is not in the scene graph.
    """
    notes = question.get("annotations") or {}
    names = [pointer for part in ("question", "fullAnswer") for pointer in (notes.get(part) or {}).values()]
    if absent := [name for name in names if name not in scene["objects"]]:
        raise ValueError(f"its scene graph has no object {', '.join(absent)}")
    objects = [scene["objects"][name] for name in names]
    corners = [(o["x"], o["y"], o["x"] + o["w"], o["y"] + o["h"]) for o in objects]
    width, height = scene["width"], scene["height"]
    return np.array(corners, float).reshape(-1, 4) / [width, height, width, height]


def _weight_inside_boxes(cells: np.ndarray, boxes: np.ndarray) -> float:
    """Return the sum, over all cells and boxes, of the weight of the cell x the fraction of the cell inside
    the box.
    """
    low = np.maximum(cells[:, None, :2], boxes[None, :, :2])
    high = np.minimum(cells[:, None, 2:4], boxes[None, :, 2:])
    inside = np.clip(high - low, 0, None).prod(axis=2)
    return float((cells[:, 4] / (cells[:, 2:4] - cells[:, :2]).prod(axis=1) @ inside).sum())
