"""Indoor backgrounds: opaque, different from each other, and without anything that looks like an object."""

from xml.etree import ElementTree

import numpy as np
import pytest

from research.synthetic_world import indoor_backgrounds, rendering
from research.synthetic_world.ontology import INDOORS
from research.synthetic_world.scene_types import HEIGHT, HORIZON, WIDTH
from tests.research.synthetic_world.shown import SEEN


def shown(place):
    return rendering._rasterize(
        rendering._document(indoor_backgrounds.draw_room(place), 0, 0, WIDTH, HEIGHT), WIDTH, HEIGHT
    ).astype(int)


@pytest.mark.parametrize("place", INDOORS)
def test_a_room_is_well_formed_and_covers_the_whole_image(place):
    ElementTree.fromstring(f"<svg>{indoor_backgrounds.draw_room(place)}</svg>")
    pixels = shown(place)
    assert pixels.shape == (HEIGHT, WIDTH, 4) and (pixels[:, :, 3] == 255).all()


@pytest.mark.parametrize("place", INDOORS)
def test_the_wall_is_above_the_horizon_and_the_floor_below(place):
    pixels = shown(place)[:, :, :3]
    for rows, color in (
        (slice(12, 80), indoor_backgrounds.WALLS[place]),
        (slice(HORIZON + 8, HEIGHT), indoor_backgrounds.FLOORS[place]),
    ):
        median = np.median(pixels[rows].reshape(-1, 3), axis=0)
        assert np.abs(median - list(bytes.fromhex(color[1:]))).max() < 60, rows


@pytest.mark.parametrize("place", INDOORS)
def test_nothing_on_a_wall_stands_out_like_an_object(place):
    # the contrasts on the wall are those of tiles, stripes and cornices: below a third of the range
    wall = shown(place)[10:80, :, :3]
    assert np.ptp(wall.reshape(-1, 3), axis=0).max() < 85


def test_no_two_rooms_look_the_same():
    images = [shown(place)[:, :, :3] for place in INDOORS]
    for first in range(len(images)):
        for second in range(first):
            assert (np.abs(images[first] - images[second]).max(axis=2) > SEEN).mean() > 0.3
