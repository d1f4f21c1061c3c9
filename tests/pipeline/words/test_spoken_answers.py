import pytest

from pipeline.words.spoken_answers import same_answer, spoken


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
