import errno
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.core.errors import Problems, UserError, format_error, run_command


def test_all_problems_are_reported_together(capsys):
    problems = Problems("questions.json")
    problems.add("q1", "no image")
    problems.add("q2", "no answer")
    with pytest.raises(SystemExit) as end:
        run_command(problems.raise_if_any)
    assert end.value.code == 1
    assert capsys.readouterr().err == "error: questions.json: 2 problems\n  q1: no image\n  q2: no answer\n"


def test_no_problems_raise_nothing():
    Problems("x").raise_if_any()


def test_a_long_list_is_truncated_with_the_number_of_further_entries(capsys):
    with pytest.raises(SystemExit):
        run_command(
            lambda: (_ for _ in ()).throw(UserError(["head", *map(chr, range(0x4E00, 0x4E00 + 130))]))
        )
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1 + 100 + 1
    assert lines[-1] == "  ... and 30 more"


def test_five_examples_are_printed_of_each_kind_of_problem():
    faults = [f"row {n}: no answer for '{n}'" for n in range(100)]
    six = [f"row {n}: no image {n}" for n in range(6)]
    lines = format_error(
        UserError(["file.csv: 107 problems", *faults[:50], "row 7: odd", *faults[50:], *six])
    ).splitlines()
    assert lines == [
        "error: file.csv: 107 problems",
        *(f"  {fault}" for fault in faults[:5]),
        "  ... and 95 more like these",
        "  row 7: odd",
        # Six lines of a kind take no more lines than five and "and 1 more".
        *(f"  {fault}" for fault in six),
    ]


def test_every_message_is_printable():
    format_error(UserError("a \ud800 b \x1b[2J")).encode("utf-8")
    assert "\x1b" not in format_error(UserError("a \x1b[2J"))


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "x.npy"), "the disk is full (x.npy)"),
        (KeyboardInterrupt(), "stopped by Ctrl-C"),
        (PermissionError(errno.EACCES, "Permission denied", "x.npy"), "no permission"),
        (OSError(errno.EDQUOT, "", "x.npy"), "your disk quota is used up (x.npy); free some"),
        (
            OSError(errno.EFBIG, "", "x.npy"),
            "a file is larger than this disk or your limits (ulimit -f) allow (x.npy); raise",
        ),
        (
            OSError(errno.ENAMETOOLONG, "", "x.npy"),
            "a file name is too long (x.npy)",
        ),
        (
            IsADirectoryError(errno.EISDIR, "", "x.npy"),
            "a folder where a file was expected (x.npy); move it away",
        ),
        (
            NotADirectoryError(errno.ENOTDIR, "", "x.npy"),
            "a file where a folder was expected (x.npy); move it away",
        ),
        (OSError(errno.ELOOP, "", "x.npy"), "links refer to each other in a circle (x.npy)"),
        (
            OSError(errno.EMFILE, "", "x.npy"),
            "more files are open than your limits (ulimit -n) allow (x.npy); raise the limits",
        ),
        (
            OSError(errno.EIO, "", "x.npy"),
            "the disk failed (x.npy); check the disk, then run the same command again",
        ),
    ],
)
def test_a_full_disk_and_ctrl_c_end_with_a_message(capsys, raised, expected):
    def main():
        raise raised

    with pytest.raises(SystemExit) as end:
        run_command(main)
    assert end.value.code == 1
    assert capsys.readouterr().err.removeprefix("error: ").startswith(expected)


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (FileNotFoundError(errno.ENOENT, "No such file or directory", "/proc/x"), "/proc/x"),
        (OSError(errno.EINVAL, "Invalid argument", "out.json"), "out.json"),
        (OSError(errno.ETXTBSY, "Text file busy", "out.json"), "out.json"),
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), "Broken pipe"),
        (OSError("of a library, without a number"), "without a number"),
        (UnicodeEncodeError("utf-8", "title \ud800", 6, 7, "surrogates not allowed"), "title \\ud800"),
    ],
)
def test_other_system_errors_and_lone_surrogates_are_one_message(capsys, raised, told):
    def main():
        raise raised

    with pytest.raises(SystemExit) as end:
        run_command(main)
    assert end.value.code == 1 and told in capsys.readouterr().err


def test_a_deleted_working_folder_is_named(tmp_path, monkeypatch, capsys):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(SystemExit):
        run_command(Path("params.yaml").absolute)
    assert "working folder" in capsys.readouterr().err


def test_a_bug_keeps_its_traceback():
    with pytest.raises(ZeroDivisionError):
        run_command(lambda: 1 / 0)


def test_the_command_answers_without_heavy_imports():
    script = "import sys, pipeline.cli.main; print(sorted({'torch', 'spacy', 'pandas', 'numpy', 'datasets'} & set(sys.modules)))"
    assert (
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
        == "[]\n"
    )
