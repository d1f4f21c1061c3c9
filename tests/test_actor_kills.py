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

# The first process of a stage begins one whose command line is that of an actor, and ends well if that one is lost or, told so, badly.
STAGE = """import subprocess, sys
actor = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", "ray::_Actor.work_on"])
actor.wait()
raise SystemExit(int(sys.argv[2]))"""


def begun(code, monkeypatch):
    """Runs of a stage, each below a shell as DVC has it, which ends with `code` when its actor is lost."""
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


def test_an_actor_alone_is_killed_and_the_run_ends_by_itself(tmp_path, monkeypatch):
    runs = begun(0, monkeypatch)
    assert killed(tmp_path, f"rank {ACTOR}", 0.1, Done(seconds={f"rank {ACTOR}": 2.0})) == 0.2
    assert [run.returncode for run in runs] == [0]


def test_the_first_process_alone_is_killed_and_what_it_left_is_waited_for(tmp_path, monkeypatch):
    runs = begun(0, monkeypatch)
    assert killed(tmp_path, f"rank {FIRST}", 0.1, Done(seconds={f"rank {FIRST}": 2.0})) == 0.2
    assert [run.returncode for run in runs] == [9]
    (actor,) = actor_kills.of("rank", ACTOR, actor_kills.left)  # nobody ends this one
    monkeypatch.setattr(actor_kills, "GONE", 0.2)
    with pytest.raises(SystemExit, match="left running"):
        actor_kills.nothing_left()
    actor.kill()
    psutil.wait_procs([actor], timeout=30)
    actor_kills.nothing_left()


def test_a_run_that_an_actors_death_ends_is_told(tmp_path, monkeypatch):
    begun(3, monkeypatch)
    (tmp_path / "build").mkdir()
    (tmp_path / "build/kills.log").write_text("what was said")
    with pytest.raises(SystemExit, match=r"what was said(?s:.)*rank fails as an actor was killed 0.20 s"):
        killed(tmp_path, f"rank {ACTOR}", 0.1, Done(seconds={f"rank {ACTOR}": 2.0}))
