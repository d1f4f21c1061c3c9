from datetime import datetime, timedelta
from math import isnan

import pytest

from annotation.client.push import push
from annotation.client.status import pace, status
from annotation.study.roster import write_roster
from annotation.study.weighing import wilson
from pipeline.core.errors import UserError
from pipeline.core.paths import Folders
from tests.annotation.client.test_push import ANN, BEN, leave

BEGIN = datetime(2026, 1, 1)


def at(*seconds):
    return [BEGIN + timedelta(seconds=second) for second in seconds]


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        ((0, 30, 60), 120),  # 2 in 60 s
        ((60, 0, 30), 120),  # in any order
        ((0, 30, 331, 361), 120),  # the pause of 301 s and the submission after it are left out
        ((0, 300), 12),  # 300 s are no pause yet
        ((0, 10, 40), 180),  # 2 in 40 s
    ],
)
def test_pace_is_submissions_per_hour_of_work(seconds, expected):
    assert pace(at(*seconds)) == pytest.approx(expected)


@pytest.mark.parametrize("seconds", [(), (5,), (0, 301)])
def test_pace_is_unknown_before_there_are_two_submissions_in_a_row(seconds):
    assert isnan(pace(at(*seconds)))


def table(text):
    """First column -> the other cells of the printed table."""
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in text.splitlines() if "│" in line]
    return {row[0]: row[1:] for row in rows}


@pytest.fixture
def judged(study):
    """ann judged 4 of her tasks, one every 30 seconds, and skipped one; the filter question is the second."""
    push()
    tasks = study.in_project(ANN)
    for number, task in enumerate(tasks[:4]):
        right = "invalid" if int(task["data"]["task"][1:]) % 2 else "valid"
        wrong = {"valid": "invalid", "invalid": "valid"}[right]
        when = (BEGIN + timedelta(seconds=30 * number)).isoformat() + "Z"
        study.annotate(task, second=right if number else wrong, created_at=when, updated_at=when)
    study.annotate(tasks[4], was_cancelled=True, result=[])
    return study


def test_the_table_shows_done_open_pace_time_left_and_filter_questions(judged, capsys):
    given = len(judged.keys(ANN))
    capsys.readouterr()
    status()
    found = table(capsys.readouterr().out)
    low, high = wilson(3, 4)
    left = given - 5
    assert found["annotator-01"][4:] == [
        f"4 / {given - 1}",
        "1",
        "120",
        f"{left / 120:.1f}",
        f"3 of 4, 75% ({low:.0%} to {high:.0%})",
    ]
    assert found["annotator-02"][4:] == [f"0 / {len(judged.keys(BEN))}", "0", "", "", ""]
    assert found["all"][4] == "4 / 79"
    done = [int(cell.split(" / ")[0]) for cell in found["annotator-01"][:4]]
    given_by_subset = [int(cell.split(" / ")[1]) for cell in found["annotator-01"][:4]]
    assert (sum(done), sum(given_by_subset)) == (4, given - 1)


def test_begun_tasks_are_open_and_who_left_is_marked(judged, capsys):
    judged.in_project(BEN)[0]["drafts"] = 1
    given = len(judged.keys(BEN))
    leave("cyd")
    capsys.readouterr()
    status()
    found = table(capsys.readouterr().out)
    assert found["annotator-02"][4] == f"0 / {given}"
    assert "annotator-03 (left)" in found


def test_a_shared_project_lists_everybody_who_answered(study, capsys):
    write_roster(Folders(), [])
    push()
    study.annotate(study.in_project("RGQA tiny")[0], person=7)
    capsys.readouterr()
    status()
    out = capsys.readouterr().out
    assert table(out)["everybody"][4] == "1 / 40"
    assert "answered too: filter questions right" in out


def test_status_changes_nothing(judged):
    judged.requests.clear()
    status()
    assert {method for method, _ in judged.requests} == {"GET"}


def test_before_the_first_push_everything_is_empty(study, capsys):
    status()
    assert table(capsys.readouterr().out)["all"][4] == "0 / 0"


def test_no_server_is_told(judged):
    judged.close()
    with pytest.raises(UserError, match="no server answers"):
        status()
