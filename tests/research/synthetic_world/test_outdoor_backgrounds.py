"""Outdoor backgrounds: the weather is visible in the sky and on the ground."""

from xml.etree import ElementTree

import numpy as np
import pytest

from research.synthetic_world import outdoor_backgrounds, rendering
from research.synthetic_world.ontology import OUTDOORS, WEATHERS
from research.synthetic_world.placement import SUN_BOX
from research.synthetic_world.scene_types import HEIGHT, HORIZON, WIDTH
from tests.research.synthetic_world.shown import away, covers


def shown(place, weather):
    document = rendering._document(outdoor_backgrounds.draw_landscape(place, weather), 0, 0, WIDTH, HEIGHT)
    return rendering._rasterize(document, WIDTH, HEIGHT).astype(int)


@pytest.mark.parametrize("weather", WEATHERS)
@pytest.mark.parametrize("place", OUTDOORS)
def test_a_landscape_is_well_formed_and_covers_the_whole_image(place, weather):
    ElementTree.fromstring(f"<svg>{outdoor_backgrounds.draw_landscape(place, weather)}</svg>")
    assert (shown(place, weather)[:, :, 3] == 255).all()


@pytest.mark.parametrize("place", OUTDOORS)
def test_the_sun_shines_only_when_it_is_sunny_and_where_nothing_may_fly(place):
    x, y, w, h = (int(value) for value in SUN_BOX)
    for weather in WEATHERS:
        sun = covers(shown(place, weather)[:HORIZON, :, :3], "#ffcf33")
        assert sun.any() == (weather == "sunny")
        outside = sun.copy()
        outside[y : y + h, x : x + w] = False
        assert not outside.any()


@pytest.mark.parametrize("place", OUTDOORS)
def test_rain_darkens_and_snow_lightens_the_ground(place):
    brightness = {weather: shown(place, weather)[HORIZON + 50 :, :, :3].mean() for weather in WEATHERS}
    assert brightness["rainy"] < brightness["sunny"] < brightness["snowy"]
    assert (
        brightness["cloudy"] == brightness["sunny"] or place == "beach"
    )  # clouds change the sky, and the sea


@pytest.mark.parametrize("place", OUTDOORS)
def test_flakes_fall_when_it_snows(place):
    sky = slice(100, 150)
    for weather in WEATHERS:
        white = covers(shown(place, weather)[sky, :, :3], "#ffffff", 3).sum()
        assert (white > 50) == (weather == "snowy") or weather == "sunny"  # whose clouds are white


def test_the_sky_is_lighter_at_the_horizon():
    for weather, (top, bottom) in outdoor_backgrounds.SKIES.items():
        assert sum(bytes.fromhex(bottom[1:])) > sum(bytes.fromhex(top[1:])), weather


@pytest.mark.parametrize("place", ["park", "street", "farm"])
def test_the_ground_has_the_color_of_its_place(place):
    ground = shown(place, "sunny")[HORIZON + 20 :, :, :3]
    median = np.median(ground.reshape(-1, 3), axis=0)[None, None]
    assert away(median, outdoor_backgrounds.GROUNDS[place]).max() < 40
