"""`rgqa audit`: how well the label can be predicted from the question text alone, for a release or for any other set."""

from __future__ import annotations

import json as json_library
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pipeline.benchmark.auditing.audit_markdown import BELOW_HALF, p_shown, reached
from pipeline.benchmark.auditing.balanced_subset import BalanceReport, balanced_subset
from pipeline.benchmark.auditing.known_questions import KnownQuestions, known_questions
from pipeline.benchmark.auditing.labelled_set import Columns, LabelledSet, read_set
from pipeline.benchmark.auditing.row_sources import JoinedRows, Rows, open_rows
from pipeline.benchmark.auditing.text_attackers import ATTACKERS
from pipeline.benchmark.auditing.text_audit import AuditSettings, SetDescription, TextAudit, audit_texts
from pipeline.benchmark.auditing.text_audit_page import verdict, write_page
from pipeline.core.atomic_files import sha256_file
from pipeline.core.errors import UserError, collected_into, counted
from pipeline.core.json_files import read_jsonl, write_json
from pipeline.core.output_paths import Output, check_output_paths
from pipeline.core.paths import Folders
from pipeline.core.progress import done
from pipeline.core.records import Question, Record

SHOWN_WORDS = 12
# The whole of a release, one level above the folders of its subsets' files.
SUBSET_FOLDERS = ("rgqa", "data")


class AuditOptions(NamedTuple):
    """Options of the command line.

    Attributes:
        source: A file, a folder or the name of a data set.
        annotations: VQA's annotations, if `source` has the questions only.
        config, split: Of a data set by name.
        columns: Columns that the user named.
        folds, repetitions: None for those of the release that `source` is in, or else the defaults.
        seed: Seed of folds, bootstrap replicates and permutations.
        source_questions: ingest/questions.jsonl of the data set that the questions are from.
        balance, json, page: Where the balanced subset, the figures and the page are written.
    """

    source: str
    annotations: Path | None = None
    config: str | None = None
    split: str | None = None
    columns: Columns = Columns()
    folds: int | None = None
    repetitions: int | None = None
    seed: int = 0
    source_questions: Path | None = None
    balance: Path | None = None
    json: Path | None = None
    page: Path | None = None


class AuditFigures(Record):
    """What `--json` writes: the figures of each set (of a release, of each subset) by name, and of the balanced subset."""

    sets: Mapping[str, TextAudit]
    left_out_by_balancing: BalanceReport | None = None
    balanced: TextAudit | None = None


def audit(options: AuditOptions) -> None:
    """Measure, print, and write what was asked for.

    Raises:
        UserError: the set cannot be read or lacks something, or no part of it is balanced.
    """
    inputs = [Path(options.source), options.annotations, options.source_questions]
    check_output_paths(outputs_of(options), inputs)
    sets = read_sets(options)
    if options.balance is not None and len(sets) > 1:
        raise UserError(
            f"--balance takes one set, but {options.source} has {', '.join(sets)}; name one of its files"
        )
    release = release_of(options.source)
    settings = settings_of(options, release)
    known, why_not = source_questions(options, release)
    found = {
        name: audit_texts(SetDescription(name, of.format, of.meaning, of.left_out), of, settings, known)
        for name, of in sets.items()
    }
    console = Console()
    for one in found.values():
        show(one, console, details=len(found) == 1)
    if why_not:
        console.print(f"not tried: other questions, verbatim ({escape(why_not)})")
    report = after = None
    if options.balance is not None:
        (name, rows), source = next(iter(sets.items())), next(iter(sets.values())).source
        keep, report = balanced_subset(rows, options.seed)
        show_balance(report, console)
        if len(keep):
            source.write([int(i) for i in rows.places[keep]], options.balance)
            about = SetDescription(f"{name}, balanced", rows.format, rows.meaning)
            after = audit_texts(about, rows.at(keep), settings, known)
            show(after, console, details=True)
            done("audit", f"{len(keep):,} of {counted(len(rows), 'row')}", options.balance)
    if options.json is not None:
        write_json(options.json, AuditFigures(sets=found, left_out_by_balancing=report, balanced=after))
        done("audit", "the figures", options.json)
    if options.page is not None:
        write_page(options.page, list(found.values()), report, after)
        done("audit", "one page", options.page)
    if report and not after:
        raise UserError(
            f"{options.source}: no part of it is balanced, since no text has both labels such that images are balanced, too;"
            " add or change questions, as leaving some out is not enough"
        )


def read_sets(options: AuditOptions) -> dict[str, LabelledSet]:
    """The subsets of a release by name, or the one set of anything else.

    Raises:
        UserError: everything that is wrong with any of them.
    """
    folder = Path(options.source)
    files = sorted((folder / "rgqa").glob("*.json")) if folder.is_dir() else []
    if not files or options.config or options.split:
        rows = read_set(opened_rows(options), options.source, options.columns)
        return {folder.name if folder.exists() else options.source: rows}
    sets: dict[str, LabelledSet] = {}
    problems: list[str] = []
    for file in files:
        with collected_into(problems):
            sets[file.stem] = read_set(open_rows(str(file)), str(file), options.columns)
    if problems:
        raise UserError(problems)
    return sets


def opened_rows(options: AuditOptions) -> Rows:
    if options.annotations is None:
        return open_rows(options.source, options.config, options.split)
    if options.config or options.split:
        raise UserError("--annotations is for two files; --config and --split choose from a data set by name")
    return JoinedRows(Path(options.source), options.annotations)


def release_of(source: str) -> Path | None:
    """The release that a folder is, or that a file lies in."""
    path = Path(source)
    folder = path if path.is_dir() else path.parent.parent if path.parent.name in SUBSET_FOLDERS else None
    return folder if folder is not None and (folder / "params.json").is_file() else None


def settings_of(options: AuditOptions, release: Path | None) -> AuditSettings:
    """Folds and replicates as in the audit that the release carries, if nothing else is asked for."""
    own = _json(release / "params.json").get("audit") if release else None
    own = own if isinstance(own, dict) else {}
    default = AuditSettings()
    folds, repetitions = own.get("folds", default.folds), own.get("repetitions", default.repetitions)
    return AuditSettings(options.folds or int(folds), options.repetitions or int(repetitions), options.seed)


def source_questions(options: AuditOptions, release: Path | None) -> tuple[KnownQuestions | None, str]:
    """The questions of the source, for the attackers that have read them, or why they are not known.

    A release does not carry them: they may be a million. It names their data set and the SHA-256 of their file, which is used if it
    lies where the pipeline wrote it.
    """
    path = options.source_questions
    if path is None:
        if release is None:
            return None, "they need the questions of the source: --source-questions FILE"
        dataset = _json(release / "params.json").get("dataset")
        path = Folders(dataset).file(Question) if isinstance(dataset, str) else Path("questions.jsonl")
        if not path.is_file():
            return (
                None,
                f"they need the questions of the source, which are not at {path}: --source-questions FILE",
            )
        wanted = _json(release / "audit.json").get("source_questions_sha256")
        if wanted != sha256_file(path):
            return (
                None,
                f"{path} is not the file that the release was audited with; --source-questions {path} uses it all the same",
            )
    return known_questions(read_jsonl(path, Question)), ""


def _json(path: Path) -> dict[str, Any]:
    """A JSON object of a release; {} if there is none."""
    try:
        value = json_library.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def outputs_of(options: AuditOptions) -> list[Output | None]:
    """The files that will be written, by the option that names them."""
    balance = None
    if options.balance is not None and options.annotations is not None:
        names = (Path(options.source).name, options.annotations.name)
        balance = Output("--balance", options.balance, "folder", names)
    elif options.balance is not None:
        balance = Output("--balance", options.balance)
    others = (("--json", options.json), ("--page", options.page))
    return [balance, *(Output(option, path) for option, path in others if path)]


def show(found: TextAudit, console: Console, *, details: bool) -> None:
    """Print how the set was read, what attackers reach, which words predict the label, the margins, and the finding."""
    where = "images not known" if found.images is None else counted(found.images, "image")
    console.print(
        f"[bold]{escape(found.name)}[/bold]: {escape(found.format)}; {found.zeros:,} {escape(found.zero)}, {found.ones:,} "
        f"{escape(found.one)}; {counted(found.texts, 'text')}, {where}"
    )
    for reason, count in found.left_out.items():
        console.print(f"  {counted(count, 'row')} left out: {escape(reason)}")
    if found.repeated or found.contradicted:
        console.print(
            f"  {counted(found.repeated, 'row')} repeat another one; {found.contradicted:,} have both labels for the same text and image"
        )
    if not found.too_small:
        table = Table("AUROC", *(f"folds by {by}" for by in found.attacks))
        for attacker in ATTACKERS:
            if any(attacker in of for of in found.attacks.values()):
                cells = (reached(of[attacker]) if attacker in of else "" for of in found.attacks.values())
                table.add_row(attacker, *cells)
        table.add_section()
        tests = (found.tests[by] for by in found.attacks)
        table.add_row("p of the maximum", *(p_shown(test and test.p_value) for test in tests))
        if any(attack.below_half for of in found.attacks.values() for attack in of.values()):
            table.caption = f"* {BELOW_HALF}"
        console.print(table)
    if details and not found.too_small:
        words = Table(
            "words that predict the label", "rows", found.zero, found.one, "AUROC of the word alone"
        )
        for word in found.words[:SHOWN_WORDS]:
            proportions = (f"{100 * share:.1f} %" for share in (word.zero, word.one))
            alone = f"{word.auroc:.3f} [{word.low:.3f}, {word.high:.3f}]"
            words.add_row(escape(word.word), f"{word.rows:,}", *proportions, alone)
        console.print(words if found.words else "no word predicts the label beyond chance")
    if details:
        for what, margin in (("text", found.text_margin), ("image", found.image_margin)):
            if margin is not None:
                console.print(
                    f"margins of {what}s: {margin.unequal:,} of {margin.keys:,} have more rows of one label, at most {margin.largest:,} more"
                )
    console.print(verdict(found) + "\n")


def show_balance(report: BalanceReport, console: Console) -> None:
    """Print what the balanced subset keeps, and why the rest is left out."""
    rows, of = (sum(pair) for pair in zip(report.ones, report.zeros, strict=True))
    images = f", {report.images[0]:,} of {report.images[1]:,} images" if report.images else ""
    console.print(
        f"[bold]balanced subset[/bold]: {report.rule}. It keeps {rows:,} of {counted(of, 'row')} and"
        f" {report.texts[0]:,} of {report.texts[1]:,} texts{images}; left out:"
    )
    for reason, count in report.reasons.items():
        console.print(f"  {count:,}: {reason}")
