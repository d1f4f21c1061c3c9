"""Let people judge the quality of edited questions: `rgqa study edit-quality`.

    rgqa study edit-quality create-sheets --count 200 --seed 1 --out sheets   writes sheets/key.json and sheets/sheets_to_fill
    rgqa study edit-quality score-sheets sheets sheets/ann sheets/ben         prints rates, kappa, targets, the worst edits

There are two sheets for each subset. The first has single texts, edited ones mixed with originals of other
questions. A reader does not know which is which, and the originals give the base rate. Its marks:

    grammatical   a careful writer of English could have written the text
    plausible     a photo could show this, and somebody could ask it

The second sheet shows each edited question beside its original and is filled in later. Its marks:

    changed       the two questions mean different things
    presupposed   the edited question presupposes something that does not hold in an image with only the original's
                  content: "y" even if "nothing", "nobody" and "no" are accepted as answers, "l" (loosely)
                  only if they are not accepted
    answerable    in a typical photo of the original the edited question would have an answer after all

Each rater gets a copy of `sheets_to_fill`, fills in every mark (`reading_guide.md` explains them) and does
not see the other's marks. The study needs the screened candidates of the data set in use (`dvc repro
screen`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import nan
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import cohen_kappa_score

from annotation.study.assignment import wilson_interval
from pipeline.core.errors import Problems, format_count
from pipeline.core.json_files import read_json, write_json
from pipeline.core.records import Record
from research.studies.annotation_sheets import (
    BLANK_SHEETS_DIR,
    MARKS_BY_SHEET,
    SUBSETS,
    SheetKeyRow,
    read_sheet,
)

REQUIRED_FINDINGS = ("grammatical", "changed", "presupposed (strict)", "plausible", "not answerable")
# Target rates of pt-easy and pt-hard. They were fixed before anything was read.
TARGETS = {
    "grammatical": (0.97, 0.97),
    "changed": (0.99, 0.99),
    "presupposed": (0.97, 0.97),
    "presupposed (strict)": (0.90, 0.85),
    "plausible": (0.93, 0.93),
    "not answerable": (0.93, 0.90),
    "all criteria": (0.80, 0.80),
}


class MarkRate(Record):
    """How often a reader gave a mark, with the 95 % Wilson interval of the rate.

    The rate is NaN if there are no rows.
    """

    count: int
    total: int
    rate: float
    interval: tuple[float, float]


class MarkSummary(Record):
    """The rates of one finding.

    Attributes:
        readers: Each rater's rate among edited questions.
        originals: Each rater's rate among originals, where these were judged too.
        kappa: Cohen's kappa between the first two raters on edited questions. None for one rater, and where
            both raters gave the same mark throughout, so that kappa is undefined.
        target: The target rate.
        is_target_reached: Every reader's rate reaches the target.
    """

    readers: list[MarkRate]
    originals: list[MarkRate]
    kappa: float | None
    target: float
    is_target_reached: bool


class FaultyEdit(Record):
    """An edited question and the number of raters who found each fault."""

    candidate_id: str
    original: str
    edited: str
    edits: tuple[str, ...]
    is_query_only: bool
    fault_counts: dict[str, int]


class EditQualityReport(Record):
    """Summaries of all edited questions and of the query-only ones among them, by subset, and the worst
    questions.
    """

    summaries: dict[str, dict[str, MarkSummary]]
    query_only_summaries: dict[str, dict[str, MarkSummary]]
    worst_edits: list[FaultyEdit]


def report_edit_quality(sheets: Path, readers: Sequence[Path], num_worst: int) -> str:
    """Return the raters' results as text, and write them to edit_quality.json beside the key.

    Raises:
        UserError: Lists every missing sheet, every missing or unknown mark and every row that was changed.
    """
    keys = read_json(sheets / "key.json", dict[str, list[SheetKeyRow]])
    problems = Problems("sheets of the raters")
    filled = {
        subset: [
            {
                kind: read_sheet(reader / f"{subset}-{kind}.csv", sheets / BLANK_SHEETS_DIR, problems)
                for kind in MARKS_BY_SHEET
            }
            for reader in readers
        ]
        for subset in keys
    }
    problems.raise_if_any()
    figures, query_only, faulty = {}, {}, []
    for subset, key in keys.items():
        found = [tabulate_findings(key, sheet) for sheet in filled[subset]]
        others = [tabulate_original_findings(key, sheet["texts"]) for sheet in filled[subset]]
        figures[subset] = summarize_marks(subset, found, others)
        is_query_only = [row.is_query_only for row in key]
        if any(is_query_only):
            query_only[subset] = summarize_marks(subset, [rows[is_query_only] for rows in found], others)
        faulty += find_faulty_edits(key, found, filled[subset][0]["pairs"])
    faulty.sort(key=lambda row: (-sum(row.fault_counts.values()), row.candidate_id))
    report = EditQualityReport(
        summaries=figures, query_only_summaries=query_only, worst_edits=faulty[:num_worst]
    )
    write_json(sheets / "edit_quality.json", report)
    return "\n".join(format_report(report))


def tabulate_findings(key: Sequence[SheetKeyRow], sheets: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return one rater's findings, bool [edited questions, TARGETS]. True is favourable to the edit."""
    texts = sheets["texts"].loc[[row.text_row for row in key]].reset_index(drop=True)
    pairs = sheets["pairs"].loc[[row.pair_row for row in key]].reset_index(drop=True)
    found = pd.DataFrame(
        {
            "grammatical": texts["grammatical"] == "y",
            "changed": pairs["changed"] == "y",
            "presupposed": pairs["presupposed"] != "n",
            "presupposed (strict)": pairs["presupposed"] == "y",
            "plausible": texts["plausible"] == "y",
            "not answerable": pairs["answerable"] == "n",
        }
    )
    return found.assign(**{"all criteria": found[list(REQUIRED_FINDINGS)].all(axis=1)})


def tabulate_original_findings(key: Sequence[SheetKeyRow], texts: pd.DataFrame) -> pd.DataFrame:
    """Return one rater's findings about the originals, bool [originals, marks of the texts]."""
    return texts.drop(index=[row.text_row for row in key])[list(MARKS_BY_SHEET["texts"])] == "y"


def summarize_marks(
    subset: str, found: Sequence[pd.DataFrame], originals: Sequence[pd.DataFrame]
) -> dict[str, MarkSummary]:
    """Summarize each finding that has a target, from the raters' findings about edited questions and
    originals.
    """
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
    """Return the proportion of rows with the finding."""
    right, of = int(found.sum()), len(found)
    return MarkRate(
        count=right, total=of, rate=right / of if of else nan, interval=wilson_interval(right, of)
    )


def find_faulty_edits(
    key: Sequence[SheetKeyRow], found: Sequence[pd.DataFrame], pairs: pd.DataFrame
) -> list[FaultyEdit]:
    """Return the edited questions with at least one fault.

    `pairs` is a sheet of pairs, which has their texts.
    """
    # Number of raters who did not confirm each required property, [edited questions, REQUIRED_FINDINGS].
    against = np.sum([~rows[list(REQUIRED_FINDINGS)].to_numpy() for rows in found], axis=0)
    faulty = []
    for row, counts in zip(key, against.tolist(), strict=True):
        fault_counts = {name: count for name, count in zip(REQUIRED_FINDINGS, counts, strict=True) if count}
        if fault_counts:
            original, edited = pairs.loc[row.pair_row, ["original", "edited"]]
            ids = {"candidate_id": row.candidate_id, "original": original, "edited": edited}
            faulty.append(
                FaultyEdit(**ids, edits=row.edits, is_query_only=row.is_query_only, fault_counts=fault_counts)
            )
    return faulty


def format_report(report: EditQualityReport) -> Iterator[str]:
    """Yield the lines of the report: the rates by subset, then the worst questions."""
    query_only = {f"{subset}, query-only": figures for subset, figures in report.query_only_summaries.items()}
    for subset, figures in (report.summaries | query_only).items():
        yield f"{subset}: {format_count(figures['all criteria'].readers[0].total, 'edited question')}"
        for name, figure in figures.items():
            readers = "; ".join(
                f"{row.rate:6.1%} ({row.interval[0]:.1%} to {row.interval[1]:.1%})" for row in figure.readers
            )
            kappa = "undefined" if figure.kappa is None else f"{figure.kappa:.2f}"
            target = f"target {figure.target:.0%} {'reached' if figure.is_target_reached else 'missed'}"
            originals = ", ".join(f"{row.rate:.1%}" for row in figure.originals if row.total)
            yield f"  {name:20} {readers}; kappa {kappa}; {target}{originals and f'; originals {originals}'}"
    if report.worst_edits:
        yield "the worst edits, with the number of raters who found each fault"
    for row in report.worst_edits:
        against = ", ".join(f"not {name} {count}" for name, count in row.fault_counts.items())
        yield f"  {row.original} -> {row.edited}  [{'; '.join(row.edits)}{'; query-only' if row.is_query_only else ''}]"
        yield f"      {against.replace('not not ', '')}"
