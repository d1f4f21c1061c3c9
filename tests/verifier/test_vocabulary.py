"""The vocabulary of a few graphs and questions, compared with counts by hand."""

import msgspec
import pytest

from pipeline.core.errors import UserError
from pipeline.core.json_files import read_jsonl, write_jsonl
from pipeline.core.records import Question, Relation, SceneGraph, SceneObject
from pipeline.stages import ingest, vocabulary
from pipeline.verifier.partial_graphs import PartialGraph, build_partial_graph
from pipeline.verifier.vocabulary import (
    MAX_SCENES_WITH_DEFAULT,
    ProgramCounter,
    SceneGraphCounter,
    VocabularyParams,
    add_default_vocabulary,
    build_vocabulary,
    load_default_vocabulary,
)
from tests.notation import facts, question
from tests.notation import scene as noted


def scene(*objects, image_id="n1", location="", weather=""):
    """Return a scene graph of objects (id, name, attributes, {relation: other id})."""
    return SceneGraph(
        image_id=image_id,
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
                attributes=attributes,
                relations=tuple(Relation(name=r, object_id=o) for r, o in to.items()),
            )
            for i, name, attributes, to in objects
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
        image_id="n2",
        weather="sunny",
    ),
]


def count(scenes, questions, **params):
    """Build a vocabulary from questions about one image, which has a partial graph if none was published."""

    def graphs(lexicon, published):
        graph = build_partial_graph([q for q in questions if q.image_id not in published], lexicon)
        return [graph] if graph else []

    return build_vocabulary(scenes, questions, VocabularyParams(use_default="never", **params), graphs)


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
    assert (found.locations, found.weathers) == ({"kitchen": 1}, {"sunny": 1})


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
    with pytest.raises(UserError, match="the vocabulary is empty.*at least 5 times.*vocabulary.min_count"):
        count(scenes, questions, min_count=5)


THINGS = ("table 1: wood", "cup 2: red, small; on 1", "cup 3: red")


def counts(seen):
    return (
        seen.name_counts,
        seen.attribute_counts,
        seen.subject_of,
        seen.object_of,
        seen.place_counts,
        seen.weather_counts,
    )


EXPECTED = (
    {"table": 1, "cup": 2},
    {"table": {"wood": 1}, "cup": {"red": 2, "small": 1}},
    {"cup": {"on": 1}},
    {"table": {"on": 1}},
    {"kitchen": 1},
    {},
)


def test_objects_of_a_graph_are_counted_by_name():
    seen = SceneGraphCounter()
    seen.add_scene(noted(*THINGS))
    assert counts(seen) == EXPECTED


def test_evidence_is_counted_like_its_graph():
    seen = SceneGraphCounter()
    seen.add_evidence(facts(*THINGS))
    assert counts(seen) == EXPECTED


def test_an_object_without_a_name_is_not_counted():
    known = facts(*THINGS)
    nameless = next(thing for thing in known.objects if thing.object_id == "1")
    nameless.label, nameless.names = "", ()
    seen = SceneGraphCounter()
    seen.add_evidence(known)
    assert seen.name_counts == {"cup": 2}
    assert not seen.subject_of and not seen.object_of and "table" not in seen.attribute_counts


def test_images_without_a_published_graph_get_a_partial_one_from_unbalanced_questions_too(tiny, set_params):
    ingest.main()
    folder = tiny / "data/tiny/interim"
    questions = list(read_jsonl(folder / "ingest/questions.jsonl", Question))
    published = {scene.image_id for scene in read_jsonl(folder / "ingest/scenes.jsonl", SceneGraph)}
    wanted = sorted({q.image_id for q in questions if q.program and q.answer} - published)
    more = msgspec.structs.replace(questions[0], question_id="extra", image_id=wanted[0])
    write_jsonl(folder / "ingest/unbalanced.jsonl", [more])
    set_params("vocabulary", min_count=1)
    vocabulary.main()
    graphs = {
        graph.image_id: graph for graph in read_jsonl(folder / "vocabulary/reconstructed.jsonl", PartialGraph)
    }
    assert list(graphs) == wanted and wanted and all(graph.reconstructed for graph in graphs.values())
    question_ids = {
        key for thing in graphs[wanted[0]].objects for fact in thing.names for key in fact.question_ids
    }
    assert "extra" in question_ids and "extra" not in {q.question_id for q in questions}


# The names of the objects in the image's scene graph.
NAMES = {("n1", "1"): "cup", ("n1", "2"): "table", ("n1", "3"): "jeans"}


def count_programs(questions):
    counts = ProgramCounter(NAMES)
    for asked in questions:
        counts.add_question(asked)
    return counts


def test_programs_give_attribute_types_and_alternatives():
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
    found = count_programs(asked)
    # "Short" is a height in two questions and a length in one. Positions, names and the scene are no
    # attributes.
    assert found.get_attribute_types() == {
        "blue": "color",
        "large": "size",
        "red": "color",
        "short": "height",
        "small": "size",
        "wood": "material",
    }
    assert found.get_alternatives() == {"closed": ("open",), "open": ("closed",)}


def test_categories_are_collected_from_graphs_and_answers():
    asked = [
        # The scene graph also calls object 2 a table.
        question("1", "select: furniture (2)->query: name [0]", "table"),
        question("2", "select: cup (1)->relate: furniture,on,o (9) [0]->query: name [1]", "shelf"),
        question("3", "select: furniture (8)->choose name: bed|table [0]", "bed"),
        question("4", "select: cup (1)->query: color [0]", "red"),
        question("5", "select: it (1)->query: name [0]", "cup"),
        # A category needs more than one member.
        question("6", "select: dishes (1)->query: color [0]", "red"),
    ]
    assert count_programs(asked).get_categories(2) == {"furniture": ("bed", "shelf", "table")}
    assert count_programs(asked).get_categories(1)["dishes"] == ("cup",)


def test_presupposed_names_are_counted_once_per_question():
    asked = [
        question("1", "select: cup (1)->relate: cup,near,s (2) [0]->query: color [1]", "red"),
        question("2", "select: table (1)->relate: cup,on,s (2) [0]->exist: ? [1]", "yes"),
        question("3", "select: dog (-)->exist: ? [0]", "no"),
    ]
    assert count_programs(asked).presupposed_name_counts == {"cup": 1, "table": 1}


def test_presupposed_attributes_and_relations_are_counted():
    counts = count_programs(
        [
            question(
                "1",
                "select: table (1)->filter color: red [0]->relate: cup,on,s (2) [1]->query: size [2]",
                "big",
            ),
            # The attribute is negated.
            question("2", "select: table (1)->filter color: not(red) [0]->query: size [1]", "big"),
            # The attribute is asserted.
            question("3", "select: table (1)->filter color: red [0]->exist: ? [1]", "yes"),
            # This question has no program.
            question("4", ""),
        ]
    )
    assert counts.presupposed_value_counts == {"red": 1, "on": 1}
    assert counts.num_programs == 3


def test_the_default_vocabulary_fills_what_a_data_set_lacks_and_fades_as_graphs_come():
    default = load_default_vocabulary()
    # Visual Genome counts 10,258 white shirts (object_color.tsv). The questions add a few.
    assert 10_258 <= default.objects["shirt"].attributes["white"] < 10_300
    own = count(GRAPHS, [])
    full, half = add_default_vocabulary(own, 1.0), add_default_vocabulary(own, 0.5)
    cups = default.objects["cup"].count
    # The two graphs show two cups.
    assert full.objects["cup"].count == cups + 2 and half.objects["cup"].count == round(cups / 2) + 2
    assert full.attribute_types["red"] == "color" and "furniture" in full.categories
    # Scene graphs list more of an image than questions do, so co-occurrence is not mixed.
    assert full.cooccurrence == own.cooccurrence
    asked = add_default_vocabulary(
        count([], [question("1", "select: cup (1)->query: color [0]", "red")]), 1.0
    ).cooccurrence
    assert asked.from_questions and asked.num_images == default.cooccurrence.num_images + 1


def test_from_500_scene_graphs_on_the_default_vocabulary_is_not_used():
    graphs = [msgspec.structs.replace(GRAPHS[0], image_id=f"n{i}") for i in range(MAX_SCENES_WITH_DEFAULT)]
    make_none = lambda lexicon, published: []  # noqa: E731
    assert "skateboard" not in build_vocabulary(graphs, [], VocabularyParams(), make_none).objects
    few = build_vocabulary(graphs[:250], [], VocabularyParams(), make_none).objects
    # 250 of 500 graphs leave half of the default's counts.
    assert few["skateboard"].count == round(load_default_vocabulary().objects["skateboard"].count / 2)
