"""Find the predictions files of a folder and combine them to rows of the leaderboard.

The predictions of row NAME are in the file NAME.json (or in any other format that `rgqa score` reads), for
the items of one subset or of all subsets. If a row has several seeds, its files are NAME-seed0.json,
NAME-seed1.json, ... (or NAME.seed0.json). If the same question has different predictions in different
subsets, the files of each subset are in a folder with the name of the subset, such as pt-hard/NAME.json.
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

# File with descriptions of the rows, in the folder of the predictions files.
ROWS_FILE = "rows.yaml"
SEED_PATTERN = re.compile(r"(.+)[-._]seed(\d+)")
ROWS_FILE_FORMAT = "expected NAME: {confidence: ..., note: ..., reference: true} for each row"
# Row names are also used as file names and as arguments of commands.
ROW_NAME_PATTERN = re.compile(r"\w[\w.+@=-]*")
SUFFIX_PATTERN = re.compile(rf"({'|'.join(map(re.escape, SUPPORTED_SUFFIXES))})?(\.gz)?$", re.IGNORECASE)


class RowInfo(Record):
    """Description of a row in `rows.yaml`.

    Attributes:
        confidence: What is used as confidence.
        note: Further information.
        reference: Whether the row is a reference without a rank.
        model: Name of the model, if it is not the name of the row. A model that judged candidates of the release is marked.
    """

    confidence: str = ""
    note: str = ""
    reference: bool = False
    model: str = ""


class RowFiles(NamedTuple):
    """Predictions of a row.

    Attributes:
        seeds: For each seed, subset -> predictions. All seeds have the same subsets.
        info: Description of the row.
    """

    seeds: tuple[Mapping[str, Predictions], ...]
    info: RowInfo


def find_rows(
    folder: Path, benchmark: Benchmark, pattern: str = "*", reserved_names: Collection[str] = ()
) -> dict[str, RowFiles]:
    """Read the predictions files in a folder and in its subset folders, and combine them to rows.

    Args:
        folder: The folder.
        benchmark: The scored items, without other items.
        pattern: Glob pattern of the file names.
        reserved_names: Names that rows must not have, such as the names of references.

    Returns:
        The rows by name, sorted.

    Raises:
        UserError: Lists every problem of every file.
    """
    problems: list[str] = []
    info = read_rows_file(folder / ROWS_FILE, problems)
    found, _ = read_rows(_list_files(folder, benchmark, pattern, problems), benchmark, problems)
    problems += _find_name_problems(found, folder, reserved_names)
    if unknown := sorted(info.keys() - found.keys()):
        problems.append(f"{folder / ROWS_FILE}: no predictions file for {', '.join(unknown)}")
    if problems:
        raise UserError([f"{folder}: cannot build the leaderboard", *problems])
    return {
        name: RowFiles(sort_seeds(seeds), info.get(name, RowInfo())) for name, seeds in sorted(found.items())
    }


# Predictions of a row: seed ("" if the file names no seed) -> subset -> predictions.
PredictionsBySeed = dict[str, dict[str, Predictions]]


def read_rows(
    files: Iterable[tuple[Path, str]], benchmark: Benchmark, problems: list[str]
) -> tuple[dict[str, PredictionsBySeed], dict[str, Path]]:
    """Read predictions files and combine those of the same row.

    Args:
        files: Each file with the name of its subset, or with "" to find the subsets from the items in the
            file.
        benchmark: The scored items, without other items.
        problems: Problems of the files are appended to this list.

    Returns:
        Row name -> its predictions, and row name -> its first file.
    """
    found: dict[str, PredictionsBySeed] = {}
    first: dict[str, Path] = {}
    for path, subset in files:
        name, seed = parse_name_and_seed(path)
        with collect_errors(problems):
            read = read_predictions(path)
            meant, faulty = match_subsets(benchmark, read, subset)
            if faulty:
                problems += [f"{path}: cannot be on the leaderboard", *(f"  {fault}" for fault in faulty)]
            by_subset = found.setdefault(name, {}).setdefault(seed, {})
            if twice := sorted(by_subset.keys() & meant):
                problems.append(
                    f"{path}: another file also has predictions of row {name} for {', '.join(twice)}"
                )
            by_subset |= dict.fromkeys(meant, read)
            first.setdefault(name, path)
    return found, first


def sort_seeds(seeds: PredictionsBySeed) -> tuple[Mapping[str, Predictions], ...]:
    """Return the predictions of a row's seeds, sorted by the number of the seed."""
    return tuple(seeds[seed] for seed in sorted(seeds, key=lambda seed: int(seed or 0)))


def parse_name_and_seed(path: Path) -> tuple[str, str]:
    """Return the row name and the seed in a file name; the seed is "" if the file name has none.

    >>> parse_name_and_seed(Path("vilt-seed0.json")), parse_name_and_seed(Path("gpt-4.1.jsonl.gz"))
    (('vilt', '0'), ('gpt-4.1', ''))
    """
    name = SUFFIX_PATTERN.sub("", path.name)
    seeded = SEED_PATTERN.fullmatch(name)
    return (seeded[1], seeded[2]) if seeded else (name, "")


def match_subsets(
    benchmark: Benchmark, predictions: Predictions, subset: str = ""
) -> tuple[list[str], list[str]]:
    """Find the subsets that a file has predictions for.

    A file is for a subset if it has a prediction for any UQ of the subset. AQs are not used, because an AQ
    may be in several subsets.

    Args:
        benchmark: The scored items, without other items.
        predictions: Predictions of the file.
        subset: The only subset that the file is for; "" to find the subsets from the items in the file.

    Returns:
        The subsets, and the faults that prevent the file from being scored on these subsets.
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
            f"has no UQ of any subset; expected all items of split test of {' or '.join(benchmark.subsets)}"
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
    """Yield each predictions file with the name of its subset folder, or "" if the file is not in a subset
    folder.
    """
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
    """Read the descriptions of rows from `rows.yaml`; empty if there is no such file.

    Args:
        path: The file.
        problems: Problems of the file are appended to this list.
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
    """Yield a message for each invalid or reserved row name, and for seeds that do not belong together."""
    for name, seeds in found.items():
        if not ROW_NAME_PATTERN.fullmatch(name):
            yield f"{folder}: {name!r} is not a valid row name; expected letters, digits and _ . + @ = - without spaces"
        if name in reserved_names:
            yield f"{folder}: {name} is the name of a reference. Rename the file"
        yield from find_seed_problems(folder, name, seeds)


def find_seed_problems(folder: Path, name: str, seeds: PredictionsBySeed) -> Iterator[str]:
    """Yield the reasons why the files of a row cannot be its seeds."""
    if "" in seeds and len(seeds) > 1:
        yield f"{folder}: row {name} has a file without a seed and also files of seeds {', '.join(sorted(seeds.keys() - {''}))}"
    if len({tuple(sorted(subsets)) for subsets in seeds.values()}) > 1:
        each = "; ".join(
            f"seed {seed}: {', '.join(sorted(subsets)) or 'none'}" for seed, subsets in seeds.items()
        )
        yield f"{folder}: the seeds of row {name} have predictions for different subsets: {each}"
