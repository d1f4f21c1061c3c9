"""Rows from results that somebody names: folders of `rgqa run`, and predictions files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from pipeline.core.errors import UserError, collect_errors
from pipeline.scoring.benchmark_reader import fingerprint_release
from pipeline.scoring.input_validation import parse_json, parse_json_lines, read_bytes
from pipeline.scoring.items import Benchmark
from pipeline.scoring.joined_predictions import Predictions
from pipeline.scoring.leaderboard.prediction_files import (
    ROWS_FILE,
    RowFiles,
    RowInfo,
    find_seed_problems,
    read_rows,
    read_rows_file,
    sort_seeds,
)
from pipeline.scoring.leaderboard.rows import LeaderboardRow, load_scored_benchmark, make_row
from pipeline.scoring.prediction_reader import read_predictions


class RunResult(NamedTuple):
    """A run's predictions.

    Attributes:
        about: its run.json.
        asked: of a run that asked not all, an id of each question; other items may ask the same of the same image.
    """

    path: Path
    predictions: Predictions
    record: dict[str, Any]
    asked_ids: frozenset[str] | None = None

    @property
    def model_name(self) -> str:
        """Of its model."""
        blind = ", no image" if self.record.get("no_image") else ""
        return f"{self.record['model']}{blind}"

    @property
    def prompt(self) -> str:
        return _get_name(self.record.get("prompt"))

    @property
    def confidence_method(self) -> str:
        return _get_name(self.record.get("confidence"))


def _get_name(entry: Any) -> str:
    return str(entry.get("name", "")) if isinstance(entry, dict) else ""


class ComparableResults(NamedTuple):
    """Results to compare.

    Attributes:
        release: The release that they are of.
        benchmark: The items that all of them are scored on.
        rows: A row for each run, and for the files of each name.
    """

    release: Path
    benchmark: Benchmark
    rows: list[LeaderboardRow]


def read_results(paths: Sequence[Path], release: Path | None = None) -> ComparableResults:
    """Read the results of several models on one release. Files of one row, and its seeds, are put together as in the folder of
    predictions of stage `leaderboard`, and `rows.yaml` beside them is read.

    Args:
        paths: Folders of `rgqa run`, and predictions files.
        release: The release that predictions files are of; runs name theirs.

    Raises:
        UserError: everything that is wrong with any of them, or that keeps them from being compared.
    """
    problems: list[str] = []
    if twice := [str(path) for path, times in Counter(path.resolve() for path in paths).items() if times > 1]:
        problems.append(f"given twice: {', '.join(twice)}")
    runs: list[RunResult] = []
    for path in (path for path in paths if path.is_dir()):
        with collect_errors(problems):
            runs.append(_read_run(path))
            problems += runs[-1].predictions.faults
    files = [path for path in paths if not path.is_dir()]
    if problems:
        problems += _find_file_problems(files)
        raise UserError(["results that cannot be compared", *problems])
    release = resolve_release(runs, release)
    whole = load_scored_benchmark(release, resolve_split(runs))
    common = keep_common_items(whole, runs)
    if not common.subsets:
        raise UserError(
            "the runs have no question in common; run them with the same --split, --subset and --limit"
        )
    return ComparableResults(
        release,
        common,
        disambiguate_row_names([*make_run_rows(runs, whole, common), *make_file_rows(files, whole, common)]),
    )


def _find_file_problems(files: Sequence[Path]) -> list[str]:
    """List the faults of files that show without a release."""
    problems: list[str] = []
    for path in files:
        with collect_errors(problems):
            problems += read_predictions(path).faults
    return problems


# A row, and where its results lie.
RowWithPath = tuple[LeaderboardRow, Path]


def make_run_rows(
    runs: Sequence[RunResult], full_benchmark: Benchmark, common_benchmark: Benchmark
) -> list[RowWithPath]:
    """The row of each run, named by its model, and by prompt and method of confidence where they differ."""
    prompts = {one.prompt for one in runs}
    methods = {one.confidence_method for one in runs}
    rows: list[RowWithPath] = []
    for run in runs:
        details = [run.prompt] * (len(prompts) > 1) + [run.confidence_method] * (len(methods) > 1)
        note = f"prompt {run.prompt}" if run.prompt else ""
        row = LeaderboardRow(
            f"{run.model_name} ({', '.join(details)})" if details else run.model_name,
            "model",
            (dict.fromkeys(common_benchmark.subsets, run.predictions),),
            run.confidence_method,
            note,
            num_available_items=sum(map(len, keep_common_items(full_benchmark, [run]).subsets.values())),
        )
        rows.append((row, run.path))
    return rows


def make_file_rows(
    files: Sequence[Path], full_benchmark: Benchmark, common_benchmark: Benchmark
) -> list[RowWithPath]:
    """The rows of predictions files; files of one name in different folders are different rows.

    Args:
        whole: All items of the part: a file has all of those of each subset that it is for.
        common: The items that are compared.

    Raises:
        UserError: everything that is wrong with any of the files.
    """
    folders: dict[Path, list[tuple[Path, str]]] = {}
    for path in files:
        of_subset = path.parent.name in full_benchmark.subsets
        home = path.parent.parent if of_subset else path.parent
        folders.setdefault(home, []).append((path, path.parent.name if of_subset else ""))
    problems: list[str] = []
    rows: list[RowWithPath] = []
    for folder, inside in folders.items():
        about: Mapping[str, RowInfo] = read_rows_file(folder / ROWS_FILE, problems)
        found, first = read_rows(inside, full_benchmark, problems)
        for name, seeds in found.items():
            problems += find_seed_problems(folder, name, seeds)
            each = sort_seeds(seeds)
            available = sum(len(full_benchmark.subsets[subset]) for subset in each[0])
            kept = tuple(
                {subset: said for subset, said in seed.items() if subset in common_benchmark.subsets}
                for seed in each
            )
            if not problems and kept[0]:
                row = make_row(name, RowFiles(kept, about.get(name, RowInfo())))
                rows.append((row._replace(num_available_items=available), first[name]))
    if problems:
        raise UserError(["results that cannot be compared", *problems])
    return rows


def disambiguate_row_names(rows: Sequence[RowWithPath]) -> list[LeaderboardRow]:
    """Return the rows; those that share a name get their folder or file in brackets."""
    times = Counter(row.name for row, _ in rows)
    found = []
    for row, path in rows:
        if times[row.name] > 1:
            alike = [other for one, other in rows if one.name == row.name]
            row = row._replace(name=f"{row.name} [{_shortest_unique_path(path, alike)}]")
        found.append(row)
    return found


def _shortest_unique_path(path: Path, others: Sequence[Path]) -> str:
    """Where a result lies: as few of the last names of its path as tell it from others; of a file at least two."""
    path, others = path.resolve(), [other.resolve() for other in others]
    for count in range(1 if path.is_dir() else 2, len(path.parts)):
        if sum(other.parts[-count:] == path.parts[-count:] for other in others) == 1:
            return "/".join(path.parts[-count:])
    return str(path)


def _read_run(folder: Path) -> RunResult:
    predictions, about = folder / "predictions.jsonl", folder / "run.json"
    if missing := [path.name for path in (about, predictions) if not path.is_file()]:
        raise UserError(
            f"{folder}: no {' and no '.join(missing)} in it; wanted a folder of `rgqa run`, or a predictions file"
        )
    told = parse_json(read_bytes(about), about)
    of = told.get("release") if isinstance(told, dict) else None
    if not isinstance(told, dict) or not isinstance(told.get("model"), str):
        raise UserError(f"{about}: names no model; wanted what `rgqa run` wrote")
    if not isinstance(of, dict) or not {"name", "version", "sha256"} <= of.keys():
        raise UserError(f"{about}: does not name its release; wanted what `rgqa run` wrote")
    counts = told.get("counts", {})
    if not counts or counts["replies"] + counts["failed"] < counts["questions"]:
        raise UserError(f"{folder}: the run has not come to its end; its own command goes on")
    asked, journal = None, folder / "answers.jsonl"
    if told.get("limit") or told.get("shots"):  # examples are not asked
        rows = [row for _, row in parse_json_lines(read_bytes(journal), journal)]
        failed = told.get("failures", {})
        asked = frozenset([*(str(row.get("id")) for row in rows), *failed])
    return RunResult(folder, read_predictions(predictions), told, asked)


def resolve_release(runs: Sequence[RunResult], requested: Path | None) -> Path:
    """The release that all runs are of.

    Raises:
        UserError: none is named, or runs are of different ones, or of another than the one given.
    """
    release = requested or next(
        (Path(one.record["release_path"]) for one in runs if one.record.get("release_path")), None
    )
    if release is None:
        raise UserError(
            "predictions files do not say of which release they are; say --release data/release/..."
        )
    if not runs:
        return release
    there = fingerprint_release(release)
    wrong = [
        f"{one.path}: of {of['name']} {of['version']}"
        for one in runs
        if (of := one.record["release"])["sha256"] != there
    ]
    if wrong:
        raise UserError([f"results of another release than {release}; compare models on the same", *wrong])
    return release


def resolve_split(runs: Sequence[RunResult]) -> Literal["validation", "test"]:
    """The part of the release on which they can be scored: validation if all runs are of it, else test.

    Raises:
        UserError: some are of validation alone, and others of test alone.
    """
    splits = {one.path: one.record.get("split", "test") for one in runs}
    if {"validation", "test"} <= set(splits.values()):
        told = [f"{path}: split {split}" for path, split in splits.items()]
        raise UserError(["runs of different parts; compare models on the same", *told])
    return "validation" if "validation" in splits.values() else "test"


def keep_common_items(benchmark: Benchmark, runs: Sequence[RunResult]) -> Benchmark:
    """Keep the items that every run was asked.

    Args:
        benchmark: All items of the part that is scored.
        runs: Of a run with `--limit`, whole pairs count alone: an AQ that several subsets share may have been asked without its
            UQ of another subset.

    Returns:
        The benchmark with these items, without subsets that some run was not asked.
    """
    every = [item for items in benchmark.subsets.values() for item in items]
    question_of = {item.id: (item.image, item.question_text) for item in every}
    there = {name: np.ones(len(items), bool) for name, items in benchmark.subsets.items()}
    for run in runs:
        if run.asked_ids is None:
            continue
        questions = {question_of[item] for item in run.asked_ids if item in question_of}
        ids = {item for item, question in question_of.items() if question in questions}
        for name, items in benchmark.subsets.items():
            there[name] &= items.is_in_complete_pair(ids) if run.record.get("limit") else items.isin(ids)
    subsets = {name: items.select(there[name]) for name, items in benchmark.subsets.items()}
    for wanted in (set(one.record["subsets"]) for one in runs if one.record.get("subsets")):
        subsets = {name: items for name, items in subsets.items() if name in wanted}
    return benchmark._replace(subsets={name: items for name, items in subsets.items() if len(items)})
