"""The tiny world run through every stage, its pictures with published scene graphs, as those of GQA's val split have."""

from __future__ import annotations

import copy
import shutil
from pathlib import Path

import pytest

from pipeline.benchmark.report.pipeline_run import Run
from pipeline.core.params import version
from pipeline.core.paths import Folders
from tests.tiny.project import PARAMS, TINY, lay_out, run_stages


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project folder in which every stage has run; its testdev pictures have graphs."""
    ingest = PARAMS["ingest"] | {"graph_splits": ["testdev", "train", "val"]}
    home = lay_out(tmp_path_factory.mktemp("reported"), PARAMS | {"ingest": ingest})
    shutil.copy(TINY / "truth/testdev_sceneGraphs.json", home / "data/tiny/source/sceneGraphs")
    return run_stages(home)


@pytest.fixture
def here(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That project as the working directory; tests only read it."""
    monkeypatch.chdir(project)
    return project


@pytest.fixture
def run(here: Path) -> Run:
    return Run(Folders(), version())


def changed(run: Run, **fields: object) -> Run:
    """The run with other content in some fields."""
    other = copy.copy(run)
    vars(other).update(fields)
    return other
