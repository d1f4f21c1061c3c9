"""The files of a data set's nets."""

from __future__ import annotations

from research.reference_models.fitted_detectors import write_fitted
from research.reference_models.net_configs import BASE_NETS, NET_CONFIGS
from research.reference_models.net_files import REGION_SOURCES, find_nets, load_fitted
from tests.research.reference_models.toy_nets import toy_fitted


def test_files_are_nets_by_seed_in_the_order_of_seeds(tmp_path):
    names = ("rp-10", "rp_hard-2", "vanilla-10", "fitted-2", "regions")
    for name in names:
        (tmp_path / f"{name}.safetensors").touch()
    (tmp_path / "training.json").touch()
    found = find_nets(tmp_path)
    assert [*found] == [2, 10] and [*found[2]] == ["rp_hard"] and [*found[10]] == ["rp", "vanilla"]
    assert found[10]["rp"] == tmp_path / "rp-10.safetensors"
    assert find_nets(tmp_path / "none") == {}


def test_fitted_detectors_are_read_if_the_file_exists(tmp_path):
    write_fitted(tmp_path / "fitted-1.safetensors", toy_fitted(answers=4, features=3))
    found = load_fitted(tmp_path, 1)
    assert [*found] == ["gaussians", "scaling", "selector"] and found["gaussians"].means.shape[0] == 4
    assert load_fitted(tmp_path, 0) == {}


def test_nets_take_the_regions_of_their_training():
    assert {
        name: plan.region_source
        for name, plan in NET_CONFIGS.items()
        if plan.region_source != "detected" and name not in BASE_NETS
    } == REGION_SOURCES
