"""Compare models over several benchmarks: mean ranks with intervals, and which benchmarks rank models alike."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from pipeline.scoring.bootstrap import percentile_interval
from pipeline.scoring.rank_correlation import kendall_tau

# With fewer clusters of items, intervals of a benchmark are not to be trusted.
MIN_CLUSTERS = 20
# With fewer models, every order of them is likely by chance, and no agreement is reported.
MIN_MODELS_FOR_AGREEMENT = 3
Interval = tuple[float, float]


class SetColumn(NamedTuple):
    """The scores of models on one benchmark.

    Attributes:
        name: Name of the benchmark.
        score: Name of the score.
        perfect: Value of a perfect score, 1 or 100.
        num_items: Number of items on which all its models are scored.
        scores: Model -> the score on all items, then on each of r samples of the items, [1 + r]; NaN where undefined. Higher is better.
        num_clusters: Number of clusters of items (images, or images that questions share), of which samples are taken; None if unknown.
    """

    name: str
    score: str
    perfect: int
    num_items: int
    scores: dict[str, np.ndarray]
    num_clusters: int | None = None


class MeanRank(NamedTuple):
    """The rank of a model, averaged over benchmarks. 1 is best.

    Attributes:
        value: Mean of the ranks on all items.
        interval: 95 % interval over samples; NaN if it is undefined.
    """

    value: float
    interval: Interval


class SetAgreement(NamedTuple):
    """How alike two benchmarks rank models.

    Attributes:
        sets: Names of the benchmarks.
        tau: Kendall's tau over all pairs of models, in [-1, 1]. A tie counts as neither agreement nor disagreement.
        interval: 95 % interval over samples.
    """

    sets: tuple[str, str]
    tau: float
    interval: Interval


class SetLeaderboard(NamedTuple):
    """A table of models and benchmarks.

    Attributes:
        models: Names of the models, the best mean rank first.
        columns: The benchmarks.
        ranked_sets: Names of the benchmarks that have all models. Mean ranks are over these.
        mean_ranks: Model -> its mean rank; empty if no benchmark has all models.
        agreements: Agreement of each pair of ranked benchmarks; empty with fewer than `MIN_MODELS_FOR_AGREEMENT` models.
        num_samples: Number of samples of the items.
    """

    models: list[str]
    columns: list[SetColumn]
    ranked_sets: list[str]
    mean_ranks: dict[str, MeanRank]
    agreements: list[SetAgreement]
    num_samples: int


def build_set_leaderboard(columns: Sequence[SetColumn]) -> SetLeaderboard:
    """Rank models over benchmarks.

    In each sample, models are ranked on each benchmark (ties get their mean rank), and the ranks are averaged over benchmarks. The samples
    of different benchmarks are independent.
    """
    models = [*dict.fromkeys(model for column in columns for model in column.scores)]
    ranked = [column for column in columns if column.scores.keys() == set(models)]
    tables = {column.name: np.array([column.scores[model] for model in models]) for column in ranked}
    mean_ranks: dict[str, MeanRank] = {}
    if tables and len(models) > 1:
        ranks = np.mean([*map(rank_models, tables.values())], axis=0)
        mean_ranks = {
            model: MeanRank(float(row[0]), percentile_interval(row[1:]))
            for model, row in zip(models, ranks, strict=True)
        }
        models.sort(key=lambda model: mean_ranks[model].value)
    agreements = []
    if len(models) >= MIN_MODELS_FOR_AGREEMENT:
        pairs = np.array([*combinations(range(len(models)), 2)])
        for one, other in combinations(tables, 2):
            taus = kendall_tau(tables[one], tables[other], pairs)
            agreements.append(SetAgreement((one, other), float(taus[0]), percentile_interval(taus[1:])))
    num_samples = max((len(row) - 1 for column in columns for row in column.scores.values()), default=0)
    return SetLeaderboard(models, [*columns], [*tables], mean_ranks, agreements, num_samples)


def rank_models(scores: np.ndarray) -> np.ndarray:
    """Rank models in each sample. Rank 1 has the highest score, ties get their mean rank, and an undefined score is worse than every other.

    Args:
        scores: [models, samples].

    Returns:
        [models, samples] ranks.

    >>> rank_models(np.array([[0.9], [0.5], [0.5], [np.nan]])).ravel().tolist()
    [1.0, 2.5, 2.5, 4.0]
    """
    values = np.nan_to_num(scores, nan=-np.inf)
    better = (values[None] > values[:, None]).sum(axis=1)
    equal = (values[None] == values[:, None]).sum(axis=1)
    return better + (equal + 1) / 2


def format_interval(value: float, interval: Interval, digits: int) -> str:
    """Return a number with its interval; "-" if the number is undefined.

    >>> format_interval(0.5, (0.25, 0.75), 2), format_interval(math.nan, (0, 1), 2)
    ('0.50 [0.25, 0.75]', '-')
    """
    if math.isnan(value):
        return "-"
    text = f"{value:.{digits}f}"
    return (
        text
        if any(map(math.isnan, interval))
        else f"{text} [{interval[0]:.{digits}f}, {interval[1]:.{digits}f}]"
    )


def _score_cell(column: SetColumn, model: str) -> str:
    row = column.scores.get(model)
    if row is None:
        return ""
    return format_interval(float(row[0]), percentile_interval(row[1:]), 1 if column.perfect == 100 else 3)


def render_set_markdown(board: SetLeaderboard) -> str:
    """Format a leaderboard over several benchmarks in Markdown."""
    from pipeline.core.rendering import escape_markdown

    head = [
        "model",
        *(["mean rank"] if board.mean_ranks else []),
        *(f"{escape_markdown(one.name)}: {one.score}" for one in board.columns),
    ]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for model in board.models:
        rank = board.mean_ranks.get(model)
        cells = [escape_markdown(model), *([format_interval(rank.value, rank.interval, 2)] if rank else [])]
        lines.append(f"| {' | '.join([*cells, *(_score_cell(column, model) for column in board.columns)])} |")
    lines += [
        "",
        f"95 % intervals in brackets, from {board.num_samples:,} random halves of each set's images with all questions about them.",
    ]
    sizes = ", ".join(f"{one.name} {one.num_items:,}" for one in board.columns)
    lines.append(
        f"Items: {sizes}. Higher scores are better; the score of each set is the one that its authors put first."
    )
    few = [
        one.name for one in board.columns if one.num_clusters is not None and one.num_clusters < MIN_CLUSTERS
    ]
    if few:
        lines.append(
            f"Too few images for intervals that mean something (fewer than {MIN_CLUSTERS}): {', '.join(few)}."
        )
    if left_out := [one.name for one in board.columns if one.name not in board.ranked_sets]:
        lines.append(f"Not in the mean rank, because some models have no results: {', '.join(left_out)}.")
    if board.agreements:
        lines += [
            "",
            "Which sets rank the models alike (Kendall's tau; 1: the same order, -1: the opposite order):",
            "",
            "| set | set | tau |",
            "|---|---|---|",
            *(
                f"| {one.sets[0]} | {one.sets[1]} | {format_interval(one.tau, one.interval, 2)} |"
                for one in sorted(board.agreements, key=lambda one: -one.tau)
            ),
        ]
    elif len(board.ranked_sets) > 1:
        lines.append(f"Agreement of sets needs {MIN_MODELS_FOR_AGREEMENT} or more models.")
    return "\n".join(lines) + "\n"


def render_set_csv(board: SetLeaderboard) -> str:
    """Format a leaderboard over several benchmarks as CSV, one row per model and benchmark, unrounded."""
    from pipeline.scoring.leaderboard.report import escape_spreadsheet_formula

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        [
            "model",
            "set",
            "score",
            "value",
            "low",
            "high",
            "perfect",
            "items",
            "mean_rank",
            "mean_rank_low",
            "mean_rank_high",
        ]
    )

    def numbers(*values: float) -> list[float | str]:
        return ["" if math.isnan(value) else float(value) for value in values]

    for model in board.models:
        rank = board.mean_ranks.get(model)
        ranks = numbers(rank.value, *rank.interval) if rank else ["", "", ""]
        for column in board.columns:
            if (row := column.scores.get(model)) is not None:
                values = numbers(row[0], *percentile_interval(row[1:]))
                writer.writerow(
                    [
                        escape_spreadsheet_formula(model),
                        escape_spreadsheet_formula(column.name),
                        column.score,
                        *values,
                        column.perfect,
                        column.num_items,
                        *ranks,
                    ]
                )
    return text.getvalue()
