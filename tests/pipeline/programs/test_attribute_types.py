from pipeline.programs.attribute_types import NO_LOOK, OVERLAPPING, POSITIONS, ZONES


def test_positions_are_thirds_of_the_picture():
    assert {type_: len(values) for type_, values in ZONES.items()} == dict.fromkeys(POSITIONS, 3)
    assert all("middle" in values for values in ZONES.values())


def test_a_type_is_one_thing():
    assert not NO_LOOK & POSITIONS and not OVERLAPPING & POSITIONS and not NO_LOOK & OVERLAPPING


def test_a_thing_has_one_colour_and_one_size_at_a_time():
    assert OVERLAPPING.isdisjoint({"color", "size", "material", "pose"})
