import pytest

from pipeline.candidates.screening.grammar import find_grammar_error

SLIPS = [
    "What is the wall that the dog is behind of made of?",
    "Which color is the table the cup is near of?",
    "What does the boy that to the left of the bench hold?",
    "The girl who to the right of the car wears what?",
    "The girl that on the car wears what?",
    "What vehicles are it?",
    "Which animals are this?",
    "How are this cows called?",
    "How is this vehicle called?",
    "How the animal that is white is called?",
    "What is these?",
    "Where is the boy sitting on?",
    "What color is the the cup?",
    "Which color do you think is the cup?",
    "Which color do you think are the cups?",
]
SOUND = [
    "What is the wall the dog is in front of made of?",
    "Is the cup on top of the table?",
    "What is outside of the window?",
    "What does the boy that is to the left of the bench hold?",
    "What is that to the left of the bench?",
    "What vehicles are these?",
    "What are those?",
    "Which animal is this?",
    "Are this man and that woman tall?",
    "What is this vehicle called?",
    "How tall is the tree?",
    "Is the cup that the man has had red?",
    "What color are that man's shoes?",
    "Where is the boy sitting?",
    "What is the boy sitting on?",
    "Who in the picture wears a hat?",
    "That on the left is what animal?",
    "Which color do you think the cup is?",
]


@pytest.mark.parametrize("text", SLIPS)
def test_grammatical_errors_of_the_source_are_found(text):
    assert find_grammar_error(text)


@pytest.mark.parametrize("text", SOUND)
def test_correct_sentences_have_no_grammatical_error(text):
    assert find_grammar_error(text) == ""
