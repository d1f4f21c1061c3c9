"""The rows of the papers: which net answers, and by which detector. RGQA (Zhang et al., ICCV 2023), section 5.2 and
Tables 5 and H1; Reliable VQA (Whitehead et al., ECCV 2022), section 4.

A row needs the nets that it names, all of one seed, and what its detector needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from research.reference_models.detector_table import DETECTORS, Given, Said, said
from research.reference_models.model_outputs import Seen

ONE_OUTPUT = ("separated", "caption_match")  # nets that say nothing but whether there is an answer


class NetRow(NamedTuple):
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
    beside: tuple[str, ...] = ()
    answers: str = ""
    reference: bool = False
    note: str = ""

    @property
    def nets(self) -> tuple[str, ...]:
        """All nets that have to look."""
        return (self.net, *self.beside, *((self.answers,) if self.answers else ()))


POST_HOC = (
    *("msp", "maxprob", "odin", "odin_rounded", "energy_top2", "energy_all"),
    *("mahalanobis", "mahalanobis_own", "frcnn", "frcnn_known", "vector_scaling", "selector"),
)
ROWS: dict[str, NetRow] = {
    **{name: NetRow(name) for name in POST_HOC},
    "rp": NetRow("msp", "rp"),
    "rp_hard": NetRow("msp", "rp_hard"),
    "mix": NetRow("msp", "mix"),
    "ens": NetRow("ensemble", "rp", beside=("mix",)),
    "resample": NetRow("msp", "resample"),
    "rp_confidence": NetRow("msp", "rp", answers="vanilla", note="what pairs do to the confidence alone"),
    "k_plus_1": NetRow("k_plus_1", "k_plus_1"),
    "branched": NetRow("branched", "branched"),
    "multi_branched": NetRow("multi_branched", "multi_branched"),
    "separated": NetRow("separated", beside=("separated",)),
    "caption_match": NetRow("caption_match", beside=("caption_match",)),
    "own_msp": NetRow("msp", "own_vanilla", note="regions of a tower that never saw the CLIP"),
    "own_rp": NetRow("msp", "own_rp", note="regions of a tower that never saw the CLIP"),
    "blind_net": NetRow("msp", "blind", reference=True, note="sees no picture"),
    "true_regions": NetRow("msp", "true_regions", reference=True, note="sees the truth's regions"),
}


def said_of_row(row: NetRow, seen: Mapping[str, Seen], given: Given | None = None) -> Said:
    """What a row says to n questions.

    Args:
        seen: what each of the row's nets saw of them, by its name.
        given: what else its detector needs; its own `seen` and `partners` do not count.

    Raises:
        ValueError: something that the detector needs is not there.
    """
    heads = {name: seen[name].logits[:, 0] for name in row.beside if name in ONE_OUTPUT}
    own = seen[row.net]._replace(extra={**seen[row.net].extra, **heads})
    partners = tuple(seen[name] for name in row.beside if name not in ONE_OUTPUT)
    given = Given(own) if given is None else given._replace(seen=own)
    found = said(DETECTORS[row.detector], given._replace(partners=partners))
    if row.answers:
        other = seen[row.answers]
        return found._replace(answers=[other.answers[place] for place in other.logits.argmax(axis=1)])
    return found
