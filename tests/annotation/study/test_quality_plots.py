import pytest

from annotation.study.quality_plots import plots
from tests.annotation.study.conftest import quality


def test_there_is_a_plot_of_all_that_there_are_figures_for():
    assert set(plots(quality())) == {"verdicts", "accuracy", "choices", "votes", "kappa"}
    assert "pace" in plots(quality(seconds=7.5))


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        (
            "verdicts",
            ("given", "by annotators not excluded", "with their filter question passed", ">9<", ">6<", ">5<"),
        ),
        ("accuracy", ("counts", "excluded", ">ann<", ">ben<", ">cem<")),
        ("choices", (">valid<", ">unsure<", ">invalid<", ">ann<")),
        ("votes", ("2 of 2", "1 of 1", "0 of 2", ">clip-hard<")),
        ("kappa", ("n = 3", ">0.00<")),  # ben and cem: see the test of the figures
        ("pace", ("by the tool", "seconds for a task")),
    ],
)
def test_a_plot_says_what_it_shows(name, texts):
    drawing = plots(quality(seconds=7.5))[name]
    assert drawing.startswith("<svg")
    assert [text for text in texts if text not in drawing] == []


def test_accuracies_are_sorted_the_best_first():
    drawing = plots(quality())["accuracy"]
    places = [drawing.index(f">{name}<") for name in ("ann", "ben", "cem")]  # all, half, none as expected
    assert places == sorted(places)
