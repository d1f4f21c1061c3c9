"""The folder of a run: settings and counts (run.json), every reply (answers.jsonl), and the predictions."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import Any, ClassVar

from ..core.atomic_files import write_text
from ..core.errors import UserError
from ..core.folder_lock import LOCK_FILE_NAME, acquire_lock
from ..scoring.input_validation import parse_json, parse_json_lines, read_bytes
from .answer_distributions import write_distributions

JournalRow = dict[str, Any]
# File with the answers of a model of hf-vqa, in the order of the outputs of the model.
ANSWER_VOCABULARY_FILE = "answer_vocabulary.json"


class RunFolder:
    """The files of a run.

    Each question is appended to answers.jsonl when all its replies have come, so a killed run loses only questions that are under
    way.

    Subclasses are folders of other commands with a journal of replies.

    Attributes:
        COMMAND: The command that writes the folder, for messages.
        RECORD_NAME, RECORD_KEYS: The file with the settings and counts, and keys that it has.
        ROW_KEYS: Keys that each row of answers.jsonl has.
        OUTPUT_NAMES: Names that a run writes into its folder.
        path: The folder.
        rows: The rows of answers.jsonl: `id` of the sample, `item_ids` of all items with the same question,
            `prediction`, `confidence`, `abstained`, `raw_replies`, `failure` (why the reply is not an answer;
            "" if it is an answer), `started_at`, `seconds`, `tokens`, and for models of hf-vqa `distribution`
            (see `encode_distribution`).
    """

    COMMAND: ClassVar[str] = "rgqa run"
    RECORD_NAME: ClassVar[str] = "run.json"
    RECORD_KEYS: ClassVar[frozenset[str]] = frozenset({"model", "confidence"})
    ROW_KEYS: ClassVar[frozenset[str]] = frozenset({"id", "item_ids", "failure"})
    OUTPUT_NAMES: ClassVar[tuple[str, ...]] = (
        "run.json",
        "answers.jsonl",
        "predictions.jsonl",
        "scores.json",
        "shown_scores.json",
        "distribution.npz",
        ANSWER_VOCABULARY_FILE,
        "plots",
    )

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: list[JournalRow] = []
        self._journal: FileIO | None = None

    @contextmanager
    def hold_lock(self) -> Iterator[None]:
        """Hold an exclusive lock on the folder, creating the folder if needed.

        If the run writes no results, the folders that this call created are removed at the end. Folders and
        files that existed before are kept.

        Raises:
            UserError: Another run holds the lock, or the folder cannot be created or written.
        """
        made = _make_folders(self.path)
        lock_path = self.path / LOCK_FILE_NAME
        outputs_before, had_lock = self._existing_outputs(), lock_path.exists()
        try:
            lock = lock_path.open("a")
        except OSError as error:
            _remove_empty_folders(made)
            raise UserError(f"--out {self.path}: cannot be written ({error.strerror})") from None
        with lock:
            if not acquire_lock(lock):
                raise UserError(
                    f"{self.path}: another run is using this folder; wait for it, or choose another --out"
                )
            try:
                yield
            finally:
                if self._journal:
                    self._journal.close()
                    self._journal = None
                # The lock file of an earlier run is kept, because its folder has or had results.
                if not had_lock and self._existing_outputs() == outputs_before:
                    lock_path.unlink(missing_ok=True)
                    _remove_empty_folders(made)

    def load_previous(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Load the rows of an earlier run with the same settings.

        Args:
            settings: The settings of this run (`resolve_settings`).

        Returns:
            The content of run.json of the earlier run; {} if there is no earlier run, or if it has no
            replies.

        Raises:
            UserError: The folder has replies of a run with other settings, or files that `rgqa run` would
                replace but did not write.
        """
        before = self._read_record()
        if not before and (foreign := self._existing_outputs()):
            raise UserError(
                f"--out {self.path}: has {', '.join(foreign)}, which `{self.COMMAND}` would replace but did not write; "
                "choose another folder"
            )
        self.rows = self._read_journal()
        if self.rows and (differing := list(_setting_differences(before, settings))):
            first = f"{self.path}: has a run with other settings; choose another --out, or use the same settings to resume"
            raise UserError([first, *differing])
        return before if self.rows else {}

    def append_row(self, row: JournalRow) -> None:
        """Append a row to answers.jsonl. If the write fails, no part of the row stays in the file."""
        # A server may split a surrogate pair. UTF-8 cannot encode the halves (such as \ud83d), so they become
        # U+FFFD.
        text = (
            json.dumps(row, ensure_ascii=False).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        )
        if not self._journal:
            self._journal = FileIO(self.path / "answers.jsonl", "a")
        start = self._journal.seek(0, os.SEEK_END)
        try:
            if self._journal.write(data := f"{text}\n".encode()) < len(data):
                raise OSError(28, "No space left on device", str(self._journal.name))
        except OSError:
            self._journal.truncate(start)
            raise
        self.rows.append(json.loads(text))

    def write_json(self, name: str, value: Any) -> None:
        """Write a JSON file atomically."""
        write_text(self.path / name, json.dumps(value, indent=2, ensure_ascii=False) + "\n")

    def write_predictions(self, item_ids: Iterable[str]) -> int:
        """Write the predictions of the items, in the given order, to predictions.jsonl.

        Return the number of predictions.
        """
        row_by_item = {name: row for row in self.rows if not row["failure"] for name in row["item_ids"]}
        lines = [
            json.dumps(
                {
                    "questionId": name,
                    "prediction": row_by_item[name]["prediction"],
                    "confidence": row_by_item[name]["confidence"],
                },
                ensure_ascii=False,
            )
            for name in item_ids
            if name in row_by_item
        ]
        write_text(self.path / "predictions.jsonl", "".join(f"{line}\n" for line in lines))
        return len(lines)

    def write_distribution(self, item_ids: Iterable[str]) -> None:
        """Write the answer distributions of the items, in the given order, to distribution.npz.

        Nothing is written if the model has no answer vocabulary.
        """
        vocabulary = self.path / ANSWER_VOCABULARY_FILE
        if not vocabulary.exists():
            return
        distributions = {
            name: row["distribution"]
            for row in self.rows
            if row.get("distribution")
            for name in row["item_ids"]
        }
        chosen = {name: distributions[name] for name in item_ids if name in distributions}
        answers = parse_json(read_bytes(vocabulary), vocabulary)
        write_distributions(self.path / "distribution.npz", answers, chosen)

    def _existing_outputs(self) -> list[str]:
        return [name for name in self.OUTPUT_NAMES if (self.path / name).exists()]

    def _read_record(self) -> dict[str, Any]:
        """Read the record of an earlier run.

        Return {} if there is no such file, or if another program wrote the file.
        """
        value, path = None, self.path / self.RECORD_NAME
        if path.is_file():
            with suppress(UserError):
                value = parse_json(read_bytes(path), path)
        return value if isinstance(value, dict) and value.keys() >= self.RECORD_KEYS else {}

    def _read_journal(self) -> list[JournalRow]:
        """Read answers.jsonl. An incomplete last line, left by a killed run, is removed from the file."""
        path = self.path / "answers.jsonl"
        if not path.exists():
            return []
        data = read_bytes(path)
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            os.truncate(path, whole)
        rows = [row for _, row in parse_json_lines(data[:whole], path)]
        if any(not (isinstance(row, dict) and row.keys() >= self.ROW_KEYS) for row in rows):
            raise UserError(f"{path}: `{self.COMMAND}` did not write this file; choose another --out")
        return rows


def _make_folders(path: Path) -> list[Path]:
    """Create a folder and its parents. Return the folders that did not exist before, innermost first."""
    made: list[Path] = []
    try:
        for folder in reversed([folder for folder in (path, *path.parents) if not folder.exists()]):
            with suppress(FileExistsError):
                folder.mkdir()
                made.insert(0, folder)
        if not path.is_dir():
            raise NotADirectoryError
    except (FileExistsError, NotADirectoryError):
        _remove_empty_folders(made)
        raise UserError(f"--out {path}: wanted a folder, found a file") from None
    except OSError as error:
        _remove_empty_folders(made)
        raise UserError(f"--out {path}: cannot be created ({error.strerror})") from None
    return made


def _remove_empty_folders(folders: Iterable[Path]) -> None:
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


def _setting_differences(previous: Any, settings: Mapping[str, Any]) -> Iterator[str]:
    previous = previous if isinstance(previous, dict) else {}
    for name, value in json.loads(json.dumps(settings)).items():
        if isinstance(value, dict):
            inner = previous.get(name) if isinstance(previous.get(name), dict) else {}
            yield from (f"{name} {line}" for line in _setting_differences(inner, value))
        elif previous.get(name) != value:
            yield f"{name} was {json.dumps(previous.get(name))}, now {json.dumps(value)}"
