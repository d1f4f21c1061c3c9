"""Which of the project's own files a module needs, found by reading its imports (late ones too)."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("pipeline", "annotation")


def file_of(module: str) -> Path | None:
    base = ROOT / Path(*module.split("."))
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path.relative_to(ROOT)
    return None


@cache
def imports(path: Path) -> frozenset[Path]:
    """Files of the project that this file imports directly."""
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
    return frozenset(found for name in own if (found := file_of(name)))


def closure(path: Path) -> set[Path]:
    """All files of the project that running this file can need, itself included (package __init__ files that are
    empty are left out)."""
    seen, todo = set(), [path]
    while todo:
        current = todo.pop()
        if current not in seen:
            seen.add(current)
            todo += imports(current)
    return {p for p in seen if p.name != "__init__.py" or (ROOT / p).read_text().strip()}
