"""On real servers: what comes in at once is kept."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.annotation.server.conftest import DeskClient, Studio, annotations

pytestmark = pytest.mark.server


def test_answers_of_many_that_come_at_once_are_all_kept(studio: Studio) -> None:
    def answer(desk: DeskClient) -> None:
        shown = desk.step({})
        for _ in range(3):
            shown = desk.answer(shown)

    names = ("fay", "joe", "kim", "lea")
    before = {name: len(annotations(studio, name)) for name in names}
    with ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(answer, [studio.desk(name) for name in names]))
    assert {name: len(annotations(studio, name)) - before[name] for name in names} == dict.fromkeys(names, 3)
