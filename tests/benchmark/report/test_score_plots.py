"""Scores and attacks in the report: tables, curves and plots."""

import math

import msgspec
import numpy as np
import pandas as pd
import pytest
from openpyxl import load_workbook

from pipeline.benchmark.auditing.text_attackers import TEXT_ATTACKERS
from pipeline.benchmark.report.attack_summary import (
    ATTACKER_ORDER,
    AttackRow,
    make_attack_rows,
    summarize_attacks,
)
from pipeline.benchmark.report.score_curves import (
    compute_acc_band,
    compute_acc_fpr,
    compute_auaf_by_category,
    compute_confidence_histograms,
    compute_reliability,
    compute_risk_coverage,
)
from pipeline.benchmark.report.score_frame import COLUMNS, check_table_suffix, make_score_frame, write_frame
from pipeline.benchmark.report.score_plots import PALETTE, write_plots
from pipeline.cli.score import MAX_PLOTTED_MODELS
from pipeline.scoring.items import Benchmark, BenchmarkItem, Items
from pipeline.scoring.joined_predictions import Predictions, ScoringOptions
from pipeline.scoring.model_comparison import ModelComparison, ScoreDifference
from pipeline.scoring.model_report import ModelReport, ScoreReport
from pipeline.scoring.selective_prediction import MIN_ANSWERS
from tests.scoring.conftest import ROWS, answered, join_predictions, model

# Score frame


GROUPS = {
    "counts": {"items": 4},
    "realistic": {"auaf": 0.1 + 0.2, "ff95": math.nan},
    "pairs": {"dual_accuracy": 0.5, "threshold": math.inf, "threshold_source": "validation"},
    "selective": {"auc": 0.25, "coverage_at_risk": {"0.01": 0.75}},
    "calibration": {"unavailable": "no probabilities", "correct": {"ece": 0.25}},
    "subgroups": {"category": {"odd": {"auroc": 1.0, "uqs": 3, "intervals": {"auroc": (0.3, 1.0)}}}},
    "intervals": {"auaf": (0.2, 0.4), "dual_accuracy": (0.0, 1.0), "correct/ece": (0.125, 0.5)},
}
MEAN = {"realistic": {"auaf": 0.5}, "intervals": {"auaf": (0.45, 0.55)}}
CHANGE = ScoreDifference(-0.1, (-0.2, 0.1), 0.125)
REPORT = ScoreReport(
    {},
    {},
    {},
    [ModelReport("=m", "", {"x": GROUPS}, MEAN, {"requests": 3})],
    [ModelComparison("n", "=m", {"x": {"auaf": CHANGE}})],
)
REPORT_ROWS = [
    ("=m", "x", "counts", "items", 4.0, None, None),
    ("=m", "x", "realistic", "auaf", 0.1 + 0.2, 0.2, 0.4),
    ("=m", "x", "realistic", "ff95", None, None, None),
    ("=m", "x", "pairs", "dual_accuracy", 0.5, 0.0, 1.0),
    ("=m", "x", "pairs", "threshold", math.inf, None, None),
    ("=m", "x", "selective", "auc", 0.25, None, None),
    ("=m", "x", "selective", "coverage_at_risk/0.01", 0.75, None, None),
    ("=m", "x", "calibration", "correct/ece", 0.25, 0.125, 0.5),
    ("=m", "x", "subgroups", "category/odd/auroc", 1.0, 0.3, 1.0),
    ("=m", "x", "subgroups", "category/odd/uqs", 3.0, None, None),
    ("=m", "mean", "realistic", "auaf", 0.5, 0.45, 0.55),
    ("=m", "", "efficiency", "requests", 3.0, None, None),
    ("n - =m", "x", "difference", "auaf", -0.1, -0.2, 0.1),
    ("n - =m", "x", "proportion_better", "auaf", 0.125, None, None),
]


def rows_of(frame):
    return [
        tuple(None if isinstance(value, float) and math.isnan(value) else value for value in row)
        for row in frame.itertuples(index=False)
    ]


def test_every_number_is_a_row_with_its_interval():
    frame = make_score_frame(REPORT)
    assert list(frame.columns) == COLUMNS == ["model", "subset", "group", "score", "value", "low", "high"]
    assert rows_of(frame) == REPORT_ROWS


@pytest.mark.parametrize(
    ("name", "read"),
    [("t.csv", pd.read_csv), ("t.XLSX", pd.read_excel), ("t.parquet", pd.read_parquet)],
)
def test_a_table_is_read_back_as_it_was_written(tmp_path, name, read):
    write_frame(make_score_frame(REPORT), tmp_path / "new" / name)
    rows = rows_of(read(tmp_path / "new" / name).fillna({"subset": ""}).replace("inf", math.inf))
    # Excel stores 16 digits, so 0.1 + 0.2 becomes 0.3.
    assert rows == [
        tuple(0.3 if x == 0.1 + 0.2 and "XLSX" in name else x for x in row) for row in REPORT_ROWS
    ]


def test_a_name_that_starts_like_a_formula_stays_text_in_excel(tmp_path):
    write_frame(make_score_frame(REPORT), tmp_path / "t.xlsx")
    sheet = load_workbook(tmp_path / "t.xlsx")["table"]
    assert {cell.data_type for row in sheet.iter_rows() for cell in row} <= {"inlineStr", "s", "n"}
    assert sheet["A2"].value == "=m" and sheet.freeze_panes == "A2"


def test_the_suffix_of_a_table_must_be_known(tmp_path):
    assert check_table_suffix(None) == [] == check_table_suffix(tmp_path / "t.parquet")
    assert "use a name that ends in .csv, .xlsx, .parquet" in check_table_suffix(tmp_path / "t.json")[0]


# Score curves


# By confidence: a1 right, a2 wrong, u2, a3 right, u1, u3; an image for each pair.


def test_the_curve_starts_with_no_answers_and_ends_with_all():
    assert np.array(
        [(row["x"], row["y"]) for row in compute_acc_fpr(answered(), ScoringOptions())]
    ) == pytest.approx(
        np.array([(0, 0), (0, 1 / 3), (0, 1 / 3), (1 / 3, 1 / 3), (1 / 3, 2 / 3), (2 / 3, 2 / 3), (1, 2 / 3)])
    )
    assert compute_acc_fpr(answered([row for row in ROWS if row[0][0] == "a"]), ScoringOptions()) == []


def test_the_band_is_the_bootstrap_interval_of_accuracy_at_each_fpr():
    options = ScoringOptions(bootstrap=40, seed=3)
    band = compute_acc_band(answered(), options)
    assert len(band) == 101 and (band[0]["x"], band[-1]["x"]) == (0.0, 1.0)
    # At FPR 1 everything is accepted, and ACC is the proportion of right AQs, which are those of images n1 and n3.
    drawn = [np.random.default_rng([3, repetition]).integers(0, 3, 3) for repetition in range(40)]
    right = [np.isin(images, [0, 2]).mean() for images in drawn]
    low, high = np.quantile(right, [0.025, 0.975])
    assert (band[-1]["low"], band[-1]["high"]) == pytest.approx((low, high))
    assert all(row["low"] <= row["high"] for row in band)
    assert compute_acc_band(answered(), ScoringOptions(bootstrap=0)) == []


def test_risk_starts_at_the_minimum_number_of_answers():
    items = Items.from_rows(BenchmarkItem(str(i), "n", {"red": 1.0}) for i in range(100))
    # The first 20 by confidence are wrong, all others right.
    at = join_predictions(
        items, model({str(i): ("red" if i < 80 else "blue", i / 100) for i in range(100)}), ScoringOptions()
    )
    rows = compute_risk_coverage(at, ScoringOptions())
    assert (rows[0]["x"], rows[0]["y"]) == (MIN_ANSWERS / 100, 1.0) and (rows[-1]["x"], rows[-1]["y"]) == (
        1.0,
        pytest.approx(0.2),
    )
    assert (
        len(compute_risk_coverage(answered(), ScoringOptions())) == 1
    )  # With six items, only the last point is shown.


def test_reliability_is_computed_for_both_outcomes():
    rows = compute_reliability(answered(), ScoringOptions())
    right = [(row["items"], row["x"], row["y"]) for row in rows if row["outcome"] == "the answer is right"]
    # 15 bins: u3 0.1 | u1 0.2 | a3 0.6, right (0.6 is the upper edge of a bin) | u2 0.7 | a2 0.8, wrong | a1 0.9, right.
    assert np.array(right) == pytest.approx(
        np.array([(1, 0.1, 0), (1, 0.2, 0), (1, 0.6, 1), (1, 0.7, 0), (1, 0.8, 0), (1, 0.9, 1)])
    )
    assert {row["outcome"] for row in rows} == {"the answer is right", "the question is answerable"}
    high = answered([(*row[:-1], 10 * row[-1]) for row in ROWS])
    assert compute_reliability(high, ScoringOptions()) == []


def test_every_confidence_is_in_one_bin_of_its_kind():
    rows = compute_confidence_histograms(answered(), ScoringOptions())
    for kind in ("answerable (AQ)", "unanswerable (UQ)"):
        assert sum(row["items"] for row in rows if row["kind"] == kind) == 3
    last = max(row["from"] for row in rows)
    assert [row["items"] for row in rows if row["from"] == last] == [1, 0]  # a1


def test_a_category_with_few_uqs_has_only_an_interval():
    missing, wrong = compute_auaf_by_category(answered(), ScoringOptions(bootstrap=10))
    assert missing["kind"] == "missing object (2 UQs)" and wrong["kind"] == "wrong attribute (1 UQs)"
    assert missing["x"] is None and 0 <= missing["low"] < missing["high"] <= 1
    plain = answered([(*row[:5], None, *row[6:]) for row in ROWS])
    assert compute_auaf_by_category(plain, ScoringOptions()) == []


# Score plots


@pytest.fixture
def benchmark():
    items = [BenchmarkItem(str(i), f"n{i}", {"red": 1.0} if i % 2 else {}) for i in range(20)]
    return Benchmark("rgqa", "b", "", {}, {"clip-easy": Items.from_rows(items)}, frozenset())


def predictions(name, scale):
    places = {str(i): i for i in range(20)}
    return Predictions(name, "", places, ["red"] * 20, np.linspace(0, scale, 20))


def test_every_plot_is_drawn_as_svg_and_png(benchmark, tmp_path):
    paths = write_plots(
        benchmark, [predictions("one", 1.0), predictions("two", 0.5)], ScoringOptions(), tmp_path
    )
    assert sorted(path.name for path in paths) == sorted(
        f"clip-easy-{name}.{kind}"
        for name in ("acc-fpr", "risk-coverage", "reliability", "confidences")
        for kind in ("svg", "png")
    )
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths if path.suffix == ".png")
    assert all(
        "one" in path.read_text() and "two" in path.read_text()
        for path in paths
        if path.name == "clip-easy-acc-fpr.svg"
    )


def test_categories_are_drawn_if_they_are_known(benchmark, tmp_path):
    items = [
        item._replace(category="" if item.answers else "odd <one>") for item in benchmark.subsets["clip-easy"]
    ]
    known = benchmark._replace(subsets={"clip-easy": Items.from_rows(items)})
    write_plots(
        known, [predictions("one", 1.0), predictions("two", 0.5)], ScoringOptions(bootstrap=0), tmp_path
    )
    drawn = (tmp_path / "clip-easy-by-category.svg").read_text()
    assert "odd &lt;one&gt; (10 UQs)" in drawn and "only the interval" in drawn


def test_each_model_has_its_own_colour_and_its_name_in_the_legend(benchmark, tmp_path):
    assert len(PALETTE) == MAX_PLOTTED_MODELS
    names = [f"model {i}" for i in range(len(PALETTE))]
    write_plots(benchmark, [predictions(name, 1.0) for name in names], ScoringOptions(bootstrap=5), tmp_path)
    drawn = (tmp_path / "clip-easy-acc-fpr.svg").read_text()
    assert all(name in drawn for name in names)
    assert all(f'stroke="{colour}"' in drawn or f'fill="{colour}"' in drawn for colour in PALETTE)


def test_other_confidences_than_probabilities_have_no_reliability_diagram(benchmark, tmp_path):
    assert not [
        path
        for path in write_plots(benchmark, [predictions("logits", 9.0)], ScoringOptions(), tmp_path)
        if "reliability" in path.name
    ]


@pytest.mark.parametrize("labels", [(1, 0), (0, 0), (1, 1), (1, 0, 0, 1)])
def test_too_few_items_are_drawn_without_interval(labels, tmp_path):
    """With two images, half of all bootstrap replicates lack a label, so accuracy has no interval."""
    items = [
        BenchmarkItem(str(i), f"n{i}", {"red": 1.0} if aq else {}, category="" if aq else "odd")
        for i, aq in enumerate(labels)
    ]
    few = Benchmark("rgqa", "b", "", {}, {"clip-easy": Items.from_rows(items)}, frozenset())
    predictions = Predictions(
        "one", "", {str(i): i for i in range(len(items))}, ["red"] * len(items), np.ones(len(items))
    )
    paths = write_plots(few, [predictions], ScoringOptions(), tmp_path)
    assert "clip-easy-risk-coverage.png" in {path.name for path in paths}
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths if path.suffix == ".png")


# Attack summary


def test_rows_combine_the_audit_with_the_papers_rules_and_limits(run):
    swapped = dict(zip(run.audit.subsets, reversed(run.audit.subsets.values()), strict=True))
    for subset, rows in make_attack_rows(run.audit, {"clip-easy": 0.55}, swapped).items():
        ours, paper = run.audit.subsets[subset].attacks, swapped[subset].attacks
        assert {row.attacker: row.auroc for row in rows} == {name: a.auroc for name, a in ours.items()}
        assert {row.attacker: row.paper_auroc for row in rows} == {name: a.auroc for name, a in paper.items()}
        assert {row.attacker for row in rows if row.limit is not None} == (
            set(TEXT_ATTACKERS) if subset == "clip-easy" else set()
        )


def test_without_a_comparison_there_are_no_values_of_the_papers_rules(run):
    rows = make_attack_rows(run.audit, {}, {})
    assert {row.paper_auroc for results in rows.values() for row in results} == {None}


def test_attackers_have_a_fixed_order_with_new_ones_last(run):
    audit = run.audit.subsets["clip-easy"]
    more = msgspec.structs.replace(audit, attacks={"a new one": audit.attacks["length"]} | audit.attacks)
    rows = make_attack_rows(msgspec.structs.replace(run.audit, subsets={"clip-easy": more}), {})["clip-easy"]
    assert [row.attacker for row in rows] == [*ATTACKER_ORDER, "a new one"]


def row(attacker, auroc, paper=None, limit=None):
    low, high = (None, None) if auroc is None else (auroc - 0.02, auroc + 0.02)
    return AttackRow(
        attacker=attacker, auroc=auroc, low=low, high=high, groups=9, paper_auroc=paper, limit=limit
    )


def test_the_finding_is_the_strongest_text_only_attacker():
    first, second, *_ = TEXT_ATTACKERS
    found = summarize_attacks(
        {
            # Verbatim count and CLIP score are not text-only attackers. The strongest one differs under the paper's rules.
            "clip-easy": [
                row("verbatim count", 0.99, 0.99),
                row("CLIP score", 1.0),
                row(first, 0.52, 0.92, 0.55),
                row(second, 0.51, 0.6),
            ],
            "pt-easy": [row(first, 0.53, 0.7), row(second, 0.54, 0.77), row("image", 0.9)],
        }
    )
    assert [(r.subset, r.auroc, r.paper_auroc, r.limit) for r in found.rows] == [
        ("clip-easy", 0.52, 0.92, 0.55),
        ("pt-easy", 0.54, 0.77, None),
    ]
    assert (found.auroc, found.auroc_subset, found.paper_auroc, found.paper_subset) == (
        0.54,
        "pt-easy",
        0.92,
        "clip-easy",
    )


def test_without_attacks_the_auroc_is_one_half():
    found = summarize_attacks({"pt-hard": [row(next(iter(TEXT_ATTACKERS)), None)]})
    assert (found.auroc, found.paper_auroc, found.paper_subset) == (0.5, None, "")
    assert found.rows[0].low is None and found.rows[0].is_too_small
