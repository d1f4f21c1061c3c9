import io
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pipeline.leaderboard.board import Basis, Board, PlaceCounts
from pipeline.leaderboard.board_rows import BoardRow
from pipeline.leaderboard.board_text import (
    board_frame,
    board_markdown,
    board_metrics,
    cell,
    kind_table,
    plain,
    score_table,
)
from pipeline.leaderboard.paired_scores import SCORES, Measured, RowScores

FOLDER = Path("data/b/predictions")


def measured(value, *seeds):
    seeds = seeds or (value,)
    return Measured(np.array(seeds), np.linspace(value - 0.04, value + 0.04, 101))


def one(name, auaf, kind="model", seeds=(), chosen=(), note=""):
    scores = dict.fromkeys(SCORES, measured(0.5)) | {"auaf": measured(auaf, *seeds)}
    kinds = {"clip-hard": {"missing object": measured(auaf)}}
    row = BoardRow(name, kind, ({},) * max(len(seeds), 1), "max sigmoid", note, chosen)
    return RowScores(row, {"mean": scores, "clip-hard": scores}, kinds)


def made(*rows, against="", **changes):
    counts = {"clip-hard": PlaceCounts(700, 600, 120, {"missing object": 400})}
    rests_on = Basis("B 1.0.0", "Drawn <by> code.", True, False, "test", counts, 120, 500)._replace(**changes)
    ranks = {one.row.name: 1 for one in rows if one.row.kind == "model"}
    return Board(rests_on, [*rows], {"mean": ranks, "clip-hard": ranks}, against)


def test_a_score_stands_with_its_interval_and_the_range_of_its_seeds():
    # 101 repetitions from 0.46 to 0.54, evenly: 2.5 % of 0.08 inside either end are 0.462 and 0.538.
    assert cell(measured(0.5)) == "50.0 [46.2, 53.8]"
    assert cell(measured(0.5, 0.48, 0.52)) == "50.0 [46.2, 53.8] (48.0 to 52.0)"
    assert cell(Measured(np.array([-1e-9]), np.zeros(9))) == "0.0 [0.0, 0.0]"
    assert cell(Measured(np.array([np.nan]), np.full(9, np.nan))) == "-"


def test_the_board_says_what_it_is():
    text = board_markdown(made(one("vilt", 0.5)), FOLDER)
    for told in (
        "# Leaderboard of B 1.0.0",
        "**The verdicts are simulated.**",
        "Drawn &lt;by&gt; code.",
        "Scored: part test, 700 AQs and 600 UQs of 120 pictures.",
        "pictures resampled 500 times, the same draws for every row",
        "| vilt | 1 | max sigmoid | - |",
        "AUAF by kind of UQ",
    ):
        assert told in text
    assert "**No model's predictions are here yet.**" not in text
    assert "simulated" not in board_markdown(made(one("vilt", 0.5), simulated=False), FOLDER)
    assert "**A rehearsal, no benchmark.**" in board_markdown(made(one("vilt", 0.5), rehearsal=True), FOLDER)


def test_a_board_of_references_alone_says_how_to_add_a_row():
    text = board_markdown(made(one("constant", 0.1, "reference")), FOLDER)
    assert (
        "**No model's predictions are here yet.** Add a row: put its predictions into `data/b/predictions/NAME.json`"
        in text
    )
    assert "| - | *constant (reference)* | 10.0 [6.2, 13.8] |" in text


def test_rows_of_our_own_nets_are_said_to_see_through_the_clip_that_chose():
    own = one("msp", 0.5)
    board = made(own._replace(row=own.row._replace(ours=True)), one("vilt", 0.5))
    assert "**The same CLIP in selection and features.** 1 of 2 rows are of" in board_markdown(board, FOLDER)
    assert "The same CLIP in" not in board_markdown(made(one("vilt", 0.5)), FOLDER)


def test_a_score_that_chose_the_items_is_marked_where_it_did():
    board = made(one("clip_score", 0.3, "reference", chosen=("clip-hard",)))
    assert score_table(board, "clip-hard")[1][2].endswith(" *chosen by it*")
    assert score_table(board, "mean")[1][2].endswith(" *clip-hard chosen by it*")
    assert "chosen" not in "".join(score_table(made(one("vilt", 0.3)), "clip-hard")[1])


def test_the_difference_to_the_row_compared_with_has_a_column():
    head, rp, msp = score_table(made(one("rp", 0.6), one("msp", 0.5), against="msp"), "mean")
    assert head[:4] == ["rank", "row", "AUAF", "AUAF minus msp"]
    assert rp[3] == "+10.0 [10.0, 10.0]" and msp[3] == "-"
    assert "minus" not in "".join(score_table(made(one("rp", 0.6)), "mean")[0])


def test_kinds_have_a_table_with_their_numbers_where_there_are_any():
    assert kind_table(made(one("rp", 0.6)), "clip-hard") == [
        ["row", "missing object (400)"],
        ["rp", "60.0 [56.2, 63.8]"],
    ]
    rows = one("rp", 0.6)._replace(kinds={})
    counts = {"clip-hard": PlaceCounts(7, 6, 3, {})}
    assert kind_table(made(rows, counts=counts), "clip-hard") == []


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("a|b", "a\\|b"),
        ("<img src=x>", "&lt;img src=x&gt;"),
        ("two\nlines", "two lines"),
        ("*bold* _it_ `code` [link](x)", "\\*bold\\* \\_it\\_ \\`code\\` \\[link\\](x)"),
    ],
)
def test_text_of_others_is_shown_as_it_is(text, safe):
    assert plain(text) == safe
    board = board_markdown(made(one("vilt", 0.5, note=text)), FOLDER)
    assert f"| vilt | 1 | max sigmoid | {safe} |" in board


def test_every_row_of_a_table_has_as_many_cells_as_its_head():
    text = board_markdown(made(one("a", 0.6, seeds=(0.5, 0.7)), one("b|c", 0.5), against="a"), FOLDER)
    tables = re.findall(r"(?m)(?:^\|.*\n)+", text)
    assert len(tables) == 4
    for lines in (table.splitlines() for table in tables):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1


def test_the_table_for_notebooks_has_every_score_and_reads_back():
    frame = board_frame(
        made(one("rp", 0.6, seeds=(0.5, 0.7)), one("blind", 0.1, "reference"), against="blind")
    )
    read = pd.read_csv(io.StringIO(frame.to_csv(index=False)), dtype={"rank": "Int64"}, keep_default_na=True)
    assert len(read) == 2 * (2 * 4 + 1)
    auaf = read[(read.row == "rp") & (read.subset == "mean") & (read.score == "auaf")].iloc[0]
    assert (auaf.value, auaf["rank"], auaf.seeds, auaf.lowest_seed, auaf.highest_seed) == (
        0.6,
        1,
        2,
        0.5,
        0.7,
    )
    assert auaf.difference == pytest.approx(0.5) and auaf.low < 0.6 < auaf.high
    reference = read[read.row == "blind"]
    assert reference["rank"].isna().all() and reference.difference.isna().all()
    kinds = read[read.category == "missing object"]
    assert set(kinds.score) == {"auaf"} and set(kinds.subset) == {"clip-hard"}


def test_metrics_are_flat_numbers_of_each_row():
    metrics = board_metrics(made(one("rp", 0.6), one("blind", 0.1, "reference")))
    assert metrics["rp"]["rank"] == 1 and metrics["blind"]["rank"] is None
    assert metrics["rp"] == pytest.approx(
        {
            "rank": 1,
            "auaf": 0.6,
            "auaf_low": 0.562,
            "auaf_high": 0.638,
            "auaf_clip-hard": 0.6,
            "ff95": 0.5,
            "facc": 0.5,
            "auroc": 0.5,
        }
    )
    lacking = one("rp", 0.6)
    del lacking.places["mean"]
    assert board_metrics(made(lacking)) == {}
