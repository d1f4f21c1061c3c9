"""How likely is a question answerable? The detectors of RGQA (Zhang et al., ICCV 2023, section 5.1) as functions of what a
net saw.

All confidences are [n] float64, higher = answerable, and unrounded: the published code (commit 737af30) writes four
decimals, under which ODIN's are all 0.5 and most of RP's 0. Answers are [n] places in `Seen.answers`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from scipy.special import expit, softmax

from research.reference_models.class_gaussians import ClassGaussians, score_mahalanobis
from research.reference_models.frcnn_rule import frcnn_rule
from research.reference_models.model_outputs import ModelOutputs
from research.reference_models.selective_answering import VectorScaling, apply_scaling

ODIN_TEMPERATURE = 1e5  # ODIN's, section 5.1


def msp(outputs: ModelOutputs) -> np.ndarray:
    """MSP: the largest probability of an answer (Hendrycks & Gimpel, ICLR 2017). The nets' answers are sigmoids, so the order
    is that of the largest logit. Of a net trained on pseudo UQs it is RGQA's integrated model, max_k f_k (eq. 5)."""
    return expit(outputs.logits.max(axis=1).astype(np.float64))


def maxprob(outputs: ModelOutputs) -> np.ndarray:
    """MaxProb: the largest softmax of the logits (Whitehead et al., ECCV 2022, section 4). The order is not MSP's."""
    return softmax(outputs.logits.astype(np.float64), axis=1).max(axis=1)


def energy(outputs: ModelOutputs, top_k: int | None = None) -> np.ndarray:
    """Energy of a multi-label net, its sign turned: the sum of log(1 + exp(f_k)) (Wang et al., NeurIPS 2021, JointEnergy)
    over the `top` highest logits. RGQA takes 2, None takes all; 1 would give MSP's order."""
    highest = np.sort(outputs.logits.astype(np.float64), axis=1)[:, ::-1][:, :top_k]
    return np.logaddexp(0, highest).sum(axis=1)


def odin(odin_perturbed: ModelOutputs) -> np.ndarray:
    """ODIN (Liang et al., ICLR 2018): max_k sigmoid(f_k / T) after a small step on the input, less the 1/2 that all share.

    Under sigmoids no temperature changes an order. In the published code it does: in float32 at T = 1e5 logits within
    0.024 of each other fall together. Here sigmoid(x) - 1/2 = tanh(x / 2) / 2, which keeps all digits.

    Args:
        stepped: `Seen.stepped`, after a step of 1e-4 on the regions' features alone, as the paper says (the code moves
            their boxes, too).
    """
    return np.tanh(odin_perturbed.logits.max(axis=1).astype(np.float64) / (2 * ODIN_TEMPERATURE)) / 2


def odin_rounded(odin_perturbed: ModelOutputs) -> np.ndarray:
    """ODIN as the published code (RGQA, `gqa_odin`) writes it: in float32, four decimals. With T = 1e5 all of it is 0.5 for logits
    between -20 and 20."""
    warm = (odin_perturbed.logits.max(axis=1) / np.float32(ODIN_TEMPERATURE)).astype(np.float32)
    return np.round(expit(warm), 4).astype(np.float64)


def mahalanobis(outputs: ModelOutputs, gaussians: ClassGaussians) -> np.ndarray:
    """-1/2 of the squared Mahalanobis distance to the closest answer's mean (Lee et al., NeurIPS 2018, eq. 2), without their
    step on the input."""
    return score_mahalanobis(gaussians, outputs.features).max(axis=1)


def closest_answer(outputs: ModelOutputs, gaussians: ClassGaussians) -> np.ndarray:
    """The answer whose mean is closest. The published code takes it for the net's answer, which costs RGQA's row Maha 2 to 5
    points of FACC."""
    return gaussians.classes[score_mahalanobis(gaussians, outputs.features).argmax(axis=1)]


def frcnn_known(
    nouns: Sequence[Collection[str]], detected: Sequence[Collection[str]], detector_names: Collection[str]
) -> np.ndarray:
    """`frcnn_rule` for those nouns that the detector has a name for: it says nothing of "wood" or "furniture". Ours; RGQA's
    rule rejects every question that has such a word."""
    return frcnn_rule([{noun for noun in asked if noun in detector_names} for asked in nouns], detected)


def ensemble(outputs: ModelOutputs, partners: Sequence[ModelOutputs]) -> np.ndarray:
    """Ens: the largest product of the nets' probabilities of an answer (RGQA, section 4.4)."""
    return _multiply_probabilities(outputs, partners).max(axis=1)


def ensemble_answer(outputs: ModelOutputs, partners: Sequence[ModelOutputs]) -> np.ndarray:
    """The answer with the largest product."""
    return _multiply_probabilities(outputs, partners).argmax(axis=1)


def _multiply_probabilities(outputs: ModelOutputs, partners: Sequence[ModelOutputs]) -> np.ndarray:
    product = expit(outputs.logits.astype(np.float64))
    for other in partners:
        if other.answers != outputs.answers:
            raise ValueError("the nets of an ensemble have other answers, or in another order")
        product *= expit(other.logits.astype(np.float64))
    return product


def head_score(head_logits: np.ndarray) -> np.ndarray:
    """Sigmoid of a head beside the answers: branched, multi-branched and separated models (RGQA, section 5.1), and Q-C, the
    matcher of question and caption (Ray et al., EMNLP 2016)."""
    return expit(head_logits.astype(np.float64))


def head_score_msp(head_logits: np.ndarray, outputs: ModelOutputs) -> np.ndarray:
    """Its product with MSP: `--mix_branched_score` of the published code, off in its scripts."""
    return head_score(head_logits) * msp(outputs)


def k_plus_1_score(k_plus_1: np.ndarray) -> np.ndarray:
    """1 - sigmoid of the answer "unanswerable" of a model with K + 1 answers (RGQA, section 5.1)."""
    return expit(-k_plus_1.astype(np.float64))


def k_plus_1_score_msp(k_plus_1: np.ndarray, outputs: ModelOutputs) -> np.ndarray:
    """Its product with MSP of the first K answers."""
    return k_plus_1_score(k_plus_1) * msp(outputs)


def calibrated_maxprob(outputs: ModelOutputs, scaling: VectorScaling) -> np.ndarray:
    """MaxProb of scaled logits ("Calibration", Whitehead et al., section 4)."""
    return maxprob(apply_scaling(outputs, scaling))


def calibrated_answer(outputs: ModelOutputs, scaling: VectorScaling) -> np.ndarray:
    """The answer with the highest scaled logit: not always the net's."""
    return apply_scaling(outputs, scaling).logits.argmax(axis=1)
