"""Attributes that are inserted into plain questions because other questions of the image contradict them."""

from __future__ import annotations

import pytest

from pipeline.core.records import Vocabulary
from pipeline.language.tagger import Tagger
from pipeline.verifier.vocabulary import add_default_vocabulary
from tests.candidates.perturbing.in_memory import NO_WORDS
from tests.candidates.perturbing.plain_cases import edit_one, make_edits

DOG = ("What is the dog doing?", "barking")
BROWN = ("What color is the dog?", "brown")
HOLDING = ("What is the man holding?", "a cup")
DESK = ("What is the man at the desk doing?", "typing")
GRAY = ("What color is the man's sweater?", "gray")


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    return Tagger()


@pytest.fixture(scope="module")
def words() -> Vocabulary:
    return add_default_vocabulary(NO_WORDS, 1.0)


def insert(tagger, words, *rows):
    """The edited texts of the first question."""
    return make_edits(tagger, words, *rows, subset="pt-hard")[rows[0][0]]


@pytest.mark.parametrize(
    ("rows", "edited"),
    [
        # No color of a coat that people confuse with brown: neither white with spots nor golden.
        ((DOG, BROWN), {f"What is the {color} dog doing?" for color in ("black", "gray", "white")}),
        ((DOG, ("Where is the brown dog?", "x"), ("Is the dog big?", "x")), {f"What is the {color} dog doing?" for color in ("black", "gray", "white")}),
        (
            (("What drink is next to the woman?", "cola"), ("What is the blonde woman holding?", "x")),
            {f"What drink is next to the {color}-haired woman?" for color in ("red", "black")},
        ),
        (
            (("What drink is next to the woman?", "cola"), ("What color is the woman's hair?", "brown")),
            {"What drink is next to the gray-haired woman?"},
        ),
        (
            (DESK, GRAY),
            {f"What is the man in the {color} sweater at the desk doing?" for color in ("orange", "yellow", "purple", "pink", "green", "red", "blue")},
        ),
        (
            (HOLDING, ("What is the man wearing?", "a blue jacket")),
            {f"What is the man in the {color} jacket holding?" for color in ("orange", "yellow", "green", "pink", "red")},
        ),
        ((HOLDING, ("Is the man wearing a hat?", "no")), {"What is the man with the hat holding?"}),
        ((HOLDING, ("Is the man wearing glasses?", "no")), {"What is the man with glasses holding?"}),
        ((HOLDING, ("Does the man have a beard?", "no")), {"What is the man with the beard holding?"}),
        ((("Where is the umbrella?", "x"), ("Is the umbrella open?", "yes")), {"Where is the closed umbrella?"}),
        ((("What is next to the umbrella?", "x"), ("Is the umbrella open?", "no")), {"What is next to the open umbrella?"}),
        ((("What is the woman holding?", "x"), ("Is the woman smiling?", "yes")), {"What is the crying woman holding?"}),
        (
            (("What is next to the woman?", "x"), ("What is the woman sitting on?", "a pier")),
            {f"What is next to the {pose} woman?" for pose in ("running", "standing", "jumping")},
        ),
        (
            (("What is next to the dog?", "x"), ("Is the dog standing or lying?", "lying")),
            {f"What is next to the {pose} dog?" for pose in ("running", "standing", "jumping")},
        ),
        (
            (("What color is the nose of the bird?", "x"), ("Is the bird flying?", "no")),
            {"What color is the nose of the flying bird?"},
        ),
        (
            (("What is on the tray?", "x"), ("What is the tray made of?", "wood")),
            {"What is on the glass tray?", "What is on the metal tray?"},
        ),
        (
            (("What is next to the book?", "x"), ("What color is the book on the table?", "red")),
            {f"What is next to the {color} book?" for color in ("green", "blue", "purple", "yellow")},
        ),
        (
            (("What is next to the book?", "x"), ("Who owns the book on the table?", "x")),
            {"What is next to the book under the table?"},
        ),
    ],
)  # fmt: skip
def test_what_another_question_contradicts_is_inserted(tagger, words, rows, edited):
    edits = insert(tagger, words, *rows)
    assert edits
    assert edits <= edited


@pytest.mark.parametrize(
    "rows",
    [
        # It is asked for.
        (BROWN,),
        # There may be another one.
        (DOG, BROWN, ("How many dogs are there?", "2")),
        (DOG, BROWN, ("What is the other dog eating?", "x")),
        (DOG, ("Is the brown dog big?", "x"), ("Is the black dog big?", "x")),
        # No text says that the dog is the only one.
        (("What is the dog near the car doing?", "x"), ("What color is the dog near the car?", "brown")),
        (DESK, GRAY, ("What are the people doing?", "x")),
        (("What is behind the boy?", "x"), ("What color is the boy's shirt?", "red"), ("What is the child doing?", "x")),
        # What somebody wears is asked for, or "in" describes the person already.
        (("What is the man wearing?", "x"), GRAY),
        (("What is the man in the coat holding?", "x"), ("Is the man wearing a hat?", "no")),
        # Hair is the subject.
        (("Is the woman's hair long?", "yes"), ("What color is the woman's hair?", "brown")),
    ],
)  # fmt: skip
def test_nothing_is_inserted_where_it_may_be_true_or_is_asked_for(tagger, words, rows):
    assert not insert(tagger, words, *rows)


def test_other_people_of_another_sex_do_not_matter(tagger, words):
    woman = ("What is the woman doing?", "x")
    assert insert(tagger, words, DESK, GRAY, woman)


def test_adjectives_stand_in_the_usual_order(tagger, words):
    asked = "What is the small wooden table next to?"
    edits = insert(
        tagger, words, ("What is next to the small sofa?", "x"), ("What color is the sofa?", "blue")
    )
    assert edits
    assert all(text.startswith("What is next to the small ") and text.endswith(" sofa?") for text in edits)
    # "Wooden" is replaced and not described.
    assert insert(tagger, words, (asked, "x"), ("What color is the table?", "white")) == {
        "What is the small metal table next to?",
        "What is the small glass table next to?",
    }


def test_rare_colors_are_inserted_where_no_color_is_known(tagger, words):
    # In the default vocabulary, of 1550 colors of couches 0.014 are purple or pink, 0.019 orange, 0.025 yellow; 0.09 are red.
    edits = edit_one(tagger, words, "What is on the couch?", subset="pt-hard")
    assert edits
    assert edits <= {f"What is on the {color} couch?" for color in ("purple", "pink", "orange", "yellow")}
    # Wood looks orange or yellow.
    edits = edit_one(tagger, words, "What is on the dresser?", subset="pt-hard")
    assert edits
    assert not any("orange" in text or "yellow" in text for text in edits)


@pytest.mark.parametrize(
    "others",
    [
        ("Is the photo in color or black and white?",),
        ("What pattern does the couch have?",),
        ("What is on the couches?",),
    ],
)
def test_no_rare_color_is_inserted_where_it_may_be_seen(tagger, words, others):
    rows = [("What is on the couch?", "x"), *((text, "black and white") for text in others)]
    assert not insert(tagger, words, *rows)


def test_vehicles_get_no_rare_color(tagger, words):
    assert not edit_one(tagger, words, "What is on the bus?", subset="pt-hard")


def test_a_vessel_is_nobody(tagger, words):
    edits = edit_one(tagger, words, "Is the drink in the glass pitcher red?")
    assert not any("pitcher" not in text for text in edits)


def test_no_guitar_lies_under_a_fork_and_no_umbrella_has_a_back(tagger, words):
    edits = edit_one(tagger, words, "What utensil is lying on the napkin?")
    assert not any("guitar" in text for text in edits)
    edits = edit_one(tagger, words, "What is hanging on the back of the chair?")
    assert edits
    assert not any("umbrella" in text for text in edits)
