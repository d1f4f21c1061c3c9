"""Find the modules of the project that a module needs, by its imports, including late ones.

python -m tests.closure     write the code that each stage needs into its `deps` in dvc.yaml and research/dvc.yaml,
                            and copy dvc.yaml into the package
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from pipeline.core.project import PACKAGED_GRAPH
from pipeline.core.stage_graph import BUILD_GRAPH, RESEARCH_GRAPH, read_stages

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("pipeline", "annotation", "research")
REGISTRY = Path("pipeline/research_registry.py")
# Packages whose modules are listed in `deps` one by one, because they are edited often and most stages need few of them. Other packages
# are listed as a whole, because DVC reads and writes all `deps` twice for each stage that it runs, and listing every module would take
# seconds.
BY_MODULE = (Path("pipeline/language"),)
# Module of these packages -> the data file that it reads.
TABLES_OF = dict.fromkeys(
    (
        Path("pipeline/language/lexicon.py"),
        Path("pipeline/scoring/reason_words.py"),
        Path("pipeline/benchmark/release/wheel.py"),
    ),
    Path("pipeline/language/kinds.tsv"),
)


def dvc_targets(root: Path = ROOT) -> dict[str, str]:
    """Return the target of each stage for `dvc repro` in the root: `rank`, or `research/dvc.yaml:answer`."""
    return {
        name: name if graph == BUILD_GRAPH else f"{graph}:{name}"
        for graph in (BUILD_GRAPH, RESEARCH_GRAPH)
        for name in read_stages(graph, root=root)
    }


def file_of(module: str) -> Path | None:
    """Return the file of a module, relative to the root; None if it is not a module of the project."""
    base = ROOT / Path(*module.split("."))
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path.relative_to(ROOT)
    return None


@cache
def imports(path: Path) -> frozenset[Path]:
    """Return the modules of the project that a module imports directly."""
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
    found = {file for name in own if (file := file_of(name))}
    if REGISTRY in found and path.name != "main.py":
        found |= loaded_by_registry(frozenset(names), (ROOT / path).read_text(encoding="utf-8"))
    return frozenset(found)


def loaded_by_registry(names: frozenset[str], text: str) -> set[Path]:
    """Return the modules of `research` that are loaded by the registry functions that a module uses."""
    found: set[Path] = set()
    for node in ast.parse((ROOT / REGISTRY).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and (
            f"pipeline.research_registry.{node.name}" in names or f"research_registry.{node.name}(" in text
        ):
            for line in ast.walk(node):
                if isinstance(line, ast.ImportFrom):
                    own = {str(line.module), *(f"{line.module}.{alias.name}" for alias in line.names)}
                    found |= {file for name in own if (file := file_of(name))}
    return found


def closure(path: Path) -> set[Path]:
    """Return all modules of the project that a module needs, itself included."""
    seen, todo = set(), [path]
    while todo:
        current = todo.pop()
        if current not in seen:
            seen.add(current)
            todo += imports(current) if current != REGISTRY else ()
    return seen


def module_of(stage: str) -> Path:
    """Return the module that DVC runs for a stage."""
    return Path(*read_stages(root=ROOT)[stage]["cmd"].split()[-1].split(".")).with_suffix(".py")


def code_deps(stage: str) -> list[str]:
    """Return the code in the `deps` of a stage.

    These are its module, the modules that it needs of packages in `BY_MODULE` with their tables, and other packages as a whole.
    """
    own = module_of(stage)
    deps = {own}
    for file in closure(own) - {own}:
        package = file.parent
        deps.add(
            file if package in BY_MODULE or file.name == "__init__.py" or len(package.parts) == 1 else package
        )
        if file in TABLES_OF:
            deps.add(TABLES_OF[file])
    return sorted(dep.as_posix() for dep in deps if dep.parent not in deps)


def modules(folder: Path) -> list[Path]:
    """Return all modules in a folder and its subfolders."""
    return [file.relative_to(ROOT) for file in sorted((ROOT / folder).rglob("*.py"))]


def with_code_deps(text: str, stages: Iterable[str]) -> str:
    """Return the text of a graph with the code in the `deps` of each stage."""
    for stage in stages:
        lines = "".join(f"      - {dep}\n" for dep in code_deps(stage))
        text = re.sub(
            rf"(?m)(^  {stage}:\n(?:    .*\n)*?    deps:\n)(?:      - (?!data/).*\n)*", rf"\g<1>{lines}", text
        )
    return text


if __name__ == "__main__":
    for graph in (BUILD_GRAPH, RESEARCH_GRAPH):
        path = ROOT / graph
        path.write_text(with_code_deps(path.read_text(), read_stages(graph, root=ROOT)))
    PACKAGED_GRAPH.write_bytes((ROOT / BUILD_GRAPH).read_bytes())
