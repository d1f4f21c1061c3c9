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

from pipeline.core.errors import UserError, collected_into, counted, some_of
from pipeline.core.records import Record
from pipeline.core.strict_yaml import read_yaml
from pipeline.scoring.items import Benchmark
from pipeline.scoring.join import faults
from pipeline.scoring.joined_predictions import Options, Predictions
from pipeline.scoring.prediction_reader import read_predictions
from pipeline.scoring.row_reader import SUFFIXES

ABOUT = "rows.yaml"  # beside predictions files: of each row, what its confidence is, and a note
SEED = re.compile(r"(.+)[-._]seed(\d+)")
WANTED = "wanted NAME: {confidence: ..., note: ..., reference: true} for each row"
NAME = re.compile(r"\w[\w.+@=-]*")  # a row's; it is a file's name, too, and a word of a command line
FORMS = re.compile(rf"({'|'.join(map(re.escape, SUFFIXES))})?(\.gz)?$", re.IGNORECASE)


class About(Record):
    """What `rows.yaml` says of a row."""

    confidence: str = ""
    note: str = ""
    reference: bool = False


class FoundRow(NamedTuple):
    """A row's files: of each seed, by subset, the predictions that are scored there; all seeds have the same subsets."""

    seeds: tuple[Mapping[str, Predictions], ...]
    about: About


def found_rows(
    folder: Path, benchmark: Benchmark, files: str = "*", taken: Collection[str] = ()
) -> dict[str, FoundRow]:
    """By name, sorted, the rows of the predictions files of a folder and of its subsets' folders.

    Args:
        benchmark: All items that are scored, and no others.
        files: A pattern of their names.
        taken: Names of references.

    Raises:
        UserError: everything that is wrong with any of the files.
    """
    problems: list[str] = []
    about = read_about(folder / ABOUT, problems)
    found, _ = rows_of(_files(folder, benchmark, files, problems), benchmark, problems)
    problems += _unfit_names(found, folder, taken)
    if unknown := sorted(about.keys() - found.keys()):
        problems.append(f"{folder / ABOUT}: no predictions file for {', '.join(unknown)}")
    if problems:
        raise UserError([f"{folder}: the leaderboard cannot be made", *problems])
    return {
        name: FoundRow(in_order(seeds), about.get(name, About())) for name, seeds in sorted(found.items())
    }


# Of a row, by seed ("" for the only one) and subset the predictions that are scored there.
SeedsOfRow = dict[str, dict[str, Predictions]]


def rows_of(
    files: Iterable[tuple[Path, str]], benchmark: Benchmark, problems: list[str]
) -> tuple[dict[str, SeedsOfRow], dict[str, Path]]:
    """Read predictions files and put those of one row together.

    Args:
        files: Each with the only subset that it is of, "" for those that it shows.
        benchmark: All items that are scored, and no others.
        problems: Everything that is wrong with any file is added to them.

    Returns:
        The rows by name, and of each the first file.
    """
    found: dict[str, SeedsOfRow] = {}
    first: dict[str, Path] = {}
    for path, subset in files:
        name, seed = name_and_seed(path)
        with collected_into(problems):
            read = read_predictions(path)
            meant, faulty = meant_subsets(benchmark, read, subset)
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


def in_order(seeds: SeedsOfRow) -> tuple[Mapping[str, Predictions], ...]:
    """The predictions of a row's seeds, in the order of their numbers."""
    return tuple(seeds[seed] for seed in sorted(seeds, key=lambda seed: int(seed or 0)))


def name_and_seed(path: Path) -> tuple[str, str]:
    """A row's name and the number of its seed, "" if the file names none.

    >>> name_and_seed(Path("vilt-seed0.json")), name_and_seed(Path("gpt-4.1.jsonl.gz"))
    (('vilt', '0'), ('gpt-4.1', ''))
    """
    name = FORMS.sub("", path.name)
    seeded = SEED.fullmatch(name)
    return (seeded[1], seeded[2]) if seeded else (name, "")


def meant_subsets(benchmark: Benchmark, read: Predictions, subset: str = "") -> tuple[list[str], list[str]]:
    """The subsets that a file has predictions for, and all that keeps it from being scored on them. A subset is meant when
    any of its UQs is there: AQs may stand in several.

    Args:
        subset: the only one that is meant, "" for those that the file shows.
    """
    if subset:
        items = benchmark.subsets[subset]
        benchmark = benchmark._replace(subsets={subset: items}, ids=items.ids)
    found = [*read.faults[1:], *faults(benchmark, read, Options(missing="wrong", free_text=True))]
    meant = [
        name
        for name, items in benchmark.subsets.items()
        if subset or items.at(~items.answerable).among(read.places).any()
    ]
    if not meant and not found:
        found.append(
            f"has no UQ of any subset; wanted all items of part test of {' or '.join(benchmark.subsets)}"
        )
    for name in meant:
        wanted = benchmark.subsets[name]
        if lost := sorted(wanted.at(~wanted.among(read.places))["id"]):
            verb = "has" if len(wanted) == 1 else "have"
            found.append(
                f"{name}: {len(lost):,} of {counted(len(wanted), 'item')} {verb} no prediction: {some_of(lost)}"
            )
    return meant, found


def _files(folder: Path, benchmark: Benchmark, files: str, problems: list[str]) -> Iterator[tuple[Path, str]]:
    """Predictions files, and for those in a subset's folder its name."""
    for path in sorted(folder.glob(files)):
        if path.name.startswith(".") or path.name in ("README.md", ABOUT):
            continue
        if path.is_file():
            yield path, ""
        elif path.name in benchmark.subsets:
            inner = (file for file in sorted(path.iterdir()) if not file.name.startswith("."))
            yield from ((file, path.name) for file in inner)
        else:
            problems.append(f"{path}: no subset has this name; there are {', '.join(benchmark.subsets)}")


def read_about(path: Path, problems: list[str]) -> dict[str, About]:
    """What `rows.yaml` says, by row; none where there is no such file.

    Args:
        problems: Everything that is wrong with the file is added to them.
    """
    if not path.exists():
        return {}
    content: Any = None
    try:
        with collected_into(problems):
            content = read_yaml(path.read_text(encoding="utf-8-sig"), path)
    except (OSError, UnicodeDecodeError) as error:
        problems.append(f"{path}: cannot be read as text in UTF-8: {error}")
    if not isinstance(content or {}, dict):
        problems.append(f"{path}: {WANTED}, got {type(content).__name__}")
        return {}
    found: dict[str, About] = {}
    for name, said in (content or {}).items():
        try:
            found[name] = msgspec.convert(said, About)
        except msgspec.ValidationError as error:
            problems.append(f"{path}: row {name}: {error}; {WANTED}")
    return found


def _unfit_names(found: Mapping[str, SeedsOfRow], folder: Path, taken: Collection[str]) -> Iterator[str]:
    """Names that are taken, and seeds that do not go together."""
    for name, seeds in found.items():
        if not NAME.fullmatch(name):
            yield f"{folder}: {name!r} is no name for a row; wanted letters, digits and _ . + @ = - without blanks"
        if name in taken:
            yield f"{folder}: {name} is the name of a reference; call the file otherwise"
        yield from unfit_seeds(folder, name, seeds)


def unfit_seeds(where: Path, name: str, seeds: SeedsOfRow) -> Iterator[str]:
    """What keeps the files of a row from being its seeds."""
    if "" in seeds and len(seeds) > 1:
        yield f"{where}: row {name} has a file without a seed beside seeds {', '.join(sorted(seeds.keys() - {''}))}"
    if len({tuple(sorted(subsets)) for subsets in seeds.values()}) > 1:
        each = "; ".join(
            f"seed {seed}: {', '.join(sorted(subsets)) or 'none'}" for seed, subsets in seeds.items()
        )
        yield f"{where}: the seeds of row {name} have predictions for different subsets: {each}"
