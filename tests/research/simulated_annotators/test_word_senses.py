import pytest

from research.simulated_annotators.word_senses import WordSenses, get_forms, is_same_relation

WORDS = WordSenses(
    categories={"person": ("man", "woman"), "furniture": ("table",), "thing to sit on": ("chair",)},
    attribute_types={},
)


@pytest.mark.parametrize(
    ("plural", "singular"),
    [
        ("boxes", "box"),
        ("horses", "horse"),
        ("buses", "bus"),
        ("women", "woman"),
        ("people", "person"),
        ("sheep", "sheep"),
        ("shelves", "shelf"),
        ("cherries", "cherry"),
        ("teddy bears", "teddy bear"),
        ("glasses", "glass"),
        ("knives", "knife"),
    ],
)
def test_a_plural_names_the_same_objects(plural, singular):
    assert get_forms(plural) & get_forms(singular)


@pytest.mark.parametrize(
    ("one", "other"), [("bus", "bush"), ("man", "woman"), ("glass", "gla"), ("cat", "car")]
)
def test_other_objects_have_other_names(one, other):
    assert not get_forms(one) & get_forms(other)


@pytest.mark.parametrize(
    ("name", "covered", "not_covered"),
    [
        ("furniture", "table", "chair"),
        ("people", "woman", "table"),
        ("he", "man", "woman"),
        ("man", "men", "woman"),
    ],
)
def test_a_name_covers_its_plural_and_the_members_of_its_category(name, covered, not_covered):
    assert WORDS.get_names(name) & get_forms(covered)
    assert not WORDS.get_names(name) & get_forms(not_covered)


@pytest.mark.parametrize(
    ("holds", "asked", "same"),
    [
        ("on", "on top of", True),
        ("sitting on", "on", True),
        ("on", "sitting on", False),
        ("near", "beside", True),
        ("to the left of", "to the right of", False),
        ("holding", "holding", True),
    ],
)
def test_relations_that_say_the_same_are_the_same(holds, asked, same):
    assert is_same_relation(holds, asked) is same
