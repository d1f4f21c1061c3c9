"""Expected effects and the report of those found."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from pipeline.scoring.joined_predictions import ScoringOptions
from pipeline.scoring.leaderboard.pairwise_comparison import ScoreEstimate
from pipeline.scoring.leaderboard.row_scores import score_rows
from research.evaluation.effect_report import (
    compute_difference,
    evaluate_effects,
    make_effect_records,
    render_effects_markdown,
)
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

RP = next(one for one in EXPECTED_EFFECTS if one.claim == "RP above MSP: AUAF, mean")
MIX = next(one for one in EXPECTED_EFFECTS if one.claim == "Mix above RP: AUAF, mean")
FRCNN = next(one for one in EXPECTED_EFFECTS if one.limitation)


@pytest.fixture(scope="module")
def scored(benchmark, row):
    """RP is better than MSP beyond doubt, Mix is RP again with another lot, FRCNN better than MSP, too."""
    rows = [
        row("msp", 0.3, (1, 2, 3)),
        row("rp", 2.0, (1, 2, 3)),
        row("mix", 2.0, (4, 5, 6)),
        row("frcnn", 2.0, (1,)),
    ]
    return score_rows(benchmark, rows, ScoringOptions(bootstrap=200, seed=7))


def mine(scored, name, is_built_in=True):
    """One of the rows, said to be of stage answer."""
    one = next(one for one in scored if one.row.name == name)
    return one._replace(row=one.row._replace(is_built_in=is_built_in))


def test_differences_are_paired_and_of_the_mean_of_seeds(scored):
    (found,) = evaluate_effects(scored, effects=[RP])
    msp, rp = (mine(scored, name).scores["mean"]["auaf"] for name in ("msp", "rp"))
    assert found.outcome == "confirmed" and found.difference
    np.testing.assert_allclose(found.difference.replicates, rp.replicates - msp.replicates)
    np.testing.assert_allclose(found.difference.seed_values, rp.seed_values - msp.seed_values)
    # Scored on the same draws, they move together: unpaired draws would have wider an interval.
    low, high = found.difference.interval
    shuffled = np.random.default_rng(0).permutation(rp.replicates) - msp.replicates
    assert high - low < np.quantile(shuffled, 0.975) - np.quantile(shuffled, 0.025)


def test_a_gain_by_chance_is_inconclusive(scored):
    (found,) = evaluate_effects(scored, effects=[MIX])
    assert found.difference and found.difference.value != 0 and found.outcome == "inconclusive"


def test_rows_of_other_numbers_of_seeds_have_the_mean_alone(scored):
    cells = {(one.row.name, "mean", "auaf"): one.scores["mean"]["auaf"] for one in scored}
    found = compute_difference(FRCNN, cells)
    assert found.seed_values.tolist() == pytest.approx(
        [cells["frcnn", "mean", "auaf"].value - cells["msp", "mean", "auaf"].value]
    )


def test_limitations_only_apply_to_built_in_rows(scored):
    ours = evaluate_effects([mine(scored, "msp"), mine(scored, "frcnn")], effects=[FRCNN])[0]
    assert ours.outcome == "not testable" and "62 kinds" in ours.reason and ours.difference
    theirs = evaluate_effects(scored, effects=[FRCNN])[0]
    assert theirs.outcome == "contradicted" and not theirs.reason


def test_a_missing_row_is_named(scored):
    found = evaluate_effects([mine(scored, "msp")], effects=[RP])[0]
    assert (found.outcome, found.reason, found.difference) == ("not testable", "there is no row rp", None)
    assert all(one.outcome == "not testable" for one in evaluate_effects([]))


def test_extra_scores_are_found_by_row_scope_and_score(scored):
    one = next(one for one in EXPECTED_EFFECTS if one.claim.startswith("Selector above Calibration: C@1 %"))
    drawn = np.linspace(-0.01, 0.01, 101)
    extra = {
        (row, "all AQs", "coverage_at_risk/0.01"): ScoreEstimate(np.array([value]), value + drawn * sign)
        for row, value, sign in (("selector", 0.5, 1), ("vector_scaling", 0.4, -1))
    }
    assert evaluate_effects(scored, extra, [one])[0].outcome == "confirmed"
    there = evaluate_effects(
        scored, {key: value for key, value in extra.items() if key[0] == "selector"}, [one]
    )[0]
    assert there.reason == "there is no row vector_scaling"


def test_the_table_has_every_effect_its_outcome_and_escaped_text(scored):
    found = evaluate_effects([mine(scored, name) for name in ("msp", "rp", "mix", "frcnn")])
    text = render_effects_markdown(found, "B <1>")
    assert "B &lt;1&gt;" in text
    lines = [line for line in text.splitlines() if line.startswith("| ") and "---" not in line]
    assert len(lines) == len(EXPECTED_EFFECTS) + len(
        {one.group for one in EXPECTED_EFFECTS}
    )  # and a head for each group
    assert len({line.count("|") for line in lines}) == 1
    rp = next(line for line in lines if "RP above MSP: AUAF, mean" in line)
    assert "BUTD +10.52, UNITER +11.33, LXMERT +10.05" in rp and "**confirmed**" in rp and " to +" in rp
    shown = sum("**confirmed**" in line for line in lines)
    assert f"{shown} *confirmed*, " in text


def test_rows_for_programs_have_numbers_or_null(scored):
    rows = make_effect_records(evaluate_effects([mine(scored, "msp"), mine(scored, "rp")]))
    assert len(rows) == len(EXPECTED_EFFECTS)
    rp = rows[0]
    assert rp["outcome"] == "confirmed" and 0 < rp["ci_low"] < rp["difference"] < rp["ci_high"]
    assert rp["seed_min"] <= rp["difference"] <= rp["seed_max"]
    mix = next(row for row in rows if row["effect"] == MIX.claim)
    assert mix["difference"] is None and mix["reason"] == "there is no row mix"


def test_a_fixed_value_is_taken_off():
    one = ExpectedEffect("", "", "", {("m", "mean", "auroc"): 1.0}, "equivalent", "", -0.5, 0.05)
    cells = {("m", "mean", "auroc"): ScoreEstimate(np.array([0.52, 0.54]), np.full(9, 0.53))}
    found = compute_difference(one, cells)
    assert found.value == pytest.approx(0.03) and found.seed_values.tolist() == pytest.approx([0.02, 0.04])


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
        ("equivalent", -0.10, 0.10, "inconclusive"),  # nothing is known: no proof of equality
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
