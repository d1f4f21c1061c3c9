"""A run's folder: what was asked and how (run.json), every reply as it came (answers.jsonl), the predictions."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..validation import InputError, parse_json, parse_lines, read_bytes
from .distributions import write_distributions

Row = dict[str, Any]
LOCK = ".lock"
CLASSES = "classes.json"  # the names of a classifier's answers


class RunFolder:
    """Replies are appended to the journal answers.jsonl as they come, so whatever kills the run loses none.

    Attributes:
        rows: of the journal: `id` of the sample, `item_ids` (all items that it stands for), `prediction`, `confidence`,
            `refused`, `raw`, `failure` (why the reply is no answer, "" if it is one), `start`, `seconds`, `tokens`; of a
            model that classifies `distribution`, too (`distributions.packed`).
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: list[Row] = []

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the folder; nobody else runs in it meanwhile.

        Raises:
            InputError: somebody else does, or the folder cannot be made.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise InputError(f"--out {self.path}: wanted a folder, there is a file") from None
        except OSError as error:
            raise InputError(f"--out {self.path}: cannot be made ({error.strerror})") from None
        with (self.path / LOCK).open("a") as lock:
            with suppress(ImportError):  # Windows has no such locks
                import fcntl

                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise InputError(
                        f"{self.path}: another run is at work in it; wait for it, or name another --out"
                    ) from None
            try:
                yield
            finally:
                if [path.name for path in self.path.iterdir()] == [LOCK]:  # nothing came of it
                    (self.path / LOCK).unlink()
                    self.path.rmdir()

    def open(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Read what a run with the same settings left; return its run.json, {} if there is none.

        Raises:
            InputError: the folder has replies to a run with other settings.
        """
        self.rows, known = self._journal(), self.path / "run.json"
        before = parse_json(read_bytes(known), known) if known.exists() else {}
        if self.rows and (differing := list(_differences(before, settings))):
            first = (
                f"{self.path}: has a run with other settings; name another --out, or take its own to go on"
            )
            raise InputError([first, *differing])
        return before if self.rows else {}

    def add(self, row: Row) -> None:
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

    def write(self, name: str, value: Any) -> None:
        """Write a file of JSON whole or not at all."""
        self._replace(name, json.dumps(value, indent=2, ensure_ascii=False) + "\n")

    def write_predictions(self, order: Iterable[str]) -> int:
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
            for name in order
            if name in said
        ]
        self._replace("predictions.jsonl", "".join(f"{line}\n" for line in lines))
        return len(lines)

    def write_distribution(self, order: Iterable[str]) -> None:
        """Write distribution.npz, in the order of the release's items, if the model names its answers (classes.json)."""
        classes = self.path / CLASSES
        if not classes.exists():
            return
        found = {
            name: row["distribution"]
            for row in self.rows
            if row.get("distribution")
            for name in row["item_ids"]
        }
        chosen = {name: found[name] for name in order if name in found}
        write_distributions(self.path / "distribution.npz", parse_json(read_bytes(classes), classes), chosen)

    def _journal(self) -> list[Row]:
        """Its rows; a last line that was cut off is dropped."""
        path = self.path / "answers.jsonl"
        if not path.exists():
            return []
        data = read_bytes(path)
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            os.truncate(path, whole)
        rows = [row for _, row in parse_lines(data[:whole], path)]
        if any(not (isinstance(row, dict) and {"id", "item_ids", "failure"} <= row.keys()) for row in rows):
            raise InputError(f"{path}: not a journal of `rgqa run`; name another --out")
        return rows

    def _replace(self, name: str, text: str) -> None:
        temporary = self.path / f".{name}.{os.getpid()}.tmp"
        try:
            temporary.write_text(text, encoding="utf-8")
            temporary.replace(self.path / name)
        finally:
            temporary.unlink(missing_ok=True)


def _differences(before: Any, settings: Mapping[str, Any]) -> Iterator[str]:
    before = before if isinstance(before, dict) else {}
    for name, value in json.loads(json.dumps(settings)).items():
        if isinstance(value, dict):
            inner = before.get(name) if isinstance(before.get(name), dict) else {}
            yield from (f"{name} {line}" for line in _differences(inner, value))
        elif before.get(name) != value:
            yield f"{name} was {json.dumps(before.get(name))}, now {json.dumps(value)}"
