"""Forms of nouns, and letter case."""

import pytest

from pipeline.language.letter_case import (
    apply_case_style,
    detect_case_style,
    match_surrounding_case,
    to_sentence_case,
)
from pipeline.language.nouns import (
    choose_article,
    compute_agreement_edits,
    get_grammatical_number,
    lemmatize,
    pluralize,
    singularize,
)

# Nouns


# Singular, plural.
FORMS = [
    ("cup", "cups"),
    ("bus", "buses"),
    ("glass", "glasses"),
    ("dress", "dresses"),
    ("shelf", "shelves"),
    ("knife", "knives"),
    ("woman", "women"),
    ("child", "children"),
    ("box", "boxes"),
    ("berry", "berries"),
    ("umbrella", "umbrellas"),
    ("pizza", "pizzas"),
    ("ski", "skis"),
    ("traffic light", "traffic lights"),
    ("teddy bear", "teddy bears"),
    ("wine glass", "wine glasses"),
    ("bench", "benches"),
    ("tomato", "tomatoes"),
    ("mouse", "mice"),
]


@pytest.mark.parametrize("one, several", FORMS)
def test_nouns_have_a_singular_and_a_plural(one, several):
    assert pluralize(one) == several
    assert get_grammatical_number(one) == "singular"
    # "Glasses" are worn, a "glass" is drunk from.
    if several not in ("glasses",):
        assert singularize(several) == one
        assert get_grammatical_number(several) == "plural"


@pytest.mark.parametrize("name", ["jeans", "pants", "glasses", "scissors", "swimming trunks", "people"])
def test_some_names_are_plural_only(name):
    assert (singularize(name), pluralize(name), get_grammatical_number(name)) == (name, name, "plural")


@pytest.mark.parametrize("name", ["grass", "water", "sea foam", "toilet paper", "furniture", "snow"])
def test_some_names_are_mass_nouns(name):
    assert (singularize(name), pluralize(name), get_grammatical_number(name)) == (name, name, "mass")


@pytest.mark.parametrize("name", ["sheep", "fish", "aircraft"])
def test_some_names_have_equal_singular_and_plural(name):
    assert (singularize(name), pluralize(name)) == (name, name)


@pytest.mark.parametrize(
    "word, expected",
    [
        ("cup", "a"),
        ("umbrella", "an"),
        ("utensil", "a"),
        ("hour", "an"),
        ("uniform", "a"),
        ("orange", "an"),
        ("igloo", "an"),
    ],
)
def test_the_article_depends_on_the_first_sound(word, expected):
    assert choose_article(word) == expected


@pytest.mark.parametrize(
    ("plural", "one"),
    [
        ("cups", "cup"),
        ("teddy bears", "teddy bear"),
        ("women", "woman"),
        ("children", "child"),
        ("people", "person"),
        ("shelves", "shelf"),
        ("knives", "knife"),
        ("gloves", "glove"),
        ("benches", "bench"),
        ("boxes", "box"),
        ("buses", "bus"),
        ("vases", "vase"),
        ("horses", "horse"),
        ("bananas", "banana"),
        ("umbrellas", "umbrella"),
        ("cameras", "camera"),
        ("sheep", "sheep"),
        ("potatoes", "potato"),
        ("ties", "tie"),
        ("snowmen", "snowman"),
        ("mice", "mouse"),
        ("geese", "goose"),
        ("teeth", "tooth"),
        ("fire hydrants", "fire hydrant"),
        # These are singular, though they end like plurals.
        ("bus", "bus"),
        ("glass", "glass"),
        ("grass", "grass"),
        ("cactus", "cactus"),
        ("tennis", "tennis"),
        ("canvas", "canvas"),
        ("gas", "gas"),
        ("lens", "lens"),
        ("dress", "dress"),
        ("cup", "cup"),
    ],
)
def test_names_are_lemmatized(plural, one):
    assert lemmatize(plural) == one


# Question, noun, its old and new number, the question with the other changes, or None if these are not
# certain.
CASES = [
    ("what color is the cup", "cup", "singular", "plural", "what color are the cup"),
    ("what color are the cups", "cups", "plural", "singular", "what color is the cups"),
    ("does the cup look red", "cup", "singular", "plural", "do the cup look red"),
    ("the cup is red", "cup", "singular", "plural", "the cup are red"),
    ("what is near the cup that is red", "cup", "singular", "plural", "what is near the cup that are red"),
    ("what color is this cup", "cup", "singular", "plural", "what color are these cup"),
    ("who holds a cup", "cup", "singular", "plural", "who holds cup"),
    ("who holds a cup", "cup", "singular", "mass", "who holds cup"),
    ("what do you think the cup is on", "cup", "singular", "plural", "what do you think the cup are on"),
    (
        "what is the man near the cup wearing",
        "cup",
        "singular",
        "plural",
        "what is the man near the cup wearing",
    ),
    ("the man near the cup wears what", "cup", "singular", "plural", None),
    ("are the cup and the hat red", "cup", "singular", "plural", None),
    ("is each cup red", "cup", "singular", "plural", None),
    ("what color is the girl's hair", "girl", "singular", "plural", None),
    ("are both cups red", "cups", "plural", "singular", None),
    ("who is wearing jeans", "jeans", "plural", "singular", None),
]


@pytest.mark.parametrize("text, noun, old, new, expected", CASES)
def test_determiners_and_verbs_agree_with_the_noun_where_that_is_certain(text, noun, old, new, expected):
    tokens = text.replace("'s", " 's").split()
    head = tokens.index(noun)
    start = head - 1 if tokens[head - 1] in ("the", "a", "this", "each", "both") else head
    governed = tokens[start - 1] in ("near", "wearing", "holds")
    changes = compute_agreement_edits(tokens, start, head, old, new, governed)
    if changes is not None:
        for index, word in changes:
            tokens[index] = word
        changes = " ".join(filter(None, tokens))
    assert changes == expected


def test_agreement_is_uncertain_if_the_verb_belongs_to_another_noun():
    # The subject of "wears" is the man, though it stands right after the cup.
    assert (
        compute_agreement_edits(
            ["the", "man", "near", "the", "cup", "wears", "what"], 0, 1, "singular", "plural", False
        )
        is None
    )


# Letter case


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
