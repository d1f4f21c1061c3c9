import shutil
from collections import namedtuple

import pytest

from pipeline.core.errors import UserError
from pipeline.sources.fetching.disk_space import room, spoken

Usage = namedtuple("Usage", "free")


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 bytes"), (999, "999 bytes"), (1500, "1.5 kB"), (65_600_000, "65.6 MB"), (2.03e10, "20.3 GB")],
)
def test_sizes_are_spoken_in_the_units_of_the_download_pages(size, text):
    assert spoken(size) == text


def test_folders_of_one_disk_are_added_up(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(5000))
    room({tmp_path / "a": 2500, tmp_path / "b/c": 2500})
    with pytest.raises(UserError) as caught:
        room({tmp_path / "a": 2500, tmp_path / "b/c": 2600})
    assert caught.value.problems == [
        "not enough room on the disk; nothing was fetched",
        f"{tmp_path}: 5.1 kB needed, 5.0 kB free; make room for 100 bytes more",
    ]
