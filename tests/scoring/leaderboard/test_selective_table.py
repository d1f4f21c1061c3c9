"""The table of selection: each AQ counts once, and thresholds are those of val."""

import json
import math

import numpy as np
import pytest

from pipeline.core.errors import UserError
from pipeline.scoring.items import Benchmark, BenchmarkItem, Items
from pipeline.scoring.joined_predictions import Predictions
from pipeline.scoring.leaderboard.rows import LeaderboardRow
from pipeline.scoring.leaderboard.selective_table import (
    RowThresholds,
    compute_selective_scores,
    make_selective_table,
    read_thresholds,
    select_distinct_aqs,
)


def benchmark():
    """Four AQs and a UQ; `b` and `y:b` ask the same of the same image."""
    x = [BenchmarkItem(name, "n1", {"red": 1.0}, question_text=name, split="test") for name in "ab"]
    y = [BenchmarkItem(f"y:{name}", "n1", {"red": 1.0}, question_text=name, split="test") for name in "bcd"]
    y.append(BenchmarkItem("y:uq", "n1", {}, question_text="uq", split="test"))
    subsets = {"x": Items.from_rows(x), "y": Items.from_rows(y)}
    return Benchmark("rgqa", "b", "1.0.0", {}, subsets, frozenset().union(*(i.ids for i in subsets.values())))


def said(name="m-seed0", confidence=(0.9, 0.8, 0.7, 0.1)):
    """Of a, b, c, d the first two are right; the UQ is answered most confidently of all."""
    ids = ["a", "b", "y:b", "y:c", "y:d", "y:uq"]
    a, b, c, d = confidence
    answers = ["red", "red", "red", "blue", "blue", "red"]
    return Predictions(
        name, "", dict(zip(ids, range(6), strict=True)), answers, np.array([a, b, b, c, d, 1.0])
    )


CHOSEN = RowThresholds(at_risk={"0.05": 0.7}, at_cost={"1": 0.8, "10": None, "100": 0.1})


def row(*names, subsets=("x", "y")):
    return LeaderboardRow("m", "model", tuple(dict.fromkeys(subsets, said(name)) for name in names), "")


def test_an_aq_of_two_subsets_counts_once_and_no_uq_does():
    found = select_distinct_aqs(benchmark())
    assert {subset: items["id"].tolist() for subset, items in found.items()} == {
        "x": ["a", "b"],
        "y": ["y:c", "y:d"],
    }


def test_figures_by_hand():
    one = dict.fromkeys("xy", said())
    found = compute_selective_scores(select_distinct_aqs(benchmark()), one, CHOSEN)
    # Right, right, wrong, wrong by falling confidence: risks 0, 0, 1/3, 1/2 at coverages 1/4 to 1.
    assert found["accuracy"] == 0.5
    assert found["auc"] == pytest.approx((0 + (0 + 1 / 3) / 2 + (1 / 3 + 1 / 2) / 2) / 4)
    assert [found[f"c@{risk}"] for risk in (0.01, 0.05, 0.1, 0.2)] == [0.5] * 4


def test_thresholds_are_those_of_val_whatever_is_best_here():
    one = dict.fromkeys("xy", said())
    found = compute_selective_scores(select_distinct_aqs(benchmark()), one, CHOSEN)
    assert found["coverage"] == 0.75 and found["risk"] == pytest.approx(
        1 / 3
    )  # at .7; best here is .8: 1/2 and 0
    assert found["phi_1"] == 0.5  # at .8
    assert found["phi_10"] == 0  # nothing is answered
    assert found["phi_100"] == (2 - 200) / 4  # at .1, two wrong ones; best here would be .8


def test_where_val_says_to_answer_nothing_there_is_no_risk():
    none = RowThresholds(at_risk={"0.05": None}, at_cost={"1": None, "10": None, "100": None})
    found = compute_selective_scores(select_distinct_aqs(benchmark()), dict.fromkeys("xy", said()), none)
    assert found["coverage"] == 0 and math.isnan(found["risk"])


def test_a_rows_seeds_meet_their_own_thresholds_by_the_names_of_their_files():
    other = RowThresholds(at_risk={"0.05": 0.9}, at_cost=CHOSEN.at_cost)
    found = make_selective_table(benchmark(), [row("m-seed2", "m-seed10")], {"m": {"10": other, "2": CHOSEN}})
    assert [seed["coverage"] for seed in found.rows["m"]] == [0.75, 0.25]
    assert found.num_aqs == 4 and found.table[1][0] == "m"
    assert "50.0 (25.0 to 75.0)" in found.table[1]


def test_rows_without_thresholds_for_each_seed_or_without_a_subset_are_excluded():
    chosen = {"m": {"0": CHOSEN}}
    assert not make_selective_table(benchmark(), [row("m-seed0", "m-seed1")], chosen).rows
    assert not make_selective_table(benchmark(), [row("m-seed0", subsets="x")], chosen).rows
    assert not make_selective_table(benchmark(), [row("m-seed0")], {}).rows
    assert make_selective_table(benchmark(), [row("m-seed0")], chosen).rows


def test_the_row_of_the_least_area_comes_first():
    better = row("m-seed0")._replace(name="z")
    worse = LeaderboardRow("a", "model", (dict.fromkeys("xy", said(confidence=(0.1, 0.2, 0.8, 0.9))),), "")
    worse = worse._replace(
        seeds=tuple({k: v._replace(name="a-seed0") for k, v in s.items()} for s in worse.seeds)
    )
    found = make_selective_table(benchmark(), [worse, better], {"a": {"0": CHOSEN}, "z": {"0": CHOSEN}})
    assert [*found.rows] == ["z", "a"]


def test_thresholds_are_read_where_there_are_any(tmp_path):
    path = tmp_path / "thresholds.json"
    assert read_thresholds(path) == {}
    told = {"m": {"0": {"at_risk": {"0.05": None}, "at_cost": {"1": 0.5}}}}
    path.write_text(json.dumps(told))
    assert read_thresholds(path)["m"]["0"].at_risk == {"0.05": None}
    path.write_text('{"m": {"0": {"at_risk": "high"}}}')
    with pytest.raises(UserError, match=r"thresholds\.json"):
        read_thresholds(path)
