"""The table and the curves of selective prediction."""

import json
import math

import numpy as np
import pytest

from pipeline.core.errors import UserError
from pipeline.scoring import auaf
from pipeline.scoring.items import Benchmark, BenchmarkItem, Items
from pipeline.scoring.joined_predictions import Predictions, ScoringOptions
from pipeline.scoring.leaderboard.curves import (
    CURVE_GRID,
    CURVES,
    assign_line_styles,
    compute_curve_points,
    draw_curves,
    select_plotted_rows,
)
from pipeline.scoring.leaderboard.row_scores import join_row_predictions
from pipeline.scoring.leaderboard.rows import LeaderboardRow
from pipeline.scoring.leaderboard.selective_table import (
    RowThresholds,
    compute_selective_scores,
    make_selective_table,
    read_thresholds,
    select_distinct_aqs,
)

# Selective table
# The table of selection: each AQ counts once, and thresholds are those of val.


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


# Curves


ACC_FPR, RISK_COVERAGE = CURVES


def line(found, row, subset, field):
    return np.array([point[field] for point in found if point["row"] == row and point["subset"] == subset])


def test_the_area_under_the_acc_fpr_curve_is_auaf(benchmark, row):
    """40 UQs: FPR has steps of 1/40, and a grid of 101 misses at most half a step of ACC at each."""
    one = row("m", 1.0)
    acc = line(compute_curve_points(benchmark, [one], ACC_FPR), "m", "pt-hard", "acc")
    at = join_row_predictions(benchmark.subsets["pt-hard"], one.seeds[0]["pt-hard"], ScoringOptions())
    assert np.trapezoid(acc, CURVE_GRID) == pytest.approx(auaf(*at.metric_inputs), abs=0.02)


def test_several_seeds_have_the_mean_of_their_curves(benchmark, row):
    rows = [row("both", seeds=(1, 2)), row("one", seeds=(1,)), row("two", seeds=(2,))]
    for curve in CURVES:
        found = compute_curve_points(benchmark, rows, curve)
        both, one, two = (line(found, name, "pt-hard", curve.y) for name in ("both", "one", "two"))
        np.testing.assert_allclose(both, (one + two) / 2, atol=2e-6)


def test_risk_begins_at_20_answers_and_ends_with_all(benchmark, row):
    """80 items: 20 are a coverage of 0.25. At coverage 1 the 40 UQs are wrong, and the AQs that are answered wrong."""
    one = row("m", 1.0)
    found = compute_curve_points(benchmark, [one], RISK_COVERAGE)
    assert line(found, "m", "pt-hard", "coverage")[[0, -1]].tolist() == [0.25, 1.0]
    at = join_row_predictions(benchmark.subsets["pt-hard"], one.seeds[0]["pt-hard"], ScoringOptions())
    assert line(found, "m", "pt-hard", "risk")[-1] == pytest.approx(1 - at.correct.sum() / 80, abs=1e-6)


def test_rows_have_points_only_in_their_own_subsets(benchmark, row):
    found = compute_curve_points(benchmark, [row("m", subsets=["pt-hard"])], ACC_FPR)
    assert {point["subset"] for point in found} == {"pt-hard"}


def test_the_plot_names_every_row_escaped_and_loads_nothing(benchmark, row):
    rows = [row("a<b>&"), row("n"), row("blind", kind="reference")]
    drawn = draw_curves(compute_curve_points(benchmark, rows, ACC_FPR), rows, ACC_FPR)
    assert drawn.startswith("<svg") and "a&lt;b&gt;&amp;" in drawn and "<b>" not in drawn
    assert "pt-hard" in drawn and "http" not in drawn.replace("http://www.w3.org/", "")
    assert "href" not in drawn and "<script" not in drawn


def test_lines_of_many_models_are_distinct(row):
    rows = [row(f"m{i}") for i in range(28)] + [row(f"r{i}", kind="reference") for i in range(5)]
    looks = assign_line_styles(rows)
    assert len({(colour, *dashes) for colour, dashes in looks.values()}) == 33


def test_all_rows_are_plotted_except_most_built_in_ones(row):
    ours = [row(name)._replace(is_built_in=True) for name in ("msp", "odin", "rp", "rp_hard")]
    others = [row("odin2"), row("text_only_net", kind="reference")._replace(is_built_in=True)]
    assert [one.name for one in select_plotted_rows([*ours, *others])] == [
        "msp",
        "rp",
        "odin2",
        "text_only_net",
    ]
