"""Read the stages of the two DVC graphs: dvc.yaml builds the benchmark, research/dvc.yaml evaluates models."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from pipeline.core.errors import UserError
from pipeline.core.strict_yaml import parse_yaml

BUILD_GRAPH = Path("dvc.yaml")
RESEARCH_GRAPH = Path("research/dvc.yaml")
# Lock files, in which DVC records what each stage read and wrote.
DVC_LOCK_FILES = tuple(path.with_suffix(".lock") for path in (BUILD_GRAPH, RESEARCH_GRAPH))


def stage_module(stage: str, root: Path = Path()) -> str:
    """Return the name of the module that a stage runs.

    Args:
        stage: Name of the stage in dvc.yaml or research/dvc.yaml.
        root: Root of the project.

    Example:
        >>> stage_module("rank"), stage_module("answer")
        ('pipeline.stages.rank', 'research.stages.answer')
    """
    return read_stages(root=root)[stage]["cmd"].split()[-1]


def find_changed_stages(dataset: str, root: Path = Path()) -> list[str]:
    """Return the stages whose output files differ from the records of DVC in number or total size.

    Args:
        dataset: The data set in use.
        root: Root of the project.

    Returns:
        Names of stages; empty if the lock files of DVC are missing or cannot be read.
    """
    home, changed = f"data/{dataset}/interim/", []
    for lock in DVC_LOCK_FILES:
        # Errors are ignored, because the result is only a hint in a message about another problem.
        with suppress(OSError, UserError, LookupError, TypeError, AttributeError):
            recorded = parse_yaml((root / lock).read_text(encoding="utf-8"), lock)["stages"]
            outputs = {name: output for name, stage in recorded.items() for output in stage.get("outs", ())}
            for name, output in outputs.items():
                if home in output["path"] and _is_changed(root, output):
                    changed.append(name)
    return changed


def _is_changed(root: Path, output: dict[str, Any]) -> bool:
    """Report whether a folder has another number of files or bytes than its entry in a lock file states."""
    sizes = [path.stat().st_size for path in (root / output["path"]).rglob("*") if path.is_file()]
    return (len(sizes), sum(sizes)) != (output.get("nfiles"), output.get("size"))


def read_stages(*graphs: Path, root: Path = Path()) -> dict[str, dict[str, Any]]:
    """Read the stages of graphs, in the order in which they run.

    Args:
        graphs: Files of the graphs: `BUILD_GRAPH`, `RESEARCH_GRAPH` or both. Without arguments, both are
            read.
        root: Root of the project.

    Returns:
        Name of a stage -> its entry in dvc.yaml.

    Raises:
        UserError: The file of a graph is missing or not valid YAML.
    """
    stages: dict[str, dict[str, Any]] = {}
    for graph in graphs or (BUILD_GRAPH, RESEARCH_GRAPH):
        path = root / graph
        if not path.is_file():
            raise UserError(f"{path}: no such file; run this in the clone of the project")
        stages |= parse_yaml(path.read_text(encoding="utf-8"), path)["stages"]
    return stages
