import pytest

from pipeline.language.letter_case import (
    apply_case_style,
    detect_case_style,
    match_surrounding_case,
    to_sentence_case,
)


@pytest.mark.parametrize(
    ("text", "case"),
    [
        ("What color is the cup?", "sentence"),
        ("Is the TV on?", "sentence"),
        ("Is the Eiffel Tower tall?", "sentence"),
        ("What's on the TV in the McDonald's?", "sentence"),
        ("what is it?", "lower"),
        ("红色?", "lower"),
        ("WHAT IS THE 2ND CUP?", "upper"),
        ("¿QUÉ ES?", "upper"),
        ("IS THE MAN's HAT RED?", "upper"),
        ("Who Is Wearing The Shirt?", "title"),
        ("Who Is Wearing the Shirt in the Back?", "title"),
        ("A", "sentence"),
        ("", "lower"),
    ],
)
def test_the_letter_case_of_a_text_is_detected(text, case):
    assert detect_case_style(text).case == case


@pytest.mark.parametrize(
    ("like", "expected"),
    [
        ("IS IT RED?", "IS THERE A T-SHIRT TO THE LEFT OF THE BED?"),
        ("is it red?", "is there a t-shirt to the left of the bed?"),
        ("Is It Red?", "Is There A T-Shirt To The Left Of The Bed?"),
        ("What Is on the Red Bed?", "Is There a T-Shirt to the Left of the Bed?"),
        ("Is it red?", "Is there a t-shirt to the left of the bed?"),
        ("iPod on the bed?", "is there a t-shirt to the left of the bed?"),
    ],
)
def test_a_text_is_converted_to_the_letter_case_of_another(like, expected):
    assert apply_case_style("Is there a t-shirt to the left of the bed?", detect_case_style(like)) == expected


@pytest.mark.parametrize(
    ("new", "text", "old", "expected"),
    [
        ("light blue", "Is the red cup large?", "red", "light blue"),
        ("light blue", "Is the RED cup large?", "RED", "LIGHT BLUE"),
        ("light blue", "Is the Red cup large?", "Red", "Light Blue"),
        # The capitals belong to the word "TV", not to the style.
        ("lamp", "Is the TV large?", "TV", "lamp"),
        ("dogs", "Cups are where?", "Cups", "Dogs"),
        ("dogs", "cups are by the TV?", "cups", "dogs"),
        ("light blue", "IS THE RED CUP LARGE?", "RED", "LIGHT BLUE"),
        ("to the right of", "Is the Cup to the Left of It Red?", "to the Left of", "to the Right of"),
        ("to the right of", "Is The Cup To The Left Of It Red?", "To The Left Of", "To The Right Of"),
        ("behind", "Is the Cup in Front of It Red?", "in Front of", "Behind"),
        ("on", "What Is the Cup Behind?", "Behind", "On"),
        ("TV", "what is the cup?", "cup", "tv"),
    ],
)
def test_new_words_get_the_letter_case_of_the_replaced_words_and_the_text(new, text, old, expected):
    start = text.index(old)
    assert match_surrounding_case(new, text, start, start + len(old)) == expected


@pytest.mark.parametrize("text", ["WHAT IS İT?", "STRASSE ß IS WHERE?", "Is It ǅ Red?"])
def test_no_character_moves_in_sentence_case(text):
    assert len(to_sentence_case(text)) == len(text)
