import pytest

from pipeline.perturbing.fitting import put_relation
from pipeline.perturbing.slots import Slot
from pipeline.programs.sentence import sentence_of

CASES = [  # text, tokens of the relation, the program's word, what takes its place, what the sentence then says
    ("What is on the cup?", (2, 3), "on", "to the left of", "to the left of"),
    ("What is left of the cup?", (2, 4), "to the left of", "to the right of", "right of"),
    ("What is to the left of the cup?", (2, 6), "to the left of", "on", "on"),
    ("What is right of the cup?", (2, 4), "to the right of", "under", "under"),
    ("What is the cat sitting on?", (5, 6), "sitting on", "sitting behind", "behind"),
]


@pytest.mark.parametrize("text, tokens, word, new, said", CASES)
def test_another_relation_is_said_as_short_as_the_one_that_stood_there(text, tokens, word, new, said):
    sentence = sentence_of(text)
    swap = put_relation(Slot("relation", 1, 0, sentence.span(*tokens), word), new, sentence)
    assert (swap.new, swap.text) == (new, said)
