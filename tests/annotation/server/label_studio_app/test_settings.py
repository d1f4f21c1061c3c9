"""Test the settings on a real server."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.annotation.server.conftest import Studio

pytestmark = pytest.mark.server


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
