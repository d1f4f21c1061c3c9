"""Run a stage in a project of one's own: `python -m pipeline.stages rank`. Its dvc.yaml calls this, so that no stage runs with other
code than the project uses.
"""

from __future__ import annotations

import importlib
import sys

from pipeline.core.errors import UserError, require_docstrings, run_command
from pipeline.core.project import find_version_conflict, read_packaged_stages


def run_stage(name: str) -> None:
    """Run a stage in the working directory.

    Raises:
        UserError: There is no such stage, the project uses another version of the code, or the stage fails.
    """
    if name not in (stages := read_packaged_stages()):
        raise UserError(f"{name!r}: no such stage; the stages are {', '.join(stages)}")
    if conflict := find_version_conflict():
        raise UserError(conflict)
    importlib.import_module(f"pipeline.stages.{name}").main()


if __name__ == "__main__":
    require_docstrings()
    run_command(lambda: run_stage(" ".join(sys.argv[1:])))
