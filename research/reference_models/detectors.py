"""The detectors of RGQA (Zhang et al., ICCV 2023, section 5.1): confidences that a question is answerable.

Confidences are float64 [n]; higher means answerable. They are not rounded. The published code (commit
737af30) rounds to four decimals, which makes all confidences of ODIN 0.5 and most confidences of RP 0.
Answers are indices [n] in `ModelOutputs.answers`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from scipy.special import expit, softmax

from research.reference_models.class_gaussians import ClassGaussians, score_mahalanobis
from research.reference_models.frcnn_rule import frcnn_rule
from research.reference_models.model_outputs import ModelOutputs
from research.reference_models.selective_answering import VectorScaling, apply_scaling

# Temperature T of ODIN in RGQA (section 5.1).
ODIN_TEMPERATURE = 1e5


def msp(outputs: ModelOutputs) -> np.ndarray:
    """Return MSP, the largest probability of an answer (Hendrycks & Gimpel, ICLR 2017).

    The probabilities of the nets are sigmoids, so MSP has the same order as the largest logit. For a net that
    was trained on pseudo UQs, MSP is RGQA's integrated model, max_k f_k (eq. 5).

    Args:
        outputs: Outputs of the net.

    >>> round(float(msp(ModelOutputs(("yes", "no"), np.array([[0.0, 2.0]]), np.zeros((1, 3))))[0]), 4)
    0.8808
    """
    return expit(outputs.logits.max(axis=1).astype(np.float64))


def maxprob(outputs: ModelOutputs) -> np.ndarray:
    """Return MaxProb, the largest softmax of the logits (Whitehead et al., ECCV 2022, section 4).

    Its order differs from the order of MSP.

    >>> maxprob(ModelOutputs(("yes", "no"), np.array([[1.0, 1.0]]), np.zeros((1, 3)))).tolist()
    [0.5]
    """
    return softmax(outputs.logits.astype(np.float64), axis=1).max(axis=1)


def energy(outputs: ModelOutputs, top_k: int | None = None) -> np.ndarray:
    """Return the negative energy of a multi-label net, the sum of log(1 + exp(f_k)) (Wang et al., NeurIPS
    2021, JointEnergy).

    Args:
        outputs: Outputs of the net.
        top_k: Number of highest logits in the sum; None for all. RGQA uses 2. With 1, the order is the same
            as for MSP.

    >>> energy(ModelOutputs(("yes", "no"), np.zeros((1, 2)), np.zeros((1, 3)))).round(4).tolist()
    [1.3863]
    """
    highest = np.sort(outputs.logits.astype(np.float64), axis=1)[:, ::-1][:, :top_k]
    return np.logaddexp(0, highest).sum(axis=1)


def odin(odin_perturbed: ModelOutputs) -> np.ndarray:
    """Return ODIN (Liang et al., ICLR 2018): max_k sigmoid(f_k / T) - 1/2 after a small step on the input.

    With sigmoids, the temperature does not change the order. In the published code it does, because in
    float32 at T = 1e5, logits that differ by less than 0.024 become equal. This function computes sigmoid(x)
    - 1/2 as tanh(x / 2) / 2, which keeps all digits.

    Args:
        odin_perturbed: `ModelOutputs.odin_perturbed`, after a step of 1e-4 on the features of the regions, as
            in the paper. (The published code perturbs the boxes, too.)

    >>> f"{odin(ModelOutputs(('yes', 'no'), np.array([[0.0, 4.0]]), np.zeros((1, 3))))[0]:.0e}"
    '1e-05'
    """
    return np.tanh(odin_perturbed.logits.max(axis=1).astype(np.float64) / (2 * ODIN_TEMPERATURE)) / 2


def odin_rounded(odin_perturbed: ModelOutputs) -> np.ndarray:
    """Return ODIN in float32 with four decimals, as in the published code (RGQA, `gqa_odin`).

    With T = 1e5, the result is 0.5 for all logits between -20 and 20.
    """
    scaled = (odin_perturbed.logits.max(axis=1) / np.float32(ODIN_TEMPERATURE)).astype(np.float32)
    return np.round(expit(scaled), 4).astype(np.float64)


def mahalanobis(outputs: ModelOutputs, gaussians: ClassGaussians) -> np.ndarray:
    """Return -1/2 of the squared Mahalanobis distance to the closest mean of an answer (Lee et al., NeurIPS
    2018, eq. 2).

    The step on the input, which that paper also describes, is omitted.
    """
    return score_mahalanobis(gaussians, outputs.features).max(axis=1)


def closest_answer(outputs: ModelOutputs, gaussians: ClassGaussians) -> np.ndarray:
    """Return the answer whose mean is closest.

    The published code uses this answer in place of the answer of the net, which costs RGQA's row Maha 2 to 5
    points of FACC.
    """
    return gaussians.classes[score_mahalanobis(gaussians, outputs.features).argmax(axis=1)]


def frcnn_known(
    nouns: Sequence[Collection[str]], detected: Sequence[Collection[str]], detector_names: Collection[str]
) -> np.ndarray:
    """Return `frcnn_rule` for only those nouns that the object detector knows.

    This variant is not from RGQA. RGQA's rule rejects every question with an unknown noun such as "wood" or
    "furniture".
    """
    return frcnn_rule([{noun for noun in named if noun in detector_names} for named in nouns], detected)


def ensemble(outputs: ModelOutputs, partners: Sequence[ModelOutputs]) -> np.ndarray:
    """Return Ens (RGQA, section 4.4): the largest product, over answers, of the probabilities that the nets
    give the answer.
    """
    return _multiply_probabilities(outputs, partners).max(axis=1)


def ensemble_answer(outputs: ModelOutputs, partners: Sequence[ModelOutputs]) -> np.ndarray:
    """Return the answer with the largest product of the nets' probabilities."""
    return _multiply_probabilities(outputs, partners).argmax(axis=1)


def _multiply_probabilities(outputs: ModelOutputs, partners: Sequence[ModelOutputs]) -> np.ndarray:
    product = expit(outputs.logits.astype(np.float64))
    for other in partners:
        if other.answers != outputs.answers:
            raise ValueError(
                "the nets of an ensemble have different answers; wanted the same answers in the same order"
            )
        product *= expit(other.logits.astype(np.float64))
    return product


def head_score(head_logits: np.ndarray) -> np.ndarray:
    """Return the sigmoid of an extra head.

    This is the confidence of branched, multi-branched and separated models (RGQA, section 5.1), and of Q-C,
    which matches the question with a caption of the image (Ray et al., EMNLP 2016).
    """
    return expit(head_logits.astype(np.float64))


def head_score_msp(head_logits: np.ndarray, outputs: ModelOutputs) -> np.ndarray:
    """Return `head_score` times MSP (option `--mix_branched_score` of the published code, which its scripts
    do not use).
    """
    return head_score(head_logits) * msp(outputs)


def k_plus_1_score(k_plus_1: np.ndarray) -> np.ndarray:
    """Return 1 - sigmoid of the logit of the answer "unanswerable", for a model with K + 1 answers (RGQA,
    section 5.1).
    """
    return expit(-k_plus_1.astype(np.float64))


def k_plus_1_score_msp(k_plus_1: np.ndarray, outputs: ModelOutputs) -> np.ndarray:
    """Return `k_plus_1_score` times MSP of the first K answers."""
    return k_plus_1_score(k_plus_1) * msp(outputs)


def calibrated_maxprob(outputs: ModelOutputs, scaling: VectorScaling) -> np.ndarray:
    """Return MaxProb of scaled logits ("Calibration", Whitehead et al., section 4)."""
    return maxprob(apply_scaling(outputs, scaling))


def calibrated_answer(outputs: ModelOutputs, scaling: VectorScaling) -> np.ndarray:
    """Return the answer with the highest scaled logit, which may differ from the answer of the net."""
    return apply_scaling(outputs, scaling).logits.argmax(axis=1)
