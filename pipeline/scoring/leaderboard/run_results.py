"""Create leaderboard rows from results that the user names: folders of `rgqa run` and predictions files."""

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
    """Result of a run.

    Attributes:
        path: The folder of the run.
        predictions: The predictions of the run.
        record: Content of run.json in the folder.
        asked_ids: If the run did not ask all questions: for each question that was asked, the id of one item
            with this question. (Other items may have the same question about the same image.) None if all
            questions were asked.
    """

    path: Path
    predictions: Predictions
    record: dict[str, Any]
    asked_ids: frozenset[str] | None = None

    @property
    def model_name(self) -> str:
        """Return the name of the model, with ", no image" if the run gave the model no images."""
        suffix = ", no image" if self.record.get("no_image") else ""
        return f"{self.record['model']}{suffix}"

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
        release: The release that all results are for.
        benchmark: The items on which all results are scored.
        rows: One row for each run, and one row for all files with the same row name.
    """

    release: Path
    benchmark: Benchmark
    rows: list[LeaderboardRow]


def read_results(paths: Sequence[Path], release: Path | None = None) -> ComparableResults:
    """Read the results of several models on one release.

    Predictions files are combined to rows as in the predictions folder of stage `leaderboard`, and
    `rows.yaml` in their folder is read.

    Args:
        paths: Folders of `rgqa run`, and predictions files.
        release: The release that the predictions files are for. None if there are only runs, which name their
            release.

    Raises:
        UserError: Lists every problem of the results and everything that prevents a comparison.
    """
    problems: list[str] = []
    if twice := [str(path) for path, times in Counter(path.resolve() for path in paths).items() if times > 1]:
        problems.append(f"given twice: {', '.join(twice)}")
    runs: list[RunResult] = []
    for path in (path for path in paths if path.is_dir()):
        with collect_errors(problems):
            runs.append(read_run(path))
            problems += runs[-1].predictions.faults
    files = [path for path in paths if not path.is_dir()]
    if problems:
        problems += _find_file_problems(files)
        raise UserError(["results that cannot be compared", *problems])
    release = resolve_release(runs, release)
    full = load_scored_benchmark(release, resolve_split(runs))
    common = keep_common_items(full, runs)
    if not common.subsets:
        raise UserError(
            "the runs have no question in common. Run them with the same --split, --subset and --limit"
        )
    return ComparableResults(
        release,
        common,
        disambiguate_row_names([*make_run_rows(runs, full, common), *make_file_rows(files, full, common)]),
    )


def _find_file_problems(files: Sequence[Path]) -> list[str]:
    """Find the faults of files that do not depend on a release."""
    problems: list[str] = []
    for path in files:
        with collect_errors(problems):
            problems += read_predictions(path).faults
    return problems


# A row and the path of its results.
RowWithPath = tuple[LeaderboardRow, Path]


def make_run_rows(
    runs: Sequence[RunResult], full_benchmark: Benchmark, common_benchmark: Benchmark
) -> list[RowWithPath]:
    """Create the row of each run.

    Its name is the model, with prompt and confidence method if they differ between runs.
    """
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
            model=run.model_name,
        )
        rows.append((row, run.path))
    return rows


def make_file_rows(
    files: Sequence[Path], full_benchmark: Benchmark, common_benchmark: Benchmark
) -> list[RowWithPath]:
    """Create the rows of predictions files. Files of the same name in different folders are different rows.

    Args:
        files: Predictions files. A file must have predictions for all items of each of its subsets.
        full_benchmark: All items of the split.
        common_benchmark: The items on which the rows are compared.

    Raises:
        UserError: Lists every problem of every file.
    """
    folders: dict[Path, list[tuple[Path, str]]] = {}
    for path in files:
        of_subset = path.parent.name in full_benchmark.subsets
        home = path.parent.parent if of_subset else path.parent
        folders.setdefault(home, []).append((path, path.parent.name if of_subset else ""))
    problems: list[str] = []
    rows: list[RowWithPath] = []
    for folder, inside in folders.items():
        info: Mapping[str, RowInfo] = read_rows_file(folder / ROWS_FILE, problems)
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
                row = make_row(name, RowFiles(kept, info.get(name, RowInfo())))
                rows.append((row._replace(num_available_items=available), first[name]))
    if problems:
        raise UserError(["results that cannot be compared", *problems])
    return rows


def disambiguate_row_names(rows: Sequence[RowWithPath]) -> list[LeaderboardRow]:
    """Return the rows with distinct names: if several rows have the same name, the folder or file is added in
    brackets.
    """
    times = Counter(row.name for row, _ in rows)
    found = []
    for row, path in rows:
        if times[row.name] > 1:
            alike = [other for one, other in rows if one.name == row.name]
            row = row._replace(name=f"{row.name} [{_shortest_unique_path(path, alike)}]")
        found.append(row)
    return found


def _shortest_unique_path(path: Path, others: Sequence[Path]) -> str:
    """Return as many last parts of a path as distinguish it from the other paths; for a file at least two
    parts.
    """
    path, others = path.resolve(), [other.resolve() for other in others]
    for count in range(1 if path.is_dir() else 2, len(path.parts)):
        if sum(other.parts[-count:] == path.parts[-count:] for other in others) == 1:
            return "/".join(path.parts[-count:])
    return str(path)


def read_run(folder: Path) -> RunResult:
    """Read a folder of `rgqa run`.

    Raises:
        UserError: It is no such folder, or the run is not finished.
    """
    predictions, record_file = folder / "predictions.jsonl", folder / "run.json"
    if missing := [path.name for path in (record_file, predictions) if not path.is_file()]:
        raise UserError(
            f"{folder}: no {' and no '.join(missing)} in it; expected a folder of `rgqa run`, or a predictions file"
        )
    record = parse_json(read_bytes(record_file), record_file)
    release = record.get("release") if isinstance(record, dict) else None
    if not isinstance(record, dict) or not isinstance(record.get("model"), str):
        raise UserError(f"{record_file}: names no model; expected a file that `rgqa run` wrote")
    if not isinstance(release, dict) or not {"name", "version", "sha256"} <= release.keys():
        raise UserError(f"{record_file}: does not name its release; expected a file that `rgqa run` wrote")
    counts = record.get("counts", {})
    if not counts or counts["replies"] + counts["failed"] < counts["questions"]:
        raise UserError(f"{folder}: the run is not finished. Run the same command again to continue it")
    asked_ids, journal = None, folder / "answers.jsonl"
    # A run with a limit asks only some questions, and a run does not ask the questions of its few-shot
    # examples.
    if record.get("limit") or record.get("shots"):
        rows = [row for _, row in parse_json_lines(read_bytes(journal), journal)]
        failed = record.get("failures", {})
        asked_ids = frozenset([*(str(row.get("id")) for row in rows), *failed])
    return RunResult(folder, read_predictions(predictions), record, asked_ids)


def resolve_release(runs: Sequence[RunResult], requested: Path | None) -> Path:
    """Return the release that all runs are for.

    Raises:
        UserError: No release is named, the runs are for different releases, or the runs are for another
            release than `requested`.
    """
    release = requested or next(
        (Path(one.record["release_path"]) for one in runs if one.record.get("release_path")), None
    )
    if release is None:
        raise UserError("predictions files do not name their release. Add --release data/release/...")
    if not runs:
        return release
    fingerprint = fingerprint_release(release)
    wrong = [
        f"{one.path}: for {of['name']} {of['version']}"
        for one in runs
        if (of := one.record["release"])["sha256"] != fingerprint
    ]
    if wrong:
        raise UserError(
            [f"results for another release than {release}. Compare models on the same release", *wrong]
        )
    return release


def resolve_split(runs: Sequence[RunResult]) -> Literal["validation", "test"]:
    """Return the split on which all runs can be scored: validation if a run is only for validation, else
    test.

    Raises:
        UserError: Some runs are only for validation, and others only for test.
    """
    splits = {one.path: one.record.get("split", "test") for one in runs}
    if {"validation", "test"} <= set(splits.values()):
        lines = [f"{path}: split {split}" for path, split in splits.items()]
        raise UserError(["runs of different splits. Compare models on the same split", *lines])
    return "validation" if "validation" in splits.values() else "test"


def keep_common_items(benchmark: Benchmark, runs: Sequence[RunResult]) -> Benchmark:
    """Keep the items that were asked in every run.

    Args:
        benchmark: All items of the scored split.
        runs: The runs. In a run with `--limit`, only complete pairs count, because an AQ that is in several
            subsets may have been asked with the UQ of only one subset.

    Returns:
        The benchmark with these items. Subsets that were not asked in every run are omitted.
    """
    every = [item for items in benchmark.subsets.values() for item in items]
    question_of = {item.id: (item.image, item.question_text) for item in every}
    kept = {name: np.ones(len(items), bool) for name, items in benchmark.subsets.items()}
    for run in runs:
        if run.asked_ids is None:
            continue
        questions = {question_of[item] for item in run.asked_ids if item in question_of}
        ids = {item for item, question in question_of.items() if question in questions}
        for name, items in benchmark.subsets.items():
            kept[name] &= items.is_in_complete_pair(ids) if run.record.get("limit") else items.isin(ids)
    subsets = {name: items.select(kept[name]) for name, items in benchmark.subsets.items()}
    for wanted in (set(one.record["subsets"]) for one in runs if one.record.get("subsets")):
        subsets = {name: items for name, items in subsets.items() if name in wanted}
    return benchmark._replace(subsets={name: items for name, items in subsets.items() if len(items)})
