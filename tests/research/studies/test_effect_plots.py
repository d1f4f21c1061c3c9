"""Plots of the effects on a ranking: their axes and intervals."""

import json

import pytest

from research.studies.effect_plots import make_effect_table, plot_effect
from research.studies.ranking_effects import EffectPoint

COMMON = {"low": 0.8, "high": 0.95, "tau": 0.9, "num_items": 120.0}
POINTS = [
    *(EffectPoint(effect="noise", subset="pt-hard", pairing_rules="ours", x=x, **COMMON) for x in (0.0, 0.1)),
    *(
        EffectPoint(
            effect="cap", subset="clip-easy", pairing_rules=series, x=x, text_only_auroc=0.7, **COMMON
        )
        for x in (1.0, 10.0, 0.0)
        for series in ("ours", "the paper's rules")
    ),
    EffectPoint(
        effect="balancing", subset="clip-easy", pairing_rules="ours", x=0, text_only_auroc=0.5, **COMMON
    ),
    EffectPoint(effect="size", subset="clip-easy", pairing_rules="ours", x=0.5, **COMMON),
]


def test_the_x_axis_shows_what_was_changed():
    assert make_effect_table(POINTS, "noise")["x_value"].tolist() == [0.0, 0.1]
    assert make_effect_table(POINTS, "cap")["x_value"].tolist() == ["1", "1", "10", "10", "none", "none"]
    assert make_effect_table(POINTS, "balancing")["x_value"].tolist() == ["ours"]
    assert make_effect_table(POINTS, "size")["x_value"].tolist() == [120.0]
    with pytest.raises(ValueError, match="effect size"):
        make_effect_table(POINTS[:2], "size")


@pytest.mark.parametrize("effect", ["noise", "cap", "balancing", "size"])
def test_every_effect_is_a_chart_with_intervals(effect):
    text = json.dumps(json.loads(plot_effect(POINTS, effect).to_json()))
    assert "tau with counterfactual pairs" in text and '"high"' in text
    assert ("text-only AUROC" in text) == (effect in ("cap", "balancing"))
