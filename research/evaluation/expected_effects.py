"""What the papers found, each as a difference that has a sign: the table of directions, and the rule that judges ours.

A direction is shown when the whole 95 % interval of our paired difference lies on the paper's side: above 0, below 0, or within
the margin of a difference that the paper takes for none. Nobody judges by hand.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, NamedTuple

from pipeline.scoring.leaderboard.row_scores import MEAN
from research.evaluation.published_scores import RELIABLE, RGQA, Cell, figures

Side = Literal["above", "below", "alike", "unharmed"]
Verdict = Literal["shown", "not shown", "opposite shown", "cannot show here"]
GAIN = 0.0025  # the smallest step that RGQA counts as a gain: Ens over Mix, LXMERT, 53.52 - 53.27 (Table 5)
SUBSETS = ("clip-easy", "clip-hard", "pt-easy", "pt-hard")
AQS = "aqs"  # the place of scores of answerable questions alone, over all subsets
ROWS = {
    "frcnn": "FRCNN",
    "msp": "MSP",
    "odin": "ODIN",
    "odin_rounded": "ODIN of 4 decimals",
    "mahalanobis_own": "Maha",
    "energy_top2": "Energy",
    "energy_all": "Energy of all classes",
    "caption_match": "Q-C",
    "resample": "Resample",
    "rp_hard": "RP of hard UQs",
    "rp": "RP",
    "mix": "Mix",
    "ens": "Ens",
    "separated": "Separated",
    "branched": "Branched",
    "multi_branched": "Multi-branched",
    "k_plus_1": "K+1",
    "own_msp": "MSP without the CLIP",
    "own_rp": "RP without the CLIP",
    "blind_net": "the blind net",
    "maxprob": "MaxProb",
    "vector_scaling": "Calibration",
    "selector": "Selector",
}
SCORES = {
    "auaf": "AUAF",
    "ff95": "FF95",
    "facc": "FACC",
    "auroc": "AUROC",
    "auc": "risk-coverage AUC",
    "coverage_at_risk/0.01": "C@1 %",
    "coverage_at_risk/0.05": "C@5 %",
    "effective_reliability/10": "Phi 10",
    "effective_reliability/100": "Phi 100",
}
FRCNN_HERE = (
    "the sample's questions name 62 kinds, the region head knows just these and finds 89 % of them "
    "(data/sample/vqa/MODEL_CARD.md); the paper's detector has 1,600 noisy classes, and names of two words never match in its code"
)
BUG = "In the authors' code BUTD's Resample learns from answerable questions alone: two gradients cancel."


class Direction(NamedTuple):
    """A direction.

    Attributes:
        group: under which it stands. claim: what the paper says. source: where.
        cells: what is added up, with its factor. shift: what is added to that.
        side: of the difference: above 0, below 0, alike (none, within the margin), unharmed (no more than the margin below 0).
        paper: the table that has the paper's figures, "" where it gives none.
        margin: None for the largest difference among the paper's own, GAIN at least.
        note: what else is to be known. cannot: why our own nets cannot show it on the sample, "" where they can.
    """

    group: str
    claim: str
    source: str
    cells: Mapping[Cell, float]
    side: Side
    paper: str = RGQA
    shift: float = 0.0
    margin: float | None = None
    note: str = ""
    cannot: str = ""

    @property
    def rows(self) -> list[str]:
        """That it needs, each once."""
        return [*dict.fromkeys(row for row, _, _ in self.cells)]

    @property
    def papers(self) -> dict[str, float]:
        """The paper's own difference, by net."""
        if not self.paper:
            return {}
        return {
            net: sum(by * of[cell] for cell, by in self.cells.items()) + self.shift
            for net, of in figures(self.paper).items()
        }

    @property
    def within(self) -> float:
        """The margin, 0 where the side has none."""
        if self.side in ("above", "below"):
            return 0.0
        if self.margin is not None:
            return self.margin
        sign = -1 if self.side == "unharmed" else 1
        return max(GAIN, *(max(sign * one, abs(one) * (sign > 0)) for one in self.papers.values()))


def judge(side: Side, margin: float, low: float, high: float) -> Verdict:
    """By the interval of a difference, [low, high]; an undefined one shows nothing.

    >>> judge("above", 0, 0.01, 0.03), judge("above", 0, -0.01, 0.03), judge("alike", 0.01, 0.02, 0.03)
    ('shown', 'not shown', 'opposite shown')
    """
    if math.isnan(low + high):
        return "not shown"
    bounds: dict[Side, tuple[float, float]] = {
        "above": (0, math.inf),
        "below": (-math.inf, 0),
        "alike": (-margin, margin),
        "unharmed": (-margin, math.inf),
    }
    least, most = bounds[side]
    if least < low and high < most:
        return "shown"
    return "opposite shown" if high < least or low > most else "not shown"


def _pair(
    group: str,
    one: str,
    side: Side,
    other: str,
    place: str = MEAN,
    score: str = "auaf",
    source: str = "Table 5",
    paper: str = RGQA,
    note: str = "",
    cannot: str = "",
) -> Direction:
    """A row against another."""
    words = {"above": "above", "below": "below", "alike": "like", "unharmed": "not below"}
    claim = f"{ROWS[one]} {words[side]} {ROWS[other]}: {SCORES[score]}, {place}"
    cells = {(one, place, score): 1.0, (other, place, score): -1.0}
    return Direction(group, claim, source, cells, side, paper, note=note, cannot=cannot)


def _within_row(row: str, side: Side, one: str, other: str, source: str = "Table 5") -> Direction:
    """A row on a subset against itself on another."""
    words = {"above": "above", "below": "below", "alike": "like"}
    claim = f"{ROWS[row]}: AUAF on {one} {words[side]} that on {other}"
    return Direction(SETS, claim, source, {(row, one, "auaf"): 1.0, (row, other, "auaf"): -1.0}, side)


def _loss(row: str, hard: str, easy: str) -> Direction:
    """What UQs cost: FACC is what AUAF would be if every UQ were rejected first."""
    cells = {
        (row, hard, "facc"): 1.0,
        (row, hard, "auaf"): -1.0,
        (row, easy, "facc"): -1.0,
        (row, easy, "auaf"): 1.0,
    }
    claim = f"{ROWS[row]} loses more to UQs (FACC minus AUAF) on {hard} than on {easy}"
    return Direction(SETS, claim, "Table H1, section 5.4", cells, "above")


def _lead(row: str, other: str) -> Direction:
    """How far a net on the CLIP's maps is ahead of the same on those of a tower of its own: CLIP subsets against PT subsets."""
    cells = {
        (name, place, "auaf"): 0.5 * side * (1 if place.startswith("clip") else -1)
        for name, side in ((row, 1), (other, -1))
        for place in SUBSETS
    }
    claim = f"{ROWS[row]} is as far ahead of {ROWS[other]} on CLIP subsets as on PT subsets: AUAF"
    return Direction(TOWER, claim, OURS, cells, "alike", "", margin=0.01, note=LEAD)


def _fixed(claim: str, cell: Cell, value: float, margin: float, source: str, note: str) -> Direction:
    """A score that has to be a certain number."""
    return Direction(CHECKS, claim, source, {cell: 1.0}, "alike", "", -value, margin, note)


POST_HOC, TRAINED, SHAPES = "Post-hoc methods", "Training with pseudo UQs", "Shapes of a net"
SETS, SELECTION, CHECKS = "Subsets", "Selective answering", "Checks"
TOWER, OURS = "Without the CLIP that chose the candidates", "ours, no paper's"
LEAD = "On the CLIP's maps, nets know what chose the CLIP subsets. The margin is a tenth of what the paper's RP gains over MSP."
FIG7 = {"source": "Fig. 7, section 5.2.1", "paper": "", "note": "The paper shows a picture, no figures."}
CHOOSING = {"source": "Whitehead et al., Tables 1 and 2", "paper": RELIABLE}
LOW_RISK: tuple[tuple[str, Side], ...] = (
    ("coverage_at_risk/0.01", "above"),
    ("coverage_at_risk/0.05", "above"),
    ("auc", "below"),
    ("effective_reliability/10", "above"),
    ("effective_reliability/100", "above"),
)
DIRECTIONS = (
    *(_pair(TRAINED, "rp", "above", "msp", place) for place in (MEAN, *SUBSETS)),
    _pair(TRAINED, "rp", "below", "msp", score="ff95", source="Table H1"),
    _pair(TRAINED, "rp", "unharmed", "msp", score="facc", source="Table H1"),
    _pair(TRAINED, "mix", "above", "rp"),
    _pair(TRAINED, "ens", "above", "mix"),
    _pair(TRAINED, "caption_match", "above", "msp"),
    _pair(TRAINED, "caption_match", "below", "msp", "pt-hard"),
    _pair(TRAINED, "caption_match", "below", "rp"),
    _pair(TRAINED, "resample", "above", "msp", note=BUG),
    _pair(TRAINED, "resample", "below", "rp", note=BUG),
    _pair(TRAINED, "rp_hard", "above", "msp"),
    *(_pair(TRAINED, "rp_hard", "below", "rp", place) for place in ("clip-easy", "pt-easy")),
    *(
        _pair(TRAINED, "rp_hard", "alike", "rp", place, source="Table 5, appendix B")
        for place in ("clip-hard", "pt-hard")
    ),
    _pair(POST_HOC, "odin", "alike", "msp"),
    _pair(POST_HOC, "energy_top2", "alike", "msp"),
    _pair(POST_HOC, "energy_top2", "above", "energy_all", source="Section 5.1", paper=""),
    _pair(POST_HOC, "mahalanobis_own", "below", "msp", note="LXMERT shows the opposite."),
    _pair(POST_HOC, "frcnn", "below", "msp", cannot=FRCNN_HERE),
    *(
        _pair(SHAPES, "rp", "above", other, **FIG7)
        for other in ("separated", "branched", "multi_branched", "k_plus_1")
    ),
    *(
        _pair(SHAPES, "separated", "above", other, **FIG7)
        for other in ("branched", "multi_branched", "k_plus_1")
    ),
    _within_row("msp", "alike", "clip-easy", "clip-hard", "Table 5, section 5.2.3"),
    _within_row("msp", "above", "pt-easy", "pt-hard"),
    _within_row("rp", "above", "clip-easy", "pt-easy"),
    _within_row("rp", "above", "pt-easy", "clip-hard"),
    _within_row("rp", "above", "pt-easy", "pt-hard"),
    _loss("ens", "clip-hard", "clip-easy"),
    _loss("ens", "pt-hard", "pt-easy"),
    *(
        _pair(SELECTION, one, side, other, AQS, score, **CHOOSING)
        for score, side in LOW_RISK
        for one, other in (("selector", "vector_scaling"), ("vector_scaling", "maxprob"))
    ),
    *(_pair(TOWER, "own_rp", "above", "own_msp", place, source=OURS, paper="") for place in (MEAN, *SUBSETS)),
    _lead("msp", "own_msp"),
    _lead("rp", "own_rp"),
    _fixed(
        "The blind net tells nothing apart: AUROC 50",
        ("blind_net", MEAN, "auroc"),
        *(0.5, 0.05, "Section 3.2"),
        "The margin is the audit's limit for attacks by words on the CLIP subsets.",
    ),
    *(
        _fixed(
            f"ODIN's confidences of 4 decimals are all alike: {SCORES[score]} {100 * value:g}",
            ("odin_rounded", MEAN, score),
            *(value, 0.0005, "RGQA's code (commit 737af30)"),
            "At temperature 100,000 the sigmoid of every logit between -20 and 20 is 0.5000; the temperature alone changes no order. No figure of the paper is made so.",
        )
        for score, value in (("auroc", 0.5), ("ff95", 0.95))
    ),
)
