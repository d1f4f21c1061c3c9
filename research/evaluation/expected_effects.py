"""The findings of the papers as differences with an expected direction, and the rule that tests them on our
results.

An effect is confirmed if the whole 95 % interval of the paired difference is on the expected side: above 0,
below 0, or (if the paper reports no effect) within a margin around 0. The rule is fixed in advance and needs
no human decision.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, NamedTuple

from pipeline.scoring.leaderboard.row_scores import MEAN
from research.evaluation.published_scores import (
    RELIABLE_VQA_TABLE,
    RGQA_TABLE,
    ScoreKey,
    load_published_scores,
)

Alternative = Literal["greater", "less", "equivalent", "non-inferior"]
Outcome = Literal["confirmed", "inconclusive", "contradicted", "not testable"]
# The smallest difference that RGQA calls a gain: Ens minus Mix for LXMERT, 53.52 - 53.27 (Table 5).
MIN_GAIN = 0.0025
SUBSETS = ("clip-easy", "clip-hard", "pt-easy", "pt-hard")
# Scope of scores on the answerable questions of all subsets.
ALL_AQS = "all AQs"
ROW_TITLES = {
    "frcnn": "FRCNN",
    "msp": "MSP",
    "odin": "ODIN",
    "odin_rounded": "ODIN with 4 decimals",
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
    "text_only_net": "the text-only net",
    "maxprob": "MaxProb",
    "vector_scaling": "Calibration",
    "selector": "Selector",
}
SCORE_TITLES = {
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
FRCNN_LIMITATION = (
    "the sample's questions name 62 kinds of objects, the region head knows exactly these and finds 89 % of them "
    "(data/sample/vqa/MODEL_CARD.md). The paper's detector has 1,600 noisy classes, and names of two words never match in its code"
)
RESAMPLE_BUG_NOTE = (
    "In the authors' code BUTD's Resample is trained on answerable questions only, as two gradients cancel."
)


class ExpectedEffect(NamedTuple):
    """An effect that a paper reports.

    Attributes:
        group: Heading in the table.
        claim: What the paper states.
        source: Table, figure or section.
        terms: (row, scope, score) -> factor of the score. The effect is tested on the sum of the scores times
            their factors.
        alternative: Expected value of the sum: `greater` or `less` than 0, `equivalent` to 0 (within the
            margin), or `non-inferior` (at most the margin below 0).
        published_table: Table with the numbers of the paper, "" if the paper gives no numbers.
        offset: Number that is added to the sum.
        margin: Margin of equivalence or non-inferiority, as a fraction. None means the largest difference
            among the numbers of the paper, but at least `MIN_GAIN`.
        note: Further information.
        limitation: Why our networks cannot show the effect on the sample; "" if they can.
    """

    group: str
    claim: str
    source: str
    terms: Mapping[ScoreKey, float]
    alternative: Alternative
    published_table: str = RGQA_TABLE
    offset: float = 0.0
    margin: float | None = None
    note: str = ""
    limitation: str = ""

    @property
    def row_names(self) -> list[str]:
        """Return the names of the rows that the effect needs."""
        return [*dict.fromkeys(row for row, _, _ in self.terms)]

    @property
    def published_differences(self) -> dict[str, float]:
        """Return network -> difference according to the numbers of the paper."""
        if not self.published_table:
            return {}
        return {
            net: sum(factor * scores[cell] for cell, factor in self.terms.items()) + self.offset
            for net, scores in load_published_scores(self.published_table).items()
        }

    @property
    def effective_margin(self) -> float:
        """Return the margin; 0 for an alternative without a margin."""
        if self.alternative in ("greater", "less"):
            return 0.0
        if self.margin is not None:
            return self.margin
        sign = -1 if self.alternative == "non-inferior" else 1
        return max(
            MIN_GAIN, *(max(sign * one, abs(one) * (sign > 0)) for one in self.published_differences.values())
        )


def classify_difference(alternative: Alternative, margin: float, low: float, high: float) -> Outcome:
    """Return the outcome of a test from the interval of a difference.

    Args:
        alternative: Expected value of the difference.
        margin: Margin of equivalence or non-inferiority.
        low, high: Interval of the difference. If it is undefined (NaN), the outcome is inconclusive.

    >>> classify_difference("greater", 0, 0.01, 0.03), classify_difference("greater", 0, -0.01, 0.03)
    ('confirmed', 'inconclusive')
    >>> classify_difference("equivalent", 0.01, 0.02, 0.03)
    'contradicted'
    """
    if math.isnan(low + high):
        return "inconclusive"
    bounds: dict[Alternative, tuple[float, float]] = {
        "greater": (0, math.inf),
        "less": (-math.inf, 0),
        "equivalent": (-margin, margin),
        "non-inferior": (-margin, math.inf),
    }
    least, most = bounds[alternative]
    if least < low and high < most:
        return "confirmed"
    return "contradicted" if high < least or low > most else "inconclusive"


def _compare_rows(
    group: str,
    one: str,
    alternative: Alternative,
    other: str,
    scope: str = MEAN,
    score: str = "auaf",
    source: str = "Table 5",
    published_table: str = RGQA_TABLE,
    note: str = "",
    limitation: str = "",
) -> ExpectedEffect:
    """Return the effect that a score of row `one` is greater than, less than or equivalent to the score of
    row `other`.
    """
    words = {"greater": "above", "less": "below", "equivalent": "like", "non-inferior": "not below"}
    claim = f"{ROW_TITLES[one]} {words[alternative]} {ROW_TITLES[other]}: {SCORE_TITLES[score]}, {scope}"
    terms = {(one, scope, score): 1.0, (other, scope, score): -1.0}
    return ExpectedEffect(
        group, claim, source, terms, alternative, published_table, note=note, limitation=limitation
    )


def _compare_subsets(
    row: str, alternative: Alternative, one: str, other: str, source: str = "Table 5"
) -> ExpectedEffect:
    """Return the effect that AUAF of a row on subset `one` is greater or less than on subset `other`, or
    equivalent.
    """
    words = {"greater": "above", "less": "below", "equivalent": "like"}
    claim = f"{ROW_TITLES[row]}: AUAF on {one} {words[alternative]} that on {other}"
    return ExpectedEffect(
        SUBSET_EFFECTS, claim, source, {(row, one, "auaf"): 1.0, (row, other, "auaf"): -1.0}, alternative
    )


def _compare_uq_costs(row: str, hard: str, easy: str) -> ExpectedEffect:
    """Return the effect that a row loses more to UQs on a hard subset than on an easy one.

    The loss is FACC minus AUAF, because AUAF would equal FACC if every UQ were rejected first.
    """
    terms = {
        (row, hard, "facc"): 1.0,
        (row, hard, "auaf"): -1.0,
        (row, easy, "facc"): -1.0,
        (row, easy, "auaf"): 1.0,
    }
    claim = f"{ROW_TITLES[row]} loses more to UQs (FACC minus AUAF) on {hard} than on {easy}"
    return ExpectedEffect(SUBSET_EFFECTS, claim, "Table H1, section 5.4", terms, "greater")


def _compare_leads(row: str, other: str) -> ExpectedEffect:
    """Return the effect that `row` is as far ahead of `other` on CLIP subsets as on PT (perturbed) subsets.

    `row` is a network on CLIP features, `other` is the same network with an image tower that is independent
    of CLIP.
    """
    terms = {
        (name, subset, "auaf"): 0.5 * sign * (1 if subset.startswith("clip") else -1)
        for name, sign in ((row, 1), (other, -1))
        for subset in SUBSETS
    }
    claim = f"{ROW_TITLES[row]} is as far ahead of {ROW_TITLES[other]} on CLIP subsets as on PT subsets: AUAF"
    return ExpectedEffect(
        WITHOUT_SELECTION_CLIP, claim, OWN_HYPOTHESIS, terms, "equivalent", "", margin=0.01, note=LEAD_NOTE
    )


def _expect_value(
    claim: str, key: ScoreKey, value: float, margin: float, source: str, note: str
) -> ExpectedEffect:
    """Return the effect that a score has a certain value."""
    return ExpectedEffect(SANITY_CHECKS, claim, source, {key: 1.0}, "equivalent", "", -value, margin, note)


POST_HOC, TRAINED_METHODS, ARCHITECTURES = "Post-hoc methods", "Training with pseudo UQs", "Architectures"
SUBSET_EFFECTS, SELECTIVE_ANSWERING, SANITY_CHECKS = "Subsets", "Selective prediction", "Sanity checks"
WITHOUT_SELECTION_CLIP, OWN_HYPOTHESIS = "Without the CLIP that selected the candidates", "our own hypothesis"
LEAD_NOTE = "Networks on CLIP features know what selected the CLIP subsets. The margin is a tenth of the gain of the paper's RP over MSP."
FIGURE_7_SOURCE = {
    "source": "Fig. 7, section 5.2.1",
    "published_table": "",
    "note": "The paper has a figure without numbers.",
}
RELIABLE_VQA_SOURCE = {
    "source": "Whitehead et al., Tables 1 and 2",
    "published_table": RELIABLE_VQA_TABLE,
}
SELECTIVE_SCORE_ALTERNATIVES: tuple[tuple[str, Alternative], ...] = (
    ("coverage_at_risk/0.01", "greater"),
    ("coverage_at_risk/0.05", "greater"),
    ("auc", "less"),
    ("effective_reliability/10", "greater"),
    ("effective_reliability/100", "greater"),
)
EXPECTED_EFFECTS = (
    *(_compare_rows(TRAINED_METHODS, "rp", "greater", "msp", place) for place in (MEAN, *SUBSETS)),
    _compare_rows(TRAINED_METHODS, "rp", "less", "msp", score="ff95", source="Table H1"),
    _compare_rows(TRAINED_METHODS, "rp", "non-inferior", "msp", score="facc", source="Table H1"),
    _compare_rows(TRAINED_METHODS, "mix", "greater", "rp"),
    _compare_rows(TRAINED_METHODS, "ens", "greater", "mix"),
    _compare_rows(TRAINED_METHODS, "caption_match", "greater", "msp"),
    _compare_rows(TRAINED_METHODS, "caption_match", "less", "msp", "pt-hard"),
    _compare_rows(TRAINED_METHODS, "caption_match", "less", "rp"),
    _compare_rows(TRAINED_METHODS, "resample", "greater", "msp", note=RESAMPLE_BUG_NOTE),
    _compare_rows(TRAINED_METHODS, "resample", "less", "rp", note=RESAMPLE_BUG_NOTE),
    _compare_rows(TRAINED_METHODS, "rp_hard", "greater", "msp"),
    *(_compare_rows(TRAINED_METHODS, "rp_hard", "less", "rp", place) for place in ("clip-easy", "pt-easy")),
    *(
        _compare_rows(TRAINED_METHODS, "rp_hard", "equivalent", "rp", place, source="Table 5, appendix B")
        for place in ("clip-hard", "pt-hard")
    ),
    _compare_rows(POST_HOC, "odin", "equivalent", "msp"),
    _compare_rows(POST_HOC, "energy_top2", "equivalent", "msp"),
    _compare_rows(POST_HOC, "energy_top2", "greater", "energy_all", source="Section 5.1", published_table=""),
    _compare_rows(POST_HOC, "mahalanobis_own", "less", "msp", note="LXMERT shows the opposite."),
    _compare_rows(POST_HOC, "frcnn", "less", "msp", limitation=FRCNN_LIMITATION),
    *(
        _compare_rows(ARCHITECTURES, "rp", "greater", other, **FIGURE_7_SOURCE)
        for other in ("separated", "branched", "multi_branched", "k_plus_1")
    ),
    *(
        _compare_rows(ARCHITECTURES, "separated", "greater", other, **FIGURE_7_SOURCE)
        for other in ("branched", "multi_branched", "k_plus_1")
    ),
    _compare_subsets("msp", "equivalent", "clip-easy", "clip-hard", "Table 5, section 5.2.3"),
    _compare_subsets("msp", "greater", "pt-easy", "pt-hard"),
    _compare_subsets("rp", "greater", "clip-easy", "pt-easy"),
    _compare_subsets("rp", "greater", "pt-easy", "clip-hard"),
    _compare_subsets("rp", "greater", "pt-easy", "pt-hard"),
    _compare_uq_costs("ens", "clip-hard", "clip-easy"),
    _compare_uq_costs("ens", "pt-hard", "pt-easy"),
    *(
        _compare_rows(SELECTIVE_ANSWERING, one, alternative, other, ALL_AQS, score, **RELIABLE_VQA_SOURCE)
        for score, alternative in SELECTIVE_SCORE_ALTERNATIVES
        for one, other in (("selector", "vector_scaling"), ("vector_scaling", "maxprob"))
    ),
    *(
        _compare_rows(
            WITHOUT_SELECTION_CLIP,
            "own_rp",
            "greater",
            "own_msp",
            place,
            source=OWN_HYPOTHESIS,
            published_table="",
        )
        for place in (MEAN, *SUBSETS)
    ),
    _compare_leads("msp", "own_msp"),
    _compare_leads("rp", "own_rp"),
    _expect_value(
        "The text-only net does not separate AQs and UQs: AUROC 50",
        ("text_only_net", MEAN, "auroc"),
        *(0.5, 0.05, "Section 3.2"),
        "The margin is the audit's limit for text attackers on the CLIP subsets.",
    ),
    *(
        _expect_value(
            f"ODIN's confidences with 4 decimals are all equal: {SCORE_TITLES[score]} {100 * value:g}",
            ("odin_rounded", MEAN, score),
            *(value, 0.0005, "RGQA's code (commit 737af30)"),
            "At temperature 100,000 the sigmoid of every logit between -20 and 20 is 0.5000; the temperature alone changes no order. No number of the paper is computed like this.",
        )
        for score, value in (("auroc", 0.5), ("ff95", 0.95))
    ),
)
