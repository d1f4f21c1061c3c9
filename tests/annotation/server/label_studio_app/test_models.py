"""Test our tables in Label Studio's database on real servers."""

from __future__ import annotations

import pytest

from tests.annotation.server.conftest import Studio, run_inside

pytestmark = pytest.mark.server


def test_tables_are_created_once_and_have_unique_rows(studio: Studio) -> None:
    lines = [
        "from django.db import IntegrityError, connection, transaction",
        "from django.utils.timezone import now",
        "from annotation.server.label_studio_app.models import Participant, TaskAssignment, ensure_tables",
        "ensure_tables()",
        "ensure_tables()",
        "row = {'user': 10**9, 'dataset': 'x', 'number': 1, 'kind': 'task', 'key': 'a', 'opened_at': now()}",
        "def twice(model, **fields):",
        "    try:",
        "        with transaction.atomic():",
        "            model.objects.create(**fields)",
        "    except IntegrityError:",
        "        return 'refused'",
        "TaskAssignment.objects.create(**row)",
        "Participant.objects.create(user=10**9, dataset='x')",
        "answer = [twice(TaskAssignment, **row | {'key': 'b'}), twice(TaskAssignment, **row | {'number': 2}), twice(Participant, user=10**9, dataset='x')]",
        "TaskAssignment.objects.filter(user=10**9).delete()",
        "Participant.objects.filter(user=10**9).delete()",
    ]
    assert run_inside(studio, "\n".join(lines)) == ["refused"] * 3
