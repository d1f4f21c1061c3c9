"""Two objects side by side: alike or not, both so, what they share."""

from __future__ import annotations

import re

import pytest

from research.synthetic_world.question_families import comparisons
from tests.research.synthetic_world.kitchen import LOOKS, asked_by, check_family, detailed

FAMILIES = [
    (comparisons.verify_both, "logical", "attr"),
    (comparisons.compare, "compare", "attr"),
    (comparisons.query_common, "compare", "attr"),
]


@pytest.mark.parametrize(
    ("family", "structural", "semantics"), FAMILIES, ids=lambda value: getattr(value, "__name__", value)
)
def test_each_familys_questions_have_one_right_answer_by_an_independent_checker(
    family, structural, semantics
):
    check_family(family, structural, semantics)


def compared(question):
    """Ids of the two objects that the last step takes: of each the id where it was found, before what is asked of it."""
    ids = []
    for dependency in question.program[-1].dependencies:
        while question.program[dependency].operation.startswith(("filter", "verify")):
            (dependency,) = question.program[dependency].dependencies
        ids.append(re.search(r"\((\d+)\)", question.program[dependency].argument)[1])
    return ids


def test_comparisons_compare_the_two_objects(of_kitchen) -> None:
    for question in detailed(of_kitchen, "twoSame", "twoSameC", "twoDifferent", "twoSameMaterialC"):
        verb, kind = question.program[-1].operation.split()
        first, second = compared(question)
        alike = LOOKS[first][kind] == LOOKS[second][kind]
        assert question.answer == ("yes" if alike == (verb == "same") else "no"), question.text


def test_two_objects_are_compared_that_have_different_names():
    for family in (comparisons.verify_both, comparisons.compare, comparisons.query_common):
        for question in (q for asked_together in asked_by(family) for q in asked_together):
            assert set(compared(question)) != {"11", "12"}, question.text  # the two cups


def test_what_is_common_is_all_that_is_common():
    # brown wood table and white wood shelf share the material alone, blue cup and blue jeans the colour alone;
    # the red plastic cup and the blue plastic striped one have one name
    every = [q for asked_together in asked_by(comparisons.query_common, 60) for q in asked_together]
    shared = {(*sorted(compared(q)), q.answer) for q in every if q.image_id == "n000042"}
    assert shared == {("13", "14", "material"), ("12", "16", "color")}
