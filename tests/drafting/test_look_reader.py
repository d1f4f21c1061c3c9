"""What a model writes about an image is read, or rejected with a reason, and never an error."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.drafting.json_replies import read_json_reply
from pipeline.drafting.look_reader import MAX_OBJECTS, find_question_fault, read_look

from .fixtures import read_recorded

SIZE = (200, 100)
CUP = {"id": "o1", "name": "cup", "box": [100, 200, 300, 600], "attributes": ["red"], "relations": [{"name": "on", "object": "o2"}], "sure": True}  # fmt: skip
TABLE = {"id": "o2", "name": "table", "box": [0, 500, 1000, 1000], "attributes": ["wooden"], "relations": []}
ASKED = {"question": "What color is the cup on the table?", "answer": "Red.", "type": "attribute", "objects": ["o1", "o2"]}  # fmt: skip
REPLY = {"objects": [CUP, TABLE], "place": "kitchen", "weather": "", "indoors": True, "absent": ["dog"], "questions": [ASKED]}  # fmt: skip


def look(**changes):
    return read_look("n1", json.dumps(REPLY | changes), SIZE)


def reasons(found):
    return [(row.kind, row.reason) for row in found.rejected]


def test_a_good_reply_is_read_completely():
    found = look()
    cup, _ = found.objects
    # A tenth to three tenths of 200 pixels, a fifth to three fifths of 100 pixels.
    assert (cup.name, cup.box, cup.attributes, cup.relations) == (
        "cup",
        (20, 20, 40, 40),
        ("red",),
        (("on", "o2"),),
    )
    assert [(one.text, one.answer, one.type) for one in found.questions] == [
        ("What color is the cup on the table?", "red", "attribute")
    ]
    assert (found.place, found.absent, found.rejected, found.is_damaged) == ("kitchen", ("dog",), (), False)


def test_the_recorded_replies_of_a_strong_model_are_read():
    looks = [read_look(name, reply, size) for name, (size, reply) in read_recorded().items()]
    # The file has 230 objects and 156 questions.
    assert (sum(len(one.objects) for one in looks), sum(len(one.questions) for one in looks)) == (230, 150)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("```json\n", "\n```"),
        ("Sure, here it is: {as asked}\n", "\nI hope that helps."),
        ('<think>A cup {"objects": []}</think>', ""),
        ("[", "]"),
    ],
)
def test_what_stands_around_json_is_ignored(before, after):
    assert read_look("n1", before + json.dumps(REPLY) + after, SIZE) == look()


def test_comments_and_commas_are_repaired():
    text = json.dumps(REPLY, indent=1).replace('"red"\n', '"red", // as blood\n').replace("true", "True")
    assert read_look("n1", text, SIZE) == look()


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "empty reply"),
        (" \n\u200b", "empty reply"),
        ("<think>The picture shows", "only reasoning"),
        ("I'm sorry, but I cannot help with this image.", "refusal"),
        ("The picture shows a cup on a table.", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ('{"a":' * 100_000, "no JSON"),
        ('{"result": 3}', "no JSON"),
    ],
)
def test_a_reply_without_json_is_one_rejected_reply(reply, reason):
    assert reasons(read_look("n1", reply, SIZE)) == [("reply", reason)]


def test_the_part_before_a_fault_is_kept():
    whole = json.dumps(REPLY)
    for end in range(len(whole)):
        found = read_look("n1", whole[:end], SIZE)
        assert len(found.objects) <= 2
    assert [obj.name for obj in read_look("n1", whole[: whole.index('"place"')], SIZE).objects] == [
        "cup",
        "table",
    ]
    broken = whole.replace('"id": "o2",', '"id": "o2" ')
    assert [obj.name for obj in read_look("n1", broken, SIZE).objects] == ["cup"]


def test_a_question_in_a_damaged_reply_is_not_taken_for_the_reply():
    # The key `objects` of a question is also a key of the whole reply.
    found = read_json_reply(
        '{"questions": [{"question": "q", "objects": ["o1"]}], "objects": [{"name" 3}]}',
        ("objects", "questions"),
    )
    assert [row["question"] for row in found.value["questions"]] == ["q"]


@pytest.mark.parametrize(
    ("box", "expected"),
    [
        ([-100, 0, 500, 1200], (0, 0, 100, 100)),
        ([0.25, 0.5, 0.75, 1.0], (50, 50, 100, 50)),
        ([1100, 0, 1200, 500], "its box is outside of the image"),
        ([-300, 0, -100, 500], "its box is outside of the image"),
        ([500, 0, 500, 500], "its box has no area"),
        ([300, 0, 100, 500], "the corners of its box are swapped"),
        ([100, 500, 300, 0], "the corners of its box are swapped"),
        ([1, 2, 3], "no box of four numbers"),
        (["a", 0, 1, 1], "no box of four numbers"),
        (None, "no box of four numbers"),
        ([0, 0, 10**400, 1], "no box of four numbers"),
        ([True, 0, 1, 1], "no box of four numbers"),
    ],
)
def test_boxes_are_clipped_or_rejected(box, expected):
    found = look(objects=[CUP | {"box": box}], questions=[])
    if isinstance(expected, tuple):
        assert found.objects[0].box == expected
    else:
        assert reasons(found) == [("object", expected)]


def test_boxes_in_pixels_are_those_of_the_image_that_was_sent():
    found = read_look(
        "n1", json.dumps({"objects": [CUP | {"box": [0, 0, 50, 25]}]}), SIZE, (100, 50), "pixels"
    )
    assert found.objects[0].box == (0, 0, 100, 50)


def test_too_many_objects_are_counted():
    many = [CUP | {"id": f"o{number}", "box": [number, 0, number + 500, 900]} for number in range(400)]
    found = look(objects=[dict(one, name=f"cup{i}") for i, one in enumerate(many)], questions=[])
    assert len(found.objects) == MAX_OBJECTS
    assert reasons(found).count(("object", f"more than {MAX_OBJECTS} objects")) == 400 - MAX_OBJECTS


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"name": "Tasse für Kaffee"}, "no short English name"),
        ({"name": "杯子"}, "no short English name"),
        ({"name": ["cup"]}, "no short English name"),
        ({"name": "a thing that looks like a cup"}, "no short English name"),
        ({"id": "o2"}, "the same id as another object"),
    ],
)
def test_objects_that_cannot_be_used_are_rejected(change, reason):
    assert reasons(look(objects=[TABLE, CUP | change], questions=[])) == [("object", reason)]


def test_an_object_that_is_listed_twice_is_rejected():
    found = look(
        objects=[CUP, CUP | {"id": "o3"}, CUP | {"id": "o4", "box": [600, 200, 800, 600]}], questions=[]
    )
    assert [obj.object_id for obj in found.objects] == ["o1", "o4"]
    assert ("object", "listed twice") in reasons(found)


@pytest.mark.parametrize(
    ("text", "answer", "fault"),
    [
        ("What color is the cup?", "red", ""),
        ("In what room is the cup?", "kitchen", ""),
        ("What's on the table?", "cup", ""),
        ("The red cup is on what?", "table", ""),
        ("Is the cup red?", "yes", ""),
        ("Is the cup red or blue?", "red", ""),
        ("What red thing is on the table?", "red cup", ""),
        ("What is the red cup on the table?", "cup", "names its answer"),
        ("What are the cups on the table called?", "cup", "names its answer"),
        ("How many of the two cups are red?", "2", "names its answer"),
        ("Which cup?", "left", "shorter than 3 or longer than 22 words"),
        ("What is " + "very " * 30 + "red?", "cup", "shorter than 3 or longer than 22 words"),
        ("Is there a cup on the table?", "yes", "asks only whether something exists"),
        ("Are there any cups on the table?", "no", "asks only whether something exists"),
        ("Where is there a cup?", "table", ""),
        ("Is her hair short or long?", "short", "does not say whom it means"),
        ("What color is his hat?", "red", "does not say whom it means"),
        ("What is in their hands?", "cup", "does not say whom it means"),
        ("What are they doing?", "walking", "does not say whom it means"),
        ("What is the man holding in his hand?", "cup", ""),
        ("What color is the cat that is on its back?", "black", ""),
        ("Is the man holding his hat?", "yes", ""),
        ("What is behind the car with the license plate WD-5010?", "van", "quotes writing in the image"),
        ("What stands next to gate B12 of the airport?", "bus", "quotes writing in the image"),
        ('What color is the sign that says "Stop here"?', "red", "quotes writing in the image"),
        ("What color is the sign that says 'Stop'?", "red", "quotes writing in the image"),
        ("How many of the 3 men's hats are black?", "2", ""),
        ("Welche Farbe hat die Tasse?", "rot", "not an English question"),
        ("What color is the cup", "red", "not an English question"),
        ("杯子是什么颜色的？", "红色", "not an English question"),
        ("Describe the cup?", "red", "not an English question"),
        ("What color is the cup?", "n/a", "its answer means that none exists"),
        ("What color is the cup?", "", "its answer is no word or short phrase"),
        ("What color is the cup?", "it is red with a white handle", "its answer is no word or short phrase"),
    ],
)
def test_questions_that_cannot_be_used_have_a_reason(text, answer, fault):
    assert find_question_fault(text, answer) == fault


def test_questions_about_nothing_that_is_listed_are_rejected():
    rows = [
        ASKED | {"objects": ["o9"]},
        ASKED | {"objects": [], "type": "place"},
        ASKED | {"type": "place"},
        "What?",
    ]
    found = look(questions=rows)
    assert len(found.questions) == 1
    assert reasons(found) == [
        ("question", "about no object that is listed"),
        ("question", "the same question as another one"),
        ("question", "not a JSON object with a question"),
    ]


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["o1", "cup", "?"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from([*REPLY, *CUP, *ASKED]), inner, max_size=6)
    ),
    max_leaves=20,
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.sampled_from([*REPLY]), _JSON), st.integers(0, 400))
def test_no_reply_is_an_error(value, cut):
    text = json.dumps(value)
    for reply in (text, text[:cut], text[cut:]):
        found = read_look("n1", reply, SIZE)
        assert all(
            0 <= x < x + w <= 200 and 0 <= y < y + h <= 100
            for x, y, w, h in (obj.box for obj in found.objects)
        )
