"""Kinds of everyday objects, and rules for their attributes and relations."""

from pipeline.language.commonsense import get_attribute_rules, get_relation_rules
from pipeline.language.object_taxonomy import (
    _TAXONOMY,
    get_kinds,
    get_main_kind,
    is_selected,
    parse_name_filter,
)


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
