"""`rgqa study reading`: how good perturbed questions are, read by people: blind sheets for two readers, and what their
marks come to.

    rgqa study reading draw --count 200 --seed 1 --out sheets     sheets/pt-easy.csv, sheets/pt-hard.csv, key.json
    rgqa study reading score sheets sheets/ann sheets/ben         shares with intervals, kappa

A row shows two texts, A and B: a question and what perturbation made of it, in an order drawn by lot, so that a reader
does not know which is the original. Each reader gets a copy, fills four columns and does not see the other's marks:

    a_good, b_good   y if the text is grammatical English
    changed          y if A and B mean different things
    where            p: they differ in what they take for granted (a thing, its attribute, a relation between things);
                     a: merely in what is asked or offered for choice; f: in a frame word ("color", "side of the photo")

Runs on the screened candidates of the data set in use (`dvc repro screen`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import cohen_kappa_score

from annotation.study.weighing import wilson
from pipeline.core.errors import Problems, UserError
from pipeline.core.files import read_json, write_json, write_text
from pipeline.core.paths import Folders
from pipeline.core.progress import done
from pipeline.core.randomness import generator
from pipeline.core.records import Question, Record, Screened

SUBSETS = ("pt-easy", "pt-hard")
MARKS = {"a_good": "yn", "b_good": "yn", "changed": "yn", "where": "paf"}


class Pair(Record):
    """What the readers do not see. `edited` is "a" or "b": which of the two texts perturbation made."""

    candidate_id: str
    edited: str


class MarkShare(Record):
    """How often a reader made a mark, with the 95 % Wilson interval of its share."""

    right: int
    of: int
    share: float
    interval: tuple[float, float]


class MarkFigure(Record):
    """One question about the pairs: each reader's share, and Cohen's kappa between the first two; null for one reader,
    and where both gave one and the same mark throughout, so that it is undefined."""

    readers: list[MarkShare]
    kappa: float | None


def draw_sheets(out: Path, count: int, seed: int) -> None:
    """Write a sheet of `count` pairs of either subset, drawn by lot, no text twice, and their key, into a new folder.

    Raises:
        UserError: there are sheets in the folder.
    """
    if (out / "key.json").exists():
        raise UserError(f"{out}: sheets are there already; name another folder")
    folders = Folders()
    screened = [row.candidate for row in folders.rows(Screened)]
    originals = {question.question_id: question.text for question in folders.rows(Question)}
    keys: dict[str, list[Pair]] = {}
    for subset in SUBSETS:
        rows = sorted(
            (row.candidate_id, row.text, originals[row.question_id])
            for row in screened
            if row.subset == subset
        )
        rng = generator(seed, "reading", subset)
        pairs = pd.DataFrame(rows, columns=["candidate_id", "edited", "original"])
        drawn = pairs.iloc[rng.permutation(len(pairs))].drop_duplicates("edited").head(count)
        a_is_edited = rng.integers(2, size=len(drawn)) == 0
        keys[subset] = [
            Pair(candidate_id=name, edited="a" if is_a else "b")
            for name, is_a in zip(drawn["candidate_id"], a_is_edited, strict=True)
        ]
        a = drawn["edited"].where(a_is_edited, drawn["original"])
        b = drawn["original"].where(a_is_edited, drawn["edited"])
        sheet = pd.DataFrame({"row": range(1, len(drawn) + 1), "a": a, "b": b} | dict.fromkeys(MARKS, ""))
        write_text(out / f"{subset}.csv", sheet.to_csv(index=False))
    write_json(out / "key.json", keys)
    done("reading", f"{sum(map(len, keys.values()))} pairs to read", out)


def score_sheets(sheets: Path, readers: Sequence[Path]) -> str:
    """What the readers' marks come to, as lines for people; all figures go to reading.json beside the sheets.

    Raises:
        UserError: lists every sheet and every mark that is missing or unknown.
    """
    keys = read_json(sheets / "key.json", dict[str, list[Pair]])
    problems = Problems("readers' sheets")
    filled = {
        subset: [read_sheet(reader / f"{subset}.csv", len(key), problems) for reader in readers]
        for subset, key in keys.items()
    }
    problems.raise_if_any()
    figures = {subset: shares(key, filled[subset]) for subset, key in keys.items()}
    write_json(sheets / "reading.json", figures)
    lines = []
    for subset, by_name in figures.items():
        for name, figure in by_name.items():
            of_readers = (
                f"{m.share:.1%} ({m.interval[0]:.1%} to {m.interval[1]:.1%})" for m in figure.readers
            )
            kappa = "undefined" if figure.kappa is None else f"{figure.kappa:.2f}"
            lines.append(f"{subset:8} {name:20} {'; '.join(of_readers)}; kappa {kappa}")
    return "\n".join(lines)


def read_sheet(path: Path, rows: int, problems: Problems) -> pd.DataFrame:
    """A reader's filled sheet; every missing or unknown mark is a problem."""
    try:
        sheet = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (FileNotFoundError, ValueError) as error:
        problems.add(str(path), "no such file" if isinstance(error, FileNotFoundError) else str(error))
        return pd.DataFrame()
    if len(sheet) != rows:
        problems.add(str(path), f"{len(sheet)} rows, the sheet that was drawn has {rows}")
    sheet = sheet.reindex(columns=["row", *MARKS], fill_value="").apply(lambda column: column.str.strip())
    for mark, letters in MARKS.items():
        wrong = ~sheet[mark].isin(list(letters))
        if mark == "where":
            wrong &= sheet["changed"] != "n"
        for row, value in sheet.loc[wrong, ["row", mark]].itertuples(index=False):
            problems.add(f"{path}, row {row}", f"{mark} is {value!r}, wanted one of {', '.join(letters)}")
    return sheet


def shares(key: Sequence[Pair], readers: Sequence[pd.DataFrame]) -> dict[str, MarkFigure]:
    """Per question about the pairs what the readers said: whether the edited text and the original are grammatical,
    whether the meaning changed, and whether in what is taken for granted (`presupposition`) or in a frame word."""
    a_is_edited = np.array([pair.edited == "a" for pair in key])
    said = [
        {
            "grammatical": sheet["a_good"].where(a_is_edited, sheet["b_good"]) == "y",
            "original grammatical": sheet["b_good"].where(a_is_edited, sheet["a_good"]) == "y",
            "changed": sheet["changed"] == "y",
            "presupposition": sheet["where"] == "p",
            "frame word": sheet["where"] == "f",
        }
        for sheet in readers
    ]
    return {name: figure([marks[name] for marks in said]) for name in said[0]}


def figure(marks: Sequence[pd.Series]) -> MarkFigure:
    """How often each reader made a mark, and how far the first two agree."""
    shares = []
    for given in marks:
        right, of = int(given.sum()), len(given)
        shares.append(MarkShare(right=right, of=of, share=float(given.mean()), interval=wilson(right, of)))
    agree = len(marks) > 1 and pd.concat(marks[:2]).nunique() > 1
    return MarkFigure(readers=shares, kappa=float(cohen_kappa_score(*marks[:2])) if agree else None)
