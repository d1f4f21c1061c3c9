"""Test concurrent answers on real servers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.annotation.server.conftest import PageClient, Studio, annotations

pytestmark = pytest.mark.server


def test_concurrent_answers_are_all_stored(studio: Studio) -> None:
    def answer(client: PageClient) -> None:
        shown = client.step({})
        for _ in range(3):
            shown = client.answer(shown)

    names = ("fay", "joe", "kim", "lea")
    before = {name: len(annotations(studio, name)) for name in names}
    with ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(answer, [studio.open_page(name) for name in names]))
    assert {name: len(annotations(studio, name)) - before[name] for name in names} == dict.fromkeys(names, 3)
