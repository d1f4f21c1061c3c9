"""Label Studio's own Python environment, `.venv-label-studio/`, made from a pinned lock file on first use."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from pipeline.core.errors import UserError
from pipeline.core.files import sha256_file, write_text

ENVIRONMENT = Path(".venv-label-studio")
LOCK = Path(__file__).with_name("requirements.lock")
NEEDED = 2_500_000_000  # bytes: the packages take 0.9 GB here, and as much again in uv's cache


def ensure(folder: Path = ENVIRONMENT, lock: Path = LOCK) -> Path:
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
    if free < NEEDED:
        raise UserError(
            f"Label Studio needs {NEEDED / 1e9:.1f} GB for {folder.absolute()}, but {free / 1e9:.1f} GB are free; "
            "make room and run the same command again"
        )
    print(f"serve: setting Label Studio up in {folder}/ (once, some minutes)", flush=True)
    # Half an environment that an interrupted set-up left is made whole by the same two steps.
    call([uv, "venv", "--quiet", "--allow-existing", "--python", sys.executable, str(folder)], folder)
    call([uv, "pip", "sync", "--quiet", "--python", str(python), str(lock)], folder)
    write_text(mark, digest)
    return python


def call(command: list[str], folder: Path) -> None:
    """Run a step of the set-up; what was done so far is kept, and the next call goes on from there."""
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        ended = f"{Path(command[0]).name} ended with code {done.returncode}"
        said = done.stderr.strip().splitlines()[-10:] or [ended]
        raise UserError(
            [f"Label Studio cannot be set up in {folder}/; mend this and run the same command again:", *said]
        )
