"""Kill Ray actors and stages at random moments, and check that the results stay the same.

The stages that use Ray run with so few items per actor that actors work on the sample. At a random moment SIGKILL is sent to an actor
or to the first process of the stage. A run that lost an actor must complete. After a rerun of the stage, the files must be the same as
those of an undisturbed run without Ray. At the end no process of Ray may be running.

    python -m tests.actor_kills                         20 moments, in the clone of tests/kills.py (make endurance)
    python -m tests.actor_kills --times 5 --tree CLONE --stages "rank tag"

Finished moments are recorded in build/actor_kills.json of the clone, so that a stopped run resumes.
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
# The process that is killed: the one of the stage, or an actor.
FIRST, ACTOR = "first", "actor"
# Seconds within which all processes of Ray must end.
GONE = 600
# Patches that give few items to each actor.
FEW = """import sys

if any(word.startswith(("pipeline.stages.", "research.stages.")) for word in sys.orig_argv):
    from pipeline.core import parallel

    choose = parallel.choose_num_workers
    parallel.choose_num_workers = lambda num_items, items_per_worker=1: choose(num_items, 1)
    parallel.ordered_map.__defaults__ = (8,)

    from pipeline.candidates.encoders import embedding_cache

    embedding_cache.PRECOMPUTED_FILE_NAME = "none"
"""

# Processes that were running when another one was killed.
left: list[psutil.Process] = []


def processes(running: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """Return the running processes that a run has started."""
    try:
        return psutil.Process(running.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def of(stage: str, who: str, every: list[psutil.Process]) -> list[psutil.Process]:
    """Return the first process of a stage, or its actors, by their command lines, in the order of their ids."""
    word, found = {FIRST: stage_module(stage), ACTOR: "ray::_RayWorker"}[who], []
    for process in every:
        try:
            if any(part.startswith(word) for part in process.cmdline()):
                found.append(process)
        # The process has just ended.
        except psutil.NoSuchProcess:
            pass
    return sorted(found, key=lambda process: process.pid)


def comes(stage: str, who: str, running: subprocess.Popen[bytes]) -> bool:
    """Wait until there is such a process. Return False if the run ends before."""
    while running.poll() is None:
        if of(stage, who, processes(running)):
            return True
        time.sleep(0.1)
    return False


def measure(tree: Path, stage: str, done: Done) -> None:
    """Measure how long an undisturbed run takes after its first process and after its first actor appear."""
    running, came = forced(tree, stage), dict[str, float]()
    for who in (FIRST, ACTOR):
        if not comes(stage, who, running):
            fail(tree, f"{stage} has no {who}")
        came[f"{stage} {who}"] = time.monotonic()
    if running.wait():
        fail(tree, f"{stage} fails undisturbed")
    done.seconds |= {name: round(time.monotonic() - moment, 2) for name, moment in came.items()}


def forced(tree: Path, stage: str) -> subprocess.Popen[bytes]:
    """Start a stage without cached embeddings."""
    shutil.rmtree(tree / "data/cache", ignore_errors=True)
    return repro(tree, *only(tree, stage))


def killed(tree: Path, name: str, share: float, done: Done) -> float:
    """Run a stage and kill an actor or the first process.

    Args:
        tree: The clone.
        name: Stage and kind of process.
        share: Proportion of the time since the process appeared. If the process has ended before, the time is halved.
        done: What was done in the clone.

    Returns:
        The seconds after which the process was killed.
    """
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
                fail(
                    tree,
                    f"{stage} fails after an actor was killed {after:.2f} s after the first one appeared",
                )
            return after
        running.wait()
        after /= 2


def nothing_left() -> None:
    """Wait until all other processes of killed runs have ended."""
    begun, running = time.monotonic(), [process for process in left if process.is_running()]
    _, alive = psutil.wait_procs(running, timeout=GONE)
    if alive:
        sys.exit(f"kills: still running after {GONE} s: {alive}")
    print(f"kills: nothing of Ray runs, {time.monotonic() - begun:.0f} s after the last moment", flush=True)


# The first process and one actor of each stage.
TIMES = 2 * len(STAGES)
app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(times: Times = TIMES, tree: Tree = None, stages: Stages = "") -> None:
    """Kill stages that run under Ray or their actors at random moments, and check that reruns write the same bytes."""
    home = clone(tree)
    if not (home / "build/kills.json").exists() and repro(home).wait():
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
