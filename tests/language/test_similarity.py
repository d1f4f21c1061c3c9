import pytest

from pipeline.language.similarity import likeness, same_answer, similar, spoken


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
def test_names_that_people_use_for_one_thing_are_alike(a, b):
    assert likeness(a) & likeness(b)


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
def test_names_of_different_things_are_not_alike(a, b):
    assert not likeness(a) & likeness(b)


@pytest.mark.parametrize(
    "a, b",
    [("blue", "light blue"), ("gray", "silver"), ("large", "big"), ("wood", "wooden"), ("closed", "shut")],
)
def test_attributes_that_one_look_may_be_given_are_similar(a, b):
    assert similar(a, b) and similar(b, a)


@pytest.mark.parametrize(
    "a, b",
    [("red", "blue"), ("large", "small"), ("wood", "metal"), ("sitting", "standing"), ("open", "closed")],
)
def test_attributes_that_exclude_each_other_are_not_similar(a, b):
    assert not similar(a, b)


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
def test_options_are_answered_as_gqa_says_them(option, said):
    assert spoken(option) == said


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
def test_answers_are_the_same_but_for_number_and_form(one, other, same):
    assert same_answer(one, other) is same
