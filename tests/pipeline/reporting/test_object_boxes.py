import pytest

from pipeline.core.records import Edit, Item, Question, Scene, SceneObject, Step
from pipeline.reporting.object_boxes import Concerned, concerned
from pipeline.words.lexicon import Lexicon
from tests.conftest import ATTRIBUTE_TYPES, CATEGORIES

LEXICON = Lexicon(CATEGORIES, ATTRIBUTE_TYPES)
SCENE = Scene(
    picture_id="n1",
    split="val",
    width=400,
    height=300,
    objects=(
        SceneObject(object_id="11", name="table", x=100, y=200, w=150, h=80, attributes=("red",)),
        SceneObject(object_id="12", name="cup", x=120, y=170, w=30, h=30),
        SceneObject(object_id="13", name="dog", x=10, y=190, w=60, h=70),
        SceneObject(object_id="14", name="cat", x=300, y=190, w=60, h=70),
    ),
)
STEPS = (  # "What color is the cup on the red table?"
    Step(operation="select", argument="table (11)"),
    Step(operation="filter color", argument="red", dependencies=(0,)),
    Step(operation="relate", argument="cup,on,s (12)", dependencies=(1,)),
    Step(operation="query", argument="color", dependencies=(2,)),
)


def question(program=STEPS, picture="n1"):
    return Question(
        question_id="1", picture_id=picture, split="val", text="?", answer="blue", program=program
    )


def item(*steps):
    edits = tuple(Edit(start=0, end=1, kind="object", old="a", new="b", step=step) for step in steps)
    return Item(
        item_id="x",
        subset="pt-easy",
        picture_id="n1",
        question_id="1",
        text="?",
        unanswerable=True,
        answer="",
        pair_id="p",
        part="test",
        edits=edits,
    )


def told(found: Concerned):
    return [(box.number, box.name, box.edited) for box in found.boxes]


@pytest.mark.parametrize(
    ("edited", "expected"),
    [
        ((), [(1, "table", False), (2, "cup", False)]),
        ((0,), [(1, "table", True), (2, "cup", False)]),  # another thing for the table
        ((1,), [(1, "table", True), (2, "cup", False)]),  # another look of the table
        ((2,), [(1, "table", False), (2, "cup", True)]),
        ((-1,), [(1, "table", False), (2, "cup", False)]),  # an edit of no step
    ],
)
def test_an_own_question_shows_the_objects_of_its_program_and_which_were_edited(edited, expected):
    assert told(concerned(item(*edited), question(), SCENE, LEXICON)) == expected


def test_a_box_is_that_of_the_graph():
    box = concerned(item(), question(), SCENE, LEXICON).boxes[1]
    assert (box.x, box.y, box.w, box.h) == (120, 170, 30, 30)


def test_a_question_of_another_picture_shows_what_answers_to_its_names():
    # "Is the animal near the tractor?": the dog and the cat are animals; no tractor is listed.
    program = (
        Step(operation="select", argument="tractor (99)"),
        Step(operation="relate", argument="animal,near,s (98)", dependencies=(0,)),
        Step(operation="exist", argument="?", dependencies=(1,)),
    )
    found = concerned(item(), question(program, picture="n2"), SCENE, LEXICON)
    assert told(found) == [(1, "dog", False), (2, "cat", False)]
    assert found.unlisted == ("tractor",)


def test_ids_of_another_picture_are_not_looked_up_in_this_one():
    # Object 12 of picture n2 is a bench; the cup that bears the same id here is no concern of the question.
    program = (
        Step(operation="select", argument="bench (12)"),
        Step(operation="query", argument="color", dependencies=(0,)),
    )
    found = concerned(item(), question(program, picture="n2"), SCENE, LEXICON)
    assert (found.boxes, found.unlisted) == ((), ("bench",))


def test_the_scene_itself_is_no_object():
    program = (
        Step(operation="select", argument="scene"),
        Step(operation="query", argument="place", dependencies=(0,)),
    )
    assert concerned(item(), question(program, picture="n2"), SCENE, LEXICON) == Concerned()


@pytest.mark.parametrize(("program", "scene"), [((), SCENE), (STEPS, None)])
def test_without_a_graph_or_a_program_there_are_no_boxes(program, scene):
    assert concerned(item(), question(program), scene, LEXICON) == Concerned()
