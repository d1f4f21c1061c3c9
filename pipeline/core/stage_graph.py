"""The stages of DVC's two graphs: the one that builds the benchmark, and the one that evaluates it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from pipeline.core.errors import UserError
from pipeline.core.strict_yaml import parse_yaml

BUILD_GRAPH = Path("dvc.yaml")
RESEARCH_GRAPH = Path("research/dvc.yaml")
# Lock files of DVC, in which it keeps what each stage read and wrote.
DVC_LOCK_FILES = tuple(path.with_suffix(".lock") for path in (BUILD_GRAPH, RESEARCH_GRAPH))


def stage_module(stage: str, root: Path = Path()) -> str:
    """Return the dotted module that a stage runs, as its command in dvc.yaml or research/dvc.yaml says.

    >>> stage_module("rank"), stage_module("answer")
    ('pipeline.stages.rank', 'research.stages.answer')
    """
    return read_stages(root=root)[stage]["cmd"].split()[-1]


def find_changed_stages(dataset: str, root: Path = Path()) -> list[str]:
    """Name the stages whose files are not those that DVC recorded when they ran, by their number and size alone.

    Args:
        dataset: the data set in use.
        root: the project's root.

    Returns:
        Names of stages in the order in which they run; empty where DVC has recorded nothing that can be read.
    """
    home, changed = f"data/{dataset}/interim/", []
    for lock in DVC_LOCK_FILES:
        # The names are a hint beside a message about something else, so what cannot be read is ignored.
        with suppress(OSError, UserError, LookupError, TypeError, AttributeError):
            recorded = parse_yaml((root / lock).read_text(encoding="utf-8"), lock)["stages"]
            outputs = {name: output for name, stage in recorded.items() for output in stage.get("outs", ())}
            for name, output in outputs.items():
                if home in output["path"] and _is_changed(root, output):
                    changed.append(name)
    return changed


def _is_changed(root: Path, output: dict[str, Any]) -> bool:
    """Whether a folder has another number of files, or of bytes in them, than an entry of a lock file says."""
    sizes = [path.stat().st_size for path in (root / output["path"]).rglob("*") if path.is_file()]
    return (len(sizes), sum(sizes)) != (output.get("nfiles"), output.get("size"))


def read_stages(*graphs: Path, root: Path = Path()) -> dict[str, dict[str, Any]]:
    """Read the stages of graphs, in the order in which they run.

    Args:
        graphs: `BUILD`, `RESEARCH`; both if none is named.
        root: the project's root.

    Returns:
        The entry of each stage in its dvc.yaml, by name.

    Raises:
        UserError: a graph is missing, or is no valid YAML.
    """
    stages: dict[str, dict[str, Any]] = {}
    for graph in graphs or (BUILD_GRAPH, RESEARCH_GRAPH):
        path = root / graph
        if not path.is_file():
            raise UserError(f"{path}: no such file; run this from the project's root")
        stages |= parse_yaml(path.read_text(encoding="utf-8"), path)["stages"]
    return stages
