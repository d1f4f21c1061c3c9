"""Create Label Studio's Python environment from a lock file, and define its environment variables.

A clone keeps the environment in `.venv-label-studio/`. Projects of one's own share one in the user's cache folder, because it takes
about 1 GB.
"""

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
from pipeline.core.folder_lock import lock_folder
from pipeline.core.paths import DATA_DIR
from pipeline.core.project import CODE_ROOT, get_user_cache_dir, is_own_project

ENVIRONMENT_DIR = Path(".venv-label-studio")
LOCK_FILE = Path(__file__).with_name("requirements.lock")
# Our packages that Label Studio imports.
LINKED_PACKAGES = ("annotation", "pipeline")
# The packages need 0.9 GB, and another 0.9 GB in the cache of uv.
MIN_FREE_BYTES = 2_500_000_000
MAIN_MODULE = "annotation.server.label_studio_app.label_studio_main"
# Environment variables of this process that are passed on to Label Studio.
INHERITED_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ")


def find_environment_dir(lock: Path = LOCK_FILE) -> Path:
    """Return the folder of the environment. In the folder that projects share, each lock file has an environment of its own."""
    if is_own_project():
        return get_user_cache_dir() / f"label-studio-{sha256_file(lock)[:12]}"
    return ENVIRONMENT_DIR


def ensure_environment(folder: Path | None = None, lock: Path = LOCK_FILE) -> Path:
    """Create the environment if it is missing, incomplete or from another lock file.

    Args:
        folder: The folder of the environment; None for `find_environment_dir`.
        lock: File that pins all packages.

    Returns:
        The path of its Python interpreter.

    Raises:
        UserError: There is not enough disk space, uv is missing, or a package cannot be installed.
    """
    if folder is None:
        folder = find_environment_dir(lock)
        if is_own_project():
            # Another project may be installing it.
            with lock_folder(folder.parent):
                return ensure_environment(folder, lock)
    python, mark, digest = folder / "bin" / "python", folder / ".ready", sha256_file(lock)
    if python.exists() and mark.exists() and mark.read_text() == digest:
        return python
    uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")
    if uv is None:
        raise UserError(
            "uv is not installed, but is needed to install Label Studio. Run: pip install uv (in a clone: make setup)"
        )
    free = shutil.disk_usage(folder.absolute().parent).free
    if free < MIN_FREE_BYTES:
        raise UserError(
            f"not enough disk space for {folder.absolute()}: Label Studio needs {MIN_FREE_BYTES / 1e9:.1f} GB, but {free / 1e9:.1f} GB are "
            "free. Free some space and run the same command again"
        )
    print(f"serve: installing Label Studio in {folder}/ (once, takes a few minutes)", flush=True)
    # These two steps also complete an interrupted installation.
    failed = f"cannot install Label Studio in {folder}/. Fix this and run the same command again:"
    run_command([uv, "venv", "--quiet", "--allow-existing", "--python", sys.executable, str(folder)], failed)
    run_command([uv, "pip", "sync", "--quiet", "--python", str(python), str(lock)], failed)
    write_text(mark, digest)
    return python


def run_command(command: Sequence[str], failure_message: str, **options: Any) -> bytes:
    """Run a program and return its standard output.

    Args:
        command: The program and its arguments.
        failure_message: First line of the error message.
        options: Options of `subprocess.run`.

    Raises:
        UserError: The program failed. The message contains the end of its standard error output. If this is a
            Python traceback, the message contains only the last line.
    """
    done = subprocess.run(command, capture_output=True, check=False, **options)
    if done.returncode != 0:
        _, traceback, after = done.stderr.decode(errors="replace").rpartition(
            "Traceback (most recent call last):"
        )
        lines = [line for line in after.splitlines() if line and not (traceback and line.startswith(" "))]
        exit_code = f"{Path(command[0]).name} ended with exit code {done.returncode}"
        raise UserError([failure_message, *(lines[-10:] or [exit_code])])
    return done.stdout


def build_environment_variables() -> dict[str, str]:
    """Return the environment variables for Label Studio.

    Only `INHERITED_VARIABLES` are inherited, because Label Studio reads variables with common names such as
    HOST and DEBUG.
    """
    inherited = {name: os.environ[name] for name in INHERITED_VARIABLES if name in os.environ}
    home = str(LABEL_STUDIO_DIR.absolute())
    ours = {
        "PYTHONPATH": str(find_code_dir()),
        "PYTHONUNBUFFERED": "1",
        "DJANGO_SETTINGS_MODULE": "annotation.server.label_studio_app.settings",
        "LABEL_STUDIO_BASE_DATA_DIR": home,
        "XDG_CONFIG_HOME": home,
        "XDG_DATA_HOME": home,
        "RGQA_DATA": str(DATA_DIR.absolute()),
    }
    return inherited | ours | get_database_variables()


def find_code_dir() -> Path:
    """Return a folder from which Label Studio can import our packages.

    In a clone it is the root. An installed package lies beside other packages, whose versions Label Studio must not see. So the folder
    has links to our packages only.
    """
    if (CODE_ROOT / "pyproject.toml").is_file():
        return CODE_ROOT
    folder = LABEL_STUDIO_DIR.absolute() / "code"
    folder.mkdir(parents=True, exist_ok=True)
    for name in LINKED_PACKAGES:
        link, target = folder / name, CODE_ROOT / name
        if not link.is_symlink() or link.readlink() != target:
            link.unlink(missing_ok=True)
            link.symlink_to(target)
    return folder


def get_database_variables() -> dict[str, str]:
    """Return Label Studio's database settings: SQLite, unless RGQA_ANNOTATE_DATABASE names a PostgreSQL
    database.

    Raises:
        UserError: The variable does not have the format `postgresql://user:password@host:port/name`.
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
    raise UserError(
        "RGQA_ANNOTATE_DATABASE is not a database URL. Set it to postgresql://user:password@host:port/name"
    )


def record_database() -> None:
    """Record which database the study uses.

    Raises:
        UserError: The study was started with another database than the configured one. (A new, empty database
            would look like a new study.)
    """
    named, note = get_database_variables(), LABEL_STUDIO_DIR / "database.txt"
    server = "postgresql://{POSTGRE_HOST}:{POSTGRE_PORT}/{POSTGRE_NAME}"
    name = "sqlite" if named["DJANGO_DB"] == "sqlite" else server.format_map(named)
    if not note.exists():
        write_text(note, name)
    elif note.read_text() != name:
        raise UserError(
            f"the accounts and verdicts of {LABEL_STUDIO_DIR} are in {note.read_text()}, but RGQA_ANNOTATE_DATABASE names {name}. "
            f"Restore the variable, or move {LABEL_STUDIO_DIR} away to start from scratch"
        )


def ensure_secret_key() -> str:
    """Return the secret key that signs tokens, sessions and links. The key is created if needed.

    Label Studio must not create the key itself: its keys can begin with `$`, and at the next start Label
    Studio would read such a key as the name of a variable.
    """
    path = LABEL_STUDIO_DIR / ".env"
    if not path.exists():
        write_text(path, f"SECRET_KEY={token_hex(32)}\n")
        path.chmod(0o600)
    return path.read_text().strip().removeprefix("SECRET_KEY=")
