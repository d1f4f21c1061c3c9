"""Mutation testing: change the code in one place at a time, and check that a test fails.

Surviving mutants are listed. They need a test, or a line in tests/survivors.tsv with the reason why no test can or need detect them.

    python -m tests.mutants                       500 random mutants with a fixed seed (make mutants)
    python -m tests.mutants --take 20             the first 20 of the same sample
    python -m tests.mutants --only pipeline/candidates/perturbing/raking.py --take 50

The position of a mutant in the sample is a hash of the seed, its file and its change, so unchanged code keeps its mutants. The operators
are those of mutmut and two more, without those that almost always raise (None for a value or an argument). The runner of mutmut is not
used: it needs one run of all tests in one process, calls functions through trampolines, which numba and frozen records do not support,
and does not change module constants. tests/mutant_runs.py runs the tests. Results are recorded in build/mutants.json. A mutant runs again
if its module, or for a survivor one of its tests, has changed.
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

PACKAGES = (
    "core",
    "candidates/ranking",
    "candidates/perturbing",
    "candidates/screening",
    "benchmark/balancing",
    "tasks",
    "scoring",
    "inference",
)
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
    """The result of a mutant.

    Attributes:
        result: "killed", "hung" (also detected) or "survived".
        digest: Hash of the module, and for a survivor also of its tests. The result is valid while it stays the same.
        test: The test that detected the mutant.
    """

    result: str
    digest: str
    test: str = ""


def dropped_call(node: cst.SimpleStatementLine) -> Iterator[cst.CSTNode]:
    """Remove a call whose result is not used."""
    if m.matches(node, m.SimpleStatementLine(body=[m.Expr(m.Call())])):
        yield node.with_changes(body=[cst.Pass()], leading_lines=())


def dropped_argument(node: cst.Call) -> Iterator[cst.CSTNode]:
    """Remove a keyword argument, except `strict` of zip, which is only a check."""
    for i, argument in enumerate(node.args):
        if argument.keyword and argument.keyword.value != "strict":
            yield node.with_changes(args=[*node.args[:i], *node.args[i + 1 :]])


def swapped(node: cst.Call) -> Iterator[cst.CSTNode]:
    if isinstance(node.func, cst.Name) and node.func.value in SWAPPED:
        yield node.with_changes(func=cst.Name(SWAPPED[node.func.value]))


def changed_text(node: cst.BaseString) -> Iterator[cst.CSTNode]:
    """Apply only the first of mutmut's three changes, XX around the text."""
    yield from list(mutators.operator_string(node))[:1]


OTHERS_THAN = {
    mutators.operator_arg_removal: dropped_argument,
    mutators.operator_string: changed_text,
    mutators.operator_assignment: None,
}
OPERATORS: list[tuple[type, Callable[[Any], Iterable[cst.CSTNode]]]] = [
    *((kind, other) for kind, own in mutators.mutation_operators if (other := OTHERS_THAN.get(own, own))),
    (cst.SimpleStatementLine, dropped_call),
    (cst.Call, swapped),
]


class Changes(cst.CSTVisitor):
    """Collects pairs of a node and its replacement. Annotations, decorators, imports and help texts are not changed."""

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
    """Yield all mutants of a module."""
    text = (ROOT / path).read_text()
    tree = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
    tree.module.visit(changes := Changes())
    where, lines = tree.resolve(PositionProvider), text.splitlines(keepends=True)
    known = Counter[tuple[str, str]]()
    for node, other in changes.found:
        start, end = where[node].start, where[node].end
        # The parentheses of the node stay where they are.
        if getattr(other, "lpar", ()):
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
    """Return the first mutants of the sample that are valid Python."""
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
    """Return (file, line before, line after) -> why no test detects the mutant."""
    rows = [line.split("\t") for line in ACCEPTED.read_text().splitlines()[1:]]
    return {(path, was, became): why for path, was, became, why in rows}


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(
    take: Annotated[int, typer.Option(help="Try this number of mutants.")] = TAKE,
    only: Annotated[
        list[Path] | None, typer.Option(help="Try only mutants of this module; repeatable.")
    ] = None,
    processes: Annotated[int, typer.Option(help="Try this number of mutants in parallel.")] = min(
        os.cpu_count() or 1, 8
    ),
    state: Annotated[Path, typer.Option(help="Record results in this file.")] = STATE,
) -> None:
    """Try mutants of the code, and list those that no test detects."""
    files = only or [p for package in PACKAGES for p in modules(Path("pipeline", package))]
    chosen = drawn(
        [path for path in files if path.name != "__init__.py" and own_tests(path.as_posix())], take
    )
    known: dict[str, Result] = {}
    if state.exists():
        known = read_json(state, dict[str, Result])

    def valid_digest(mutant: Mutant, result: str) -> str:
        tests = [*own_tests(mutant.path), *other_tests(mutant.path)] if result == "survived" else []
        return digest((mutant.path, *tests))

    def is_known(mutant: Mutant) -> bool:
        result = known.get(mutant.place)
        return result is not None and result.digest == valid_digest(mutant, result.result)

    todo = [mutant for mutant in chosen if not is_known(mutant)]
    # Hash the files now (`digest` is cached), because they may be edited while the copies run.
    for mutant in todo:
        valid_digest(mutant, "killed"), valid_digest(mutant, "survived")
    begun = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if todo:
        for number, (mutant, result, test) in enumerate(outcomes(todo, processes), 1):
            if result == "untested":
                sys.exit(f"mutants: {test}")
            known[mutant.place] = Result(result, valid_digest(mutant, result), test)
            write_json(state, known)
            print(
                f"mutants: {number} of {len(todo)}, {time.monotonic() - begun:.0f} s: {result} {mutant}",
                flush=True,
            )
    survived = [mutant for mutant in chosen if known[mutant.place].result == "survived"]
    reasons = accepted()
    open_ = [mutant for mutant in survived if (mutant.path, mutant.was, mutant.became) not in reasons]
    for mutant in survived:
        print(
            mutant,
            reasons.get((mutant.path, mutant.was, mutant.became), "NOT DETECTED BY ANY TEST"),
            sep="\n  ",
        )
    share = 1 - len(survived) / len(chosen)
    print(
        f"mutants: {share:.1%} of {len(chosen)} mutants are detected (at least {LEAST:.0%} is required); "
        f"{len(survived) - len(open_)} of {len(survived)} survivors have a reason in {ACCEPTED.name}"
    )
    sys.exit(bool(open_) or share < LEAST)


if __name__ == "__main__":
    app()
