import shutil
import signal
import subprocess
import sys
import time
from itertools import islice

import pytest

from pipeline.core.stage_graph import BUILD_GRAPH, DVC_LOCK_FILES, RESEARCH_GRAPH
from tests import kills
from tests.closure import ROOT
from tests.kills import Done, differing, killed, moments, sums

pytestmark = pytest.mark.endurance


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
