import pytest

from pipeline.scoring import normalize_answer
from pipeline.scoring.matching import NORMALIZERS, match_answers
from pipeline.scoring.normalize import fold_case


@pytest.mark.parametrize(
    ("said", "exact", "vqa", "squad"),
    [
        ("kitchen", 1, 1, 1),
        ("Kitchen.", 0, 1, 1),
        ("the kitchen", 0, 1, 1),
        ("kitchen's", 0, 0, 0),
        ("'kitchen'", 0, 0, 1),  # VQA leaves apostrophes
        ("kitchens", 0, 0, 0),
    ],
)
def test_each_match_mode_ignores_what_it_states(said, exact, vqa, squad):
    for form, expected in zip(NORMALIZERS, (exact, vqa, squad), strict=True):
        assert match_answers([said], [{"kitchen": 1.0}], form).tolist() == [expected]


def test_an_unanswerable_question_has_no_right_answer():
    assert match_answers(["UQ", ""], [{}, {}], "squad").tolist() == [0, 0]


def test_of_several_labels_the_first_that_matches_counts():
    assert match_answers(["Dog"], [{"dog": 0.3, "DOG": 1.0}], "vqa").tolist() == [0.3]


def test_synonyms_are_looked_up_on_both_sides_once_normalised():
    assert match_answers(
        ["Sofa.", "couch"], [{"couch": 1.0}, {"sofa": 1.0}], "vqa", {"sofa": "Couch"}
    ).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("text", "official", "corrected"),
    [
        ("The Dog", "dog", "dog"),
        ("two cats", "2 cats", "2 cats"),
        ("none", "0", "0"),
        ("dont know", "don't know", "don't know"),
        ("black-and-white", "black and white", "black and white"),
        (
            "black- and-white",
            "black andwhite",
            "black and white",
        ),  # a mark beside a space anywhere makes all of its kind vanish
        ("1,000", "1000", "1000"),
        ("1,000 red/blue", "1000 redblue", "1000 red blue"),  # a number with a comma: all marks vanish
        ("3.5", "3.5", "3.5"),
        ("yes.", "yes", "yes"),
        ("no . 1", "no 1", "no 1"),
        ("...." * 9, "....", ""),  # Python's flag stands in the place of the count: 32 full stops go
        ("Im here", "im here", "i'm here"),
        ("somebody'd", "somebodyd", "somebody'd"),
        ("a\nb", "b", "b"),
        ("youd've", "you'd've", "you'd've"),
        ("y'alld've", "y'all'd've", "y'all'd've"),
        ("(a) dog", "dog", "dog"),
        ("12:30", "12:30", "12:30"),
    ],
)
def test_normalisation(text, official, corrected):
    assert normalize_answer(text) == official
    assert normalize_answer(text, normalization="corrected") == corrected


def test_letter_case_and_spaces_aside_texts_are_the_same():
    assert fold_case("  Dark\tRED ") == fold_case("dark red") == "dark red" and fold_case(
        "dark-red"
    ) != fold_case("dark red")
