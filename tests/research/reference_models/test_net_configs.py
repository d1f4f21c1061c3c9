"""Nets by name: configurations, files, and rows of the leaderboard."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from research.reference_models.detector_table import DETECTORS
from research.reference_models.fitted_detectors import write_fitted
from research.reference_models.leaderboard_rows import (
    LEADERBOARD_ROWS,
    SINGLE_OUTPUT_NETS,
    LeaderboardRow,
    score_row,
)
from research.reference_models.model_outputs import HEAD_NAMES, ModelOutputs
from research.reference_models.net_configs import (
    BASE_NETS,
    NET_CONFIGS,
    compute_confidence,
    compute_selection_metrics,
    initialize_net,
    make_training_config,
    selection_metric,
)
from research.reference_models.net_files import REGION_SOURCES, find_nets, load_fitted
from research.reference_models.region_stores import compute_feature_moments
from tests.research.reference_models.toy_nets import loaded_model, toy_fitted
from tests.research.reference_models.toy_nets import tiny_shape as shape
from tests.research.reference_models.toy_nets import tiny_store as store

# The nets that rows are made of: how each is built and chosen.


def test_every_net_of_a_row_has_a_config():
    assert {
        net for row in LEADERBOARD_ROWS.values() for net in row.required_nets
    } == NET_CONFIGS.keys() - set(BASE_NETS)


def test_all_nets_see_the_same_number_of_answerable_questions():
    seen = {}
    for name, plan in NET_CONFIGS.items():
        config = make_training_config(plan, 100, 40, name in BASE_NETS, pointing_weight=0.3)
        seen[name] = (config.num_steps + (0 if plan.trains_from_scratch else 100)) * config.batch_size
    assert {name for name, count in seen.items() if count != 140 * 256} == set(BASE_NETS)


def test_the_selection_metric_depends_on_the_net():
    assert {
        name: selection_metric(plan) for name, plan in NET_CONFIGS.items() if selection_metric(plan) != "auaf"
    } == {
        "base": "accuracy",
        "own_base": "accuracy",
        "own_vanilla": "accuracy",
        "blind": "accuracy",
        "true_regions": "accuracy",
        "vanilla": "accuracy",
        "caption_match": "auroc",
        "separated": "auroc",
    }


@pytest.mark.parametrize("head", ["branch", "k_plus_1"])
def test_a_net_starts_from_the_base_where_shapes_are_equal(head):
    base = loaded_model(initialize_net(shape(), compute_feature_moments(store()), seed=3))
    net = initialize_net(shape(head), compute_feature_moments(store()), seed=4, base=base)
    own, given = net.state_dict(), base.net.state_dict()
    for name, value in given.items():
        assert torch.equal(own[name][: len(value)] if name.startswith("answer") else own[name], value), name
    alone = initialize_net(shape(answers=1), compute_feature_moments(store()), seed=4, base=base).state_dict()
    assert torch.equal(alone["join.weight"], given["join.weight"]) and alone["answer.weight"].shape == (1, 8)


def test_seeds_give_different_nets():
    one, two, again = (
        initialize_net(shape(), compute_feature_moments(store()), seed).join.weight for seed in (1, 2, 1)
    )
    assert torch.equal(one, again) and not torch.equal(one, two)


def test_higher_confidence_means_answerable_for_all_heads():
    logits = np.array([[-3.0, 2.0], [-5.0, -4.0]])
    assert compute_confidence(
        loaded_model(initialize_net(shape(), compute_feature_moments(store()), 0)), logits, {}
    ).tolist() == [2, -4]
    extra = {"k_plus_1": np.array([-7.0, 7.0]), "branch": np.array([1.0, -1.0])}
    assert compute_confidence(
        loaded_model(initialize_net(shape("k_plus_1"), compute_feature_moments(store()), 0)), logits, extra
    ).tolist() == [
        7,
        -7,
    ]
    assert compute_confidence(
        loaded_model(initialize_net(shape("branch"), compute_feature_moments(store()), 0)), logits, extra
    ).tolist() == [
        1,
        -1,
    ]


def test_selection_metrics_by_hand():
    # Accepting the surest two, the threshold between 0.9 and 0.5: one of two AQs is right, no UQ comes in.
    confidence, answerable = np.array([0.9, 0.5, 0.2]), np.array([True, True, False])
    found = compute_selection_metrics(confidence, answerable, np.array([1, 0, 0]))
    assert found["accuracy"] == 0.5 and found["auroc"] == 1 and found["auaf"] == pytest.approx(0.5)
    assert compute_selection_metrics(confidence, answerable, None) == {"auroc": 1.0}


# The files of a data set's nets.


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


# The rows: which nets and detector each takes, and what comes of them.


ANSWERS = ("yes", "no", "red")


def seen(rows, **extra):
    logits = np.array(rows, np.float32)
    return ModelOutputs(
        ANSWERS[: logits.shape[1]],
        logits,
        np.zeros((len(logits), 2), np.float32),
        {name: np.array(values, np.float32) for name, values in extra.items()},
    )


VANILLA = seen([[2, 0, 0], [0, 0, 1]])


def test_rows_are_distinct_and_name_existing_detectors():
    assert {row.detector for row in LEADERBOARD_ROWS.values()} <= DETECTORS.keys()
    assert set(SINGLE_OUTPUT_NETS) <= set(HEAD_NAMES)
    made = [row._replace(note="") for row in LEADERBOARD_ROWS.values()]
    assert len(set(made)) == len(made)


def test_a_row_has_the_answers_and_the_confidence_of_its_net():
    answers, confidence = score_row(LEADERBOARD_ROWS["msp"], {"vanilla": VANILLA})
    assert answers == ["yes", "red"]
    assert confidence == pytest.approx([1 / (1 + np.exp(-2)), 1 / (1 + np.exp(-1))])


def test_another_net_may_give_the_answers():
    rp = seen([[0, -1, -1], [0, -3, -4]])
    answers, confidence = score_row(LEADERBOARD_ROWS["rp_confidence"], {"vanilla": VANILLA, "rp": rp})
    assert answers == ["yes", "red"]
    assert confidence.tolist() == [0.5, 0.5]


def test_a_single_output_net_gives_the_confidence_for_another_nets_answers():
    alone = seen([[-1], [0]])
    answers, confidence = score_row(LEADERBOARD_ROWS["separated"], {"vanilla": VANILLA, "separated": alone})
    assert answers == ["yes", "red"]
    assert confidence == pytest.approx([1 / (1 + np.e), 0.5])


def test_the_ensemble_is_of_the_row_s_nets():
    rp, mix = seen([[0, 0, 0], [0, 9, 0]]), seen([[0, 0, 9], [0, 0, 0]])
    answers, confidence = score_row(LEADERBOARD_ROWS["ens"], {"rp": rp, "mix": mix})
    assert answers == ["red", "no"]
    assert confidence == pytest.approx([0.5 / (1 + np.exp(-9))] * 2)


def test_a_row_lists_all_required_nets():
    assert LeaderboardRow("msp", "rp", ("mix",), "vanilla").required_nets == ("rp", "mix", "vanilla")


def test_missing_inputs_of_a_detector_are_named():
    with pytest.raises(ValueError, match="Q-C needs caption_match"):
        score_row(LeaderboardRow("caption_match"), {"vanilla": VANILLA})
