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
from research.evaluation.expected_effects import EXPECTED_EFFECTS, ExpectedEffect

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
