"""On a real server: which files of `data/` have an address."""

from __future__ import annotations

import pytest
import requests

from tests.annotation.server.conftest import Studio

pytestmark = pytest.mark.server


HIDDEN = [
    "label-studio/secrets.json",
    "label-studio/label_studio.sqlite3",
    "tiny/truth/hidden.png",
    "tiny/source/questions.json",
    "tiny/study/roster.json",
    "tiny/source/images/../../truth/hidden.png",
    "tiny/source/images/..%2f..%2ftruth%2fhidden.png",
    "/etc/passwd",
    "../../etc/passwd",
    "tiny/source/images",
    "tiny/source/images/",
    "tiny/source/images/none.jpg",
    "tiny/source/images/script.svg",
    "tiny//source/images/n100001.jpg",
    "",
    "tiny/source/images/n100001.jpg\x00",
]


def test_pictures_of_the_data_set_are_shown_and_nothing_else_of_the_folder(
    studio: Studio, ann: requests.Session
) -> None:
    address = f"{studio.url}/data/local-files/"
    shown = ann.get(address, params={"d": "tiny/source/images/n100001.jpg"}, timeout=60)
    assert (shown.status_code, shown.headers["Content-Type"], shown.content[:2]) == (
        200,
        "image/jpeg",
        b"\xff\xd8",
    )
    assert {
        path: ann.get(address, params={"d": path}, timeout=60).status_code for path in HIDDEN
    } == dict.fromkeys(HIDDEN, 404)
    for session in (studio.service("ben"), studio.bearer(studio.secrets.admin.token)):
        assert session.get(address, params={"d": "label-studio/secrets.json"}, timeout=60).status_code == 404
