"""Label Studio's own Python: an environment `.venv-label-studio/`, made from a pinned lock file on first use, and what it
sees of ours."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Any
from urllib.parse import unquote, urlsplit

from annotation.client.credentials import LABEL_STUDIO_DIR
from pipeline.core.atomic_files import sha256_file, write_text
from pipeline.core.errors import UserError
from pipeline.core.paths import DATA_DIR

ENVIRONMENT_DIR = Path(".venv-label-studio")
LOCK_FILE = Path(__file__).with_name("requirements.lock")
MIN_FREE_BYTES = 2_500_000_000  # bytes: the packages take 0.9 GB here, and as much again in uv's cache
MAIN_MODULE = "annotation.server.label_studio_app.label_studio_main"
INHERITED_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ")  # of the environment


def ensure_environment(folder: Path = ENVIRONMENT_DIR, lock: Path = LOCK_FILE) -> Path:
    """Make the environment if it is missing, half made or of another lock file; return its Python.

    Raises:
        UserError: no room, no uv, or a package cannot be installed.
    """
    python, mark, digest = folder / "bin" / "python", folder / ".ready", sha256_file(lock)
    if python.exists() and mark.exists() and mark.read_text() == digest:
        return python
    uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")
    if uv is None:
        raise UserError("uv is missing, which installs Label Studio; run: make setup")
    free = shutil.disk_usage(folder.absolute().parent).free
    if free < MIN_FREE_BYTES:
        raise UserError(
            f"Label Studio needs {MIN_FREE_BYTES / 1e9:.1f} GB for {folder.absolute()}, but {free / 1e9:.1f} GB are free; "
            "make room and run the same command again"
        )
    print(f"serve: setting Label Studio up in {folder}/ (once, some minutes)", flush=True)
    # Half an environment that an interrupted set-up left is made whole by the same two steps.
    failed = f"Label Studio cannot be set up in {folder}/; mend this and run the same command again:"
    run_command([uv, "venv", "--quiet", "--allow-existing", "--python", sys.executable, str(folder)], failed)
    run_command([uv, "pip", "sync", "--quiet", "--python", str(python), str(lock)], failed)
    write_text(mark, digest)
    return python


def run_command(command: Sequence[str], failure_message: str, **options: Any) -> bytes:
    """Run a program, with options of `subprocess.run`, and return what it wrote.

    Raises:
        UserError: `failed`, and the end of what it said; of a Python traceback its message alone.
    """
    done = subprocess.run(command, capture_output=True, check=False, **options)
    if done.returncode != 0:
        _, traceback, after = done.stderr.decode(errors="replace").rpartition(
            "Traceback (most recent call last):"
        )
        said = [line for line in after.splitlines() if line and not (traceback and line.startswith(" "))]
        ended = f"{Path(command[0]).name} ended with code {done.returncode}"
        raise UserError([failure_message, *(said[-10:] or [ended])])
    return done.stdout


def build_environment_variables() -> dict[str, str]:
    """What Label Studio's Python sees: little, as it reads names like HOST and DEBUG for its own."""
    kept = {name: os.environ[name] for name in INHERITED_VARIABLES if name in os.environ}
    home = str(LABEL_STUDIO_DIR.absolute())
    ours = {
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "PYTHONUNBUFFERED": "1",
        "DJANGO_SETTINGS_MODULE": "annotation.server.label_studio_app.settings",
        "LABEL_STUDIO_BASE_DATA_DIR": home,
        "XDG_CONFIG_HOME": home,
        "XDG_DATA_HOME": home,
        "RGQA_DATA": str(DATA_DIR.absolute()),
    }
    return kept | ours | get_database_variables()


def get_database_variables() -> dict[str, str]:
    """The database as Label Studio's settings want it; SQLite in its folder unless RGQA_ANNOTATE_DATABASE names another.

    Raises:
        UserError: the name is not `postgresql://user:password@host:port/name`.
    """
    address = os.environ.get("RGQA_ANNOTATE_DATABASE")
    if not address:
        return {"DJANGO_DB": "sqlite"}
    with suppress(ValueError):
        parts = urlsplit(address)
        name = parts.path.removeprefix("/")
        if parts.scheme == "postgresql" and parts.hostname and parts.username and name:
            return {
                "DJANGO_DB": "default",
                "POSTGRE_HOST": parts.hostname,
                "POSTGRE_PORT": str(parts.port or 5432),
                "POSTGRE_USER": unquote(parts.username),
                "POSTGRE_PASSWORD": unquote(parts.password or ""),
                "POSTGRE_NAME": unquote(name),
            }
    raise UserError("RGQA_ANNOTATE_DATABASE: expected postgresql://user:password@host:port/name")


def record_database() -> None:
    """Note where the study lies.

    Raises:
        UserError: it lies in another than the one that is named now; an empty one would be taken for the study's.
    """
    named, note = get_database_variables(), LABEL_STUDIO_DIR / "database.txt"
    server = "postgresql://{POSTGRE_HOST}:{POSTGRE_PORT}/{POSTGRE_NAME}"
    name = "sqlite" if named["DJANGO_DB"] == "sqlite" else server.format_map(named)
    if not note.exists():
        write_text(note, name)
    elif note.read_text() != name:
        raise UserError(
            f"the accounts and verdicts of {LABEL_STUDIO_DIR} lie in {note.read_text()}, but RGQA_ANNOTATE_DATABASE names {name}; "
            f"set it as it was, or move {LABEL_STUDIO_DIR} away to begin anew"
        )


def ensure_secret_key() -> str:
    """What signs tokens and sessions, and people's links; made if there is none, as Label Studio's own may begin with `$`, which
    its next start reads as the name of a variable."""
    path = LABEL_STUDIO_DIR / ".env"
    if not path.exists():
        write_text(path, f"SECRET_KEY={token_hex(32)}\n")
        path.chmod(0o600)
    return path.read_text().strip().removeprefix("SECRET_KEY=")
