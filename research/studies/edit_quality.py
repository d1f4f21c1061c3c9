"""`rgqa study reading`: how good perturbed questions are, read by people: blind sheets, and what readers' marks come to.

    rgqa study reading draw --count 200 --seed 1 --out sheets     sheets/to_read: guide.md, sheets; sheets/key.json
    rgqa study reading score sheets sheets/ann sheets/ben         shares with intervals, kappa, targets, the worst

Two sheets for each subset. What can be asked of a text alone is asked of single texts, edited ones and originals of
other questions mixed, so that a reader does not know which is which and the originals give the base rate:

    texts    grammatical; plausible: a photo could well show this, and somebody could ask it

What the edit did can only be told beside the original; these sheets are read afterwards:

    pairs    changed: they mean different things; presupposed: the edited one takes for granted what does not hold where
             only the original's content does (y: even if "nothing", "nobody", "no" count as true answers; l: only if
             they do not); answerable: at a typical photo of the original it would have an answer after all

Each reader gets a copy of `to_read`, fills in every mark (`reading_guide.md` says how) and does not see the other's.
Runs on the screened candidates of the data set in use (`dvc repro screen`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import nan
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import cohen_kappa_score

from annotation.study.assignment import wilson
from pipeline.core.errors import Problems
from pipeline.core.json_files import read_json, write_json
from pipeline.core.records import Record
from research.studies.annotation_sheets import MARKS, SUBSETS, Edited, read_sheet

AT_ONCE = ("grammatical", "changed", "presupposed strictly", "plausible", "not answerable")
TARGETS = {  # shares that are to be reached, of pt-easy and pt-hard; chosen before anything was read
    "grammatical": (0.97, 0.97),
    "changed": (0.99, 0.99),
    "presupposed": (0.97, 0.97),
    "presupposed strictly": (0.90, 0.85),
    "plausible": (0.93, 0.93),
    "not answerable": (0.93, 0.90),
    "all at once": (0.80, 0.80),
}


class MarkShare(Record):
    """How often a reader found it so, with the 95 % Wilson interval of the share (nan of none)."""

    right: int
    of: int
    share: float
    interval: tuple[float, float]


class MarkFigure(Record):
    """Each reader's share of the edited questions, and of the originals where those were asked, too; Cohen's kappa
    between the first two readers on the edited ones, null for one reader and where both gave one and the same mark
    throughout, so that it is undefined; the share that was to be reached, and whether all readers' shares do."""

    readers: list[MarkShare]
    originals: list[MarkShare]
    kappa: float | None
    target: float
    reached: bool


class Worst(Record):
    """An edited question and the marks against it: by how many readers each."""

    candidate_id: str
    original: str
    edited: str
    edits: tuple[str, ...]
    weak: bool
    against: dict[str, int]


class ReadingReport(Record):
    """By subset the figures of all its edited questions, and of the weak ones among them; the worst questions."""

    figures: dict[str, dict[str, MarkFigure]]
    weak: dict[str, dict[str, MarkFigure]]
    worst: list[Worst]


def score_sheets(sheets: Path, readers: Sequence[Path], worst: int) -> str:
    """What the readers' marks come to, as lines for people; all figures go to reading.json beside the key.

    Raises:
        UserError: lists every sheet and every mark that is missing or unknown, and every row that was changed.
    """
    keys = read_json(sheets / "key.json", dict[str, list[Edited]])
    problems = Problems("readers' sheets")
    filled = {
        subset: [
            {
                kind: read_sheet(reader / f"{subset}-{kind}.csv", sheets / "to_read", problems)
                for kind in MARKS
            }
            for reader in readers
        ]
        for subset in keys
    }
    problems.raise_if_any()
    figures, weak, against = {}, {}, []
    for subset, key in keys.items():
        found = [findings(key, sheet) for sheet in filled[subset]]
        others = [original_findings(key, sheet["texts"]) for sheet in filled[subset]]
        figures[subset] = mark_figures(subset, found, others)
        is_weak = [row.weak for row in key]
        if any(is_weak):
            weak[subset] = mark_figures(subset, [rows[is_weak] for rows in found], others)
        against += marks_against(key, found, filled[subset][0]["pairs"])
    against.sort(key=lambda row: (-sum(row.against.values()), row.candidate_id))
    report = ReadingReport(figures=figures, weak=weak, worst=against[:worst])
    write_json(sheets / "reading.json", report)
    return "\n".join(report_lines(report))


def findings(key: Sequence[Edited], sheets: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """What a reader found, bool [edited questions, TARGETS]: true speaks for the edit."""
    texts = sheets["texts"].loc[[row.text_row for row in key]].reset_index(drop=True)
    pairs = sheets["pairs"].loc[[row.pair_row for row in key]].reset_index(drop=True)
    found = pd.DataFrame(
        {
            "grammatical": texts["grammatical"] == "y",
            "changed": pairs["changed"] == "y",
            "presupposed": pairs["presupposed"] != "n",
            "presupposed strictly": pairs["presupposed"] == "y",
            "plausible": texts["plausible"] == "y",
            "not answerable": pairs["answerable"] == "n",
        }
    )
    return found.assign(**{"all at once": found[list(AT_ONCE)].all(axis=1)})


def original_findings(key: Sequence[Edited], texts: pd.DataFrame) -> pd.DataFrame:
    """What a reader found of the originals, bool [originals, marks of the texts]."""
    return texts.drop(index=[row.text_row for row in key])[list(MARKS["texts"])] == "y"


def mark_figures(
    subset: str, found: Sequence[pd.DataFrame], originals: Sequence[pd.DataFrame]
) -> dict[str, MarkFigure]:
    """Each figure that has a target, from what each reader found of edited questions and of originals."""
    figures = {}
    for name, targets in TARGETS.items():
        target = targets[SUBSETS.index(subset)]
        readers = [share(rows[name]) for rows in found]
        two = [rows[name] for rows in found[:2]]
        defined = len(two) > 1 and pd.concat(two).nunique() > 1
        figures[name] = MarkFigure(
            readers=readers,
            originals=[share(rows[name]) for rows in originals if name in rows],
            kappa=float(cohen_kappa_score(*two)) if defined else None,
            target=target,
            reached=all(reader.share >= target for reader in readers),
        )
    return figures


def share(found: pd.Series) -> MarkShare:
    """Of what share of the rows it was found so."""
    right, of = int(found.sum()), len(found)
    return MarkShare(right=right, of=of, share=right / of if of else nan, interval=wilson(right, of))


def marks_against(key: Sequence[Edited], found: Sequence[pd.DataFrame], pairs: pd.DataFrame) -> list[Worst]:
    """The edited questions with a mark against them. Args: pairs: the sheet, for its texts."""
    against = np.sum(
        [~rows[list(AT_ONCE)].to_numpy() for rows in found], axis=0
    )  # [edited questions, AT_ONCE]
    worst = []
    for row, counts in zip(key, against.tolist(), strict=True):
        told = {name: count for name, count in zip(AT_ONCE, counts, strict=True) if count}
        if told:
            original, edited = pairs.loc[row.pair_row, ["original", "edited"]]
            ids = {"candidate_id": row.candidate_id, "original": original, "edited": edited}
            worst.append(Worst(**ids, edits=row.edits, weak=row.weak, against=told))
    return worst


def report_lines(report: ReadingReport) -> Iterator[str]:
    """The figures by subset, then the worst questions, for people."""
    weak = {f"{subset}, weak": figures for subset, figures in report.weak.items()}
    for subset, figures in (report.figures | weak).items():
        yield f"{subset}: {figures['all at once'].readers[0].of} edited questions"
        for name, figure in figures.items():
            readers = "; ".join(
                f"{row.share:6.1%} ({row.interval[0]:.1%} to {row.interval[1]:.1%})" for row in figure.readers
            )
            kappa = "undefined" if figure.kappa is None else f"{figure.kappa:.2f}"
            target = f"target {figure.target:.0%} {'reached' if figure.reached else 'missed'}"
            originals = ", ".join(f"{row.share:.1%}" for row in figure.originals if row.of)
            yield f"  {name:20} {readers}; kappa {kappa}; {target}{originals and f'; originals {originals}'}"
    if report.worst:
        yield "the worst: what speaks against it, by how many readers"
    for row in report.worst:
        against = ", ".join(f"not {name} {count}" for name, count in row.against.items())
        yield f"  {row.original} -> {row.edited}  [{'; '.join(row.edits)}{'; weak' if row.weak else ''}]"
        yield f"      {against.replace('not not ', '')}"
