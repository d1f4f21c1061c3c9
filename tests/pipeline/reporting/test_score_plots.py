import numpy as np
import pytest

from pipeline.reporting.score_plots import plot
from pipeline.scorers.items import Benchmark, BenchmarkItem, Options, Predictions


@pytest.fixture
def benchmark():
    items = [BenchmarkItem(str(i), f"n{i}", {"red": 1.0} if i % 2 else {}) for i in range(20)]
    return Benchmark("rgqa", "b", "", {}, {"clip-easy": items}, frozenset())


def predictions(name, scale):
    places = {str(i): i for i in range(20)}
    return Predictions(name, "", places, ["red"] * 20, np.linspace(0, scale, 20))


def test_every_plot_is_drawn_as_svg_and_png(benchmark, tmp_path):
    paths = plot(benchmark, [predictions("one", 1.0), predictions("two", 0.5)], Options(), tmp_path)
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


def test_confidences_that_are_no_probabilities_have_no_reliability_diagram(benchmark, tmp_path):
    assert not [
        path
        for path in plot(benchmark, [predictions("logits", 9.0)], Options(), tmp_path)
        if "reliability" in path.name
    ]
