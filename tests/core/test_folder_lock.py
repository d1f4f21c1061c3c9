import subprocess
import sys

from pipeline.core.folder_lock import lock_folder

CODE = "import sys; from pathlib import Path; from pipeline.core.folder_lock import lock_folder\nwith lock_folder(Path(sys.argv[1])): print('in')"


def other(folder):
    return subprocess.Popen(
        [sys.executable, "-c", CODE, folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_a_second_command_waits_only_in_the_same_folder(tmp_path):
    with lock_folder(tmp_path / "a"):
        waits, free = other(tmp_path / "a"), other(tmp_path / "b")
        assert "waiting for another" in waits.stderr.readline()
        assert free.communicate(timeout=30) == ("in\n", "")
        assert waits.poll() is None
    assert waits.communicate(timeout=30)[0] == "in\n"
