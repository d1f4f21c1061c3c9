import pytest

from pipeline.language.similarity import (
    get_similarity_keys,
    is_same_answer,
    is_similar_attribute,
    option_to_answer,
)


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
    [("blue", "light blue"), ("gray", "silver"), ("large", "big"), ("wood", "wooden"), ("closed", "shut")],
)
def test_attributes_of_the_same_appearance_are_similar(a, b):
    assert is_similar_attribute(a, b) and is_similar_attribute(b, a)


@pytest.mark.parametrize(
    "a, b",
    [("red", "blue"), ("large", "small"), ("wood", "metal"), ("sitting", "standing"), ("open", "closed")],
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
