"""On real servers: our tables beside Label Studio's."""

from __future__ import annotations

import pytest

from tests.annotation.server.conftest import Studio, run_inside

pytestmark = pytest.mark.server


def test_tables_are_made_once_and_hold_everything_once(studio: Studio) -> None:
    lines = [
        "from django.db import IntegrityError, connection, transaction",
        "from django.utils.timezone import now",
        "from annotation.server.label_studio_app.models import Participant, Place, ensure",
        "ensure()",
        "ensure()",
        "row = {'user': 10**9, 'data_set': 'x', 'number': 1, 'kind': 'task', 'key': 'a', 'opened': now()}",
        "def twice(model, **fields):",
        "    try:",
        "        with transaction.atomic():",
        "            model.objects.create(**fields)",
        "    except IntegrityError:",
        "        return 'refused'",
        "Place.objects.create(**row)",
        "Participant.objects.create(user=10**9, data_set='x')",
        "answer = [twice(Place, **row | {'key': 'b'}), twice(Place, **row | {'number': 2}), twice(Participant, user=10**9, data_set='x')]",
        "Place.objects.filter(user=10**9).delete()",
        "Participant.objects.filter(user=10**9).delete()",
    ]
    assert run_inside(studio, "\n".join(lines)) == ["refused"] * 3
