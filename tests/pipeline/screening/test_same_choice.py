import pytest

from pipeline.core.records import Candidate
from pipeline.screening.same_choice import in_words
from pipeline.screening.screen_case import ScreenCase
from tests.pipeline.screening.in_memory import VOCABULARY

SAID_TWICE = [  # text, the option that stands on both sides of "or"
    ("Is it red or red?", "red"),
    ("What fruit is it, an Apple or an apple?", "an apple"),
    ("Is the woman to the right or to the right of the man?", "to the right"),
    ("Is it behind or behind the cat?", "behind"),
    ("Is it in front of or in front of the box?", "in front of"),
    ("Is it in the top or in the top part of the photo?", "in the top"),
    ("Is it red or blue?", None),
    ("Is it to the left or to the right of the man on the right?", None),
    ("Is it in or in front of the box?", None),
    ("Is it on or on top of the box?", None),
    ("Is it red or reddish?", None),
    ("Is it blue or light blue?", None),
    ("Is it light blue or blue?", None),
    ("Is it a car or a car park?", None),
    ("Is the red or the blue cup red?", None),
]


@pytest.mark.parametrize("text, option", SAID_TWICE)
def test_the_words_tell_whether_one_option_is_offered_twice(text, option):
    candidate = Candidate(candidate_id="c", subset="clip-easy", picture_id="n1", question_id="q1", text=text)
    assert in_words(ScreenCase(candidate, VOCABULARY)) == (option and f"{option} or {option}")
