"""Run the tests on mutants (tests/mutants.py).

Each mutant is tested in a copy of the tree, by a process that was forked from one with imported libraries but without modules of the
project. First the tests of the module itself (in the mirrored folder) run, then those of the modules that import it.
"""

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

# Seconds of processor time. A module's own tests hang if they take this much more than five times the time without a mutant. Other tests
# are started within this time. No run may take longer than LONG.
HANGING, OTHERS, LONG = 10, 20, 600
# A run hangs if it uses less than one second of processor time within this number of seconds.
STILL = 240
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
    """A module with one change.

    Attributes:
        path, line: Where the change is.
        was, became: The changed lines before and after.
        text: The whole changed module.
        place: Position in the random order of mutants.
    """

    path: str
    line: int
    was: str
    became: str
    text: str
    place: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}\n  - {self.was}\n  + {self.became}"


def folder_of_tests(path: str) -> Path:
    """Return the folder of the tests of a module, which mirrors its package."""
    return Path("tests", path.removeprefix("pipeline/")).parent


@cache
def own_tests(path: str) -> tuple[str, ...]:
    """Return the test files of a module in the mirrored folder.

    This is the one with its name, or else those that import it, or else all of them.

    >>> own_tests("pipeline/core/images.py"), own_tests("pipeline/core/output_paths.py")
    (('tests/core/test_images.py',), ('tests/core/test_paths.py',))
    """
    files = [file.relative_to(ROOT) for file in sorted((ROOT / folder_of_tests(path)).glob("test_*.py"))]
    named = [file for file in files if file.name == f"test_{Path(path).name}"]
    importing = [file for file in files if Path(path) in imports(file)]
    return tuple(file.as_posix() for file in named or importing or files)


@cache
def other_tests(path: str) -> list[str]:
    """Return the tests of modules that import a module, and tests that import it.

    Tests that import it come first, then those of its package.
    """
    module = Path(path)
    users = [user for package in PACKAGES for user in modules(Path(package)) if module in imports(user)]
    tests = [test for test in modules(Path("tests")) if test.name[:5] == "test_" and module in imports(test)]
    of_users = {test for user in users for test in own_tests(user.as_posix())}
    near = sorted({*of_users, *(test.as_posix() for test in tests)} - {*own_tests(path)})
    direct = {test.as_posix() for test in tests}
    near.sort(key=lambda test: (test not in direct, folder_of_tests(path) != Path(test).parent))
    return near


class _Until:
    """Ends a test run after a number of seconds of processor time, and records which test failed."""

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
    """Run tests in another process in the working directory.

    Args:
        tests: Test files.
        cpu: Seconds of processor time after which the run hangs. It also hangs if it uses almost none for STILL seconds.
        begun: Seconds of processor time after which no further test is started.

    Returns:
        "passed", "failed" or "hung", the failed test, and the seconds of processor time.
    """
    with tempfile.TemporaryFile("w+") as report:
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
            report.write(until.failed or "late" * until.late)
            report.flush()
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
            # This also kills the processes that it started.
            os.killpg(child, signal.SIGKILL)
        if code is None:
            os.waitpid(child, 0)
        report.seek(0)
        failed = report.read()
        if code in (None, -signal.SIGXCPU):
            return "hung", "", cpu
        return ("passed" if code == 0 or failed == "late" else "failed"), failed, took


def _processor_time(process: int) -> float:
    """Return the processor time of a process and its running child processes in seconds."""
    total = 0.0
    with contextlib.suppress(psutil.Error):
        first = psutil.Process(process)
        for one in (first, *first.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                # User and system time of the process and of its finished children.
                total += sum(one.cpu_times()[:4])
    return total


def _end_with_parent() -> None:
    """End this process with its parent (PR_SET_PDEATHSIG), on Linux even if the parent is killed."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def _forget() -> None:
    """Remove modules of the project from `sys.modules`, so that they are imported from the working directory."""
    for name in [name for name in sys.modules if name.split(".")[0] in ("tests", *PACKAGES)]:
        del sys.modules[name]
    sys.path[:] = [str(Path.cwd()), *(path for path in sys.path if path not in ("", str(ROOT)))]


def _test(of_module: list[Mutant]) -> Iterator[tuple[Mutant, str, str]]:
    """Yield the result of each mutant of a module ("killed", "hung" or "survived"), and the test that detected it."""
    path, own, others = Path(of_module[0].path), own_tests(of_module[0].path), other_tests(of_module[0].path)
    original = path.read_text()
    # pytest caches the compiled tests.
    sys.dont_write_bytecode = False
    result, failed, took = _run([*own], LONG)
    # Modules are not cached, because two mutants may have the same time and size.
    sys.dont_write_bytecode = True
    if result != "passed" or failed:
        yield of_module[0], "untested", f"{' '.join(own)} {result} without a mutant: {failed}"
        return
    for mutant in of_module:
        path.write_text(mutant.text)
        result, failed, _ = _run([*own], 5 * took + HANGING)
        if result == "passed" and others:
            result, failed, _ = _run(others, LONG, OTHERS)
            # These tests may just take long.
            result = "passed" if result == "hung" else result
        path.write_text(original)
        yield (
            mutant,
            {"passed": "survived", "failed": "killed"}.get(result, result),
            "" if failed == "late" else failed,
        )


def _work(tree: Path, modules: list[list[Mutant]], taken: Any, results: Connection) -> None:
    """Test the mutants of one module after the other, of those that no other process has taken."""
    _end_with_parent()
    os.chdir(tree)
    os.environ |= {"PYTHONPATH": str(tree), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    # Imported modules stay, and collecting them would take a second per run.
    gc.freeze()
    while True:
        with taken.get_lock():
            number = taken.value
            taken.value += 1
        if number >= len(modules):
            return
        for outcome in _test(modules[number]):
            results.send(outcome)


def outcomes(todo: list[Mutant], processes: int) -> Iterator[tuple[Mutant, str, str]]:
    """Yield the result of each mutant ("killed", "hung", "survived" or "untested"), and the test or the reason."""
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
