"""`rgqa study edit-quality`: how good perturbed questions are, read by people: blind sheets, and what readers' marks come to.

    rgqa study edit-quality create-sheets --count 200 --seed 1 --out sheets     sheets/to_read: guide.md, sheets; sheets/key.json
    rgqa study edit-quality score-sheets sheets sheets/ann sheets/ben         shares with intervals, kappa, targets, the worst

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

from annotation.study.assignment import wilson_interval
from pipeline.core.errors import Problems
from pipeline.core.json_files import read_json, write_json
from pipeline.core.records import Record
from research.studies.annotation_sheets import MARKS_BY_SHEET, SUBSETS, SheetKeyRow, read_sheet

REQUIRED_FINDINGS = ("grammatical", "changed", "presupposed strictly", "plausible", "not answerable")
TARGETS = {  # shares that are to be reached, of pt-easy and pt-hard; chosen before anything was read
    "grammatical": (0.97, 0.97),
    "changed": (0.99, 0.99),
    "presupposed": (0.97, 0.97),
    "presupposed strictly": (0.90, 0.85),
    "plausible": (0.93, 0.93),
    "not answerable": (0.93, 0.90),
    "all at once": (0.80, 0.80),
}


class MarkRate(Record):
    """How often a reader found it so, with the 95 % Wilson interval of the share (nan of none)."""

    count: int
    total: int
    rate: float
    interval: tuple[float, float]


class MarkSummary(Record):
    """Each reader's share of the edited questions, and of the originals where those were asked, too; Cohen's kappa
    between the first two readers on the edited ones, null for one reader and where both gave one and the same mark
    throughout, so that it is undefined; the share that was to be reached, and whether all readers' shares do."""

    readers: list[MarkRate]
    originals: list[MarkRate]
    kappa: float | None
    target: float
    is_target_reached: bool


class FaultyEdit(Record):
    """An edited question and the marks against it: by how many readers each."""

    candidate_id: str
    original: str
    edited: str
    edits: tuple[str, ...]
    is_query_only: bool
    fault_counts: dict[str, int]


class EditQualityReport(Record):
    """By subset the figures of all its edited questions, and of the weak ones among them; the worst questions."""

    summaries: dict[str, dict[str, MarkSummary]]
    query_only_summaries: dict[str, dict[str, MarkSummary]]
    worst_edits: list[FaultyEdit]


def report_edit_quality(sheets: Path, readers: Sequence[Path], num_worst: int) -> str:
    """What the readers' marks come to, as lines for people; all figures go to reading.json beside the key.

    Raises:
        UserError: lists every sheet and every mark that is missing or unknown, and every row that was changed.
    """
    keys = read_json(sheets / "key.json", dict[str, list[SheetKeyRow]])
    problems = Problems("readers' sheets")
    filled = {
        subset: [
            {
                kind: read_sheet(reader / f"{subset}-{kind}.csv", sheets / "to_read", problems)
                for kind in MARKS_BY_SHEET
            }
            for reader in readers
        ]
        for subset in keys
    }
    problems.raise_if_any()
    figures, weak, against = {}, {}, []
    for subset, key in keys.items():
        found = [tabulate_findings(key, sheet) for sheet in filled[subset]]
        others = [tabulate_original_findings(key, sheet["texts"]) for sheet in filled[subset]]
        figures[subset] = summarize_marks(subset, found, others)
        is_weak = [row.is_query_only for row in key]
        if any(is_weak):
            weak[subset] = summarize_marks(subset, [rows[is_weak] for rows in found], others)
        against += find_faulty_edits(key, found, filled[subset][0]["pairs"])
    against.sort(key=lambda row: (-sum(row.against.values()), row.candidate_id))
    report = EditQualityReport(summaries=figures, query_only_summaries=weak, worst_edits=against[:num_worst])
    write_json(sheets / "reading.json", report)
    return "\n".join(format_report(report))


def tabulate_findings(key: Sequence[SheetKeyRow], sheets: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
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
    return found.assign(**{"all at once": found[list(REQUIRED_FINDINGS)].all(axis=1)})


def tabulate_original_findings(key: Sequence[SheetKeyRow], texts: pd.DataFrame) -> pd.DataFrame:
    """What a reader found of the originals, bool [originals, marks of the texts]."""
    return texts.drop(index=[row.text_row for row in key])[list(MARKS_BY_SHEET["texts"])] == "y"


def summarize_marks(
    subset: str, found: Sequence[pd.DataFrame], originals: Sequence[pd.DataFrame]
) -> dict[str, MarkSummary]:
    """Each figure that has a target, from what each reader found of edited questions and of originals."""
    figures = {}
    for name, targets in TARGETS.items():
        target = targets[SUBSETS.index(subset)]
        readers = [compute_rate(rows[name]) for rows in found]
        two = [rows[name] for rows in found[:2]]
        defined = len(two) > 1 and pd.concat(two).nunique() > 1
        figures[name] = MarkSummary(
            readers=readers,
            originals=[compute_rate(rows[name]) for rows in originals if name in rows],
            kappa=float(cohen_kappa_score(*two)) if defined else None,
            target=target,
            is_target_reached=all(reader.rate >= target for reader in readers),
        )
    return figures


def compute_rate(found: pd.Series) -> MarkRate:
    """Of what share of the rows it was found so."""
    right, of = int(found.sum()), len(found)
    return MarkRate(
        count=right, total=of, rate=right / of if of else nan, interval=wilson_interval(right, of)
    )


def find_faulty_edits(
    key: Sequence[SheetKeyRow], found: Sequence[pd.DataFrame], pairs: pd.DataFrame
) -> list[FaultyEdit]:
    """The edited questions with a mark against them. Args: pairs: the sheet, for its texts."""
    against = np.sum(
        [~rows[list(REQUIRED_FINDINGS)].to_numpy() for rows in found], axis=0
    )  # [edited questions, AT_ONCE]
    worst = []
    for row, counts in zip(key, against.tolist(), strict=True):
        told = {name: count for name, count in zip(REQUIRED_FINDINGS, counts, strict=True) if count}
        if told:
            original, edited = pairs.loc[row.pair_row, ["original", "edited"]]
            ids = {"candidate_id": row.candidate_id, "original": original, "edited": edited}
            worst.append(
                FaultyEdit(**ids, edits=row.edits, is_query_only=row.is_query_only, fault_counts=told)
            )
    return worst


def format_report(report: EditQualityReport) -> Iterator[str]:
    """The figures by subset, then the worst questions, for people."""
    weak = {f"{subset}, weak": figures for subset, figures in report.query_only_summaries.items()}
    for subset, figures in (report.summaries | weak).items():
        yield f"{subset}: {figures['all at once'].readers[0].total} edited questions"
        for name, figure in figures.items():
            readers = "; ".join(
                f"{row.rate:6.1%} ({row.interval[0]:.1%} to {row.interval[1]:.1%})" for row in figure.readers
            )
            kappa = "undefined" if figure.kappa is None else f"{figure.kappa:.2f}"
            target = f"target {figure.target:.0%} {'reached' if figure.is_target_reached else 'missed'}"
            originals = ", ".join(f"{row.rate:.1%}" for row in figure.originals if row.total)
            yield f"  {name:20} {readers}; kappa {kappa}; {target}{originals and f'; originals {originals}'}"
    if report.worst_edits:
        yield "the worst: what speaks against it, by how many readers"
    for row in report.worst_edits:
        against = ", ".join(f"not {name} {count}" for name, count in row.fault_counts.items())
        yield f"  {row.original} -> {row.edited}  [{'; '.join(row.edits)}{'; weak' if row.is_query_only else ''}]"
        yield f"      {against.replace('not not ', '')}"
