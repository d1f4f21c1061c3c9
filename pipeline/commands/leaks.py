"""`rgqa leaks`: what anybody's set gives away without its pictures: a screen, JSON, one page, a balanced part."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pipeline.core.errors import UserError
from pipeline.core.files import write_json
from pipeline.core.output_paths import Output, check_output_paths
from pipeline.core.progress import done
from pipeline.core.records import Record
from pipeline.leaks.even_set import Lost, balanced
from pipeline.leaks.leak_figures import ATTACKERS, LeakParams, Leaks, leaks_of
from pipeline.leaks.leak_page import told, verdict, write_page
from pipeline.leaks.read_set import Columns, LabelledSet, read_set
from pipeline.leaks.set_files import JoinedRows, Rows, open_rows

WORDS = 12  # on the screen


class LeakOptions(NamedTuple):
    """What was asked for. `balance`: where the balanced part goes; `json`, `page`: where the figures go."""

    source: str
    annotations: Path | None = None
    config: str | None = None
    split: str | None = None
    columns: Columns = Columns()
    params: LeakParams = LeakParams()
    balance: Path | None = None
    json: Path | None = None
    page: Path | None = None


class LeakReport(Record):
    """What `--json` writes: the set as it is, and its balanced part if there is one."""

    leaks: Leaks
    lost: Lost | None = None
    balanced: Leaks | None = None


def leaks(options: LeakOptions) -> None:
    """Measure, print, and write what was asked for.

    Raises:
        UserError: the set cannot be read, lacks something, has too few texts or pictures, or nothing of it is balanced.
    """
    inputs, outputs = inputs_and_outputs(options)
    check_output_paths([Output(option, path) for option, path in outputs], inputs)
    source = opened_rows(options)
    name = Path(options.source).name if Path(options.source).exists() else options.source
    rows = read_set(source, options.source, options.columns)
    enough(rows, options)
    found = leaks_of(name, rows, options.params)
    show(found)
    lost = after = None
    if options.balance is not None:
        keep, lost = balanced(rows, options.params.seed)
        show_lost(lost)
        if len(keep):
            source.write([int(i) for i in rows.places[keep]], options.balance)
            after = leaks_of(f"{name}, balanced", rows.at(keep), options.params)
            show(after)
            done("leaks", f"{len(keep):,} of {len(rows):,} rows", options.balance)
    if options.json is not None:
        write_json(options.json, LeakReport(leaks=found, lost=lost, balanced=after))
        done("leaks", "the figures", options.json)
    if options.page is not None:
        write_page(options.page, found, lost, after)
        done("leaks", "one page", options.page)
    if lost and not after:
        raise UserError(
            f"{options.source}: nothing is left of it: no text comes with both labels such that pictures are even, too;"
            " questions must be added or changed, leaving out is not enough"
        )


def opened_rows(options: LeakOptions) -> Rows:
    if options.annotations is None:
        return open_rows(options.source, options.config, options.split)
    if options.config or options.split:
        raise UserError("--annotations is for two files; --config and --split choose from a data set by name")
    return JoinedRows(Path(options.source), options.annotations)


def enough(rows: LabelledSet, options: LeakOptions) -> None:
    """Raises:
    UserError: there are fewer texts or pictures than folds."""
    folds = options.params.folds
    pictures = None if rows.pictures is None else rows.pictures.tolist()
    for what, values in (("texts", rows.texts), ("pictures", pictures)):
        if values is not None and (count := len(set(values))) < folds:
            advice = f"fewer of them: --folds {count}" if count > 1 else "no set to be measured"
            raise UserError(f"{options.source}: {count} different {what}, but {folds} folds; {advice}")


def inputs_and_outputs(options: LeakOptions) -> tuple[list[Path], list[tuple[str, Path]]]:
    """The files that are read, and those that are written by the option that names them."""
    inputs, balance = [Path(options.source)], []
    if options.annotations:
        inputs.append(options.annotations)
    if options.balance:  # of two files a folder of two
        places = (
            [options.balance / path.name for path in inputs] if options.annotations else [options.balance]
        )
        balance = [("--balance", place) for place in places]
    others = (("--json", options.json), ("--page", options.page))
    return inputs, [*balance, *((option, path) for option, path in others if path)]


def show(found: Leaks) -> None:
    """On the screen: how it was read, what attackers reach, which words tell, and the margins."""
    console = Console()
    where = "pictures not known" if found.pictures is None else f"{found.pictures:,} pictures"
    console.print(
        f"[bold]{escape(found.name)}[/bold]: {escape(found.form)}; {found.zeros:,} {escape(found.zero)}, {found.ones:,} "
        f"{escape(found.one)}; {found.texts:,} texts, {where}"
    )
    for reason, count in found.left_out.items():
        console.print(f"  {count:,} rows do not count: {escape(reason)}")
    if found.repeated or found.contradicted:
        console.print(
            f"  {found.repeated:,} rows repeat another one; {found.contradicted:,} have both labels for the same text and picture"
        )
    table = Table("max(AUROC, 1 - AUROC)", *(f"folds by {by}" for by in found.attacks))
    for attacker in ATTACKERS:
        table.add_row(attacker, *(told(of[attacker]) for of in found.attacks.values()))
    table.caption = "* mostly wrong, and turned round"
    console.print(table)
    words = Table("words that tell", "rows", found.zero, found.one, "AUROC of the word alone")
    for word in found.words[:WORDS]:
        shares = (f"{100 * share:.1f} %" for share in (word.zero, word.one))
        alone = f"{word.auroc:.3f} [{word.low:.3f}, {word.high:.3f}]"
        words.add_row(escape(word.word), f"{word.rows:,}", *shares, alone)
    console.print(words if found.words else "no word tells more than chance would")
    for what, margin in (("text", found.text_margin), ("picture", found.picture_margin)):
        if margin is not None:
            console.print(
                f"margins of {what}s: {margin.unequal:,} of {margin.keys:,} lean to a label, the most by {margin.largest:,} rows"
            )
    console.print(verdict(found))


def show_lost(lost: Lost) -> None:
    """On the screen: what the balanced part keeps, and why the rest goes."""
    rows, of = (sum(pair) for pair in zip(lost.ones, lost.zeros, strict=True))
    console = Console()
    console.print(f"\n[bold]balanced[/bold]: {lost.rule}. It keeps {rows:,} of {of:,} rows and", end=" ")
    pictures = f", {lost.pictures[0]:,} of {lost.pictures[1]:,} pictures" if lost.pictures else ""
    console.print(f"{lost.texts[0]:,} of {lost.texts[1]:,} texts{pictures}; left out are")
    for reason, count in lost.reasons.items():
        console.print(f"  {count:,}: {reason}")
