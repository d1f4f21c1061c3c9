import json

import msgspec
import pytest

from annotation.client.credentials import Login, read_secrets, write_private, write_secrets
from annotation.client.forget import forget
from annotation.client.pull import pull
from annotation.client.push import push
from annotation.server.accounts import join
from annotation.study.roster import forgotten, read_roster, write_roster
from pipeline.core.errors import UserError
from pipeline.core.files import content_key, read_json
from pipeline.core.paths import Folders
from tests.annotation.client.test_push import TITLE
from tests.annotation.conftest import people

ANN, BEN = 7, 8


@pytest.fixture
def pulled(study):
    """Ann judged two tasks, Ben one, on another Label Studio; all is pulled."""
    study.people |= {ANN: "ann@example.org", BEN: "ben@example.org"}
    push()
    for person, place in ((ANN, 0), (ANN, 1), (BEN, 1)):
        study.annotate(study.in_project(TITLE)[place], person=person)
    pull()
    return study


def by_whom():
    path = Folders().annotations / "pulled.json"
    rows = json.loads(path.read_bytes()) if path.exists() else []
    return [one["completed_by"] for row in rows for one in row["annotations"]]


def names():
    return [person.name for person in read_roster(Folders())]


def test_answers_are_deleted_on_the_server_and_here_and_others_stay(pulled, capsys):
    forget("ann")
    said = capsys.readouterr().out
    assert "2 annotations (delete the account there by hand)" in said and "2 answers taken out" in said
    assert 'files: 0 hold ann@example.org, "ann" or annotator-01' in said
    assert [row["completed_by"] for task in pulled.tasks.values() for row in task["annotations"]] == [BEN]
    assert by_whom() == ["annotator-02"]
    assert names() == ["ben", "cyd"]
    pull()
    assert by_whom() == ["annotator-02"]


def test_the_last_ones_answers_leave_no_file(pulled):
    forget("ann")
    forget("ben")
    assert not (Folders().annotations / "pulled.json").exists()


def test_nobody_gets_the_pseudonym_again(pulled):
    forget("ann")
    forget("cyd")
    assert list(forgotten(Folders())) == ["annotator-01", "annotator-03"]
    assert [(person.name, person.pseudonym) for person in join(Folders(), ["ann"])] == [
        ("ben", "annotator-02"),
        ("ann", "annotator-04"),
    ]


def test_on_our_own_server_account_places_password_and_place_in_the_queue_go_too(own, capsys):
    own.people |= {ANN: "ann@example.org"}
    secrets = read_secrets()
    logins = {name: Login(email=f"{name}@example.org", password="p", link="l") for name in ("ann", "ben")}
    write_secrets(msgspec.structs.replace(secrets, annotators=logins))
    content = {"people": {"ann@example.org": "annotator-01", "ben@example.org": "annotator-02"}}
    write_private(Folders().study / "queue.json", content | {"excluded": ["ann@example.org"]})
    forget("ann")
    assert "2 annotations, 3 places, 1 accounts" in capsys.readouterr().out
    assert list(read_secrets().annotators) == ["ben"]
    queue = read_json(Folders().study / "queue.json", dict)
    assert queue == {"people": {"ben@example.org": "annotator-02"}, "excluded": []}
    assert (Folders().study / "queue.json").stat().st_mode & 0o077 == 0


def test_an_account_is_forgotten_in_every_data_set_that_it_annotated(pulled):
    write_roster(Folders("other"), people("zoe", "ann"))
    forget("ann")
    assert [person.name for person in read_roster(Folders("other"))] == ["zoe"]
    assert list(forgotten(Folders("other"))) == ["annotator-02"]


@pytest.mark.parametrize("words", [b"ask ann@example.org", b'{"name": "ann"}', b"annotator-01 was fast"])
def test_what_the_search_still_finds_is_told_with_its_place(pulled, words):
    (Folders().study / "notes.txt").write_bytes(words)
    with pytest.raises(UserError) as caught:
        forget("ann")
    assert "1 of" in caught.value.problems[0] and caught.value.problems[1:] == ["data/tiny/study/notes.txt"]


def test_a_longer_pseudonym_or_name_is_somebody_elses(pulled, capsys):
    (Folders().study / "notes.txt").write_bytes(b'annotator-011 "anna" Joann')
    forget("ann")
    assert "0 hold" in capsys.readouterr().out


def test_what_was_made_of_the_answers_is_named_with_what_clears_it(pulled, capsys, tiny):
    task = pulled.in_project(TITLE)[0]["data"]["task"]
    release = tiny / "data/release/tiny/0.1.0"
    for path, text in {
        Folders().stage("collect") / "verdicts.jsonl": "annotator-01",
        release / "provenance.jsonl": content_key("verdict", task, "annotator-01"),
        release / "card.md": "annotator-02",
        tiny / ".dvc/cache/files/md5/ab/cdef": '"annotator":"annotator-01"',
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    forget("ann")
    said = capsys.readouterr().out
    assert "made of their answers: data/tiny/interim/collect/verdicts.jsonl" in said
    assert "made of their answers: data/release/tiny/0.1.0/provenance.jsonl" in said
    assert "card.md" not in said
    assert "DVC's cache holds 1 files" in said and "dvc gc --workspace --force" in said


def test_where_nothing_was_made_that_is_said(pulled, capsys):
    forget("ann")
    assert "0 files of stages, releases and DVC's cache hold any of their answers" in capsys.readouterr().out


def test_a_run_that_breaks_off_can_be_run_again(pulled):
    pulled.fault = lambda method, path, number: (500, "text/html", b"") if method == "DELETE" else None
    with pytest.raises(UserError, match="is in trouble"):
        forget("ann")
    assert "ann" in names() and by_whom().count("annotator-01") == 2
    pulled.fault = lambda method, path, number: None
    forget("ann")
    assert by_whom() == ["annotator-02"]


def test_a_name_that_is_not_there_is_told_with_those_that_are(study):
    with pytest.raises(UserError, match="not in the roster: zoe; there are ann, ben, cyd"):
        forget("zoe")


def test_an_address_that_the_server_does_not_know_is_told(study, capsys):
    push()
    forget("ann")
    assert "no account there has the address ann@example.org" in capsys.readouterr().out
