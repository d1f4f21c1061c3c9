import pytest

from pipeline.scoring import normalize_answer
from pipeline.scoring.normalize import fold_case


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
