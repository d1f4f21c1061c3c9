import pytest

from pipeline.perturbing.fitting import put_relation
from pipeline.perturbing.slots import Slot
from pipeline.programs.sentence import Sentence
from tests.notation import steps
from tests.pipeline.perturbing.small_vocabulary import made, vocabulary

CASES = [  # text, tokens of the relation, the program's word, what takes its place, what the sentence then says
    ("What is on the cup?", (2, 3), "on", "to the left of", "to the left of"),
    ("What is left of the cup?", (2, 4), "to the left of", "to the right of", "right of"),
    ("What is to the left of the cup?", (2, 6), "to the left of", "on", "on"),
    ("What is right of the cup?", (2, 4), "to the right of", "under", "under"),
    ("What is the cat sitting on?", (5, 6), "sitting on", "sitting behind", "behind"),
]


@pytest.mark.parametrize("text, tokens, word, new, said", CASES)
def test_another_relation_is_said_as_short_as_the_one_that_stood_there(text, tokens, word, new, said):
    sentence = Sentence(text)
    swap = put_relation(Slot("relation", 1, 0, sentence.span(*tokens), word), new, sentence)
    assert (swap.new, swap.text) == (new, said)


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
    assert [(e.kind, e.old, e.new, e.step) for e in hard.edits] == [
        ("attribute", "red", "blue", 2),
        ("relation", "to the left of", "to the right of", 1),
    ]
    assert all(text[e.start : e.end] == e.old for e in hard.edits)
    easy = made("pt-easy", text, semantic, vocabulary("kite"))
    # One offer: the first step in the program takes it, and none is left for the other.
    assert easy.program[0].argument == "kite (-)"
    assert easy.text == "What is the red cup to the left of the kite made of?"
