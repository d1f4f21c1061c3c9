"""Estimates of answerability, and their training on held-out graphs."""

import math

import msgspec
import numpy as np
import pytest

from pipeline.candidates.estimating.answerability import (
    STATED_RATES,
    ClaimProbability,
    LogisticWeights,
    calibrate_scores,
    compute_features,
    extract_candidate_claims,
    fit_weights,
    predict_probability,
    score_claims,
)
from pipeline.candidates.estimating.claims import Claim, ClaimEstimator
from pipeline.candidates.estimating.held_out_graphs import ProgramEditor, build_training_cases, sample_images
from pipeline.core.records import SUBSETS, Candidate, Edit
from pipeline.language.functional_programs import parse_program
from pipeline.language.lexicon import Lexicon
from tests.candidates.estimating.counted import TYPES, vocabulary
from tests.notation import question, scene, steps

# Answerability
# Features and weights by hand, and beside scikit-learn's own solver.


WEIGHTS = LogisticWeights(
    objects=0.5, attributes=1.0, relations=2.0, refuted=-3.0, edited=-1.0, intercept=0.25
)
CUP, RED, ON = (
    Claim("object", 0, "cup"),
    Claim("attribute", 1, "cup", ("red",)),
    Claim("relation", 2, "cup", ("on",)),
)


def test_features_are_log_odds_of_objects_and_log_probabilities_of_the_rest():
    found = [
        ClaimProbability(CUP, 0.5),
        ClaimProbability(CUP, 0.4),
        ClaimProbability(RED, 0.1),
        ClaimProbability(ON, 0.3),
    ]
    # both things are there with 0.2: odds 1 to 4
    assert compute_features(found, is_refuted=True, is_edited=False) == pytest.approx(
        [math.log(0.25), math.log(0.1), math.log(0.3), 1, 0]
    )


def test_the_probability_is_logistic_and_never_certain():
    # 0.25 + 0.5 * 1 - 1 = -0.25; 1 / (1 + e^0.25) = 0.43782
    assert predict_probability([1.0, 0, 0, 0, 1], WEIGHTS) == 0.4378
    assert predict_probability([1.0, 0, 0, 1, 1], WEIGHTS) < 0.05
    assert predict_probability([900.0, 0, 0, 0, 0], WEIGHTS) == 0.999
    assert predict_probability([0, -900.0, 0, 0, 0], WEIGHTS) == 0.001


def test_without_graphs_the_score_is_of_all_claims():
    found = [ClaimProbability(CUP, 0.5), ClaimProbability(RED, 0.1), ClaimProbability(ON, 0.3)]
    # 0.5 * 0.1 * 0.3 = 0.015; the odds of 0.5 are 1. What is refuted is answerable in 3 % of the cases.
    assert score_claims(found, is_refuted=False) == pytest.approx(0.4 * np.log(0.015 / 0.985))
    assert score_claims(found[:1], is_refuted=True) == pytest.approx(np.log(0.03))


def test_every_subset_has_a_stated_rate():
    assert set(STATED_RATES) == set(SUBSETS) and all(0 < rate < 0.5 for rate in STATED_RATES.values())


def test_no_claims_are_no_evidence():
    # The product of no probabilities is 1, which says nothing about the candidate.
    assert np.isnan(score_claims([], is_refuted=False))
    assert calibrate_scores(np.array([np.nan, np.nan]), 0.2).tolist() == [0.2, 0.2]


@pytest.mark.parametrize("rate", [0.05, 0.2, 0.6])
def test_calibrated_scores_have_the_base_rate_as_mean_and_keep_odds_ratios(rate):
    scores = np.array([-2.0, 0.0, 1.5, np.nan])
    found = calibrate_scores(scores, rate)
    assert found.mean() == pytest.approx(rate) and found[3] == rate
    log_odds = np.log(found[:3] / (1 - found[:3]))
    assert np.diff(log_odds) == pytest.approx([2.0, 1.5])


def test_fitting_finds_the_weights_that_made_the_labels():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(40_000, 5))
    odds = rows @ [0.5, 1.0, 2.0, -3.0, -1.0] + 0.25
    found = fit_weights(rows.tolist(), (rng.random(len(rows)) < 1 / (1 + np.exp(-odds))).tolist())
    for name in LogisticWeights.__struct_fields__:
        assert getattr(found, name) == pytest.approx(getattr(WEIGHTS, name), abs=0.1)


def test_a_feature_that_never_occurs_has_weight_zero():
    rows = [[x, 0.0, 0.0, 0.0, 0.0] for x in (-1.0, -0.5, 0.5, 1.0)]
    assert fit_weights(rows, [False, True, False, True]).refuted == 0


def test_without_a_program_what_was_put_in_is_claimed():
    edits = (
        Edit(start=0, end=1, kind="object", old="cup", new="zebra"),
        Edit(start=2, end=3, kind="attribute", old="red", new="blue"),
    )
    candidate = Candidate(
        candidate_id="a", subset="pt-easy", image_id="p", question_id="q", text="", edits=edits
    )
    assert [(claim.kind, claim.name, claim.words) for claim in extract_candidate_claims(candidate)] == [
        ("object", "zebra", ()),
        ("attribute", "", ("blue",)),
    ]


def test_what_the_text_only_asserts_is_not_claimed():
    """ "Is the man wearing A HAT?": no. "Is the man wearing THE HAT?" takes it for granted; the program is the same."""
    program = steps("select: man (1)->verify rel: hat,wearing,o (2) [0]")

    def named(text):
        candidate = Candidate(
            candidate_id="a", subset="pt-easy", image_id="p", question_id="q", text=text, program=program
        )
        return [claim.name for claim in extract_candidate_claims(candidate)]

    assert named("Is the man wearing a hat?") == ["man"]
    assert named("Is the man wearing the hat?") == ["man", "hat"]


# Held out graphs
# Questions at images whose graph is hidden and then shown.


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
