"""Probabilities of claims, and difficulty."""

import pytest

from pipeline.candidates.estimating.answerability import ClaimProbability
from pipeline.candidates.estimating.claims import Claim, ClaimEstimator, extract_program_claims
from pipeline.candidates.estimating.difficulty import DifficultyClassifier
from pipeline.core.records import Candidate, Edit
from pipeline.language.functional_programs import parse_program
from pipeline.verifier.evidence import build_scene_evidence
from pipeline.verifier.presence_model import MAX_PROBABILITY, get_known_names
from tests.candidates.estimating.counted import vocabulary
from tests.notation import LEXICON, facts, scene, steps

# Claims
# Test the claims that questions presuppose, and their probabilities computed by hand.


BELIEFS = ClaimEstimator(vocabulary())


def claimed(program):
    return [
        (c.kind, c.name, c.words, c.other_name) for c in extract_program_claims(parse_program(steps(program)))
    ]


def seen(*objects):
    return build_scene_evidence(scene(*objects, complete=False), LEXICON)


def test_selected_objects_are_claims_and_queried_ones_are_not():
    program = "select: table (1)->relate: cup,on,s (2) [0]->filter color: red [1]->query: material [2]"
    assert claimed(program) == [
        ("object", "table", (), ""),
        ("object", "cup", (), ""),
        ("relation", "cup", ("on",), "table"),
        ("attribute", "cup", ("red",), ""),
    ]
    assert claimed("select: cup (-)->exist: ? [0]") == []
    assert claimed("select: cup (1)->verify color: red [0]") == [("object", "cup", (), "")]


def test_one_of_the_options_of_a_choice_must_hold():
    assert claimed("select: cup (1)->choose color: red|blue [0]")[1] == (
        "attribute",
        "cup",
        ("red", "blue"),
        "",
    )
    asked = "select: cup (1)->choose rel: table,on|under,s (2) [0]"
    assert claimed(asked)[1:] == [("object", "table", (), ""), ("relation", "table", ("on", "under"), "cup")]


def test_the_scene_and_wildcards_are_no_claims():
    assert claimed("select: scene->query: place [0]") == []
    assert claimed("select: table (1)->relate: _,on,s (2) [0]->query: name [1]") == [
        ("object", "table", (), ""),
        ("relation", "_", ("on",), "table"),
    ]


def test_an_object_exists_if_it_is_known_and_else_by_its_presence_probability():
    known = seen("cup 1")
    there = Claim("object", 0, "cup")
    assert BELIEFS.estimate_probability(there, known, get_known_names(known)) == MAX_PROBABILITY
    assert BELIEFS.estimate_probability(there, None, frozenset()) == BELIEFS.presence.estimate_probability(
        "cup", ()
    )
    table = Claim("object", 0, "table")
    assert BELIEFS.estimate_probability(
        table, known, frozenset(("cup",))
    ) > BELIEFS.presence.estimate_probability("table", ())


def test_an_attribute_may_hold_for_any_object_of_the_name():
    # Of 40 coloured cups 30 are red; of all 42 things with a colour 30: (30.5 / 45) borrowed 4 times. 1.5 cups an image.
    share = (30 + 4 * 30.5 / 45) / 44
    red = Claim("attribute", 0, "cup", ("red",), "color")
    assert BELIEFS.estimate_probability(red, None, frozenset()) == pytest.approx(1 - (1 - share) ** 1.5)


def test_a_refuted_claim_can_only_hold_for_another_object():
    share = (30 + 4 * 30.5 / 45) / 44
    red = Claim("attribute", 0, "cup", ("red",), "color")
    blue = seen("cup 1: blue")
    assert BELIEFS.estimate_probability(red, blue, get_known_names(blue)) == pytest.approx(
        1 - (1 - share) ** 0.5
    )
    assert BELIEFS.estimate_probability(red, seen("cup 1: red"), frozenset()) == MAX_PROBABILITY
    assert BELIEFS.estimate_probability(red._replace(negated=True), seen("cup 1: red"), frozenset()) < 0.5


def test_a_relation_rate_is_relative_to_the_pairs_of_such_objects():
    # 16 images show both, with 1.5 cups and a table each: 24 pairs, of which 20 cups are on tables, all that are on anything.
    on = Claim("relation", 1, "cup", ("on",), other_name="table")
    assert BELIEFS.base_rate(on) == pytest.approx((20 + 1 / 20) / 25)
    turned = Claim("relation", 1, "table", ("on",), other_name="cup", is_subject=False)
    assert BELIEFS.base_rate(turned) == BELIEFS.base_rate(on)
    assert BELIEFS.base_rate(on._replace(is_subject=False)) < 0.01
    assert BELIEFS.estimate_probability(on, facts("cup 1: ; on 2", "table 2"), frozenset()) == MAX_PROBABILITY


def test_a_relation_is_counted_from_either_end():
    left = Claim("relation", 1, "dog", ("to the left of",), other_name="dog")
    right = left._replace(words=("to the right of",))
    assert BELIEFS.base_rate(left) == BELIEFS.base_rate(right) > 0.05


def test_with_partial_graphs_a_relation_rate_is_relative_to_the_stated_relations():
    told = ClaimEstimator(vocabulary(partial=True))
    # All 20 stated relations of cups and tables are "on". It is half of all relations stated from either side (10 left, 10 right).
    usual = (20 + 1 / 20) / 41
    assert told.base_rate(Claim("relation", 1, "cup", ("on",), other_name="table")) == pytest.approx(
        (20 + 4 * usual) / 24
    )


def test_a_place_in_the_image_is_one_of_three():
    assert BELIEFS.base_rate(Claim("attribute", 0, "cup", ("left",), "hposition")) == pytest.approx(1 / 3)


# Difficulty
# POPE's settings by hand.


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
