import numpy as np
import pytest

from pipeline.benchmark.report.score_plots import PALETTE, write_plots
from pipeline.cli.score import MAX_PLOTTED_MODELS
from pipeline.scoring.items import Benchmark, BenchmarkItem, Items
from pipeline.scoring.joined_predictions import Predictions, ScoringOptions


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
