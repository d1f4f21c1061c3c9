import numpy as np
import pytest

from pipeline.inference.attribution.panels import Attribution, Panel


def test_a_panel_is_found_by_its_method():
    panels = tuple(Panel(name, name.title(), np.ones((1, 1))) for name in ("attention", "grad-cam"))
    sighting = Attribution("red", 0.9, panels)
    assert sighting.get_panel("grad-cam") is panels[1]
    with pytest.raises(KeyError):
        sighting.get_panel("rollout")
