import json
import threading

import pytest

from annotation.client.erase import erase_annotator
from annotation.client.pull import pull_annotations
from annotation.client.push import push_tasks
from annotation.server.accounts import add_members
from annotation.study.private_files import write_private
from annotation.study.roster import Annotator, read_erased, read_roster, write_roster
from pipeline.core.errors import UserError
from pipeline.core.folder_lock import lock_folder
from pipeline.core.json_files import content_hash, read_json, write_json
from pipeline.core.paths import DatasetFolders
from tests.annotation.client.test_push import TITLE
from tests.annotation.conftest import people

ANN, BEN = 7, 8


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
    with pytest.raises(UserError, match="not in the roster: zoe. The roster has: ann, ben, cyd"):
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
