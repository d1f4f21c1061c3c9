"""Predictions files of a folder: which rows they are, of which seeds and subsets, and all that is wrong with them.

A file is NAME.json or of any other form that `rgqa score` reads, with items of one subset or of all; several seeds of one row
are NAME-seed0.json, NAME-seed1.json ... (or NAME.seed0.json). Where the same question has another prediction in each subset,
the files of one subset lie in a folder of its name: pt-hard/NAME.json.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec
import yaml

from pipeline.core.errors import UserError
from pipeline.core.records import Record
from pipeline.scorers.answered import Options, Predictions
from pipeline.scorers.items import Benchmark
from pipeline.scorers.join import SHOWN, faults
from pipeline.scorers.predictions import read_predictions
from pipeline.scorers.tables import SUFFIXES
from pipeline.scorers.validation import InputError

ABOUT = "rows.yaml"  # beside predictions files: of each row, what its confidence is, and a note
SEED = re.compile(r"(.+)[-._]seed(\d+)")
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
        benchmark: all items that are scored, and no others. files: a pattern of their names. taken: names of references.

    Raises:
        UserError: everything that is wrong with any of the files.
    """
    problems: list[str] = []
    about = _about(folder / ABOUT, problems)
    found: dict[str, dict[str, dict[str, Predictions]]] = {}  # name -> seed -> subset -> predictions
    for path, subset in _files(folder, benchmark, files, problems):
        name, seed = name_and_seed(path)
        try:
            read = read_predictions(path)
        except InputError as error:
            problems += error.problems
            continue
        meant, faulty = meant_subsets(benchmark, read, subset)
        if faulty:
            problems += [f"{path}: cannot stand on the board", *(f"  {fault}" for fault in faulty)]
        there = found.setdefault(name, {}).setdefault(seed, {})
        if twice := sorted(there.keys() & meant):
            problems.append(f"{path}: another file has row {name}'s predictions for {', '.join(twice)}, too")
        there |= dict.fromkeys(meant, read)
    problems += _unfit_names(found, about, folder, taken)
    if problems:
        raise UserError([f"{folder}: the board cannot be made", *problems])
    return {
        name: FoundRow(
            tuple(seeds[seed] for seed in sorted(seeds, key=lambda seed: int(seed or 0))),
            about.get(name, About()),
        )
        for name, seeds in sorted(found.items())
    }


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
            more = f" and {len(lost) - SHOWN} more" if len(lost) > SHOWN else ""
            found.append(
                f"{name}: {len(lost)} of {len(wanted)} items have no prediction: {', '.join(lost[:SHOWN])}{more}"
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


def _about(path: Path, problems: list[str]) -> dict[str, About]:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else {}
        return msgspec.convert(content or {}, dict[str, About])
    except (yaml.YAMLError, UnicodeDecodeError, msgspec.ValidationError) as error:
        problems.append(
            f"{path}: wanted NAME: {{confidence: ..., note: ..., reference: true}} for each row: {error}"
        )
        return {}


def _unfit_names(
    found: Mapping[str, Mapping[str, Mapping[str, Predictions]]],
    about: Mapping[str, About],
    folder: Path,
    taken: Collection[str],
) -> Iterator[str]:
    """Names that are taken, seeds that do not go together, and notes on rows that are not there."""
    for name, seeds in found.items():
        if not NAME.fullmatch(name):
            yield f"{folder}: {name!r} is no name for a row; wanted letters, digits and _ . + @ = - without blanks"
        if name in taken:
            yield f"{folder}: {name} is the name of a reference; call the file otherwise"
        if "" in seeds and len(seeds) > 1:
            yield f"{folder}: row {name} has a file without a seed beside seeds {', '.join(sorted(seeds.keys() - {''}))}"
        if len({tuple(sorted(subsets)) for subsets in seeds.values()}) > 1:
            each = "; ".join(
                f"seed {seed}: {', '.join(sorted(subsets)) or 'none'}" for seed, subsets in seeds.items()
            )
            yield f"{folder}: the seeds of row {name} have predictions for different subsets: {each}"
    if unknown := sorted(about.keys() - found.keys()):
        yield f"{folder / ABOUT}: no predictions file for {', '.join(unknown)}"
