"""Which of the project's own files a module needs, found by reading its imports (late ones too).

python -m tests.closure     writes each stage's code into its `deps` in dvc.yaml
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
CORE = Path("pipeline/core")
FILE_NAME = re.compile(r"[A-Za-z0-9_.-]+\.(tsv|jinja|css|xml|md|lock|html|json|in|npz)|LICENSE")
# What reads modules as files, without importing them, needs all of their room.
READ_WHOLE = {Path("pipeline/releasing/wheel.py"): Path("pipeline/scorers")}
PACKAGES = ("pipeline", "annotation", "simulation", "sample_world", "studies")


def file_of(module: str) -> Path | None:
    """The file of a dotted name, relative to the project's root; None if it is not a module of ours."""
    base = ROOT / Path(*module.split("."))
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path.relative_to(ROOT)
    return None


@cache
def imports(path: Path) -> frozenset[Path]:
    """Files of the project that this file imports directly, and those beside it that it names ("kinds.tsv")."""
    if path.suffix != ".py":
        return frozenset()
    package = path.parent.parts
    names: set[str] = set()
    beside: set[Path] = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            names |= {module} | {f"{module}.{alias.name}" for alias in node.names}
        elif (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and FILE_NAME.fullmatch(node.value)
        ):
            beside.add(path.with_name(node.value))
    own = {name for name in names if name.split(".")[0] in PACKAGES}
    files = {file for name in own if (file := file_of(name))}
    read = modules(READ_WHOLE[path]) if path in READ_WHOLE else []
    return frozenset({*files, *read, *(file for file in beside if (ROOT / file).is_file())})


def closure(path: Path) -> set[Path]:
    """All files of the project that running this file can need, itself included (package __init__ files that hold
    nothing but a docstring are left out)."""
    seen, todo = set(), [path]
    while todo:
        current = todo.pop()
        if current not in seen:
            seen.add(current)
            todo += imports(current)
    return {file for file in seen if file.name != "__init__.py" or holds_code(file)}


@cache
def holds_code(path: Path) -> bool:
    """Whether there is more in the file than a docstring."""
    if path.suffix != ".py":
        return True
    body = ast.parse((ROOT / path).read_text(encoding="utf-8")).body
    return any(not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)) for node in body)


def code_deps(stage: str) -> list[str]:
    """What a stage's `deps` say of code: a room as a whole where the stage needs all modules of it, else the files.
    The core is always named as a whole: each stage stands on it."""
    needed = closure(Path(f"pipeline/stages/{stage}.py"))
    whole = {
        room
        for file in needed
        for room in file.parents
        if len(room.parts) > 1 and (room == CORE or {p for p in modules(room) if holds_code(p)} <= needed)
    }
    deps = {next((room for room in reversed(file.parents) if room in whole), file) for file in needed}
    return sorted(dep.as_posix() for dep in deps)


def modules(room: Path) -> list[Path]:
    """All modules in a folder and below it."""
    return [file.relative_to(ROOT) for file in sorted((ROOT / room).rglob("*.py"))]


def with_code_deps(text: str) -> str:
    """dvc.yaml with the code of each stage's `deps` as its imports have it."""
    for stage in yaml.safe_load(text)["stages"]:
        lines = "".join(f"      - {dep}\n" for dep in code_deps(stage))
        text = re.sub(
            rf"(?m)(^  {stage}:\n(?:    .*\n)*?    deps:\n)(?:      - (?!data/).*\n)*", rf"\g<1>{lines}", text
        )
    return text


if __name__ == "__main__":
    path = ROOT / "dvc.yaml"
    path.write_text(with_code_deps(path.read_text()))
