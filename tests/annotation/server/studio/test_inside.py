"""On a real server: what comes in at once is kept."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.annotation.server.conftest import ANSWER, Studio

pytestmark = pytest.mark.server


def test_answers_that_come_at_once_are_all_kept(studio: Studio) -> None:
    def answer(turn: int) -> int:
        name = ("ann", "ben")[turn % 2]
        address = f"{studio.url}/api/tasks/{studio.tasks[name][4]}/annotations/"
        return (
            sessions[name].post(address, json={"result": ANSWER, "lead_time": turn}, timeout=120).status_code
        )

    sessions = {name: studio.login(name) for name in ("ann", "ben")}
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(answer, range(40))) == [201] * 40
    for first, name in enumerate(("ann", "ben")):
        kept = (
            studio.service(name)
            .get(f"{studio.url}/api/tasks/{studio.tasks[name][4]}/annotations/", timeout=60)
            .json()
        )
        assert sorted(one["lead_time"] for one in kept) == list(range(first, 40, 2))
