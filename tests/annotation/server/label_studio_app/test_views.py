"""Test the views on real servers, with SQLite and PostgreSQL."""

from __future__ import annotations

import json
from typing import Any

import pytest
import requests

from pipeline.core.paths import DatasetFolders
from tests.annotation.server.conftest import PageClient, Studio, form_token, report

pytestmark = pytest.mark.server


def test_nothing_is_shown_before_consent(studio: Studio) -> None:
    client = PageClient(studio.url, studio.link("ann"))
    shown = client.step({})
    assert (
        shown["screen"] == "consent"
        and {"html", "hash", "contact", "pay", "ethics_approval", "guidelines"} <= shown.keys()
    )
    assert client.post({"consent": "another text's"}).status_code == 409
    assert (
        client.post(
            {"answer": {"assignment": 1, "first": "valid", "second": "valid", "seconds": 1}}
        ).status_code
        == 404
    )
    assert client.step({"consent": shown["hash"]})["screen"] == "task"
    (row,) = (row for row in report(studio)["annotators"] if row["email"] == "ann@rgqa.local")
    assert row["consented_at"] and row["consent_hash"] == shown["hash"]


def test_task_contains_only_texts_image_and_own_numbers(studio: Studio) -> None:
    client = studio.open_page("ben")
    shown = client.step({})
    assert shown.keys() - {"guidelines", "contact"} == {
        "screen", "assignment", "image_url", "first", "second", "task_number", "set_size", "num_done_in_set", "previous_assignment",
        "answer",
    }  # fmt: skip
    assert (
        shown["assignment"],
        shown["task_number"],
        shown["num_done_in_set"],
        shown["previous_assignment"],
        shown["answer"],
    ) == (
        1,
        1,
        0,
        None,
        None,
    )
    image = client.session.get(studio.url + shown["image_url"], timeout=60)
    assert image.headers["Content-Type"] == "image/png" and image.content[:4] == b"\x89PNG"
    page = client.session.get(f"{studio.url}/annotate/", timeout=60)
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    # A step names no task, role or verdict.
    text = json.dumps(
        {name: value for name, value in shown.items() if name != "guidelines"}
    )  # which has images inside
    assert not any(word in text + page.text for word in ("t00", "gold", "expected", "candidate"))


def test_the_page_gets_the_names_of_choices_in_a_set_of_yes_or_no_questions(studio: Studio) -> None:
    client, before = studio.open_page("kim"), studio.queue.read_bytes()
    assert "choices" not in client.step({})
    content = json.loads(before)
    content["rules"]["choices"] = "yes-no"
    studio.queue.write_text(json.dumps(content))
    try:
        assert client.step({})["choices"] == "yes-no"
    finally:
        studio.queue.write_bytes(before)


@pytest.mark.parametrize(
    ("body", "status"),
    [({"reopen": 99}, 404), ({"reopen": "1"}, 404), ({"reopen": True}, 404), ({"reopen": -1}, 404), ({"reopen": 1 << 40}, 404),
     ({"skip": {"assignment": 99}}, 404), ({"skip": {"assignment": 1, "key": "t0001"}}, 400), ({"next": 1}, 400),
     ({"consent": "x", "reopen": 1}, 400), ([], 415), ("x", 415), ({"consent": "x" * 30_000}, 413)],
)  # fmt: skip
def test_invalid_messages_are_refused(studio: Studio, body: Any, status: int) -> None:
    assert studio.open_page("dan").post(body).status_code == status


def test_invalid_json_is_refused(studio: Studio) -> None:
    client = studio.open_page("dan")
    for data in (b"{", b"[" * 10_000, b"\xff"):
        headers = {"X-CSRFToken": client.csrf, "Content-Type": "application/json"}
        assert (
            client.session.post(
                f"{studio.url}/annotate/step", data=data, headers=headers, timeout=60
            ).status_code
            == 415
        )


def test_link_can_be_opened_repeatedly(studio: Studio) -> None:
    link = studio.link("fay")
    for _ in range(2):
        answer = requests.get(studio.url + link, timeout=60, allow_redirects=False)
        assert (answer.status_code, answer.headers["Location"]) == (302, "/annotate/")
    other = studio.login("ben")  # who opens it in another's browser is that person from then on
    other.get(studio.url + link, timeout=60)
    assert PageClient(studio.url, session=other).step({})["screen"] == "consent"


def test_declining_releases_the_open_task(studio: Studio) -> None:
    client = studio.open_page("gus")
    assert client.step({})["screen"] == "task"
    declined = client.step({"is_declined": True})
    assert declined["screen"] == "thanks" and declined["num_judged"] == 0
    assert client.step({})["screen"] == "consent"


def test_volunteers_sign_up_through_one_link_with_a_name(studio: Studio) -> None:
    from annotation.client.pull import pull_annotations
    from annotation.client.push import push_tasks
    from annotation.server.accounts import format_links, update_roster
    from annotation.study.roster import read_roster

    update_roster([], open_link=True)
    (line,) = format_links(DatasetFolders(), [])
    door = line.split()[-1]

    def come(name: str) -> tuple[requests.Session, requests.Response]:
        session = requests.Session()
        token = form_token(session.get(door, timeout=60).text)
        return session, session.post(door, data={"name": name, "csrfmiddlewaretoken": token}, timeout=60)

    session, welcome = come("Zoe")
    assert f"{studio.url}/annotate/open/" in welcome.text
    client = PageClient(studio.url, session=session)
    client.answer(client.agree())
    assert come("zoe")[1].status_code == 400  # the name is taken
    assert come("<script>")[1].status_code == 400
    other, answer = come("ann")
    assert answer.status_code == 200  # another than the ann who was invited
    link = welcome.text.split('<a href="')[1].split('"')[0]
    assert PageClient(studio.url, link.removeprefix(studio.url)).step({})["assignment"] == 2
    pull_annotations()
    # The seat of the second volunteer counts after the first task.
    assert [(row.name, row.pseudonym) for row in read_roster(DatasetFolders())[14:]] == [
        ("Zoe", "annotator-15"),
    ]
    assert '"completed_by":"annotator-15"' in (DatasetFolders().annotations / "pulled.json").read_text()
    second = PageClient(studio.url, session=other)
    second.answer(second.agree())
    pull_annotations()
    assert [(row.name, row.pseudonym) for row in read_roster(DatasetFolders())[14:]] == [
        ("Zoe", "annotator-15"),
        ("ann-2", "annotator-16"),
    ]
    push_tasks()
    assert PageClient(studio.url, link.removeprefix(studio.url)).step({})["assignment"] == 2
