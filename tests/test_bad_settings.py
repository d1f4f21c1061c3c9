"""Invalid parameters, names and models, and errors of the operating system end in one message."""

import errno
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from pipeline.cli.main import app
from pipeline.core.atomic_files import write_text
from pipeline.core.errors import UserError, run_command
from pipeline.core.json_files import read_json
from pipeline.stages import embed, ingest
from tests.bad_inputs import error_message
from tests.closure import ROOT

TINY = "data/tiny/source"


def sectioned(line: str) -> str:
    return f"dataset: tiny\ntiny:\n  ingest:\n    {line}\n"


PARAMS: list[tuple[str, str | bytes, str]] = [
    ("a leading zero", sectioned("seed: 010"), "line 4: 010 does not mean the same to all YAML readers"),
    ("YAML 1.2's octal", sectioned("seed: 0o10"), "line 4: 0o10 does not mean the same"),
    ("an exponent", sectioned("seed: 1e3"), "line 4: 1e3 does not mean the same"),
    ("underscores", sectioned("seed: 1_000"), "line 4: 1_000 does not mean the same"),
    ("yes", sectioned("paraphrase: yes"), "line 4: yes does not mean the same"),
    ("another word", sectioned("paraphrase: maybe"), "paraphrase"),
    ("off", sectioned("paraphrase: off"), "line 4: off does not mean the same"),
    ("a time", sectioned("seed: 12:30"), "line 4: 12:30 does not mean the same"),
    ("a date", sectioned("split: 2023-10-01"), "line 4: 2023-10-01 does not mean the same"),
    ("a boolean key", "dataset: tiny\ntrue: {}\ntiny: {}\n", "line 2: the key true is not a string"),
    ("a key that is a switch", "dataset: tiny\non: {}\ntiny: {}\n", "line 2: the key on is not a string"),
    ("a numeric key", "dataset: tiny\n7: {}\ntiny: {}\n", "line 2: the key 7 is not a string"),
    ("no key", "dataset: tiny\n~: {}\ntiny: {}\n", "line 2: the key ~ is not a string"),
    ("a key twice", sectioned("seed: 1\n    seed: 2"), "line 5: the key seed occurs twice"),
    ("a section twice", "dataset: tiny\ntiny: {}\ntiny: {}\n", "line 3: the key tiny occurs twice"),
    ("a version that is a number", "dataset: tiny\nversion: 1.0\ntiny: {}\n", 'expected a key `version` like "1.0.0"'),
    ("a version that is a path", 'dataset: tiny\nversion: "../1"\ntiny: {}\n', 'expected a key `version` like "1.0.0"'),
    ("no such data set", "dataset: bees\ntiny: {}\n", "there is no section of that name; there are tiny"),
    ("a boolean data set", "dataset: true\ntrue: {}\n", "the key true is not a string"),
    ("no data set", "tiny: {}\n", "expected a key `dataset`"),
    ("a list", "[1, 2]\n", "expected a key `dataset`"),
    ("nothing", "", "expected a key `dataset`"),
    ("tabs", "dataset: tiny\ntiny:\n\tx: 1\n", "not valid YAML"),
    ("a bracket that does not end", "dataset: [tiny\n", "not valid YAML"),
    ("nested deeply", "dataset: " + "[" * 5000, "not valid YAML"),
    ("an object", "dataset: !!python/name:os.system\n", "params.yaml: "),
    ("no UTF-8", b"dataset: tiny # \xe9\n", "not UTF-8"),
    ("a zero byte", b"dataset: tiny\0\n", "not valid YAML"),
    ("a misspelt parameter", sectioned("sead: 1"), "sead: no such parameter"),
    ("a text for a number", sectioned('seed: "1"'), "seed: Expected `int`, got `str`"),
    ("a section that is a list", "dataset: tiny\ntiny: {ingest: [1]}\n", "expected a mapping of parameters"),
    ("a section that is missing", "dataset: tiny\ntiny: {rank: {}}\n", "tiny.ingest: the section is missing"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "said"), [case[1:] for case in PARAMS], ids=[case[0] for case in PARAMS])
def test_invalid_params_yaml_is_reported(tiny, capsys, text, said):
    Path("params.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    assert said in error_message(capsys, ingest.main)


def test_params_yaml_may_be_missing_or_a_folder(tiny, capsys):
    Path("params.yaml").unlink()
    assert "params.yaml: no such file; run this in the folder of a project" in error_message(
        capsys, ingest.main
    )
    Path("params.yaml").mkdir()
    assert "params.yaml: a folder where a file was expected" in error_message(capsys, ingest.main)


# --- names of data sets

NAMES = [
    *("version", "dataset", "sample", "release", "cache", "label-studio"),
    *("no", "null", "yes", "on", "off", "true", "false", "y", "n"),
    *("Birds", "a b", "", "7birds", "-x", "vögel", "birds\n", "b" * 300, "birds:"),
]
GQA = 'dataset: gqa\nversion: "1.0.0"\ngqa:\n  rank:\n    cap: 5\n'


def init(*names: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["init", "--", *names])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_reserved_names_are_refused(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text(GQA)
    code, output = init(name)
    assert code == 1 and "invalid name of a data set" in output
    assert Path("params.yaml").read_text() == GQA and not Path("data").exists()


@pytest.mark.parametrize("name", ["birds", "none", "x1", "gqa-2", "b" * 60])
def test_other_names_are_accepted(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text(GQA)
    assert init(name)[0] == 0
    text = Path("params.yaml").read_text()
    assert text.startswith(f"{GQA}\n{name}:\n  ") and yaml.safe_load(text)[name]["release"]["title"] == name


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- dataset\n", "no section can be appended"),
        ("gqa: [\n", "not valid YAML"),
        ("gqa:\n  rank: {seed: 010}\n", "line 2: 010 does not mean the same"),
    ],
)
def test_a_params_yaml_that_cannot_be_extended_is_unchanged(tmp_path, monkeypatch, text, said):
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text(text)
    code, output = init("birds")
    assert code == 1 and said in " ".join(output.split())
    assert Path("params.yaml").read_text() == text


def limited(script: str, size: int) -> subprocess.CompletedProcess[str]:
    """Run a script in a process whose files have at most `size` bytes."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    command = [sys.executable, "-c", script]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, capture_output=True, text=True, preexec_fn=limit, env=environment)


def test_init_on_a_full_disk_leaves_params_yaml_whole(tmp_path, monkeypatch):
    """A limit of 1,000 bytes per file simulates a full disk."""
    monkeypatch.chdir(tmp_path)
    text = GQA + "".join(f"    # {number}\n" for number in range(100))
    Path("params.yaml").write_text(text)
    done = limited(
        "import sys; sys.argv = ['rgqa', 'init', 'birds']; from pipeline.cli.main import app; app()", 1000
    )
    assert done.returncode == 1
    assert (
        "a file is larger than this disk or your limits (ulimit -f) allow (params.yaml)"
        in done.stderr.replace(str(tmp_path) + "/", "")
    )
    assert "Traceback" not in done.stderr and Path("params.yaml").read_text() == text
    assert [path.name for path in tmp_path.iterdir()] == ["params.yaml"]


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.ENOSPC, "the disk is full (x.json)"),
        (errno.EDQUOT, "your disk quota is used up (x.json)"),
        (errno.EFBIG, "a file is larger than this disk or your limits"),
        (errno.ENAMETOOLONG, "a file name is too long"),
        (errno.EROFS, "no permission"),
        (errno.EIO, "the disk failed (x.json)"),
        (errno.EMFILE, "more files are open than your limits"),
        (errno.ENOTDIR, "a file where a folder was expected"),
        (errno.ELOOP, "links refer to each other"),
    ],
)
def test_system_errors_are_reported_and_the_old_file_stays(tmp_path, monkeypatch, capsys, number, said):
    monkeypatch.chdir(tmp_path)
    write_text("x.json", "old")

    def full(_: int) -> None:
        # The kernel does not name the file.
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", full)
    assert said in error_message(capsys, lambda: write_text("x.json", "new"))
    assert Path("x.json").read_text() == "old" and [path.name for path in tmp_path.iterdir()] == ["x.json"]


@pytest.mark.parametrize(
    ("name", "make", "said"),
    [
        ("out.json", Path.mkdir, "a folder where a file was expected; choose another path"),
        ("out.json", os.mkfifo, "a pipe where a file was expected; choose another path"),
        ("link", lambda path: path.symlink_to("/dev/zero"), "a device where a file was expected"),
        ("file/out.json", lambda path: path.parent.write_text("kept"), "where a folder was expected"),
        ("/dev/nothing", lambda _: None, "a device where a file was expected"),
        ("/proc/x.json", lambda _: None, "no file can be created there; choose another path"),
    ],
)
def test_paths_that_no_file_may_replace_are_reported_and_unchanged(tmp_path, capsys, name, make, said):
    place = tmp_path / name
    make(place)
    before = place.lstat() if name[0] != "/" and place.exists() else None
    message = error_message(capsys, lambda: write_text(place, "x"))
    assert said in message and (place if place.parent.is_dir() else place.parent).name in message
    assert before is None or place.lstat().st_ino == before.st_ino


def test_out_of_memory_and_control_characters_are_reported(capsys):
    def hungry() -> None:
        raise MemoryError

    assert "out of memory" in error_message(capsys, hungry)

    def steering() -> None:
        raise UserError("\x1b[2Jname\x07: no such file")

    assert error_message(capsys, steering) == "error: ?[2Jname?: no such file\n"


def test_a_broken_link_and_a_long_name_are_reported(tmp_path, capsys):
    assert "a file name is too long" in error_message(capsys, lambda: write_text(tmp_path / ("x" * 300), ""))
    os.mkfifo(tmp_path / "pipe")
    assert "a pipe where a file was expected" in error_message(capsys, lambda: read_json(tmp_path / "pipe"))
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert "links refer to each other" in error_message(capsys, lambda: read_json(tmp_path / "a"))


# --- models of stage embed, and missing folders


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ({"model": "local-dir:elsewhere"}, "elsewhere: the model is outside of data/tiny/clip"),
        ({"model": "local-dir:data/tiny/clip/../../x"}, "the model is outside of data/tiny/clip"),
        ({"model": "ViT-B-32", "pretrained": "weights.pt"}, "weights.pt: the model is outside of data/tiny/clip"),
        ({"model": "local-dir:data/tiny/clip", "pretrained": "openai"}, "pretrained: model 'local-dir:data/tiny/clip' brings its own weights"),
        ({"model": "local-dir:elsewhere", "pretrained": "weights.pt"}, "embed: 2 problems"),
        ({"model": "hf-hub:owner/name", "pretrained": "weights.pt"}, "embed: 2 problems"),
        ({"model": "ViT-B-32", "pretrained": "laion2b_s34b_b79k=weights.pt"}, "weights.pt: the model is outside of data/tiny/clip"),
        ({"model": "local-dir:data/tiny/clip"}, "open_clip_config.json: no such file"),
        ({"model": "ViT-B-23", "pretrained": "openai"}, "open_clip knows no model 'ViT-B-23'"),
        ({"model": "ViT-L-14"}, "'' is neither a pretrained tag"),
    ],
)  # fmt: skip
def test_an_unusable_model_is_reported(tiny, set_params: Callable[..., None], capsys, section, said):
    assert error_message(capsys, ingest.main) == ""
    Path("weights.pt").touch()
    Path("data/tiny/clip").mkdir()
    set_params("embed", **section)
    assert said in error_message(capsys, embed.main)


def test_the_first_stage_reports_missing_folders(tiny, capsys, monkeypatch):
    # DVC sets this variable.
    monkeypatch.setenv("DVC_STAGE", "ingest")
    message = error_message(capsys, ingest.main)
    assert "data/tiny/clip, data/tiny/embeddings, " in message and "rgqa init tiny" in message


def test_a_bug_is_a_traceback():
    with pytest.raises(ZeroDivisionError):
        run_command(lambda: 1 / 0)
