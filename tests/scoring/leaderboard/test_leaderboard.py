import pytest

from pipeline.core.json_files import write_json
from pipeline.scoring.leaderboard.leaderboard import LeaderboardParams, build_leaderboard, describe_evaluation


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
