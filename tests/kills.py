"""Killed at any moment, a run goes on to the same bytes: `dvc repro` of one stage is killed with SIGKILL, with all that it
started, at a moment drawn by a stated seed, and the next `dvc repro` must give what an undisturbed run gave.

    python -m tests.kills                         60 moments over all stages, in a clone of its own (make endurance)
    python -m tests.kills --times 3 --tree CLONE  three, in a clone in which dvc repro has run

What is done is kept in build/kills.json of the clone and not done again; stopped, it goes on.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import msgspec
import yaml

from tests.closure import ROOT

TIMES, SEED = 60, 1
WRITTEN = ("interim", "release")  # folders below data/ whose bytes must stay


class Done(msgspec.Struct):
    """What was done in a clone: seconds that each stage takes, the moments that were tried, and the bytes before the first."""

    seconds: dict[str, float] = {}
    moments: int = 0
    bytes: dict[str, str] = {}


def moments(stages: list[str], seed: int = SEED) -> Iterator[tuple[str, float]]:
    """Stages, each once before any comes again, and the share of its time after which it is killed."""
    rng = random.Random(seed)
    while True:
        for stage in rng.sample(stages, len(stages)):
            yield stage, rng.random()


def sums(tree: Path) -> dict[str, str]:
    """File -> SHA-256 of all that the stages wrote."""
    files = [path.relative_to(tree) for path in sorted((tree / "data").rglob("*")) if path.is_file()]
    return {
        name.as_posix(): hashlib.sha256((tree / name).read_bytes()).hexdigest()
        for name in files
        if set(name.parts) & set(WRITTEN)
    }


def repro(tree: Path, *options: str) -> subprocess.Popen[bytes]:
    """`dvc repro` as the leader of a group; what it says goes into build/kills.log."""
    environment = os.environ | {"PYTHONPATH": str(tree)}
    with (tree / "build/kills.log").open("ab") as log:
        return subprocess.Popen(
            ["dvc", "repro", *options],
            cwd=tree,
            env=environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def fail(tree: Path, what: str) -> NoReturn:
    said = (tree / "build/kills.log").read_text(errors="replace").splitlines()[-30:]
    sys.exit("\n".join([*said, f"kills: {what}; all is in {tree}/build/kills.log"]))


def killed(tree: Path, stage: str, share: float, done: Done) -> float:
    """Run a stage and kill it after this share of its time, or of half of it ... where it ended before; the seconds that it ran."""
    forced = ("--force", "--single-item", stage)
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


def goes_on(tree: Path) -> bool:
    """Whether the next `dvc repro` ends well. DVC writes dvc.lock in place, so half of it may be there: DVC then says so and
    does nothing, and git has the whole."""
    anew = "--no-run-cache"  # what was killed is run again, not looked up
    if not repro(tree, anew).wait():
        return True
    lock = ["git", "diff", "--quiet", "--", "dvc.lock"]
    if not subprocess.run(lock, cwd=tree, check=False).returncode:
        return False
    print("kills: DVC was writing dvc.lock: git checkout dvc.lock", flush=True)
    subprocess.run(["git", "checkout", "--quiet", "--", "dvc.lock"], cwd=tree, check=True)
    return not repro(tree, anew).wait()


def differing(tree: Path, wanted: dict[str, str]) -> list[str]:
    now = sums(tree)
    files = sorted(name for name in {*now, *wanted} if now.get(name) != wanted.get(name))
    changed = subprocess.run(
        ["git", "status", "--porcelain"], cwd=tree, capture_output=True, text=True, check=True
    )
    return files + changed.stdout.splitlines()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=TIMES)
    parser.add_argument(
        "--tree",
        type=Path,
        help="a clone in which dvc repro has run; else build/kills, made anew where it is none",
    )
    arguments = parser.parse_args()
    tree = (arguments.tree or ROOT / "build/kills").resolve()
    if not (tree / ".git").exists():
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(tree)], check=True)
    state = tree / "build/kills.json"
    state.parent.mkdir(exist_ok=True)
    done = msgspec.json.decode(state.read_bytes(), type=Done) if state.exists() else Done()
    if not done.bytes:
        if repro(tree).wait():
            fail(tree, "dvc repro fails undisturbed")
        done.bytes = sums(tree)
    stages = list(yaml.safe_load((tree / "dvc.yaml").read_text())["stages"])
    for number, (stage, share) in enumerate(moments(stages), 1):
        if number > arguments.times:
            break
        if number <= done.moments:
            continue
        after = killed(tree, stage, share, done)
        if not goes_on(tree):
            fail(tree, f"dvc repro does not go on after {stage} was killed {after:.2f} s from its start")
        if wrong := differing(tree, done.bytes):
            fail(tree, f"other bytes after {stage} was killed {after:.2f} s from its start: {wrong[:10]}")
        done.moments = number
        state.write_bytes(msgspec.json.encode(done))
        print(
            f"kills: {number} of {arguments.times}: {stage} after {after:.2f} of {done.seconds[stage]:.2f} s",
            flush=True,
        )
    print(f"kills: {done.moments} moments, each time the same {len(done.bytes)} files -> {state}")


if __name__ == "__main__":
    main()
