"""What tests share: the tiny world of 8 pictures (made by tests/tiny/make.py) as a project folder of its own."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

TINY = Path(__file__).parent / "tiny"


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project folder whose data set in use is `tiny`; it is the working directory during the test."""
    for part in ("source", "truth"):
        shutil.copytree(TINY / part, tmp_path / "data/tiny" / part)
    shutil.copy(TINY / "params.yaml", tmp_path / "params.yaml")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def set_params(tiny: Path) -> Callable[..., None]:
    """Change parameters of one stage in the tiny project: `set_params("rank", easy=2)`."""

    def change(stage: str, **values: object) -> None:
        path = tiny / "params.yaml"
        document = yaml.safe_load(path.read_text())
        document["tiny"].setdefault(stage, {}).update(values)
        path.write_text(yaml.safe_dump(document))

    return change
