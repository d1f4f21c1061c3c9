import pytest

from pipeline.words.nouns import article, lemma, number_of, plural, singular

FORMS = [  # singular, plural
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
def test_a_noun_has_one_form_for_one_and_one_for_several(one, several):
    assert plural(one) == several
    assert number_of(one) == "singular"
    if several not in ("glasses",):  # glasses are worn, a glass is drunk from: kept apart
        assert singular(several) == one
        assert number_of(several) == "plural"


@pytest.mark.parametrize("name", ["jeans", "pants", "glasses", "scissors", "swimming trunks", "people"])
def test_some_names_are_plural_only(name):
    assert (singular(name), plural(name), number_of(name)) == (name, name, "plural")


@pytest.mark.parametrize("name", ["grass", "water", "sea foam", "toilet paper", "furniture", "snow"])
def test_some_names_cannot_be_counted(name):
    assert (singular(name), plural(name), number_of(name)) == (name, name, "mass")


@pytest.mark.parametrize("name", ["sheep", "fish", "aircraft"])
def test_some_names_are_the_same_for_one_and_for_several(name):
    assert (singular(name), plural(name)) == (name, name)


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
def test_the_article_follows_the_sound(word, expected):
    assert article(word) == expected


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
        # Not plural, though they may look it.
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
def test_plural_names_mean_what_their_singulars_mean(plural, one):
    assert lemma(plural) == one
