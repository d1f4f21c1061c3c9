import pytest

from pipeline.words.concord import agreeing

CASES = [  # question, noun, its number and the new one, the sentence with what changes (noun left as it is), None: not certain
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
def test_determiner_and_verb_follow_the_noun_where_it_is_certain_which_verb_is_its_own(
    text, noun, old, new, expected
):
    tokens = text.replace("'s", " 's").split()
    head = tokens.index(noun)
    start = head - 1 if tokens[head - 1] in ("the", "a", "this", "each", "both") else head
    governed = tokens[start - 1] in ("near", "wearing", "holds")
    changes = agreeing(tokens, start, head, old, new, governed)
    if changes is not None:
        for index, word in changes:
            tokens[index] = word
        changes = " ".join(filter(None, tokens))
    assert changes == expected


def test_a_subject_after_a_preposition_keeps_the_verb_of_another():
    # "wears" belongs to the man, whether or not it stands right after the cup.
    assert (
        agreeing(["the", "man", "near", "the", "cup", "wears", "what"], 0, 1, "singular", "plural", False)
        is None
    )
