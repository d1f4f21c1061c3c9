"""The stages of DVC's two graphs: the one that builds the benchmark, and the one that evaluates it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipeline.core.errors import UserError
from pipeline.core.yaml_text import read_yaml

BUILD = Path("dvc.yaml")
RESEARCH = Path("research/dvc.yaml")
# Lock files of DVC, in which it keeps what each stage read and wrote.
LOCKS = tuple(path.with_suffix(".lock") for path in (BUILD, RESEARCH))


def dvc_targets(root: Path = Path()) -> dict[str, str]:
    """How `dvc repro`, run in the project's root, is told each stage: `rank`, but `research/dvc.yaml:answer`."""
    return {
        name: name if graph == BUILD else f"{graph}:{name}"
        for graph in (BUILD, RESEARCH)
        for name in read_stages(graph, root=root)
    }


def changed_outputs(dataset: str, root: Path = Path()) -> list[str]:
    """Name the stages whose files are not those that DVC recorded when they ran, by their number and size alone.

    Args:
        dataset: the data set in use.
        root: the project's root.

    Returns:
        Names of stages in the order in which they run; empty where DVC has recorded nothing that can be read.
    """
    home, changed = f"data/{dataset}/interim/", []
    for lock in LOCKS:
        try:
            recorded = read_yaml((root / lock).read_text(encoding="utf-8"), lock)["stages"]
            outputs = {name: output for name, stage in recorded.items() for output in stage.get("outs", ())}
            for name, output in outputs.items():
                if home in output["path"]:
                    folder = root / output["path"]
                    files = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
                    if (len(files), sum(files)) != (output.get("nfiles"), output.get("size")):
                        changed.append(name)
        except (OSError, UserError, LookupError, TypeError, AttributeError):
            continue  # It is a hint beside a message about something else.
    return changed


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
    for graph in graphs or (BUILD, RESEARCH):
        path = root / graph
        if not path.is_file():
            raise UserError(f"{path}: no such file; run this from the project's root")
        stages |= read_yaml(path.read_text(encoding="utf-8"), path)["stages"]
    return stages
