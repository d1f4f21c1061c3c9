"""Label Studio's own Python environment, `.venv-label-studio/`, made from a pinned lock file on first use."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from pipeline.core.errors import UserError
from pipeline.core.files import replacing

ENVIRONMENT = Path(".venv-label-studio")
LOCK = Path(__file__).with_name("requirements.lock")
NEEDED = 2_500_000_000  # bytes: the packages take 0.9 GB here, and as much again in uv's cache


def ensure(folder: Path = ENVIRONMENT, lock: Path = LOCK) -> Path:
    """Make the environment if it is missing, half made or of another lock file; return its Python.

    Raises:
        UserError: no room, no uv, or a package cannot be installed.
    """
    python = folder / "bin" / "python"
    if ready(folder, lock):
        return python
    uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")
    if uv is None:
        raise UserError("uv is missing, which installs Label Studio; run: make setup")
    room(folder)
    print(f"serve: setting Label Studio up in {folder}/ (once, some minutes)", flush=True)
    if not works(python):
        call([sys.executable, "-m", "venv", "--clear", "--without-pip", str(folder)], folder)
    call([uv, "pip", "sync", "--quiet", "--python", str(python), str(lock)], folder)
    with replacing(folder / ".ready") as file:
        file.write(digest(lock).encode())
    return python


def ready(folder: Path, lock: Path) -> bool:
    """Whether the environment was made to its end, from this lock file."""
    mark = folder / ".ready"
    return mark.exists() and mark.read_text() == digest(lock) and (folder / "bin" / "python").exists()


def digest(lock: Path) -> str:
    return hashlib.sha256(lock.read_bytes()).hexdigest()


def room(folder: Path) -> None:
    """Raises UserError if the disk has no room for the packages."""
    free = shutil.disk_usage(folder.absolute().parent).free
    if free < NEEDED:
        raise UserError(
            f"Label Studio needs {NEEDED / 1e9:.1f} GB for {folder.absolute()}, but {free / 1e9:.1f} GB are free; "
            "make room and run the same command again"
        )


def works(python: Path) -> bool:
    """Whether there is a Python that starts; an interrupted set-up may leave half of one."""
    try:
        return subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def call(command: list[str], folder: Path) -> None:
    """Run a step of the set-up; what was done so far is kept, and the next call goes on from there."""
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()[-10:] or [
            f"{Path(command[0]).name} ended with code {done.returncode}"
        ]
        raise UserError(
            [f"Label Studio cannot be set up in {folder}/; mend this and run the same command again:", *said]
        )
