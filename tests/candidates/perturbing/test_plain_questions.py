"""What may be edited in questions of a plain table, whose programs are derived from their texts, with the default vocabulary."""

from __future__ import annotations

import pytest

from pipeline.candidates.perturbing.image_mentions import collect_mentions
from pipeline.core.records import Question, Vocabulary
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


def test_positions_stay_where_the_image_may_show_another_such_object(tagger, words):
    asked = "What color is the car on the left?"
    edits = make_edits(tagger, words, (asked, "red"), ("Is the nearest car big?", "yes"), subset="pt-hard")
    assert not edits[asked]


def test_positions_of_the_only_object_of_a_name_are_edited(tagger, words):
    asked = "What color is the rocket on the left?"
    edits = make_edits(
        tagger, words, (asked, "red"), ("What is behind the rocket?", "tower"), subset="pt-hard"
    )
    assert edits[asked] <= {
        "What color is the rocket on the right?",
        "What color is the rocket in the middle?",
    }
    assert edits[asked]


def test_no_attribute_is_inserted_that_a_text_mentions_beside_the_object(tagger, words):
    asked = "What is written on the vest of the golden dog?"
    other = "Which of the two dogs is larger, the brown one or the white one?"
    edits = make_edits(tagger, words, (asked, "rescue"), (other, "white"), subset="pt-hard")
    colors = {text.split()[-2] for text in edits[asked]}  # black, gray, ...
    assert colors and colors.isdisjoint({"brown", "white", "golden"})


def test_sizes_stay_because_people_disagree_on_them(tagger, words):
    asked = "What drink is in the small cup?"
    assert not make_edits(tagger, words, (asked, "coffee"), subset="pt-hard")[asked]


def test_no_object_is_inserted_that_an_answer_mentions(tagger, words):
    asked = "What color is the cup on the table?"
    answers = [("Where is the small spoon?", f"on the {name}") for name in ("saucer", "plate")]
    edits = make_edits(tagger, words, (asked, "white"), *answers, subset="pt-easy")
    assert edits[asked] and not [text for text in edits[asked] if "saucer" in text or "plate" in text]


def test_the_owner_is_replaced_and_not_its_part(tagger, words):
    asked = "What color is the nose of the golden dog?"
    edits = make_edits(tagger, words, (asked, "black"), subset="pt-easy")
    assert edits[asked] and all(
        text.startswith("What color is the nose of the golden ") for text in edits[asked]
    )


def test_objects_are_replaced_by_objects_of_their_kind(tagger, words):
    asked = "What color is the dog behind the tree?"
    edits = make_edits(tagger, words, (asked, "black"), subset="pt-easy")
    animals = {
        "cat",
        "cow",
        "horse",
        "bird",
        "bear",
        "sheep",
        "elephant",
        "zebra",
        "giraffe",
        "lion",
        "duck",
        "monkey",
    }
    inserted = {text.split()[4] for text in edits[asked]} - {"dog"}
    assert inserted and len(inserted & animals) >= 0.5 * len(inserted)
    assert inserted.isdisjoint({"cup", "car", "shirt", "table"})


@pytest.mark.parametrize(
    ("asked", "kin"),
    [
        ("What is lying open on the bed?", {"couch", "sofa", "mattress", "chair"}),
        ("What is in the brown cup on the right?", {"bowl", "mug", "glass", "jar", "vase"}),
        ("What is the house made of?", {"building", "tower", "barn", "church"}),
        ("What color is the bus?", {"van", "truck"}),
        ("Which word is written on the red sign?", {"flag", "banner", "poster"}),
    ],
)
def test_no_kin_is_inserted(tagger, words, asked, kin):
    edits = edit_one(tagger, words, asked)
    assert edits
    assert not [text for text in edits if kin & set(text.rstrip("?").lower().split())]


def test_one_place_of_a_question_is_edited(tagger, words):
    asked = "What is the man in the red coat beside the white truck holding?"
    for subset in ("pt-easy", "pt-hard"):
        for text in edit_one(tagger, words, asked, subset=subset):
            changed = sum(a != b for a, b in zip(asked.split(), text.split(), strict=True))
            assert changed == 1


def test_the_object_that_is_asked_about_is_replaced_and_not_its_surroundings(tagger, words):
    edits = edit_one(tagger, words, "What color is the car behind the fence?")
    assert edits and all(text.endswith("behind the fence?") for text in edits)


def test_an_unnamed_object_is_asked_about_by_its_nearest_reference(tagger, words):
    edits = edit_one(tagger, words, "What device is lying on the desk to the left of the lamp?")
    assert all(text.endswith("to the left of the lamp?") for text in edits)


def test_pronouns_follow_the_person(tagger, words):
    edits = edit_one(tagger, words, "What is the man in the cream coat wearing over his eyes?")
    assert "What is the girl in the cream coat wearing over her eyes?" in edits
    assert not [text for text in edits if "girl" in text and " his " in text]


def test_nobody_is_inserted_whom_a_text_mentions(tagger, words):
    asked = "Is the man on the left with the baseball cap wearing shorts?"
    edits = edit_one(tagger, words, asked, "What color are the socks of the girls?")
    assert not [text for text in edits if "woman" in text or "girl" in text]


def test_compounds_are_replaced_as_a_whole(tagger, words):
    edits = edit_one(tagger, words, "What color is the pickup truck behind the stop sign?")
    assert edits and not [text for text in edits if "pickup" in text]


@pytest.mark.parametrize(
    "asked",
    [
        "Is the house on the left or the right side of the picture?",
        "Which is wider, the cup or the saucer?",
        "Is the umbrella red or blue?",
    ],
)
def test_options_stay(tagger, words, asked):
    options = {"left", "right", "cup", "saucer", "red", "blue"} & set(
        asked.rstrip("?").replace(",", "").split()
    )
    for subset in ("pt-easy", "pt-hard"):
        for text in edit_one(tagger, words, asked, subset=subset):
            assert options <= set(text.rstrip("?").replace(",", "").split())


NEUTRAL = {"white", "black", "gray", "silver", "brown", "beige", "tan", "light", "dark"}


@pytest.mark.parametrize(
    ("asked", "near"),
    [
        ("What is the woman in the black blouse holding?", set()),
        ("What does the man in the light blue shirt wear on his wrist?", {"blue", "purple"}),
        ("What is the man in the cream coat wearing over his eyes?", {"yellow", "pink"}),
        ("Which newspaper is sold in the blue box?", {"blue", "purple"}),
        ("What kind of jewelry is the woman in red wearing on her ear?", {"red", "orange", "pink"}),
    ],
)
def test_colors_of_things_become_bright_colors_that_nobody_confuses(tagger, words, asked, near):
    edits = edit_one(tagger, words, asked, subset="pt-hard")
    inserted = {word for text in edits for word in text.rstrip("?").split()} - set(asked.rstrip("?").split())
    assert inserted and inserted.isdisjoint(NEUTRAL | near)
    # One word stands in place of one color, also of "light blue".
    assert all(len(asked.split()) - len(text.split()) in (0, 1) for text in edits)


def test_colors_that_a_text_mentions_are_inserted_last(tagger, words):
    asked = "What is in the black box?"
    edits = edit_one(tagger, words, asked, "Is the woman wearing a red or a green coat?", subset="pt-hard")
    assert edits and not [text for text in edits if "red" in text or "green" in text]


def test_the_pose_of_a_described_person_becomes_a_rare_one(tagger, words):
    asked = "What color is the shirt of the man walking next to the curb?"
    edits = edit_one(tagger, words, asked, subset="pt-hard")
    assert edits and all(text.split()[8] in ("kneeling", "lying", "jumping") for text in edits)


@pytest.mark.parametrize("asked", ["What is the man standing on?", "Where is the woman sitting?"])
def test_what_a_question_asks_about_a_person_stays(tagger, words, asked):
    assert not edit_one(tagger, words, asked, subset="pt-hard")


def test_counts_of_what_an_object_has_presuppose_the_object(tagger, words):
    edits = edit_one(tagger, words, "How many sides does the red sign have?")
    assert edits and not edit_one(tagger, words, "How many cups are on the table?")


def test_only_indoor_objects_are_inserted_indoors(tagger, words):
    edits = edit_one(
        tagger,
        words,
        "What is hanging over the back of the couch?",
        "Is the pillow on the bed white?",
        "Is the lamp lit?",
    )
    outdoors = {"tent", "boat", "statue", "train", "tractor", "bridge", "windmill"}
    assert edits and not [text for text in edits if any(name in text for name in outdoors)]


@pytest.mark.parametrize(
    "asked",
    [
        "Is there a cup on the table?",
        "What color are the shirts of the group of three?",
        "What color is the sky?",
        "What color is the traffic light in the distance showing?",
    ],
)
def test_some_objects_have_no_other_word(tagger, words, asked):
    assert not make_edits(tagger, words, (asked, "red"), subset="pt-easy")[asked]


def test_mentions_come_from_plain_questions_only():
    def ask(**fields):
        return Question(
            question_id="1", image_id="1", split="testdev", text="Is it?", answer="a Cup's", **fields
        )

    assert collect_mentions([ask(program_from_text=True)]).texts == (("is", "it", "a", "cup", "s"),)
    assert collect_mentions([ask()]).texts == ()


def test_animals_are_inserted_only_with_parts_that_they_have(tagger, words):
    asked = "What is tied to the hook beside the dog's paw?"
    edits = make_edits(tagger, words, (asked, "a rope"), subset="pt-easy")[asked]
    assert edits
    assert not any(
        animal in text for text in edits for animal in ("horse", "zebra", "cow", "penguin", "elephant")
    )


def test_verbs_of_one_kind_of_vehicle_keep_the_kind(tagger, words):
    asked = "What color is the large ship docked at the pier?"
    edits = make_edits(tagger, words, (asked, "white"), subset="pt-easy")[asked]
    assert not any(
        name in text for text in edits for name in ("car", "truck", "umbrella", "airplane", "train")
    )


def test_clothes_are_edited_where_readers_would_answer_no_to_another_person(tagger, words):
    asked = "Is the man in the orange suit smiling?"
    edits = make_edits(tagger, words, (asked, "yes"), subset="pt-easy")[asked]
    # "Is the woman in the orange suit smiling?" has the answer "no".
    assert edits
    assert all(
        text.startswith(("Is the man in the orange dress", "Is the man in the orange skirt"))
        for text in edits
    )


def test_people_of_unknown_role_become_people_of_unmistakable_clothes(tagger, words):
    asked = "What color are the trousers of the man standing between the two men in front?"
    edits = make_edits(tagger, words, (asked, "white"), subset="pt-easy")[asked]
    assert edits
    assert not any(role in text for text in edits for role in ("surfer", "chef", "skateboarder", "umpire"))
    assert not any("astronaut" in text for text in edits)


def test_nobody_asks_for_the_beard_of_a_woman(tagger, words):
    asked = "Does the man on the bench have a beard?"
    edits = make_edits(tagger, words, (asked, "yes"), subset="pt-easy")[asked]
    assert edits
    assert not any("woman" in text for text in edits)


@pytest.mark.parametrize(
    ("asked", "edited"),
    [
        (
            "What is the wall behind the parked car made of?",
            "What is the wall behind the overturned car made of?",
        ),
        (
            "What color is the blouse of the smiling woman?",
            "What color is the blouse of the crying woman?",
        ),
        (
            "What color is the blanket laid across the bed?",
            "What color is the blanket lying under the bed?",
        ),
        (
            "What color is the couch on the left side of the office?",
            "What color is the couch on the right side of the office?",
        ),
        (
            "What color is the curtain hanging above the dogs?",
            "What color is the curtain hanging below the dogs?",
        ),
        (
            "What shape are the seats of the stools around the tables?",
            "What shape are the seats of the stools on top of the tables?",
        ),
        (
            "What shape is the rug in front of the leather armchair?",
            "What shape is the rug in front of the wicker armchair?",
        ),
    ],
)
def test_states_places_and_materials_become_what_the_image_does_not_show(tagger, words, asked, edited):
    assert make_edits(tagger, words, (asked, "x"), subset="pt-hard")[asked] == {edited}


def test_no_hair_becomes_red_where_the_image_shows_others(tagger, words):
    asked = "What is the blonde woman holding?"
    rows = ((asked, "a cup"), ("How many women are there?", "two"))
    edits = make_edits(tagger, words, *rows, subset="pt-hard")[asked]
    assert edits
    assert not any("red-haired" in text for text in edits)
