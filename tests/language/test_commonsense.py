"""Common sense about objects and relations, and similarity of names."""

import pytest

from pipeline.language.commonsense import get_attribute_rules, get_relation_rules
from pipeline.language.object_taxonomy import (
    _TAXONOMY,
    get_kinds,
    get_main_kind,
    is_selected,
    parse_name_filter,
)
from pipeline.language.relations import (
    _EXCLUDED_BY_ATTRIBUTE,
    ANTONYMS,
    extract_spatial_relation,
    get_antonym,
    get_excluded_attributes,
    get_implied_relation,
    infer_location,
)
from pipeline.language.similarity import (
    get_similarity_keys,
    is_same_answer,
    is_similar_attribute,
    option_to_answer,
)

# Commonsense
# Kinds of everyday objects, and rules for their attributes and relations.


def is_plausible_relation(subject: str, relation: str, other: str) -> bool:
    groups = get_relation_rules(relation)
    return bool(groups) and all(
        any(is_selected(subject, first) and is_selected(other, second) for first, second in rows)
        for rows in groups
    )


def test_relation_rules_separate_plausible_from_implausible():
    assert is_plausible_relation("cup", "on", "table") and is_plausible_relation("man", "sitting on", "bench")
    assert is_plausible_relation("boat", "in", "ocean") and is_plausible_relation(
        "horse", "grazing in", "field"
    )
    assert not is_plausible_relation("wall", "holding", "sky") and not is_plausible_relation(
        "table", "under", "plate"
    )
    assert not is_plausible_relation("dog", "in front of", "sky") and not is_plausible_relation(
        "man", "on", "shelf"
    )
    assert not is_plausible_relation("lamp", "watching", "man")


def has_plausible_attribute(name: str, attribute: str, type_: str) -> bool:
    return any(is_selected(name, rule) for rule in get_attribute_rules(attribute, type_) or ())


def test_attribute_rules_separate_plausible_from_implausible():
    assert has_plausible_attribute("fence", "wood", "material") and not has_plausible_attribute(
        "toilet", "wood", "material"
    )
    assert has_plausible_attribute("man", "young", "age") and not has_plausible_attribute(
        "car", "young", "age"
    )
    assert not has_plausible_attribute("sweater", "brick", "material") and not has_plausible_attribute(
        "field", "blue", "color"
    )
    assert has_plausible_attribute("broccoli", "green", "color") and not has_plausible_attribute(
        "broccoli", "black", "color"
    )
    assert get_attribute_rules("gizmoed", "") is None


def test_pronouns_are_persons_and_compounds_have_the_kind_of_their_last_word():
    assert "person" in get_kinds("he") and get_main_kind("safety jacket") == "garment"


def test_an_empty_filter_selects_everything():
    assert parse_name_filter("") == (frozenset("*"), frozenset())
    assert parse_name_filter("dish, -cup, mug") == (frozenset(("dish", "mug")), frozenset(("cup",)))


def test_no_kind_is_a_member_of_itself():
    assert not [kind for kind in _TAXONOMY if kind in _TAXONOMY[kind]]


# Relations


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


# Similarity


@pytest.mark.parametrize(
    "a, b",
    [
        ("couch", "sofa"),
        ("tables", "table"),
        ("table", "side table"),
        ("cup", "mug"),
        ("trees", "palm tree"),
        ("bicycle", "bike"),
        ("fruit", "food"),
        ("trash can", "bin"),
        ("television", "screen"),
    ],
)
def test_interchangeable_names_are_similar(a, b):
    assert get_similarity_keys(a) & get_similarity_keys(b)


@pytest.mark.parametrize(
    "a, b",
    [
        ("dog", "cat"),
        ("table", "chair"),
        ("man", "woman"),
        ("shirt", "hat"),
        ("car", "boat"),
        ("table", "tablecloth"),
    ],
)
def test_names_of_different_objects_are_not_similar(a, b):
    assert not get_similarity_keys(a) & get_similarity_keys(b)


@pytest.mark.parametrize(
    "a, b",
    [
        ("blue", "light blue"),
        ("gray", "silver"),
        ("large", "big"),
        ("wood", "wooden"),
        ("closed", "shut"),
        ("young", "adult"),
        ("rounded", "round"),
    ],
)
def test_attributes_of_the_same_appearance_are_similar(a, b):
    assert is_similar_attribute(a, b) and is_similar_attribute(b, a)


@pytest.mark.parametrize(
    "a, b",
    [
        ("red", "blue"),
        ("large", "small"),
        ("wood", "metal"),
        ("sitting", "standing"),
        ("open", "closed"),
        ("young", "old"),
    ],
)
def test_attributes_that_exclude_each_other_are_not_similar(a, b):
    assert not is_similar_attribute(a, b)


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("to the left of", "left"),
        ("to the right of", "right"),
        ("in front of", "front"),
        ("behind", "behind"),
        ("red", "red"),
    ],
)
def test_options_are_converted_to_answers(option, said):
    assert option_to_answer(option) == said


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("cows", "cow", True),
        ("wooden", "wood", True),
        ("metallic", "metal", True),
        ("Left", "left", True),
        ("sofa", "couch", True),
        ("lady", "woman", True),
        ("trousers", "pants", True),
        ("woman", "person", False),
        ("man", "woman", False),
        ("cow", "sheep", False),
        ("yes", "no", False),
        ("light blue", "blue", False),
    ],
)
def test_answers_are_equal_up_to_synonyms_number_and_form(one, other, same):
    assert is_same_answer(one, other) is same
