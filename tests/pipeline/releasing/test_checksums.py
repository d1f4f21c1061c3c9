import hashlib
import subprocess

import pytest

from pipeline.core.errors import UserError
from pipeline.releasing.checksums import check_checksums, write_checksums


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.txt").write_text("abc")
    (tmp_path / "sub" / "b.txt").write_text("b")
    write_checksums(tmp_path)
    return tmp_path


def test_the_sums_are_those_of_the_standard_tool(folder):
    assert check_checksums(folder) == 2
    assert (folder / "CHECKSUMS.sha256").read_text().splitlines()[
        0
    ] == f"{hashlib.sha256(b'abc').hexdigest()}  a.txt"
    assert (
        subprocess.run(
            ["sha256sum", "-c", "CHECKSUMS.sha256"], cwd=folder, capture_output=True, check=False
        ).returncode
        == 0
    )


def test_changed_missing_and_added_files_are_all_told(folder):
    (folder / "a.txt").write_text("abd")
    (folder / "sub" / "b.txt").unlink()
    (folder / "c.txt").write_text("c")
    with pytest.raises(UserError) as caught:
        check_checksums(folder)
    assert caught.value.problems[1:] == [
        "a.txt: its bytes have changed",
        "c.txt: not listed in CHECKSUMS.sha256",
        "sub/b.txt: missing",
    ]
