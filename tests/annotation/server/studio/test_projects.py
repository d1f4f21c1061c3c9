"""On a real server: a project is for the members of its organisation alone, whoever the gate lets pass."""

from __future__ import annotations

import pytest

from tests.annotation.server.conftest import Studio

pytestmark = pytest.mark.server


def test_service_accounts_are_kept_to_their_organisation(studio: Studio) -> None:
    service = studio.service("ann")
    for address in (
        f"/api/tasks/?project={studio.projects['ben']}",
        f"/api/projects/{studio.projects['ben']}/next/",
    ):
        assert service.get(studio.url + address, timeout=60).status_code in {403, 404}
