"""What is fitted for the sample's nets of a seed, and how their rows do on questions of val. Each part of the worlds has one
use: Gaussians are fitted on `learn`, scaling and Selector on `fit`, thresholds on `choose`; `report` is only looked at.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from pipeline.scoring.selective_prediction import coverage_at_risk, risk_coverage_auc
from research.reference_models.class_gaussians import ClassGaussians, fit_gaussians
from research.reference_models.detector_table import DETECTORS, Given
from research.reference_models.fitted_detectors import Fitted
from research.reference_models.inference import load_net, look
from research.reference_models.leaderboard_rows import ROWS, said_of_row
from research.reference_models.model_outputs import Ask, Seen
from research.reference_models.net_configs import BASES, NETS
from research.reference_models.row_predictions import STEP
from research.reference_models.selective_answering import choose_thresholds, fit_scaling
from research.reference_models.selector import Graded, Selector, selector_confidence
from research.reference_models.selector_training import train_selector
from research.synthetic_world import train_vqa, vqa_worlds
from research.synthetic_world.balancing import balanced
from research.synthetic_world.questions import SampleQuestion
from research.synthetic_world.vqa_training_data import PartData, store_of
from research.synthetic_world.vqa_worlds import SEED, Part

NET = "vanilla"  # for which all is fitted
RISKS, COSTS = (0.01, 0.05, 0.1, 0.2), (1.0, 10.0, 100.0)
BLOCK = 16_384  # questions that are looked at before all but their features are forgotten
ONE_IN = 5  # of the pictures of `fit`: the Selector is checked on them
SETTINGS: tuple[dict[str, Any], ...] = (  # of the Selector, to choose from
    {"hidden": 64, "epochs": 10, "rate": 1e-3},
    {"hidden": 256, "epochs": 10, "rate": 1e-3},
)
COMPARED = ("maxprob", "msp", "vector_scaling", "selector")


class PartAnswers(NamedTuple):
    """What nets and rows made of the questions of a part.

    Attributes:
        right: by net that answers: [n], is its answer right?
        rows: by row of the leaderboard: confidence and accuracy, [n] each.
    """

    questions: Sequence[SampleQuestion]
    right: dict[str, np.ndarray]
    rows: dict[str, tuple[np.ndarray, np.ndarray]]


def nets_of(seed: int) -> list[str]:
    """The nets of a seed that are there, but for the bases."""
    return [name for name in NETS if name not in BASES and train_vqa.file_of(name, seed).exists()]


def seen_by(net: str, seed: int, part: Part, asked: Sequence[SampleQuestion], step: float = 0.0) -> Seen:
    """What a net makes of questions of a part, from the regions that it knows."""
    store = store_of(vqa_worlds.WORK / part, NETS[net].regions)
    asks = [Ask(question.picture_id, question.text) for question in asked]
    return look(load_net(train_vqa.file_of(net, seed)), asks, store, step)


def fitted_for(seed: int) -> tuple[Fitted, dict[str, float]]:
    """What is fitted for the net of a seed, and the Selector's area under risk over coverage on its check by settings."""
    data = PartData.read("fit")
    seen = seen_by(NET, seed, "fit", data.questions)
    right = places_of(data.questions, seen.answers)
    scaling = fit_scaling(seen.logits, right[:, None] == np.arange(len(seen.answers)))
    graded = Graded(
        [q.picture_id for q in data.questions], seen, (seen.logits.argmax(axis=1) == right).astype(float)
    )
    selector, tries = best_selector(graded, data.pictures % ONE_IN == 0, seed)
    return Fitted(gaussians_of(seed), scaling, selector), tries


def places_of(questions: Sequence[SampleQuestion], answers: Sequence[str]) -> np.ndarray:
    """The place of each question's right answer among these, [n]; -1 where it is none of them."""
    place = {answer: place for place, answer in enumerate(answers)}
    return np.array([place.get(question.answer, -1) for question in questions])


def gaussians_of(seed: int) -> ClassGaussians:
    """Those of the net's features of the questions that it learned from."""
    questions = PartData.read("learn").questions
    blocks = [questions[start : start + BLOCK] for start in range(0, len(questions), BLOCK)]
    features, answers = [], ()
    for block in blocks:
        seen = seen_by(NET, seed, "learn", block)
        features.append(seen.features)
        answers = seen.answers
    return fit_gaussians(np.concatenate(features), places_of(questions, answers), len(answers))


def best_selector(graded: Graded, check: np.ndarray, seed: int) -> tuple[Selector, dict[str, float]]:
    """The Selector of the settings that do best on the check, [n] bool, and how well each does there."""
    fit, held = part_of(graded, ~check), part_of(graded, check)
    found = {
        ", ".join(f"{key} {value}" for key, value in one.items()): train_selector(fit, held, seed=seed, **one)
        for one in SETTINGS
    }
    areas = {
        name: round(risk_coverage_auc(selector_confidence(held.seen, one), held.accuracy), 5)
        for name, one in found.items()
    }
    return found[min(areas, key=lambda name: areas[name])], areas


def part_of(graded: Graded, rows: np.ndarray) -> Graded:
    """Those questions for which `rows` [n] is true."""
    seen = Seen(graded.seen.answers, graded.seen.logits[rows], graded.seen.features[rows])
    pictures = [picture for picture, one in zip(graded.pictures, rows, strict=True) if one]
    return Graded(pictures, seen, graded.accuracy[rows])


def answered(part: Part, seed: int, fitted: Fitted, wanted: Collection[str] = ROWS.keys()) -> PartAnswers:
    """What a seed's nets say to the questions of a part, and of the wanted rows those that need no nouns and whose nets are
    there."""
    questions, nets = PartData.read(part).questions, nets_of(seed)
    rows = {
        name: row
        for name, row in ROWS.items()
        if name in wanted and "nouns" not in DETECTORS[row.detector].needs
    }
    rows = {name: row for name, row in rows.items() if set(row.nets) <= set(nets)}
    stepping = {row.net for row in rows.values() if "stepped" in DETECTORS[row.detector].needs}
    seen = {net: seen_by(net, seed, part, questions, STEP if net in stepping else 0.0) for net in nets}
    right = {
        net: seen[net].logits.argmax(axis=1) == places_of(questions, seen[net].answers)
        for net in nets
        if not NETS[net].one
    }
    answers = np.array([question.answer for question in questions])
    own = fitted._asdict()
    said = {
        name: said_of_row(row, seen, Given(seen[row.net], **(own if row.net == NET else {})))
        for name, row in rows.items()
    }
    columns = {
        name: (one.confidence, (np.array(one.answers) == answers).astype(float)) for name, one in said.items()
    }
    return PartAnswers(questions, right, columns)


def thresholds(there: PartAnswers) -> dict[str, dict[str, dict[str, float | None]]]:
    """By row the thresholds that these questions choose, "at_risk" and "at_cost"; None: answer nothing."""

    def told(values: dict[float, float]) -> dict[str, float | None]:
        return {f"{key:g}": None if math.isinf(value) else value for key, value in values.items()}

    chosen = {
        row: choose_thresholds(*columns, risks=RISKS, costs=COSTS) for row, columns in there.rows.items()
    }
    return {
        row: {"at_risk": told(dict(one.at_risk)), "at_cost": told(dict(one.at_cost))}
        for row, one in chosen.items()
    }


def selection(there: PartAnswers) -> dict[str, dict[str, float]]:
    """Accuracy, area under risk over coverage, and coverage at each risk, of the rows to compare."""
    found = {}
    for row in COMPARED:
        confidence, right = there.rows[row]
        figures = {"accuracy": float(right.mean()), "auc": risk_coverage_auc(confidence, right)}
        figures |= {f"c@{risk:g}": float(coverage_at_risk(confidence, right, risk)) for risk in RISKS}
        found[row] = {name: round(value, 5) for name, value in figures.items()}
    return found


def accuracy(there: PartAnswers) -> dict[str, dict[str, float]]:
    """By net the accuracy on all questions, and on the balanced ones, whose structural types count as before."""
    kinds = np.array([str(question.structural) for question in there.questions])
    kept = np.array(balanced(there.questions, SEED))
    shares = {kind: (kinds == kind).mean() for kind in set(kinds[kept])}

    def even(right: np.ndarray) -> float:
        means = {kind: right[kept][kinds[kept] == kind].mean() for kind in shares}
        return float(sum(shares[kind] * means[kind] for kind in means) / sum(shares.values()))

    return {
        net: {"all": round(float(right.mean()), 4), "balanced": round(even(right), 4)}
        for net, right in there.right.items()
    }
