"""A figure for each effect: what stands on its axes."""

import json

import pytest

from research.studies.effect_plots import frame, picture
from research.studies.ranking_effects import EffectPoint

COMMON = {"low": 0.8, "high": 0.95, "tau": 0.9, "items": 120.0}
POINTS = [
    *(EffectPoint(effect="noise", subset="pt-hard", series="ours", x=x, **COMMON) for x in (0.0, 0.1)),
    *(
        EffectPoint(effect="cap", subset="clip-easy", series=series, x=x, wording=0.7, **COMMON)
        for x in (1.0, 10.0, 0.0)
        for series in ("ours", "the paper's rules")
    ),
    EffectPoint(effect="balancing", subset="clip-easy", series="ours", x=0, wording=0.5, **COMMON),
    EffectPoint(effect="size", subset="clip-easy", series="ours", x=0.5, **COMMON),
]


def test_the_axis_tells_what_was_changed():
    assert frame(POINTS, "noise")["where"].tolist() == [0.0, 0.1]
    assert frame(POINTS, "cap")["where"].tolist() == ["1", "1", "10", "10", "none", "none"]
    assert frame(POINTS, "balancing")["where"].tolist() == ["ours"]
    assert frame(POINTS, "size")["where"].tolist() == [120.0]
    with pytest.raises(ValueError, match="no point of size"):
        frame(POINTS[:2], "size")


@pytest.mark.parametrize("effect", ["noise", "cap", "balancing", "size"])
def test_each_is_a_chart_with_its_interval(effect):
    told = json.loads(picture(POINTS, effect).to_json())
    text = json.dumps(told)
    assert "tau with twins" in text and '"high"' in text
    assert ("AUROC of the wording alone" in text) == (effect in ("cap", "balancing"))
