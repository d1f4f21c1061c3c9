"""The command `rgqa audit`: measure how well the text of a question alone reveals its label.

The input is a release, whose labels are "answerable" and "unanswerable", or another set of questions with two
labels.
"""

from __future__ import annotations

import json as json_library
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pipeline.benchmark.auditing.audit_markdown import BELOW_HALF_NOTE, format_auroc, format_p_value
from pipeline.benchmark.auditing.balanced_subset import BalanceReport, choose_balanced_subset
from pipeline.benchmark.auditing.known_questions import KnownQuestions, collect_known_questions
from pipeline.benchmark.auditing.labelled_set import (
    ColumnOptions,
    LabelledSet,
    load_labelled_set,
    open_labelled_set,
)
from pipeline.benchmark.auditing.text_attackers import ATTACKERS
from pipeline.benchmark.auditing.text_audit import AuditSettings, SetDescription, TextAudit, audit_texts
from pipeline.benchmark.auditing.text_audit_page import summarize_finding, write_page
from pipeline.core.atomic_files import sha256_file
from pipeline.core.errors import UserError, collect_errors, format_count
from pipeline.core.json_files import read_jsonl, write_json
from pipeline.core.output_paths import Output, check_output_paths
from pipeline.core.paths import DatasetFolders
from pipeline.core.progress import report_written
from pipeline.core.records import Question, Record
from pipeline.public_sets.row_sources import open_rows

MAX_SHOWN_WORDS = 12
# Folders of a release with the files of its subsets.
SUBSET_FOLDERS = ("rgqa", "data")


class AuditOptions(NamedTuple):
    """Options of the command line.

    Attributes:
        source: A file, a folder or the name of a data set.
        annotations: File of annotations of VQA v2, if `source` has only the questions; None otherwise.
        config, split: Configuration and split to load, if the library `datasets` loads the source; None for
            the default.
        columns: The columns that the user named.
        folds: Number of cross-validation folds; None for the number of the release's own audit, or else the
            default.
        num_bootstrap: Number of bootstrap replicates; None for the number of the release's own audit, or else
            the default.
        seed: Seed of folds, bootstrap and permutations.
        source_questions: File ingest/questions.jsonl of the source data set; None to find the file through
            the release.
        balanced_subset, json, html: Files to write; None to write no such file. With `annotations`,
            `balanced_subset` is a folder.
    """

    source: str
    annotations: Path | None = None
    config: str | None = None
    split: str | None = None
    columns: ColumnOptions = ColumnOptions()
    folds: int | None = None
    num_bootstrap: int | None = None
    seed: int = 0
    source_questions: Path | None = None
    balanced_subset: Path | None = None
    json: Path | None = None
    html: Path | None = None


class AuditResults(Record):
    """The results that `--json` writes.

    Attributes:
        sets: Audits by name: one for each subset of a release, or one for the whole set.
        balancing: What the balanced subset keeps and excludes; None if no balanced subset was requested.
        balanced_subset: Audit of the balanced subset; None if there is no balanced subset.
    """

    sets: Mapping[str, TextAudit]
    balancing: BalanceReport | None = None
    balanced_subset: TextAudit | None = None


def run_audit(options: AuditOptions) -> None:
    """Audit a set, print the results and write the files that the options name.

    Args:
        options: Options of the command line.

    Raises:
        UserError: The set cannot be read, or has no balanced subset.
    """
    inputs = [Path(options.source), options.annotations, options.source_questions]
    check_output_paths(list_outputs(options), inputs)
    sets = read_sets(options)
    if options.balanced_subset is not None and len(sets) > 1:
        raise UserError(
            f"--balanced-subset takes one set, but {options.source} has several ({', '.join(sets)}); give the file of one set"
        )
    release = find_release(options.source)
    settings = resolve_settings(options, release)
    known, why_not = load_source_questions(options, release)
    found = {
        name: audit_texts(
            SetDescription(name, rows.format, rows.label_names, rows.excluded_rows), rows, settings, known
        )
        for name, rows in sets.items()
    }
    console = Console()
    for one in found.values():
        print_audit(one, console, details=len(found) == 1)
    if why_not:
        console.print(f"classifiers not run: other questions, verbatim count ({escape(why_not)})")
    report = after = None
    if options.balanced_subset is not None:
        (name, rows), source = next(iter(sets.items())), next(iter(sets.values())).source
        keep, report = choose_balanced_subset(rows, options.seed)
        print_balance(report, console)
        if len(keep):
            source.write([int(i) for i in rows.row_indices[keep]], options.balanced_subset)
            about = SetDescription(f"{name}, balanced", rows.format, rows.label_names)
            after = audit_texts(about, rows.select(keep), settings, known)
            print_audit(after, console, details=True)
            report_written(
                "audit", f"{len(keep):,} of {format_count(len(rows), 'row')}", options.balanced_subset
            )
    if options.json is not None:
        write_json(options.json, AuditResults(sets=found, balancing=report, balanced_subset=after))
        report_written("audit", "results", options.json)
    if options.html is not None:
        write_page(options.html, list(found.values()), report, after)
        report_written("audit", "report", options.html)
    if report and not after:
        raise UserError(
            f"{options.source}: it has no balanced subset, because no text occurs with both labels in such a way that the images "
            "are balanced, too; add or change questions"
        )


def read_sets(options: AuditOptions) -> dict[str, LabelledSet]:
    """Return the sets to audit by name: all subsets of a release, or the one set of another source.

    Raises:
        UserError: Lists every problem of the sets.
    """
    folder = Path(options.source)
    files = sorted((folder / "rgqa").glob("*.json")) if folder.is_dir() else []
    if not files or options.config or options.split:
        rows = open_labelled_set(
            options.source, options.columns, options.annotations, options.config, options.split
        )
        return {folder.name if folder.exists() else options.source: rows}
    sets: dict[str, LabelledSet] = {}
    problems: list[str] = []
    for file in files:
        with collect_errors(problems):
            sets[file.stem] = load_labelled_set(open_rows(str(file)), str(file), options.columns)
    if problems:
        raise UserError(problems)
    return sets


def find_release(source: str) -> Path | None:
    """Return the folder of a release if `source` is this folder or a file in the release; None otherwise."""
    path = Path(source)
    folder = path if path.is_dir() else path.parent.parent if path.parent.name in SUBSET_FOLDERS else None
    return folder if folder is not None and (folder / "params.json").is_file() else None


def resolve_settings(options: AuditOptions, release: Path | None) -> AuditSettings:
    """Return the settings of the audit.

    Each setting is that of the options, or else that of the release's own audit, or else the default.
    """
    recorded = _read_json_object(release / "params.json").get("audit") if release else None
    recorded = recorded if isinstance(recorded, dict) else {}
    default = AuditSettings()
    folds = recorded.get("folds", default.folds)
    # Releases of earlier versions call this setting `repetitions`.
    num_replicates = recorded.get("num_replicates", recorded.get("repetitions", default.num_replicates))
    return AuditSettings(
        options.folds or int(folds), options.num_bootstrap or int(num_replicates), options.seed
    )


def load_source_questions(options: AuditOptions, release: Path | None) -> tuple[KnownQuestions | None, str]:
    """Return the questions of the source, for attackers (classifiers) that compare each text with them.

    A release does not contain these questions, because there may be a million of them. The release states the
    name of the data set and the SHA-256 of the file of questions. The file is used if it still is where the
    pipeline wrote it.

    Args:
        options: Options of the command line.
        release: Folder of the release; None if the source is not a release.

    Returns:
        The questions and "", or None and the reason why the questions are not available.
    """
    path = options.source_questions
    if path is None:
        if release is None:
            return None, "they need the source questions: --source-questions FILE"
        dataset = _read_json_object(release / "params.json").get("dataset")
        path = (
            DatasetFolders(dataset).record_file(Question)
            if isinstance(dataset, str)
            else Path("questions.jsonl")
        )
        if not path.is_file():
            return (
                None,
                f"they need the source questions, which are not at {path}: --source-questions FILE",
            )
        expected = _read_json_object(release / "audit.json").get("source_questions_sha256")
        if expected != sha256_file(path):
            return (
                None,
                f"{path} differs from the file of the release's audit; use it anyway with --source-questions {path}",
            )
    return collect_known_questions(read_jsonl(path, Question)), ""


def _read_json_object(path: Path) -> dict[str, Any]:
    """Return a JSON object of a release; {} if it cannot be read."""
    try:
        value = json_library.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def list_outputs(options: AuditOptions) -> list[Output | None]:
    """Return the files that will be written."""
    balance = None
    if options.balanced_subset is not None and options.annotations is not None:
        names = (Path(options.source).name, options.annotations.name)
        balance = Output("--balanced-subset", options.balanced_subset, "folder", names)
    elif options.balanced_subset is not None:
        balance = Output("--balanced-subset", options.balanced_subset)
    others = (("--json", options.json), ("--html", options.html))
    return [balance, *(Output(option, path) for option, path in others if path)]


def print_audit(result: TextAudit, console: Console, *, details: bool) -> None:
    """Print how the set was read, the AUROC of attackers, predictive words, label imbalance and the finding.

    Args:
        result: The audit.
        console: The console to print to.
        details: Whether to print predictive words and label imbalance, too.
    """
    where = "images not known" if result.images is None else format_count(result.images, "image")
    console.print(
        f"[bold]{escape(result.name)}[/bold]: {escape(result.format)}; {result.negatives:,} {escape(result.negative_label)}, {result.positives:,} "
        f"{escape(result.positive_label)}; {format_count(result.texts, 'text')}, {where}"
    )
    for reason, count in result.excluded_rows.items():
        console.print(f"  {format_count(count, 'row')} excluded: {escape(reason)}")
    if result.duplicates or result.contradictory:
        console.print(
            f"  {format_count(result.duplicates, 'row')} repeat another one; {result.contradictory:,} have both labels for the same text and image"
        )
    if not result.too_small_reason:
        table = Table("AUROC", *(f"grouped by {by}" for by in result.attacks))
        for attacker in ATTACKERS:
            if any(attacker in by_attacker for by_attacker in result.attacks.values()):
                cells = (
                    format_auroc(by_attacker[attacker]) if attacker in by_attacker else ""
                    for by_attacker in result.attacks.values()
                )
                table.add_row(attacker, *cells)
        table.add_section()
        tests = (result.permutation_tests[by] for by in result.attacks)
        table.add_row("p of the maximum", *(format_p_value(test and test.p_value) for test in tests))
        if any(
            attack.is_below_half for by_attacker in result.attacks.values() for attack in by_attacker.values()
        ):
            table.caption = f"* {BELOW_HALF_NOTE}"
        console.print(table)
    if details and not result.too_small_reason:
        words = Table(
            "words that predict the label",
            "rows",
            result.negative_label,
            result.positive_label,
            "AUROC of the word alone",
        )
        for word in result.predictive_words[:MAX_SHOWN_WORDS]:
            proportions = (f"{100 * rate:.1f} %" for rate in (word.negative_rate, word.positive_rate))
            auroc = f"{word.auroc:.3f} [{word.low:.3f}, {word.high:.3f}]"
            words.add_row(escape(word.word), f"{word.rows:,}", *proportions, auroc)
        console.print(words if result.predictive_words else "no word predicts the label beyond chance")
    if details:
        for unit, imbalance in (("text", result.text_imbalance), ("image", result.image_imbalance)):
            if imbalance is not None:
                console.print(
                    f"{unit}s: {imbalance.unbalanced_keys:,} of {imbalance.keys:,} have more rows of one label, by at most {imbalance.max_difference:,}"
                )
    console.print(summarize_finding(result) + "\n")


def print_balance(report: BalanceReport, console: Console) -> None:
    """Print what the balanced subset keeps, and why other rows are excluded."""
    rows, total = (sum(pair) for pair in zip(report.positives, report.negatives, strict=True))
    images = f", {report.images[0]:,} of {report.images[1]:,} images" if report.images else ""
    console.print(
        f"[bold]balanced subset[/bold]: {report.rule}. It keeps {rows:,} of {format_count(total, 'row')} and"
        f" {report.texts[0]:,} of {report.texts[1]:,} texts{images}; excluded:"
    )
    for reason, count in report.excluded_rows.items():
        console.print(f"  {count:,}: {reason}")
