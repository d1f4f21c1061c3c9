"""What simulated annotators can answer, and senses of words."""

import re
from pathlib import Path

import pytest

from pipeline.core.errors import Problems
from pipeline.core.records import Relation, SceneGraph, SceneObject, Step
from pipeline.sources import gqa_files
from research.simulated_annotators.answerability import Unclear, find_obstacle
from research.simulated_annotators.word_senses import WordSenses, get_forms, is_same_relation

WORDS = WordSenses(
    categories={"furniture": ("table", "chair"), "person": ("man", "woman"), "dishes": ("cup",)},
    attribute_types={
        "red": "color",
        "blue": "color",
        "yellow": "color",
        "brown": "color",
        "wood": "material",
        "metal": "material",
        "old": "age",
    },
)


def thing(object_id, name, box, attributes="", **relations):
    pairs = tuple(
        Relation(name=name.replace("_", " "), object_id=to)
        for name, ids in relations.items()
        for to in ids.split()
    )
    x, y, w, h = box
    return SceneObject(
        object_id=object_id,
        name=name,
        x=x,
        y=y,
        w=w,
        h=h,
        attributes=tuple(attributes.split()),
        relations=pairs,
    )


def kitchen(*more, weather=""):
    """The kitchen of annotation/client/guidelines.md: 100 x 100, a red wooden table, a blue cup on it, a brown chair to its
    right; a man who wears a hat stands behind."""
    objects = (
        thing("1", "table", (10, 50, 30, 30), "red wood", to_the_left_of="3"),
        thing("2", "cup", (20, 40, 10, 10), "blue", on="1", to_the_left_of="3"),
        thing("3", "chair", (70, 50, 20, 30), "brown wood", to_the_right_of="1 2"),
        thing("4", "man", (45, 10, 10, 60), "old", wearing="5"),
        thing("5", "hat", (45, 5, 10, 8), "red"),
        *more,
    )
    return SceneGraph(
        image_id="k",
        split="val",
        width=100,
        height=100,
        objects=objects,
        location="kitchen",
        weather=weather,
        is_complete=True,
    )


def steps(program):
    made = []
    for step in program.split(" > "):
        operation, argument, dependencies = re.fullmatch(r"([^:]+): ?(.*?) ?(?:\[([\d,]*)\])?", step).groups()
        made.append(
            Step(
                operation=operation,
                argument=argument,
                dependencies=tuple(int(n) for n in (dependencies or "").split(",") if n),
            )
        )
    return tuple(made)


MISSING, ATTRIBUTE, RELATION, NONE, SEVERAL = (
    "missing object",
    "wrong attribute",
    "wrong relation",
    "no valid answer",
    "underspecified",
)
ROWS = [
    # What color is the table? Is it black? The dog?
    ("select: table (1) > query: color [0]", None),
    ("select: tables (1) > verify color: black [0]", None),
    ("select: dog (-) > query: color [0]", MISSING),
    ("select: furniture (1) > filter color: brown [0] > query: name [1]", None),  # the chair alone is brown
    ("select: furniture (1) > query: color [0]", SEVERAL),  # red and brown
    ("select: furniture (1) > query: material [0]", None),  # both of wood
    ("select: furniture (1) > verify color: red [0]", SEVERAL),  # yes and no
    ("select: furniture (1) > verify material: metal [0]", None),  # no, for both
    ("select: hat (5) > query: material [0]", NONE),
    # existence is asserted, what comes before it is presupposed
    ("select: dog (-) > exist: ? [0]", None),
    ("select: table (1) > filter color: blue [0] > exist: ? [1]", None),
    ("select: dog (-) > relate: cup,on,s (2) [0] > exist: ? [1]", MISSING),
    ("select: table (1) > filter color: blue [0] > relate: cup,on,s (2) [1] > exist: ? [2]", ATTRIBUTE),
    ("select: table (1) > relate: dog,on,s (-) [0] > filter color: red [1] > exist: ? [2]", None),
    ("select: dog (-) > exist: ? [0] > select: cup (2) > exist: ? [2] > or: [1,3]", None),
    # attributes
    ("select: table (1) > filter color: blue [0] > query: material [1]", ATTRIBUTE),
    ("select: table (1) > filter color: not(blue) [0] > query: material [1]", None),
    ("select: table (1) > filter color: not(red) [0] > query: material [1]", ATTRIBUTE),
    ("select: table (1) > choose material: wood|metal [0]", None),
    ("select: table (1) > choose material: glass|metal [0]", NONE),
    ("select: table (1) > choose color: red|red [0]", NONE),  # the same choice twice
    ("select: table (1) > verify color: red [0] > verify material: metal [0] > and: [1,2]", None),
    # relations: `s` names the subject, `o` the object
    ("select: table (1) > relate: cup,on,s (2) [0] > query: color [1]", None),
    ("select: table (1) > relate: cup,on,o (2) [0] > query: color [1]", RELATION),
    ("select: cup (2) > relate: table,on,o (1) [0] > query: color [1]", None),
    ("select: chair (3) > relate: cup,on,s (2) [0] > query: color [1]", RELATION),
    ("select: chair (3) > relate: lamp,on,s (2) [0] > query: color [1]", MISSING),
    ("select: man (4) > relate: _,wearing,o (5) [0] > query: name [1]", None),
    ("select: person (4) > relate: _,holding,o (-) [0] > query: name [1]", RELATION),
    ("select: he (4) > query: age [0]", None),
    ("select: she (4) > query: age [0]", MISSING),
    ("select: woman (4) > query: age [0]", MISSING),
    ("select: cup (2) > verify rel: table,on top of,o (1) [0]", None),
    ("select: cup (2) > verify rel: chair,on,o (3) [0]", None),  # no
    ("select: cup (2) > verify rel: shelf,on,o (-) [0]", MISSING),
    ("select: chair (3) > choose rel: cup,to the left of|to the right of,s (2) [0]", None),
    ("select: chair (3) > choose rel: cup,on|under,s (2) [0]", NONE),
    ("select: chair (3) > choose rel: dog,on|under,s (-) [0]", MISSING),
    # what is called
    ("select: furniture (3) > filter color: brown [0] > choose name: table|chair [1]", None),
    ("select: furniture (3) > filter color: brown [0] > choose name: table|bed [1]", NONE),
    # positions: centres at 0.25 (table), 0.8 (chair), 0.5 (man)
    ("select: table (1) > query: hposition [0]", None),
    ("select: chair (3) > choose hposition: left|right [0]", None),
    ("select: man (4) > choose hposition: left|right [0]", NONE),  # in the middle
    ("select: table (1) > filter hposition: right [0] > query: color [1]", ATTRIBUTE),
    # comparing
    ("select: table (1) > select: hat (5) > same color: [0,1]", None),
    ("select: table (1) > select: man (4) > different color: [0,1]", NONE),  # the man has no colour
    ("select: furniture (1) > select: hat (5) > same color: [0,1]", SEVERAL),
    ("select: furniture (1,3) > same: material [0]", None),
    ("select: cup (2) > same: color [0]", MISSING),  # one cup cannot all be the same
    ("select: table (1) > select: hat (5) > common: [0,1]", None),  # the colour
    ("select: cup (2) > select: hat (5) > common: [0,1]", NONE),
    ("select: cup (2) > relate: _,same color,s (-) [0] > query: name [1]", RELATION),
    # the scene
    ("select: scene > query: place [0]", None),
    ("select: scene > choose location: indoors|outdoors [0]", None),
    ("select: scene > choose place: park|kitchen [0]", None),
    ("select: scene > choose place: park|farm [0]", NONE),
    ("select: scene > verify place: park [0]", None),
    ("select: scene > query: weather [0]", NONE),  # indoors there is none
    ("select: scene > verify weather: sunny [0]", NONE),
]


@pytest.mark.parametrize(("program", "expected"), ROWS, ids=[row[0] for row in ROWS])
def test_a_question_about_the_kitchen_is_seen_as_worked_out_by_hand(program, expected):
    assert find_obstacle(steps(program), kitchen(), WORDS) == expected


def test_a_second_cup_makes_the_cup_underspecified_unless_the_answer_is_the_same():
    yellow = kitchen(thing("6", "cup", (30, 40, 10, 10), "yellow", on="1"))
    assert find_obstacle(steps("select: cup (2) > query: color [0]"), yellow, WORDS) == SEVERAL
    assert (
        find_obstacle(steps("select: cup (2) > filter color: yellow [0] > query: color [1]"), yellow, WORDS)
        is None
    )
    assert (
        find_obstacle(steps("select: table (1) > relate: cup,on,s (2) [0] > query: name [1]"), yellow, WORDS)
        is None
    )
    assert find_obstacle(steps("select: cup (2) > verify rel: table,on,o (1) [0]"), yellow, WORDS) is None
    blue = kitchen(thing("6", "cup", (30, 40, 10, 10), "blue", on="1"))
    assert find_obstacle(steps("select: cup (2) > query: color [0]"), blue, WORDS) is None


def test_outdoors_there_is_weather():
    assert find_obstacle(steps("select: scene > query: weather [0]"), kitchen(weather="sunny"), WORDS) is None
    assert (
        find_obstacle(
            steps("select: scene > choose weather: rainy|snowy [0]"), kitchen(weather="sunny"), WORDS
        )
        == NONE
    )


@pytest.mark.parametrize(
    "program",
    [
        "select: table (1) > query: smell [0]",  # nobody knows which attributes are smells
        "select: cup (6) > query: hposition [0]",  # its centre, 0.39, is at the border of left and middle
        "select: table (1) > weigh: it [0]",
        "select: table (1) > query: color [7]",
        "select: table (1) > relate: cup [0]",
        "select: scene > filter weather: sunny [0] > query: place [1]",
    ],
)
def test_undecidable_questions_are_unclear(program):
    scene = kitchen()
    moved = [
        thing("2", "cup", (34, 40, 10, 10), "blue") if item.object_id == "2" else item
        for item in scene.objects
    ]
    with pytest.raises(Unclear):
        find_obstacle(
            steps(program),
            SceneGraph(image_id="k", split="val", width=100, height=100, objects=tuple(moved)),
            WORDS,
        )


def test_something_missing_is_missing_even_where_a_position_is_unclear():
    scene = kitchen(
        thing("6", "hat", (34, 40, 10, 10))
    )  # its centre, 0.39, is at the border of left and middle
    program = "select: hat (6) > filter hposition: left [0] > relate: dog,near,s (-) [1] > query: color [2]"
    assert find_obstacle(steps(program), scene, WORDS) == MISSING
    with pytest.raises(Unclear):
        find_obstacle(steps(program.replace("dog", "cup")), scene, WORDS)


def test_every_question_of_the_tiny_world_has_an_answer_at_its_own_image(vocabulary):
    tiny = Path(__file__).parents[2] / "tiny"
    problems = Problems("tiny")
    scenes = {
        scene.image_id: scene
        for scene in gqa_files.read_scene_graphs(
            tiny / "truth", ("testdev", "train", "val"), problems, is_complete=True
        )
    }
    words = WordSenses(categories=vocabulary.categories, attribute_types=vocabulary.attribute_types)
    questions = list(gqa_files.read_questions(tiny / "source", ("testdev", "train", "val"), problems))
    assert problems.lines == []
    assert len(questions) == 52
    assert {q.text: find_obstacle(q.program, scenes[q.image_id], words) for q in questions} == {
        q.text: None for q in questions
    }


SENSES_WORDS = WordSenses(
    categories={"person": ("man", "woman"), "furniture": ("table",), "thing to sit on": ("chair",)},
    attribute_types={},
)


@pytest.mark.parametrize(
    ("plural", "singular"),
    [
        ("boxes", "box"),
        ("horses", "horse"),
        ("buses", "bus"),
        ("women", "woman"),
        ("people", "person"),
        ("sheep", "sheep"),
        ("shelves", "shelf"),
        ("cherries", "cherry"),
        ("teddy bears", "teddy bear"),
        ("glasses", "glass"),
        ("knives", "knife"),
    ],
)
def test_a_plural_names_the_same_objects(plural, singular):
    assert get_forms(plural) & get_forms(singular)


@pytest.mark.parametrize(
    ("one", "other"), [("bus", "bush"), ("man", "woman"), ("glass", "gla"), ("cat", "car")]
)
def test_other_objects_have_other_names(one, other):
    assert not get_forms(one) & get_forms(other)


@pytest.mark.parametrize(
    ("name", "covered", "not_covered"),
    [
        ("furniture", "table", "chair"),
        ("people", "woman", "table"),
        ("he", "man", "woman"),
        ("man", "men", "woman"),
    ],
)
def test_a_name_covers_its_plural_and_the_members_of_its_category(name, covered, not_covered):
    assert SENSES_WORDS.get_names(name) & get_forms(covered)
    assert not SENSES_WORDS.get_names(name) & get_forms(not_covered)


@pytest.mark.parametrize(
    ("holds", "asked", "same"),
    [
        ("on", "on top of", True),
        ("sitting on", "on", True),
        ("on", "sitting on", False),
        ("near", "beside", True),
        ("to the left of", "to the right of", False),
        ("holding", "holding", True),
    ],
)
def test_relations_that_say_the_same_are_the_same(holds, asked, same):
    assert is_same_relation(holds, asked) is same
