"""The tiny world run through every stage, its pictures with published scene graphs, as those of GQA's val split have."""

from __future__ import annotations

import contextlib
import importlib
import shutil
from pathlib import Path

import pytest
import yaml

from pipeline.core.params import version
from pipeline.core.paths import Folders
from pipeline.reporting.run_files import Run, read_run
from tests.conftest import TINY
from tests.pipeline.stages.conftest import PARAMS, bags_of_words

STAGES = (
    "ingest",
    "vocabulary",
    "embed",
    "rank",
    "tag",
    "perturb",
    "screen",
    "batch",
    "collect",
    "balance",
    "paper",
    "audit",
    "release",
)


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project folder in which every stage has run; its testdev pictures have graphs."""
    home = tmp_path_factory.mktemp("reported")
    for part in ("source", "truth"):
        shutil.copytree(TINY / part, home / "data/tiny" / part)
    shutil.copy(TINY / "truth/testdev_sceneGraphs.json", home / "data/tiny/source/sceneGraphs")
    (home / "data/tiny/annotations").mkdir()
    ingest = PARAMS["ingest"] | {"graph_splits": ["testdev", "train", "val"]}
    (home / "params.yaml").write_text(
        yaml.safe_dump({"dataset": "tiny", "version": "0.1.0", "tiny": PARAMS | {"ingest": ingest}})
    )
    with contextlib.chdir(home):
        for stage in STAGES:
            if stage == "embed":
                bags_of_words(home / "data/tiny", home / "data/tiny/interim")
            else:
                importlib.import_module(f"pipeline.stages.{stage}").main()
    return home


@pytest.fixture
def here(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That project as the working directory; tests only read it."""
    monkeypatch.chdir(project)
    return project


@pytest.fixture
def run(here: Path) -> Run:
    return read_run(Folders(), version())
