"""Rounds of annotation and private files of a study."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
import yaml

from annotation.study.private_files import read_or_create_salt, write_private
from annotation.study.roster import Annotator, write_roster
from annotation.study.rounds import count_waiting_verdicts, end_round, find_round_files, read_rounds
from pipeline.core.errors import UserError
from pipeline.core.json_files import read_json, write_json, write_jsonl
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import CollectedCandidate, Verdict
from tests.closure import ROOT

# Rounds
# Rounds of annotation: `batch` reads them, and a pull changes none of them, as the real DVC reports on the tiny project.


@pytest.fixture
def collected(tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DatasetFolders:
    """The tiny project after `collect`, its verdicts as people would have given them, all of them pulled."""
    home = tmp_path / "project"
    shutil.copytree(tiny_run, home)
    monkeypatch.chdir(home)
    folders = DatasetFolders()
    for folder in folders.dvc_dirs():
        folder.mkdir(exist_ok=True)
    by_person = {
        name: f"annotator-{number:02}"
        for number, name in enumerate(sorted({v.annotator for v in folders.read_records(Verdict)}), 1)
    }
    tasks: dict[str, list[dict[str, object]]] = {}
    for number, row in enumerate(folders.read_records(Verdict), 1):
        chosen = [
            {"from_name": name, "value": {"choices": [getattr(row, name)]}} for name in ("first", "second")
        ]
        tasks.setdefault(row.task_id, []).append(
            {"id": number, "completed_by": by_person[row.annotator], "result": chosen}
        )
    exported = [{"data": {"task": key}, "annotations": rows} for key, rows in tasks.items()]
    write_json(folders.annotations / "pulled.json", exported)
    params = yaml.safe_load(Path("params.yaml").read_text())
    params["tiny"]["collect"] = {"simulate": False, "max_discarded_rate": 1.0}
    Path("params.yaml").write_text(yaml.safe_dump(params))
    from pipeline.stages import collect

    collect.main()
    return folders


def test_round_stores_verified_candidates(collected: DatasetFolders) -> None:
    number, count = end_round(collected)
    verified = [
        row
        for row in collected.read_records(CollectedCandidate)
        if row.status in ("answerable", "unanswerable")
    ]
    assert (number, count) == (1, len(verified)) and count > 0
    assert sorted(map(msgspec.json.encode, read_rounds(collected))) == sorted(
        map(msgspec.json.encode, verified)
    )


def test_round_stores_the_drafted_questions_that_annotators_decided(collected: DatasetFolders) -> None:
    verified = next(row for row in collected.read_records(CollectedCandidate) if row.status == "unanswerable")
    candidate = msgspec.structs.replace(verified.candidate, candidate_id="draftedaq_n+1", subset="drafted-aq")
    decided = msgspec.structs.replace(verified, candidate=candidate)
    other = msgspec.structs.replace(
        decided, candidate=msgspec.structs.replace(candidate, candidate_id="draftedaq_n+2"), status="doubtful"
    )
    write_jsonl(collected.stage_dir("collect") / "drafted.jsonl", [decided, other])
    end_round(collected)
    assert [row for row in read_rounds(collected) if row.candidate.subset == "drafted-aq"] == [decided]


def test_round_ends_once_and_only_after_collect(collected: DatasetFolders) -> None:
    end_round(collected)
    with pytest.raises(UserError, match="nothing was verified since"):
        end_round(collected)
    pulled = read_json(collected.annotations / "pulled.json")
    pulled[0]["annotations"].pop()
    write_json(collected.annotations / "pulled.json", pulled)
    assert count_waiting_verdicts(collected) >= 1
    with pytest.raises(UserError, match="Run dvc repro collect first"):
        end_round(collected)
    assert list(find_round_files(collected)) == [1]


def test_no_round_ends_with_simulated_verdicts(collected: DatasetFolders) -> None:
    rows = [msgspec.structs.replace(row, simulated=True) for row in collected.read_records(Verdict)]
    write_jsonl(collected.record_file(Verdict), rows)
    with pytest.raises(UserError, match="simulated"):
        end_round(collected)


def test_last_round_counts_for_repeated_candidates(collected: DatasetFolders) -> None:
    rows = [*collected.read_records(CollectedCandidate)][:3]
    opposite = [msgspec.structs.replace(rows[0], status="answerable")]
    write_jsonl(
        collected.rounds / "1.jsonl", [msgspec.structs.replace(row, status="unanswerable") for row in rows]
    )
    write_jsonl(collected.rounds / "10.jsonl", opposite)
    found = {row.candidate.candidate_id: row.status for row in read_rounds(collected)}
    assert found == {row.candidate.candidate_id: "unanswerable" for row in rows[1:]} | {
        rows[0].candidate.candidate_id: "answerable"
    }


def test_misnamed_files_are_refused(collected: DatasetFolders) -> None:
    write_jsonl(collected.rounds / "known.jsonl", [])
    write_jsonl(collected.annotations / "known.jsonl", [])
    with pytest.raises(UserError) as caught:
        read_rounds(collected)
    message = "\n".join(caught.value.problems)
    assert "1.jsonl, 2.jsonl" in message and "Move it to data/tiny/rounds/1.jsonl" in message


def dvc(*words: str) -> str:
    command = [str(Path(sys.executable).with_name("dvc")), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def changed() -> set[str]:
    """The stages that `dvc status` names."""
    return {line[:-1] for line in dvc("status").splitlines() if line.endswith(":") and line[0] != "\t"}


def test_dvc_runs_collect_after_a_pull_and_batch_after_a_round(
    collected: DatasetFolders,
) -> None:
    graph = yaml.safe_load((ROOT / "dvc.yaml").read_text())
    stages = {name: graph["stages"][name] for name in ("batch", "collect", "balance")}
    for stage in stages.values():  # only the data is tested here; the code would be the whole tree
        stage["deps"] = [dep for dep in stage["deps"] if dep.startswith("data/")]
        del stage["params"]
    Path("dvc.yaml").write_text(yaml.safe_dump({"stages": stages}))
    dvc("init", "--no-scm", "--quiet")
    dvc("commit", "--force", "--quiet")
    assert changed() == set()

    pulled = read_json(collected.annotations / "pulled.json")
    pulled[0]["annotations"].pop()
    write_json(collected.annotations / "pulled.json", pulled)
    assert changed() == {"collect"}

    write_jsonl(collected.rounds / "1.jsonl", collected.read_records(CollectedCandidate))
    assert changed() == {"batch", "collect"}


# Private files


@pytest.fixture
def empty_project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def mode(path):
    return path.stat().st_mode & 0o777


@pytest.mark.usefixtures("empty_project")
def test_unchanged_file_is_not_written_again():
    path = Path("a/b.json")
    write_private(path, {"a": 1})
    before = path.stat().st_mtime_ns
    write_private(path, {"a": 1})
    assert path.stat().st_mtime_ns == before


@pytest.mark.usefixtures("empty_project")
def test_readable_file_becomes_private():
    path = Path("b.json")
    write_private(path, 1)
    path.chmod(0o644)
    write_private(path, 1)
    assert mode(path) == 0o600


@pytest.mark.usefixtures("empty_project")
def test_roster_is_private():
    folders = DatasetFolders("birds")
    write_roster(folders, [Annotator(name="ann", pseudonym="annotator-01", email="ann@example.org")])
    assert mode(folders.study / "roster.json") == 0o600


@pytest.mark.usefixtures("empty_project")
def test_salt_is_created_once_per_data_set():
    birds, dogs = read_or_create_salt(DatasetFolders("birds")), read_or_create_salt(DatasetFolders("dogs"))
    assert birds == read_or_create_salt(DatasetFolders("birds")) != dogs
    assert len(bytes.fromhex(birds)) == 32  # 256 bits cannot be tried out
    assert mode(DatasetFolders("birds").study / "salt.json") == 0o600
