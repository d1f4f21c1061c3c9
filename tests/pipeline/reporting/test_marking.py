import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.records import Edit
from pipeline.reporting.marking import marked


def edit(source: str, old: str, new: str, kind: str = "object") -> Edit:
    start = source.index(old)
    return Edit(start=start, end=start + len(old), kind=kind, old=old, new=new)


def marks(pieces):
    return [(piece.text, piece.mark) for piece in pieces if piece.mark]


@pytest.mark.parametrize(
    ("source", "edited", "swaps", "out", "put_in"),
    [
        (
            "What color is the cup?",
            "What color is the dog?",
            [("cup", "dog")],
            [("cup", "edit")],
            [("dog", "edit")],
        ),
        # an article that has to follow is no edit
        (
            "Is there a cup on an apple?",
            "Is there an owl on an apple?",
            [("cup", "owl")],
            [("a", "agreement"), ("cup", "edit")],
            [("an", "agreement"), ("owl", "edit")],
        ),
        # a verb apart from the edit: "is" became "are"
        (
            "Is the red cup full?",
            "Are the red hats full?",
            [("cup", "hats")],
            [("Is", "agreement"), ("cup", "edit")],
            [("Are", "agreement"), ("hats", "edit")],
        ),
        (
            "Is the traffic light on?",
            "Is the dog on?",
            [("traffic light", "dog")],
            [("traffic light", "edit")],
            [("dog", "edit")],
        ),
        (
            "Is the dog on?",
            "Is the traffic light on?",
            [("dog", "traffic light")],
            [("dog", "edit")],
            [("traffic light", "edit")],
        ),
        # of "to the left of" only the word that differs
        (
            "Is it to the left of the car?",
            "Is it to the right of the car?",
            [("to the left of", "to the right of")],
            [("left", "edit")],
            [("right", "edit")],
        ),
        (
            "What is the dog near the dog?",
            "What is the cat near the dog?",
            [("dog", "cat")],
            [("dog", "edit")],
            [("cat", "edit")],
        ),
        ("What is this?", "What is this?", [], [], []),
    ],
)
def test_what_an_edit_changed_is_marked(source, edited, swaps, out, put_in):
    before, after = marked(source, edited, [edit(source, *swap) for swap in swaps])
    assert (marks(before), marks(after)) == (out, put_in)


@given(st.text(max_size=40), st.text(max_size=40), st.integers(0, 40), st.integers(0, 10))
def test_the_pieces_joined_are_the_whole_text(source, edited, start, length):
    swap = Edit(start=start, end=start + length, kind="object", old="", new="")
    before, after = marked(source, edited, [swap])
    assert ("".join(p.text for p in before), "".join(p.text for p in after)) == (source, edited)


def test_every_edit_of_a_run_is_marked_with_the_words_it_names(run):
    edited = [item for rows in run.items.values() for item in rows if item.edits]
    assert edited
    for item in edited:
        source = run.questions[item.question_id].text
        before, after = marked(source, item.text, item.edits)
        assert any(mark == "edit" for _, mark in marks(before)) and any(
            mark == "edit" for _, mark in marks(after)
        ), item.text
