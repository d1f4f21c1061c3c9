"""Intervals of scores of selective answering, and published scores."""

import json
import math

import numpy as np
import pytest

from pipeline.scoring.bootstrap import sample_cluster_counts
from pipeline.scoring.leaderboard.leaderboard import LeaderboardParams
from pipeline.scoring.leaderboard.rows import LeaderboardRow
from pipeline.scoring.leaderboard.selective_table import RowThresholds, find_row_thresholds, read_thresholds
from pipeline.scoring.selective_prediction import coverage_at_risk, effective_reliability, risk_coverage_auc
from research.evaluation.effect_report import evaluate_effects
from research.evaluation.expected_effects import EXPECTED_EFFECTS, SELECTIVE_SCORE_ALTERNATIVES
from research.evaluation.published_scores import RELIABLE_VQA_TABLE, RGQA_TABLE, load_published_scores
from research.evaluation.selective_bootstrap import (
    bootstrap_selective_scores,
    get_cost_thresholds,
    score_selectors,
)


@pytest.mark.parametrize("decimals", [6, 1, -1])  # without ties, with some, all tied
@pytest.mark.parametrize("worth", [1.0, 0.3])
def test_scores_are_those_of_the_scorers_on_repeated_items(decimals, worth):
    random = np.random.default_rng(3)
    image = np.repeat(np.arange(30), 4)
    confidence = random.normal(size=120).round(decimals)
    accuracy = worth * (random.random(120) < 0.5 + 0.4 * (confidence > 0))
    p = LeaderboardParams(num_replicates=100, seed=5)
    found = bootstrap_selective_scores(confidence, accuracy, image, 30, {100.0: 1.5, 10.0: np.inf}, p)
    for number, drawn in enumerate([None, *sample_cluster_counts(30, 100, 5)]):
        again = np.arange(120) if drawn is None else np.repeat(np.arange(120), drawn[image])
        said, right = confidence[again], accuracy[again]
        expected = {
            "auc": risk_coverage_auc(said, right),
            **{f"coverage_at_risk/{risk}": coverage_at_risk(said, right, risk) for risk in (0.01, 0.05)},
            "effective_reliability/100": effective_reliability(said, right, cost=100.0, threshold=1.5),
            "effective_reliability/10": 0,
        }
        own = {
            name: value if drawn is None else repeated[number - 1]
            for name, (value, repeated) in found.items()
        }
        assert own == pytest.approx(expected, abs=1e-12)


def test_scores_are_of_the_three_selector_rows_and_feed_their_effects(benchmark, row):
    rows = [row("selector", seeds=(1, 2)), row("vector_scaling", seeds=(1, 2)), row("maxprob"), row("msp")]
    told = {
        "": RowThresholds(at_risk={}, at_cost={"10": 0.0, "100": 0.5})
    }  # the files' names tell of no seed
    chosen = dict.fromkeys(("selector", "vector_scaling"), told)
    cells = score_selectors(benchmark, rows, chosen, LeaderboardParams(num_replicates=100))
    scores = {name for name, _ in SELECTIVE_SCORE_ALTERNATIVES}
    assert {score for name, _, score in cells if name == "selector"} == scores
    assert {score for name, _, score in cells if name == "maxprob"} == {
        score for score in scores if not score.startswith("effective")
    }
    assert not any(name == "msp" for name, _, _ in cells)
    one = cells["selector", "all AQs", "auc"]
    assert len(one.seed_values) == 2 and one.replicates.shape == (100,)
    claims = [
        one for one in EXPECTED_EFFECTS if one.group == "Selective answering" and "Selector" in one.claim
    ]
    for found in evaluate_effects([], cells, claims):  # the same predictions: nothing differs, on no draw
        assert found.outcome == "inconclusive" and found.difference and found.difference.interval == (0, 0)


def test_rows_that_lack_a_subset_have_no_cells(benchmark, row):
    assert (
        score_selectors(
            benchmark, [row("maxprob", subsets=["pt-hard"])], {}, LeaderboardParams(num_replicates=100)
        )
        == {}
    )


def test_thresholds_are_those_of_each_seed_by_its_files_name(tmp_path, benchmark, said):
    seeds = tuple(dict.fromkeys(benchmark.subsets, said(1.0, 1, f"selector-seed{n}")) for n in (2, 10))
    selector, maxprob = (LeaderboardRow(name, "model", seeds, "") for name in ("selector", "maxprob"))
    told = {
        "selector": {
            "10": {"at_cost": {"100": None}, "at_risk": {}},
            "2": {"at_cost": {"100": 0.5}, "at_risk": {}},
        },
        "maxprob": {"2": {"at_cost": {"100": 0.5}, "at_risk": {}}},
    }
    path = tmp_path / "thresholds.json"
    path.write_text(json.dumps(told))
    chosen = read_thresholds(path)
    assert [get_cost_thresholds(one) for one in find_row_thresholds(selector, chosen)] == [
        {100.0: 0.5},
        {100.0: math.inf},
    ]
    assert find_row_thresholds(maxprob, chosen) == []


def test_means_of_rgqas_rows_are_those_that_its_table_5_prints():
    """Its column Avg., in %, rounded to 2 decimals of sums of 4 rounded numbers (RP w/ hard UQ of BUTD: to one)."""
    printed = {
        "BUTD": {"frcnn": 30.67, "msp": 36.50, "mahalanobis_own": 26.26, "rp_hard": 40.2, "ens": 48.28},
        "UNITER": {"odin": 39.02, "energy_top2": 39.03, "caption_match": 44.08, "rp": 50.35, "mix": 51.05},
        "LXMERT": {"msp": 42.60, "resample": 52.29, "rp": 52.65, "mix": 53.27, "ens": 53.52},
    }
    for net, rows in printed.items():
        for row, mean in rows.items():
            assert 100 * load_published_scores(RGQA_TABLE)[net][row, "mean", "auaf"] == pytest.approx(
                mean, abs=0.011
            )


def test_published_scores_are_fractions_by_row_and_subset():
    """Three cells of Table H1 and two of Whitehead et al.'s Tables 1 and 2."""
    assert [*load_published_scores(RGQA_TABLE)] == ["BUTD", "UNITER", "LXMERT"] and len(
        load_published_scores(RGQA_TABLE)["BUTD"]
    ) == 11 * 5 * 3
    lxmert = load_published_scores(RGQA_TABLE)["LXMERT"]
    assert lxmert["msp", "clip-hard", "ff95"] == pytest.approx(0.7892)
    assert lxmert["rp", "clip-easy", "ff95"] == pytest.approx(0.00527)
    assert lxmert["ens", "pt-hard", "facc"] == pytest.approx(0.5883)
    vil = load_published_scores(RELIABLE_VQA_TABLE)["CLIP-ViL"]
    assert vil["selector", "all AQs", "coverage_at_risk/0.01"] == pytest.approx(0.1634)
    assert vil["maxprob", "all AQs", "effective_reliability/100"] == pytest.approx(0.0285)
