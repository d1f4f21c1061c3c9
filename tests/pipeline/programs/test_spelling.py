import pytest

from pipeline.programs.spelling import attribute_forms, choice_forms, name_forms, relation_forms


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("cup", "cups"),
        ("trash can", "garbage can"),
        ("couch", "sofas"),
        ("men", "guy"),
        ("furniture", "piece of furniture"),
        ("clothing", "clothing items"),
    ],
)
def test_a_name_is_also_said(name, said):
    assert tuple(said.split()) in name_forms(name)


@pytest.mark.parametrize(
    ("value", "said"),
    [("wood", "wooden"), ("gray", "grey"), ("on", "turned on"), ("sitting", "sitting-down")],
)
def test_an_attribute_is_also_said(value, said):
    assert {tuple(said.split()), (value,)} <= set(attribute_forms(value))


def test_longer_forms_come_first():
    for forms in (
        name_forms("traffic light"),
        relation_forms("to the left of"),
        choice_forms(("on", "under")),
    ):
        lengths = [len(form) for form in forms]
        assert lengths == sorted(lengths, reverse=True)


def test_relations_are_shortened_but_not_on_and_in():
    assert ("left", "of") in relation_forms("to the left of")
    assert ("behind", "of") in relation_forms("behind")
    assert relation_forms("on") == (("on",),)


def test_a_choice_is_said_in_either_order():
    forms = choice_forms(("to the left of", "to the right of"))
    assert ("to", "the", "left", "or", "to", "the", "right", "of") in forms
    assert ("to", "the", "right", "of", "or", "to", "the", "left", "of") in forms
