import re

import numpy as np
import pytest

from pipeline.core.errors import UserError
from pipeline.leaderboard.board_rows import BoardRow
from pipeline.leaderboard.paired_scores import answered
from pipeline.reporting.row_pair import chosen, compare, drawn, outcomes
from pipeline.scorers.answered import Options, Predictions
from pipeline.scorers.items import BenchmarkItem, Items

ITEMS = Items.of(
    [
        BenchmarkItem("aq1", "n1", {"red": 1.0}),
        BenchmarkItem("aq2", "n1", {"red": 1.0}),
        BenchmarkItem("uq1", "n2", {}),
        BenchmarkItem("uq2", "n2", {}),
    ]
)


def said(*confidences, answers=("red", "red", "red", "red")):
    places = {name: place for place, name in enumerate(ITEMS["id"])}
    return answered(ITEMS, Predictions("m", "", places, [*answers], np.array(confidences)), Options())


def test_each_row_accepts_the_half_it_is_surest_of_on_its_own_scale():
    """The first accepts both AQs, one answered wrong; the second, of logits, accepts aq1 and uq1."""
    cells = outcomes(
        [said(0.9, 0.8, 0.2, 0.1, answers=("red", "blue", "red", "red")), said(90.0, -5.0, 40.0, -8.0)]
    )
    found = {pair.item.id: (kind, outcome) for (kind, outcome), pairs in cells.items() for pair in pairs}
    assert found == {
        "aq1": ("AQ", (True, True)),
        "aq2": ("AQ", (False, False)),
        "uq1": ("UQ", (True, False)),
        "uq2": ("UQ", (True, True)),
    }
    (pair,) = cells["UQ", (True, False)]
    assert [(one.accepted, one.surer_than) for one in pair.said] == [
        (False, pytest.approx(1 / 3)),
        (True, pytest.approx(2 / 3)),
    ]


def test_ties_are_accepted_together():
    cells = outcomes([said(0.5, 0.5, 0.5, 0.5), said(0.9, 0.8, 0.2, 0.1)])
    assert [pair.item.id for pair in cells["UQ", (False, True)]] == ["uq1", "uq2"]


def test_what_is_shown_is_drawn_from_each_way_to_differ():
    cells = outcomes([said(0.9, 0.1, 0.8, 0.2), said(0.1, 0.9, 0.2, 0.8)])
    assert [(kind, pair.item.id) for kind, pair in drawn(cells, 4)] == [
        ("UQ", "uq2"),
        ("UQ", "uq1"),
        ("AQ", "aq1"),
        ("AQ", "aq2"),
    ]
    assert len(drawn(cells, 1)) == 1 and drawn(cells, 0) == []


@pytest.mark.parametrize("names", [("a", "nobody"), ("a", "a")])
def test_two_rows_of_the_board_are_wanted(names):
    rows = [BoardRow(name, "model", ({},), "") for name in "ab"]
    with pytest.raises(UserError, match="--compare"):
        chosen(names, rows)


def test_the_page_shows_both_rows_escaped_and_fetches_nothing(tiny_run, monkeypatch, tmp_path):
    monkeypatch.chdir(tiny_run)
    page = compare(("blind", "constant"), tmp_path / "page.html", 8).read_text()
    assert "blind beside constant on Tiny 0.1.0" in page and "verdicts are simulated" in page
    assert page.count('<article class="card">') >= 1
    assert "data:image/jpeg;base64," in page
    assert not re.search(r"(src|href)=\"(?!data:|#)", page)
    for row in re.findall(r"<tr><th scope=\"row\">(\S+)</th><td>[AU]Q</td>(.*?)</tr>", page):
        assert len(re.findall(r"\d+", row[1])) == 4


def test_as_many_items_as_are_asked_for(tiny_run, monkeypatch, tmp_path):
    monkeypatch.chdir(tiny_run)
    assert "<article" not in compare(("blind", "constant"), tmp_path / "page.html", 0).read_text()
    with pytest.raises(UserError, match="--gallery is 26"):
        compare(("blind", "constant"), tmp_path / "page.html", 26)
