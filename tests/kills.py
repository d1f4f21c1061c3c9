"""Killed at any moment, a run goes on to the same bytes: `dvc repro` of one stage is killed with SIGKILL, with all that it
started, at a moment drawn by a stated seed, and the stage, run again, must give what an undisturbed run gave.

    python -m tests.kills                         60 moments over all stages, in a clone of its own (make endurance)
    python -m tests.kills --times 3 --tree CLONE  three, in a clone in which dvc repro has run
    python -m tests.kills --stages "rank tag"     of these alone

What is done is kept in build/kills.json of the clone and not done again; stopped, it goes on.
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
WRITTEN = ("interim", "release")  # folders below data/ whose bytes must stay
AT_ONCE = Path("build/at_once")  # of a clone: what tests/actor_kills.py has each process begin with


class Done(msgspec.Struct):
    """What was done in a clone: seconds that each stage takes, the moments that were tried, and the bytes before the first."""

    seconds: dict[str, float] = {}
    moments: int = 0
    bytes: dict[str, str] = {}


Kill = Callable[[Path, str, float, Done], float]


def moments(stages: list[str], seed: int = SEED) -> Iterator[tuple[str, float]]:
    """Stages, each once before any comes again, and the share of its time after which it is killed."""
    rng = random.Random(seed)
    while True:
        for stage in rng.sample(stages, len(stages)):
            yield stage, rng.random()


def sums(tree: Path) -> dict[str, str]:
    """File -> SHA-256 of all that the stages wrote."""
    files = [path.relative_to(tree) for path in sorted((tree / "data").rglob("*")) if path.is_file()]
    return {name.as_posix(): sha256_file(tree / name) for name in files if set(name.parts) & set(WRITTEN)}


def repro(tree: Path, *options: str) -> subprocess.Popen[bytes]:
    """Start `dvc repro` in a process group of its own, with its output in build/kills.log. It runs both graphs unless the options
    name a stage."""
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
    """Options with which `dvc repro` runs one stage alone, even if nothing has changed."""
    return ("--force", "--single-item", dvc_targets(tree)[stage])


def fail(tree: Path, what: str) -> NoReturn:
    said = (tree / "build/kills.log").read_text(errors="replace").splitlines()[-30:]
    sys.exit("\n".join([*said, f"kills: {what}; all is in {tree}/build/kills.log"]))


def killed(tree: Path, stage: str, share: float, done: Done) -> float:
    """Run a stage and kill it after this share of its time, or of half of it ... where it ended before; the seconds that it ran."""
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
    """Whether the stage, run again, ends well, and then all of it. It must be run: where nothing but its files has changed, DVC
    takes them out of its cache."""
    return all(ends_well(tree, *options) for options in (only(tree, stage), ()))


def ends_well(tree: Path, *options: str) -> bool:
    """Whether `dvc repro` succeeds. DVC writes its lock files in place, so a kill can truncate one. DVC then refuses to run,
    and the file is restored from git."""
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


def differing(tree: Path, wanted: dict[str, str]) -> list[str]:
    now = sums(tree)
    files = sorted(name for name in {*now, *wanted} if now.get(name) != wanted.get(name))
    changed = subprocess.run(
        ["git", "status", "--porcelain"], cwd=tree, capture_output=True, text=True, check=True
    )
    return files + changed.stdout.splitlines()


Times = Annotated[int, typer.Option(help="How many moments are tried.")]
Tree = Annotated[
    Path | None,
    typer.Option(help="A clone in which dvc repro has run; else build/kills, which is made if needed."),
]
Stages = Annotated[str, typer.Option(help="Names of stages, with blanks between; all if not given.")]


def clone(given: Path | None) -> Path:
    """The clone in which runs are killed."""
    tree = (given or ROOT / "build/kills").resolve()
    if not (tree / ".git").exists():
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(tree)], check=True)
    (tree / "build").mkdir(exist_ok=True)
    return tree


def endure(tree: Path, state: Path, times: int, names: list[str], kill: Kill) -> None:
    """Kill runs at so many moments (those in `state` are done) and go on with each, to the same bytes.

    Args:
        names: what `kill` is told to kill, each once before any comes again; a stage, and perhaps more.
        kill: runs a stage and kills it; returns the seconds after which it did.
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
            fail(tree, f"dvc repro does not go on after {name} was killed {after:.2f} s from its start")
        if wrong := differing(tree, done.bytes):
            fail(tree, f"other bytes after {name} was killed {after:.2f} s from its start: {wrong[:10]}")
        done.moments = number
        write_json(state, done)
        print(
            f"kills: {number} of {times}: {name} after {after:.2f} of {done.seconds[name]:.2f} s", flush=True
        )
    print(f"kills: {done.moments} moments, each time the same {len(done.bytes)} files -> {state}")


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(times: Times = TIMES, tree: Tree = None, stages: Stages = "") -> None:
    """Kill stages at random moments and check that they go on to the same bytes."""
    home = clone(tree)
    endure(home, home / "build/kills.json", times, stages.split() or list(read_stages(root=home)), killed)


if __name__ == "__main__":
    app()
