import pytest

from pipeline.words.places import location


@pytest.mark.parametrize(
    ("scene", "where"),
    [
        ({"place": "kitchen"}, "indoors"),
        ({"place": "beach"}, "outdoors"),
        ({"weather": "sunny"}, "outdoors"),
        ({"place": "planet"}, ""),
        ({}, ""),
    ],
)
def test_a_place_or_a_weather_tells_whether_it_is_indoors(scene, where):
    assert location(scene) == where
