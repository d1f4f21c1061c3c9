"""Questions at images whose graph is hidden and then shown."""

import math

import msgspec
import numpy as np
import pytest

from pipeline.candidates.estimating.claims import ClaimEstimator
from pipeline.candidates.estimating.held_out_graphs import ProgramEditor, build_training_cases, sample_images
from pipeline.language.functional_programs import parse_program
from pipeline.language.lexicon import Lexicon
from tests.candidates.estimating.counted import TYPES, vocabulary
from tests.notation import question, scene, steps

VOCABULARY = vocabulary()
BELIEFS = ClaimEstimator(VOCABULARY)
SCENES = {
    key: msgspec.structs.replace(scene(*objects, complete=False), image_id=key, split="train")
    for key, objects in (
        ("a", ("cup 1: red", "table 2")),
        ("b", ("dog 1: red", "zebra 2: blue")),
        ("c", ("table 3",)),
    )
}
ASKED = {
    "a": [question("", "select: cup (1)->query: color [0]", "red", question_id="1", image_id="a")],
    "b": [question("", "select: zebra (2)->query: color [0]", "black", question_id="2", image_id="b")],
    "c": [question("", "select: dog (9)->query: color [0]", "brown", question_id="3", image_id="c")],
}


def test_each_question_is_asked_of_the_other_images_and_edited_at_its_own():
    found = build_training_cases(SCENES, ASKED, VOCABULARY, BELIEFS, seed=1)
    foreign = [(case.image_id, case.is_answerable) for case in found.cases if not case.features[4]]
    # Cup, zebra and dog; the dog of b is the only one that another image's question meets.
    assert sorted(foreign) == [
        ("a", False),
        ("a", False),
        ("b", False),
        ("b", True),
        ("c", False),
        ("c", False),
    ]
    edited = [case.image_id for case in found.cases if case.features[4]]
    assert edited and len(edited) == len(set(edited))


def test_an_unlisted_colour_is_unknown():
    bare = {"b": msgspec.structs.replace(scene("dog 1", complete=False), image_id="b", split="train")}
    asked = {"b": [*ASKED["c"], *ASKED["a"]]}
    found = build_training_cases(SCENES | bare, asked, VOCABULARY, BELIEFS, seed=1)
    assert (found.num_own, found.num_own_answerable) == (
        1,
        0,
    )  # the cup that is not there; of the dog's colour nothing is known


def test_only_the_questions_are_evidence_in_a_training_case():
    """The dog of b is in its graph; its own question tells of a zebra alone."""
    found = build_training_cases(SCENES, ASKED, VOCABULARY, BELIEFS, seed=1)
    (row,) = [
        case.features
        for case in found.cases
        if case.image_id == "b" and case.is_answerable and not case.features[4]
    ]
    odds = BELIEFS.presence.estimate_probability("dog", ("zebra",))
    assert row[0] == pytest.approx(math.log(odds / (1 - odds)))


def test_own_questions_tell_how_much_the_graphs_lack():
    found = build_training_cases(SCENES, ASKED, VOCABULARY, BELIEFS, seed=1)
    assert (found.num_own, found.num_own_answerable) == (3, 2)  # the dog of c is not in its graph


def test_the_same_seed_gives_the_same_cases():
    assert build_training_cases(SCENES, ASKED, VOCABULARY, BELIEFS, 1) == build_training_cases(
        SCENES, ASKED, VOCABULARY, BELIEFS, 1
    )


def test_a_swap_changes_one_word_that_is_taken_for_granted():
    swap = ProgramEditor(VOCABULARY, Lexicon({}, TYPES))
    program = parse_program(steps("select: cup (1)->filter color: red [0]->query: material [1]"))
    made = [swap(program, np.random.default_rng(seed)) for seed in range(40)]
    kinds = set()
    for edited in filter(None, made):
        ((before, after),) = [
            (one, other) for one, other in zip(program, edited, strict=True) if one != other
        ]
        kinds.add(before.verb)
        assert after.verb == before.verb and (after.name, after.values) != (before.name, before.values)
        assert TYPES.get(after.values[0] if after.values else "red") == "color"
    assert kinds == {"select", "filter"}
    assert swap(parse_program(steps("select: cup (1)->exist: ? [0]")), np.random.default_rng(1)) is None


def test_images_are_sampled_at_random_and_sorted():
    ids = [f"{number:03}" for number in range(100)]
    drawn = sample_images(ids, 10)
    assert len(drawn) == 10 and drawn == sorted(drawn) == sample_images(ids[::-1], 10) != ids[:10]
