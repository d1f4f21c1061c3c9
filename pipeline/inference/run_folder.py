"""A run's folder: what was asked and how (run.json), every reply as it came (answers.jsonl), the predictions."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..core.atomic_files import write_text
from ..core.errors import UserError
from ..core.folder_lock import LOCK_FILE_NAME, acquire_lock
from ..scoring.input_validation import parse_json, parse_json_lines, read_bytes
from .answer_distributions import write_distributions

JournalRow = dict[str, Any]
ANSWER_VOCABULARY_FILE = "classes.json"  # the names of a classifier's answers
# What a run writes into its folder. `logs` is left out: a file of inspect_ai replaces no other.
OUTPUT_NAMES = (
    "run.json",
    "answers.jsonl",
    "predictions.jsonl",
    "scores.json",
    "distribution.npz",
    ANSWER_VOCABULARY_FILE,
    "plots",
)


class RunFolder:
    """Replies are appended to the journal answers.jsonl as they come, so whatever kills the run loses none.

    Attributes:
        rows: of the journal: `id` of the sample, `item_ids` (all items that it stands for), `prediction`, `confidence`,
            `refused`, `raw`, `failure` (why the reply is no answer, "" if it is one), `start`, `seconds`, `tokens`; of a
            model that classifies `distribution`, too (`distributions.packed`).
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: list[JournalRow] = []

    @contextmanager
    def hold_lock(self) -> Iterator[None]:
        """Hold the folder, creating it if needed; no other run works in it meanwhile.

        What this process created is removed at the end if nothing came of the run. Folders and files that were there
        before stay as they are.

        Raises:
            UserError: Another run holds the folder, it lies in a release, or it cannot be made or written.
        """
        made = _make_folders(self.path)
        lock_path = self.path / LOCK_FILE_NAME
        there, had_lock = self._existing_outputs(), lock_path.exists()
        try:
            lock = lock_path.open("a")
        except OSError as error:
            _remove_empty_folders(made)
            raise UserError(f"--out {self.path}: cannot be written ({error.strerror})") from None
        with lock:
            if not acquire_lock(lock):
                raise UserError(
                    f"{self.path}: another run is at work in it; wait for it, or name another --out"
                )
            try:
                yield
            finally:
                # A lock of an earlier run stays: its folder has results, or had some.
                if not had_lock and self._existing_outputs() == there:
                    lock_path.unlink(missing_ok=True)
                    _remove_empty_folders(made)

    def load_previous(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Read what a run with the same settings left.

        Returns:
            Its run.json, {} if there is none or no question was answered.

        Raises:
            UserError: The folder has replies to a run with other settings, or files that `rgqa run` did not write and
                would replace.
        """
        known = self.path / "run.json"
        before = _read_run_record(known)
        if not before and (foreign := self._existing_outputs()):
            raise UserError(
                f"--out {self.path}: has {', '.join(foreign)}, which `rgqa run` would replace but did not write; "
                "name another folder"
            )
        self.rows = self._read_journal()
        if self.rows and (differing := list(_setting_differences(before, settings))):
            first = (
                f"{self.path}: has a run with other settings; name another --out, or take its own to go on"
            )
            raise UserError([first, *differing])
        return before if self.rows else {}

    def append_row(self, row: JournalRow) -> None:
        """Append a row to the journal."""
        # A server may cut a letter in half (\ud83d), which no file can hold: such halves become U+FFFD.
        text = (
            json.dumps(row, ensure_ascii=False).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        )
        with (self.path / "answers.jsonl").open("ab", buffering=0) as file:
            start = file.tell()
            try:
                if file.write(data := f"{text}\n".encode()) < len(data):
                    raise OSError(28, "No space left on device", str(file.name))
            except OSError:
                file.truncate(start)  # no half a line
                raise
        self.rows.append(json.loads(text))

    def write_json(self, name: str, value: Any) -> None:
        """Write a file of JSON whole or not at all."""
        write_text(self.path / name, json.dumps(value, indent=2, ensure_ascii=False) + "\n")

    def write_predictions(self, item_ids: Iterable[str]) -> int:
        """Write predictions.jsonl, in the order of the release's items; return how many there are."""
        said = {name: row for row in self.rows if not row["failure"] for name in row["item_ids"]}
        lines = [
            json.dumps(
                {
                    "questionId": name,
                    "prediction": said[name]["prediction"],
                    "confidence": said[name]["confidence"],
                },
                ensure_ascii=False,
            )
            for name in item_ids
            if name in said
        ]
        write_text(self.path / "predictions.jsonl", "".join(f"{line}\n" for line in lines))
        return len(lines)

    def write_distribution(self, item_ids: Iterable[str]) -> None:
        """Write distribution.npz, in the order of the release's items, if the model names its answers (classes.json)."""
        classes = self.path / ANSWER_VOCABULARY_FILE
        if not classes.exists():
            return
        found = {
            name: row["distribution"]
            for row in self.rows
            if row.get("distribution")
            for name in row["item_ids"]
        }
        chosen = {name: found[name] for name in item_ids if name in found}
        write_distributions(self.path / "distribution.npz", parse_json(read_bytes(classes), classes), chosen)

    def _existing_outputs(self) -> list[str]:
        """The names of `WRITTEN` that are in the folder."""
        return [name for name in OUTPUT_NAMES if (self.path / name).exists()]

    def _read_journal(self) -> list[JournalRow]:
        """Its rows; a last line that was cut off is dropped."""
        path = self.path / "answers.jsonl"
        if not path.exists():
            return []
        data = read_bytes(path)
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            os.truncate(path, whole)
        rows = [row for _, row in parse_json_lines(data[:whole], path)]
        if any(not (isinstance(row, dict) and {"id", "item_ids", "failure"} <= row.keys()) for row in rows):
            raise UserError(f"{path}: not a journal of `rgqa run`; name another --out")
        return rows


def _make_folders(path: Path) -> list[Path]:
    """Make a folder with those above it; return the ones that were not there, the innermost first."""
    made: list[Path] = []
    try:
        for place in reversed([place for place in (path, *path.parents) if not place.exists()]):
            with suppress(FileExistsError):
                place.mkdir()
                made.insert(0, place)
        if not path.is_dir():
            raise NotADirectoryError
    except (FileExistsError, NotADirectoryError):
        _remove_empty_folders(made)
        raise UserError(f"--out {path}: wanted a folder, there is a file") from None
    except OSError as error:
        _remove_empty_folders(made)
        raise UserError(f"--out {path}: cannot be made ({error.strerror})") from None
    return made


def _remove_empty_folders(folders: Iterable[Path]) -> None:
    """Remove these folders as far as they are empty."""
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


def _read_run_record(path: Path) -> dict[str, Any]:
    """The run.json of `rgqa run`; {} if there is none, or if it is something else."""
    value = None
    if path.is_file():
        with suppress(UserError):
            value = parse_json(read_bytes(path), path)
    return value if isinstance(value, dict) and {"model", "recipe"} <= value.keys() else {}


def _setting_differences(previous: Any, settings: Mapping[str, Any]) -> Iterator[str]:
    previous = previous if isinstance(previous, dict) else {}
    for name, value in json.loads(json.dumps(settings)).items():
        if isinstance(value, dict):
            inner = previous.get(name) if isinstance(previous.get(name), dict) else {}
            yield from (f"{name} {line}" for line in _setting_differences(inner, value))
        elif previous.get(name) != value:
            yield f"{name} was {json.dumps(previous.get(name))}, now {json.dumps(value)}"
