"""Nets are trained once, and rows of the leaderboard are made of them."""

import json
import os
import signal

import numpy as np
import pytest
import torch

from pipeline.core.errors import UserError
from pipeline.scoring.prediction_reader import read_predictions
from pipeline.sources.training_questions import read_training_questions
from research.reference_models import baseline_nets, baseline_rows, net_configs
from research.reference_models.baseline_nets import (
    BaselineConfig,
    TrainingData,
    check_work_settings,
    evaluate_net,
    fit_detectors,
    train_missing_nets,
)
from research.reference_models.baseline_rows import (
    AVAILABLE_ROWS,
    UNAVAILABLE_ROWS,
    BaselineRequest,
    run_baselines,
    select_rows,
)
from research.reference_models.fitted_detectors import read_fitted
from research.reference_models.inference import load_net
from research.reference_models.net_training import NetTraining
from research.reference_models.question_arrays import QuestionCollector
from research.reference_models.region_stores import open_region_store
from tests.research.reference_models.small_gqa import COLORS, write

# The nets of real images: trained, fitted, and gone on with after a kill.


CONFIG = BaselineConfig(num_answers=3, base_epochs=3, extra_epochs=1, num_validation_questions=60)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    monkeypatch.setattr(baseline_nets, "TRAIN_BATCH_SIZE", 16)
    monkeypatch.setattr(net_configs, "TRAIN_BATCH_SIZE", 16)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    home = write(tmp_path_factory.mktemp("gqa"))
    store = open_region_store(home / "features")
    train, val = (
        QuestionCollector(read_training_questions(home / f"{name}.json")) for name in ("train", "val")
    )
    words, answers = train.build_vocabulary(), train.top_answers(3)
    learn, held = (one.to_question_set(words, answers, store, home) for one in (train, val))
    return TrainingData(learn, held, words, answers, store)


def quiet(text):
    pass


def test_halves_of_val_share_no_image_and_moments_are_those_of_train(data):
    first, second = data.validation_halves
    assert not set(first.image_indices) & set(second.image_indices)
    assert len(first.answers) + len(second.answers) == len(data.val.answers) == 60
    features = data.store.get_regions(np.unique(data.train.image_indices))[0]
    np.testing.assert_allclose(data.feature_moments[0], features.mean((0, 1)), rtol=1e-4, atol=1e-6)


def test_nets_start_from_the_base_and_existing_nets_stay(data, tmp_path):
    said = []
    train_missing_nets(tmp_path, ["vanilla", "separated"], 0, data, CONFIG, "cpu", said.append)
    assert sorted(path.name for path in tmp_path.glob("*.safetensors")) == [
        "base-0.safetensors",
        "separated-0.safetensors",
        "vanilla-0.safetensors",
    ]
    assert load_net(tmp_path / "separated-0.safetensors").answers == ("answerable",)
    before = len(said)
    train_missing_nets(tmp_path, ["vanilla"], 0, data, CONFIG, "cpu", said.append)
    assert len(said) == before


def test_a_run_killed_in_its_second_net_resumes_to_the_same_bytes(data, tmp_path, monkeypatch):
    nets, whole, killed = ["vanilla", "mix"], tmp_path / "whole", tmp_path / "killed"
    make_config = baseline_nets.make_training_config

    def often(*arguments, **named):
        config = make_config(*arguments, **named)
        return type(config)(**{**vars(config), "checkpoint_interval": 2})

    monkeypatch.setattr(baseline_nets, "make_training_config", often)
    for folder in (whole, killed):
        folder.mkdir()
    train_missing_nets(whole, nets, 0, data, CONFIG, "cpu", quiet)
    child = os.fork()
    if not child:
        learn, done = NetTraining.train_step, []

        def dies(self, number, batch):
            done.append(number)
            if len(done) == 14:  # 11 steps of the base, and 3 of 4 of the next
                os.kill(os.getpid(), signal.SIGKILL)
            return learn(self, number, batch)

        NetTraining.train_step = dies
        train_missing_nets(killed, nets, 0, data, CONFIG, "cpu", quiet)
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert (killed / "vanilla-0.pt").exists() and not (killed / "vanilla-0.safetensors").exists()
    train_missing_nets(killed, nets, 0, data, CONFIG, "cpu", quiet)
    for path in whole.glob("*.safetensors"):
        assert (killed / path.name).read_bytes() == path.read_bytes(), path.name


def test_metrics_of_a_net_are_those_of_its_answers(data, tmp_path):
    train_missing_nets(tmp_path, ["vanilla"], 0, data, CONFIG, "cpu", quiet)
    asked = load_net(tmp_path / "vanilla-0.safetensors")
    with torch.no_grad():
        asked.net.answer.weight.zero_()
        asked.net.answer.bias.copy_(torch.tensor([-1.0, 2.0, -1.0]))  # always the second answer
    found = evaluate_net(asked, data.val, data.store)
    assert found["accuracy"] == pytest.approx((data.val.answers == 1).mean()) and found["auroc"] == 0.5


def test_detectors_have_the_shapes_of_the_net_and_are_fitted_once(data, tmp_path):
    train_missing_nets(tmp_path, ["vanilla"], 0, data, CONFIG, "cpu", quiet)
    path = fit_detectors(tmp_path, 0, data, "cpu")
    found, before = read_fitted(path), path.read_bytes()
    assert found.scaling.scale.shape == (3,) and found.gaussians.centre.shape == (160,)
    assert fit_detectors(tmp_path, 0, data, "cpu") == path and path.read_bytes() == before


def test_a_work_folder_of_other_settings_is_rejected(tmp_path):
    check_work_settings(tmp_path, {"epochs": 5.0, "train": {"a.json": 7}})
    check_work_settings(tmp_path, {"epochs": 5.0, "train": {"a.json": 7}})
    with pytest.raises(UserError, match=r"other settings(.|\n)*epochs: 5.0 before, 2.0 now"):
        check_work_settings(tmp_path, {"epochs": 2.0, "train": {"a.json": 7}})


# `rgqa baselines`, whole, on a data set of a hundred questions.


ROWS_CONFIG = BaselineConfig(num_answers=3, base_epochs=2, extra_epochs=1, num_validation_questions=60)


def wanted(home, **changes):
    paths = {"train": home / "train.json", "val": home / "val.json", "release": home / "subset.json"}
    folders = {"work_dir": home / "work", "out": home / "out"}
    return BaselineRequest(
        home / "features", dataset="sample", config=ROWS_CONFIG, **{**paths, **folders, **changes}
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
