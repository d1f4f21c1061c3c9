"""`rgqa baselines`, whole, on a data set of a hundred questions."""

import json

import pytest
import torch

from pipeline.core.errors import UserError
from pipeline.scoring.prediction_reader import read_predictions
from research.reference_models import baseline_nets, baseline_rows, net_configs
from research.reference_models.baseline_nets import BaselineConfig
from research.reference_models.baseline_rows import (
    AVAILABLE_ROWS,
    UNAVAILABLE_ROWS,
    BaselineRequest,
    run_baselines,
    select_rows,
)
from tests.research.reference_models.small_gqa import COLORS, write

CONFIG = BaselineConfig(num_answers=3, base_epochs=2, extra_epochs=1, num_validation_questions=60)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    for module in (baseline_nets, net_configs):
        monkeypatch.setattr(module, "TRAIN_BATCH_SIZE", 16)
    yield
    torch.set_num_threads(threads)


def wanted(home, **changes):
    paths = {"train": home / "train.json", "val": home / "val.json", "release": home / "subset.json"}
    folders = {"work_dir": home / "work", "out": home / "out"}
    return BaselineRequest(
        home / "features", dataset="sample", config=CONFIG, **{**paths, **folders, **changes}
    )


def test_every_available_row_answers_every_item(tmp_path, capsys):
    home = write(tmp_path)
    run_baselines(wanted(home))
    files = sorted((home / "out").glob("*.json"))
    assert [path.name for path in files] == sorted(f"{row}-seed0.json" for row in AVAILABLE_ROWS)
    ids = [row["question_id"] for row in json.loads((home / "subset.json").read_text())]
    for path in files:
        rows = json.loads(path.read_text())
        assert [row["questionId"] for row in rows] == ids
        assert {row["prediction"] for row in rows} <= set(COLORS)
        assert read_predictions(path).confidence is not None
    shown = capsys.readouterr().out
    assert all(f"{row}: {why}" in shown for row, why in UNAVAILABLE_ROWS.items())
    before = {path: path.read_bytes() for path in files}
    trained = {path: path.stat().st_mtime_ns for path in (home / "work").iterdir()}
    run_baselines(wanted(home, rows=["msp"]))  # nothing is trained again
    assert {path: path.stat().st_mtime_ns for path in (home / "work").iterdir()} == trained
    assert all(path.read_bytes() == content for path, content in before.items())


def test_unavailable_and_unknown_rows_are_rejected_with_the_reason():
    assert select_rows(["rp", "msp"]) == ["msp", "rp"]
    with pytest.raises(UserError, match="rp_hard: needs CLIP"):
        select_rows(["rp_hard", "msp"])
    with pytest.raises(UserError, match="--baseline vilt"):
        select_rows(["vilt"])


def test_without_a_release_only_nets_are_trained(tmp_path, monkeypatch, capsys):
    home = write(tmp_path)
    monkeypatch.setattr(baseline_rows.params, "read_release_version", lambda: "9.9.9")
    run_baselines(wanted(home, release=None, rows=["text_only_net"]))
    assert "no release at data/release/sample/9.9.9 yet" in capsys.readouterr().out
    assert (home / "work" / "blind-0.safetensors").exists() and not (home / "out").exists()


def test_a_given_release_must_exist(tmp_path):
    home = write(tmp_path)
    with pytest.raises(UserError, match="no such release"):
        run_baselines(wanted(home, release=home / "nothing"))
