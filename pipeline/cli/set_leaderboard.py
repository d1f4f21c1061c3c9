"""Compare models over several benchmarks in one table, for `rgqa leaderboard`."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.cli.public_sets import SETS_SCORED_AS_RELEASES
from pipeline.core.atomic_files import write_text
from pipeline.core.errors import UserError, collect_errors, format_count
from pipeline.core.output_paths import Output, check_output_paths
from pipeline.core.progress import report_written, track
from pipeline.public_sets.author_scores import PERFECT_SCORES
from pipeline.public_sets.open_set import PublicSet, read_public_set
from pipeline.public_sets.set_runs import AUTHORS_PROMPT
from pipeline.public_sets.set_scores import (
    ParsedPredictions,
    compute_author_scores,
    find_clusters,
    get_main_score,
    iterate_half_samples,
    make_benchmark,
    parse_predictions,
    select_groups,
)
from pipeline.scoring.benchmark_reader import fingerprint_release, read_benchmark
from pipeline.scoring.input_validation import parse_json, parse_json_lines, read_bytes
from pipeline.scoring.items import Benchmark
from pipeline.scoring.join import join_predictions
from pipeline.scoring.joined_predictions import ScoringOptions
from pipeline.scoring.leaderboard.run_results import RunResult, read_run
from pipeline.scoring.leaderboard.several_sets import (
    SetColumn,
    build_set_leaderboard,
    render_set_csv,
    render_set_markdown,
)
from pipeline.scoring.realistic_vqa import auaf

RECORD_FILE = "run.json"
OUTPUT_WRITERS = {"leaderboard.md": render_set_markdown, "leaderboard.csv": render_set_csv}


def expand_run_folders(paths: Sequence[Path]) -> list[Path]:
    """Replace a folder of runs, such as the folder of a model, by the runs in it."""
    found: list[Path] = []
    for path in paths:
        inside = sorted(place.parent for place in path.glob(f"*/{RECORD_FILE}")) if path.is_dir() else []
        found += inside if inside and not (path / RECORD_FILE).is_file() else [path]
    return found


def is_over_several_sets(paths: Sequence[Path]) -> bool:
    """Return whether results are runs on public sets, or runs on several benchmarks."""
    records = [_read_record(path) for path in paths]
    if not records or not all(records):
        return False
    releases = [record.get("release") for record in records]
    fingerprints = {str(one.get("sha256")) if isinstance(one, dict) else "" for one in releases}
    is_public = [bool(record.get("public_set")) for record in records]
    return all(is_public) or (any(is_public) and len(fingerprints) > 1)


def _read_record(folder: Path) -> dict[str, Any]:
    path = folder / RECORD_FILE
    value = parse_json(read_bytes(path), path) if path.is_file() else {}
    return value if isinstance(value, dict) else {}


def write_set_leaderboard(
    paths: Sequence[Path], out: Path | None = None, num_samples: int = 1000, seed: int = 0
) -> None:
    """Print the leaderboard over several benchmarks, and write it as Markdown and CSV.

    Args:
        paths: Folders of `rgqa run`.
        out: Folder for the files; None to only print the table.
        num_samples: Number of samples for the intervals.
        seed: Their seed.

    Raises:
        UserError: Lists every problem with the results, or says why they cannot be compared.
    """
    check_output_paths([Output("--out", out, "folder", tuple(OUTPUT_WRITERS)) if out else None], paths)
    problems: list[str] = []
    runs: dict[str, list[RunResult]] = defaultdict(list)
    for path in paths:
        with collect_errors(problems):
            run = read_run(path)
            if not isinstance(run.record.get("release_path"), str):
                raise UserError(
                    f"{path / RECORD_FILE}: does not say where its release is; expected a file that `rgqa run` wrote"
                )
            runs[str(run.record["release"]["name"])].append(run)
            problems += run.predictions.faults
    for name, of_set in runs.items():
        problems += _find_problems(name, of_set)
    if problems:
        raise UserError(["results that cannot be compared", *problems])
    columns = []
    for name, of_set in track([*runs.items()], "leaderboard", unit="set"):
        with collect_errors(problems):
            columns.append(_score_column(name, of_set, num_samples, seed))
    if problems:
        raise UserError(["results that cannot be compared", *problems])
    board = build_set_leaderboard(columns)
    print(render_set_markdown(board), end="")
    if out:
        for file, write in OUTPUT_WRITERS.items():
            write_text(out / file, write(board))
        report_written("leaderboard", format_count(len(board.models), "row"), out, sys.stderr)


def _row_name(run: RunResult) -> str:
    """Return the name of a run's row: the model, with the prompt if it is not the default of the set."""
    is_asked_as_release = run.record.get("public_set") in (None, "", *SETS_SCORED_AS_RELEASES)
    usual = "abstain" if is_asked_as_release else AUTHORS_PROMPT
    return run.model_name if run.prompt == usual else f"{run.model_name} ({run.prompt})"


def _find_problems(name: str, runs: Sequence[RunResult]) -> list[str]:
    problems = []
    by_row: dict[str, list[str]] = defaultdict(list)
    for run in runs:
        by_row[_row_name(run)].append(str(run.path))
    problems += [
        f"{row} on {name}: {format_count(len(folders), 'run')}: {', '.join(folders)}; name one of them"
        for row, folders in by_row.items()
        if len(folders) > 1
    ]
    if len({run.record["release"]["sha256"] for run in runs}) > 1:
        problems.append(
            f"{name}: the runs are for different files: {', '.join(str(run.path) for run in runs)}"
        )
    if len({tuple(run.record.get("subsets", ())) for run in runs}) > 1:
        problems.append(
            f"{name}: the runs are for different subsets: {', '.join(str(run.path) for run in runs)}"
        )
    return problems


def _score_column(name: str, runs: Sequence[RunResult], num_samples: int, seed: int) -> SetColumn:
    """Score the models of one benchmark on the items that all were asked, and on random halves of these."""
    record = runs[0].record
    if record.get("public_set"):
        public_set = read_public_set(Path(record["release_path"]))
        if public_set.fingerprint != record["release"]["sha256"]:
            raise UserError(
                f"{public_set.path}: its files have changed since {runs[0].path}; run the models again"
            )
        if public_set.name in SETS_SCORED_AS_RELEASES:
            benchmark = select_groups(make_benchmark(public_set), record.get("subsets", ()))
            return _score_release(name, benchmark, runs, num_samples, seed)
        return _score_public_set(public_set, runs, num_samples, seed)
    release = Path(record["release_path"])
    if fingerprint_release(release) != record["release"]["sha256"]:
        raise UserError(
            f"{release}: another release than that of {runs[0].path}; compare models on the same release"
        )
    return _score_release(name, read_benchmark(release, record.get("subsets", ())), runs, num_samples, seed)


def _asked_ids(run: RunResult) -> frozenset[str] | None:
    """Return the ids of all items whose questions a run has asked; None if it has asked all."""
    if run.asked_ids is None:
        return None
    journal = run.path / "answers.jsonl"
    rows = [row for _, row in parse_json_lines(read_bytes(journal), journal)]
    return frozenset(run.asked_ids | {item for row in rows for item in row["item_ids"]})


def _select_common(benchmark: Benchmark, runs: Sequence[RunResult]) -> Benchmark:
    """Keep the items that all runs have asked, with their whole pairs."""
    for asked in filter(None, map(_asked_ids, runs)):
        benchmark = benchmark._replace(
            subsets={
                name: items.select(items.is_in_complete_pair(asked))
                for name, items in benchmark.subsets.items()
            }
        )
    benchmark = benchmark._replace(
        subsets={name: items for name, items in benchmark.subsets.items() if len(items)}
    )
    if not benchmark.subsets:
        raise UserError(
            f"{benchmark.name}: the runs have no question in common. Run them with the same --limit"
        )
    return benchmark


def _score_public_set(
    public_set: PublicSet, runs: Sequence[RunResult], num_samples: int, seed: int
) -> SetColumn:
    score = get_main_score(public_set.name)
    if not score:
        raise UserError(f"{public_set.name}: its authors publish no score; leave its runs out")
    benchmark = select_groups(make_benchmark(public_set), runs[0].record.get("subsets", ()))
    benchmark = _select_common(benchmark, runs)
    ids = frozenset(name for items in benchmark.subsets.values() for name in items["id"])
    reads = {_row_name(run): parse_predictions(public_set, run.predictions, ids, "wrong") for run in runs}
    items = next(iter(reads.values())).items
    scores = {model: [_compute_main_score(public_set, read, score)] for model, read in reads.items()}
    clusters = find_clusters(items)
    for places in iterate_half_samples(clusters, num_samples, seed):
        for model, read in reads.items():
            scores[model].append(_compute_main_score(public_set, read.select(places), score))
    perfect = PERFECT_SCORES[public_set.name]
    values = {model: np.array(row) for model, row in scores.items()}
    return SetColumn(public_set.name, score, perfect, len(items), values, int(clusters.max()) + 1)


def _compute_main_score(public_set: PublicSet, read: ParsedPredictions, score: str) -> float:
    """Compute the main score; for a set of several parts without a score of the whole, the mean over its parts."""
    scores = compute_author_scores(public_set, read)
    if score in scores:
        return scores[score]
    parts = [value for name, value in scores.items() if name.endswith(f"/{score}") and name.count("/") == 1]
    return float(np.mean(parts)) if parts else float("nan")


def _score_release(
    name: str, benchmark: Benchmark, runs: Sequence[RunResult], num_samples: int, seed: int
) -> SetColumn:
    """Compute AUAF, averaged over subsets."""
    splits = {run.record.get("split", "test") for run in runs}
    if len(splits) > 1:
        raise UserError(f"{name}: the runs are of different splits: {', '.join(sorted(splits))}")
    options = ScoringOptions(missing="wrong", split=splits.pop())
    common = _select_common(benchmark, runs)
    # The same half of the images in every subset.
    joined = {
        _row_name(run): [
            join_predictions(items, run.predictions, options) for items in common.subsets.values()
        ]
        for run in runs
    }
    subsets = next(iter(joined.values()))
    all_clusters = np.concatenate([answered.items.clusters for answered in subsets])
    numbers = np.unique(all_clusters, return_inverse=True)[1]
    ends = np.cumsum([0, *(len(answered.items) for answered in subsets)])
    halves = [np.arange(len(numbers)), *iterate_half_samples(numbers, num_samples, seed)]
    scores: Mapping[str, list[float]] = {model: [] for model in joined}
    for places in halves:
        for model, answered in joined.items():
            values = []
            for number, one in enumerate(answered):
                rows = places[(places >= ends[number]) & (places < ends[number + 1])] - ends[number]
                values.append(auaf(one.confidence[rows], one.correct[rows], one.answerable[rows]))
            scores[model].append(float(np.mean(values)))
    values = {model: np.array(row) for model, row in scores.items()}
    return SetColumn(name, "AUAF", 1, len(numbers), values, int(numbers.max()) + 1)
