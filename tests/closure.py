"""Which of the project's own modules a module needs, found by reading its imports (late ones too).

python -m tests.closure     writes the code that each stage needs into its `deps`, in dvc.yaml and research/dvc.yaml
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from pipeline.core.stage_graph import BUILD, RESEARCH, read_stages

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("pipeline", "annotation", "simulation", "sample_world", "studies")
# Packages whose modules are listed in `deps` one by one, because they are edited often and most stages need few of them. All
# other packages are listed as a whole: DVC reads and writes all `deps` of all stages twice for each stage that it runs, so
# listing every module would cost seconds.
BY_MODULE = (Path("pipeline/words"),)
# Data files that modules of these packages read.
TABLES_OF = {Path("pipeline/words/lexicon.py"): Path("pipeline/words/kinds.tsv")}


def dvc_targets(root: Path = ROOT) -> dict[str, str]:
    """How `dvc repro`, run in the project's root, names each stage: `rank`, but `research/dvc.yaml:answer`."""
    return {
        name: name if graph == BUILD else f"{graph}:{name}"
        for graph in (BUILD, RESEARCH)
        for name in read_stages(graph, root=root)
    }


def file_of(module: str) -> Path | None:
    """The file of a dotted name, relative to the project's root; None if it is not a module of ours."""
    base = ROOT / Path(*module.split("."))
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path.relative_to(ROOT)
    return None


@cache
def imports(path: Path) -> frozenset[Path]:
    """Modules of the project that this one imports directly."""
    package = path.parent.parts
    names: set[str] = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            names |= {module} | {f"{module}.{alias.name}" for alias in node.names}
    own = {name for name in names if name.split(".")[0] in PACKAGES}
    return frozenset(file for name in own if (file := file_of(name)))


def closure(path: Path) -> set[Path]:
    """All modules of the project that running this one can need, itself included."""
    seen, todo = set(), [path]
    while todo:
        current = todo.pop()
        if current not in seen:
            seen.add(current)
            todo += imports(current)
    return seen


def code_deps(stage: str) -> list[str]:
    """The code in a stage's `deps`: its module, the modules that it needs of the packages in `BY_MODULE`, with their tables, and
    each other package that it needs any module of."""
    own = Path(f"pipeline/stages/{stage}.py")
    deps = {own}
    for file in closure(own) - {own}:
        package = Path(*file.parent.parts[:2])
        deps.add(file if package in BY_MODULE else package)
        if file in TABLES_OF:
            deps.add(TABLES_OF[file])
    return sorted(dep.as_posix() for dep in deps)


def modules(room: Path) -> list[Path]:
    """All modules in a folder and below it."""
    return [file.relative_to(ROOT) for file in sorted((ROOT / room).rglob("*.py"))]


def with_code_deps(text: str, stages: Iterable[str]) -> str:
    """The text of a graph with the code in each stage's `deps` as the imports have it."""
    for stage in stages:
        lines = "".join(f"      - {dep}\n" for dep in code_deps(stage))
        text = re.sub(
            rf"(?m)(^  {stage}:\n(?:    .*\n)*?    deps:\n)(?:      - (?!data/).*\n)*", rf"\g<1>{lines}", text
        )
    return text


if __name__ == "__main__":
    for graph in (BUILD, RESEARCH):
        path = ROOT / graph
        path.write_text(with_code_deps(path.read_text(), read_stages(graph, root=ROOT)))
