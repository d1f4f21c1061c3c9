"""The command `rgqa doubt`: estimate which labels of a set are wrong."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pipeline.benchmark.label_errors.annotation_queue import (
    DEFAULT_NUM_ITEMS,
    QueueReport,
    read_doubted_set,
    record_errata,
    write_annotation_queue,
)
from pipeline.benchmark.label_errors.evidence import (
    LabelledItems,
    SetOptions,
    is_release_folder,
    load_evidence,
    load_items,
)
from pipeline.benchmark.label_errors.label_doubt import DoubtedItem, LabelDoubt, doubt_labels
from pipeline.core.atomic_files import write_text
from pipeline.core.errors import UserError, format_count, join_examples, make_printable
from pipeline.core.json_files import read_json, write_json
from pipeline.core.output_paths import Output, check_output_paths
from pipeline.core.params import PARAMS_FILE, read_params_file
from pipeline.core.paths import DatasetFolders
from pipeline.core.progress import report_written
from pipeline.core.records import Record
from pipeline.public_sets.hub_sets import PREFIX as HUB_PREFIX
from pipeline.public_sets.hub_sets import fetch_if_on_hub
from pipeline.stages import collect

NUM_SHOWN = 10


class QueueOptions(NamedTuple):
    """Options of the queue for annotators.

    Attributes:
        num_items: Number of items that people judge.
        images: Folder of the images; None for those of the data set whose release it is.
    """

    num_items: int = DEFAULT_NUM_ITEMS
    images: Path | None = None


def write_doubt(
    source: str,
    predictions: Sequence[Path],
    options: SetOptions = SetOptions(),  # noqa: B008 (immutable)
    out: Path | None = None,
    seed: int = 0,
    queue: QueueOptions | None = None,
) -> None:
    """Print which labels are probably wrong, and write all items with reasons.

    Args:
        source: A release, or any other set that `rgqa audit` reads.
        predictions: Predictions files, or folders of `rgqa run`.
        options: What to read.
        out: File for the items, as CSV or JSON by its suffix; None to write none.
        seed: Seed of folds, bootstrap and annotation tasks.
        queue: How the most doubted items become annotation tasks; None to write no tasks.

    Raises:
        UserError: Lists every problem of the set and of the predictions.
    """
    if out and out.suffix.lower() not in (".csv", ".json"):
        raise UserError(f"--out is {out}; expected a file .csv or .json")
    source = str(fetch_if_on_hub(source)) if source.startswith(HUB_PREFIX) else source
    inputs = [Path(source), *predictions, options.annotations, queue and queue.images]
    check_output_paths([Output("--out", out) if out else None], inputs)
    if queue:
        # A missing params.yaml is reported before the work and not after it.
        read_params_file()
    items = load_items(source, options)
    found = doubt_labels(items, load_evidence(items, predictions), seed)
    print_doubt(found, Console())
    if out and out.suffix.lower() == ".json":
        write_json(out, found)
    elif out:
        write_text(out, render_csv(found.items))
    if out:
        report_written("doubt", format_count(len(found.items), "item"), out)
    if queue:
        print_queue(write_queue(source, items, found, queue, seed))


def write_queue(
    source: str, items: LabelledItems, found: LabelDoubt, queue: QueueOptions, seed: int
) -> QueueReport:
    """Write the most doubted items as annotation tasks."""
    folder = Path(source)
    dataset = find_dataset(folder) if is_release_folder(folder) else ""
    return write_annotation_queue(
        found.items,
        items.label_names,
        source,
        dataset,
        items.version,
        queue.images,
        queue.num_items,
        seed,
    )


def find_dataset(release: Path) -> str:
    """Return the data set of this project that a release was made from; "" for a release of somebody else."""
    path = release / "params.json"
    name = read_json(path, _ReleaseParams).dataset if path.is_file() else ""
    return name if name and DatasetFolders(name).root.is_dir() else ""


class _ReleaseParams(Record, forbid_unknown_fields=False):
    dataset: str = ""


def print_queue(report: QueueReport) -> None:
    """Print what people will judge, what they cannot judge, and what to do next."""
    gold = f"{report.num_gold:,} with a gold question"
    print(f"doubt: {format_count(report.num_tasks, 'task')} for annotators, {gold}")
    for missing, reason in (
        (report.without_image, "the image is not known"),
        (report.without_gold, "no other question of the image has a sure label"),
    ):
        if missing:
            verb = "is" if len(missing) == 1 else "are"
            count = format_count(len(missing), "more doubted item")
            print(f"doubt: {count} {verb} not asked, because {reason}: {join_examples(missing)}")
    print(
        f"Next, set dataset: {report.dataset} in {PARAMS_FILE}, run rgqa annotate invite, serve and pull, then rgqa errata collect"
    )


def collect_errata() -> None:
    """Aggregate the verdicts on doubted labels, and record those that people found wrong as errata.

    Raises:
        UserError: The data set in use has no doubted labels, or no verdicts.
    """
    folders = DatasetFolders()
    doubted = read_doubted_set(folders)
    collect.main()
    found, num_new, path = record_errata(folders)
    for row in found.errata:
        print(f"{make_printable(row.item_id)}: {row.reason}")
    counts = ", ".join(f"{count:,} {name}" for name, count in found.counts.items())
    print(f"errata: of {format_count(len(doubted.items), 'doubted label')}, {counts}")
    if found.errata:
        report_written(
            "errata", f"{num_new:,} new of {format_count(len(found.errata), 'erratum', 'errata')}", path
        )


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
