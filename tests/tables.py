"""Tables in the documents that are made from the code: `python -m tests.tables` writes them.

A document marks the place: `<!-- table: stages -->` before it and `<!-- end -->` after it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path

from pipeline.core.stage_graph import read_stages
from tests.closure import ROOT, module_of

STAGES = read_stages(root=ROOT)
PLACE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
DOCUMENTS = [ROOT / "data/README.md", *sorted((ROOT / "docs").glob("*.md"))]


def reads(stage: str) -> list[str]:
    """The stages whose folders a stage reads."""
    deps = STAGES[stage]["deps"]
    interim = [dep.split("/")[3] for dep in deps if dep.startswith("data/${dataset}/interim/")]
    return interim + ["release" for dep in deps if dep.startswith("data/release/")]


def folders_read(stage: str) -> list[str]:
    """The folders of the data set, beside those of stages, that a stage reads."""
    home = "data/${dataset}/"
    own = [dep.removeprefix(home) for dep in STAGES[stage]["deps"] if dep.startswith(home)]
    return [f"`{folder}/`" for folder in own if not folder.startswith("interim/")]


def run_after(stage: str) -> list[str]:
    """The stages that run again when this one writes something new, in the order in which they run."""
    later: list[str] = []
    for name in STAGES:
        if {stage, *later} & set(reads(name)):
            later.append(name)
    return later


def stages(above: str) -> str:
    rows = [
        f"| [`{name}`]({above}{module_of(name).as_posix()}) | {stage['desc']} | {', '.join(reads(name) + folders_read(name))} "
        f"| {', '.join(run_after(name)) or '-'} |"
        for name, stage in STAGES.items()
    ]
    return "\n".join(["| stage | what it does | reads | then run again |", "|---|---|---|---|", *rows])


def interim(above: str) -> str:
    """What each stage writes, from the part of its docstring that begins with "Writes"."""
    rows = [
        f"| [`{stage}`]({above}{module_of(stage).as_posix()}) | {', '.join(f'`{name}`' for name in names)} | {what} |"
        for stage in STAGES
        for names, what in written_by(stage)
        if stage != "release"
    ]
    return "\n".join(["| stage | file | what |", "|---|---|---|", *rows])


def written_by(stage: str) -> list[tuple[list[str], str]]:
    """Files and what they are: `Writes  items.jsonl   the UQs` and the lines below it, further lines indented deeper."""
    docstring = ast.get_docstring(ast.parse((ROOT / module_of(stage)).read_text())) or ""
    lines = docstring.partition("\nWrites")[2].split("\n\n")[0].splitlines()
    files: list[tuple[list[str], str]] = []
    for line in lines:
        if row := re.fullmatch(r" {2,8}(\S+\.\w+(?:, \S+\.\w+)*) {2,}(.+)", line):
            files.append((row[1].split(", "), row[2]))
        elif line.startswith("          "):
            names, what = files.pop()
            files.append((names, f"{what} {line.strip()}"))
    return files


def packages(above: str) -> str:
    """The packages of the project, with the first sentence of their docstrings."""
    rows = [f"| [`{name}`]({above}{name}) | {purpose(name)} |" for name in package_names()]
    return "\n".join(["| package | what it is for |", "|---|---|", *rows])


def package_names() -> list[str]:
    """The packages of `pipeline`, `annotation` and `research`, without those inside of them."""
    return [
        path.parent.relative_to(ROOT).as_posix()
        for top in ("pipeline", "annotation", "research")
        for path in sorted((ROOT / top).glob("*/__init__.py"))
    ]


def purpose(package: str) -> str:
    """The first sentence of the package's docstring."""
    docstring = ast.get_docstring(ast.parse((ROOT / package / "__init__.py").read_text())) or ""
    return re.split(r"(?<=\.)\s|\n\n", docstring)[0].replace("\n", " ")


TABLES: dict[str, Callable[[str], str]] = {"stages": stages, "interim": interim, "packages": packages}


def with_tables(text: str, path: Path) -> str:
    """A document with its tables as the code has them."""
    above = "../" * (len(path.relative_to(ROOT).parts) - 1)
    return PLACE.sub(lambda place: f"{place[1]}{TABLES[place[2]](above)}\n{place[3]}", text)


if __name__ == "__main__":
    for path in DOCUMENTS:
        path.write_text(with_tables(path.read_text(), path))
