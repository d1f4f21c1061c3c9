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

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import cohen_kappa_score

from annotation.study.accuracy import wilson
from pipeline.core.errors import Problems, UserError
from pipeline.core.files import read_json, read_jsonl, write_json, write_text
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
    """Write a sheet of `count` pairs of either subset, and their key, into a new folder.

    Raises:
        UserError: there are sheets in the folder.
    """
    if (out / "key.json").exists():
        raise UserError(f"{out}: sheets are there already; name another folder")
    folders = Folders()
    screened = list(read_jsonl(folders.stage("screen") / "screened.jsonl", Screened))
    questions = read_jsonl(folders.stage("ingest") / "questions.jsonl", Question)
    originals = {question.question_id: question.text for question in questions}
    keys = {}
    for subset in SUBSETS:
        keys[subset], sheet = draw(screened, originals, subset, count, seed)
        write_text(out / f"{subset}.csv", sheet.to_csv(index=False))
    write_json(out / "key.json", keys)
    done("reading", f"{sum(map(len, keys.values()))} pairs to read", out)


def draw(
    screened: Sequence[Screened], originals: Mapping[str, str], subset: str, count: int, seed: int
) -> tuple[list[Pair], pd.DataFrame]:
    """`count` pairs of a subset, no text twice, drawn by lot: the key and the sheet."""
    candidates = sorted(
        (row.candidate for row in screened if row.candidate.subset == subset),
        key=lambda candidate: candidate.candidate_id,
    )
    rng = generator(seed, "reading", subset)
    seen: set[str] = set()
    key, texts = [], []
    for index in rng.permutation(len(candidates)):
        candidate = candidates[index]
        if candidate.text in seen or len(key) == count:
            continue
        seen.add(candidate.text)
        both = candidate.text, originals[candidate.question_id]
        edited = "ab"[int(rng.integers(2))]
        key.append(Pair(candidate_id=candidate.candidate_id, edited=edited))
        texts.append(both if edited == "a" else both[::-1])
    sheet = pd.DataFrame(texts, columns=["a", "b"]).assign(**dict.fromkeys(MARKS, ""))
    sheet.insert(0, "row", range(1, len(sheet) + 1))
    return key, sheet


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
    return "\n".join(
        f"{subset:8} {name:20} "
        + "; ".join(
            f"{mark.share:.1%} ({mark.interval[0]:.1%} to {mark.interval[1]:.1%})" for mark in figure.readers
        )
        + f"; kappa {'undefined' if figure.kappa is None else f'{figure.kappa:.2f}'}"
        for subset, by_name in figures.items()
        for name, figure in by_name.items()
    )


def kappa(first: Sequence[bool], second: Sequence[bool]) -> float | None:
    """Cohen's kappa; None if both gave one and the same mark throughout, where it is undefined."""
    return None if len({*first, *second}) == 1 else float(cohen_kappa_score(first, second))


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
    marks = {
        "grammatical": [np.where(a_is_edited, r["a_good"], r["b_good"]) == "y" for r in readers],
        "original grammatical": [np.where(a_is_edited, r["b_good"], r["a_good"]) == "y" for r in readers],
        "changed": [(r["changed"] == "y").to_numpy() for r in readers],
        "presupposition": [(r["where"] == "p").to_numpy() for r in readers],
        "frame word": [(r["where"] == "f").to_numpy() for r in readers],
    }
    return {
        name: MarkFigure(
            readers=[
                MarkShare(
                    right=int(given.sum()),
                    of=len(given),
                    share=float(given.mean()),
                    interval=wilson(int(given.sum()), len(given)),
                )
                for given in by_reader
            ],
            kappa=kappa(*by_reader[:2]) if len(by_reader) > 1 else None,
        )
        for name, by_reader in marks.items()
    }
