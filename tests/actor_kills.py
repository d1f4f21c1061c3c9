"""Under Ray, too, a kill at any moment costs nothing: the stages that use Ray are run by it, each with so little given to an actor
that actors work on the sample, and at a moment drawn by a stated seed SIGKILL goes to one of them or to the stage's first process.
A run that lost an actor must end well by itself; after either the stage, run again, gives what an undisturbed run of this machine
alone gave. At the end nothing of Ray may be left running.

    python -m tests.actor_kills                         20 moments, in the clone of tests/kills.py (make endurance)
    python -m tests.actor_kills --times 5 --tree CLONE --stages "rank tag"

What is done is kept in build/actor_kills.json of the clone and not done again; stopped, it goes on.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import typer

from pipeline.core.stage_graph import stage_module
from tests.kills import AT_ONCE, Done, Stages, Times, Tree, clone, endure, fail, only, repro

STAGES = ["vocabulary", "embed", "rank", "tag", "perturb", "screen", "similarity", "answer", "paper", "audit"]
FIRST, ACTOR = "first", "actor"  # who is killed: the stage's own process, or one of Ray's that works for it
GONE = 600  # seconds until nothing of Ray may be left
FEW = """import sys

if any(word.startswith(("pipeline.stages.", "research.stages.")) for word in sys.orig_argv):
    from pipeline.core import engine

    processes = engine.processes
    engine.processes = lambda items, each=1: processes(items, 1)
    engine.ordered_map.__defaults__ = (8,)

    from pipeline.candidates.encoders import embedding

    embedding.SEED = "none"
"""

left: list[psutil.Process] = []  # what ran when something was killed


def processes(running: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """All that a run has started and that runs."""
    try:
        return psutil.Process(running.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def of(stage: str, who: str, every: list[psutil.Process]) -> list[psutil.Process]:
    """The first process of a stage, or its actors, in the order of their ids, by what their command lines say."""
    word, found = {FIRST: stage_module(stage), ACTOR: "ray::_Actor"}[who], []
    for process in every:
        try:
            if any(part.startswith(word) for part in process.cmdline()):
                found.append(process)
        except psutil.NoSuchProcess:  # has just ended
            pass
    return sorted(found, key=lambda process: process.pid)


def comes(stage: str, who: str, running: subprocess.Popen[bytes]) -> bool:
    """Wait until there is one; whether there was before the run ended."""
    while running.poll() is None:
        if of(stage, who, processes(running)):
            return True
        time.sleep(0.1)
    return False


def measure(tree: Path, stage: str, done: Done) -> None:
    """How long an undisturbed run goes on once there is a first process, once there is an actor."""
    running, came = forced(tree, stage), dict[str, float]()
    for who in (FIRST, ACTOR):
        if not comes(stage, who, running):
            fail(tree, f"{stage} has no {who}")
        came[f"{stage} {who}"] = time.monotonic()
    if running.wait():
        fail(tree, f"{stage} fails undisturbed")
    done.seconds |= {name: round(time.monotonic() - moment, 2) for name, moment in came.items()}


def forced(tree: Path, stage: str) -> subprocess.Popen[bytes]:
    """A run of one stage that has nothing from before."""
    shutil.rmtree(tree / "data/cache", ignore_errors=True)  # the vectors that embed kept
    return repro(tree, *only(tree, stage))


def killed(tree: Path, name: str, share: float, done: Done) -> float:
    """Run a stage and kill an actor, or the first process, after this share of the time from when there is one, or of half of it
    ... where all were gone before; the seconds after which it was."""
    stage, who = name.split()
    if name not in done.seconds:
        measure(tree, stage, done)
    after = share * done.seconds[name]
    while True:
        running = forced(tree, stage)
        comes(stage, who, running)
        with suppress(subprocess.TimeoutExpired):
            running.wait(after)
        every = processes(running)
        if found := of(stage, who, every):
            left.extend(every)
            found[int(share * len(found))].kill()
            if running.wait() and who == ACTOR:
                fail(tree, f"{stage} fails as an actor was killed {after:.2f} s after the first one began")
            return after
        running.wait()
        after /= 2


def nothing_left() -> None:
    """Wait until all that ran beside a killed process has ended."""
    begun, running = time.monotonic(), [process for process in left if process.is_running()]
    _, alive = psutil.wait_procs(running, timeout=GONE)
    if alive:
        sys.exit(f"kills: left running after {GONE} s: {alive}")
    print(f"kills: nothing of Ray runs, {time.monotonic() - begun:.0f} s after the last moment", flush=True)


# Each stage's first process and one of its actors.
TIMES = 2 * len(STAGES)
app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(times: Times = TIMES, tree: Tree = None, stages: Stages = "") -> None:
    """Kill stages that run under Ray, or one of their actors, and check that they go on to the same bytes."""
    home = clone(tree)
    if not (home / "build/kills.json").exists() and repro(home).wait():  # by this machine alone
        fail(home, "dvc repro fails undisturbed")
    (home / AT_ONCE).mkdir(parents=True, exist_ok=True)
    (home / AT_ONCE / "sitecustomize.py").write_text(FEW)
    os.environ["RGQA_ENGINE"] = "ray"
    names = [f"{stage} {who}" for stage in stages.split() or STAGES for who in (FIRST, ACTOR)]
    try:
        endure(home, home / "build/actor_kills.json", times, names, killed)
    finally:
        shutil.rmtree(home / AT_ONCE)
    nothing_left()


if __name__ == "__main__":
    app()
