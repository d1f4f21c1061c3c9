"""The nets that rows are made of: how each is built and chosen."""

import numpy as np
import pytest
import torch

from research.reference_models.leaderboard_rows import LEADERBOARD_ROWS
from research.reference_models.net_configs import (
    BASE_NETS,
    NET_CONFIGS,
    compute_confidence,
    compute_selection_metrics,
    initialize_net,
    make_training_config,
    selection_metric,
)
from research.reference_models.region_stores import compute_feature_moments
from tests.research.reference_models.toy_nets import loaded_model
from tests.research.reference_models.toy_nets import tiny_shape as shape
from tests.research.reference_models.toy_nets import tiny_store as store


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
