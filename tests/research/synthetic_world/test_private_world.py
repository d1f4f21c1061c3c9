"""A private world has the layout of the sample, runs stage by stage, and continues after an interruption."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.candidates.encoders.embedding_cache import EmbedParams
from pipeline.core import params
from pipeline.core.errors import UserError
from pipeline.core.json_files import read_json
from pipeline.core.stage_graph import read_stages
from research.synthetic_world import build, private_world
from research.synthetic_world.build import build_documents
from research.synthetic_world.private_world import STATE_FILENAME, PrivateWorld, build_private_world
from research.synthetic_world.secret_seeds import derive_seed, hash_seed

REPO = Path(__file__).parents[3]
FEW = {"testdev": 3, "train": 3, "val": 3}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPO)
    monkeypatch.setattr(build, "SPLIT_SIZES", FEW)
    monkeypatch.setattr(private_world, "SPLIT_SIZES", FEW)


@pytest.fixture
def stages(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the stages that ran, in order."""
    ran: list[str] = []
    monkeypatch.setattr(private_world, "_run_stage", lambda stage, home: ran.append(stage))
    return ran


def test_it_has_source_truth_models_and_parameters(tmp_path: Path, stages: list[str]) -> None:
    build_private_world("a secret", tmp_path / "new")
    name = f"world-{hash_seed('a secret')[:8]}"
    folder = tmp_path / "new/data" / name
    wanted = dict(build_documents(derive_seed("a secret")))
    assert {path: (folder / path).read_bytes() for path in wanted} == wanted
    assert wanted != dict(build_documents(derive_seed("another")))
    assert len(list((folder / "source/images").glob("*.jpg"))) == 3
    for models in ("clip", "vqa"):
        there = {path.name for path in (folder / models).iterdir()}
        assert there == {path.name for path in (REPO / "data/sample" / models).iterdir()}
    file = tmp_path / "new/params.yaml"
    assert params.read_dataset_name(file) == name
    assert params.load_params("embed", EmbedParams, file).model == f"local-dir:data/{name}/clip"
    assert hash_seed("a secret") in params.read_dataset_params(file)["release"]["data_source"]


def test_all_stages_run_in_the_order_of_the_pipeline_and_the_seed_is_written_nowhere(
    tmp_path: Path, stages: list[str]
) -> None:
    build_private_world("a secret", tmp_path)
    assert stages == list(read_stages(root=REPO))
    state = read_json(tmp_path / STATE_FILENAME, PrivateWorld)
    assert state.stages == ("source", *stages)
    assert state.seed_sha256 == hash_seed("a secret")
    for path in tmp_path.rglob("*"):
        if path.suffix in (".json", ".yaml"):
            assert "a secret" not in path.read_text() and str(derive_seed("a secret")) not in path.read_text()


def test_an_interrupted_run_goes_on_behind_the_last_stage_that_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []

    def fails_once_at_rank(stage: str, home: Path) -> None:
        ran.append(stage)
        if ran.count("rank") == 1 and stage == "rank":
            raise UserError("stage rank failed")

    monkeypatch.setattr(private_world, "_run_stage", fails_once_at_rank)
    with pytest.raises(UserError, match="rank failed"):
        build_private_world("a secret", tmp_path)
    build_private_world("a secret", tmp_path)
    assert ran[:5] == ["ingest", "vocabulary", "embed", "rank", "rank"]
    assert len(ran) == len(set(ran)) + 1


def test_a_folder_of_another_seed_or_with_other_files_is_not_changed(
    tmp_path: Path, stages: list[str]
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.txt").write_text("years")
    with pytest.raises(UserError, match="the folder has other files"):
        build_private_world("a secret", tmp_path / "mine")
    build_private_world("a secret", tmp_path / "new")
    before = len(stages)
    with pytest.raises(UserError, match="generated from another seed"):
        build_private_world("another", tmp_path / "new")
    assert len(stages) == before


def test_a_stage_that_fails_is_named(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="stage ingest failed"):
        private_world._run_stage("ingest", tmp_path / "empty")  # no params.yaml there
