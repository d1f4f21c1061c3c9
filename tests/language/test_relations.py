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
def test_postures_imply_their_preposition(relation, more):
    assert get_implied_relation(relation) == more


def test_exclusion_of_attributes_is_symmetric_except_for_activities():
    for attribute, others in _EXCLUDED_BY_ATTRIBUTE.items():
        for other in others:
            assert attribute in get_excluded_attributes(other) or attribute.endswith("ing"), (
                attribute,
                other,
            )


def test_no_attribute_excludes_itself_or_a_similar_one():
    alike = [
        (attribute, other)
        for attribute, others in _EXCLUDED_BY_ATTRIBUTE.items()
        for other in others
        if attribute == other or is_similar_attribute(attribute, other)
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
def test_the_place_or_the_weather_determines_the_location(scene, where):
    assert infer_location(scene) == where
