"""The rows of the papers: which net answers, and by which detector. RGQA (Zhang et al., ICCV 2023), section 5.2 and
Tables 5 and H1; Reliable VQA (Whitehead et al., ECCV 2022), section 4.

A row needs the nets that it names, all of one seed, and what its detector needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from research.reference_models.detector_table import DETECTORS, DetectorInputs, DetectorOutput, score
from research.reference_models.model_outputs import ModelOutputs

SINGLE_OUTPUT_NETS = ("separated", "caption_match")  # nets that say nothing but whether there is an answer


class LeaderboardRow(NamedTuple):
    """A row of the leaderboard.

    Attributes:
        detector: a name of `detectors.DETECTORS`.
        net: the net that answers and whose confidence it is.
        beside: further nets: partners of an ensemble, or one of `ONE_OUTPUT`, whose output is the confidence.
        answers: another net, whose answers are taken in place of `net`'s; "" for none.
        reference: no method, but something to hold methods against.
        note: what else is to be known.
    """

    detector: str
    net: str = "vanilla"
    extra_nets: tuple[str, ...] = ()
    answer_net: str = ""
    is_reference: bool = False
    note: str = ""

    @property
    def required_nets(self) -> tuple[str, ...]:
        """All nets that have to look."""
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
        "msp", "rp", answer_net="vanilla", note="what pairs do to the confidence alone"
    ),
    "k_plus_1": LeaderboardRow("k_plus_1", "k_plus_1"),
    "branched": LeaderboardRow("branched", "branched"),
    "multi_branched": LeaderboardRow("multi_branched", "multi_branched"),
    "separated": LeaderboardRow("separated", extra_nets=("separated",)),
    "caption_match": LeaderboardRow("caption_match", extra_nets=("caption_match",)),
    "own_msp": LeaderboardRow("msp", "own_vanilla", note="regions of a tower that never saw the CLIP"),
    "own_rp": LeaderboardRow("msp", "own_rp", note="regions of a tower that never saw the CLIP"),
    "blind_net": LeaderboardRow("msp", "blind", is_reference=True, note="sees no image"),
    "true_regions": LeaderboardRow("msp", "true_regions", is_reference=True, note="sees the truth's regions"),
}


def score_row(
    row: LeaderboardRow, outputs: Mapping[str, ModelOutputs], detector_inputs: DetectorInputs | None = None
) -> DetectorOutput:
    """What a row says to n questions.

    Args:
        seen: what each of the row's nets saw of them, by its name.
        given: what else its detector needs; its own `seen` and `partners` do not count.

    Raises:
        ValueError: something that the detector needs is not there.
    """
    heads = {name: outputs[name].logits[:, 0] for name in row.extra_nets if name in SINGLE_OUTPUT_NETS}
    own = outputs[row.net]._replace(head_logits={**outputs[row.net].head_logits, **heads})
    partners = tuple(outputs[name] for name in row.extra_nets if name not in SINGLE_OUTPUT_NETS)
    detector_inputs = (
        DetectorInputs(own) if detector_inputs is None else detector_inputs._replace(outputs=own)
    )
    found = score(DETECTORS[row.detector], detector_inputs._replace(ensemble_outputs=partners))
    if row.answer_net:
        other = outputs[row.answer_net]
        return found._replace(answers=[other.answers[place] for place in other.logits.argmax(axis=1)])
    return found
