import json
import math
from pathlib import Path

import pytest

from research.evaluation.expected_effects import (
    EXPECTED_EFFECTS,
    FRCNN_LIMITATION,
    MIN_GAIN,
    ROW_TITLES,
    ExpectedEffect,
    classify_difference,
)
from research.evaluation.published_scores import RGQA_TABLE, load_published_scores
from research.reference_models.leaderboard_rows import LEADERBOARD_ROWS

VQA = Path("data/sample/vqa/training.json")


def of(claim):
    return next(one for one in EXPECTED_EFFECTS if one.claim == claim)


@pytest.mark.parametrize(
    ("side", "low", "high", "verdict"),
    [
        ("greater", 0.01, 0.03, "confirmed"),
        ("greater", -0.01, 0.30, "inconclusive"),  # however far its point estimate lies above 0
        ("greater", 0.0, 0.30, "inconclusive"),
        ("greater", -0.03, -0.01, "contradicted"),
        ("less", -0.03, -0.01, "confirmed"),
        ("less", -0.30, 0.01, "inconclusive"),
        ("less", 0.01, 0.03, "contradicted"),
        ("equivalent", -0.019, 0.019, "confirmed"),
        ("equivalent", -0.019, 0.021, "inconclusive"),
        ("equivalent", -0.10, 0.10, "inconclusive"),  # nothing is known: no proof that there is no difference
        ("equivalent", 0.021, 0.03, "contradicted"),
        ("equivalent", -0.03, -0.021, "contradicted"),
        ("non-inferior", -0.019, 0.30, "confirmed"),
        ("non-inferior", -0.021, 0.30, "inconclusive"),
        ("non-inferior", -0.30, -0.021, "contradicted"),
        ("greater", math.nan, math.nan, "inconclusive"),
    ],
)
def test_a_verdict_follows_from_the_whole_interval(side, low, high, verdict):
    assert classify_difference(side, 0.02, low, high) == verdict


def test_the_papers_own_differences_are_those_of_its_tables():
    """Table 5: RP minus MSP, 47.02 - 36.50, 50.35 - 39.01, 52.65 - 42.60; Ens over Mix of LXMERT, 53.52 - 53.27."""
    rp = of("RP above MSP: AUAF, mean").published_differences
    assert [100 * one for one in rp.values()] == pytest.approx([10.52, 11.34, 10.05], abs=0.015)
    assert of("Ens above Mix: AUAF, mean").published_differences["LXMERT"] == pytest.approx(
        MIN_GAIN, abs=1e-4
    )
    smallest = min(
        one
        for claim in ("Mix above RP", "Ens above Mix")
        for one in of(f"{claim}: AUAF, mean").published_differences.values()
    )
    assert smallest == pytest.approx(MIN_GAIN, abs=1e-4)


def test_a_margin_is_the_papers_largest_difference_and_gain_at_least():
    """Energy: LXMERT 41.44 - 42.60 = -1.16. ODIN: 0.01 at most. FACC under RP: LXMERT -0.15, others gain."""
    assert 100 * of("Energy like MSP: AUAF, mean").effective_margin == pytest.approx(1.16, abs=0.005)
    assert of("ODIN like MSP: AUAF, mean").effective_margin == MIN_GAIN
    assert of("RP not below MSP: FACC, mean").effective_margin == MIN_GAIN
    assert of("RP above MSP: AUAF, mean").effective_margin == 0
    lost = ExpectedEffect("", "", "", {("maha", "", ""): 1.0}, "non-inferior", "", margin=0.01)
    assert lost.effective_margin == 0.01


def test_the_published_differences_confirm_the_claims():
    """In the mean over its nets. Claims that single nets contradict say so: Maha, and Calibration's Phi 100 (Pythia)."""
    for one in EXPECTED_EFFECTS:
        if not one.published_differences:
            continue
        mean = sum(one.published_differences.values()) / len(one.published_differences)
        assert classify_difference(one.alternative, one.effective_margin + 1e-9, mean, mean) == "confirmed", (
            one.claim
        )
    assert (
        load_published_scores(RGQA_TABLE)["LXMERT"]["mahalanobis_own", "mean", "auaf"]
        > load_published_scores(RGQA_TABLE)["LXMERT"]["msp", "mean", "auaf"]
    )


def test_effects_name_rows_that_stage_answer_writes_and_are_unique():
    assert set(ROW_TITLES) <= set(LEADERBOARD_ROWS)
    claims = [one.claim for one in EXPECTED_EFFECTS]
    assert len(set(claims)) == len(claims)
    assert {row for one in EXPECTED_EFFECTS for row in one.row_names} == set(ROW_TITLES)


def test_a_lead_on_clip_subsets_is_distinguished_from_one_everywhere():
    lead = of("RP is as far ahead of RP without the CLIP on CLIP subsets as on PT subsets: AUAF")

    def comes_to(clip, pt):
        """With leads of so much over 0.3 on each subset."""
        ahead = {"clip-easy": clip[0], "clip-hard": clip[1], "pt-easy": pt[0], "pt-hard": pt[1]}
        auaf = {("own_rp", place): 0.3 for place in ahead} | {("rp", p): 0.3 + by for p, by in ahead.items()}
        return sum(by * auaf[row, place] for (row, place, _), by in lead.terms.items())

    assert comes_to((0.08, 0.12), (0.08, 0.12)) == pytest.approx(0)
    # 0.10 ahead on CLIP subsets and 0.04 on PT subsets: 0.06
    assert comes_to((0.08, 0.12), (0.03, 0.05)) == pytest.approx(0.06)
    assert lead.effective_margin == 0.01 and not lead.published_differences


def test_the_reason_for_frcnn_is_what_was_measured_of_the_region_head():
    if not VQA.is_file():
        pytest.skip("no nets here")
    recall = find(json.loads(VQA.read_text()), "recall")
    assert f"finds {100 * recall:.0f} % of them" in FRCNN_LIMITATION


def find(content, key):
    """The first value of a key anywhere."""
    if not isinstance(content, dict):
        return None
    return content.get(key) or next((found for one in content.values() if (found := find(one, key))), None)
