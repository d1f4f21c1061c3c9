from __future__ import annotations

import msgspec
import pytest

from pipeline.core.errors import UserError
from pipeline.core.records import Relation, Scene, SceneObject
from pipeline.stages.vocabulary import VocabularyParams, collect
from tests.pipeline.perturbing.programs import question

PARAMS = VocabularyParams()


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


def test_objects_attributes_and_relations_are_counted_in_the_graphs():
    found = collect(GRAPHS, [], PARAMS)
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
    assert list(collect(GRAPHS, [], VocabularyParams(min_count=2)).objects) == ["cup"]


def test_programs_tell_the_type_of_an_attribute_and_what_it_is_offered_with():
    asked = [
        question("1", "select: cup (1)->filter color: red [0]->verify material: wood [1]", "yes"),
        question("2", "select: cup (1)->query: color [0]", "blue"),
        question("3", "select: cup (1)->choose size: small|large [0]", "small"),
        question("4", "select: door (1)->choose: open|closed [0]", "open"),
        question("5", "select: cup (1)->filter length: short [0]->query: color [1]", "blue"),
        question("6", "select: cup (1)->filter height: short [0]->query: hposition [1]", "left"),
        question("7", "select: cup (1)->filter height: not(short) [0]->query: name [1]", "mug"),
        question("8", "select: scene->query: place [0]", "park"),
        question("9", "select: scene->choose weather: sunny|rainy [0]", "sunny"),
    ]
    found = collect(GRAPHS, asked, PARAMS)
    # "short" is a height in two questions and a length in one; where things are, names, the scene are no looks.
    assert found.attribute_types == {
        "blue": "color",
        "large": "size",
        "red": "color",
        "short": "height",
        "small": "size",
        "wood": "material",
    }
    assert found.alternatives == {"closed": ("open",), "open": ("closed",)}


def test_a_category_is_what_graphs_and_answers_call_by_other_names():
    asked = [
        question(
            "1", "select: furniture (2)->query: name [0]", "table"
        ),  # n1's graph calls object 2 a table, too
        question("2", "select: cup (1)->relate: furniture,on,o (9) [0]->query: name [1]", "shelf"),
        question("3", "select: furniture (8)->choose name: bed|table [0]", "bed"),
        question("4", "select: cup (1)->query: color [0]", "red"),
        question("5", "select: it (1)->query: name [0]", "cup"),
        question(
            "6", "select: dishes (1)->query: color [0]", "red"
        ),  # one member only: no category by min_members
    ]
    assert collect(GRAPHS, asked, PARAMS).categories == {"furniture": ("bed", "shelf", "table")}
    assert collect(GRAPHS, asked, VocabularyParams(min_members=1)).categories["dishes"] == ("cup",)


def test_what_questions_take_for_granted_is_counted_once_a_question():
    asked = [
        question("1", "select: cup (1)->relate: cup,near,s (2) [0]->query: color [1]", "red"),
        question("2", "select: table (1)->relate: cup,on,s (2) [0]->exist: ? [1]", "yes"),
        question("3", "select: dog (-)->exist: ? [0]", "no"),
    ]
    assert collect(GRAPHS, asked, PARAMS).asked == {"cup": 1, "table": 1}


def test_without_graphs_the_answered_questions_are_counted():
    asked = [
        question("1", "select: cup (1)->filter color: red [0]->query: size [1]", "small"),
        question("2", "select: table (2)->relate: cup,on,s (1) [0]->query: color [1]", "red"),
        question("3", "select: dog (-)->exist: ? [0]", "no"),
    ]
    found = collect([], asked, PARAMS)
    assert {name: e.count for name, e in found.objects.items()} == {"cup": 1, "table": 1}
    assert found.objects["cup"].attributes == {"red": 1, "small": 1}
    assert found.objects["cup"].subject_of == {"on": 1}


@pytest.mark.parametrize(
    "scenes, questions", [(GRAPHS[:1], []), ([], [question("1", "select: cup (1)->query: color [0]", "red")])]
)
def test_an_empty_vocabulary_is_an_error_that_says_what_to_do(scenes, questions):
    with pytest.raises(UserError, match="the vocabulary is empty.*at least 5 times.*lower it"):
        collect(scenes, questions, VocabularyParams(min_count=5))


def test_without_graphs_and_programs_nothing_is_known_of_names(tiny, set_params, capsys):
    from pipeline.core.files import write_jsonl
    from pipeline.core.records import Question, Scene
    from pipeline.stages import vocabulary

    ingest = tiny / "data/tiny/interim/ingest"
    bare = Question(question_id="1", picture_id="n1", split="testdev", text="What is this?", answer="a cup")
    write_jsonl(ingest / "questions.jsonl", [bare])
    write_jsonl(ingest / "scenes.jsonl", list[Scene]())
    write_jsonl(ingest / "unbalanced.jsonl", list[Question]())
    set_params("vocabulary", min_count=3)
    vocabulary.main()
    assert "pt-easy stays empty" in capsys.readouterr().err


def test_pictures_without_a_published_graph_get_a_partial_one_from_unbalanced_questions_too(tiny, set_params):
    from pipeline.core.files import read_jsonl, write_jsonl
    from pipeline.core.records import Question, Scene
    from pipeline.judge.reconstruct import Reconstructed
    from pipeline.stages import ingest, vocabulary

    ingest.main()
    folder = tiny / "data/tiny/interim"
    questions = list(read_jsonl(folder / "ingest/questions.jsonl", Question))
    published = {scene.picture_id for scene in read_jsonl(folder / "ingest/scenes.jsonl", Scene)}
    wanted = sorted({q.picture_id for q in questions if q.program and q.answer} - published)
    more = msgspec.structs.replace(questions[0], question_id="extra", picture_id=wanted[0])
    write_jsonl(folder / "ingest/unbalanced.jsonl", [more])
    set_params("vocabulary", min_count=1)
    vocabulary.main()
    graphs = {
        graph.picture_id: graph
        for graph in read_jsonl(folder / "vocabulary/reconstructed.jsonl", Reconstructed)
    }
    assert list(graphs) == wanted and wanted and all(graph.reconstructed for graph in graphs.values())
    told = {key for thing in graphs[wanted[0]].objects for fact in thing.names for key in fact.questions}
    assert "extra" in told and "extra" not in {q.question_id for q in questions}
