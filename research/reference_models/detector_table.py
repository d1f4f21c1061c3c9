"""The table of detectors and selection functions: what each needs, and what a net says with it."""

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
    """What a detector may look at, all for the same n questions in the same order.

    Attributes:
        seen: by the net that answers.
        partners: by the further nets of an ensemble.
        gaussians, scaling, selector: fitted for this net, on train or val.
        nouns, detected, names: what each question names, what was found in its image, and all that the detector of
            things has a name for; see `noun_rule`.
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
        """All that is there, by name: the fields, what was seen after ODIN's step as "stepped", and the net's heads."""
        fields = {name: value for name, value in self._asdict().items() if value is not None and value != ()}
        stepped = {} if self.outputs.odin_perturbed is None else {"stepped": self.outputs.odin_perturbed}
        return fields | stepped | dict(self.outputs.head_logits)


class DetectorOutput(NamedTuple):
    """What a net says to n questions: its answers, and confidences [n] float64, higher = answerable."""

    answers: list[str]
    confidence: np.ndarray


ScoreFunction = Callable[..., np.ndarray]


class Detector(NamedTuple):
    """A row of the table.

    Attributes:
        title: as tables show it. source: where it is from.
        needs: names of `Given.inputs`.
        confidence: a function of these, in this order, to [n].
        answer: likewise, to [n] places in `Seen.answers`; None for the net's own.
    """

    title: str
    reference: str
    required_inputs: tuple[str, ...]
    score_fn: ScoreFunction
    answer_fn: ScoreFunction | None = None


RGQA_PAPER, RGQA_CODE, WHITEHEAD_PAPER = "RGQA 5.1", "RGQA's code", "Whitehead et al. 4"
OUTPUTS_INPUT, MAHALANOBIS_INPUTS, NOUN_INPUTS = ("seen",), ("seen", "gaussians"), ("nouns", "detected")
DETECTORS: dict[str, Detector] = {
    "msp": Detector("MSP", RGQA_PAPER, OUTPUTS_INPUT, by.msp),
    "maxprob": Detector("MaxProb", WHITEHEAD_PAPER, OUTPUTS_INPUT, by.maxprob),
    "odin": Detector("ODIN", RGQA_PAPER, ("stepped",), by.odin),
    "odin_rounded": Detector("ODIN, 4 decimals", RGQA_CODE, ("stepped",), by.odin_rounded),
    "energy_top2": Detector("Energy, top 2", RGQA_PAPER, OUTPUTS_INPUT, partial(by.energy, top_k=2)),
    "energy_all": Detector("Energy, all", "Wang et al. 2021", OUTPUTS_INPUT, by.energy),
    "mahalanobis": Detector("Maha, the net's answers", "Lee et al. 2018", MAHALANOBIS_INPUTS, by.mahalanobis),
    "mahalanobis_own": Detector(
        "Maha, its own answers", RGQA_CODE, MAHALANOBIS_INPUTS, by.mahalanobis, by.closest_answer
    ),
    "frcnn": Detector("FRCNN, all nouns", RGQA_PAPER, NOUN_INPUTS, frcnn_rule),
    "frcnn_known": Detector("FRCNN, nouns it knows", "ours", (*NOUN_INPUTS, "names"), by.frcnn_known),
    "branched": Detector("Branched", RGQA_PAPER, ("branch",), by.head_score),
    "branched_msp": Detector("Branched x MSP", RGQA_CODE, ("branch", "seen"), by.head_score_msp),
    "multi_branched": Detector("Multi-branched", RGQA_PAPER, ("multi_branch",), by.head_score),
    "multi_branched_msp": Detector(
        "Multi-branched x MSP", RGQA_CODE, ("multi_branch", "seen"), by.head_score_msp
    ),
    "separated": Detector("Separated", RGQA_PAPER, ("separated",), by.head_score),
    "separated_msp": Detector("Separated x MSP", RGQA_CODE, ("separated", "seen"), by.head_score_msp),
    "k_plus_1": Detector("K+1", RGQA_PAPER, ("k_plus_1",), by.k_plus_1_score),
    "k_plus_1_msp": Detector("K+1 x MSP", RGQA_CODE, ("k_plus_1", "seen"), by.k_plus_1_score_msp),
    "caption_match": Detector("Q-C", RGQA_PAPER, ("caption_match",), by.head_score),
    "ensemble": Detector("Ens", "RGQA 4.4", ("seen", "partners"), by.ensemble, by.ensemble_answer),
    "vector_scaling": Detector(
        "Calibration", WHITEHEAD_PAPER, ("seen", "scaling"), by.calibrated_maxprob, by.calibrated_answer
    ),
    "selector": Detector("Selector", WHITEHEAD_PAPER, ("seen", "selector"), compute_selector_confidence),
}


def missing_inputs(detector: Detector, detector_inputs: DetectorInputs) -> list[str]:
    """Of what a detector needs, that which is not there."""
    return [name for name in detector.required_inputs if name not in detector_inputs.available_inputs()]


def score(detector: Detector, detector_inputs: DetectorInputs) -> DetectorOutput:
    """What a net says with the confidence, and where it has its own also the answers, of a detector.

    Raises:
        ValueError: something that it needs is not there.
    """
    if missing := missing_inputs(detector, detector_inputs):
        raise ValueError(f"{detector.title} needs {', '.join(missing)}")
    inputs = [detector_inputs.available_inputs()[name] for name in detector.required_inputs]
    places = (
        detector.answer_fn(*inputs) if detector.answer_fn else detector_inputs.outputs.logits.argmax(axis=1)
    )
    return DetectorOutput(
        [detector_inputs.outputs.answers[place] for place in places], detector.score_fn(*inputs)
    )
