"""What `rgqa annotate status` and `rgqa annotate report` say."""

import threading
from datetime import datetime, timedelta
from math import isnan

import msgspec
import pytest

from annotation.client.collected_answers import print_forecast
from annotation.client.pull import pull_annotations
from annotation.client.push import push_tasks
from annotation.client.report import format_summary, print_report
from annotation.client.status import compute_verdicts_per_hour, print_status
from annotation.study.assignment import wilson_interval
from annotation.study.exports import make_pseudonym, read_verdicts
from annotation.study.private_files import read_or_create_salt
from annotation.study.roster import Annotator, read_roster, write_roster
from pipeline.core.errors import UserError
from pipeline.core.folder_lock import lock_folder
from pipeline.core.json_files import write_json, write_jsonl
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import Task, Verdict
from tests.annotation.client.tiny_project import TITLE
from tests.annotation.conftest import made_task, people
from tests.annotation.study.conftest import quality

# Status


BEGIN = datetime(2026, 1, 1)


@pytest.mark.parametrize(
    ("gaps", "expected"),
    [
        ((None, 30, 30), 120),  # 2 in 60 s
        ((None, 30, 301, 30), 120),  # the pause of 301 s and the submission after it are left out
        ((None, 300), 12),  # 300 s are no pause yet
        ((None, 10, 30), 180),  # 2 in 40 s
    ],
)
def test_speed_is_verdicts_per_hour_of_work(gaps, expected):
    assert compute_verdicts_per_hour(gaps) == pytest.approx(expected)


@pytest.mark.parametrize("gaps", [(), (None,), (None, 301)])
def test_speed_is_unknown_before_two_consecutive_submissions(gaps):
    assert isnan(compute_verdicts_per_hour(gaps))


def table(text):
    """First column -> the other cells of the printed table."""
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in text.splitlines() if "│" in line]
    return {row[0]: row[1:] for row in rows}


ANN = 7


@pytest.fixture
def judged(study):
    """ann judged 4 tasks, one every 30 seconds, and skipped one. The gold question is the second one."""
    study.people[ANN] = "ann@example.org"
    push_tasks()
    tasks = study.in_project(TITLE)
    for number, task in enumerate(tasks[:4]):
        right = "invalid" if int(task["data"]["task"][1:]) % 2 else "valid"
        wrong = {"valid": "invalid", "invalid": "valid"}[right]
        when = (BEGIN + timedelta(seconds=30 * number)).isoformat() + "Z"
        study.annotate(task, second=right if number else wrong, created_at=when, updated_at=when, person=ANN)
    study.annotate(tasks[4], was_cancelled=True, result=[], person=ANN)
    return study


def test_table_shows_count_speed_and_accuracy(judged, capsys):
    capsys.readouterr()
    print_status()
    found = table(capsys.readouterr().out)
    (low, high), (least, most) = wilson_interval(1, 2), wilson_interval(2, 2)
    accuracy = f"1 of 2, 50% ({low:.0%} to {high:.0%}); 2 of 2, 100% ({least:.0%} to {most:.0%})"
    assert found["annotator-01"] == ["", "4", "1", "120", accuracy]
    assert found["annotator-02"] == ["", "0", "0", "", ""]


def test_own_server_adds_stages_and_progress(own, capsys):
    rows = [("ann", "2026", True, ""), ("cyd", "2026", True, "fails gold questions")]
    dan = Annotator(name="dan", pseudonym="adjudicator-01", email="dan@example.org", is_active=False)
    write_roster(DatasetFolders(), [*people("ann", "ben", "cyd"), dan])
    own.report["tiny"] = {
        "annotators": [
            {"email": f"{name}@example.org", "name": "", "consented_at": consent, "is_qualified": passed,
             "stopped_because": reason, "num_training_answered": 0, "num_test_answered": 0}
            for name, consent, passed, reason in rows
        ],
        "tasks": {"num_tasks": 40, "num_decided": 10, "max_votes": 3, "num_votes_on_decided": 18, "num_wanted_votes": 60,
                  "num_waves": 4, "num_finished_waves": 1},
        "assignment_states": {"answered": 30, "open": 1},
    }  # fmt: skip
    own.people[ANN] = "ann@example.org"
    push_tasks()
    for number, task in enumerate(own.in_project(TITLE)[:3]):
        when = (BEGIN + timedelta(seconds=30 * number)).isoformat() + "Z"
        own.annotate(task, created_at=when, updated_at=when, person=ANN)
    capsys.readouterr()
    print_status()
    out = capsys.readouterr().out
    found = table(out)
    stages = ["working", "no consent yet", "stopped: fails gold questions", "removed"]
    assert [found[f"annotator-0{n}"][0] for n in (1, 2, 3)] + [found["adjudicator-01"][0]] == stages
    assert found["annotator-01"][1:3] == ["3", "0"]
    # 10 tasks with three votes each are 30; 18 were enough.
    assert (
        "10 of 40 tasks are decided, 1 of 4 waves are finished; 30 votes, 12 fewer than with 3 votes" in out
    )
    assert "60 votes (at most) take 0.5 hours of work" in out  # 120 an hour


def test_annotators_outside_the_roster_are_listed(judged, capsys):
    judged.annotate(judged.in_project(TITLE)[9], person=1)
    capsys.readouterr()
    print_status()
    assert table(capsys.readouterr().out)[make_pseudonym(1, read_or_create_salt(DatasetFolders()))][1] == "1"


def test_status_changes_nothing(judged):
    judged.requests.clear()
    print_status()
    assert {method for method, _ in judged.requests} == {"GET"}


def test_before_the_first_push_everything_is_empty(study, capsys):
    print_status()
    assert table(capsys.readouterr().out)["annotator-01"][1] == "0"


def test_unreachable_server_is_reported(judged):
    judged.close()
    with pytest.raises(UserError, match="no server answers"):
        print_status()


def test_new_volunteers_wait_for_the_study_lock(own):
    own.report["tiny"] |= {
        "tasks": {
            "num_tasks": 1,
            "num_decided": 0,
            "max_votes": 3,
            "num_votes_on_decided": 0,
            "num_wanted_votes": 0,
            "num_waves": 1,
            "num_finished_waves": 0,
        }
    }
    own.report["tiny"]["annotators"] = [
        {
            "email": "zoe@volunteer.rgqa.local",
            "name": "zoe",
            "num_training_answered": 1,
            "num_test_answered": 0,
            "num_judged": 0,
            "consented_at": "",
            "is_qualified": False,
            "stopped_because": "",
        }
    ]
    thread = threading.Thread(target=print_status)
    with lock_folder(DatasetFolders().study):
        thread.start()
        thread.join(1)
        assert "zoe" not in [person.name for person in read_roster(DatasetFolders())]
    thread.join(60)
    assert "zoe" in [person.name for person in read_roster(DatasetFolders())]


def test_status_and_forecast_use_the_same_answers_and_print_their_source(judged, capsys, monkeypatch):
    capsys.readouterr()
    print_status()
    by_status = capsys.readouterr().out
    print_forecast(None, None)
    by_forecast = capsys.readouterr().out
    # Four judgements and a skip, none of them pulled.
    wanted = f"based on 5 answers, just read from {judged.url}. 5 of them are not pulled yet"
    assert f"status: {wanted}" in by_status and f"forecast: {wanted}" in by_forecast
    assert " 4 judgements are done." in by_forecast
    pull_annotations()
    capsys.readouterr()
    print_forecast(None, None)
    assert "0 of them are not pulled yet" in capsys.readouterr().out
    # Without a server the forecast uses the pulled answers, and says so; the status needs a server.
    monkeypatch.delenv("LABEL_STUDIO_URL")
    monkeypatch.delenv("LABEL_STUDIO_TOKEN")
    print_forecast(None, None)
    said = capsys.readouterr().out
    assert " 4 judgements are done." in said
    assert (
        "based on 5 answers pulled so far, the newest of 2026-01-01 00:01 UTC. No server was reached" in said
    )
    with pytest.raises(UserError, match="no Label Studio is configured"):
        print_status()


# Report


@pytest.fixture
def written(tiny):
    """The report that `collect` wrote last; its path."""
    path = DatasetFolders().stage_dir("collect") / "quality.json"
    write_json(path, quality())
    return path


def test_missing_report_is_explained(tiny):
    with pytest.raises(UserError, match="no quality report yet.*dvc repro collect"):
        print_report()


def test_newer_verdicts_are_reported(written, capsys):
    write_json(written, msgspec.structs.replace(quality(), simulated=False))
    folders = DatasetFolders()
    write_jsonl(folders.record_file(Task), [made_task(n) for n in range(2)])
    chosen = [{"from_name": name, "value": {"choices": ["valid"]}} for name in ("first", "second")]
    row = {"id": 1, "completed_by": "annotator-01", "created_at": "2026-01-01T00:00:00Z", "result": chosen}
    path = folders.annotations / "pulled.json"
    write_json(path, [{"data": {"task": "t0000"}, "annotations": [row]}])
    print_report()
    assert "report: 1 verdict is new or changed since then. Run: dvc repro collect" in capsys.readouterr().out
    write_jsonl(folders.record_file(Verdict), read_verdicts(path, {"t0000", "t0001"})[0])
    print_report()
    said = capsys.readouterr().out
    assert "new or changed" not in said
    assert said.endswith("report: full report -> data/tiny/interim/collect/quality.html\n")


def test_simulated_verdicts_are_marked_first():
    assert next(format_summary(quality(simulated=True))).startswith("SIMULATED VERDICTS")
    assert "SIMULATED" not in "\n".join(format_summary(quality()))


def test_summary_names_excluded_annotators_and_reasons():
    summary = "\n".join(format_summary(quality()))
    assert "excluded: sensitivity: 0 of 7 invalid gold questions" in summary
    assert "WARNING: 1 gold question is discarded" in summary
    assert (
        # Two of fourteen are unanswerable: many replicates have none of them, so alpha has no interval.
        "clip-hard: 12 answerable, 2 unanswerable; 100.0% agreement, alpha 1.00, AC1 1.00 (1.00 to 1.00)"
        in summary
    )
