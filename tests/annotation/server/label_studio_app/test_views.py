"""On real servers, one on SQLite and one on PostgreSQL: what a person's page gets, and what is kept of what it sends."""

from __future__ import annotations

import json
from typing import Any

import pytest
import requests

from pipeline.core.paths import DatasetFolders
from tests.annotation.server.conftest import DeskClient, Studio, form_token, report

pytestmark = pytest.mark.server


def test_nothing_is_shown_before_somebody_agreed(studio: Studio) -> None:
    desk = DeskClient(studio.url, studio.link("ann"))
    shown = desk.step({})
    assert (
        shown["show"] == "consent" and {"html", "hash", "contact", "pay", "ethics", "guide"} <= shown.keys()
    )
    assert desk.post({"consent": "another text's"}).status_code == 409
    assert (
        desk.post({"answer": {"place": 1, "first": "valid", "second": "valid", "seconds": 1}}).status_code
        == 404
    )
    assert desk.step({"consent": shown["hash"]})["show"] == "task"
    (row,) = (row for row in report(studio)["people"] if row["email"] == "ann@rgqa.local")
    assert row["consent"] and row["consent_hash"] == shown["hash"]


def test_a_task_is_texts_a_image_and_own_numbers_alone(studio: Studio) -> None:
    desk = studio.desk("ben")
    shown = desk.step({})
    assert shown.keys() - {"guide", "contact"} == {
        "show", "place", "image", "first", "second", "number", "of", "back", "given",
    }  # fmt: skip
    assert (shown["place"], shown["number"], shown["of"], shown["back"], shown["given"]) == (
        1,
        1,
        100,
        None,
        None,
    )
    image = desk.session.get(studio.url + shown["image"], timeout=60)
    assert image.headers["Content-Type"] == "image/png" and image.content[:4] == b"\x89PNG"
    page = desk.session.get(f"{studio.url}/annotate/", timeout=60)
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    # A step names no task, role or verdict.
    told = json.dumps(
        {name: value for name, value in shown.items() if name != "guide"}
    )  # which has images inside
    assert not any(word in told + page.text for word in ("t00", "filter", "expected", "candidate"))


@pytest.mark.parametrize(
    ("body", "status"),
    [({"open": 99}, 404), ({"open": "1"}, 404), ({"open": True}, 404), ({"open": -1}, 404), ({"open": 1 << 40}, 404),
     ({"skip": {"place": 99}}, 404), ({"skip": {"place": 1, "key": "t0001"}}, 400), ({"next": 1}, 400),
     ({"consent": "x", "open": 1}, 400), ([], 415), ("x", 415), ({"consent": "x" * 30_000}, 415)],
)  # fmt: skip
def test_what_is_not_theirs_or_nothing_is_refused(studio: Studio, body: Any, status: int) -> None:
    assert studio.desk("dan").post(body).status_code == status


def test_text_that_is_no_json_is_refused(studio: Studio) -> None:
    desk = studio.desk("dan")
    for data in (b"{", b"[" * 10_000, b"\xff"):
        headers = {"X-CSRFToken": desk.csrf, "Content-Type": "application/json"}
        assert (
            desk.session.post(
                f"{studio.url}/annotate/step", data=data, headers=headers, timeout=60
            ).status_code
            == 415
        )


def test_a_link_opens_one_persons_session_again_and_again(studio: Studio) -> None:
    link = studio.link("fay")
    for _ in range(2):
        answer = requests.get(studio.url + link, timeout=60, allow_redirects=False)
        assert (answer.status_code, answer.headers["Location"]) == (302, "/annotate/")
    other = studio.login("ben")  # who opens it in another's browser is that person from then on
    other.get(studio.url + link, timeout=60)
    assert DeskClient(studio.url, session=other).step({})["show"] == "consent"


def test_who_takes_no_part_leaves_nothing_open(studio: Studio) -> None:
    desk = studio.desk("gus")
    assert desk.step({})["show"] == "task"
    declined = desk.step({"decline": True})
    assert declined["show"] == "thanks" and declined["judged"] == 0
    assert desk.step({})["show"] == "consent"


def test_volunteers_come_by_one_link_with_a_name(studio: Studio) -> None:
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
    desk = DeskClient(studio.url, session=session)
    desk.answer(desk.agree())
    assert come("zoe")[1].status_code == 400  # the name is taken
    assert come("<script>")[1].status_code == 400
    assert come("ann")[1].status_code == 200  # another than the ann who was invited
    link = welcome.text.split('<a href="')[1].split('"')[0]
    assert DeskClient(studio.url, link.removeprefix(studio.url)).step({})["place"] == 2
    pull_annotations()
    assert [(row.name, row.pseudonym) for row in read_roster(DatasetFolders())[14:]] == [
        ("Zoe", "annotator-15"),
        ("ann-2", "annotator-16"),
    ]
    assert '"completed_by":"annotator-15"' in (DatasetFolders().annotations / "pulled.json").read_text()
    push_tasks()
    assert DeskClient(studio.url, link.removeprefix(studio.url)).step({})["place"] == 2
