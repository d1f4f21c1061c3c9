"""`rgqa sample fit-vqa`: which seeds are fitted, which are kept, and what is written."""

import pytest

from pipeline.core.errors import UserError
from pipeline.core.json_files import read_json, write_json
from research.reference_models.fitted_detectors import read_fitted
from research.synthetic_world import fit_vqa, fitted_methods, train_vqa
from research.synthetic_world.fit_vqa import (
    FittingRun,
    FittingRuns,
    fit_sample_vqa,
    merge_thresholds,
    read_fitting_runs,
)
from research.synthetic_world.fitted_methods import SubsetPredictions
from tests.research.reference_models.toy_nets import random_fitted
from tests.research.synthetic_world.here_pool import Here


@pytest.fixture
def done(tmp_path, monkeypatch):
    """Use nets of two seeds. Return the list of fitted seeds."""
    for name in ("regions", "vanilla-0", "rp-0", "vanilla-2"):
        (tmp_path / f"{name}.safetensors").write_text(name)
    seeds = []

    def fitted_for(seed):
        seeds.append(seed)
        return random_fitted(), {"small": 0.2, "large": 0.1}

    def answered(part, seed, fitted, wanted=()):
        confidence = {"choose": 0.25, "report": 0.75}[part] + seed
        rows = dict.fromkeys(("msp", *wanted), ([confidence, confidence / 2], [1.0, 0.0]))
        return SubsetPredictions([], {}, rows)

    monkeypatch.setattr(train_vqa, "OUTPUT_DIR", tmp_path)
    monkeypatch.setattr(train_vqa, "prepare_worlds", lambda pool: None)
    monkeypatch.setattr(fit_vqa, "get_context", lambda kind: Here)
    for name, value in {
        "fit_methods": fitted_for,
        "predict_subset": answered,
        "measure_selection": lambda _: {},
        "measure_accuracy": lambda _: {},
    }.items():
        monkeypatch.setattr(fitted_methods, name, value)
    return seeds


def test_all_seeds_that_have_a_net_are_fitted_once(done, tmp_path):
    fit_sample_vqa()
    assert done == [0, 2] and [*read_fitting_runs().seeds] == ["0", "2"]
    assert read_fitting_runs().seeds["0"].chosen == "large"
    assert {*read_fitting_runs().seeds["0"].files} == {"regions", "vanilla-0", "rp-0"}
    assert len(read_fitted(tmp_path / "fitted-2.safetensors").scaling.scale) == 4
    fit_sample_vqa()
    assert done == [0, 2]


@pytest.mark.parametrize("name", ["vanilla-2", "mix-2"])
def test_a_seed_of_another_net_or_of_one_more_is_fitted_again(done, tmp_path, name):
    fit_sample_vqa()
    (tmp_path / f"{name}.safetensors").write_text("another")
    fit_sample_vqa()
    assert done == [0, 2, 2]


def test_a_seed_whose_file_is_gone_is_fitted_again_and_another_detector_means_all(done, tmp_path):
    fit_sample_vqa()
    (tmp_path / "fitted-0.safetensors").unlink()
    fit_sample_vqa()
    assert done == [0, 2, 0]
    (tmp_path / "regions.safetensors").write_text("another")
    fit_sample_vqa()
    assert done == [0, 2, 0, 0, 2]


def test_thresholds_are_chosen_on_subset_choose(done, tmp_path):
    fit_sample_vqa()
    told = read_json(tmp_path / "thresholds.json")
    assert told["msp"]["0"]["at_risk"]["0.05"] == 0.25  # `report`'s confidences are 0.75
    assert told["msp"]["2"]["at_risk"]["0.05"] == 2.25


def test_a_killed_run_goes_on_with_the_next_seed(done, monkeypatch):
    whole = fitted_methods.fit_methods

    def dies(seed):
        if seed == 2:
            raise KeyboardInterrupt
        return whole(seed)

    monkeypatch.setattr(fitted_methods, "fit_methods", dies)
    with pytest.raises(KeyboardInterrupt):
        fit_sample_vqa()
    monkeypatch.setattr(fitted_methods, "fit_methods", whole)
    fit_sample_vqa()
    assert done == [0, 2]


def test_a_seeds_thresholds_take_the_place_of_its_earlier_ones(done, tmp_path):
    one = {"at_risk": {"0.05": 0.5}, "at_cost": {}}
    write_json(
        tmp_path / "thresholds.json", {"msp": {"0": one, "1": one}, "odin": {"0": one}, "gone": {"1": one}}
    )
    new = {"msp": {"at_risk": {"0.05": None}, "at_cost": {}}}
    assert merge_thresholds(0, new) == {"msp": {"0": new["msp"], "1": one}}


def test_without_a_net_it_says_what_to_run(done, tmp_path):
    for path in tmp_path.glob("vanilla-*"):
        path.unlink()
    with pytest.raises(UserError, match="rgqa sample train-vqa --seed 0"):
        fit_sample_vqa()


def test_runs_come_back_from_their_file(done, tmp_path):
    run = FittingRun(
        seed=0,
        files={},
        cpu_seconds=1.5,
        selection_scores={},
        chosen="",
        selection={},
        accuracy={},
        num_balanced=3,
    )
    write_json(tmp_path / "fitted.json", FittingRuns(seeds={"0": run}))
    assert read_fitting_runs().seeds == {"0": run}
