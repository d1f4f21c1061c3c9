"""The table of detectors and selection functions: what each needs, and what a net says with it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from research.reference_models import detectors as by
from research.reference_models.class_gaussians import ClassGaussians
from research.reference_models.frcnn_rule import frcnn_rule
from research.reference_models.model_outputs import Seen
from research.reference_models.selective_answering import VectorScaling
from research.reference_models.selector import Selector, selector_confidence


class Given(NamedTuple):
    """What a detector may look at, all for the same n questions in the same order.

    Attributes:
        seen: by the net that answers.
        partners: by the further nets of an ensemble.
        gaussians, scaling, selector: fitted for this net, on train or val.
        nouns, detected, names: what each question names, what was found in its picture, and all that the detector of
            things has a name for; see `noun_rule`.
    """

    seen: Seen
    partners: tuple[Seen, ...] = ()
    gaussians: ClassGaussians | None = None
    scaling: VectorScaling | None = None
    selector: Selector | None = None
    nouns: Sequence[Collection[str]] | None = None
    detected: Sequence[Collection[str]] | None = None
    names: Collection[str] | None = None

    def inputs(self) -> dict[str, Any]:
        """All that is there, by name: the fields, what was seen after ODIN's step as "stepped", and the net's heads."""
        fields = {name: value for name, value in self._asdict().items() if value is not None and value != ()}
        stepped = {} if self.seen.stepped is None else {"stepped": self.seen.stepped}
        return fields | stepped | dict(self.seen.extra)


class Said(NamedTuple):
    """What a net says to n questions: its answers, and confidences [n] float64, higher = answerable."""

    answers: list[str]
    confidence: np.ndarray


Rule = Callable[..., np.ndarray]


class Detector(NamedTuple):
    """A row of the table.

    Attributes:
        title: as tables show it. source: where it is from.
        needs: names of `Given.inputs`.
        confidence: a function of these, in this order, to [n].
        answer: likewise, to [n] places in `Seen.answers`; None for the net's own.
    """

    title: str
    source: str
    needs: tuple[str, ...]
    confidence: Rule
    answer: Rule | None = None


RGQA, CODE, WHITEHEAD = "RGQA 5.1", "RGQA's code", "Whitehead et al. 4"
SEEN, MAHA, NOUNS = ("seen",), ("seen", "gaussians"), ("nouns", "detected")
DETECTORS: dict[str, Detector] = {
    "msp": Detector("MSP", RGQA, SEEN, by.msp),
    "maxprob": Detector("MaxProb", WHITEHEAD, SEEN, by.maxprob),
    "odin": Detector("ODIN", RGQA, ("stepped",), by.odin),
    "odin_rounded": Detector("ODIN, 4 decimals", CODE, ("stepped",), by.odin_rounded),
    "energy_top2": Detector("Energy, top 2", RGQA, SEEN, partial(by.energy, top=2)),
    "energy_all": Detector("Energy, all", "Wang et al. 2021", SEEN, by.energy),
    "mahalanobis": Detector("Maha, the net's answers", "Lee et al. 2018", MAHA, by.mahalanobis),
    "mahalanobis_own": Detector("Maha, its own answers", CODE, MAHA, by.mahalanobis, by.closest_answer),
    "frcnn": Detector("FRCNN, all nouns", RGQA, NOUNS, frcnn_rule),
    "frcnn_known": Detector("FRCNN, nouns it knows", "ours", (*NOUNS, "names"), by.frcnn_known),
    "branched": Detector("Branched", RGQA, ("branch",), by.head_score),
    "branched_msp": Detector("Branched x MSP", CODE, ("branch", "seen"), by.head_score_msp),
    "multi_branched": Detector("Multi-branched", RGQA, ("multi_branch",), by.head_score),
    "multi_branched_msp": Detector("Multi-branched x MSP", CODE, ("multi_branch", "seen"), by.head_score_msp),
    "separated": Detector("Separated", RGQA, ("separated",), by.head_score),
    "separated_msp": Detector("Separated x MSP", CODE, ("separated", "seen"), by.head_score_msp),
    "k_plus_1": Detector("K+1", RGQA, ("k_plus_1",), by.unlike_uq),
    "k_plus_1_msp": Detector("K+1 x MSP", CODE, ("k_plus_1", "seen"), by.unlike_uq_msp),
    "caption_match": Detector("Q-C", RGQA, ("caption_match",), by.head_score),
    "ensemble": Detector("Ens", "RGQA 4.4", ("seen", "partners"), by.ensemble, by.ensemble_answer),
    "vector_scaling": Detector(
        "Calibration", WHITEHEAD, ("seen", "scaling"), by.calibrated, by.calibrated_answer
    ),
    "selector": Detector("Selector", WHITEHEAD, ("seen", "selector"), selector_confidence),
}


def lacking(detector: Detector, given: Given) -> list[str]:
    """Of what a detector needs, that which is not there."""
    return [name for name in detector.needs if name not in given.inputs()]


def said(detector: Detector, given: Given) -> Said:
    """What a net says with the confidence, and where it has its own also the answers, of a detector.

    Raises:
        ValueError: something that it needs is not there.
    """
    if missing := lacking(detector, given):
        raise ValueError(f"{detector.title} needs {', '.join(missing)}")
    inputs = [given.inputs()[name] for name in detector.needs]
    places = detector.answer(*inputs) if detector.answer else given.seen.logits.argmax(axis=1)
    return Said([given.seen.answers[place] for place in places], detector.confidence(*inputs))
