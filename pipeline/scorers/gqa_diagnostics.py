"""GQA's diagnostics beside accuracy (Hudson & Manning, CVPR 2019; the definitions of its evaluation page)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Found = dict[str, Any]
COMMON = ("color", "material", "shape")  # what "what do both have in common" may be answered with


def gqa_diagnostics(
    questions: Mapping[str, Mapping[str, Any]],
    predictions: Mapping[str, str],
    *,
    all_questions: Mapping[str, Mapping[str, Any]] | None = None,
    choices: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
    scenes: Mapping[str, Mapping[str, Any]] | None = None,
    attention: Mapping[str, Sequence[Sequence[float]]] | None = None,
) -> dict[str, Found]:
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
    right = {name: predictions[name] == q["answer"] for name, q in questions.items()}
    by: dict[str, dict[str, list[bool]]] = {
        "structural": defaultdict(list),
        "semantic": defaultdict(list),
        "steps": defaultdict(list),
    }
    kinds: dict[str, list[bool]] = {"binary": [], "open": []}
    for name, q in questions.items():
        types = q.get("types") or {}
        kinds["open" if types.get("structural") == "query" else "binary"].append(right[name])
        by["structural"][types.get("structural") or "none"].append(right[name])
        by["semantic"][types.get("semantic") or "none"].append(right[name])
        by["steps"][str(steps(q))].append(right[name])
    return {
        "accuracy": _mean(list(right.values())),
        "binary": _mean(kinds["binary"]),
        "open": _mean(kinds["open"]),
        **{
            f"by_{name}": {key: _mean(values) for key, values in sorted(groups.items())}
            for name, groups in by.items()
        },
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


def _mean(values: Sequence[float]) -> Found:
    return (
        {"value": float(np.mean(values)), "items": len(values)}
        if len(values)
        else {"absent": "no such question"}
    )


def _consistency(questions, predictions, right, all_questions) -> Found:
    """Mean accuracy over the entailed questions of each question answered right, averaged over those."""
    scores, lost, entailing = [], 0, 0
    for name, q in questions.items():
        others = [other for other in q.get("entailed") or () if other != name]
        entailing += bool(others)
        if not others or not right[name]:
            continue
        known = [o for o in others if o in predictions and (o in questions or o in all_questions)]
        lost += len(others) - len(known)
        if known:
            scores.append(
                np.mean([predictions[o] == (questions.get(o) or all_questions[o])["answer"] for o in known])
            )
    if not entailing:
        return {"absent": "no question of this file names entailed ones (GQA's test splits do not)"}
    if lost:
        return {
            "absent": f"{lost} entailed questions have no prediction or are in no questions file; give the unbalanced file and predict them too"
        }
    return _mean(scores) if scores else {"absent": "no question that entails others was answered right"}


def _allowed(questions, predictions, choices, which: str) -> Found:
    if choices is None:
        return {
            "absent": "needs GQA's file of choices for this split (*_choices.json, with the evaluation script)"
        }
    lost = [name for name in questions if which not in choices.get(name, {})]
    if lost:
        return {
            "absent": f"the file of choices has nothing `{which}` for {len(lost)} of {len(questions)} questions"
        }

    def allowed(name: str, q: Mapping[str, Any]) -> Sequence[str]:
        return COMMON if "Common" in ((q.get("types") or {}).get("detailed") or "") else choices[name][which]

    return _mean([predictions[name] in allowed(name, q) for name, q in questions.items()])


def _distribution(questions, predictions) -> Found:
    """Chi-square of predicted against true answers in each global group, weighted by the group's questions."""
    truth: dict[str, Counter[str]] = defaultdict(Counter)
    said: dict[str, Counter[str]] = defaultdict(Counter)
    for name, q in questions.items():
        group = (q.get("groups") or {}).get("global")
        if group is not None:
            truth[group][q["answer"]] += 1
            said[group][predictions[name]] += 1
    if not truth:
        return {"absent": "no question of this file has a global group"}
    total = sum(count.total() for count in truth.values())
    value = (
        sum(
            counts.total() * sum((said[group][answer] - n) ** 2 / n for answer, n in counts.items())
            for group, counts in truth.items()
        )
        / total
    )
    return {"value": float(value), "items": total}


def _grounding(questions, scenes, attention) -> Found:
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
    for name, q in questions.items():
        boxes = _regions(q, scenes[q["imageId"]])
        if boxes:
            scores.append(
                float((covered(boxes, len(attention[name])) * np.asarray(attention[name], float)).sum())
            )
    return _mean(scores) if scores else {"absent": "no question points to a region"}


def _regions(
    question: Mapping[str, Any], scene: Mapping[str, Any]
) -> list[tuple[float, float, float, float]]:
    """Boxes (left, top, right, bottom) as shares of the picture; the whole of it for a question on the scene."""
    notes = question.get("annotations") or {}
    names = {pointer for part in ("question", "fullAnswer") for pointer in (notes.get(part) or {}).values()}
    boxes = []
    for name in sorted(names & scene["objects"].keys()):
        o, width, height = scene["objects"][name], scene["width"], scene["height"]
        boxes.append((o["x"] / width, o["y"] / height, (o["x"] + o["w"]) / width, (o["y"] + o["h"]) / height))
    if any("scene" in step["argument"] for step in question.get("semantic") or ()):
        boxes.append((0.0, 0.0, 1.0, 1.0))
    return boxes


def covered(boxes: Sequence[tuple[float, float, float, float]], size: int) -> np.ndarray:
    """How much of each cell of a size x size grid the boxes cover together, each in [0, 1]; [row, column]."""
    edges = [
        np.unique(
            np.clip([*np.linspace(0, 1, size + 1), *(b[i] for b in boxes), *(b[i + 2] for b in boxes)], 0, 1)
        )
        for i in (0, 1)
    ]
    x, y = ((e[:-1] + e[1:]) / 2 for e in edges)
    inside = np.zeros((len(y), len(x)), bool)
    for left, top, right, bottom in boxes:
        inside |= np.outer((y > top) & (y < bottom), (x > left) & (x < right))
    area = inside * np.outer(np.diff(edges[1]), np.diff(edges[0]))
    cells = np.zeros((size, size))
    np.add.at(
        cells,
        (
            np.minimum((y * size).astype(int), size - 1)[:, None],
            np.minimum((x * size).astype(int), size - 1)[None],
        ),
        area,
    )
    return cells * size * size
