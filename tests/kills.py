"""Kill stages at random moments, and check that a rerun writes the same bytes.

`dvc repro` of one stage and all its processes get SIGKILL at a random moment. After a rerun of the stage, the files must be the same as
those of an undisturbed run.

    python -m tests.kills                         60 moments over all stages, in its own clone (make endurance)
    python -m tests.kills --times 3 --tree CLONE  three moments, in a clone in which dvc repro has run
    python -m tests.kills --stages "rank tag"     only these stages

Finished moments are recorded in build/kills.json of the clone, so that a stopped run resumes.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, NoReturn

import msgspec
import typer

from pipeline.core.atomic_files import sha256_file
from pipeline.core.json_files import read_json, write_json
from pipeline.core.stage_graph import BUILD_GRAPH, DVC_LOCK_FILES, RESEARCH_GRAPH, read_stages
from tests.closure import ROOT, dvc_targets

TIMES, SEED = 60, 1
# Folders below data/ whose content is compared.
WRITTEN = ("interim", "release")
# Folder of a clone with the patches of tests/actor_kills.py for each process.
AT_ONCE = Path("build/at_once")


class Done(msgspec.Struct):
    """What was done in a clone.

    Attributes:
        seconds: Stage -> duration of an undisturbed run.
        moments: Number of finished moments.
        bytes: File -> SHA-256 of an undisturbed run.
    """

    seconds: dict[str, float] = {}
    moments: int = 0
    bytes: dict[str, str] = {}


Kill = Callable[[Path, str, float, Done], float]


def moments(stages: list[str], seed: int = SEED) -> Iterator[tuple[str, float]]:
    """Yield a stage and the proportion of its time after which it is killed. Each round has all stages in random order."""
    rng = random.Random(seed)
    while True:
        for stage in rng.sample(stages, len(stages)):
            yield stage, rng.random()


def sums(tree: Path) -> dict[str, str]:
    """Return the SHA-256 of all files that the stages wrote."""
    files = [path.relative_to(tree) for path in sorted((tree / "data").rglob("*")) if path.is_file()]
    return {name.as_posix(): sha256_file(tree / name) for name in files if set(name.parts) & set(WRITTEN)}


def repro(tree: Path, *options: str) -> subprocess.Popen[bytes]:
    """Start `dvc repro` in its own process group, with its output in build/kills.log.

    It runs both graphs unless the options name a stage.
    """
    environment = os.environ | {"PYTHONPATH": f"{tree / AT_ONCE}:{tree}"}
    with (tree / "build/kills.log").open("ab") as log:
        return subprocess.Popen(
            ["dvc", "repro", *(options or map(str, (BUILD_GRAPH, RESEARCH_GRAPH)))],
            cwd=tree,
            env=environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def only(tree: Path, stage: str) -> tuple[str, ...]:
    """Return the options with which `dvc repro` runs only one stage, even if nothing has changed."""
    return ("--force", "--single-item", dvc_targets(tree)[stage])


def fail(tree: Path, what: str) -> NoReturn:
    log = (tree / "build/kills.log").read_text(errors="replace").splitlines()[-30:]
    sys.exit("\n".join([*log, f"kills: {what}; the log is {tree}/build/kills.log"]))


def killed(tree: Path, stage: str, share: float, done: Done) -> float:
    """Run a stage and kill it after a proportion of its time, which is halved if the stage ends before. Return the seconds."""
    forced = only(tree, stage)
    if stage not in done.seconds:
        begun = time.monotonic()
        if repro(tree, *forced).wait():
            fail(tree, f"{stage} fails undisturbed")
        done.seconds[stage] = round(time.monotonic() - begun, 2)
    after = share * done.seconds[stage]
    while True:
        running = repro(tree, *forced)
        try:
            running.wait(after)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()
            return after
        after /= 2


def goes_on(tree: Path, stage: str) -> bool:
    """Report whether a rerun of the stage succeeds, and then of both graphs.

    The rerun is forced, because otherwise DVC restores the files from its cache.
    """
    return all(ends_well(tree, *options) for options in (only(tree, stage), ()))


def ends_well(tree: Path, *options: str) -> bool:
    """Report whether `dvc repro` succeeds.

    DVC writes its lock files in place, so a kill can truncate one. DVC then refuses to run, and the file is restored from git.
    """
    if not repro(tree, *options).wait():
        return True
    locks = [str(lock) for lock in DVC_LOCK_FILES if (tree / lock).exists()]
    changed = subprocess.run(
        ["git", "diff", "--name-only", "--", *locks], cwd=tree, capture_output=True, text=True, check=True
    ).stdout.split()
    if not changed:
        return False
    print(f"kills: DVC was writing {changed[0]}: git checkout {' '.join(changed)}", flush=True)
    subprocess.run(["git", "checkout", "--quiet", "--", *changed], cwd=tree, check=True)
    return not repro(tree, *options).wait()


def differing(tree: Path, expected: dict[str, str]) -> list[str]:
    now = sums(tree)
    files = sorted(name for name in {*now, *expected} if now.get(name) != expected.get(name))
    changed = subprocess.run(
        ["git", "status", "--porcelain"], cwd=tree, capture_output=True, text=True, check=True
    )
    return files + changed.stdout.splitlines()


Times = Annotated[int, typer.Option(help="Try this number of moments.")]
Tree = Annotated[
    Path | None,
    typer.Option(
        help="Use this clone, in which dvc repro has run (default: build/kills, created if needed)."
    ),
]
Stages = Annotated[str, typer.Option(help="Kill only these stages, separated by blanks.")]


def clone(given: Path | None) -> Path:
    """Return the clone in which runs are killed, creating it if needed."""
    tree = (given or ROOT / "build/kills").resolve()
    if not (tree / ".git").exists():
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(tree)], check=True)
    (tree / "build").mkdir(exist_ok=True)
    return tree


def endure(tree: Path, state: Path, times: int, names: list[str], kill: Kill) -> None:
    """Kill runs at random moments, rerun them and compare the files.

    Args:
        tree: The clone.
        state: File that records finished moments.
        times: Number of moments.
        names: What to kill: a stage, and perhaps a kind of process. Each round has all of them.
        kill: Runs a stage and kills it; returns the seconds after which it did.
    """
    done = read_json(state, Done) if state.exists() else Done()
    if not done.bytes:
        if repro(tree).wait():
            fail(tree, "dvc repro fails undisturbed")
        done.bytes = sums(tree)
    for number, (name, share) in enumerate(moments(names), 1):
        if number > times:
            break
        if number <= done.moments:
            continue
        after = kill(tree, name, share, done)
        if not goes_on(tree, name.split()[0]):
            fail(tree, f"dvc repro fails after {name} was killed {after:.2f} s from its start")
        if wrong := differing(tree, done.bytes):
            fail(tree, f"different files after {name} was killed {after:.2f} s from its start: {wrong[:10]}")
        done.moments = number
        write_json(state, done)
        print(
            f"kills: {number} of {times}: {name} after {after:.2f} of {done.seconds[name]:.2f} s", flush=True
        )
    print(f"kills: {done.moments} moments, each time the same {len(done.bytes)} files -> {state}")


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(times: Times = TIMES, tree: Tree = None, stages: Stages = "") -> None:
    """Kill stages at random moments, and check that reruns write the same bytes."""
    home = clone(tree)
    endure(home, home / "build/kills.json", times, stages.split() or list(read_stages(root=home)), killed)


if __name__ == "__main__":
    app()
