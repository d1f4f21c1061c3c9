"""The table of all detectors and selection functions, with their required inputs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from research.reference_models import detectors as by
from research.reference_models.class_gaussians import ClassGaussians
from research.reference_models.frcnn_rule import frcnn_rule
from research.reference_models.model_outputs import ModelOutputs
from research.reference_models.selective_answering import VectorScaling
from research.reference_models.selector import Selector, compute_selector_confidence


class DetectorInputs(NamedTuple):
    """The inputs of detectors, all for the same n questions in the same order.

    Attributes:
        outputs: Outputs of the net that answers.
        ensemble_outputs: Outputs of the other nets of an ensemble.
        gaussians: Gaussians fitted on train.
        scaling: Vector scaling fitted on val.
        selector: Selector trained on val.
        nouns: Nouns of each question (`extract_nouns`).
        detected_names: For each question, names of the objects that were detected in its image.
        detector_names: All names that the object detector knows.
    """

    outputs: ModelOutputs
    ensemble_outputs: tuple[ModelOutputs, ...] = ()
    gaussians: ClassGaussians | None = None
    scaling: VectorScaling | None = None
    selector: Selector | None = None
    nouns: Sequence[Collection[str]] | None = None
    detected_names: Sequence[Collection[str]] | None = None
    detector_names: Collection[str] | None = None

    def available_inputs(self) -> dict[str, Any]:
        """Return name -> available input.

        The names are fields, "odin_perturbed", and the extra heads of the net.
        """
        fields = {name: value for name, value in self._asdict().items() if value is not None and value != ()}
        perturbed = self.outputs.odin_perturbed
        odin = {} if perturbed is None else {"odin_perturbed": perturbed}
        return fields | odin | dict(self.outputs.head_logits)


class DetectorOutput(NamedTuple):
    """Answers to n questions, and confidences (float64 [n]; higher means answerable)."""

    answers: list[str]
    confidence: np.ndarray


ScoreFunction = Callable[..., np.ndarray]


class Detector(NamedTuple):
    """A row of the table.

    Attributes:
        title: Name in tables.
        reference: Paper or code that defines the detector.
        required_inputs: Names of required inputs, as in `DetectorInputs.available_inputs`.
        score_fn: Computes confidences [n] from the required inputs, in the order of `required_inputs`.
        answer_fn: Computes answers, as indices [n] in `ModelOutputs.answers`, from the required inputs; None
            to use the answers of the net.
    """

    title: str
    reference: str
    required_inputs: tuple[str, ...]
    score_fn: ScoreFunction
    answer_fn: ScoreFunction | None = None


RGQA_PAPER, RGQA_CODE, WHITEHEAD_PAPER = "RGQA 5.1", "RGQA's code", "Whitehead et al. 4"
OUTPUTS_INPUT, MAHALANOBIS_INPUTS, NOUN_INPUTS = (
    ("outputs",),
    ("outputs", "gaussians"),
    ("nouns", "detected_names"),
)
DETECTORS: dict[str, Detector] = {
    "msp": Detector("MSP", RGQA_PAPER, OUTPUTS_INPUT, by.msp),
    "maxprob": Detector("MaxProb", WHITEHEAD_PAPER, OUTPUTS_INPUT, by.maxprob),
    "odin": Detector("ODIN", RGQA_PAPER, ("odin_perturbed",), by.odin),
    "odin_rounded": Detector("ODIN, 4 decimals", RGQA_CODE, ("odin_perturbed",), by.odin_rounded),
    "energy_top2": Detector("Energy, top 2", RGQA_PAPER, OUTPUTS_INPUT, partial(by.energy, top_k=2)),
    "energy_all": Detector("Energy, all", "Wang et al. 2021", OUTPUTS_INPUT, by.energy),
    "mahalanobis": Detector("Maha, the net's answers", "Lee et al. 2018", MAHALANOBIS_INPUTS, by.mahalanobis),
    "mahalanobis_own": Detector(
        "Maha, its own answers", RGQA_CODE, MAHALANOBIS_INPUTS, by.mahalanobis, by.closest_answer
    ),
    "frcnn": Detector("FRCNN, all nouns", RGQA_PAPER, NOUN_INPUTS, frcnn_rule),
    "frcnn_known": Detector(
        "FRCNN, nouns it knows", "ours", (*NOUN_INPUTS, "detector_names"), by.frcnn_known
    ),
    "branched": Detector("Branched", RGQA_PAPER, ("branch",), by.head_score),
    "branched_msp": Detector("Branched x MSP", RGQA_CODE, ("branch", "outputs"), by.head_score_msp),
    "multi_branched": Detector("Multi-branched", RGQA_PAPER, ("multi_branch",), by.head_score),
    "multi_branched_msp": Detector(
        "Multi-branched x MSP", RGQA_CODE, ("multi_branch", "outputs"), by.head_score_msp
    ),
    "separated": Detector("Separated", RGQA_PAPER, ("separated",), by.head_score),
    "separated_msp": Detector("Separated x MSP", RGQA_CODE, ("separated", "outputs"), by.head_score_msp),
    "k_plus_1": Detector("K+1", RGQA_PAPER, ("k_plus_1",), by.k_plus_1_score),
    "k_plus_1_msp": Detector("K+1 x MSP", RGQA_CODE, ("k_plus_1", "outputs"), by.k_plus_1_score_msp),
    "caption_match": Detector("Q-C", RGQA_PAPER, ("caption_match",), by.head_score),
    "ensemble": Detector("Ens", "RGQA 4.4", ("outputs", "ensemble_outputs"), by.ensemble, by.ensemble_answer),
    "vector_scaling": Detector(
        "Calibration", WHITEHEAD_PAPER, ("outputs", "scaling"), by.calibrated_maxprob, by.calibrated_answer
    ),
    "selector": Detector("Selector", WHITEHEAD_PAPER, ("outputs", "selector"), compute_selector_confidence),
}


def missing_inputs(detector: Detector, detector_inputs: DetectorInputs) -> list[str]:
    """Return the required inputs that are not available."""
    return [name for name in detector.required_inputs if name not in detector_inputs.available_inputs()]


def score(detector: Detector, detector_inputs: DetectorInputs) -> DetectorOutput:
    """Return the confidences of a detector, with the answers of the detector or else of the net.

    Raises:
        ValueError: A required input is not available.
    """
    if missing := missing_inputs(detector, detector_inputs):
        raise ValueError(f"{detector.title} needs {', '.join(missing)}")
    inputs = [detector_inputs.available_inputs()[name] for name in detector.required_inputs]
    indices = (
        detector.answer_fn(*inputs) if detector.answer_fn else detector_inputs.outputs.logits.argmax(axis=1)
    )
    return DetectorOutput(
        [detector_inputs.outputs.answers[index] for index in indices], detector.score_fn(*inputs)
    )
