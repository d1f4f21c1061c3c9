"""The scene index, on the hand-made kitchen and park."""

import pytest

from research.synthetic_world.scene_index import ANTONYMS, SceneIndex
from tests.research.synthetic_world.kitchen import KITCHEN, LOOKS, PARK, scene

VIEW = SceneIndex(KITCHEN)


def test_attributes_are_found_by_their_type():
    assert VIEW.attributes == LOOKS


def test_relations_are_found_from_either_end():
    assert VIEW.subjects["on", "13"] == ["11"] and VIEW.targets["15", "wearing"] == ["16"]
    assert ("on", "13", "s") in VIEW.relations_by_object["11"] and (
        "on",
        "11",
        "o",
    ) in VIEW.relations_by_object["13"]


def test_a_category_names_all_its_kinds_and_an_underscore_everything():
    assert VIEW.find_by_name("cup") == ["11", "12"] and VIEW.find_by_name("furniture") == ["13", "14"]
    assert VIEW.find_by_name("_") == list(LOOKS)


def test_what_people_might_also_call_so_counts_when_it_must_be_clear():
    # a cup is a dish here, and some would call it a container
    assert VIEW.find_by_name("container") == [] and VIEW.find_by_name("container", strict=False) == [
        "11",
        "12",
    ]


@pytest.mark.parametrize(
    ("x", "side"),
    [
        # width 448; the left ends at 0.4, the right begins at 0.6; 0.04 on either side of these counts as neither
        (0.355, "left"), (0.365, None), (0.435, None), (0.445, "middle"), (0.555, "middle"), (0.565, None), (0.645, "right"),
    ],
)  # fmt: skip
def test_there_is_no_side_near_a_border(x, side):
    wide = scene({"1": ("cup", (round(1000 * x) - 10, 100, 20, 20), "red")}, [])
    image = type(wide)(image_id="n1", split="testdev", width=1000, height=1000, objects=wide.objects)
    assert SceneIndex(image).get_position("1", "hposition") == side


@pytest.mark.parametrize(("y", "part"), [(0.3, "top"), (0.5, None), (0.7, "bottom")])
def test_there_is_no_position_between_top_and_bottom(y, part):
    tall = scene({"1": ("cup", (100, round(336 * y) - 10, 20, 20), "red")}, [])
    assert SceneIndex(tall).get_position("1", "vposition") == part


def test_related_objects_are_listed_or_lie_in_that_direction():
    assert VIEW.find_related("cup", "to the left of", "15", "s") == ["11"]
    assert VIEW.find_related("_", "on", "11", "o") == ["13"]
    # the dog's centre (275) is right of the man's (225), though no relation says so
    assert VIEW.find_related("dog", "to the right of", "15", "s") == []
    assert VIEW.find_related("dog", "to the right of", "15", "s", strict=False) == ["18"]


def test_what_a_person_wears_and_holds_is_together_with_the_person():
    assert (
        VIEW.is_held_together("15", "16")
        and VIEW.is_held_together("16", "17")
        and not VIEW.is_held_together("15", "18")
    )
    assert SceneIndex(PARK).is_held_together("25", "24")


def test_every_antonym_has_its_own():
    assert all(ANTONYMS[opposite] == name for name, opposite in ANTONYMS.items()) and len(ANTONYMS) == 6
