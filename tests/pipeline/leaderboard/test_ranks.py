import numpy as np

from pipeline.leaderboard.board_rows import BoardRow
from pipeline.leaderboard.paired_scores import Measured, RowScores, measure
from pipeline.leaderboard.ranks import better, change, ranks
from pipeline.scorers.answered import Options

SPREAD = np.linspace(-1, 1, 201)  # of a difference's repetitions: 95 % lie within 0.95 of its value


def row(name, value, drawn=None, kind="model"):
    drawn = np.full(201, value) if drawn is None else drawn
    return RowScores(
        BoardRow(name, kind, ({},), ""), {"mean": {"auaf": Measured(np.array([value]), drawn)}}, {}
    )


def test_a_row_is_better_when_the_interval_of_the_paired_difference_excludes_0():
    base = row("base", 0.0).places["mean"]["auaf"]
    for value, expected in ((0.96, True), (0.94, False), (-0.96, False)):
        other = Measured(np.array([value]), value + SPREAD)
        assert better(other, base) == expected
        assert change(other, base).difference == value


def test_rows_that_cannot_be_told_apart_share_a_rank_whatever_their_points():
    """C is ahead of B by points alone; A beats both for sure, and all beat D."""
    rows = [
        row("A", 9.0),
        row("B", 5.0, 5 + SPREAD),
        row("C", 5.5, 5.5 - SPREAD),
        row("D", 1.0),
    ]
    assert ranks(rows, "mean") == {"A": 1, "B": 2, "C": 2, "D": 4}


def test_being_indistinguishable_is_not_handed_on():
    """B can be told apart from neither A nor C, which can be told from each other: 1, 1, 2."""
    noise = np.where(np.arange(201) % 2, 1.0, -1.0)
    rows = [row("A", 2.0), row("B", 1.5, 1.5 + noise), row("C", 1.0)]
    assert ranks(rows, "mean") == {"A": 1, "B": 1, "C": 2}


def test_a_reference_has_no_rank_and_pushes_nobody_down():
    rows = [row("m", 0.5), row("oracle", 0.9, kind="reference"), row("constant", 0.1, kind="reference")]
    assert ranks(rows, "mean") == {"m": 1}


def test_a_row_has_a_rank_where_it_has_a_score():
    lacking = row("lacking", 0.5)._replace(places={})
    undefined = row("undefined", float("nan"))
    assert ranks([row("m", 0.5), lacking, undefined], "mean") == {"m": 1}


def test_a_real_gap_is_found_and_a_chance_one_is_not(benchmark, said):
    """Skills of 2.0 and 0.3 standard deviations differ beyond doubt with 40 pictures; the answers are the same."""
    models = {"skilled": said(2.0, 1), "poor": said(0.3, 1), "twin": said(0.3, 1)}
    rows = [
        BoardRow(name, "model", (dict.fromkeys(benchmark.subsets, one),), "") for name, one in models.items()
    ]
    scored = measure(benchmark, rows, Options(bootstrap=300))
    assert ranks(scored, "mean") == {"skilled": 1, "poor": 2, "twin": 2}
    assert ranks(scored, "pt-hard") == {"skilled": 1, "poor": 2, "twin": 2}
