"""The vocabulary as counted in a few graphs and questions, by hand."""

import pytest

from pipeline.core.errors import UserError
from pipeline.core.records import Relation, Scene, SceneObject
from pipeline.counting.vocabulary_counts import VocabularyParams, count_vocabulary
from pipeline.judge.reconstruct import reconstruct
from tests.notation import question


def scene(*things, picture_id="n1", location="", weather=""):
    """Things are (id, name, attributes, {relation: other id})."""
    return Scene(
        picture_id=picture_id,
        split="train",
        width=100,
        height=100,
        location=location,
        weather=weather,
        objects=tuple(
            SceneObject(
                object_id=i,
                name=name,
                x=0,
                y=0,
                w=9,
                h=9,
                attributes=looks,
                relations=tuple(Relation(name=r, object_id=o) for r, o in to.items()),
            )
            for i, name, looks, to in things
        ),
    )


GRAPHS = [
    scene(
        ("1", "cup", ("red", "small"), {"on": "2"}),
        ("2", "table", ("wood",), {}),
        ("3", "jeans", ("blue",), {}),
        location="kitchen",
    ),
    scene(
        ("1", "cup", ("red",), {"on": "2"}),
        ("2", "shelf", (), {"under": "1"}),
        ("3", "grass", ("green",), {}),
        picture_id="n2",
        weather="sunny",
    ),
]


def count(scenes, questions, **params):
    """The vocabulary; all questions are of one picture, which gets a partial graph if none was published."""

    def graphs(lexicon, published):
        graph = reconstruct([q for q in questions if q.picture_id not in published], lexicon)
        return [graph] if graph else []

    return count_vocabulary(scenes, questions, VocabularyParams(**params), graphs)


def test_objects_attributes_and_relations_are_counted_in_the_graphs():
    found = count(GRAPHS, [])
    assert {name: (e.count, e.number) for name, e in found.objects.items()} == {
        "cup": (2, "singular"),
        "grass": (1, "mass"),
        "jeans": (1, "plural"),
        "shelf": (1, "singular"),
        "table": (1, "singular"),
    }
    assert found.objects["cup"].attributes == {"red": 2, "small": 1}
    assert (found.objects["cup"].subject_of, found.objects["cup"].object_of) == ({"on": 2}, {"under": 1})
    assert found.attributes == {"blue": 1, "green": 1, "red": 2, "small": 1, "wood": 1}
    assert found.relations == {"on": 2, "under": 1}
    assert (found.places, found.weathers) == ({"kitchen": 1}, {"sunny": 1})


def test_names_seen_too_rarely_are_left_out():
    assert list(count(GRAPHS, [], min_count=2).objects) == ["cup"]


def test_without_graphs_the_answered_questions_are_counted():
    asked = [
        question("1", "select: cup (1)->filter color: red [0]->query: size [1]", "small"),
        question("2", "select: table (2)->relate: cup,on,s (1) [0]->query: color [1]", "red"),
        question("3", "select: dog (-)->exist: ? [0]", "no"),
    ]
    found = count([], asked)
    assert {name: e.count for name, e in found.objects.items()} == {"cup": 1, "table": 1}
    assert found.objects["cup"].attributes == {"red": 1, "small": 1}
    assert found.objects["cup"].subject_of == {"on": 1}


@pytest.mark.parametrize(
    "scenes, questions", [(GRAPHS[:1], []), ([], [question("1", "select: cup (1)->query: color [0]", "red")])]
)
def test_an_empty_vocabulary_is_an_error_that_says_what_to_do(scenes, questions):
    with pytest.raises(UserError, match="the vocabulary is empty.*at least 5 times.*lower it"):
        count(scenes, questions, min_count=5)
