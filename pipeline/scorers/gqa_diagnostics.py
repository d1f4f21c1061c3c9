"""GQA's diagnostics beside accuracy (Hudson & Manning, CVPR 2019; the definitions of its evaluation page)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .items import Answered, Options

Questions = Mapping[str, Mapping[str, Any]]  # also choices and scene graphs: an object of GQA's for each id
Attention = Mapping[str, Sequence[Sequence[float]]]
Answers = Mapping[str, str]
Box = tuple[float, float, float, float]  # left, top, right, bottom as shares of the picture
Score = dict[str, Any]
COMMON = ("color", "material", "shape")  # what "what do both have in common" may be answered with


def gqa_diagnostics(
    questions: Questions,
    predictions: Answers,
    *,
    all_questions: Questions | None = None,
    choices: Questions | None = None,
    scenes: Questions | None = None,
    attention: Attention | None = None,
) -> dict[str, Score]:
    """Each score with how many items it rests on, or {"absent": why} where a file that it needs is not there.

    Args:
        questions: GQA's balanced questions by id, the ones to score. predictions: answer by question id.
        all_questions: the unbalanced file, where entailed questions stand that `questions` has not; predictions are
            needed for them too.
        choices: by question id `valid` and `plausible` answers (GQA's *_choices.json).
        scenes: scene graphs by picture id. attention: by question id a square grid of attention, row by row from the
            top, that sums to 1.

    Scores: accuracy, binary and open (is it a `query`?), by structural and semantic type and number of steps;
    consistency; validity; plausibility; grounding; distribution (chi-square per group, lower is better; the rest are
    fractions, higher is better).

    Raises:
        ValueError: a question of `questions` has no prediction.
    """
    if lost := [name for name in questions if name not in predictions]:
        raise ValueError(f"{len(lost)} questions have no prediction: {', '.join(lost[:20])}")
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
        "by_steps": _mean_by({name: str(steps(question)) for name, question in questions.items()}, right),
        "consistency": _consistency(questions, predictions, right, all_questions or {}),
        "validity": _allowed(questions, predictions, choices, "valid"),
        "plausibility": _allowed(questions, predictions, choices, "plausible"),
        "grounding": _grounding(questions, scenes, attention),
        "distribution": _distribution(questions, predictions),
    }


def steps(question: Mapping[str, Any]) -> int:
    """Steps of reasoning: those of the program but for `exist`, `query: name` and `choose name`, which only ask."""
    asking = ("exist", "query: name", "choose name")
    program = [f"{step['operation']}: {step['argument']}" for step in question.get("semantic") or ()]
    return sum(not any(text in step for text in asking) for step in program)


def gqa_group(answered: Answered, options: Options) -> dict[str, Any]:
    questions = {item.id: item.question for item in answered.items}
    if not all(questions.values()):
        return {"absent": "needs GQA's questions file as the benchmark"}
    said = dict(zip(questions, answered.said, strict=True)) | answered.model.answers
    names = ("all_questions", "choices", "scenes", "attention")
    return gqa_diagnostics(questions, said, **{name: getattr(options, name) for name in names})


def _mean(values: Sequence[float]) -> Score:
    if not len(values):
        return {"absent": "no such question"}
    return {"value": float(np.mean(values)), "items": len(values)}


def _mean_by(kinds: Mapping[str, str], right: Mapping[str, bool]) -> dict[str, Score]:
    return {
        kind: _mean([right[name] for name in kinds if kinds[name] == kind])
        for kind in sorted(set(kinds.values()))
    }


def _consistency(
    questions: Questions, said: Answers, right: Mapping[str, bool], unbalanced: Questions
) -> Score:
    """Mean accuracy over the entailed questions of each question answered right, averaged over those."""
    scores, lost, entailing = [], 0, 0
    for name, question in questions.items():
        others = [other for other in question.get("entailed") or () if other != name]
        entailing += bool(others)
        if others and right[name]:
            known = [o for o in others if o in said and (o in questions or o in unbalanced)]
            lost += len(others) - len(known)
            if known:
                answers = [(questions.get(o) or unbalanced[o])["answer"] for o in known]
                scores.append(np.mean([said[o] == a for o, a in zip(known, answers, strict=True)]))
    if not entailing:
        return {"absent": "no question of this file names entailed ones (GQA's test splits do not)"}
    if lost:
        return {
            "absent": f"{lost} entailed questions have no prediction or are in no questions file; give the unbalanced file and predict them too"
        }
    return _mean(scores) if scores else {"absent": "no question that entails others was answered right"}


def _allowed(questions: Questions, said: Answers, choices: Questions | None, which: str) -> Score:
    if choices is None:
        absent = "needs GQA's file of choices for this split (*_choices.json, with the evaluation script)"
        return {"absent": absent}
    if lost := sum(which not in choices.get(name, {}) for name in questions):
        return {
            "absent": f"the file of choices has nothing `{which}` for {lost} of {len(questions)} questions"
        }
    marks = []
    for name, question in questions.items():
        common = "Common" in ((question.get("types") or {}).get("detailed") or "")
        marks.append(said[name] in (COMMON if common else choices[name][which]))
    return _mean(marks)


def _distribution(questions: Questions, predictions: Answers) -> Score:
    """Chi-square of predicted against true answers in each global group, weighted by the group's questions."""
    truth: dict[str, Counter[str]] = defaultdict(Counter)
    said: dict[str, Counter[str]] = defaultdict(Counter)
    for name, question in questions.items():
        group = (question.get("groups") or {}).get("global")
        if group is not None:
            truth[group][question["answer"]] += 1
            said[group][predictions[name]] += 1
    if not truth:
        return {"absent": "no question of this file has a global group"}
    total = sum(counts.total() for counts in truth.values())
    chi_squares = (
        counts.total() * sum((said[group][answer] - n) ** 2 / n for answer, n in counts.items())
        for group, counts in truth.items()
    )
    return {"value": float(sum(chi_squares) / total), "items": total}


def _grounding(questions: Questions, scenes: Questions | None, attention: Attention | None) -> Score:
    """Attention on the regions that question and answer point to: the share of each cell that they cover together,
    times its attention, summed; averaged over questions that point somewhere."""
    if attention is None:
        return {"absent": "needs the model's attention over the picture (--attention)"}
    if scenes is None:
        return {"absent": "needs scene graphs, which GQA gives for train and val only (--scenes)"}
    lost = sum(name not in attention or q["imageId"] not in scenes for name, q in questions.items())
    if lost:
        return {"absent": f"{lost} of {len(questions)} questions have no attention or no scene graph"}
    scores = []
    for name, question in questions.items():
        boxes = _regions(question, scenes[question["imageId"]])
        if boxes:
            cells = np.asarray(attention[name], float)
            scores.append(float((covered(boxes, len(cells)) * cells).sum()))
    return _mean(scores) if scores else {"absent": "no question points to a region"}


def _regions(question: Mapping[str, Any], scene: Mapping[str, Any]) -> list[Box]:
    """What question and answer point to; the whole picture for a question on the scene."""
    notes = question.get("annotations") or {}
    names = {pointer for part in ("question", "fullAnswer") for pointer in (notes.get(part) or {}).values()}
    boxes = []
    for name in sorted(names & scene["objects"].keys()):
        o, width, height = scene["objects"][name], scene["width"], scene["height"]
        boxes.append((o["x"] / width, o["y"] / height, (o["x"] + o["w"]) / width, (o["y"] + o["h"]) / height))
    if any("scene" in step["argument"] for step in question.get("semantic") or ()):
        boxes.append((0.0, 0.0, 1.0, 1.0))
    return boxes


def covered(boxes: Sequence[Box], size: int) -> np.ndarray:
    """How much of each cell of a size x size grid the boxes cover together, each in [0, 1]; [row, column].

    >>> covered([(0.5, 0.5, 0.75, 0.75)], 2).tolist()
    [[0.0, 0.0], [0.0, 0.25]]
    """
    corners = np.array(boxes).reshape(-1, 2, 2)  # [box, start or end, x or y]
    grid = np.linspace(0, 1, size + 1)
    edges = [np.unique(np.clip(np.append(grid, corners[:, :, axis]), 0, 1)) for axis in (0, 1)]
    x, y = ((edge[:-1] + edge[1:]) / 2 for edge in edges)
    inside = np.zeros((len(y), len(x)), bool)
    for left, top, right, bottom in boxes:
        inside |= np.outer((y > top) & (y < bottom), (x > left) & (x < right))
    area = inside * np.outer(np.diff(edges[1]), np.diff(edges[0]))
    row, column = (np.minimum((middle * size).astype(int), size - 1) for middle in (y, x))
    cells = np.zeros((size, size))
    np.add.at(cells, (row[:, None], column[None]), area)
    return cells * size * size
