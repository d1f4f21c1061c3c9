"""POPE's settings by hand."""

import pytest

from pipeline.candidates.estimating.answerability import ClaimProbability
from pipeline.candidates.estimating.claims import Claim, ClaimEstimator
from pipeline.candidates.estimating.difficulty import DifficultyClassifier
from pipeline.core.records import Candidate, Edit
from tests.candidates.estimating.counted import vocabulary

BELIEFS = ClaimEstimator(vocabulary())
DIFFICULTY = DifficultyClassifier(vocabulary(), BELIEFS)
CUP, DOG, ZEBRA = (Claim("object", step, name) for step, name in enumerate(("cup", "dog", "zebra")))


@pytest.mark.parametrize(
    ("claim", "known", "expected"),
    [
        # 16 of 20 images with a table show a cup, of all 40 of 100
        (CUP, ("table",), "adversarial"),
        # dogs and cups are together 90 of 112: the commonest, which make up half, are the two
        (DOG, (), "popular"),
        (CUP, ("dog",), "popular"),
        (ZEBRA, ("table",), "random"),
        # 30 of 40 coloured cups are red, of all things that have a colour 30 of 42: no more often
        (Claim("attribute", 0, "cup", ("red",), "color"), (), "popular"),
        (Claim("attribute", 0, "dog", ("green",), "color"), (), "adversarial"),
        (Claim("attribute", 0, "cup", ("blue",), "color"), (), "random"),
        (Claim("relation", 0, "cup", ("on",), other_name="table"), (), "adversarial"),
        (Claim("relation", 0, "dog", ("on",), other_name="cup"), (), "popular"),
        (Claim("relation", 0, "cup", ("to the left of",), other_name="table"), (), "random"),
    ],
)
def test_each_claim_has_one(claim, known, expected):
    assert DIFFICULTY.classify_claim(claim, frozenset(known)) == expected


def candidate(*edits):
    made = tuple(Edit(start=0, end=1, kind=kind, old="a", new="b", step_index=step) for step, kind in edits)
    return Candidate(candidate_id="a", subset="pt-easy", image_id="p", question_id="q", text="", edits=made)


def test_of_several_edits_the_easiest_counts_and_what_was_not_edited_does_not():
    found = [ClaimProbability(CUP, 0.9), ClaimProbability(DOG, 0.1), ClaimProbability(ZEBRA, 0.01)]
    table = frozenset(("table",))
    assert DIFFICULTY(candidate((0, "object")), found, table) == "adversarial"
    assert DIFFICULTY(candidate((0, "object"), (1, "object")), found, table) == "popular"
    assert DIFFICULTY(candidate((0, "object"), (2, "object")), found, table) == "random"


def test_without_edits_what_is_most_probably_missing_counts():
    found = [ClaimProbability(CUP, 0.9), ClaimProbability(DOG, 0.1)]
    assert DIFFICULTY(candidate(), found, frozenset(("table",))) == "popular"
    assert DIFFICULTY(candidate(), [], frozenset()) == "random"
