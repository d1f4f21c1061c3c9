"""Test the admin API, accounts, the organisation and the settings on real servers."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

import pytest
import requests

from annotation.client.credentials import connect
from annotation.server.accounts import update_roster
from tests.annotation.server.conftest import Studio, report, run_inside

pytestmark = pytest.mark.server


# Admin API
# Test the admin API on real servers.


def test_report_shows_annotators_and_tasks(studio: Studio) -> None:
    client = studio.open_page("eve")
    client.answer(client.answer(client.step({})))
    progress = report(studio)
    (row,) = (row for row in progress["annotators"] if row["email"] == "eve@rgqa.local")
    assert (row["num_judged"], row["stopped_because"], row["is_qualified"]) == (2, "", True)
    assert (
        progress["tasks"]["num_tasks"] == 100
        and progress["tasks"]["num_waves"] == 10
        and progress["tasks"]["max_votes"] == 2
    )
    assert progress["assignment_states"]["answered"] == sum(
        row["num_judged"] for row in progress["annotators"]
    )


def test_erasing_leaves_no_data(studio: Studio) -> None:
    client = studio.open_page("eve")
    assert connect().erase_annotator("eve@rgqa.local")["annotations"] == 2
    assert client.post({}).status_code == 401
    lines = [
        "from django.db import connection",
        "from annotation.server.label_studio_app.models import Participant, TaskAssignment",
        "from users.models import User",
        "tables = connection.introspection.table_names()",
        "def rows(table):",
        "    with connection.cursor() as cursor:",
        "        cursor.execute(f'SELECT * FROM \"{table}\"')",
        "        return str(cursor.fetchall())",
        "people = set(User.objects.values_list('pk', flat=True))",
        "answer = [[table for table in tables if 'eve@rgqa' in rows(table)],",
        "          [row.pk for model in (Participant, TaskAssignment) for row in model.objects.all() if row.user not in people]]",
    ]
    assert run_inside(studio, "\n".join(lines)) == [[], []]
    if not os.environ.get("RGQA_ANNOTATE_DATABASE"):
        for path in (studio.folder / "data/label-studio").glob("label_studio.sqlite3*"):
            assert b"eve@rgqa" not in path.read_bytes(), path
    assert connect().erase_annotator("eve@rgqa.local") == {"annotations": 0, "assignments": 0, "accounts": 0}


@pytest.mark.parametrize(
    "body",
    [{}, {"email": ""}, {"email": 1}, [], {"email": "nobody@rgqa.local"}, {"email": "admin@rgqa.local"}],
)
def test_only_annotators_can_be_erased(studio: Studio, body: Any) -> None:
    before = report(studio)
    answer = studio.admin().post(f"{studio.url}/annotate/erase", json=body, timeout=60)
    nothing = answer.status_code == 200 and set(answer.json().values()) == {0}
    assert nothing or answer.status_code in {400, 415}
    assert report(studio) == before
    assert studio.admin().get(f"{studio.url}/annotate/erase", timeout=60).status_code == 405


# User accounts
# Test accounts and the organisation on real servers.


def test_all_accounts_share_one_organisation_and_annotators_are_not_staff(studio: Studio) -> None:
    lines = [
        "from organizations.models import Organization, OrganizationMember",
        "from users.models import User",
        "staff = list(User.objects.filter(is_staff=True).values_list('email', flat=True))",
        "answer = [Organization.objects.count(), OrganizationMember.objects.count() - User.objects.count(), staff]",
    ]
    assert run_inside(studio, "\n".join(lines)) == [1, 0, ["admin@rgqa.local"]]


def test_removed_annotator_is_out_at_once_and_returns_with_the_same_link(studio: Studio) -> None:
    bob, link = studio.open_page("bob"), studio.link("bob")
    image = bob.step({})["image_url"]
    update_roster(["bob"], remove=True)
    assert bob.step({})["message"] == "There are no tasks for you at the moment."
    assert bob.post({"reopen": 1}).json()["screen"] == "wait"
    assert bob.session.get(studio.url + image, timeout=60).status_code == 404
    assert requests.get(studio.url + link, timeout=60).status_code == 403
    update_roster(["bob"])
    assert studio.link("bob") == link and studio.open_page("bob").step({})["screen"] == "task"


def test_administrator_and_accounts_are_created_once(
    studio: Studio,
) -> None:
    lines = [
        "from annotation.server.label_studio_app.user_accounts import ensure_administrator, get_or_create_annotator",
        "from users.models import User",
        "wanted = {'email': 'admin@rgqa.local', 'password': 'p', 'token': ''}",
        "before = User.objects.get(email='admin@rgqa.local').password",
        "new = ensure_administrator(wanted)",
        "same = ensure_administrator(wanted | {'token': new}) == new",
        "admin = User.objects.get(email='admin@rgqa.local')",
        "right, admin.password = admin.check_password('p'), before",
        "admin.save()",
        "one, again = get_or_create_annotator('new@rgqa.local'), get_or_create_annotator('new@rgqa.local')",
        "answer = [same, right, one.pk == again.pk, one.has_usable_password(), one.is_staff, User.objects.count()]",
        "again.delete()",
    ]
    same, right, once, password, staff, _ = run_inside(studio, "\n".join(lines))
    assert (same, right, once, password, staff) == (True, True, True, False, False)


# Settings
# Test the settings on a real server.


def test_server_sends_no_telemetry(inside: Callable[[str], Any]) -> None:
    assert (
        inside(
            "from django.conf import settings as s\nfrom core.feature_flags import flag_set\n"
            "answer = [s.DEBUG, s.COLLECT_ANALYTICS, s.LATEST_VERSION_CHECK, bool(s.SENTRY_DSN), bool(s.FRONTEND_SENTRY_DSN),"
            " s.CORS_ALLOW_ALL_ORIGINS, s.LOCAL_FILES_SERVING_ENABLED, s.LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN]"
        )
        == [False] * 8
    )


def test_session_cookie_name_is_unique_per_server(studio: Studio) -> None:
    # A browser keeps cookies by host and not by port: the demo's session would replace the study's.
    (cookie,) = (row for row in studio.open_page("amy").session.cookies if row.name != "csrftoken")
    assert re.fullmatch("rgqa-[0-9a-f]{12}", cookie.name)


def test_sqlite_uses_write_ahead_log_and_timeout(inside: Callable[[str], Any]) -> None:
    if os.environ.get("RGQA_ANNOTATE_DATABASE"):
        pytest.skip("not SQLite")
    pragmas = inside(
        "from django.db import connection as c\ncursor = c.cursor()\n"
        "answer = [cursor.execute(f'PRAGMA {name}').fetchone()[0] for name in ('journal_mode', 'synchronous', 'busy_timeout')]"
    )
    assert pragmas == ["wal", 2, 30_000]  # 2 is FULL
