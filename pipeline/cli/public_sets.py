"""Run models on public sets and score their predictions, for `rgqa run` and `rgqa score`."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from pipeline.core.atomic_files import write_text
from pipeline.core.errors import UserError, collect_errors, format_count, make_printable, no_effect_message
from pipeline.inference.cli import report_outcome
from pipeline.inference.run_options import RunOptions
from pipeline.inference.runner import RunOutcome, run_model
from pipeline.public_sets.author_prompts import PROMPT_SOURCES, REPLY_SOURCES
from pipeline.public_sets.author_scores import PERFECT_SCORES
from pipeline.public_sets.open_set import OpenedRows, PublicSet, find_public_rows, read_public_set
from pipeline.public_sets.set_runs import make_subject, with_set_defaults
from pipeline.public_sets.set_scores import (
    DEFAULT_NUM_SAMPLES,
    AuthorScores,
    ParsedPredictions,
    compute_author_scores,
    compute_intervals,
    get_main_score,
    make_benchmark,
    parse_predictions,
    sample_author_scores,
    select_groups,
    to_scored_predictions,
)
from pipeline.scoring import cli
from pipeline.scoring.cli_options import FULL_INSTALL_OPTIONS, build_parser, check_outputs, parse_options
from pipeline.scoring.items import Benchmark
from pipeline.scoring.joined_predictions import Predictions, ScoringOptions
from pipeline.scoring.leaderboard.several_sets import MIN_CLUSTERS
from pipeline.scoring.model_report import ScoreReport, score_models
from pipeline.scoring.prediction_reader import read_predictions
from pipeline.scoring.resources import find_resource_groups
from pipeline.scoring.text_report import format_report, format_table
from pipeline.scoring.text_summary import format_summary

# Sets that `rgqa score` scores as it scores a release.
SETS_SCORED_AS_RELEASES = ("RGQA",)
# Options of scoring that apply to the authors' scores.
AUTHOR_SCORE_OPTIONS = ("missing", "bootstrap", "seed")
# With more scores than this, those of parts are shown with --full only.
MAX_SHOWN_SCORES = 12


def find_set_to_score(path: Path) -> OpenedRows | None:
    """Return the rows of a public set; None for a release, and for a file in one of the formats that `rgqa score` reads itself."""
    if path.suffix.lower() == ".json" and path.is_file():
        # A file that is no table may be a benchmark in another format, whose reader explains its faults.
        try:
            found = find_public_rows(path)
        except UserError:
            return None
        return found if found and found.known.set_name not in (*SETS_SCORED_AS_RELEASES, "GQA") else None
    return find_public_rows(path)


def run_public_set(options: RunOptions, rows: OpenedRows) -> tuple[RunOutcome, PublicSet, RunOptions]:
    """Ask a model the questions of a public set.

    Raises:
        UserError: The set or the options are faulty, or the run stopped early.
    """
    public_set = read_public_set(options.release, rows)
    options = with_set_defaults(options, public_set)
    outcome = run_model(options, make_subject(options, public_set))
    report_outcome(outcome)
    return outcome, public_set, options


def score_run(outcome: RunOutcome, public_set: PublicSet, options: RunOptions) -> None:
    """Print the scores of a run, and write them into its folder. An item without an answer is read as an empty reply."""
    folder = outcome.folder.path
    parsed = build_parser("rgqa score").parse_args(
        [
            str(options.release),
            str(folder / "predictions.jsonl"),
            *("--json", str(folder / "scores.json"), "--missing", "wrong"),
            *(f"--subset={name}" for name in options.subsets),
        ]
    )
    score_public_set(public_set, parsed, outcome.item_ids, folder.resolve().name)
    if unanswered := outcome.record["counts"]["items"] - outcome.record["counts"]["answered"]:
        reasons = [*dict.fromkeys(outcome.record["failures"].values())][:5]
        print(
            f"{format_count(unanswered, 'item')} without an answer, read as empty replies:",
            *reasons,
            sep="\n  ",
        )


def score_public_set(
    public_set: PublicSet,
    parsed: argparse.Namespace,
    item_ids: Collection[str] | None = None,
    model_name: str = "",
) -> None:
    """Score predictions on a public set: print the scores and write the files that the options name.

    Args:
        public_set: The set.
        parsed: The options of `rgqa score`.
        item_ids: Ids of the items to score; None for all.
        model_name: Name of the only model; "" for the names of the files.

    Raises:
        UserError: Lists every problem with the options and the files.
    """
    given = vars(parsed)
    problems = [
        f"{name} is not available for a public set; leave it out"
        for name in FULL_INSTALL_OPTIONS
        if given[name[2:]]
    ]
    if given.get("exclude_errata"):
        problems.append(no_effect_message("--exclude-errata", "a public set has no list of errata"))
    benchmark = make_benchmark(public_set)
    with collect_errors(problems):
        benchmark = select_groups(benchmark, parsed.subset)
    if item_ids is not None:
        benchmark = benchmark._replace(
            subsets={
                name: chosen
                for name, items in benchmark.subsets.items()
                if len(chosen := items.select(items.isin(item_ids)))
            }
        )
    has_uqs = benchmark.kind == "rgqa"
    if not has_uqs:
        reason = f"{public_set.name} does not say which questions have no answer, so that only its authors' scores are computed"
        problems += [
            no_effect_message(f"--{name.replace('_', '-')}", reason)
            for name in (*ScoringOptions._fields, "validation", "abstention_labels", "resource")
            if given.get(name) and name not in AUTHOR_SCORE_OPTIONS
        ]
    models, options = _load_models(benchmark, parsed, problems, has_uqs)
    if model_name:
        models = [models[0]._replace(name=model_name)]
    ids = frozenset(name for items in benchmark.subsets.values() for name in items["id"])
    reads = [parse_predictions(public_set, model, ids, options.missing) for model in models]
    if options.missing == "drop":
        reads = _keep_common(reads)
    count = options.bootstrap if "bootstrap" in given else DEFAULT_NUM_SAMPLES
    authors = _score_by_authors(public_set, models, reads, count, options.seed)
    report = None
    if has_uqs:
        two_labels = {
            name: items
            for name, items in benchmark.subsets.items()
            if 0 < items.answerable.sum() < len(items)
        }
        if two_labels:
            scored = [to_scored_predictions(public_set, *pair) for pair in zip(models, reads, strict=True)]
            report = _score_answerability(benchmark._replace(subsets=two_labels), scored, options)
    _write(public_set, authors, report, parsed, options, count)


def _load_models(
    benchmark: Benchmark, parsed: argparse.Namespace, problems: list[str], has_uqs: bool
) -> tuple[list[Predictions], ScoringOptions]:
    if has_uqs:
        _, models, options = cli.load_inputs(parsed, problems, benchmark)
        return models, options
    options = ScoringOptions()
    with collect_errors(problems):
        check_outputs(vars(parsed))
    with collect_errors(problems):
        options = parse_options(vars(parsed))
    models = []
    for path in parsed.predictions:
        with collect_errors(problems):
            models.append(read_predictions(path))
    if problems:
        raise UserError(problems)
    names = [model.name for model in models]
    return [
        model._replace(name=f"{path.resolve().parent.name}/{model.name}")
        if names.count(model.name) > 1
        else model
        for model, path in zip(models, parsed.predictions, strict=True)
    ], options


def _score_answerability(
    benchmark: Benchmark, models: Sequence[Predictions], options: ScoringOptions
) -> ScoreReport:
    if all(model.confidence is None for model in models) and not options.detect_abstention:
        # Predictions of other programs state no confidence. Whether a reply abstains is read from it.
        options = options._replace(detect_abstention=True)
    return score_models(benchmark, models, options)


def _keep_common(reads: Sequence[ParsedPredictions]) -> list[ParsedPredictions]:
    """Keep the items for which all models have predictions."""
    common = frozenset.intersection(*(frozenset(item.id for item in read.items) for read in reads))
    if not common:
        raise UserError("no item has a prediction of every model")
    return [read.select([i for i, item in enumerate(read.items) if item.id in common]) for read in reads]


def _score_by_authors(
    public_set: PublicSet,
    models: Sequence[Predictions],
    reads: Sequence[ParsedPredictions],
    num_samples: int,
    seed: int,
) -> list[AuthorScores]:
    scores = [compute_author_scores(public_set, read) for read in reads]
    intervals: list[dict[str, tuple[float, float]]] = [{} for _ in reads]
    if num_samples and any(scores):
        intervals = [*map(compute_intervals, sample_author_scores(public_set, reads, num_samples, seed))]
    return [
        AuthorScores(model.name, values, ends, len(read.items), read.num_missing)
        for model, read, values, ends in zip(models, reads, scores, intervals, strict=True)
    ]


def _write(
    public_set: PublicSet,
    authors: Sequence[AuthorScores],
    report: ScoreReport | None,
    parsed: argparse.Namespace,
    options: ScoringOptions,
    num_samples: int,
) -> None:
    text = format_author_scores(public_set, authors, num_samples, parsed.full)
    if report:
        is_full = parsed.full or "scores" in parsed
        text += "\n" + (
            format_report(report) if is_full else format_summary(report, find_resource_groups(options))
        )
    print(make_printable(text), end="")
    value: dict[str, Any] = json.loads(cli.format_json(report)) if report else {}
    value |= {
        "public_set": {
            "name": public_set.name,
            "layout": public_set.known.layout,
            "sha256": public_set.sha256,
        },
        "author_scores": [one.to_json() for one in authors],
    }
    content = json.dumps(value, indent=2, sort_keys=True, allow_nan=False) + "\n"
    if parsed.json:
        write_text(parsed.json, content)
    if parsed.out:
        write_text(parsed.out / "scores.json", content)
        write_text(parsed.out / "scores.txt", text)


def format_author_scores(
    public_set: PublicSet, authors: Sequence[AuthorScores], num_samples: int, is_full: bool = False
) -> str:
    """Format the authors' scores of all models as a table, the main score first."""
    name = public_set.name
    counts = format_count(authors[0].num_items, "item")
    lines = [f"{name}: {counts}; scores as its authors define them, {PERFECT_SCORES[name]} is perfect"]
    if not authors[0].scores:
        return f"{lines[0]}\nits authors publish no script for scores\n"
    if num_samples and any(one.intervals for one in authors):
        lines.append(
            f"95 % intervals in brackets: {num_samples:,} random halves of the images, with all questions about them"
        )
    elif num_samples:
        lines.append(
            f"no intervals: they need {MIN_CLUSTERS} or more images, or groups of images that questions share"
        )
    unsourced = [
        what
        for what, sources in (("prompt", PROMPT_SOURCES), ("reading of replies", REPLY_SOURCES))
        if name not in sources
    ]
    if unsourced:
        lines.append(f"its authors state no {' and no '.join(unsourced)} for such models; ours is used")
    main = get_main_score(name)
    names = sorted(authors[0].scores, key=lambda score: score != main)
    if len(names) > MAX_SHOWN_SCORES and not is_full:
        # A set of several parts may have no score of the whole.
        shown = [score for score in names if "/" not in score] or [
            score for score in names if score.endswith(f"/{main}")
        ]
        hidden = len(names) - len(shown)
        names = shown
        if hidden:
            lines.append(f"{format_count(hidden, 'score')} of parts: --full, --json FILE")
    digits = 2 if PERFECT_SCORES[name] == 100 else 4
    rows = [["", *(one.model for one in authors)]]
    rows += [[score, *(_format_value(one, score, digits) for one in authors)] for score in names]
    missing = [one for one in authors if one.num_missing]
    notes = [f"{one.model}: {format_count(one.num_missing, 'item')} without a prediction" for one in missing]
    return "\n".join([*lines, "", *format_table(rows), *notes]) + "\n"


def _format_value(one: AuthorScores, score: str, digits: int) -> str:
    value, interval = one.scores.get(score, math.nan), one.intervals.get(score)
    if math.isnan(value):
        return "undefined"
    text = f"{value:.{digits}f}"
    if interval and not any(map(math.isnan, interval)):
        text += f" [{interval[0]:.{digits}f}, {interval[1]:.{digits}f}]"
    return text


def warn_of_small_limit(public_set: PublicSet, outcome: RunOutcome) -> None:
    """Say that the scores of a run with --limit are those of a sample."""
    if len(outcome.item_ids) < len(public_set.items):
        print(
            f"run: scores of {len(outcome.item_ids):,} of {format_count(len(public_set.items), 'item')}",
            file=sys.stderr,
        )
