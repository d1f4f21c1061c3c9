"""A complete run of the tiny world, whose images have published scene graphs, as in GQA's val split."""

from __future__ import annotations

import copy
import shutil
from pathlib import Path

import pytest

from pipeline.benchmark.report.pipeline_run import PipelineRun
from pipeline.core.params import read_release_version
from pipeline.core.paths import DatasetFolders
from tests.tiny.project import PARAMS, TINY, lay_out, run_stages


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project folder in which every stage has run. Its testdev images have scene graphs."""
    ingest = PARAMS["ingest"] | {"graph_splits": ["testdev", "train", "val"]}
    # With few votes, some candidates stay doubtful.
    collect = PARAMS["collect"] | {"simulated_votes": 3, "seed": 5}
    home = lay_out(tmp_path_factory.mktemp("reported"), PARAMS | {"ingest": ingest, "collect": collect})
    shutil.copy(TINY / "truth/testdev_sceneGraphs.json", home / "data/tiny/source/sceneGraphs")
    return run_stages(home)


@pytest.fixture
def here(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project as the working directory. Tests only read it."""
    monkeypatch.chdir(project)
    return project


@pytest.fixture
def run(here: Path) -> PipelineRun:
    return PipelineRun(DatasetFolders(), read_release_version())


def changed(run: PipelineRun, **fields: object) -> PipelineRun:
    """Return a copy of the run with some fields replaced."""
    other = copy.copy(run)
    vars(other).update(fields)
    return other
