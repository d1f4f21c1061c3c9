"""The rows of the leaderboard: which net answers, and which detector gives the confidence.

The rows are from RGQA (Zhang et al., ICCV 2023), section 5.2 and Tables 5 and H1, and from Reliable VQA
(Whitehead et al., ECCV 2022), section 4. A row needs its nets, all of the same seed, and the inputs of its
detector.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from research.reference_models.detector_table import DETECTORS, DetectorInputs, DetectorOutput, score
from research.reference_models.model_outputs import ModelOutputs

# Nets with a single output, which says whether the question is answerable.
SINGLE_OUTPUT_NETS = ("separated", "caption_match")


class LeaderboardRow(NamedTuple):
    """A row of the leaderboard.

    Attributes:
        detector: Name of a detector in `DETECTORS`.
        net: Name of the net that answers. The detector uses the outputs of this net.
        extra_nets: Names of additional nets: members of an ensemble, or one of `SINGLE_OUTPUT_NETS`, whose
            output is the confidence.
        answer_net: Name of a net whose answers replace the answers of `net`; "" for none.
        is_reference: Whether the row is not a method, but a reference with which methods are compared.
        note: Remark for the leaderboard; "" for none.
    """

    detector: str
    net: str = "vanilla"
    extra_nets: tuple[str, ...] = ()
    answer_net: str = ""
    is_reference: bool = False
    note: str = ""

    @property
    def required_nets(self) -> tuple[str, ...]:
        """Return the names of all nets whose outputs the row needs."""
        return (self.net, *self.extra_nets, *((self.answer_net,) if self.answer_net else ()))


POST_HOC_DETECTORS = (
    *("msp", "maxprob", "odin", "odin_rounded", "energy_top2", "energy_all"),
    *("mahalanobis", "mahalanobis_own", "frcnn", "frcnn_known", "vector_scaling", "selector"),
)
LEADERBOARD_ROWS: dict[str, LeaderboardRow] = {
    **{name: LeaderboardRow(name) for name in POST_HOC_DETECTORS},
    "rp": LeaderboardRow("msp", "rp"),
    "rp_hard": LeaderboardRow("msp", "rp_hard"),
    "mix": LeaderboardRow("msp", "mix"),
    "ens": LeaderboardRow("ensemble", "rp", extra_nets=("mix",)),
    "resample": LeaderboardRow("msp", "resample"),
    "rp_confidence": LeaderboardRow(
        "msp", "rp", answer_net="vanilla", note="the effect of pairs on the confidence only"
    ),
    "k_plus_1": LeaderboardRow("k_plus_1", "k_plus_1"),
    "branched": LeaderboardRow("branched", "branched"),
    "multi_branched": LeaderboardRow("multi_branched", "multi_branched"),
    "separated": LeaderboardRow("separated", extra_nets=("separated",)),
    "caption_match": LeaderboardRow("caption_match", extra_nets=("caption_match",)),
    "own_msp": LeaderboardRow("msp", "own_vanilla", note="regions of a tower that is independent of CLIP"),
    "own_rp": LeaderboardRow("msp", "own_rp", note="regions of a tower that is independent of CLIP"),
    "text_only_net": LeaderboardRow("msp", "blind", is_reference=True, note="sees no image"),
    "true_regions": LeaderboardRow(
        "msp", "true_regions", is_reference=True, note="sees the ground-truth regions"
    ),
}


def score_row(
    row: LeaderboardRow, outputs: Mapping[str, ModelOutputs], detector_inputs: DetectorInputs | None = None
) -> DetectorOutput:
    """Return the answers and confidences of a row for n questions.

    Args:
        row: The row.
        outputs: Name of a net -> its outputs, for each net of the row.
        detector_inputs: Other inputs of the detector; None for none. The fields `outputs` and
            `ensemble_outputs` are ignored.

    Raises:
        ValueError: An input of the detector is not available.
    """
    heads = {name: outputs[name].logits[:, 0] for name in row.extra_nets if name in SINGLE_OUTPUT_NETS}
    own = outputs[row.net]._replace(head_logits={**outputs[row.net].head_logits, **heads})
    partners = tuple(outputs[name] for name in row.extra_nets if name not in SINGLE_OUTPUT_NETS)
    detector_inputs = (
        DetectorInputs(own) if detector_inputs is None else detector_inputs._replace(outputs=own)
    )
    result = score(DETECTORS[row.detector], detector_inputs._replace(ensemble_outputs=partners))
    if row.answer_net:
        other = outputs[row.answer_net]
        return result._replace(answers=[other.answers[index] for index in other.logits.argmax(axis=1)])
    return result
