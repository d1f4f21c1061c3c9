"""What some rows of the tables say."""

from pipeline.language.commonsense import get_attribute_rules, get_relation_rules
from pipeline.language.object_taxonomy import is_selected


def allowed(subject: str, relation: str, other: str) -> bool:
    groups = get_relation_rules(relation)
    return bool(groups) and all(
        any(is_selected(subject, own) and is_selected(other, their) for own, their in rows) for rows in groups
    )


def test_what_goes_and_what_does_not():
    assert allowed("cup", "on", "table") and allowed("man", "sitting on", "bench")
    assert allowed("boat", "in", "ocean") and allowed("horse", "grazing in", "field")
    assert not allowed("wall", "holding", "sky") and not allowed("table", "under", "plate")
    assert not allowed("dog", "in front of", "sky") and not allowed("man", "on", "shelf")
    assert not allowed("lamp", "watching", "man")


def looks(name: str, look: str, type_: str) -> bool:
    return any(is_selected(name, things) for things in get_attribute_rules(look, type_) or ())


def test_what_looks_how():
    assert looks("fence", "wood", "material") and not looks("toilet", "wood", "material")
    assert looks("man", "young", "age") and not looks("car", "young", "age")
    assert not looks("sweater", "brick", "material") and not looks("field", "blue", "color")
    assert looks("broccoli", "green", "color") and not looks("broccoli", "black", "color")
    assert get_attribute_rules("gizmoed", "") is None
