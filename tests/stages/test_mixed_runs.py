"""Files of `interim/` that do not belong together: one message that names the file, no traceback."""

import importlib
import shutil

import pytest

from pipeline.core.errors import UserError
from pipeline.core.stage_graph import stage_module
from tests.closure import ROOT


@pytest.fixture(scope="module")
def project(tiny_run, tmp_path_factory):
    """A copy of the project in which all stages have run."""
    home = tmp_path_factory.mktemp("mixed") / "project"
    shutil.copytree(tiny_run, home, ignore=shutil.ignore_patterns("release"))
    return home


@pytest.mark.parametrize("share", ["none", "every second row"])
@pytest.mark.parametrize(
    ("stage", "file"),
    [
        ("perturb", "tag/tags.jsonl"),
        ("screen", "ingest/questions.jsonl"),
        ("batch", "ingest/images.jsonl"),
        ("batch", "estimate/estimates.jsonl"),
        ("balance", "estimate/estimates.jsonl"),
        ("balance", "ingest/questions.jsonl"),
        ("paper", "tag/tags.jsonl"),
        ("paper", "ingest/questions.jsonl"),
        ("release", "collect/verified.jsonl"),
        ("release", "ingest/questions.jsonl"),
        ("release", "ingest/images.jsonl"),
        ("audit", "ingest/questions.jsonl"),
        ("audit", "estimate/estimates.jsonl"),
    ],
)
def test_a_file_that_lacks_rows_of_its_run_is_reported_or_tolerated(project, monkeypatch, stage, file, share):
    monkeypatch.chdir(project)
    path = project / "data/tiny/interim" / file
    whole = path.read_bytes()
    path.write_bytes(b"" if share == "none" else b"".join(whole.splitlines(keepends=True)[::2]))
    try:
        importlib.import_module(stage_module(stage, ROOT)).main()
    except UserError as error:
        assert error.problems
    finally:
        path.write_bytes(whole)
