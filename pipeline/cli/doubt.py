"""The command `rgqa doubt`: estimate which labels of a set are wrong."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pipeline.benchmark.auditing.labelled_set import ColumnOptions
from pipeline.benchmark.label_errors.evidence import load_evidence, load_items
from pipeline.benchmark.label_errors.label_doubt import DoubtedItem, LabelDoubt, doubt_labels
from pipeline.core.atomic_files import write_text
from pipeline.core.errors import UserError, format_count
from pipeline.core.json_files import write_json
from pipeline.core.output_paths import Output, check_output_paths
from pipeline.core.progress import report_written

NUM_SHOWN = 10


def write_doubt(
    source: str,
    predictions: Sequence[Path],
    subsets: Sequence[str] = (),
    split: str | None = None,
    columns: ColumnOptions = ColumnOptions(),  # noqa: B008 (immutable)
    out: Path | None = None,
    seed: int = 0,
) -> None:
    """Print which labels are probably wrong, and write all items with reasons.

    Args:
        source: A release, or any other set that `rgqa audit` reads.
        predictions: Predictions files, or folders of `rgqa run`.
        subsets, split, columns: As in `load_items`.
        out: File for the items, as CSV or JSON by its suffix; None to write none.
        seed: Seed of folds and bootstrap.

    Raises:
        UserError: Lists every problem of the set and of the predictions.
    """
    if out and out.suffix.lower() not in (".csv", ".json"):
        raise UserError(f"--out is {out}; expected a file .csv or .json")
    check_output_paths([Output("--out", out) if out else None], [Path(source), *predictions])
    items = load_items(source, subsets, split, columns)
    found = doubt_labels(items, load_evidence(items, predictions), seed)
    print_doubt(found, Console())
    if out and out.suffix.lower() == ".json":
        write_json(out, found)
    elif out:
        write_text(out, render_csv(found.items))
    if out:
        report_written("doubt", format_count(len(found.items), "item"), out)


def print_doubt(found: LabelDoubt, console: Console) -> None:
    """Print the expected wrong labels, the most doubtful items, and what would help."""
    table = Table("subset", "label", "rows", "expected wrong", "rate (95 % interval)")
    for row in (*found.summary, found.total):
        rate = f"{100 * row.rate:.1f} % [{100 * row.low:.1f}, {100 * row.high:.1f}]"
        table.add_row(escape(row.subset), escape(row.label), f"{row.rows:,}", f"{row.expected:,.1f}", rate)
    console.print(table)
    for item in found.items[:NUM_SHOWN]:
        console.print(
            f"{item.probability:.2f} {escape(item.item_id)} ({escape(item.label)}): {escape(item.question)}",
            soft_wrap=True,
        )
        console.print(f"     {escape('; '.join(item.reasons))}", soft_wrap=True)
    for advice in found.advice:
        console.print(escape(advice), soft_wrap=True)
    total = found.total
    console.print(
        f"{escape(found.name)}: about {total.expected:,.0f} of {total.rows:,} labels are wrong"
        f" ({100 * total.rate:.1f} %, 95 % interval {100 * total.low:.1f} to {100 * total.high:.1f} %),"
        f" by {format_count(len(found.models), 'model')}",
        soft_wrap=True,
    )


def render_csv(items: Sequence[DoubtedItem]) -> str:
    """Return the items as CSV, one line each, the most doubtful first."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("item_id", "probability", "label", "subset", "image_id", "question", "reasons"))
    for item in items:
        row = (item.item_id, f"{item.probability:.4f}", item.label, item.subset, item.image_id, item.question)
        writer.writerow((*row, "; ".join(item.reasons)))
    return text.getvalue()
