import pytest

from pipeline.core.records import Candidate
from pipeline.screening.gives_answer_away import asked_look_is_said, there_and_back
from pipeline.screening.screen_case import ScreenCase
from tests.notation import steps
from tests.pipeline.screening.in_memory import VOCABULARY


def case(text, semantic=""):
    candidate = Candidate(
        candidate_id="c",
        subset="clip-easy",
        picture_id="n1",
        question_id="q1",
        text=text,
        program=steps(semantic) if semantic else (),
    )
    return ScreenCase(candidate, VOCABULARY)


TEXTS = [  # questions without a program, and whether they give their answer away
    ("What color are the black shoes?", True),
    ("What is the color of the red cup?", True),
    ("Which color is the wood table?", False),
    ("What color is the cup near the red dog?", False),
    ("What material is the wood table made of?", True),
    ("Is the red cup large?", False),
    ("What is the red cup on?", False),
    ("What color is the cup that the black dog holds?", False),
]


@pytest.mark.parametrize("text, gives_away", TEXTS)
def test_without_a_program_the_words_tell_whether_the_answer_is_given_away(text, gives_away):
    assert bool(asked_look_is_said(case(text))) == gives_away


BACK = [  # relation to the thing in the middle, the thing's relation to the lamp, whether that leads back to the lamp
    ("to the left of,s", "to the right of,s", True),
    ("to the left of,s", "to the left of,o", True),
    ("to the left of,s", "to the left of,s", False),
    ("to the left of,s", "near,s", False),
]


@pytest.mark.parametrize("outer, inner, back", BACK)
def test_a_way_there_and_back_ends_at_the_thing_that_the_text_names(outer, inner, back):
    semantic = f"select: lamp (1)->relate: cup,{inner} (2) [0]->relate: _,{outer} (3) [1]->query: name [2]"
    fault = there_and_back(case("What is there?", semantic))
    assert fault == ("the lamp that the text names is an answer" if back else None)
