"""Render the leaderboard as Markdown, HTML and CSV, and as metrics for DVC."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.core.errors import CONTROL_CHARACTERS, format_count, join_examples
from pipeline.core.rendering import escape_markdown, format_markdown_table, render_template
from pipeline.scoring.compared_items import ComparedItems
from pipeline.scoring.leaderboard.label_noise import LabelNoise
from pipeline.scoring.leaderboard.leaderboard import Leaderboard
from pipeline.scoring.leaderboard.pairwise_comparison import ScoreEstimate, find_significant_pairs
from pipeline.scoring.leaderboard.prediction_files import parse_name_and_seed
from pipeline.scoring.leaderboard.row_scores import MEAN, RowScores
from pipeline.scoring.leaderboard.selective_table import SelectiveTable
from pipeline.scoring.model_comparison import ModelComparison, describe_difference
from pipeline.scoring.subgroups import REPORTED_SCORES
from pipeline.scoring.text_report import format_heading, format_interval, format_percent

TEMPLATE_DIR = Path(__file__).parent
CSV_COLUMNS = (
    *("row", "kind", "seeds", "confidence", "subset", "category", "score", "value", "ci_low", "ci_high"),
    *("seed_min", "seed_max", "best_rank", "worst_rank", "letter_display"),
    *("difference", "difference_ci_low", "difference_ci_high", "num_items", "num_missing"),
)
DECIMALS = 6
TableRow = list[str]


def render_markdown(
    board: Leaderboard,
    predictions_folder: Path | None = None,
    selective_table: SelectiveTable | None = None,
    show_all_scores: bool = True,
) -> str:
    """Render the leaderboard in Markdown.

    Args:
        board: The leaderboard.
        predictions_folder: Folder whose predictions files become rows, to be named in the text; None for
            results that the user named on the command line.
        selective_table: The table of selective prediction, if there is one.
        show_all_scores: Whether to show all scores of each subset and each kind of question, or only the
            ranking score.
    """
    return render_template(
        TEMPLATE_DIR / "leaderboard.md.jinja",
        {"table": format_markdown_table},
        board=board,
        info=board.info,
        ranking_score=format_heading(board.ranking_score),
        predictions_folder=predictions_folder,
        num_built_in=sum(one.row.is_built_in for one in board.rows),
        tables=[
            (scope, make_score_table(board, scope))
            for scope in (board.scopes if show_all_scores else board.scopes[:1])
        ],
        subset_table=[] if show_all_scores or len(board.scopes) == 1 else make_subset_table(board),
        kind_tables={subset: make_kind_table(board, subset) for subset in board.info.subset_counts},
        notes=[escape_markdown(note) for note in make_notes(board)],
        selective_table=selective_table,
        selective_rows=[[escape_markdown(name), *cells] for name, *cells in selective_table.table]
        if selective_table
        else [],
    )


def make_score_table(board: Leaderboard, scope: str) -> list[TableRow]:
    """Return the table of a scope, best rows first, with ranks and the compact letter display.

    The first row is the header.
    """
    rows = board.rows_in_scope(scope)
    comparison = board.comparisons[scope]
    has_baseline = any(board.difference_to_baseline(one.row, scope) for one in rows)
    several = len(comparison.model_names) > 1
    given = board.given_label_comparisons.get(scope)
    head = [
        "rank",
        *["rank by given labels"] * bool(given),
        *["letter display"] * several,
        "row",
        *map(format_heading, REPORTED_SCORES),
    ]
    difference = head.index(format_heading(board.ranking_score)) + 1
    if has_baseline:
        head.insert(
            difference, f"{format_heading(board.ranking_score)} minus {escape_markdown(board.baseline)}"
        )
    lines = []
    for one in rows:
        cells = [format_estimate(one.scores[scope][score]) for score in REPORTED_SCORES]
        if mark := format_selection_mark(one, scope):
            cells[0] += f" *{mark}*"
        letters = [comparison.letter_display.get(one.row.name, "")] * several
        given_rank = [_format_rank_range(given.rank_intervals.get(one.row.name))] if given else []
        line = [format_rank(board, one, scope), *given_rank, *letters, format_row_name(one), *cells]
        if has_baseline:
            change = board.difference_to_baseline(one.row, scope)
            line.insert(
                difference,
                append_interval(format_points(change.difference, "+"), change.interval) if change else "-",
            )
        lines.append(line)
    return [head, *lines]


def format_selection_mark(one: RowScores, scope: str) -> str:
    """Return the mark of a row whose model took part in the selection of the items of a scope; "" for other rows."""
    biased = one.row.selection_biased_subsets
    if scope == MEAN:
        return f"{', '.join(biased)} selected by it" if biased else ""
    return "selected by it" if scope in biased else ""


def make_subset_table(board: Leaderboard) -> list[TableRow]:
    """Return the ranking score of each row in each subset, sorted by the mean.

    The first row is the header.
    """
    subsets = [*board.info.subset_counts]
    lines = [
        [
            format_row_name(one),
            *(
                format_estimate(one.scores[subset][board.ranking_score])
                + (f" *{mark}*" if (mark := format_selection_mark(one, subset)) else "")
                if subset in one.scores
                else "-"
                for subset in subsets
            ),
        ]
        for one in board.rows
    ]
    return [["row", *map(escape_markdown, subsets)], *lines]


def make_kind_table(board: Leaderboard, subset: str) -> list[TableRow]:
    """Return AUAF against each kind of UQ of a subset for all rows; empty if no kind has enough UQs."""
    rows, kinds = board.rows_in_scope(subset), board.info.subset_counts[subset].num_uqs_by_kind
    head = ["row", *(f"{escape_markdown(kind)} ({count:,})" for kind, count in kinds.items())]
    lines = [
        [format_row_name(one), *(format_estimate(one.kind_scores[subset][kind]) for kind in kinds)]
        for one in rows
    ]
    return [head, *lines] if kinds else []


def make_notes(board: Leaderboard) -> Iterator[str]:
    """Yield notes on the rows: differences of two models in words, and numbers of items that were not asked
    or answered.
    """
    first = board.scopes[0]
    comparison = board.comparisons[first]
    if len(comparison.model_names) == 2:
        one, other = comparison.model_names
        changes = {first: {board.ranking_score: comparison.differences[one, other]}}
        yield f"{describe_difference(ModelComparison(one, other, changes), first, board.ranking_score)}."
    if board.label_noise:
        yield from make_label_noise_notes(board, board.label_noise)
    compared = sum(counts.num_aqs + counts.num_uqs for counts in board.info.subset_counts.values())
    available = {
        one.row.name: max(one.row.num_available_items, sum(one.num_items.values())) for one in board.rows
    }
    summary = ComparedItems(compared, max(available.values(), default=compared), available).summary
    if summary:
        yield f"{summary[0].upper()}{summary[1:]}."
    for one in board.rows:
        if missing := sum(one.num_missing.values()):
            yield (
                f"{one.row.name}: {missing:,} of {format_count(sum(one.num_items.values()), 'item')} without an answer, counted as answered wrong."
            )


def make_label_noise_notes(board: Leaderboard, noise: LabelNoise) -> Iterator[str]:
    """Yield what is known of the errors of the labels, and how many significant differences survive them."""
    yield f"All intervals and ranks include errors of the labels: {noise.description}. The scores are those of the given labels."
    for scope in board.scopes:
        given, now = (
            find_significant_pairs(comparisons[scope])
            for comparisons in (board.given_label_comparisons, board.comparisons)
        )
        where = "the mean over subsets" if scope == MEAN else scope
        lost = [f"{one} over {other}" for one, other in sorted(given - now)]
        if given:
            yield (
                f"On {where}, {len(given & now):,} of {format_count(len(given), 'significant difference')} survive the errors of"
                f" the labels{f'; not {join_examples(lost)}' if lost else ''}."
            )
    known = {parse_name_and_seed(Path(f"{name}.json"))[0] for name in noise.models}
    if noise.models and (unknown := sorted({*board.model_names} - known)):
        yield (
            f"{join_examples(unknown)}: rgqa doubt used no answers of a model of this name. Labels are turned over without regard to such a"
            " model's confidences, so its intervals lie too low (for FF95 too high). Give rgqa doubt all models that are compared."
        )


def format_rank(board: Leaderboard, one: RowScores, scope: str) -> str:
    """Format the rank interval of a model, "-" for a reference."""
    return _format_rank_range(board.get_rank_interval(one.row, scope))


def _format_rank_range(rank: tuple[int, int] | None) -> str:
    return "-" if rank is None else f"{rank[0]}" if rank[0] == rank[1] else f"{rank[0]}-{rank[1]}"


def format_row_name(one: RowScores) -> str:
    """Format the name of a row, in italics for a reference."""
    return (
        f"*{escape_markdown(one.row.name)} (reference)*"
        if one.row.kind == "reference"
        else escape_markdown(one.row.name)
    )


def format_estimate(score: ScoreEstimate) -> str:
    """Format a score in percent with its interval and the range of several seeds."""
    seeds = score.seed_values
    spread = f" ({format_points(seeds.min())} to {format_points(seeds.max())})" if len(seeds) > 1 else ""
    return append_interval(format_points(score.value), score.interval) + spread


def append_interval(text: str, bounds: tuple[float, float] | None) -> str:
    """Append an interval to a number."""
    return text + format_interval(bounds, 1).replace("  ", " ")


def format_points(proportion: float, sign: str = "") -> str:
    """Format a proportion in percent with one decimal, like intervals."""
    return f"{100 * proportion:{sign}z.1f}" if math.isfinite(proportion) else format_percent(proportion)


def render_csv(board: Leaderboard) -> str:
    """Render the leaderboard as CSV.

    There is a line for each row, scope ("mean" or a subset) and score. Additional lines give the AUAF for
    each category and each difficulty of UQs, which is named in the column `category` (empty on other lines).
    Values are from 0 to 1, and empty where undefined. Other columns: `ci_low` and `ci_high` are the ends of
    the 95 % interval, `seed_min` and `seed_max` the range over seeds, `best_rank` and `worst_rank` the rank
    interval, `letter_display` the compact letter display, and `difference` the difference to the baseline.
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for record in _csv_records(board):
        writer.writerow(["" if isinstance(value, float) and math.isnan(value) else value for value in record])
    return file.getvalue()


def _csv_records(board: Leaderboard) -> Iterator[list[object]]:
    undefined = (math.nan, math.nan, math.nan)
    for one in board.rows:
        row = one.row
        about = [
            escape_spreadsheet_formula(row.name),
            row.kind,
            len(row.seeds),
            escape_spreadsheet_formula(row.confidence),
        ]
        totals = sum(one.num_items.values()), sum(one.num_missing.values())
        for place, scores in one.scores.items():
            counts = totals if place == MEAN else (one.num_items[place], one.num_missing[place])
            for score, measured in scores.items():
                compared, ranks = undefined, ("", "", "")
                if score == board.ranking_score:
                    rank, letters = (
                        board.get_rank_interval(row, place),
                        board.comparisons[place].letter_display,
                    )
                    ranks = (*(rank or ("", "")), letters.get(row.name, ""))
                    if change := board.difference_to_baseline(row, place):
                        compared = (change.difference, *(change.interval or undefined[:2]))
                yield [
                    *(*about, place, "", score, *_estimate_columns(measured), *ranks),
                    *(_round(value) for value in compared),
                    *counts,
                ]
        for subset, kinds in one.kind_scores.items():
            for kind, measured in kinds.items():
                yield [
                    *about,
                    subset,
                    kind,
                    "auaf",
                    *_estimate_columns(measured),
                    "",
                    "",
                    "",
                    *undefined,
                    "",
                    "",
                ]


def _estimate_columns(measured: ScoreEstimate) -> list[float]:
    values = (
        measured.value,
        *measured.interval,
        float(measured.seed_values.min()),
        float(measured.seed_values.max()),
    )
    return [*map(_round, values)]


def _round(value: float) -> float:
    return round(value, DECIMALS)


def escape_spreadsheet_formula(text: str) -> str:
    """Escape a text that a spreadsheet would execute as a formula."""
    text = CONTROL_CHARACTERS.sub("", text)
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def make_metrics(board: Leaderboard) -> dict[str, dict[str, float | int | None]]:
    """Return the metrics of each row that has all subsets.

    The metrics are the rank interval, the mean scores, the interval of the ranking score, and the ranking
    score in each subset.
    """
    metrics: dict[str, dict[str, float | int | None]] = {}
    for one in board.rows:
        if MEAN in one.scores:
            low, high = one.scores[MEAN][board.ranking_score].interval
            shares = {score: measured.value for score, measured in one.scores[MEAN].items()}
            shares |= {f"{board.ranking_score}_ci_low": low, f"{board.ranking_score}_ci_high": high}
            shares |= {
                f"{board.ranking_score}_{place}": scores[board.ranking_score].value
                for place, scores in one.scores.items()
                if place != MEAN
            }
            rounded = {name: None if math.isnan(value) else _round(value) for name, value in shares.items()}
            best, worst = board.get_rank_interval(one.row, MEAN) or (None, None)
            metrics[one.row.name] = {"best_rank": best, "worst_rank": worst, **rounded}
    return metrics


def render_html(board: Leaderboard) -> str:
    """Render the leaderboard as an HTML page. The page loads no other files, and all texts are escaped."""
    first = board.scopes[0]
    rows, letters = board.rows_in_scope(first), board.comparisons[first].letter_display
    ends = [
        end
        for one in rows
        for end in (
            one.scores[first][board.ranking_score].value,
            *one.scores[first][board.ranking_score].interval,
        )
        if math.isfinite(end)
    ] or [0.0, 1.0]
    low, high = math.floor(10 * min(ends)) / 10, math.ceil(10 * max(ends)) / 10
    scale = _IntervalScale(low, high if high > low else low + 0.1)
    filters: Mapping[str, Any] = {
        "heading": format_heading,
        "x": scale.to_pixels,
        "points": format_points,
        "span": lambda bounds: format_interval(bounds, 1).strip(),
        "cell": format_estimate,
    }
    return render_template(
        TEMPLATE_DIR / "leaderboard.html.jinja",
        filters,
        board=board,
        info=board.info,
        first=first,
        rows=rows,
        ranks={one.row.name: format_rank(board, one, first) for one in rows},
        letters={one.row.name: letters.get(one.row.name, "") for one in rows} if len(letters) > 1 else {},
        scores=REPORTED_SCORES,
        notes=[*make_notes(board)],
        scale=scale,
        isfinite=math.isfinite,
        mark=format_selection_mark,
    )


class _IntervalScale(NamedTuple):
    """Scale of the small drawings of intervals."""

    low: float
    high: float
    width: int = 160

    def to_pixels(self, value: float) -> str:
        """Return the position of a proportion in pixels."""
        return f"{4 + (self.width - 8) * (value - self.low) / (self.high - self.low):.1f}"
