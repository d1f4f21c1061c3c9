"""Fit detectors for the sample's nets of a seed, and measure the leaderboard rows on val questions.

Each subset of the synthetic images has one purpose: Gaussians are fitted on `learn`, scaling and Selector on
`fit`, thresholds are chosen on `choose`, and results are measured on `report`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from pipeline.scoring.selective_prediction import coverage_at_risk, risk_coverage_auc
from research.reference_models.class_gaussians import ClassGaussians, fit_gaussians
from research.reference_models.detector_table import DETECTORS, DetectorInputs
from research.reference_models.fitted_detectors import FittedDetectors
from research.reference_models.inference import load_net, predict
from research.reference_models.leaderboard_rows import LEADERBOARD_ROWS, score_row
from research.reference_models.model_outputs import ModelOutputs, VqaQuery
from research.reference_models.net_configs import BASE_NETS, NET_CONFIGS
from research.reference_models.row_predictions import ODIN_STEP
from research.reference_models.selective_answering import fit_scaling, make_threshold_table
from research.reference_models.selector import GradedOutputs, Selector, compute_selector_confidence
from research.reference_models.selector_training import train_selector
from research.synthetic_world import train_vqa, vqa_worlds
from research.synthetic_world.balancing import balance_answers
from research.synthetic_world.questions import SampleQuestion
from research.synthetic_world.vqa_training_data import SubsetData, open_regions
from research.synthetic_world.vqa_worlds import SEED, WorldSubset

# The net to which all detectors are fitted.
BASE_MODEL = "vanilla"
TARGET_RISKS, TARGET_COSTS = (0.01, 0.05, 0.1, 0.2), (1.0, 10.0, 100.0)
# Number of questions that are predicted at once. Only the features of the predictions are kept.
BLOCK_SIZE = 16_384
# The settings of the Selector are compared on every fifth image of `fit`.
CHECK_EVERY = 5
# Settings of the Selector that are compared.
SELECTOR_SETTINGS: tuple[dict[str, Any], ...] = (
    {"hidden": 64, "epochs": 10, "rate": 1e-3},
    {"hidden": 256, "epochs": 10, "rate": 1e-3},
)
COMPARED_METHODS = ("maxprob", "msp", "vector_scaling", "selector")


class SubsetPredictions(NamedTuple):
    """Predictions of nets and rows for the questions of a subset.

    Attributes:
        is_correct: Net -> whether each answer is correct, [n].
        method_scores: Row of the leaderboard -> confidence and accuracy, [n] each.
    """

    questions: Sequence[SampleQuestion]
    is_correct: dict[str, np.ndarray]
    method_scores: dict[str, tuple[np.ndarray, np.ndarray]]


def list_models(seed: int) -> list[str]:
    """Return the names of the existing nets of a seed, without base nets."""
    return [
        name
        for name in NET_CONFIGS
        if name not in BASE_NETS and train_vqa.get_model_path(name, seed).exists()
    ]


def predict_by_name(
    net: str, seed: int, part: WorldSubset, asked: Sequence[SampleQuestion], step: float = 0.0
) -> ModelOutputs:
    """Return the outputs of a net for questions of a subset.

    The regions are from the region source of the net.
    """
    store = open_regions(vqa_worlds.WORK_DIR / part, NET_CONFIGS[net].region_source)
    asks = [VqaQuery(question.image_id, question.text) for question in asked]
    return predict(load_net(train_vqa.get_model_path(net, seed)), asks, store, step)


def fit_methods(seed: int) -> tuple[FittedDetectors, dict[str, float]]:
    """Fit all detectors to the net `BASE_MODEL` of a seed.

    Return them, and the score of each setting of the Selector.
    """
    data = SubsetData.read("fit")
    seen = predict_by_name(BASE_MODEL, seed, "fit", data.questions)
    right = get_answer_indices(data.questions, seen.answers)
    scaling = fit_scaling(seen.logits, right[:, None] == np.arange(len(seen.answers)))
    graded = GradedOutputs(
        [q.image_id for q in data.questions], seen, (seen.logits.argmax(axis=1) == right).astype(float)
    )
    selector, tries = choose_selector(graded, data.image_indices % CHECK_EVERY == 0, seed)
    return FittedDetectors(fit_base_gaussians(seed), scaling, selector), tries


def get_answer_indices(questions: Sequence[SampleQuestion], answers: Sequence[str]) -> np.ndarray:
    """Return the index of the correct answer of each question, [n]; -1 if it is not in `answers`."""
    place = {answer: place for place, answer in enumerate(answers)}
    return np.array([place.get(question.answer, -1) for question in questions])


def fit_base_gaussians(seed: int) -> ClassGaussians:
    """Fit Gaussians to the features of the net for its training questions."""
    questions = SubsetData.read("learn").questions
    blocks = [questions[start : start + BLOCK_SIZE] for start in range(0, len(questions), BLOCK_SIZE)]
    features, answers = [], ()
    for block in blocks:
        seen = predict_by_name(BASE_MODEL, seed, "learn", block)
        features.append(seen.features)
        answers = seen.answers
    return fit_gaussians(np.concatenate(features), get_answer_indices(questions, answers), len(answers))


def choose_selector(graded: GradedOutputs, check: np.ndarray, seed: int) -> tuple[Selector, dict[str, float]]:
    """Return the Selector with the best setting, and the score of each setting.

    `check` [n] (booleans) selects the questions on which settings are compared.
    """
    fit, held = select_rows(graded, ~check), select_rows(graded, check)
    found = {
        ", ".join(f"{key} {value}" for key, value in one.items()): train_selector(fit, held, seed=seed, **one)
        for one in SELECTOR_SETTINGS
    }
    areas = {
        name: round(risk_coverage_auc(compute_selector_confidence(held.outputs, one), held.accuracy), 5)
        for name, one in found.items()
    }
    return found[min(areas, key=lambda name: areas[name])], areas


def select_rows(graded: GradedOutputs, rows: np.ndarray) -> GradedOutputs:
    """Return the questions for which `rows` [n] is true."""
    seen = ModelOutputs(graded.outputs.answers, graded.outputs.logits[rows], graded.outputs.features[rows])
    images = [image for image, one in zip(graded.images, rows, strict=True) if one]
    return GradedOutputs(images, seen, graded.accuracy[rows])


def predict_subset(
    part: WorldSubset, seed: int, fitted: FittedDetectors, wanted: Collection[str] = LEADERBOARD_ROWS.keys()
) -> SubsetPredictions:
    """Predict the questions of a subset with all nets of a seed, and with the rows in `wanted` whose nets
    exist.

    Rows that need the nouns of questions are omitted.
    """
    questions, nets = SubsetData.read(part).questions, list_models(seed)
    rows = {
        name: row
        for name, row in LEADERBOARD_ROWS.items()
        if name in wanted and "nouns" not in DETECTORS[row.detector].required_inputs
    }
    rows = {name: row for name, row in rows.items() if set(row.required_nets) <= set(nets)}
    stepping = {
        row.net for row in rows.values() if "odin_perturbed" in DETECTORS[row.detector].required_inputs
    }
    seen = {
        net: predict_by_name(net, seed, part, questions, ODIN_STEP if net in stepping else 0.0)
        for net in nets
    }
    right = {
        net: seen[net].logits.argmax(axis=1) == get_answer_indices(questions, seen[net].answers)
        for net in nets
        if not NET_CONFIGS[net].has_single_output
    }
    answers = np.array([question.answer for question in questions])
    own = fitted._asdict()
    outputs = {
        name: score_row(row, seen, DetectorInputs(seen[row.net], **(own if row.net == BASE_MODEL else {})))
        for name, row in rows.items()
    }
    columns = {
        name: (one.confidence, (np.array(one.answers) == answers).astype(float))
        for name, one in outputs.items()
    }
    return SubsetPredictions(questions, right, columns)


def choose_row_thresholds(there: SubsetPredictions) -> dict[str, dict[str, dict[str, float | None]]]:
    """Choose thresholds "at_risk" and "at_cost" for each row. None means that no question is answered."""

    def to_json(values: dict[float, float]) -> dict[str, float | None]:
        return {f"{key:g}": None if math.isinf(value) else value for key, value in values.items()}

    chosen = {
        row: make_threshold_table(*columns, risks=TARGET_RISKS, costs=TARGET_COSTS)
        for row, columns in there.method_scores.items()
    }
    return {
        row: {"at_risk": to_json(dict(one.at_risk)), "at_cost": to_json(dict(one.at_cost))}
        for row, one in chosen.items()
    }


def measure_selection(there: SubsetPredictions) -> dict[str, dict[str, float]]:
    """Measure accuracy, area under the risk-coverage curve, and coverage at each risk, of the compared rows."""
    found = {}
    for row in COMPARED_METHODS:
        confidence, right = there.method_scores[row]
        figures = {"accuracy": float(right.mean()), "auc": risk_coverage_auc(confidence, right)}
        figures |= {f"c@{risk:g}": float(coverage_at_risk(confidence, right, risk)) for risk in TARGET_RISKS}
        found[row] = {name: round(value, 5) for name, value in figures.items()}
    return found


def measure_accuracy(there: SubsetPredictions) -> dict[str, dict[str, float]]:
    """Measure the accuracy of each net on all questions, and on balanced questions.

    For balanced questions, the structural types keep the weights that they have among all questions.
    """
    kinds = np.array([str(question.structural) for question in there.questions])
    kept = np.array(balance_answers(there.questions, SEED))
    shares = {kind: (kinds == kind).mean() for kind in set(kinds[kept])}

    def balanced_accuracy(right: np.ndarray) -> float:
        means = {kind: right[kept][kinds[kept] == kind].mean() for kind in shares}
        return float(sum(shares[kind] * means[kind] for kind in means) / sum(shares.values()))

    return {
        net: {"all": round(float(right.mean()), 4), "balanced": round(balanced_accuracy(right), 4)}
        for net, right in there.is_correct.items()
    }
