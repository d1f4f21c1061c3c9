"""Fitting of methods for the sample's nets, each on its own subset of the worlds."""

import math

import numpy as np
import pytest

from research.reference_models.class_gaussians import fit_gaussians
from research.reference_models.leaderboard_rows import LeaderboardRow
from research.reference_models.model_outputs import ModelOutputs
from research.reference_models.selective_answering import VectorScaling, fit_scaling, make_threshold_table
from research.synthetic_world import fitted_methods
from research.synthetic_world.fitted_methods import BASE_MODEL, SubsetPredictions
from research.synthetic_world.questions import SampleQuestion
from research.synthetic_world.vqa_training_data import SubsetData

ANSWERS = ("no", "red", "yes")
IMAGES, EACH = 20, 4


def data(part):
    """Return four questions about each of 20 images."""
    questions = [
        SampleQuestion(
            question_id=f"{part}{p}.{i}",
            image_id=f"{part}{p}",
            split="val",
            text=f"{part} {p} {i}",
            answer=ANSWERS[(p + i) % 3],
            answer_annotations={},
            structural="verify" if i % 2 else "query",
            group_local=f"{i}",
        )
        for p in range(IMAGES)
        for i in range(EACH)
    ]
    return SubsetData(questions, {}, {f"{part}{p}": p for p in range(IMAGES)})


def made(net, part, asked):
    """Return outputs that depend on net and subset. Most answers are right."""
    draw = np.random.default_rng([len(net), len(part)]).normal
    right = np.array([ANSWERS.index(question.answer) for question in asked])
    logits = draw(size=(len(asked), 3)) + 2 * (right[:, None] == np.arange(3))
    return ModelOutputs(ANSWERS, logits.astype(np.float32), draw(size=(len(asked), 5)).astype(np.float32))


@pytest.fixture(autouse=True)
def looks(monkeypatch):
    """Record (net, subset, step) of each prediction."""
    seen = []

    def seen_by(net, seed, part, asked, step=0.0):
        seen.append((net, part, step))
        whole = made(net, part, data(part).questions)
        first = next(i for i, q in enumerate(data(part).questions) if q.text == asked[0].text)
        rows = slice(first, first + len(asked))
        cut = ModelOutputs(ANSWERS, whole.logits[rows], whole.features[rows])
        return cut._replace(odin_perturbed=cut) if step else cut

    monkeypatch.setattr(fitted_methods, "predict_by_name", seen_by)
    monkeypatch.setattr(fitted_methods.SubsetData, "read", staticmethod(data))
    monkeypatch.setattr(fitted_methods, "list_models", lambda seed: ["blind", BASE_MODEL, "rp", "separated"])
    monkeypatch.setattr(
        fitted_methods, "SELECTOR_SETTINGS", ({"hidden": 2, "epochs": 1}, {"hidden": 4, "epochs": 2})
    )
    return seen


def places(part):
    return np.array([ANSWERS.index(question.answer) for question in data(part).questions])


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_gaussians_are_fitted_on_the_training_questions_in_blocks_of_any_size(monkeypatch, looks):
    monkeypatch.setattr(fitted_methods, "BLOCK_SIZE", 33)
    seen = made(BASE_MODEL, "learn", data("learn").questions)
    assert same(fitted_methods.fit_base_gaussians(0), fit_gaussians(seen.features, places("learn"), 3))
    assert looks == [(BASE_MODEL, "learn", 0.0)] * 3


def test_scaling_and_selector_are_fitted_on_subset_fit_alone(looks):
    fitted, tries = fitted_methods.fit_methods(0)
    seen = made(BASE_MODEL, "fit", data("fit").questions)
    assert same(fitted.scaling, fit_scaling(seen.logits, places("fit")[:, None] == np.arange(3)))
    assert {part for _, part, _ in looks} == {"fit", "learn"}
    assert [*tries] == ["hidden 2, epochs 1", "hidden 4, epochs 2"]
    assert len(fitted.selector.last_weight) == (
        2 if tries["hidden 2, epochs 1"] <= tries["hidden 4, epochs 2"] else 4
    )


def test_the_selector_is_checked_on_images_that_it_is_not_fitted_on(monkeypatch):
    used = []
    original = fitted_methods.train_selector

    def train(fit, check, **settings):
        used.append((set(fit.images), set(check.images), len(fit.accuracy), len(check.accuracy)))
        return original(fit, check, **settings)

    monkeypatch.setattr(fitted_methods, "train_selector", train)
    fitted_methods.fit_methods(0)
    for fit, check, fitted, checked in used:
        assert not fit & check and fit | check == {f"fit{p}" for p in range(IMAGES)}
        assert (fitted, checked) == (64, 16)  # 80 % and 20 % of 80


@pytest.fixture
def fitted():
    return fitted_methods.fit_methods(0)[0]


def test_every_row_without_nouns_whose_nets_are_there_is_answered(fitted, looks):
    looks.clear()
    found = fitted_methods.predict_subset("choose", 0, fitted)
    assert {*found.method_scores} == {
        *(
            "msp",
            "maxprob",
            "odin",
            "odin_rounded",
            "energy_top2",
            "energy_all",
            "mahalanobis",
            "mahalanobis_own",
        ),
        *("vector_scaling", "selector", "rp", "rp_confidence", "separated", "text_only_net"),
    }
    assert sorted(looks) == [
        ("blind", "choose", 0),
        ("rp", "choose", 0),
        ("separated", "choose", 0),
        (BASE_MODEL, "choose", 1e-4),
    ]
    assert [*found.is_correct] == ["blind", BASE_MODEL, "rp"]  # "separated" has no answers
    seen = made(BASE_MODEL, "choose", data("choose").questions)
    right = seen.logits.argmax(1) == places("choose")
    np.testing.assert_array_equal(found.method_scores["msp"][1], right)
    np.testing.assert_allclose(
        found.method_scores["msp"][0], 1 / (1 + np.exp(-seen.logits.max(1).astype(float)))
    )
    assert {*fitted_methods.predict_subset("report", 0, fitted, ["msp", "rp"]).method_scores} == {"msp", "rp"}


def test_detectors_fitted_for_one_net_are_not_applied_to_another(fitted, monkeypatch):
    monkeypatch.setattr(fitted_methods, "LEADERBOARD_ROWS", {"wrong": LeaderboardRow("vector_scaling", "rp")})
    with pytest.raises(ValueError, match="needs scaling"):
        fitted_methods.predict_subset("choose", 0, fitted, ["wrong"])


def test_the_rows_scaling_is_the_nets_own(fitted):
    fitted = fitted._replace(scaling=VectorScaling(np.zeros(3, np.float32), np.float32([0, 5, 0])))
    confidence, right = fitted_methods.predict_subset("choose", 0, fitted, ["vector_scaling"]).method_scores[
        "vector_scaling"
    ]
    np.testing.assert_allclose(confidence, math.exp(5) / (math.exp(5) + 2))  # always "red"
    np.testing.assert_array_equal(right, places("choose") == 1)


ROW = np.array([0.9, 0.8, 0.7, 0.1]), np.array([1.0, 1, 0, 0])


def test_thresholds_are_none_where_no_question_should_be_answered():
    wrong = ROW[0], np.zeros(4)
    found = fitted_methods.choose_row_thresholds(SubsetPredictions([], {}, {"good": ROW, "bad": wrong}))
    assert found["good"]["at_risk"] == {"0.01": 0.8, "0.05": 0.8, "0.1": 0.8, "0.2": 0.8}
    assert found["good"]["at_cost"] == {"1": 0.8, "10": 0.8, "100": 0.8}
    assert {one for sort in found["bad"].values() for one in sort.values()} == {None}
    chosen = make_threshold_table(*ROW, risks=fitted_methods.TARGET_RISKS, costs=fitted_methods.TARGET_COSTS)
    assert [*found["good"]["at_cost"].values()] == [*chosen.at_cost.values()]


def test_selection_by_hand():
    found = fitted_methods.measure_selection(
        SubsetPredictions([], {}, dict.fromkeys(fitted_methods.COMPARED_METHODS, ROW))
    )
    # risks 0, 0, 1/3, 1/2: see the doctest of risk_coverage_auc
    assert found["selector"] == {
        "accuracy": 0.5,
        "auc": 0.14583,
        "c@0.01": 0.5,
        "c@0.05": 0.5,
        "c@0.1": 0.5,
        "c@0.2": 0.5,
    }


def test_balanced_accuracy_counts_structural_types_as_before(monkeypatch):
    questions = data("report").questions
    kept = [i for i, q in enumerate(questions) if q.structural == "query"][:10]
    kept += [i for i, q in enumerate(questions) if q.structural == "verify"][:2]
    monkeypatch.setattr(fitted_methods, "balance_answers", lambda asked, seed: sorted(kept))
    right = np.array([q.structural == "query" for q in questions])
    # Half of all questions are "query", of which all are right, half "verify", of which none is; of those kept 10 of 12.
    assert fitted_methods.measure_accuracy(SubsetPredictions(questions, {"n": right}, {})) == {
        "n": {"all": 0.5, "balanced": 0.5}
    }
