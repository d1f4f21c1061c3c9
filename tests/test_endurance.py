"""The tools of `make endurance`: stages and actors that are killed, and damaged inputs."""

import shutil
import signal
import subprocess
import sys
import time
from itertools import islice

import psutil
import pytest

from pipeline.core.stage_graph import BUILD_GRAPH, DVC_LOCK_FILES, RESEARCH_GRAPH, stage_module
from tests import actor_kills, kills
from tests.actor_kills import ACTOR, FIRST
from tests.actor_kills import killed as actor_killed
from tests.closure import ROOT
from tests.kills import Done, differing, killed, moments, sums
from tests.mutations import Case, attempt, cases, mutated, tries

pytestmark = pytest.mark.endurance


# Kills


def test_the_order_of_stages_is_reproducible_and_has_each_stage_once_per_round():
    drawn = list(islice(moments(["a", "b", "c"]), 7))
    assert [sorted(stage for stage, _ in drawn[i : i + 3]) for i in (0, 3)] == [["a", "b", "c"]] * 2
    assert drawn == list(islice(moments(["a", "b", "c"]), 7))
    assert len({share for _, share in drawn}) == 7 and all(0 <= share < 1 for _, share in drawn)


@pytest.fixture
def tree(tmp_path):
    """A clone with one file of a stage."""
    (tmp_path / "data/x/interim/rank").mkdir(parents=True)
    (tmp_path / "build").mkdir()
    (tmp_path / ".gitignore").write_text("interim\nbuild\n")
    for graph in (BUILD_GRAPH, RESEARCH_GRAPH):
        (tmp_path / graph).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / graph, tmp_path / graph)
    (tmp_path / "data/x/interim/rank/rank.json").write_text("1")
    for command in ("init", "add .", "-c user.name=n -c user.email=e commit -m c"):
        subprocess.run(["git", *command.split()], cwd=tmp_path, check=True, capture_output=True)
    return tmp_path


def test_an_additional_byte_or_file_is_detected(tree):
    before = sums(tree)
    assert list(before) == ["data/x/interim/rank/rank.json"] and differing(tree, before) == []
    (tree / "data/x/interim/rank/rank.json").write_text("2")
    (tree / "data/x/interim/rank/.rank.json.tmp").write_text("1")
    (tree / "dvc.lock").write_text("")
    assert differing(tree, before) == [
        "data/x/interim/rank/.rank.json.tmp",
        "data/x/interim/rank/rank.json",
        "?? dvc.lock",
    ]


def test_a_run_is_killed_with_all_its_processes(tree, monkeypatch):
    # A run of a minute starts another process, which keeps writing. Both are killed after 0.04 of 50 s.
    begun, beats = [], tree / "build/beats"
    beating = f"import time\nfor _ in range(600): open({str(beats)!r}, 'a').write('x'), time.sleep(0.1)"
    starting = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {beating!r}])"

    def repro(tree, *options):
        begun.append(subprocess.Popen([sys.executable, "-c", starting], start_new_session=True))
        while not beats.exists():
            time.sleep(0.01)
        return begun[-1]

    monkeypatch.setattr(kills, "repro", repro)
    assert killed(tree, "rank", 0.04, Done(seconds={"rank": 50.0})) == 2.0
    assert [run.returncode for run in begun] == [-signal.SIGKILL]
    written = beats.stat().st_size
    time.sleep(0.5)
    assert beats.stat().st_size == written > 0


@pytest.mark.parametrize(("lock", "well", "said"), [("whole", False, ""), ("ha", True, "git checkout")])
@pytest.mark.parametrize("file", DVC_LOCK_FILES)
def test_only_a_truncated_lock_file_is_restored(tree, monkeypatch, capsys, lock, well, said, file):
    (tree / file).write_text("whole")
    for command in ("add .", "-c user.name=n -c user.email=e commit -m c"):
        subprocess.run(["git", *command.split()], cwd=tree, check=True, capture_output=True)
    (tree / file).write_text(lock)

    # This fails if the lock file is truncated, or always.
    def repro(tree, *options):
        fails = not well or (tree / file).read_text() != "whole"
        return subprocess.Popen([sys.executable, "-c", f"raise SystemExit({int(fails)})"])

    monkeypatch.setattr(kills, "repro", repro)
    assert kills.goes_on(tree, "rank") == well
    assert (said in capsys.readouterr().out) and (tree / file).read_text() == "whole"


def test_a_killed_stage_runs_again(tree, monkeypatch):
    asked = []
    monkeypatch.setattr(kills, "ends_well", lambda tree, *options: asked.append(options) or True)
    forced = ("--force", "--single-item")
    for stage, target in (("rank", "rank"), ("answer", "research/dvc.yaml:answer")):
        asked.clear()
        assert kills.goes_on(tree, stage) and asked == [(*forced, target), ()]


# Actor kills


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
    assert actor_killed(tmp_path, f"rank {ACTOR}", 0.1, Done(seconds={f"rank {ACTOR}": 2.0})) == 0.2
    assert [run.returncode for run in runs] == [0]


def test_remaining_processes_are_awaited_after_the_first_one_is_killed(tmp_path, monkeypatch):
    runs = begun(0, monkeypatch)
    assert actor_killed(tmp_path, f"rank {FIRST}", 0.1, Done(seconds={f"rank {FIRST}": 2.0})) == 0.2
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
        actor_killed(tmp_path, f"rank {ACTOR}", 0.1, Done(seconds={f"rank {ACTOR}": 2.0}))


# Mutated inputs
# Some hundred mutated inputs. `make endurance` tries 20,000 (tests/mutations.py).


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_each_valid_input_is_read(case: Case, tmp_path):
    path = tmp_path / case.name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(case.data)
    case.read(path)


@pytest.mark.parametrize("seed", range(4))
def test_a_mutated_input_is_read_or_reported(seed):
    tries(100, 1_000_000 + seed)


def test_mutations_match_their_names():
    assert mutated(b"abcdef", [("cut", 0.3, 2, None)]) == b"abef"
    assert mutated(b"abcdef", [("end", 0.5, 1, None)]) == b"abc"
    assert mutated(b"abc", [("double", 0.3, 1, None)]) == b"abbc"
    assert mutated(b"abc", [("flip", 0.0, 0, None)]) == b"`bc"
    assert mutated(b'{"a": 1}', [("value", 0.0, 1, None)]) == b'{"a": null}'
    assert mutated(b'{"a": 1}', [("value", 0.0, 1, "x")]) == b'{"x": 1}'


def test_a_traceback_is_detected(monkeypatch):
    def fail(*_: object) -> None:
        raise KeyError("x")

    spoiling = [case._replace(read=fail) for case in cases()]
    monkeypatch.setattr("tests.mutations.cases", lambda: spoiling)
    with pytest.raises(KeyError):
        attempt(0, [("cut", 0.0, 1, None)])
