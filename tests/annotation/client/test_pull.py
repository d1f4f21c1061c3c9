"""Answers are pulled from Label Studio, and those of a person are erased."""

import errno
import json
import threading

import pytest

from annotation.client.erase import erase_annotator
from annotation.client.pull import pull_annotations
from annotation.client.push import push_tasks
from annotation.client.status import print_status
from annotation.server.accounts import add_members
from annotation.study.exports import make_pseudonym
from annotation.study.private_files import read_or_create_salt, write_private
from annotation.study.roster import Annotator, read_erased, read_roster, write_roster
from pipeline.core.errors import UserError
from pipeline.core.folder_lock import lock_folder
from pipeline.core.json_files import content_hash, read_json, write_json
from pipeline.core.paths import DatasetFolders
from tests.annotation.client.tiny_project import TITLE, message
from tests.annotation.conftest import made_task, people, write_batch

# Pull


def path():
    return DatasetFolders().annotations / "pulled.json"


def rows():
    """(task, person, annotation number, first answer) of pulled.json, in its order."""
    return [
        (
            row["data"]["task"],
            annotation["completed_by"],
            annotation["id"],
            (annotation["result"] or [{"value": {"choices": ["-"]}}])[0]["value"]["choices"][0],
        )
        for row in json.loads(path().read_bytes())
        for annotation in row["annotations"]
    ]


ANN, BEN, CYD = 7, 8, 9  # numbers of their accounts


@pytest.fixture
def pushed(study):
    study.people |= {ANN: "Ann@example.org", BEN: "ben@example.org", CYD: "cyd@example.org"}
    push_tasks()
    return study


def answer(fake, person, place, **more):
    """Somebody's annotation on the task at some place of the project; returns the task and the annotation."""
    task = fake.in_project(TITLE)[place]
    return task, fake.annotate(task, person=person, **more)


def test_pull_writes_one_sorted_file_with_pseudonyms(pushed):
    given = [answer(pushed, person, place) for person in (CYD, ANN) for place in (5, 0)]
    pull_annotations()
    names = ["annotator-03"] * 2 + ["annotator-01"] * 2
    expected = [
        (task["data"]["task"], name, made["id"], "valid")
        for (task, made), name in zip(given, names, strict=True)
    ]
    assert rows() == sorted(expected)
    assert "@" not in path().read_text()


def test_file_is_a_valid_label_studio_export(pushed):
    task, made = answer(pushed, ANN, 0)
    pull_annotations()
    assert read_json(path()) == [
        {"data": {"task": task["data"]["task"]}, "annotations": [made | {"completed_by": "annotator-01"}]}
    ]


def test_second_pull_does_not_change_the_file(pushed):
    for place in range(4):
        answer(pushed, ANN, place)
    pull_annotations()
    before = path().read_bytes(), path().stat().st_mtime_ns
    pull_annotations()
    assert (path().read_bytes(), path().stat().st_mtime_ns) == before


def test_skipped_and_empty_annotations_are_pulled(pushed):
    answer(pushed, ANN, 0, was_cancelled=True, result=[])
    answer(pushed, ANN, 1, result=[])
    pull_annotations()
    found = {
        annotation["was_cancelled"]: annotation["result"]
        for row in read_json(path())
        for annotation in row["annotations"]
    }
    assert found == {True: [], False: []}


def test_corrected_version_is_added_and_earlier_one_kept(pushed, capsys):
    _, made = answer(pushed, ANN, 0)
    pull_annotations()
    made["result"] = pushed.annotate({"annotations": []}, first="invalid")["result"]
    made["updated_at"] = "2026-02-01T00:00:00.000000Z"
    pull_annotations()
    assert [row[3] for row in rows()] == ["valid", "invalid"]
    assert "1 of 1 annotation answers both questions, 1 corrected later" in capsys.readouterr().out


@pytest.mark.parametrize("lost", ["annotation", "task", "project"])
def test_annotations_deleted_on_the_server_are_kept(pushed, lost):
    task, _ = answer(pushed, ANN, 0)
    answer(pushed, BEN, 0)
    pull_annotations()
    before = path().read_bytes()
    if lost == "annotation":
        task["annotations"].clear()
    elif lost == "task":
        del pushed.tasks[task["id"]]
    else:
        del pushed.projects[task["project"]]
    pull_annotations()
    assert path().read_bytes() == before


def test_verdicts_of_deleted_accounts_are_kept(pushed, capsys):
    _, made = answer(pushed, ANN, 0)
    pull_annotations()
    made["completed_by"] = None
    pull_annotations()
    assert "verdicts: annotator-01 1\n" in capsys.readouterr().out


def test_unknown_annotators_get_distinct_pseudonyms(pushed):
    answer(pushed, ANN, 0)
    answer(pushed, 1, 1)
    pull_annotations()
    assert sorted(row[1] for row in rows()) == sorted(
        ["annotator-01", make_pseudonym(1, read_or_create_salt(DatasetFolders()))]
    )


def test_without_roster_pseudonyms_come_from_account_numbers(study):
    write_roster(DatasetFolders(), [])
    push_tasks()
    answer(study, 7, 0)
    answer(study, 8, 0)
    pull_annotations()
    assert sorted(row[1] for row in rows()) == sorted(
        [
            make_pseudonym(7, read_or_create_salt(DatasetFolders())),
            make_pseudonym(8, read_or_create_salt(DatasetFolders())),
        ]
    )


def test_verdicts_on_one_task_share_a_row(pushed):
    task, _ = answer(pushed, ANN, 0)
    answer(pushed, BEN, 0)
    pull_annotations()
    key = task["data"]["task"]
    assert [(row[0], row[1]) for row in rows()] == [(key, "annotator-01"), (key, "annotator-02")]


def test_paged_pull_loses_nothing_during_annotation(pushed, monkeypatch):
    monkeypatch.setattr("annotation.client.label_studio.PAGE_SIZE", 3)
    for place in range(10):
        answer(pushed, ANN, place * 2)
    meanwhile = iter(range(1, 20, 2))

    def go_on(method, address, number):
        if address == "/api/tasks/" and number in (2, 3):  # an answer on a task of an earlier page
            answer(pushed, ANN, next(meanwhile))

    pushed.after = go_on
    pull_annotations()
    assert len({row[0] for row in rows()}) >= 10
    assert len(rows()) == len(set(rows()))
    pushed.after = lambda *_: None
    pull_annotations()
    assert len(rows()) == 12


def test_interrupted_pull_keeps_the_file(pushed):
    answer(pushed, ANN, 0)
    pull_annotations()
    before = rows()
    answer(pushed, BEN, 1)
    # Reading is tried again by itself, so the connection breaks twice.
    pushed.fault = lambda method, address, number: "drop" if address == "/api/users/" else None
    with pytest.raises(UserError, match="interrupted"):
        pull_annotations()
    assert rows() == before
    pushed.fault = lambda *_: None
    pull_annotations()
    assert {row[1] for row in rows()} == {"annotator-01", "annotator-02"}


def test_one_broken_connection_is_retried(pushed):
    answer(pushed, ANN, 0)
    pushed.requests.clear()
    pushed.fault = lambda method, address, n: "drop" if address == "/api/tasks/" and n == 1 else None
    pull_annotations()
    assert len(rows()) == 1


def test_damaged_file_is_reported_and_not_overwritten(pushed):
    answer(pushed, ANN, 0)
    path().parent.mkdir(parents=True, exist_ok=True)
    path().write_text('[{"data"')
    with pytest.raises(UserError, match=r"pulled.json: not valid JSON"):
        pull_annotations()
    assert path().read_text() == '[{"data"'


def test_full_disk_loses_nothing(pushed, monkeypatch):
    answer(pushed, ANN, 0)
    pull_annotations()
    before = path().read_bytes()
    answer(pushed, ANN, 1)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device", str(path()))

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", full)
        with pytest.raises(OSError, match="No space left"):
            pull_annotations()
    assert path().read_bytes() == before
    assert [file.name for file in path().parent.iterdir()] == ["pulled.json"]
    pull_annotations()
    assert len(rows()) == 2


def test_pull_without_annotations_writes_nothing(pushed, capsys):
    pull_annotations()
    assert not path().exists()
    assert "0 new annotations, 0 in total" in capsys.readouterr().out


def test_server_without_projects_is_not_an_error(study, capsys):
    pull_annotations()
    assert "0 new annotations" in capsys.readouterr().out


def test_pull_prints_the_next_step(pushed, capsys):
    answer(pushed, ANN, 0)
    capsys.readouterr()
    pull_annotations()
    out = capsys.readouterr().out
    assert "1 new annotation, 1 in total" in out
    assert "verdicts: annotator-01 1" in out
    assert out.endswith("pull: Next, run `dvc repro`.\n")


def test_answers_to_an_earlier_batch_are_kept_without_error(pushed, capsys):
    answer(pushed, ANN, 0)
    write_batch([made_task(number) for number in range(50, 60)])
    pull_annotations()
    print_status()
    assert len(rows()) == 1
    assert "1 of another batch" in capsys.readouterr().out


def test_renamed_label_is_reported_and_kept(pushed):
    answer(pushed, ANN, 0, first="okay")
    with pytest.raises(UserError) as caught:
        pull_annotations()
    assert "1 annotation with unknown labels: `first`: 'okay', `second`: 'invalid'" in message(caught)
    assert rows()[0][3] == "okay"


def test_erased_answers_do_not_come_back(pushed):
    gone = make_pseudonym(
        1, read_or_create_salt(DatasetFolders())
    )  # not in the roster: the server still has what they gave
    write_json(DatasetFolders().study / "erased.json", {gone: "2026-01-01"})
    pushed.annotate(pushed.in_project(TITLE)[0], person=1)
    pull_annotations()
    path = DatasetFolders().annotations / "pulled.json"
    assert not path.exists() or gone not in path.read_text()


# Erase


@pytest.fixture
def pulled(study):
    """Ann judged two tasks, Ben one, on another Label Studio; all is pulled."""
    study.people |= {ANN: "ann@example.org", BEN: "ben@example.org"}
    push_tasks()
    for person, place in ((ANN, 0), (ANN, 1), (BEN, 1)):
        study.annotate(study.in_project(TITLE)[place], person=person)
    pull_annotations()
    return study


def by_whom():
    path = DatasetFolders().annotations / "pulled.json"
    rows = json.loads(path.read_bytes()) if path.exists() else []
    return [one["completed_by"] for row in rows for one in row["annotations"]]


def names():
    return [person.name for person in read_roster(DatasetFolders())]


def test_answers_are_deleted_everywhere_and_others_kept(pulled, capsys):
    erase_annotator("ann")
    said = capsys.readouterr().out
    assert "2 annotations (delete the account there by hand)" in said and "2 answers deleted" in said
    assert 'files searched: 0 contain ann@example.org, "ann" or annotator-01' in said
    assert [row["completed_by"] for task in pulled.tasks.values() for row in task["annotations"]] == [BEN]
    assert by_whom() == ["annotator-02"]
    assert names() == ["ben", "cyd"]
    pull_annotations()
    assert by_whom() == ["annotator-02"]


def test_erasing_the_last_annotator_deletes_the_file(pulled):
    erase_annotator("ann")
    erase_annotator("ben")
    assert not (DatasetFolders().annotations / "pulled.json").exists()


def test_erased_pseudonym_is_not_reused(pulled):
    erase_annotator("ann")
    erase_annotator("cyd")
    assert list(read_erased(DatasetFolders())) == ["annotator-01", "annotator-03"]
    assert [(person.name, person.pseudonym) for person in add_members(DatasetFolders(), ["ann"])] == [
        ("ben", "annotator-02"),
        ("ann", "annotator-04"),
    ]


def test_own_server_deletes_account_assignments_and_queue_entries(own, capsys):
    own.people |= {ANN: "ann@example.org"}
    push_tasks()  # queue.json with all that it has: the consent text speaks of pseudonyms
    path = DatasetFolders().study / "queue.json"
    content = read_json(path, dict)
    write_private(
        path,
        content | {"excluded_since": {"ann@example.org": 7}, "removed": {"ann@example.org": "annotator-01"}},
    )
    erase_annotator("ann")
    said = capsys.readouterr().out
    assert "2 annotations, 3 assignments, 1 account" in said and "annotator-01" in said.splitlines()[-1]
    queue = read_json(path, dict)
    others = {"ben@example.org": "annotator-02", "cyd@example.org": "annotator-03"}
    assert (queue["annotators"], queue["excluded_since"], queue["removed"]) == (others, {}, {})
    assert path.stat().st_mode & 0o077 == 0


def test_annotator_is_erased_in_every_data_set(pulled):
    write_roster(DatasetFolders("other"), people("zoe", "ann"))
    erase_annotator("ann")
    assert [person.name for person in read_roster(DatasetFolders("other"))] == ["zoe"]
    assert list(read_erased(DatasetFolders("other"))) == ["annotator-02"]


@pytest.mark.parametrize("words", [b"ask ann@example.org", b'{"name": "ann"}', b"annotator-01 was fast"])
def test_remaining_data_is_reported_with_its_file(pulled, words):
    (DatasetFolders().study / "notes.txt").write_bytes(words)
    with pytest.raises(UserError) as caught:
        erase_annotator("ann")
    assert "1 of" in caught.value.problems[0] and caught.value.problems[1:] == ["data/tiny/study/notes.txt"]


def test_longer_pseudonym_or_name_is_no_match(pulled, capsys):
    (DatasetFolders().study / "notes.txt").write_bytes(b'annotator-011 "anna" Joann')
    erase_annotator("ann")
    assert "0 contain" in capsys.readouterr().out


def test_longer_email_and_keys_of_files_are_no_match(pulled, capsys):
    more = [
        Annotator(name=name, pseudonym=f"annotator-0{number}", email=f"{name}@example.org")
        for number, name in ((4, "joann"), (5, "email"))  # every entry of the roster has a key "email"
    ]
    write_roster(DatasetFolders(), [*people("ann", "ben", "cyd"), *more])
    for name in ("ann", "email"):
        erase_annotator(name)
        assert "0 contain" in capsys.readouterr().out
    assert names() == ["ben", "cyd", "joann"]


@pytest.mark.parametrize("command", [pull_annotations, lambda: erase_annotator("ann")], ids=["pull", "erase"])
def test_commands_wait_for_the_study_lock(pulled, command):
    before = by_whom()
    pulled.requests.clear()
    thread = threading.Thread(target=command)
    with lock_folder(DatasetFolders().study):
        thread.start()
        thread.join(0.5)
        assert thread.is_alive() and pulled.requests == [] and by_whom() == before
    thread.join(60)
    assert not thread.is_alive() and pulled.requests


def test_derived_files_are_listed_with_the_clearing_commands(pulled, capsys, tiny):
    task = pulled.in_project(TITLE)[0]["data"]["task"]
    release = tiny / "data/release/tiny/0.1.0"
    for path, text in {
        DatasetFolders().stage_dir("collect") / "verdicts.jsonl": "annotator-01",
        release / "provenance.jsonl": content_hash("verdict", task, "annotator-01"),
        release / "card.md": "annotator-02",
        tiny / ".dvc/cache/files/md5/ab/cdef": '"annotator":"annotator-01"',
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    erase_annotator("ann")
    said = capsys.readouterr().out
    assert "made from their answers: data/tiny/interim/collect/verdicts.jsonl" in said
    assert "made from their answers: data/release/tiny/0.1.0/provenance.jsonl" in said
    assert "card.md" not in said
    assert "DVC's cache has 1 file" in said and "dvc gc --workspace --force" in said


def test_no_derived_files_are_reported_as_zero(pulled, capsys):
    erase_annotator("ann")
    assert "0 files of stages, releases and DVC's cache contain their answers" in capsys.readouterr().out


def test_interrupted_erasure_can_be_repeated(pulled):
    pulled.fault = lambda method, path, number: (500, "text/html", b"") if method == "DELETE" else None
    with pytest.raises(UserError, match="has an error"):
        erase_annotator("ann")
    assert "ann" in names() and by_whom().count("annotator-01") == 2
    pulled.fault = lambda method, path, number: None
    erase_annotator("ann")
    assert by_whom() == ["annotator-02"]


def test_unknown_name_is_reported_with_the_known_names(study):
    with pytest.raises(UserError, match="zoe.*ann, ben, cyd"):
        erase_annotator("zoe")


def test_missing_server_account_is_reported(study, capsys):
    push_tasks()
    erase_annotator("ann")
    assert "there is no account for ann@example.org" in capsys.readouterr().out


def test_versions_under_another_pseudonym_are_deleted_too(pulled):
    del pulled.people[
        ANN
    ]  # somebody deleted the account by hand, and the server forgot whose the answers are
    for task in pulled.tasks.values():
        for row in task["annotations"]:
            row["completed_by"] = row["completed_by"] if row["completed_by"] == BEN else None
    pull_annotations()
    assert sorted(by_whom()) == ["annotator-01", "annotator-01", "annotator-02", "unknown", "unknown"]
    erase_annotator("ann")
    assert by_whom() == ["annotator-02"]


def test_imported_annotator_is_erased_by_pseudonym(pulled, capsys):
    row = {
        "id": 50,
        "completed_by": "annotator-1a2b3c4d",
        "created_at": "2026",
        "result": [],
        "was_cancelled": True,
    }
    path = DatasetFolders().annotations / "pulled.json"
    rows = json.loads(path.read_bytes())
    write_json(path, [*rows, {"data": {"task": "t0030"}, "annotations": [row]}])
    erase_annotator("annotator-1a2b3c4d")
    said = capsys.readouterr().out
    assert (
        "not in the roster" in said and "1 answer deleted" in said and "0 contain annotator-1a2b3c4d" in said
    )
    assert "annotator-1a2b3c4d" not in by_whom() and len(by_whom()) == 3
    assert names() == ["ann", "ben", "cyd"] and list(read_erased(DatasetFolders())) == ["annotator-1a2b3c4d"]
    with pytest.raises(UserError, match="not in the roster: annotator-01"):  # ann, who is called by name
        erase_annotator("annotator-01")


def test_remote_database_is_reported_as_not_searched(pulled, capsys):
    erase_annotator("ann")
    assert f"the database of {pulled.url} is not a file here" in capsys.readouterr().out


def test_volunteer_with_the_name_of_a_pseudonym_is_never_confused_with_its_owner(pushed):
    # An earlier version let a volunteer have this name. Ann is annotator-01.
    roster = [*read_roster(DatasetFolders())]
    legacy = Annotator(name="annotator-01", pseudonym="annotator-04", email="x@volunteer.rgqa.local")
    write_private(DatasetFolders().study / "roster.json", [*roster, legacy])
    pushed.people |= {10: "x@volunteer.rgqa.local"}
    answer(pushed, ANN, 0)
    answer(pushed, 10, 1)
    pull_annotations()
    with pytest.raises(
        UserError, match="not in the roster: annotator-01. The roster has: .*named-annotator-01"
    ):
        erase_annotator("annotator-01")
    assert [row[1] for row in rows()] == ["annotator-01", "annotator-04"]
    erase_annotator("named-annotator-01")
    assert [row[1] for row in rows()] == ["annotator-01"]
