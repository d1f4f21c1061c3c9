"""Tests of `rgqa doubt` (pipeline/benchmark/label_errors)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pipeline.benchmark.label_errors.evidence import load_evidence, load_items
from pipeline.benchmark.label_errors.label_doubt import doubt_labels
from pipeline.benchmark.label_errors.noise_model import fit_label_noise
from pipeline.cli.doubt import write_doubt
from pipeline.core.errors import UserError
from tests.benchmark.label_error_sets import write_pope


def test_models_that_contradict_a_label_make_it_doubtful(tmp_path: Path) -> None:
    path, wrong = write_pope(tmp_path)
    items = load_items(str(path))
    found = doubt_labels(items, load_evidence(items, [tmp_path / f"{name}.json" for name in "abc"]))
    named = {item.item_id for item in found.items[: len(wrong)]}
    assert len(named & wrong) >= 0.8 * len(wrong)
    assert "3 of 3 models take it as" in found.items[0].reasons[0]
    # 5 % of the labels were turned over.
    assert found.total.low <= len(wrong) / 400 <= found.total.high
    assert not found.advice


def test_noise_rates_are_recovered_from_calibrated_log_odds() -> None:
    # The log odds are those of the truth, so the model is exact. Of true 0, 10 % are given as 1; of true 1, 4 % as 0.
    rng = np.random.default_rng(1)
    log_odds = rng.normal(0, 4, 20_000)
    truth = rng.random(20_000) < 1 / (1 + np.exp(-log_odds))
    given = np.where(truth, rng.random(20_000) >= 0.04, rng.random(20_000) < 0.1).astype(int)
    fitted = fit_label_noise(log_odds, given, np.full(20_000, "all", object))
    assert fitted.flips["all"] == pytest.approx([0.1, 0.04], abs=0.01)
    wrong = given != truth
    sure = (fitted.wrong > 0.4) & (fitted.wrong < 0.6)
    assert wrong[sure].mean() == pytest.approx(fitted.wrong[sure].mean(), abs=0.08)


def test_a_copy_of_a_model_adds_nothing(tmp_path: Path) -> None:
    path, _ = write_pope(tmp_path)
    (tmp_path / "copy.json").write_bytes((tmp_path / "b.json").read_bytes())
    items = load_items(str(path))
    one = doubt_labels(items, load_evidence(items, [tmp_path / "b.json"]))
    two = doubt_labels(items, load_evidence(items, [tmp_path / "b.json", tmp_path / "copy.json"]))
    # With an independent second model the sum of squares would rise much more.
    first, second = (np.array([item.probability for item in each.items]) for each in (one, two))
    assert np.abs(np.sort(first) - np.sort(second)).max() < 0.1
    assert "one model" in one.advice[0]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing", [{"question_id": "0", "prediction": "yes"}], "399 of 400 items have no prediction"),
        ("other", [{"question_id": "x", "prediction": "yes"}], "another release"),
        ("empty", [], "no rows"),
    ],
)
def test_predictions_that_do_not_fit_are_one_message(
    tmp_path: Path, name: str, content: list[dict[str, str]], message: str
) -> None:
    path, _ = write_pope(tmp_path)
    wrong = tmp_path / f"{name}.json"
    wrong.write_text(json.dumps(content))
    with pytest.raises(UserError, match=message):
        write_doubt(str(path), [wrong])


def test_a_set_with_one_label_is_refused(tmp_path: Path) -> None:
    path, _ = write_pope(tmp_path)
    path.write_text(path.read_text().replace('"no"', '"yes"'))
    with pytest.raises(UserError, match="two labels are needed"):
        write_doubt(str(path), [tmp_path / "a.json"])


def test_the_queue_is_sorted_and_complete(tmp_path: Path) -> None:
    path, _ = write_pope(tmp_path)
    write_doubt(str(path), [tmp_path / "a.json"], out=tmp_path / "queue.csv")
    lines = (tmp_path / "queue.csv").read_text().splitlines()
    assert len(lines) == 401
    probabilities = [float(line.split(",")[1]) for line in lines[1:]]
    assert probabilities == sorted(probabilities, reverse=True)
