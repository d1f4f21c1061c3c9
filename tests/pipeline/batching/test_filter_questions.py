import numpy as np
import pytest

from pipeline.batching.filter_questions import (
    Filter,
    Pool,
    absent_object,
    existence,
    halves,
    of_the_scene,
    source_counts,
)
from pipeline.core.records import Relation, Scene, SceneObject, Step
from simulation.sight import obstacle
from simulation.word_senses import Words

EMPTY = Words(categories={}, attribute_types={"red": "color"})


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
        Pool(row).offer()
        for row in ([], filters("a"), [template], [template, *filters("b", expected="invalid")])
    ] == [0, 0, 1, 2]


def filters(*texts, expected="valid"):
    return [Filter(text=text, expected=expected, source="own question") for text in texts]


def test_a_pool_gives_every_filter_once_before_any_twice():
    pool, rng = Pool(filters(*"abcd") + filters("z", expected="invalid")), np.random.default_rng(0)
    drawn = [pool.draw("valid", lambda found: 0, rng).text for _ in range(8)]
    assert sorted(drawn[:4]) == sorted(drawn[4:]) == list("abcd")


def test_a_pool_gives_the_fitting_first_and_the_unfit_never():
    pool, rng = Pool(filters(*"abc")), np.random.default_rng(0)
    rank = {"a": None, "b": 1, "c": 0}
    assert [pool.draw("valid", lambda found: rank[found.text], rng).text for _ in range(2)] == ["c", "b"]
    assert pool.draw("invalid", lambda found: 0, rng) is None
    assert Pool([]).draw("valid", lambda found: 0, rng) is None


def test_sources_are_counted_with_their_verdicts():
    rows = [*filters("a", "b"), Filter(text="c", expected="invalid", source="template")]
    assert source_counts(rows) == {"own question, valid": 2, "template, invalid": 1}
