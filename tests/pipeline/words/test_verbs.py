import pytest

from pipeline.words.verbs import verb_forms


@pytest.mark.parametrize(
    ("relation", "forms"),
    [
        ("wearing", ("wearing", "wears", "wear")),
        ("sitting on", ("sitting on", "sits on", "sit on")),
        ("lying in", ("lying in", "lies in", "lie in")),
        ("to the left of", ("to the left of",)),
    ],
)
def test_a_verb_is_said_in_three_forms(relation, forms):
    assert verb_forms(relation) == forms
