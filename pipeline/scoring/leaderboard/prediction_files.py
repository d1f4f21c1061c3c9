"""Predictions files of a folder: which rows they are, of which seeds and subsets, and all that is wrong with them.

A file is NAME.json or of any other form that `rgqa score` reads, with items of one subset or of all; several seeds of one row
are NAME-seed0.json, NAME-seed1.json ... (or NAME.seed0.json). Where the same question has another prediction in each subset,
the files of one subset lie in a folder of its name: pt-hard/NAME.json.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from pipeline.core.errors import UserError, collect_errors, format_count, join_examples
from pipeline.core.records import Record
from pipeline.core.strict_yaml import parse_yaml
from pipeline.scoring.items import Benchmark
from pipeline.scoring.join import find_faults
from pipeline.scoring.joined_predictions import Predictions, ScoringOptions
from pipeline.scoring.prediction_reader import read_predictions
from pipeline.scoring.row_reader import SUPPORTED_SUFFIXES

ROWS_FILE = "rows.yaml"  # beside predictions files: of each row, what its confidence is, and a note
SEED_PATTERN = re.compile(r"(.+)[-._]seed(\d+)")
ROWS_FILE_FORMAT = "wanted NAME: {confidence: ..., note: ..., reference: true} for each row"
ROW_NAME_PATTERN = re.compile(
    r"\w[\w.+@=-]*"
)  # a row's; it is a file's name, too, and a word of a command line
SUFFIX_PATTERN = re.compile(rf"({'|'.join(map(re.escape, SUPPORTED_SUFFIXES))})?(\.gz)?$", re.IGNORECASE)


class RowInfo(Record):
    """What `rows.yaml` says of a row."""

    confidence: str = ""
    note: str = ""
    reference: bool = False


class RowFiles(NamedTuple):
    """A row's files: of each seed, by subset, the predictions that are scored there; all seeds have the same subsets."""

    seeds: tuple[Mapping[str, Predictions], ...]
    info: RowInfo


def find_rows(
    folder: Path, benchmark: Benchmark, pattern: str = "*", reserved_names: Collection[str] = ()
) -> dict[str, RowFiles]:
    """By name, sorted, the rows of the predictions files of a folder and of its subsets' folders.

    Args:
        benchmark: All items that are scored, and no others.
        files: A pattern of their names.
        taken: Names of references.

    Raises:
        UserError: everything that is wrong with any of the files.
    """
    problems: list[str] = []
    about = read_rows_file(folder / ROWS_FILE, problems)
    found, _ = read_rows(_list_files(folder, benchmark, pattern, problems), benchmark, problems)
    problems += _find_name_problems(found, folder, reserved_names)
    if unknown := sorted(about.keys() - found.keys()):
        problems.append(f"{folder / ROWS_FILE}: no predictions file for {', '.join(unknown)}")
    if problems:
        raise UserError([f"{folder}: the leaderboard cannot be made", *problems])
    return {
        name: RowFiles(sort_seeds(seeds), about.get(name, RowInfo())) for name, seeds in sorted(found.items())
    }


# Of a row, by seed ("" for the only one) and subset the predictions that are scored there.
PredictionsBySeed = dict[str, dict[str, Predictions]]


def read_rows(
    files: Iterable[tuple[Path, str]], benchmark: Benchmark, problems: list[str]
) -> tuple[dict[str, PredictionsBySeed], dict[str, Path]]:
    """Read predictions files and put those of one row together.

    Args:
        files: Each with the only subset that it is of, "" for those that it shows.
        benchmark: All items that are scored, and no others.
        problems: Everything that is wrong with any file is added to them.

    Returns:
        The rows by name, and of each the first file.
    """
    found: dict[str, PredictionsBySeed] = {}
    first: dict[str, Path] = {}
    for path, subset in files:
        name, seed = parse_name_and_seed(path)
        with collect_errors(problems):
            read = read_predictions(path)
            meant, faulty = match_subsets(benchmark, read, subset)
            if faulty:
                problems += [f"{path}: cannot stand on the leaderboard", *(f"  {fault}" for fault in faulty)]
            there = found.setdefault(name, {}).setdefault(seed, {})
            if twice := sorted(there.keys() & meant):
                problems.append(
                    f"{path}: another file has row {name}'s predictions for {', '.join(twice)}, too"
                )
            there |= dict.fromkeys(meant, read)
            first.setdefault(name, path)
    return found, first


def sort_seeds(seeds: PredictionsBySeed) -> tuple[Mapping[str, Predictions], ...]:
    """The predictions of a row's seeds, in the order of their numbers."""
    return tuple(seeds[seed] for seed in sorted(seeds, key=lambda seed: int(seed or 0)))


def parse_name_and_seed(path: Path) -> tuple[str, str]:
    """A row's name and the number of its seed, "" if the file names none.

    >>> name_and_seed(Path("vilt-seed0.json")), name_and_seed(Path("gpt-4.1.jsonl.gz"))
    (('vilt', '0'), ('gpt-4.1', ''))
    """
    name = SUFFIX_PATTERN.sub("", path.name)
    seeded = SEED_PATTERN.fullmatch(name)
    return (seeded[1], seeded[2]) if seeded else (name, "")


def match_subsets(
    benchmark: Benchmark, predictions: Predictions, subset: str = ""
) -> tuple[list[str], list[str]]:
    """The subsets that a file has predictions for, and all that keeps it from being scored on them. A subset is meant when
    any of its UQs is there: AQs may stand in several.

    Args:
        subset: the only one that is meant, "" for those that the file shows.
    """
    if subset:
        items = benchmark.subsets[subset]
        benchmark = benchmark._replace(subsets={subset: items}, ids=items.ids)
    found = [
        *predictions.faults[1:],
        *find_faults(benchmark, predictions, ScoringOptions(missing="wrong", detect_abstention=True)),
    ]
    meant = [
        name
        for name, items in benchmark.subsets.items()
        if subset or items.select(~items.answerable).isin(predictions.index_by_id).any()
    ]
    if not meant and not found:
        found.append(
            f"has no UQ of any subset; wanted all items of part test of {' or '.join(benchmark.subsets)}"
        )
    for name in meant:
        wanted = benchmark.subsets[name]
        if lost := sorted(wanted.select(~wanted.isin(predictions.index_by_id))["id"]):
            verb = "has" if len(wanted) == 1 else "have"
            found.append(
                f"{name}: {len(lost):,} of {format_count(len(wanted), 'item')} {verb} no prediction: {join_examples(lost)}"
            )
    return meant, found


def _list_files(
    folder: Path, benchmark: Benchmark, pattern: str, problems: list[str]
) -> Iterator[tuple[Path, str]]:
    """Predictions files, and for those in a subset's folder its name."""
    for path in sorted(folder.glob(pattern)):
        if path.name.startswith(".") or path.name in ("README.md", ROWS_FILE):
            continue
        if path.is_file():
            yield path, ""
        elif path.name in benchmark.subsets:
            inner = (file for file in sorted(path.iterdir()) if not file.name.startswith("."))
            yield from ((file, path.name) for file in inner)
        else:
            problems.append(f"{path}: no subset has this name; there are {', '.join(benchmark.subsets)}")


def read_rows_file(path: Path, problems: list[str]) -> dict[str, RowInfo]:
    """What `rows.yaml` says, by row; none where there is no such file.

    Args:
        problems: Everything that is wrong with the file is added to them.
    """
    if not path.exists():
        return {}
    content: Any = None
    try:
        with collect_errors(problems):
            content = parse_yaml(path.read_text(encoding="utf-8-sig"), path)
    except (OSError, UnicodeDecodeError) as error:
        problems.append(f"{path}: cannot be read as text in UTF-8: {error}")
    if not isinstance(content or {}, dict):
        problems.append(f"{path}: {ROWS_FILE_FORMAT}, got {type(content).__name__}")
        return {}
    found: dict[str, RowInfo] = {}
    for name, said in (content or {}).items():
        try:
            found[name] = msgspec.convert(said, RowInfo)
        except msgspec.ValidationError as error:
            problems.append(f"{path}: row {name}: {error}; {ROWS_FILE_FORMAT}")
    return found


def _find_name_problems(
    found: Mapping[str, PredictionsBySeed], folder: Path, reserved_names: Collection[str]
) -> Iterator[str]:
    """Names that are taken, and seeds that do not go together."""
    for name, seeds in found.items():
        if not ROW_NAME_PATTERN.fullmatch(name):
            yield f"{folder}: {name!r} is no name for a row; wanted letters, digits and _ . + @ = - without blanks"
        if name in reserved_names:
            yield f"{folder}: {name} is the name of a reference; call the file otherwise"
        yield from find_seed_problems(folder, name, seeds)


def find_seed_problems(folder: Path, name: str, seeds: PredictionsBySeed) -> Iterator[str]:
    """What keeps the files of a row from being its seeds."""
    if "" in seeds and len(seeds) > 1:
        yield f"{folder}: row {name} has a file without a seed beside seeds {', '.join(sorted(seeds.keys() - {''}))}"
    if len({tuple(sorted(subsets)) for subsets in seeds.values()}) > 1:
        each = "; ".join(
            f"seed {seed}: {', '.join(sorted(subsets)) or 'none'}" for seed, subsets in seeds.items()
        )
        yield f"{folder}: the seeds of row {name} have predictions for different subsets: {each}"
