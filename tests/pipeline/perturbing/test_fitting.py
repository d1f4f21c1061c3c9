from tests.notation import steps
from tests.pipeline.perturbing.small_vocabulary import made, vocabulary


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
