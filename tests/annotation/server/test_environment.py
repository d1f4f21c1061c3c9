"""When Label Studio's environment is made, what is said when it cannot be, its database and what else it sees of ours. No
package is installed here."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from annotation.client.credentials import LABEL_STUDIO_DIR
from annotation.server import environment
from pipeline.core.errors import UserError

DATABASE = "RGQA_ANNOTATE_DATABASE"
POSTGRES = "postgresql://rgqa:p%40ss@db.example.org:5433/study"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The server's folder of a project in which nothing runs."""
    monkeypatch.chdir(tmp_path)
    LABEL_STUDIO_DIR.mkdir(parents=True)
    return LABEL_STUDIO_DIR.absolute()


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    path = tmp_path / "requirements.lock"
    path.write_text("label-studio==1.23.2\n")
    return path


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The steps of a set-up, which make just the file that shows that they ran."""
    found: list[list[str]] = []

    def call(command: list[str], failed: str) -> None:
        found.append(command)
        if "venv" in command:
            python = Path(command[-1]) / "bin" / "python"
            python.parent.mkdir(parents=True, exist_ok=True)
            python.write_text("#!/bin/sh\n")
            python.chmod(0o755)

    monkeypatch.setattr(environment, "run_command", call)
    return found


def test_environment_is_created_once(tmp_path: Path, lock: Path, calls: list[list[str]]) -> None:
    folder = tmp_path / "environment"
    python = environment.ensure_environment(folder, lock)
    assert ["venv" in calls[0], calls[1][-1]] == [True, str(lock)]
    assert environment.ensure_environment(folder, lock) == python == folder / "bin/python"
    assert len(calls) == 2


def test_changed_lock_file_reinstalls_the_environment(
    tmp_path: Path, lock: Path, calls: list[list[str]]
) -> None:
    environment.ensure_environment(tmp_path / "environment", lock)
    lock.write_text("label-studio==1.23.3\n")
    environment.ensure_environment(tmp_path / "environment", lock)
    assert ["venv" in call for call in calls] == [True, False, True, False]


def test_interrupted_installation_is_completed(tmp_path: Path, lock: Path, calls: list[list[str]]) -> None:
    environment.ensure_environment(tmp_path / "environment", lock)
    (tmp_path / "environment/.ready").unlink()
    environment.ensure_environment(tmp_path / "environment", lock)
    assert ["venv" in call for call in calls] == [True, False, True, False]


def test_incomplete_python_is_recreated(tmp_path: Path, lock: Path, calls: list[list[str]]) -> None:
    environment.ensure_environment(tmp_path / "environment", lock)
    shutil.rmtree(tmp_path / "environment/bin")
    environment.ensure_environment(tmp_path / "environment", lock)
    assert ["venv" in call for call in calls] == [True, False, True, False]


def test_full_disk_is_reported_before_installation(
    tmp_path: Path, lock: Path, calls: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = type(shutil.disk_usage(tmp_path))
    monkeypatch.setattr(environment.shutil, "disk_usage", lambda _: usage(10**12, 10**12, 10**9))
    with pytest.raises(UserError, match="needs 2.5 GB, but 1.0 GB are free"):
        environment.ensure_environment(tmp_path / "environment", lock)
    assert calls == []


def test_missing_uv_is_reported(tmp_path: Path, lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment.shutil, "which", lambda *_, **__: None)
    with pytest.raises(UserError, match="uv is not installed.*pip install uv.*make setup"):
        environment.ensure_environment(tmp_path / "environment", lock)


def test_projects_of_ones_own_share_an_environment_for_each_lock_file(
    home: Path, lock: Path, calls: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert environment.find_environment_dir(lock) == environment.ENVIRONMENT_DIR
    Path("rgqa-version.yaml").write_text("")
    python = environment.ensure_environment(lock=lock)
    assert python.is_relative_to(tmp_path / "cache/rgqa-pipeline") and len(calls) == 2
    other = tmp_path / "other"
    other.mkdir()
    (other / "rgqa-version.yaml").write_text("")
    monkeypatch.chdir(other)
    assert environment.ensure_environment(lock=lock) == python and len(calls) == 2
    lock.write_text("label-studio==1.23.3\n")
    assert environment.ensure_environment(lock=lock) != python and python.exists()


def test_label_studio_sees_only_our_packages_of_an_environment(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = tmp_path / "site-packages"
    for name in ("annotation", "pipeline", "numpy"):
        (packages / name).mkdir(parents=True)
    monkeypatch.setattr(environment, "CODE_ROOT", packages)
    for _ in range(2):
        folder = Path(environment.build_environment_variables()["PYTHONPATH"])
        assert {path.name: path.resolve() for path in folder.iterdir()} == {
            name: packages / name for name in ("annotation", "pipeline")
        }
    # The links follow an environment that has moved.
    monkeypatch.setattr(environment, "CODE_ROOT", packages.rename(tmp_path / "moved"))
    assert (environment.find_code_dir() / "pipeline").resolve() == tmp_path / "moved/pipeline"


def test_failed_installation_is_reported(tmp_path: Path, lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uv = tmp_path / "uv"
    uv.write_text("#!/bin/sh\necho 'no such package' >&2\nexit 1\n")
    uv.chmod(0o755)
    monkeypatch.setattr(environment.shutil, "which", lambda *_, **__: str(uv))
    with pytest.raises(UserError, match="cannot install .* run the same command again:\nno such package"):
        environment.ensure_environment(tmp_path / "environment", lock)


def test_failed_command_shows_its_output() -> None:
    with pytest.raises(UserError, match="mend this:\nno such package"):
        environment.run_command(["sh", "-c", "echo 'no such package' >&2; exit 1"], "mend this:")
    with pytest.raises(UserError, match="mend this:\nsh ended with exit code 7"):
        environment.run_command(["sh", "-c", "exit 7"], "mend this:")
    assert environment.run_command(["cat"], "mend this:", input=b"{}") == b"{}"


def test_only_the_message_of_a_traceback_is_shown() -> None:
    said = 'warning: x\nTraceback (most recent call last):\n  File "a.py", line 1\n    f()\nOperationalError: password wrong\nfor user "rgqa"\n'
    with pytest.raises(UserError) as error:
        environment.run_command(["sh", "-c", "cat >&2; exit 1"], "mend this:", input=said.encode())
    assert error.value.problems == ["mend this:", "OperationalError: password wrong", 'for user "rgqa"']


def test_the_lock_pins_every_package_and_names_no_index() -> None:
    lines = [
        line
        for line in environment.LOCK_FILE.read_text().splitlines()
        if line.strip() and not line.lstrip().startswith("#")
    ]
    assert all("==" in line for line in lines)
    assert "label-studio==1.23.2" in lines
    assert not [line for line in lines if "://" in line or line.startswith("-")]


def test_variables_that_label_studio_would_read_are_not_inherited(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = {"HOST": "example.org", "DEBUG": "1", "USERNAME": "me", "LABEL_STUDIO_HOST": "x"}
    for name, value in ({"PATH": "/bin", "PYTHONPATH": "/elsewhere"} | outside).items():
        monkeypatch.setenv(name, value)
    seen = environment.build_environment_variables()
    assert seen["PATH"] == "/bin"
    assert not outside.keys() & seen.keys()
    assert seen["PYTHONPATH"] == str(Path(__file__).parents[3])
    assert (seen["LABEL_STUDIO_BASE_DATA_DIR"], seen["RGQA_DATA"]) == (str(home), str(home.parent))


def test_sqlite_is_the_default_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(DATABASE, raising=False)
    assert environment.get_database_variables() == {"DJANGO_DB": "sqlite"}
    monkeypatch.setenv(DATABASE, POSTGRES)
    assert environment.get_database_variables() == {
        "DJANGO_DB": "default",
        "POSTGRE_HOST": "db.example.org",
        "POSTGRE_PORT": "5433",
        "POSTGRE_USER": "rgqa",
        "POSTGRE_PASSWORD": "p@ss",
        "POSTGRE_NAME": "study",
    }


@pytest.mark.parametrize(
    ("address", "host", "port", "password"),
    [
        ("postgresql://u:p@h/n", "h", "5432", "p"),
        ("postgresql://u@h/n", "h", "5432", ""),
        ("postgresql://u:p@ss@h:/n?sslmode=require", "h", "5432", "p@ss"),
        ("postgresql://u:a:b@[::1]:99/n", "::1", "99", "a:b"),
    ],
)
def test_missing_parts_of_database_url_have_defaults(address, host, port, password, monkeypatch) -> None:
    monkeypatch.setenv(DATABASE, address)
    named = environment.get_database_variables()
    assert (named["POSTGRE_HOST"], named["POSTGRE_PORT"], named["POSTGRE_PASSWORD"]) == (host, port, password)


@pytest.mark.parametrize(
    "address",
    [
        "mysql://u:p@h/n",
        "postgresql://h/n",
        "postgresql://u@h",
        "postgresql://u@h:port/n",
        "postgresql://u@h:99999/n",
        "study",
        "postgresql:///n",
    ],
)
def test_invalid_database_url_is_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DATABASE, address)
    with pytest.raises(UserError, match="RGQA_ANNOTATE_DATABASE.*postgresql://user:password@host:port/name"):
        environment.get_database_variables()


def test_study_stays_in_its_database(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DATABASE, POSTGRES)
    environment.record_database()
    environment.record_database()
    monkeypatch.delenv(DATABASE)
    with pytest.raises(
        UserError,
        match="are in postgresql://db.example.org:5433/study, but RGQA_ANNOTATE_DATABASE names sqlite",
    ):
        environment.record_database()
    assert "p@ss" not in (home / "database.txt").read_text()
