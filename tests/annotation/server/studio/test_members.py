"""On a real server: accounts, organisations and tokens in Label Studio's database."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import requests

from tests.annotation.server.conftest import Studio

pytestmark = pytest.mark.server


def test_legacy_tokens_open_nothing(studio: Studio, inside: Callable[[str], Any]) -> None:
    keys = inside(
        "from rest_framework.authtoken.models import Token\nanswer = [token.key for token in Token.objects.all()]"
    )
    assert len(keys) == 5  # the administrator, two annotators, two service accounts
    for key in keys:
        for header in ({"Authorization": f"Token {key}"}, {"X-Api-Key": key}):
            assert requests.get(f"{studio.url}/api/projects/", headers=header, timeout=60).status_code == 401


def test_service_accounts_have_no_password(inside: Callable[[str], Any]) -> None:
    assert inside(
        "from users.models import User\n"
        "answer = [user.has_usable_password() for user in User.objects.filter(email__startswith='service.')]"
    ) == [False, False]
