import pytest

from pipeline.core.files import write_json
from pipeline.leaderboard import board as module
from pipeline.leaderboard.board import LeaderboardParams, basis, board
from pipeline.releasing.check_release import released


@pytest.fixture
def release(tmp_path, tiny_run):
    """A folder that says of itself what a release does; its items are the tiny release's."""
    told = {"dataset": "b", "version": "1.0.0", "release": {"title": "B", "origin": "Drawn.", "folds": 2}}
    write_json(tmp_path / "params.json", told)
    text = (tiny_run / "data/release/tiny/0.1.0/provenance.jsonl").read_bytes()
    (tmp_path / "provenance.jsonl").write_bytes(text)
    return tmp_path


def test_the_board_says_what_it_rests_on(release, benchmark):
    rests_on = basis(release, benchmark, 100)
    assert (rests_on.title, rests_on.origin, rests_on.part) == ("B 1.0.0", "Drawn.", "test")
    assert rests_on.simulated and not rests_on.rehearsal
    assert rests_on.counts["pt-hard"] == (40, 40, 40, {"missing object": 30})
    assert rests_on.pictures == 40  # the same in both subsets


def test_a_board_of_peoples_verdicts_does_not_say_simulated(release, benchmark, monkeypatch):
    monkeypatch.setattr(module, "released", lambda folder: iter(()))
    assert not basis(release, benchmark, 100).simulated
    assert list(released(release))  # there were some


def test_models_come_first_by_their_mean_then_those_that_lack_a_subset_then_references(
    release, benchmark, row
):
    rows = [
        row("reference", 3.0, kind="reference"),
        row("lacking", 2.5, subsets=["pt-hard"]),
        row("poor", 0.0),
        row("skilled", 2.0),
    ]
    made = board(release, benchmark, rows, LeaderboardParams(repetitions=100, against="poor"))
    assert [one.row.name for one in made.rows] == ["skilled", "poor", "lacking", "reference"]
    assert made.ranks["mean"] == {"skilled": 1, "poor": 2}
    assert made.ranks["pt-hard"]["lacking"] == 1 and "reference" not in made.ranks["pt-hard"]


def test_the_row_compared_with_has_no_difference_to_itself_and_may_be_absent(release, benchmark, row):
    rows = [row("msp", 1.0), row("rp", 2.0)]
    made = board(release, benchmark, rows, LeaderboardParams(repetitions=100))
    rp, msp = made.rows
    found = made.change(rp, "mean")
    assert found and found.difference == rp.places["mean"]["auaf"].value - msp.places["mean"]["auaf"].value
    assert found.interval and found.interval[0] <= found.difference <= found.interval[1]
    assert made.change(msp, "mean") is None
    without = board(release, benchmark, [row("rp", 2.0)], LeaderboardParams(repetitions=100))
    assert without.against == "" and without.change(without.rows[0], "mean") is None


def test_the_same_rows_give_the_same_numbers(release, benchmark, row):
    first, second = (
        board(release, benchmark, [row("m", 1.0)], LeaderboardParams(repetitions=100)).rows[0]
        for _ in range(2)
    )
    assert first.places["mean"]["auaf"].drawn.tolist() == second.places["mean"]["auaf"].drawn.tolist()
