import pytest

from pipeline.language.relations import (
    _EXCLUDED_BY_ATTRIBUTE,
    ANTONYMS,
    extract_spatial_relation,
    get_antonym,
    get_excluded_attributes,
    get_implied_relation,
    infer_location,
)
from pipeline.language.similarity import is_similar_attribute


def test_the_opposite_of_the_opposite_is_the_relation_itself():
    assert all(ANTONYMS[ANTONYMS[relation]] == relation != ANTONYMS[relation] for relation in ANTONYMS)
    assert all(
        get_antonym(get_antonym(f"{verb} {word}")) == f"{verb} {word}"
        for verb in ("sitting", "lying")
        for word in ("on", "behind")
    )


@pytest.mark.parametrize(
    "relation, opposite",
    [
        ("to the left of", "to the right of"),
        ("left", "right"),
        ("top", "bottom"),
        ("above", "below"),
        ("in front of", "behind"),
        ("on", "under"),
        ("sitting on", "sitting under"),
        ("wearing", None),
        ("near", None),
        ("riding on", None),
        ("of", None),
    ],
)
def test_spatial_terms_have_opposites_and_other_relations_have_none(relation, opposite):
    assert get_antonym(relation) == opposite


def test_the_spatial_part_of_a_posture_is_its_preposition():
    assert extract_spatial_relation("sitting on top of") == "on top of"
    assert extract_spatial_relation("to the right of") == "to the right of"
    assert extract_spatial_relation("holding") == "holding"


@pytest.mark.parametrize(
    ("relation", "more"),
    [("sitting on", "on"), ("standing in", "in"), ("on", ""), ("looking at", ""), ("to the left of", "")],
)
def test_who_sits_on_something_is_on_it(relation, more):
    assert get_implied_relation(relation) == more


def test_what_excludes_a_look_is_excluded_by_it_unless_it_is_a_doing():
    for look, others in _EXCLUDED_BY_ATTRIBUTE.items():
        for other in others:
            assert look in get_excluded_attributes(other) or look.endswith("ing"), (look, other)


def test_no_look_excludes_itself_or_what_may_be_said_of_the_same_look():
    alike = [
        (look, other)
        for look, others in _EXCLUDED_BY_ATTRIBUTE.items()
        for other in others
        if look == other or is_similar_attribute(look, other)
    ]
    assert [pair for pair in alike if "sleeved" not in pair[0]] == []


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
    assert infer_location(scene) == where
