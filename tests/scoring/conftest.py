"""A small release, a model's predictions on it, and the command run on both."""

import json
import sys

import numpy as np
import pytest

from pipeline.scoring.cli import main
from pipeline.scoring.items import BenchmarkItem, Items
from pipeline.scoring.join import join_predictions
from pipeline.scoring.joined_predictions import Predictions, ScoringOptions

ROWS = [  # id, image, answer, pair, part, category, said, confidence
    ("a1", "n1", "red", "p1", "validation", None, "red", 0.9),
    ("u1", "n1", "UQ", "p1", "validation", "missing object", "blue", 0.2),
    ("a2", "n2", "yes", "p2", "test", None, "no", 0.8),
    ("u2", "n2", "UQ", "p2", "test", "wrong attribute", "no", 0.7),
    ("a3", "n3", "dog", "p3", "test", None, "Dog", 0.6),
    ("u3", "n3", "UQ", "p3", "test", "missing object", "cat", 0.1),
]


@pytest.fixture
def release(tmp_path):
    """A release's folder: subsets clip-easy and pt-hard, the same six items in both."""
    folder = tmp_path / "1.0.0"
    (folder / "rgqa").mkdir(parents=True)
    rows = [
        {"img_id": p, "question_id": i, "sent": "What color is the cat?", "label": {a: 1.0}}
        for i, p, a, *_ in ROWS
    ]
    items = [
        {
            "item": {
                "item_id": i,
                "subset": s,
                "category": c,
                "edits": [{"kind": "object"}] if a == "UQ" else [],
                "structural": "query",
                "semantic": "attr",
                "detailed": "",
                "split": split,
                "pair_id": pair,
            }
        }
        for s in ("clip-easy", "pt-hard")
        for i, p, a, pair, split, c, *_ in ROWS
    ]
    for subset in ("clip-easy", "pt-hard"):
        (folder / "rgqa" / f"{subset}.json").write_text(json.dumps(rows))
    (folder / "provenance.jsonl").write_text("\n".join(map(json.dumps, items)))
    (folder / "params.json").write_text(json.dumps({"version": "1.0.0"}))
    return folder


@pytest.fixture
def few_pairs_are_enough(monkeypatch):
    """Score any number of pairs."""
    monkeypatch.setattr(sys.modules["pipeline.scoring.dual_accuracy"], "MIN_PAIRS", 1)


def predictions():
    return [{"questionId": i, "prediction": said, "confidence": c} for i, *_, said, c in ROWS]


def write(path, value):
    path.write_text(json.dumps(value))
    return path


def run(*arguments):
    main([str(a) for a in arguments])


def refused(capsys, *arguments):
    """The command's message on what is wrong."""
    with pytest.raises(SystemExit) as caught:
        run(*arguments)
    assert caught.value.code == 1
    return capsys.readouterr().err


def scored(tmp_path, *arguments):
    """The command's JSON."""
    run(*arguments, "--json", tmp_path / "s.json")
    return json.loads((tmp_path / "s.json").read_text())


def answered(rows=ROWS, **options):
    """Items as in `ROWS`, of all parts unless one is named, joined with their predictions."""
    items = [
        BenchmarkItem(i, p, {} if a == "UQ" else {a: 1.0}, category=c or "", split=split, pair_id=pair)
        for i, p, a, pair, split, c, *_ in rows
    ]
    return join_predictions(
        Items.from_rows(items),
        model({row[0]: (row[-2], row[-1]) for row in rows}),
        ScoringOptions(**{"split": "all"} | options),
    )


def model(said, name="m"):
    """Predictions of (answer, confidence) by id; nobody is confident where the confidence is None."""
    places = {i: place for place, i in enumerate(said)}
    texts, confidence = [text for text, _ in said.values()], [c for _, c in said.values()]
    return Predictions(name, "", places, texts, None if None in confidence else np.array(confidence, float))


def vqa_answered(people, said, confidence=None):
    """Items with people's answers, joined with predictions."""
    items = [
        BenchmarkItem(str(i), f"n{i}", dict.fromkeys(texts, 1.0), tuple(texts))
        for i, texts in enumerate(people)
    ]
    confidence = confidence if confidence is not None else np.full(len(said), None)
    return join_predictions(
        Items.from_rows(items),
        model({str(i): pair for i, pair in enumerate(zip(said, confidence, strict=True))}),
        ScoringOptions(),
    )


def numbers(value, place=""):
    """Every number of a report by its place."""
    if isinstance(value, dict):
        return {
            key: n for name, inner in value.items() for key, n in numbers(inner, f"{place}/{name}").items()
        }
    if isinstance(value, list):
        return numbers(dict(enumerate(value)), place)
    return {place: value}
