import subprocess
import sys

import psutil
import pytest

from pipeline.core.stage_graph import stage_module
from tests import actor_kills
from tests.actor_kills import ACTOR, FIRST, killed
from tests.closure import ROOT
from tests.kills import Done

pytestmark = pytest.mark.endurance

# The first process starts another one with the command line of an actor, and exits with the given code when that one has ended.
STAGE = """import subprocess, sys
actor = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", "ray::_RayWorker.run_chunk"])
actor.wait()
raise SystemExit(int(sys.argv[2]))"""


def begun(code, monkeypatch):
    """Return the runs of a stage, each in a shell as with DVC, which exit with `code` when their actor has ended."""
    runs = []

    def forced(tree, stage):
        words = [sys.executable, "-c", STAGE, stage_module(stage, ROOT), str(code)]
        starting = f"import subprocess; raise SystemExit(abs(subprocess.run({words!r}).returncode))"
        runs.append(subprocess.Popen([sys.executable, "-c", starting]))
        assert actor_kills.comes(stage, ACTOR, runs[-1])
        return runs[-1]

    monkeypatch.setattr(actor_kills, "forced", forced)
    monkeypatch.setattr(actor_kills, "left", [])
    return runs


def test_the_run_completes_after_an_actor_is_killed(tmp_path, monkeypatch):
    runs = begun(0, monkeypatch)
    assert killed(tmp_path, f"rank {ACTOR}", 0.1, Done(seconds={f"rank {ACTOR}": 2.0})) == 0.2
    assert [run.returncode for run in runs] == [0]


def test_remaining_processes_are_awaited_after_the_first_one_is_killed(tmp_path, monkeypatch):
    runs = begun(0, monkeypatch)
    assert killed(tmp_path, f"rank {FIRST}", 0.1, Done(seconds={f"rank {FIRST}": 2.0})) == 0.2
    assert [run.returncode for run in runs] == [9]
    # Nothing ends this process.
    (actor,) = actor_kills.of("rank", ACTOR, actor_kills.left)
    monkeypatch.setattr(actor_kills, "GONE", 0.2)
    with pytest.raises(SystemExit, match="still running"):
        actor_kills.nothing_left()
    actor.kill()
    psutil.wait_procs([actor], timeout=30)
    actor_kills.nothing_left()


def test_a_run_that_ends_with_the_death_of_an_actor_is_reported(tmp_path, monkeypatch):
    begun(3, monkeypatch)
    (tmp_path / "build").mkdir()
    (tmp_path / "build/kills.log").write_text("the log")
    with pytest.raises(SystemExit, match=r"the log(?s:.)*rank fails after an actor was killed 0.20 s"):
        killed(tmp_path, f"rank {ACTOR}", 0.1, Done(seconds={f"rank {ACTOR}": 2.0}))
