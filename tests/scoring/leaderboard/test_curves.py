import numpy as np
import pytest

from pipeline.scoring import auaf
from pipeline.scoring.joined_predictions import ScoringOptions
from pipeline.scoring.leaderboard.curves import (
    CURVE_GRID,
    CURVES,
    assign_line_styles,
    compute_curve_points,
    draw_curves,
    select_plotted_rows,
)
from pipeline.scoring.leaderboard.row_scores import join_row_predictions

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
