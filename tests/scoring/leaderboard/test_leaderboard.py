"""The leaderboard and its report."""

import csv
import io
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pipeline.core.json_files import write_json
from pipeline.scoring.leaderboard.leaderboard import (
    EvaluationInfo,
    Leaderboard,
    LeaderboardParams,
    SubsetCounts,
    build_leaderboard,
    describe_evaluation,
)
from pipeline.scoring.leaderboard.pairwise_comparison import ScoreEstimate, compare_models
from pipeline.scoring.leaderboard.report import (
    format_estimate,
    make_kind_table,
    make_metrics,
    make_notes,
    make_score_table,
    render_csv,
    render_html,
    render_markdown,
)
from pipeline.scoring.leaderboard.row_scores import RowScores
from pipeline.scoring.leaderboard.rows import LeaderboardRow, read_panel_models
from pipeline.scoring.subgroups import REPORTED_SCORES

# Leaderboard


@pytest.fixture
def release(tmp_path, tiny_run):
    """A folder that says of itself what a release does; its items are the tiny release's."""
    told = {
        "dataset": "b",
        "version": "1.0.0",
        "release": {"title": "B", "data_source": "Drawn.", "num_folds": 2},
    }
    write_json(tmp_path / "params.json", told)
    text = (tiny_run / "data/release/tiny/0.1.0/provenance.jsonl").read_bytes()
    (tmp_path / "provenance.jsonl").write_bytes(text)
    return tmp_path


def test_the_evaluation_is_described(release, benchmark):
    rests_on = describe_evaluation(release, benchmark, 100)
    assert (rests_on.title, rests_on.data_source, rests_on.split) == (benchmark.full_name, "Drawn.", "test")
    assert rests_on.is_simulated and not rests_on.is_rehearsal
    assert rests_on.subset_counts["pt-hard"] == (40, 40, 40, {"missing object": 30})
    assert rests_on.num_images == 40  # the same in both subsets


def test_a_leaderboard_of_human_verdicts_does_not_say_simulated(release, benchmark):
    (release / "provenance.jsonl").write_text('{"item": {"item_id": "1", "subset": "pt-hard"}}\n')
    assert not describe_evaluation(release, benchmark, 100).is_simulated


def test_a_release_that_does_not_state_its_data_source_has_none(tmp_path, benchmark):
    write_json(tmp_path / "params.json", {"version": "1.0.0"})
    assert describe_evaluation(tmp_path, benchmark, 100).data_source == ""


def test_models_come_first_by_their_mean_then_those_that_lack_a_subset_then_references(
    release, benchmark, row
):
    rows = [
        row("reference", 3.0, kind="reference"),
        row("lacking", 2.5, subsets=["pt-hard"]),
        row("poor", 0.0),
        row("skilled", 2.0),
    ]
    made = build_leaderboard(release, benchmark, rows, LeaderboardParams(num_replicates=100, baseline="poor"))
    assert [one.row.name for one in made.rows] == ["skilled", "poor", "lacking", "reference"]
    assert made.comparisons["mean"].rank_intervals == {"skilled": (1, 1), "poor": (2, 2)}
    assert made.comparisons["pt-hard"].rank_intervals == {
        "lacking": (1, 2),
        "skilled": (1, 2),
        "poor": (3, 3),
    }
    assert made.model_names == ["skilled", "poor", "lacking"]


def test_the_table_of_a_subset_has_its_own_order(release, benchmark, row):
    rows = [row("lacking", 2.5, subsets=["pt-hard"]), row("poor", 0.0), row("r", 3.0, kind="reference")]
    made = build_leaderboard(release, benchmark, rows, LeaderboardParams(num_replicates=100))
    assert [one.row.name for one in made.rows] == ["poor", "lacking", "r"]
    assert [one.row.name for one in made.rows_in_scope("pt-hard")] == ["lacking", "poor", "r"]
    assert [one.row.name for one in made.rows_in_scope("clip-hard")] == ["poor", "r"]
    assert (
        made.get_rank_interval(rows[0], "pt-hard") == (1, 1)
        and made.get_rank_interval(rows[2], "pt-hard") is None
    )


def test_rows_can_be_ordered_by_a_score_that_is_better_when_lower(release, benchmark, row):
    rows = [row("poor", 0.0), row("skilled", 2.0)]
    made = build_leaderboard(
        release, benchmark, rows, LeaderboardParams(num_replicates=100), ranking_score="ff95"
    )
    assert [one.row.name for one in made.rows] == ["skilled", "poor"]
    assert made.comparisons["mean"].rank_intervals == {"skilled": (1, 1), "poor": (2, 2)}


def test_the_row_compared_with_has_no_difference_to_itself_and_may_be_absent(release, benchmark, row):
    rows = [row("msp", 1.0), row("rp", 2.0)]
    made = build_leaderboard(release, benchmark, rows, LeaderboardParams(num_replicates=100))
    rp, msp = made.rows
    found = made.difference_to_baseline(rp.row, "mean")
    assert found and found.difference == rp.scores["mean"]["auaf"].value - msp.scores["mean"]["auaf"].value
    assert found.interval and found.interval[0] <= found.difference <= found.interval[1]
    assert made.difference_to_baseline(msp.row, "mean") is None
    without = build_leaderboard(release, benchmark, [row("rp", 2.0)], LeaderboardParams(num_replicates=100))
    assert without.baseline == "" and without.difference_to_baseline(without.rows[0].row, "mean") is None


def test_the_same_rows_give_the_same_numbers(release, benchmark, row):
    first, second = (
        build_leaderboard(release, benchmark, [row("m", 1.0)], LeaderboardParams(num_replicates=100)).rows[0]
        for _ in range(2)
    )
    assert (
        first.scores["mean"]["auaf"].replicates.tolist() == second.scores["mean"]["auaf"].replicates.tolist()
    )


# Report


FOLDER = Path("data/b/predictions")
NASTY = "<script>alert(1)</script> | =1+1\x1b[31m"


def measured(value, *seeds):
    seeds = seeds or (value,)
    return ScoreEstimate(np.array(seeds), np.linspace(value - 0.04, value + 0.04, 101))


def one(name, auaf, kind="model", seeds=(), chosen=(), note="", available=0, missing=0):
    scores = dict.fromkeys(REPORTED_SCORES, measured(0.5)) | {"auaf": measured(auaf, *seeds)}
    kinds = {"clip-hard": {"missing object": measured(auaf)}}
    row = LeaderboardRow(
        name, kind, ({},) * max(len(seeds), 1), "max sigmoid", note, chosen, num_available_items=available
    )
    return RowScores(
        row, {"mean": scores, "clip-hard": scores}, kinds, {"clip-hard": 1300}, {"clip-hard": missing}
    )


def made(*rows, against="", by="auaf", **changes):
    counts = {
        "clip-hard": SubsetCounts(700, 600, 120, {"missing object": 400}),
        "pt-hard": SubsetCounts(0, 0, 0, {}),
    }
    rests_on = EvaluationInfo("B 1.0.0", "Drawn <by> code.", True, False, "test", counts, 120, 500)._replace(
        **changes
    )
    models = {one.row.name: one.scores for one in rows if one.row.kind == "model"}
    comparisons = {
        place: compare_models({name: places[place][by] for name, places in models.items() if place in places})
        for place in ("mean", "clip-hard", "pt-hard")
    }
    return Leaderboard(rests_on, [*rows], comparisons, against, by)


def test_a_score_has_its_interval_and_the_range_of_its_seeds():
    # 101 repetitions from 0.46 to 0.54, evenly: 2.5 % of 0.08 inside either end are 0.462 and 0.538.
    assert format_estimate(measured(0.5)) == "50.0 [46.2, 53.8]"
    assert format_estimate(measured(0.5, 0.48, 0.52)) == "50.0 [46.2, 53.8] (48.0 to 52.0)"
    assert format_estimate(ScoreEstimate(np.array([-1e-9]), np.zeros(9))) == "0.0 [0.0, 0.0]"
    assert format_estimate(ScoreEstimate(np.array([np.nan]), np.full(9, np.nan))) == "-"


def test_the_leaderboard_says_what_it_is():
    text = render_markdown(made(one("vilt", 0.5)), FOLDER)
    for told in (
        "# Leaderboard of B 1.0.0",
        "**The verdicts are simulated.**",
        "Drawn &lt;by&gt; code.",
        "Scored: split test, 700 AQs and 600 UQs of 120 images.",
        "images resampled 500 times, with the same replicates for every row",
        "| vilt | 1 | max sigmoid | - |",
        "AUAF by kind of UQ",
    ):
        assert told in text
    assert "**There are no predictions of models yet.**" not in text
    assert "simulated" not in render_markdown(made(one("vilt", 0.5), is_simulated=False), FOLDER)
    assert "**This is a rehearsal, not a benchmark.**" in render_markdown(
        made(one("vilt", 0.5), is_rehearsal=True), FOLDER
    )


def test_a_leaderboard_of_references_only_says_how_to_add_a_row():
    text = render_markdown(made(one("constant", 0.1, "reference")), FOLDER)
    assert (
        "**There are no predictions of models yet.** To add a row, put its predictions into `data/b/predictions/NAME.json`"
        in text
    )
    assert "| - | *constant (reference)* | 10.0 [6.2, 13.8] |" in text


def test_built_in_rows_are_said_to_use_the_clip_of_the_selection():
    own = one("msp", 0.5)
    board = made(own._replace(row=own.row._replace(is_built_in=True)), one("vilt", 0.5))
    assert "**The same CLIP for selection and features.** 1 of 2 rows are from" in render_markdown(
        board, FOLDER
    )
    assert "The same CLIP for" not in render_markdown(made(one("vilt", 0.5)), FOLDER)


def test_a_score_that_selected_the_items_is_marked():
    board = made(one("clip_score", 0.3, "reference", chosen=("clip-hard",)))
    assert make_score_table(board, "clip-hard")[1][2].endswith(" *selected by it*")
    assert make_score_table(board, "mean")[1][2].endswith(" *clip-hard selected by it*")
    assert "chosen" not in "".join(make_score_table(made(one("vilt", 0.3)), "clip-hard")[1])


def test_the_difference_to_the_row_compared_with_has_a_column():
    board = made(one("rp", 0.6), one("msp", 0.5), one("constant", 0.1, "reference"), against="msp")
    head, rp, msp, constant = make_score_table(board, "mean")
    assert head[:5] == ["rank", "letter display", "row", "AUAF", "AUAF minus msp"]
    # Drawn alike, the difference is the same in every replicate.
    assert rp[4] == "+10.0 [10.0, 10.0]" and msp[4] == constant[4] == "-"
    assert (rp[0], rp[1], msp[0], msp[1], constant[0], constant[1]) == ("1", "a", "2", "b", "-", "")
    assert "minus" not in "".join(make_score_table(made(one("rp", 0.6)), "mean")[0])


def test_one_model_alone_has_no_letters():
    board = made(one("rp", 0.6), one("blind", 0.1, "reference"))
    assert make_score_table(board, "mean")[0][:2] == ["rank", "row"]
    assert "etter" not in render_markdown(board) and "letters" not in render_html(board).split("</style>")[1]


def test_kinds_have_a_table_with_their_numbers_where_there_are_any():
    assert make_kind_table(made(one("rp", 0.6)), "clip-hard") == [
        ["row", "missing object (400)"],
        ["rp", "60.0 [56.2, 63.8]"],
    ]
    rows = one("rp", 0.6)._replace(kind_scores={})
    counts = {"clip-hard": SubsetCounts(7, 6, 3, {})}
    assert make_kind_table(made(rows, subset_counts=counts), "clip-hard") == []


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("a|b", "a\\|b"),
        ("<img src=x>", "&lt;img src=x&gt;"),
        ("two\nlines", "two lines"),
        ("a\x1b[2Jb\x00", "a \\[2Jb"),
        ("*bold* _it_ `code` [link](x)", "\\*bold\\* \\_it\\_ \\`code\\` \\[link\\](x)"),
    ],
)
def test_markdown_and_control_characters_of_others_are_escaped(text, safe):
    board = render_markdown(made(one("vilt", 0.5, note=text)), FOLDER)
    assert f"| vilt | 1 | max sigmoid | {safe} |" in board


def test_every_row_of_a_table_has_as_many_cells_as_its_head():
    text = render_markdown(made(one("a", 0.6, seeds=(0.5, 0.7)), one("b|c", 0.5), against="a"), FOLDER)
    tables = re.findall(r"(?m)(?:^\|.*\n)+", text)
    assert len(tables) == 5
    for lines in (table.splitlines() for table in tables):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1


def test_a_short_table_has_the_mean_and_the_ranking_score_of_each_subset():
    board = made(one("rp", 0.6), one("msp", 0.5))
    text = render_markdown(board, show_all_scores=False)
    tables = re.findall(r"(?m)(?:^\|.*\n)+", text)
    assert len(tables) == 3 and "| row | clip-hard | pt-hard |" in tables[1]
    assert "| rp | 60.0 [56.2, 63.8] | - |" in tables[1] and "make leaderboard" not in text
    # The same line as in the whole leaderboard.
    assert tables[0] in render_markdown(board, FOLDER)


def test_the_difference_of_two_models_is_described_in_words():
    (told,) = make_notes(made(one("rp", 0.6), one("msp", 0.5)))
    assert told.startswith("rp is better than msp: 10.0 points of mean AUAF")
    assert not [*make_notes(made(one("rp", 0.6), one("msp", 0.5), one("mix", 0.4)))]


def test_items_that_were_not_asked_and_items_without_an_answer_are_noted():
    board = made(one("rp", 0.6, available=1300), one("msp", 0.5, available=2600), one("x", 0.4, missing=4))
    asked, missing = make_notes(board)
    assert "1,300 of 2,600 items" in asked and "rp has 1,300" in asked and "msp has all" in asked
    assert missing == "x: 4 of 1,300 items without an answer, counted as answered wrong."
    assert asked in render_markdown(board) and asked in render_html(board)


def test_csv_has_every_score_and_reads_back():
    text = render_csv(
        made(one("rp", 0.6, seeds=(0.5, 0.7)), one("msp", 0.1), one("c", 0.1, "reference"), against="msp")
    )
    read = pd.read_csv(io.StringIO(text), dtype={"best_rank": "Int64"}, keep_default_na=True)
    assert len(read) == 3 * (2 * 4 + 1)
    auaf = read[(read.row == "rp") & (read.subset == "mean") & (read.score == "auaf")].iloc[0]
    assert (auaf.value, auaf.best_rank, auaf.worst_rank, auaf.letter_display) == (0.6, 1, 1, "a")
    assert (auaf.seeds, auaf.seed_min, auaf.seed_max, auaf.num_items) == (2, 0.5, 0.7, 1300)
    assert auaf.difference == pytest.approx(0.5) and auaf.ci_low < 0.6 < auaf.ci_high
    reference = read[read.row == "c"]
    assert reference.best_rank.isna().all() and reference.difference.isna().all()
    kinds = read[read.category == "missing object"]
    assert set(kinds.score) == {"auaf"} and set(kinds.subset) == {"clip-hard"}


def test_names_are_no_formulas_in_csv_and_steer_no_terminal():
    board = made(one("=HYPERLINK(1)", 0.6), one(NASTY, 0.5), one("good", 0.4))
    rows = [*csv.DictReader(io.StringIO(render_csv(board)))]
    assert {row["row"][0] for row in rows} == {"'", "<", "g"} and "\x1b" not in str(rows)
    text = render_markdown(board)
    assert "\x1b" not in text and "<script" not in text


def test_the_page_loads_nothing_and_escapes_what_it_shows():
    board = made(one(NASTY, 0.6), one("good", 0.5), one("c", 0.1, "reference"))
    page = render_html(board)
    assert "<script" not in page and "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert not re.search(r"(src|href)=|url\(|@import|http", page.split("</title>")[1])
    assert page.count("<svg") == page.count("<circle") == 3
    for row in board.rows:
        assert f'aria-label="{format_estimate(row.scores["mean"]["auaf"])}"' in page


def test_drawings_keep_within_their_scale():
    page = render_html(made(one("a", 0.6), one("b", 0.02), one("c", 0.99)))
    xs = [float(x) for x in re.findall(r'(?:x1|x2|cx)="([\d.-]+)"', page)]
    assert xs and min(xs) >= 0 and max(xs) <= 160
    nothing = one("n", 0.6)
    undefined = ScoreEstimate(np.array([np.nan]), np.full(9, np.nan))
    nothing.scores["mean"] = dict.fromkeys(REPORTED_SCORES, undefined)
    assert "<svg" not in render_html(made(nothing))


def test_metrics_are_flat_numbers_of_each_row():
    metrics = make_metrics(made(one("rp", 0.6), one("blind", 0.1, "reference")))
    assert metrics["blind"]["best_rank"] is None
    assert metrics["rp"] == pytest.approx(
        {
            "best_rank": 1,
            "worst_rank": 1,
            "auaf": 0.6,
            "auaf_ci_low": 0.562,
            "auaf_ci_high": 0.638,
            "auaf_clip-hard": 0.6,
            "ff95": 0.5,
            "facc": 0.5,
            "auroc": 0.5,
        }
    )
    lacking = one("rp", 0.6)
    del lacking.scores["mean"]
    assert make_metrics(made(lacking)) == {}


def add_study(release, *models, subset="pt-hard"):
    voters = [{"model": model, "prompt": "prompt-1", "sensitivity": {subset: 0.9}} for model in models]
    write_json(release / "study.json", {"label_error": {}, "doubts": [], "panel": {"voters": voters}})


def test_a_model_that_voted_is_marked_where_it_voted(release, benchmark, row):
    add_study(release, "org/Voter-7B")
    rows = [row("voter_7b", 2.0), row("other", 1.0), row("run", 0.5)._replace(model="org/Voter-7B")]
    made = build_leaderboard(release, benchmark, rows, LeaderboardParams(num_replicates=100))
    marked = {one.row.name: one.row.selection_biased_subsets for one in made.rows}
    assert marked == {"voter_7b": ("pt-hard",), "other": (), "run": ("pt-hard",)}
    text, page = render_markdown(made), render_html(made)
    assert "Models judged the candidates of this release before people did: org/Voter-7B." in text
    lines = [line for line in text.splitlines() if "selected by it*" in line and line.startswith("|")]
    # In the table of the means and in that of the subset, but not in that of the other subset.
    assert [("voter\\_7b" in line, "run" in line) for line in lines] == [(True, False), (False, True)] * 2
    assert "pt-hard selected by it" in lines[0]
    assert page.count("pt-hard selected by it") == 4 and "org/Voter-7B" in page
    short = render_markdown(made, show_all_scores=False)
    assert short.count("*selected by it*") == 3  # the explanation, and one cell for each marked row


def test_drafted_questions_are_no_subset_that_a_model_selected(release, benchmark, row):
    add_study(release, "org/Voter-7B", subset="drafted-aq")
    assert read_panel_models(release) == {"org/Voter-7B": ()}
    rows = [row("voter-7b", 1.0)]
    made = build_leaderboard(release, benchmark, rows, LeaderboardParams(num_replicates=100))
    text = render_markdown(made)
    assert made.rows[0].row.selection_biased_subsets == ()
    assert "drafted-aq" not in text + render_html(made)
    # The model judged questions of the release all the same.
    assert "Models judged the candidates of this release before people did: org/Voter-7B." in text


def test_without_a_panel_nothing_is_marked(release, benchmark, row):
    made = build_leaderboard(release, benchmark, [row("m", 1.0)], LeaderboardParams(num_replicates=100))
    assert made.info.panel_models == ()
    assert "selected by it" not in render_markdown(made) + render_html(made)
    write_json(release / "study.json", {"label_error": {}, "doubts": []})
    assert read_panel_models(release) == {}


def test_texts_of_the_study_are_escaped(release, benchmark, row):
    add_study(release, "<b>x</b>|y")
    made = build_leaderboard(release, benchmark, [row("m", 1.0)], LeaderboardParams(num_replicates=100))
    assert "<b>" not in render_markdown(made) + render_html(made)
