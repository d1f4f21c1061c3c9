from tests.candidates.perturbing.small_vocabulary import made, vocabulary
from tests.notation import steps


def test_the_papers_rule_edits_blindly_what_is_asked_too():
    words = vocabulary("cup", "kite", looks=("red", "blue"))
    asked = "Is the cup red?"
    easy = made("pt-easy", asked, "select: cup (1)->verify color: red [0]", words, preset="paper")
    hard = made("pt-hard", asked, "select: cup (1)->verify color: red [0]", words, preset="paper")
    assert (easy.text, hard.text) == ("Is the kite red?", "Is the cup blue?")
    assert hard.edits[0].step_index == 1 and hard.program == steps("select: cup (1)->verify color: blue [0]")
    exist = made("pt-easy", "Is there a cup?", "select: cup (1)->exist: ? [0]", words, preset="paper")
    assert exist.text == "Is there a kite?"
    both = made(
        "pt-hard",
        "Is the cup to the left or to the right of the dog?",
        "select: dog (1)->choose rel: cup,to the left of|to the right of,s (2) [0]",
        words,
        preset="paper",
    )
    assert (
        both.text == "Is the cup to the right or to the left of the dog?"
        or both.text == "Is the cup to the left or to the left of the dog?"
    )


def test_a_question_without_a_program_is_edited_in_its_definite_phrases_only():
    words = vocabulary("cup", "kite", looks=("red", "blue"))
    tags = (
        (0, 4, "WP"),
        (5, 7, "VBZ"),
        (8, 11, "DT"),
        (12, 15, "JJ"),
        (16, 19, "NN"),
        (20, 24, "VBN"),
        (25, 27, "IN"),
    )
    easy = made("pt-easy", "What is the red cup made of?", "", words, tags=tags)
    hard = made("pt-hard", "What is the red cup made of?", "", words, tags=tags)
    assert (easy.text, hard.text) == ("What is the red kite made of?", "What is the blue cup made of?")
    assert easy.program == () and easy.edits[0].step_index == -1
    assert made("pt-easy", "Is there a cup?", "", words).reason == "names no object"


def test_replaceable_objects_are_replaced_and_others_stay():
    asked = "select: cup (1)->relate: furniture,near,s (2) [0]->query: name [1]"
    words = vocabulary("cup", "kite", "chair", kinds={"furniture": ("chair",)})  # no other kind to ask for
    row = made("pt-easy", "What kind of furniture is near the cup?", asked, words, preset="paper")
    assert [edit.old for edit in row.edits] == ["cup"]
    both = "select: kite (1)->relate: cup,near,s (2) [0]->exist: ? [1]"
    row = made("pt-easy", "Is the cup near the kite?", both, vocabulary("cup", "kite", "hat"), preset="paper")
    assert [edit.old for edit in row.edits] == ["cup", "kite"]
