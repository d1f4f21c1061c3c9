import pytest

from tests.candidates.perturbing.small_vocabulary import made, vocabulary
from tests.notation import steps


def test_the_program_is_edited_in_step_with_the_text():
    text = "What is the red cup to the left of the dog made of?"
    semantic = (
        "select: dog (4)->relate: cup,to the left of,s (7) [0]->filter color: red [1]->query: material [2]"
    )
    words = vocabulary("cup", looks=("red", "blue", "wood"), seen=())
    hard = made("pt-hard", text, semantic, words)
    assert hard.text == "What is the blue cup to the right of the dog made of?"
    assert hard.program == steps(
        "select: dog (4)->relate: cup,to the right of,s (-) [0]->filter color: blue [1]->query: material [2]"
    )
    assert [(e.kind, e.old, e.new, e.step_index) for e in hard.edits] == [
        ("attribute", "red", "blue", 2),
        ("relation", "to the left of", "to the right of", 1),
    ]
    assert all(text[e.start : e.end] == e.old for e in hard.edits)
    easy = made("pt-easy", text, semantic, vocabulary("kite"))
    # One offer: the first step in the program takes it, and none is left for the other.
    assert easy.program[0].argument == "kite (-)"
    assert easy.text == "What is the red cup to the left of the kite made of?"


PIECES = [  # question on a thing of a category, and what may be said of another category there
    ("What color is the vehicle?", "vehicle", ("piece of clothing", "clothing item")),
    ("What color are the vehicles?", "vehicle", ("pieces of clothing", "clothing items")),
    ("What color is the piece of clothing?", "clothing", ("vehicle",)),
    ("What color are the pieces of clothing?", "clothing", ("vehicles",)),
    ("What color are the clothing items?", "clothing", ("vehicles",)),
]


@pytest.mark.parametrize(("text", "kind", "others"), PIECES)
def test_partitive_forms_keep_the_number_of_the_original_words(text, kind, others):
    words = vocabulary("hat", "bus", kinds={"clothing": ("hat",), "vehicle": ("bus",)})
    row = made("pt-easy", text, f"select: {kind} (1)->query: color [0]", words, "red")
    said = text.split(" the ")[1].removesuffix("?")
    assert row.text in {text.replace(said, other) for other in others}


@pytest.mark.parametrize(
    ("text", "edited"),
    [
        ("Are the sheep white?", "Are the zebras white?"),
        ("Is the sheep white?", "Is the zebra white?"),
        ("What color do these sheep have?", "What color do these zebras have?"),
        ("What color do the sheep have?", "What color do the zebras have?"),
        ("Were the sheep white?", "Were the zebras white?"),
        ("What color would these sheep be?", "What color would these zebras be?"),
    ],
)
def test_nouns_with_one_form_take_the_number_of_their_context(text, edited):
    row = made("pt-easy", text, "select: sheep (1)->query: color [0]", vocabulary("sheep", "zebra"), "white")
    assert row.text == edited
