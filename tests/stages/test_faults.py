"""A full disk and a kill, in every stage: nothing half-written, old files kept, and the next run ends as if
nothing had been."""

from __future__ import annotations

import errno
import hashlib
import importlib
import io
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from pipeline.candidates.encoders import clip
from pipeline.core import atomic_files
from pipeline.core.errors import run_command
from pipeline.core.stage_graph import read_stages, stage_module
from tests.closure import ROOT

STAGES = list(read_stages(root=ROOT))
OLD = b"what an earlier run wrote"


class Killed(BaseException):
    """The process ends here; nothing catches it."""


class Encoder:
    """Vectors without a model: at stake is what embed writes, not what the vectors say."""

    record = clip.ModelRecord(
        model="digits",
        pretrained="",
        weights_sha256="00",
        fingerprint="digits",
        preprocessing="{}",
        quick_gelu=False,
        dimension=8,
        context_length=20,
        open_clip="",
        torch="",
    )

    def encode_texts(self, texts: Sequence[str], batch: int, **_: bool) -> clip.EmbeddingBatches:
        for start in range(0, len(texts), batch):
            rows = [hashlib.sha256(text.encode()).digest()[:8] for text in texts[start : start + batch]]
            yield np.arange(start, start + len(rows)), np.array([list(row) for row in rows], np.float32)

    encode_images = encode_texts


@pytest.fixture
def project(tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the tiny project in which every stage has run; it is the working directory."""
    shutil.copytree(tiny_run, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(clip, "Encoder", lambda *_, **__: Encoder())
    return tmp_path


def main_of(stage: str):
    return importlib.import_module(stage_module(stage, ROOT)).main


def folder_of(stage: str) -> Path:
    return Path("data/release/tiny/0.1.0" if stage == "release" else f"data/tiny/interim/{stage}")


def written(stage: str) -> dict[str, bytes]:
    """Every file of a stage, hidden ones too."""
    folder = folder_of(stage)
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def expected(stage: str, project: Path) -> dict[str, bytes]:
    """What an undisturbed run writes. In its place now lies what an earlier run wrote, to tell the two apart."""
    if stage == "embed":  # the tiny run has no model
        main_of(stage)()
    found = written(stage)
    for name in found:
        (folder_of(stage) / name).write_bytes(OLD)
    return found


def fill(patch: pytest.MonkeyPatch, capacity: int) -> None:
    """Make the disk hold `capacity` bytes more. What goes beyond fails as the kernel has it: a part is written, then
    no more."""

    class File(io.FileIO):
        def write(self, data: bytes) -> int:
            nonlocal capacity
            if not capacity:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            done = super().write(memoryview(data)[:capacity])
            capacity -= done
            return done

    plain = Path.open

    def opened(path: Path, mode: str = "r", *rest: object, **more: object) -> object:
        if "w" not in mode:
            return plain(path, mode, *rest, **more)
        file = io.BufferedWriter(File(path, "wb"))
        return file if "b" in mode else io.TextIOWrapper(file, encoding="utf-8")

    patch.setattr(Path, "open", opened)


def kill_before(patch: pytest.MonkeyPatch, stage: str, number: int) -> None:
    """End the process right before the stage's `number`-th file takes its place; from then on nothing is tidied
    up."""
    replace, unlink, left = os.replace, Path.unlink, number
    gone = subprocess.Popen(["true"])
    gone.wait()

    def replaced(source: Path, target: Path) -> None:
        nonlocal left
        if folder_of(stage) in Path(target).parents:
            left -= 1
            if left <= 0:
                raise Killed
        replace(source, target)

    patch.setattr(os, "replace", replaced)
    patch.setattr(
        Path, "unlink", lambda path, missing_ok=False: unlink(path, missing_ok) if left > 0 else None
    )
    patch.setattr(os, "getpid", lambda: gone.pid)  # of no living process, as when the next run starts


def put_in_place(patch: pytest.MonkeyPatch, stage: str) -> list[str]:
    """The stage's files that take their place whole, collected while it runs."""
    replace, placed = os.replace, []

    def replaced(source: Path, target: Path) -> None:
        replace(source, target)
        if folder_of(stage) in Path(target).parents:
            placed.append(Path(target).relative_to(folder_of(stage)).as_posix())

    patch.setattr(os, "replace", replaced)
    return placed


@pytest.fixture(autouse=True)
def new_process() -> Iterator[None]:
    atomic_files._remove_stale_temporaries.cache_clear()
    yield
    atomic_files._remove_stale_temporaries.cache_clear()


@pytest.mark.parametrize("stage", STAGES)
def test_a_full_disk_is_one_message_and_every_file_is_old_or_new(stage, expected, capsys):
    with pytest.MonkeyPatch.context() as patch:
        fill(patch, sum(map(len, expected.values())) // 2)
        with pytest.raises(SystemExit) as caught:
            run_command(main_of(stage))
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith(("error:", "Traceback"))]
    assert caught.value.code == 1 and len(told) == 1
    assert told[0].startswith(f"error: the disk is full ({folder_of(stage)}/")
    found = written(stage)
    assert found.keys() == expected.keys()  # nothing half-written beside them
    assert all(found[name] in (OLD, expected[name]) for name in found)
    assert OLD in found.values()
    with pytest.MonkeyPatch.context() as patch:
        placed = put_in_place(patch, stage)
        main_of(stage)()
    assert written(stage) == expected
    assert sorted(placed) == sorted(expected)  # each whole and once; none was written where it lies


@pytest.mark.parametrize("stage", STAGES)
def test_a_killed_stage_leaves_every_file_old_or_new_and_the_next_run_tidies_up(stage, expected):
    with pytest.MonkeyPatch.context() as patch:
        kill_before(patch, stage, (len(expected) + 1) // 2)
        with pytest.raises(Killed):
            main_of(stage)()
    found = written(stage)
    assert len(found) > len(expected)  # the file in work was left behind, as by a real kill
    assert all(found[name] in (OLD, expected[name]) for name in expected)
    assert OLD in found.values()
    atomic_files._remove_stale_temporaries.cache_clear()  # the next run is another process
    main_of(stage)()
    assert written(stage) == expected


KILLED = """
import os, signal
from pipeline.stages import {stage}

left, replace = {number}, os.replace

def replaced(source, target):
    global left
    left -= str(target).startswith("data/")
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    replace(source, target)

os.replace = replaced
{stage}.main()
"""


@pytest.mark.parametrize("stage", ["release"])  # the most files, all of which its checksums list
def test_the_kernels_own_kill_does_no_more_harm(stage, expected, project):
    script = KILLED.format(stage=stage, number=len(expected) // 2)
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    found = written(stage)
    assert len(found) == len(expected) + 1
    assert all(found[name] in (OLD, expected[name]) for name in expected)
    main_of(stage)()
    assert written(stage) == expected
