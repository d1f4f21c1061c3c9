"""Kinds of faults that readers found in edits of plain questions beside the photographs."""

from __future__ import annotations

import pytest

from pipeline.core.records import Vocabulary
from pipeline.language.tagger import Tagger
from pipeline.verifier.vocabulary import add_default_vocabulary
from tests.candidates.perturbing.in_memory import NO_WORDS
from tests.candidates.perturbing.plain_cases import edit_one, make_edits


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    return Tagger()


@pytest.fixture(scope="module")
def words() -> Vocabulary:
    return add_default_vocabulary(NO_WORDS, 1.0)


def find_inserted(asked: str, edits: set[str]) -> set[str]:
    """The words of the edits that the question does not have."""
    old = set(asked.rstrip("?").split())
    return {word for text in edits for word in text.rstrip("?").split()} - old


def test_only_clothes_are_worn(tagger, words):
    asked = "What color is the jacket worn by the person in the field?"
    inserted = find_inserted(asked, edit_one(tagger, words, asked))
    assert inserted
    assert inserted.isdisjoint({"suitcase", "umbrella", "backpack", "surfboard"})


@pytest.mark.parametrize(
    ("asked", "unsuitable"),
    [
        # The default vocabulary lists few leather umbrellas and oval balloons, by its counts of Visual Genome.
        ("What color is the leather couch?", {"umbrella", "refrigerator", "aquarium"}),
        ("What is written on the oval sign?", {"balloon", "umbrella", "bus"}),
    ],
)
def test_materials_and_shapes_stay_with_objects_that_have_them(tagger, words, asked, unsuitable):
    assert find_inserted(asked, edit_one(tagger, words, asked)).isdisjoint(unsuitable)


@pytest.mark.parametrize(
    "asked",
    [
        "Can you see the man's face in this photo?",
        "Is the cat on the bed visible?",
        "Does the picture show the front of the car?",
        "Is anyone sitting in the car?",
    ],
)
def test_questions_whether_something_can_be_seen_are_not_edited(tagger, words, asked):
    for subset in ("pt-easy", "pt-hard"):
        assert not edit_one(tagger, words, asked, subset=subset)


def test_a_choice_between_ways_to_be_seen_is_edited(tagger, words):
    assert edit_one(tagger, words, "Is the dog seen from behind or from the front?")


def test_positions_of_vehicles_are_swapped_only_where_there_is_one(tagger, words):
    asked = "How many headlights does the bus in the center have?"
    assert not make_edits(tagger, words, (asked, "4"), subset="pt-hard")[asked]
    counted = ("How many buses are there?", "1")
    edits = make_edits(tagger, words, (asked, "4"), counted, subset="pt-hard")[asked]
    assert edits and all("on the left" in text or "on the right" in text for text in edits)


def test_vessels_become_nothing_that_holds_the_same_content(tagger, words):
    asked = "What is in the black pot on the left?"
    inserted = find_inserted(asked, edit_one(tagger, words, asked))
    assert inserted <= {"teapot", "frying", "pan"}


def test_a_bus_is_no_truck(tagger, words):
    asked = "What color is the roof of the bus?"
    inserted = find_inserted(asked, edit_one(tagger, words, asked))
    assert inserted and "truck" not in inserted


@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        ("What color are the chairs around the table?", "chairs"),
        ("What color is the plate under the dessert?", "plate"),
    ],
)
def test_what_supports_or_surrounds_something_stays(tagger, words, asked, kept):
    edits = edit_one(tagger, words, asked)
    assert edits and all(kept in text for text in edits)


def test_banners_of_vehicles_stay_and_the_vehicle_is_replaced(tagger, words):
    asked = "What word is written on the banner below the windshield of the bus?"
    edits = edit_one(tagger, words, asked)
    assert edits
    assert all(
        text.startswith("What word is written on the banner below the windshield of the ") for text in edits
    )


def test_nobody_asks_for_the_color_of_snow(tagger, words):
    for asked in ("What color is the curb on the other side of the road?", "What color is the road?"):
        assert "snow" not in find_inserted(asked, edit_one(tagger, words, asked))


def test_what_lines_a_road_may_line_a_river(tagger, words):
    asked = "What lines the road on both sides?"
    inserted = find_inserted(asked, edit_one(tagger, words, asked, "Is the bus on the road red?"))
    assert inserted and inserted <= {"river", "lake"}


def test_insects_and_frogs_neither_lie_nor_stand(tagger, words):
    asked = "Is the kitten lying down or standing up?"
    rows = ((asked, "lying down"), ("What color is the fur of the kitten?", "gray"))
    inserted = find_inserted(asked, make_edits(tagger, words, *rows, subset="pt-easy")[asked])
    assert inserted.isdisjoint({"bee", "frog", "turtle", "owl", "duck", "penguin"})


@pytest.mark.parametrize(
    "asked",
    ["What is the person in the yellow cardigan sitting on?", "What is the person in white holding?"],
)
def test_people_with_other_clothes_have_no_role_with_a_uniform(tagger, words, asked):
    inserted = find_inserted(asked, edit_one(tagger, words, asked))
    assert inserted == {"clown"}


def test_people_whose_faces_are_hidden_are_not_replaced_by_others(tagger, words):
    asked = "What color are the pants of the man in the blue jacket?"
    rows = ((asked, "tan"), ("Can you see the man's face?", "no"), ("What is on the floor?", "a box"))
    inserted = find_inserted(asked, make_edits(tagger, words, *rows, subset="pt-easy")[asked])
    assert inserted.isdisjoint(("woman", "girl"))


@pytest.mark.parametrize(
    ("person", "other"),
    [("man", "girl"), ("guy", "girl"), ("woman", "boy"), ("lady", "boy"), ("boy", "woman"), ("girl", "man")],
)
def test_age_and_sex_of_a_person_change_together(tagger, words, person, other):
    asked = f"What is the {person} in the striped shirt standing on?"
    assert f"What is the {other} in the striped shirt standing on?" in edit_one(tagger, words, asked)


def test_what_has_a_color_is_no_person(tagger, words):
    # A pitcher is a person or a vessel.
    assert not edit_one(tagger, words, "What color is the pitcher?")


def test_a_color_that_is_a_fruit_too_is_not_replaced(tagger, words):
    edits = edit_one(tagger, words, "Which car is between the orange one and the black one?")
    assert all("orange one" in text for text in edits)


@pytest.mark.parametrize(
    "asked", ["What is she wearing around her neck?", "What is the barista holding in her hand?"]
)
def test_no_pronoun_alone_is_edited(tagger, words, asked):
    """Whoever reads "his" takes it for a slip, because the woman is there."""
    others = ("What color is the blouse of the woman?", "Is the woman smiling?")
    assert not [text for text in edit_one(tagger, words, asked, *others) if {"he", "his"} & {*text.split()}]


def test_colors_stay_in_black_and_white_photographs(tagger, words):
    asked = "What is the man in the dark shirt holding?"
    photo = ("Is the photo in color or black and white?", "black and white")
    assert not make_edits(tagger, words, (asked, "a ball"), photo, subset="pt-hard")[asked]


@pytest.mark.parametrize(
    ("asked", "edited"),
    [
        (
            "What is the man carrying above his leather bag?",
            {"What is the man carrying above his straw bag?"},
        ),
        ("What color is the leather briefcase?", {"What color is the metal briefcase?"}),
        ("What drink is in the metal mug?", {"What drink is in the wooden mug?"}),
        (
            "Which tool lies to the left of the hammer and has a wide metal blade?",
            {
                "Which tool lies to the left of the hammer and has a wide plastic blade?",
                "Which tool lies to the left of the hammer and has a wide wooden blade?",
            },
        ),
        (
            "What is pictured on the diamond-shaped sign on the left?",
            {"What is pictured on the heart-shaped sign on the left?"},
        ),
        (
            "What color are the trousers of the man with both arms raised?",
            {"What color are the trousers of the man with both arms crossed?"},
        ),
        (
            "What is on the back of the person riding the bike?",
            {"What is on the back of the person repairing the bike?"},
        ),
        ("What is inside the glass on top of the table?", {"What is inside the glass under the table?"}),
    ],
)
def test_attributes_and_relations_become_what_the_image_does_not_show(tagger, words, asked, edited):
    edits = make_edits(tagger, words, (asked, "x"), subset="pt-hard")[asked]
    assert edits and edits <= edited


def test_colors_of_clothes_and_of_named_signs_are_edited(tagger, words):
    for asked, old in (
        ("What is the person in white on the far sidewalk holding over their head?", "white"),
        ("What is the name on the green street sign above the stop sign?", "green"),
    ):
        edits = make_edits(tagger, words, (asked, "x"), subset="pt-hard")[asked]
        assert edits and all(old not in text.split() for text in edits)


def test_questions_without_a_program_are_plain_beside_plain_questions(tagger, words):
    # "Is the kitten lying down or standing up?" has no program, so its text alone would not say that it is plain.
    asked = "Is the kitten lying down or standing up?"
    edits = make_edits(
        tagger,
        words,
        (asked, "lying down"),
        ("What color is the fur of the kitten?", "gray"),
        subset="pt-hard",
    )[asked]
    assert not edits


@pytest.mark.parametrize(
    ("asked", "absurd"),
    [
        ("What color is the coffee in the cup on the far right?", {"teapot", "basket"}),
        ("What is the tray under the croissant made of?", {"pillow", "basket", "book"}),
        ("Is the wine bottle closed with a cork?", {"basket", "teapot", "box"}),
        ("What connects the handset to the base of the telephone?", {"basket", "teapot", "pillow"}),
        ("What lies on top of the black notebook?", {"teapot", "basket", "vase"}),
        ("What shape is the wooden table?", {"fireplace", "bathtub", "basket"}),
        ("What pastry is lying on the wooden tray?", {"basket", "guitar", "pillow"}),
        ("What is the table with the wine bottle made of?", {"piano", "refrigerator"}),
        ("Is the cup full to the brim?", {"basket", "pan"}),
        ("What is next to the picture frame on the lower shelf?", {"surfboard", "guitar", "piano"}),
        ("Is the man in the purple sweater wearing glasses?", {"skirt", "gown"}),
    ],
)
def test_inserted_objects_fit_what_they_are_in_on_and_under(tagger, words, asked, absurd):
    assert find_inserted(asked, edit_one(tagger, words, asked)).isdisjoint(absurd)


def test_a_drink_keeps_its_name_and_its_vessel_is_replaced(tagger, words):
    asked = "What color is the coffee in the cup on the far right?"
    inserted = find_inserted(asked, edit_one(tagger, words, asked))
    assert inserted
    assert inserted <= {"bottle", "teapot"}


def test_an_animal_without_a_name_is_replaced_if_another_text_names_it(tagger, words):
    asked = "Where is the animal holding its front paws?"
    named = ("What kind of animal is in the foreground?", "a quokka")
    edits = make_edits(tagger, words, (asked, "x"), named, subset="pt-easy")[asked]
    inserted = find_inserted(asked, edits)
    assert inserted
    # By the table of parts in contrasts.py, these have paws.
    assert inserted <= {"dog", "puppy", "cat", "kitten", "rabbit", "bear", "lion"}
    assert not edit_one(tagger, words, asked)


def test_what_a_man_wears_is_no_detail_where_a_woman_wears_it_too(tagger, words):
    asked = "What does the man have wrapped around his neck?"
    others = [("What color is the scarf of the woman standing behind the man?", "blue")]
    edits = make_edits(tagger, words, (asked, "a pink scarf"), *others, subset="pt-easy")[asked]
    assert "woman" not in find_inserted(asked, edits)


def test_what_people_wear_tells_them_apart_like_what_they_have(tagger, words):
    # With one text only, no man becomes a girl unless something describes him.
    assert edit_one(tagger, words, "What is the man wearing the umbrella hat standing on?") == {
        "What is the girl wearing the umbrella hat standing on?"
    }
    assert "girl" not in str(edit_one(tagger, words, "What is the man standing on?"))


@pytest.mark.parametrize(
    ("asked", "is_edited"),
    [
        ("What color is the cart?", True),
        ("What color is the three-wheeled cart?", False),
        ("What color is the red-haired man?", True),
    ],
)
def test_what_few_objects_are_belongs_to_its_object(tagger, words, asked, is_edited):
    assert bool(edit_one(tagger, words, asked)) == is_edited


def test_the_wearer_is_replaced_and_not_the_clothes(tagger, words):
    for wearer in ("person", "dog"):
        edits = edit_one(tagger, words, f"What is the hat on the {wearer} made of?")
        assert edits and all(text.startswith("What is the hat on the ") for text in edits)
        assert f"What is the hat on the {wearer} made of?" not in edits
