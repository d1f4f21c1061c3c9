"""When Label Studio's environment is made, and what is said when it cannot be. No package is installed here."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from annotation.server import environment
from pipeline.core.errors import UserError


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    path = tmp_path / "requirements.lock"
    path.write_text("label-studio==1.23.2\n")
    return path


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The steps of a set-up, which make just the file that shows that they ran."""
    found: list[list[str]] = []

    def call(command: list[str], folder: Path) -> None:
        found.append(command)
        if "venv" in command:
            python = folder / "bin" / "python"
            python.parent.mkdir(parents=True, exist_ok=True)
            python.write_text("#!/bin/sh\n")
            python.chmod(0o755)

    monkeypatch.setattr(environment, "call", call)
    return found


def test_it_is_made_once(tmp_path: Path, lock: Path, calls: list[list[str]]) -> None:
    folder = tmp_path / "environment"
    python = environment.ensure(folder, lock)
    assert ["venv" in calls[0], calls[1][-1]] == [True, str(lock)]
    assert environment.ensure(folder, lock) == python == folder / "bin/python"
    assert len(calls) == 2


def test_another_lock_file_installs_anew_into_the_same_environment(
    tmp_path: Path, lock: Path, calls: list[list[str]]
) -> None:
    environment.ensure(tmp_path / "environment", lock)
    lock.write_text("label-studio==1.23.3\n")
    environment.ensure(tmp_path / "environment", lock)
    assert ["venv" in call for call in calls] == [True, False, True, False]


def test_an_interrupted_set_up_goes_on(tmp_path: Path, lock: Path, calls: list[list[str]]) -> None:
    environment.ensure(tmp_path / "environment", lock)
    (tmp_path / "environment/.ready").unlink()
    environment.ensure(tmp_path / "environment", lock)
    assert ["venv" in call for call in calls] == [True, False, True, False]


def test_half_a_python_is_made_anew(tmp_path: Path, lock: Path, calls: list[list[str]]) -> None:
    environment.ensure(tmp_path / "environment", lock)
    shutil.rmtree(tmp_path / "environment/bin")
    environment.ensure(tmp_path / "environment", lock)
    assert ["venv" in call for call in calls] == [True, False, True, False]


def test_a_full_disk_is_told_before_anything_is_done(
    tmp_path: Path, lock: Path, calls: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = type(shutil.disk_usage(tmp_path))
    monkeypatch.setattr(environment.shutil, "disk_usage", lambda _: usage(10**12, 10**12, 10**9))
    with pytest.raises(UserError, match="needs 2.5 GB .* 1.0 GB are free"):
        environment.ensure(tmp_path / "environment", lock)
    assert calls == []


def test_without_uv_it_says_what_to_run(tmp_path: Path, lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment.shutil, "which", lambda *_, **__: None)
    with pytest.raises(UserError, match="uv is missing.*make setup"):
        environment.ensure(tmp_path / "environment", lock)


def test_what_the_installer_said_is_shown(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="run the same command again(?s:.)*no such package"):
        environment.call(["sh", "-c", "echo 'no such package' >&2; exit 1"], tmp_path)
    with pytest.raises(UserError, match="sh ended with code 7"):
        environment.call(["sh", "-c", "exit 7"], tmp_path)


def test_the_lock_pins_every_package_and_names_no_index() -> None:
    lines = [
        line
        for line in environment.LOCK.read_text().splitlines()
        if line.strip() and not line.lstrip().startswith("#")
    ]
    assert all("==" in line for line in lines)
    assert "label-studio==1.23.2" in lines
    assert not [line for line in lines if "://" in line or line.startswith("-")]
