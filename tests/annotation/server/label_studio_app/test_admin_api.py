"""Test the admin API on real servers."""

from __future__ import annotations

import os
from typing import Any

import pytest

from annotation.client.credentials import connect
from tests.annotation.server.conftest import Studio, report, run_inside

pytestmark = pytest.mark.server


def test_report_shows_annotators_and_tasks(studio: Studio) -> None:
    client = studio.open_page("eve")
    client.answer(client.answer(client.step({})))
    progress = report(studio)
    (row,) = (row for row in progress["annotators"] if row["email"] == "eve@rgqa.local")
    assert (row["num_judged"], row["has_failed_gold"], row["is_qualified"]) == (2, False, True)
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
