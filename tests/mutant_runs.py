"""What tests say of mutants (tests/mutants.py): each is tested by a process forked from one that has imported libraries but
nothing of ours, in a copy of the tree; first by the module's own tests (at the mirrored path), then by those of the modules that
import it."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import itertools
import math
import multiprocessing
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest

from tests.closure import PACKAGES, ROOT, imports, modules

# Seconds of processor time. A module's own tests hang if they take so much more than five times what they take unspoilt; tests
# of the modules that import it are begun for so long; no run may take longer.
HANGING, OTHERS, LONG = 10, 20, 600
STILL = 240  # seconds on the clock in which a run that does not hang uses one of a processor
LIBRARIES = (
    "hypothesis", "numpy", "pandas", "scipy.stats", "sklearn.linear_model", "msgspec", "PIL.Image", "yaml", "typer", "rich", "numba",
    "pyarrow.parquet", "openpyxl", "altair", "torch", "torchvision", "transformers", "open_clip", "spacy", "inspect_ai", "inflect",
)  # fmt: skip
OPTIONS = (
    "-xq",
    "-pno:cacheprovider",
    "-pno:unraisableexception",
    "-p_hypothesis_pytestplugin",
    "--hypothesis-seed=0",
)


class Mutant(NamedTuple):
    """A module with one change: the lines before and after it, and the module's whole new text."""

    path: str
    line: int
    was: str
    became: str
    text: str
    place: str  # in the draw

    def __str__(self) -> str:
        return f"{self.path}:{self.line}\n  - {self.was}\n  + {self.became}"


def own_tests(path: str) -> str:
    """Return the mirrored test file of a module, which exists for most of them.

    >>> own_tests("pipeline/core/images.py"), own_tests("annotation/study/rounds.py")
    ('tests/core/test_images.py', 'tests/annotation/study/test_rounds.py')
    """
    mirrored = Path(path.removeprefix("pipeline/"))
    return Path("tests", mirrored).with_name(f"test_{mirrored.name}").as_posix()


@cache
def other_tests(path: str) -> list[str]:
    """The tests of the modules that import this one, those of its package first, and all that import it themselves."""
    module, package = Path(path), Path(path).parent
    users = [user for package in PACKAGES for user in modules(Path(package)) if module in imports(user)]
    tests = [test for test in modules(Path("tests")) if test.name[:5] == "test_" and module in imports(test)]
    near = sorted({*(Path(own_tests(user.as_posix())) for user in users), *tests} - {Path(own_tests(path))})
    near.sort(key=lambda test: Path("tests", package) != test.parent)
    return [test.as_posix() for test in near if (ROOT / test).is_file()]


class _Until:
    """Ends a run of tests after so many seconds of processor time, and remembers which test failed."""

    def __init__(self, seconds: float) -> None:
        self.end, self.failed, self.late = time.process_time() + seconds, "", False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        if time.process_time() > self.end:
            item.session.shouldstop, self.late = "late", True


def _run(tests: list[str], cpu: float, begun: float = LONG) -> tuple[str, str, float]:
    """In a process of its own in the working directory: "passed", "failed" or "hung", which failed, and seconds of processor time.

    Args:
        cpu: seconds of processor time after which it hangs, however busy the machine is; also when it has used next to
            none for STILL seconds, as one that waits for what will not come.
        begun: seconds of processor time after which no test is begun any more.
    """
    with tempfile.TemporaryFile("w+") as said:
        child = os.fork()
        if not child:
            os.setsid()
            _end_with_parent()
            _forget()
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(cpu), resource.RLIM_INFINITY))
            for descriptor in (1, 2):
                os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
            until, code = _Until(begun), 9
            with contextlib.suppress(BaseException):
                code = int(pytest.main([*OPTIONS, *tests], [until]))
            said.write(until.failed or "late" * until.late)
            said.flush()
            os._exit(code)
        looked, before, code, took = time.monotonic(), 0.0, None, 0.0
        while code is None:
            time.sleep(0.05)
            if time.monotonic() > looked + STILL:
                if (now := _processor_time(child)) < before + 1:
                    break
                looked, before = time.monotonic(), now
            done, status, used = os.wait4(child, os.WNOHANG)
            if done:
                code, took = os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # and what it started
        if code is None:
            os.waitpid(child, 0)
        said.seek(0)
        failed = said.read()
        if code in (None, -signal.SIGXCPU):
            return "hung", "", cpu
        return ("passed" if code == 0 or failed == "late" else "failed"), failed, took


def _processor_time(process: int) -> float:
    """Seconds that a process and all that it started and that still runs have used."""
    total = 0.0
    with contextlib.suppress(psutil.Error):
        first = psutil.Process(process)
        for one in (first, *first.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                total += sum(one.cpu_times()[:4])  # of itself and of what it has seen end
    return total


def _end_with_parent() -> None:
    """However the parent ends (prctl's PR_SET_PDEATHSIG); elsewhere than on Linux, only where it ends in order."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def _forget() -> None:
    """Of ours nothing is imported any more, and what will be comes from the working directory."""
    for name in [name for name in sys.modules if name.split(".")[0] in ("tests", *PACKAGES)]:
        del sys.modules[name]
    sys.path[:] = [str(Path.cwd()), *(path for path in sys.path if path not in ("", str(ROOT)))]


def _test(of_module: list[Mutant]) -> Iterator[tuple[Mutant, str, str]]:
    """What the tests say of a module's mutants: "killed", "hung" or "survived", and which test said so."""
    path, own, others = Path(of_module[0].path), own_tests(of_module[0].path), other_tests(of_module[0].path)
    unspoilt = path.read_text()
    sys.dont_write_bytecode = False  # pytest keeps the tests as it compiled them
    said, failed, took = _run([own], LONG)
    # What is compiled is known by its content then, or not kept: two mutants may be of one second and one size.
    sys.dont_write_bytecode = True
    if said != "passed" or failed:
        yield of_module[0], "untested", f"{own} {said} unspoilt: {failed}"
        return
    for mutant in of_module:
        path.write_text(mutant.text)
        said, failed, _ = _run([own], 5 * took + HANGING)
        if said == "passed" and others:
            said, failed, _ = _run(others, LONG, OTHERS)
            said = "passed" if said == "hung" else said  # or they just take long
        path.write_text(unspoilt)
        yield (
            mutant,
            {"passed": "survived", "failed": "killed"}.get(said, said),
            "" if failed == "late" else failed,
        )


def _work(tree: Path, modules: list[list[Mutant]], taken: Any, said: Connection) -> None:
    """Test one module's mutants after the other, of those that no other process has taken."""
    _end_with_parent()
    os.chdir(tree)
    os.environ |= {"PYTHONPATH": str(tree), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    gc.freeze()  # what is imported stays; collecting it anew would take each run a second
    while True:
        with taken.get_lock():
            number = taken.value
            taken.value += 1
        if number >= len(modules):
            return
        for outcome in _test(modules[number]):
            said.send(outcome)


def outcomes(todo: list[Mutant], processes: int) -> Iterator[tuple[Mutant, str, str]]:
    """What the tests say of mutants, as it comes: "killed", "hung", "survived", or "untested"; and which test, or why not."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    files = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    by_content = ("--invalidation-mode", "checked-hash")
    for library in LIBRARIES:
        with contextlib.suppress(ImportError):
            importlib.import_module(library)
    context = multiprocessing.get_context("fork")
    groups = [list(same) for _, same in itertools.groupby(sorted(todo), lambda mutant: mutant.path)]
    taken, workers = context.Value("i", 0), []
    pipes: list[Any] = []
    with tempfile.TemporaryDirectory() as folder:
        first = Path(folder, "0")
        for name in filter(lambda name: name and (ROOT / name).is_file(), files):
            (first / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, first / name)
        compiled = [sys.executable, "-m", "compileall", "-q", *by_content, *PACKAGES]
        subprocess.run(compiled, cwd=first, check=True)
        try:
            for number in range(processes):
                if (tree := Path(folder, str(number))) != first:
                    shutil.copytree(first, tree)
                pipe, end = context.Pipe(duplex=False)
                workers.append(context.Process(target=_work, args=(tree, groups, taken, end)))
                workers[-1].start()
                end.close()
                pipes.append(pipe)
            while pipes:
                for pipe in set(pipes) & set(wait(pipes)):
                    try:
                        yield pipe.recv()
                    except EOFError:
                        pipes.remove(pipe)
        finally:
            for worker in workers:
                worker.kill()
                worker.join()
