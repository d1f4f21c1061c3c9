"""Reading a benchmark: a release folder, a subset in RGQA's format, or GQA's or VQA's own files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from .validation import Refused

UNANSWERABLE = "UQ"


class Row(NamedTuple):
    """An item. `answers` maps each right answer to its worth (RGQA: 1.0); empty for a UQ. `people` are the answers
    of people one by one (VQA only). What a plain file does not tell is empty."""

    id: str
    picture: str
    answers: dict[str, float]
    people: tuple[str, ...] = ()
    category: str = ""
    edits: tuple[str, ...] = ()
    structural: str = ""
    semantic: str = ""
    detailed: str = ""
    part: str = ""
    pair: str = ""

    @property
    def answerable(self) -> bool:
        return bool(self.answers)


class Benchmark(NamedTuple):
    """`subsets` in the order of their names; `version` is empty where the files do not say; `sha256` is of every
    file read; `questions` are GQA's questions as they stand in the file (GQA only)."""

    kind: Literal["rgqa", "vqa", "gqa"]
    name: str
    version: str
    sha256: dict[str, str]
    subsets: dict[str, list[Row]]
    questions: Mapping[str, Any] = MappingProxyType({})


def read_benchmark(path: Path | str) -> Benchmark:
    """Read a benchmark, whole.

    Raises:
        Refused: missing, not JSON, of no known form, or faulty rows: all of them are listed.
    """
    path = Path(path)
    if path.is_dir():
        return _release(path)
    data = path_bytes(path)
    sums = {path.name: hashlib.sha256(data).hexdigest()}
    value = parse(data, path)
    if isinstance(value, list):
        return Benchmark("rgqa", path.stem, "", sums, {path.stem: _rgqa(value, path)})
    if isinstance(value, dict) and isinstance(value.get("annotations"), list):
        return Benchmark("vqa", path.stem, "", sums, {path.stem: _vqa(value["annotations"], path)})
    if (
        isinstance(value, dict)
        and value
        and all(isinstance(v, dict) and "answer" in v for v in value.values())
    ):
        return Benchmark("gqa", path.stem, "", sums, {path.stem: _gqa(value)}, value)
    raise Refused(
        f"{path}: wanted RGQA's list of questions, VQA's object with `annotations` or GQA's object of questions with `answer`"
    )


def _release(folder: Path) -> Benchmark:
    files = {file.stem: file for file in sorted((folder / "rgqa").glob("*.json"))}
    if not files:
        raise Refused(f"{folder}: no rgqa/*.json in it; wanted a release's folder or a file")
    sums, subsets, problems = {}, {}, []
    version = ""
    if (folder / "params.json").is_file():
        version = str(parse(path_bytes(folder / "params.json"), folder / "params.json").get("version", ""))
    details: dict[str, dict[str, dict[str, Any]]] = {}
    if (folder / "provenance.jsonl").is_file():
        data = path_bytes(folder / "provenance.jsonl")
        sums["provenance.jsonl"] = hashlib.sha256(data).hexdigest()
        for item in _provenance(data, folder / "provenance.jsonl"):
            details.setdefault(item["subset"], {})[item["item_id"]] = item
    for name, file in files.items():
        data = path_bytes(file)
        sums[f"rgqa/{file.name}"] = hashlib.sha256(data).hexdigest()
        known = details.get(name, {})
        try:
            rows = _rgqa(parse(data, file), file)
        except Refused as refused:
            problems += refused.problems
            continue
        if known and (lost := [row.id for row in rows if row.id not in known]):
            problems += [f"provenance.jsonl: tells nothing of {name}'s item {i}" for i in lost]
        subsets[name] = [_detailed(row, known[row.id]) if row.id in known else row for row in rows]
    if problems:
        raise Refused(problems)
    return Benchmark("rgqa", folder.name, version, sums, subsets)


def _provenance(data: bytes, path: Path) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(data.splitlines(), 1):
        try:
            item = json.loads(line)["item"]
            yield item | {"subset": item["subset"], "item_id": item["item_id"]}
        except (ValueError, KeyError, TypeError) as error:
            raise Refused(f"{path}, line {number}: not an item's provenance ({error!r})") from error


def _detailed(row: Row, item: dict[str, Any]) -> Row:
    return row._replace(
        category=item.get("category") or "",
        edits=tuple(sorted({edit["kind"] for edit in item.get("edits", ())})),
        structural=item.get("structural", ""),
        semantic=item.get("semantic", ""),
        detailed=item.get("detailed", ""),
        part=item.get("part", ""),
        pair=item.get("pair_id", ""),
    )


def _rgqa(value: Any, path: Path) -> list[Row]:
    """RGQA's rows. A label that looks like "UQ" but is not written so is a fault, never an answer."""
    if not isinstance(value, list):
        raise Refused(f"{path}: wanted a list of questions, got {type(value).__name__}")
    rows, problems, seen = [], [], set()
    for number, entry in enumerate(value, 1):
        where = f"{path.name}, question {number}"
        if not isinstance(entry, dict) or not {"question_id", "label"} <= entry.keys():
            problems.append(f"{where}: wanted an object with question_id and label")
            continue
        name, label = str(entry["question_id"]), entry["label"]
        if name in seen:
            problems.append(f"{where}: id {name} stands there twice")
        seen.add(name)
        if (
            not isinstance(label, dict)
            or not label
            or not all(isinstance(v, (int, float)) for v in label.values())
        ):
            problems.append(f'{where} ({name}): label is {label!r}, wanted {{answer: 1.0}} or {{"UQ": 1.0}}')
            continue
        if any(answer != UNANSWERABLE and answer.strip().upper() == UNANSWERABLE for answer in label):
            problems.append(
                f'{where} ({name}): label {label!r} is neither an answer nor "UQ"; write UQ in capitals'
            )
        if UNANSWERABLE in label and len(label) > 1:
            problems.append(f"{where} ({name}): label {label!r} is both UQ and an answer")
        rows.append(Row(name, str(entry.get("img_id", "")), {} if UNANSWERABLE in label else label))
    if problems:
        raise Refused([f"{path}: {len(problems)} faults", *problems])
    return rows


def _vqa(annotations: list[Any], path: Path) -> list[Row]:
    rows, problems, seen = [], [], set()
    for number, entry in enumerate(annotations, 1):
        try:
            people = tuple(str(answer["answer"]) for answer in entry["answers"])
            name = str(entry["question_id"])
        except (KeyError, TypeError) as error:
            problems.append(f"{path.name}, annotation {number}: wanted question_id and answers ({error!r})")
            continue
        if name in seen or not people:
            problems.append(
                f"{path.name}, annotation {number}: id {name} "
                + ("stands there twice" if people else "has no answers")
            )
        seen.add(name)
        worth = dict.fromkeys(people, 1.0)
        rows.append(
            Row(
                name,
                str(entry.get("image_id", "")),
                worth,
                people,
                structural=str(entry.get("answer_type", "")),
            )
        )
    if problems:
        raise Refused([f"{path}: {len(problems)} faults", *problems])
    return rows


def _gqa(questions: dict[str, Any]) -> list[Row]:
    rows = []
    for name, q in questions.items():
        types = q.get("types") or {}
        rows.append(
            Row(
                name,
                str(q.get("imageId", "")),
                {q["answer"]: 1.0},
                structural=types.get("structural") or "",
                semantic=types.get("semantic") or "",
                detailed=types.get("detailed") or "",
            )
        )
    return rows


def path_bytes(path: Path) -> bytes:
    """A file's bytes, or a line that says why not."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise Refused(f"{path}: no such file") from None
    except OSError as error:
        raise Refused(f"{path}: cannot be read ({error.strerror})") from None


def parse(data: bytes, path: Path) -> Any:
    """JSON, or a line that says where it breaks."""
    try:
        return json.loads(data)
    except ValueError as error:
        raise Refused(f"{path}: not valid JSON ({error}); the file may be cut off") from None
