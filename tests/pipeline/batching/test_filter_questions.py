import numpy as np
import pytest

from pipeline.batching.filter_questions import (
    Filter,
    FilterPool,
    absent_object,
    existence,
    halves,
    of_the_scene,
)
from pipeline.core.records import Candidate, Relation, Scene, SceneObject, Step
from simulation.sight import obstacle
from simulation.word_senses import WordSenses

EMPTY = WordSenses(categories={}, attribute_types={"red": "color"})


def scene(*objects):
    return Scene(
        picture_id="p",
        split="val",
        width=9,
        height=9,
        objects=objects,
        location="park",
        weather="sunny",
        complete=True,
    )


@pytest.mark.parametrize(
    ("name", "number", "text"),
    [
        ("cup", "singular", "Is there a cup?"),
        ("umbrella", "singular", "Is there an umbrella?"),
        ("jeans", "plural", "Are there jeans?"),
        ("grass", "mass", "Is there grass?"),
    ],
)
def test_a_filter_on_existence_is_answerable_even_where_there_is_nothing(name, number, text):
    found = existence(name, number)
    assert (found.text, found.expected) == (text, "valid")
    assert obstacle(found.program, scene(), EMPTY) is None


def test_a_filter_on_an_absent_object_asks_for_its_color_by_its_place():
    found = absent_object("jeans", "plural", "next to", "table")
    assert (found.text, found.expected) == ("What color are the jeans next to the table?", "invalid")
    assert absent_object("cup", "singular", "on", "table").text == "What color is the cup on the table?"
    table = SceneObject(object_id="1", name="table", x=0, y=0, w=1, h=1)
    assert obstacle(found.program, scene(table), EMPTY) == "missing object"
    jeans = SceneObject(
        object_id="2",
        name="jeans",
        x=0,
        y=0,
        w=1,
        h=1,
        attributes=("red",),
        relations=(Relation(name="next to", object_id="1"),),
    )
    assert obstacle(found.program, scene(table, jeans), EMPTY) is None


def test_the_three_questions_of_the_paper_about_the_scene_are_there():
    assert [row.text for row in of_the_scene()] == [
        "Is this indoor or outdoor?",
        "Is this a color image?",
        "What place is this?",
    ]
    assert {row.expected for row in of_the_scene()} == {"valid"}
    assert of_the_scene()[2].program == (
        Step(operation="select", argument="scene"),
        Step(operation="query", argument="place", dependencies=(0,)),
    )


def test_half_get_an_invalid_filter_and_only_where_there_is_one():
    keys = [f"{i:02}" for i in range(20)]
    chosen = halves(keys, lambda key: int(key < "15"), np.random.default_rng(0))
    assert len(chosen) == 10
    assert max(chosen) < "15"
    assert halves(keys, lambda key: int(key < "03"), np.random.default_rng(0)) == {"00", "01", "02"}
    better = halves(keys, lambda key: 2 if key < "07" else 1, np.random.default_rng(0))
    assert len(better) == 10
    assert set(keys[:7]) <= better


def test_a_pool_that_has_more_than_templates_offers_more():
    template = Filter(text="t", expected="invalid", source="template")
    assert [
        FilterPool(row).offer()
        for row in ([], filters("a"), [template], [template, *filters("b", expected="invalid")])
    ] == [0, 0, 1, 2]


def filters(*texts, expected="valid"):
    return [Filter(text=text, expected=expected, source="own question") for text in texts]


CANDIDATE = Candidate(candidate_id="k", subset="pt-hard", picture_id="p", question_id="9", text="asked")


def test_a_pool_gives_every_filter_once_before_any_twice():
    pool, rng = FilterPool(filters(*"abcd") + filters("z", expected="invalid")), np.random.default_rng(0)
    drawn = [pool.draw(CANDIDATE, "valid", False, rng).text for _ in range(8)]
    assert sorted(drawn[:4]) == sorted(drawn[4:]) == list("abcd")


def test_a_pool_gives_the_wanted_verdict_and_kind_first_then_the_verdict_alone():
    rng = np.random.default_rng(0)
    template = Filter(text="t", expected="valid", source="template")
    rows = [template, *filters("v"), *filters("i", expected="invalid")]
    assert FilterPool(rows).draw(CANDIDATE, "valid", True, rng).text == "t"
    assert FilterPool(rows).draw(CANDIDATE, "valid", False, rng).text == "v"
    assert FilterPool(rows).draw(CANDIDATE, "invalid", True, rng).text == "i"  # there is no invalid template
    assert FilterPool(rows[:2]).draw(CANDIDATE, "invalid", False, rng).text == "v"  # nor any that is invalid
    assert FilterPool([]).draw(CANDIDATE, "valid", False, rng) is None


def test_a_pool_gives_candidates_of_the_same_subset_first():
    rows = [
        Filter(text=subset, expected="valid", source="verified candidate", subset=subset)
        for subset in ("clip-easy", "pt-easy", "pt-hard")
    ]
    pool, rng = FilterPool(rows), np.random.default_rng(0)
    drawn = [pool.draw(CANDIDATE, "valid", False, rng).text for _ in range(4)]
    assert drawn[0] == drawn[3] == "pt-hard"  # each once before any twice
    assert set(drawn) == {row.text for row in rows}


def test_a_pool_never_gives_the_same_question_nor_the_one_that_was_edited():
    same = Filter(text="asked", expected="valid", source="own question")
    original = Filter(text="?", expected="valid", source="own question", question_id="9")
    assert FilterPool([same, original]).draw(CANDIDATE, "valid", False, np.random.default_rng(0)) is None
