"""Rendered scenes, and their backgrounds."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from research.synthetic_world import rendering
from research.synthetic_world.drawings import DRAWINGS
from research.synthetic_world.drawings.appearance import Appearance
from research.synthetic_world.drawings.svg_shapes import band, make_tones, rect
from research.synthetic_world.drawings.textures import build_definitions
from research.synthetic_world.indoor_backgrounds import draw_room
from research.synthetic_world.ontology import (
    AGES,
    COLORS,
    INDOORS,
    KIND_BY_NAME,
    KINDS,
    MATERIALS,
    OUTDOORS,
    PATTERNS,
    WEATHERS,
)
from research.synthetic_world.outdoor_backgrounds import draw_landscape
from research.synthetic_world.placement import SUN_BOX
from research.synthetic_world.scene_types import ANCHORS, HEIGHT, HORIZON, WIDTH, PlacedObject
from tests.research.synthetic_world.shown import GROUND, SEEN, away, covers, image, plain, variants, world

# Rendered images: every attribute value of every kind is drawn in its box and differs from the others.


def test_every_kind_of_the_ontology_has_a_drawing_and_nothing_else_has():
    assert set(DRAWINGS) == set(KIND_BY_NAME)


@pytest.mark.parametrize("color", COLORS)
def test_every_material_and_every_pattern_has_a_surface_of_its_own(color):
    def patch(**looks) -> np.ndarray:
        part = Appearance(color, make_tones(COLORS[color]), has_fine_detail=True, **looks).draw_part(
            rect(2, 2, 44, 44)
        )
        svg = rendering._document(band(0, 48, GROUND) + build_definitions(part) + part, 0, 0, 48, 48)
        return rendering._rasterize(svg, 48, 48)[4:44, 4:44, :3].astype(int)

    surfaces = [patch(material=material) for material in (None, *MATERIALS)]
    surfaces += [patch(pattern=pattern) for pattern in PATTERNS]
    for i in range(len(surfaces)):
        for j in range(i):
            # the grain of wood is lines of a seventh of the surface; the least contrast is brown on brown
            assert (np.abs(surfaces[i] - surfaces[j]).max(axis=2) > SEEN / 2).mean() > 0.1, (color, i, j)
    for grained in (patch(material=material) for material in ("wood", "leather", "stone")):
        assert (np.abs(grained - np.median(grained, axis=(0, 1))).max(axis=2) > SEEN / 2).mean() > 0.05, color


def test_glass_keeps_its_color():
    names = list(COLORS)
    palette = np.array([list(bytes.fromhex(COLORS[name][1:])) for name in names])
    for kind in (kind for kind in KINDS if "glass" in kind.materials):
        for color in set(kind.colors) - {"white", "gray"}:  # which are also the colours of reflections
            pixels = image(plain(kind, color=color, material="glass"))
            seen = pixels[away(pixels, GROUND) > 24]
            nearest = np.abs(seen[:, None] - palette).sum(axis=2).argmin(axis=1)
            counts = dict(zip(names, np.bincount(nearest, minlength=len(names)), strict=True))
            del counts["white"], counts["gray"]
            assert max(counts, key=counts.get) == color, (kind.name, color, counts)


def test_clothes_cover_what_people_wear_below_them():
    for name in ("man", "woman", "boy", "girl"):
        for pose in KIND_BY_NAME[name].poses:
            person = plain(KIND_BY_NAME[name], pose=pose)
            _, _, w, h = person.box
            person = replace(person, box=(10, 10, 2 * w, 2 * h))
            worn = [
                PlacedObject(
                    part,
                    kind,
                    (10 + 2 * w * x, 10 + 2 * h * y, 2 * w * dx, 2 * h * dy),
                    rests,
                    color="green" if kind == "shirt" else "blue",
                )
                for part, kind, rests in (("body", "shirt", "body"), ("legs", "jeans", "legs"))
                for x, y, dx, dy in (ANCHORS[pose][part],)
            ]
            bare = rendering.render_scene(world(person), 2 * WIDTH, 2 * HEIGHT).astype(int)
            dressed = rendering.render_scene(world(person, *worn), 2 * WIDTH, 2 * HEIGHT).astype(int)
            for underclothes in ("#d3d6da", "#4a4f5a"):
                before, after = ((away(pixels, underclothes) < 6).sum() for pixels in (bare, dressed))
                assert after <= 0.06 * before, (name, pose, underclothes, before, after)


def test_a_mirrored_object_is_the_same_object_the_other_way_round():
    for kind in KINDS:
        thing = plain(kind)
        flipped = image(replace(thing, is_mirrored=True))[:, ::-1]
        assert np.abs(image(thing) - flipped).mean() < 8, kind.name  # edges are smoothed a little differently
    dog = plain(KIND_BY_NAME["dog"])
    assert np.abs(image(dog) - image(replace(dog, is_mirrored=True))).mean() > 30


def test_a_later_object_covers_an_earlier_one():
    red, blue = (
        PlacedObject(c, "box", (100, 200, 116, 100), "floor", color=c, state="closed")
        for c in ("red", "blue")
    )
    red_last, blue_last = rendering.render_scene(world(blue, red)), rendering.render_scene(world(red, blue))
    assert tuple(red_last[280, 150] > 150) == (True, False, False)
    assert tuple(blue_last[280, 150] > 150) == (False, False, True)


def test_people_differ_by_their_ids_but_their_ages_show_all_the_same():
    for name in ("man", "woman"):
        young, old = (
            [replace(plain(KIND_BY_NAME[name], age=age), object_id=str(i)) for i in range(12)] for age in AGES
        )
        assert len({image(person).tobytes() for person in young}) > 4
        grays = []
        for person in (*young, *old):  # light gray hair: no other part of a head is gray
            pixels = rendering.render_object(person, 400).astype(int)[20:100]
            grays.append((away(pixels, "#e4e5e8") < 4).sum())
        assert max(grays[:12]) < 20 and min(grays[12:]) > 200


def test_every_place_and_every_weather_has_its_own_background():
    places = [world(place=place) for place in INDOORS]
    places += [world(place=place, weather=weather) for place in OUTDOORS for weather in WEATHERS]
    shown = [rendering.render_scene(each, 224, 168).astype(int) for each in places]
    for i in range(len(shown)):
        for j in range(i):
            share = (np.abs(shown[i] - shown[j]).max(axis=2) > SEEN).mean()
            assert share > 0.02, (places[i], places[j])


def test_the_floor_begins_at_the_horizon():
    for place in INDOORS:
        pixels = rendering.render_scene(world(place=place)).astype(int)
        wall, floor = pixels[HORIZON - 6, 3], pixels[HORIZON + 4, 3]
        assert np.abs(wall - floor).max() > SEEN


def test_an_image_has_the_size_asked_for_and_shows_what_the_svg_shows():
    things = [
        replace(plain(kind), box=(60 * i, 120, *plain(kind).box[2:])) for i, kind in enumerate(KINDS[4:11])
    ]
    scene = world(*things, place="farm", weather="rainy")
    assert rendering.render_scene(scene, 128, 96).shape == (96, 128, 3)
    assert rendering.render_scene(scene).dtype == np.uint8
    direct = rendering._rasterize(rendering.scene_to_svg(scene), WIDTH, HEIGHT)[:, :, :3].astype(int)
    assert np.abs(direct - rendering.render_scene(scene)).max() <= 2


def test_svg_is_well_formed_and_holds_no_text_or_anything_from_outside():
    things = [
        replace(thing, object_id='"><script>alert(1)</script>') for kind in KINDS for thing in variants(kind)
    ]
    svg = rendering.scene_to_svg(world(*things))
    tags = {element.tag.split("}")[1] for element in ElementTree.fromstring(svg).iter()}
    assert tags <= {"svg", "g", "defs", "path", "rect", "ellipse", "linearGradient", "stop", "pattern"}
    assert "script" not in svg and "href" not in svg


def test_the_same_scene_gives_the_same_bytes_in_another_process():
    code = (
        "import hashlib; from research.synthetic_world import rendering; from research.synthetic_world.ontology import KINDS; from tests.research.synthetic_world.shown import plain, world; "
        "print(hashlib.sha256(rendering.render_scene(world(*(plain(k) for k in KINDS))).tobytes()).hexdigest())"
    )
    digests = {
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    }
    assert len(digests) == 1


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"kind": "dragon"}, "no kind 'dragon'"),
        ({"color": "mauve"}, "color 'mauve'"),
        ({"color": '"/><image href="file:///etc/passwd"/>'}, "color"),
        ({"color": None}, "color None"),
        ({"material": "glass"}, "material 'glass'"),
        ({"pattern": "striped"}, "pattern 'striped'"),
        ({"state": "ajar"}, "state 'ajar'"),
        ({"pose": "standing"}, "pose 'standing'"),
        ({"age": "old"}, "age 'old'"),
        ({"box": (0, 0, math.nan, 10)}, "box"),
        ({"box": (0, math.inf, 10, 10)}, "box"),
        ({"box": (0, 0, 0, 10)}, "box"),
        ({"box": (0, 0, 10)}, "box"),
    ],
)
def test_impossible_attributes_are_errors(wrong, said):
    cabinet = plain(KIND_BY_NAME["cabinet"])
    with pytest.raises(ValueError, match=said):
        rendering.object_to_svg(replace(cabinet, **wrong))


def test_all_faults_of_an_object_are_reported_at_once():
    with pytest.raises(ValueError, match=r"color 'mauve'.*pose 'flying'.*box"):
        rendering.object_to_svg(
            replace(plain(KIND_BY_NAME["dog"]), color="mauve", pose="flying", box=(0, 0, -1, 1))
        )


@pytest.mark.parametrize(
    ("place", "weather"), [("moon", ""), ("office", "rainy"), ("park", ""), ("park", "foggy"), ("", "sunny")]
)
def test_an_unknown_location_or_weather_is_an_error(place, weather):
    with pytest.raises(ValueError, match="location|weather"):
        rendering.render_scene(world(place=place, weather=weather))
    with pytest.raises(ValueError, match="location|weather"):
        rendering.scene_to_svg(world(place=place, weather=weather))


def test_an_image_without_pixels_is_an_error():
    with pytest.raises(ValueError, match="0 x 96"):
        rendering.render_scene(world(), 0, 96)


# Backgrounds are opaque and show nothing that looks like an object.


BACKGROUNDS = {
    **{place: draw_room(place) for place in INDOORS},
    **{f"{place} {weather}": draw_landscape(place, weather) for place in OUTDOORS for weather in WEATHERS},
}


def shown(name):
    return rendering._rasterize(
        rendering._document(BACKGROUNDS[name], 0, 0, WIDTH, HEIGHT), WIDTH, HEIGHT
    ).astype(int)


@pytest.mark.parametrize("name", BACKGROUNDS)
def test_a_background_is_well_formed_and_covers_the_whole_image(name):
    ElementTree.fromstring(f"<svg>{BACKGROUNDS[name]}</svg>")
    pixels = shown(name)
    assert pixels.shape == (HEIGHT, WIDTH, 4) and (pixels[:, :, 3] == 255).all()


@pytest.mark.parametrize("place", INDOORS)
def test_nothing_on_a_wall_stands_out_like_an_object(place):
    # the contrasts on the wall are those of tiles, stripes and cornices: below a third of the range
    wall = shown(place)[10:80, :, :3]
    assert np.ptp(wall.reshape(-1, 3), axis=0).max() < 85


@pytest.mark.parametrize("place", OUTDOORS)
def test_the_sun_shines_only_when_it_is_sunny_and_where_nothing_may_fly(place):
    x, y, w, h = (int(value) for value in SUN_BOX)
    for weather in WEATHERS:
        sun = covers(shown(f"{place} {weather}")[:HORIZON, :, :3], "#ffcf33")
        assert sun.any() == (weather == "sunny")
        outside = sun.copy()
        outside[y : y + h, x : x + w] = False
        assert not outside.any()
