"""Faults planted in the code, one at a time: each must turn a test red. What no test sees is listed, and mended by a test, or
stands in tests/survivors.tsv with the reason why no test can see it, or need to.

    python -m tests.mutants                       500 of all mutants, drawn by a stated seed (make mutants)
    python -m tests.mutants --take 20             the first 20 of the same draw
    python -m tests.mutants --only pipeline/candidates/perturbing/raking.py --take 50

A mutant's place in the draw is the hash of the seed, its file and its change: code that stays keeps its mutants. The operators
are mutmut's and two of ours, without what raises almost always (None for a value or an argument) and would be half of all.
mutmut's runner is not used: it wants one run of all tests in one process, calls functions through trampolines, which numba and
frozen records do not take, and leaves constants of modules alone. tests/mutant_runs.py tells how they are tested. What ran is
kept in build/mutants.json, and runs again when the module, or for a survivor a test, has changed.
"""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import libcst as cst
import msgspec
import typer
from libcst import matchers as m
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation import mutators

from pipeline.core.json_files import read_json, write_json
from tests.closure import ROOT, modules
from tests.mutant_runs import Mutant, other_tests, outcomes, own_tests

PACKAGES = ("core", "candidates/ranking", "candidates/perturbing", "candidates/screening", "benchmark/balancing", "tasks", "scoring")
TAKE, SEED, LEAST = 500, 1, 0.9
STATE, ACCEPTED = ROOT / "build/mutants.json", ROOT / "tests/survivors.tsv"
SWAPPED = {"any": "all", "all": "any", "min": "max", "max": "min"}
LEFT = (
    m.Annotation()
    | m.Decorator()
    | m.Import()
    | m.ImportFrom()
    | m.Arg(keyword=m.Name("help"))
    | m.Call(m.Name("TypeVar"))
)


class Result(msgspec.Struct, frozen=True):
    """What tests said of a mutant. `of`: hash of the module, for a survivor also of the tests tried: what the result holds for."""

    said: str  # "killed", "hung" (which is seen, too) or "survived"
    of: str
    by: str = ""


def dropped_call(node: cst.SimpleStatementLine) -> Iterator[cst.CSTNode]:
    """A call for its effect alone, left out."""
    if m.matches(node, m.SimpleStatementLine(body=[m.Expr(m.Call())])):
        yield node.with_changes(body=[cst.Pass()], leading_lines=())


def dropped_argument(node: cst.Call) -> Iterator[cst.CSTNode]:
    """An argument left to its default, but for `strict` of zip, by which we check ourselves."""
    for i, argument in enumerate(node.args):
        if argument.keyword and argument.keyword.value != "strict":
            yield node.with_changes(args=[*node.args[:i], *node.args[i + 1 :]])


def swapped(node: cst.Call) -> Iterator[cst.CSTNode]:
    if isinstance(node.func, cst.Name) and node.func.value in SWAPPED:
        yield node.with_changes(func=cst.Name(SWAPPED[node.func.value]))


def spoilt_text(node: cst.BaseString) -> Iterator[cst.CSTNode]:
    """Of mutmut's three the first, XX around it; letters' case is left alone."""
    yield from list(mutators.operator_string(node))[:1]


OTHERS_THAN = {
    mutators.operator_arg_removal: dropped_argument,
    mutators.operator_string: spoilt_text,
    mutators.operator_assignment: None,
}
OPERATORS: list[tuple[type, Callable[[Any], Iterable[cst.CSTNode]]]] = [
    *((kind, other) for kind, own in mutators.mutation_operators if (other := OTHERS_THAN.get(own, own))),
    (cst.SimpleStatementLine, dropped_call),
    (cst.Call, swapped),
]


class Changes(cst.CSTVisitor):
    """All (node, another in its place) of a module; annotations, decorators, imports and texts of --help stay."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[cst.CSTNode, cst.CSTNode]] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        if m.matches(node, LEFT):
            return False
        for kind, operator in OPERATORS:
            if isinstance(node, kind):
                self.found += ((node, other) for other in operator(node))
        return True


def mutants(path: Path) -> Iterator[Mutant]:
    """All of a module."""
    text = (ROOT / path).read_text()
    tree = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
    tree.module.visit(changes := Changes())
    where, lines = tree.resolve(PositionProvider), text.splitlines(keepends=True)
    known = Counter[tuple[str, str]]()
    for node, other in changes.found:
        start, end = where[node].start, where[node].end
        if getattr(other, "lpar", ()):  # those of the node stay where they are
            other = other.with_changes(lpar=(), rpar=())
        old = lines[start.line - 1 : end.line]
        after = old[-1][end.column :]
        begin = start.column + len(rest := old[0][start.column :]) - len(rest.lstrip())
        new = old[0][:begin] + tree.module.code_for_node(other).strip() + after
        was, became = ("".join(one).strip() for one in (old, new))
        known[was, became] += 1
        place = "\0".join((str(SEED), path.as_posix(), was, became, str(known[was, became])))
        yield Mutant(
            path=path.as_posix(),
            line=start.line,
            was=" ".join(was.split()),
            became=" ".join(became.split()),
            text="".join([*lines[: start.line - 1], new, *lines[end.line :]]),
            place=hashlib.sha256(place.encode()).hexdigest(),
        )


def drawn(files: Iterable[Path], take: int) -> list[Mutant]:
    """The first so many of the draw, each of which is Python."""
    whole = sorted((mutant for path in files for mutant in mutants(path)), key=lambda mutant: mutant.place)
    print(f"mutants: {len(whole):,} in all", flush=True)
    return [mutant for mutant in whole[: take + 50] if _compiles(mutant.text)][:take]


def _compiles(text: str) -> bool:
    try:
        compile(text, "", "exec")
    except SyntaxError:
        return False
    return True


@cache
def digest(paths: tuple[str, ...]) -> str:
    return hashlib.sha256(b"\0".join((ROOT / path).read_bytes() for path in paths)).hexdigest()[:16]


def accepted() -> dict[tuple[str, str, str], str]:
    """(file, line before, line after) -> why no test sees it."""
    rows = [line.split("\t") for line in ACCEPTED.read_text().splitlines()[1:]]
    return {(path, was, became): why for path, was, became, why in rows}


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(
    take: Annotated[int, typer.Option(help="How many mutants are tried.")] = TAKE,
    only: Annotated[
        list[Path] | None, typer.Option(help="A module whose mutants are tried; repeatable.")
    ] = None,
    processes: Annotated[int, typer.Option(help="How many are tried at once.")] = min(os.cpu_count() or 1, 8),
    state: Annotated[Path, typer.Option(help="The file that holds what is known of each mutant.")] = STATE,
) -> None:
    """Plant faults in the code, one at a time, and list those that no test sees."""
    files = only or [p for package in PACKAGES for p in modules(Path("pipeline", package))]
    chosen = drawn([path for path in files if (ROOT / own_tests(path.as_posix())).is_file()], take)
    known: dict[str, Result] = {}
    if state.exists():
        known = read_json(state, dict[str, Result])

    def holds(mutant: Mutant, said: str) -> str:
        tests = [own_tests(mutant.path), *other_tests(mutant.path)] if said == "survived" else []
        return digest((mutant.path, *tests))

    def is_known(mutant: Mutant) -> bool:
        result = known.get(mutant.place)
        return result is not None and result.of == holds(mutant, result.said)

    todo = [mutant for mutant in chosen if not is_known(mutant)]
    for (
        mutant
    ) in todo:  # the files as they are now (see @cache of digest): tests may be edited while the copies run
        holds(mutant, "killed"), holds(mutant, "survived")
    begun = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that copies and processes go, too
    if todo:
        for number, (mutant, said, by) in enumerate(outcomes(todo, processes), 1):
            if said == "untested":
                sys.exit(f"mutants: {by}")
            known[mutant.place] = Result(said, holds(mutant, said), by)
            write_json(state, known)
            print(
                f"mutants: {number} of {len(todo)}, {time.monotonic() - begun:.0f} s: {said} {mutant}",
                flush=True,
            )
    survived = [mutant for mutant in chosen if known[mutant.place].said == "survived"]
    reasons = accepted()
    open_ = [mutant for mutant in survived if (mutant.path, mutant.was, mutant.became) not in reasons]
    for mutant in survived:
        print(mutant, reasons.get((mutant.path, mutant.was, mutant.became), "NO TEST SEES IT"), sep="\n  ")
    share = 1 - len(survived) / len(chosen)
    print(
        f"mutants: of {len(chosen)} drawn {share:.1%} are seen ({LEAST:.0%} is wanted); of {len(survived)} that are not,"
        f" {len(survived) - len(open_)} stand in {ACCEPTED.name} with a reason"
    )
    sys.exit(bool(open_) or share < LEAST)


if __name__ == "__main__":
    app()
