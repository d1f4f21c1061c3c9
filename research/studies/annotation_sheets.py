"""Sample sheets of edited questions for human raters, and read the filled-in sheets.

`research/studies/edit_quality.py` evaluates them. The sheets do not show which questions are edited.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.core.atomic_files import write_text
from pipeline.core.errors import Problems, UserError, format_count
from pipeline.core.json_files import copy_file, write_json
from pipeline.core.output_paths import Output
from pipeline.core.paths import DatasetFolders
from pipeline.core.progress import report_written
from pipeline.core.randomness import make_generator
from pipeline.core.records import Question, Record, ScreenedCandidate

SUBSETS = ("pt-easy", "pt-hard")
BLANK_SHEETS_DIR = "sheets_to_fill"
YES_NO_MARKS = ("y", "n")
MARKS_BY_SHEET = {
    "texts": {"grammatical": YES_NO_MARKS, "plausible": YES_NO_MARKS},
    "pairs": {"changed": YES_NO_MARKS, "presupposed": ("y", "l", "n"), "answerable": YES_NO_MARKS},
}


class SheetKeyRow(Record):
    """Metadata of an edited question that is hidden from the raters. All other rows of the texts are originals.

    Attributes:
        text_row, pair_row: Its rows in both sheets, from 1.
        edits: The edits as text.
        is_query_only: The edits change only what the question asks for.
    """

    candidate_id: str
    text_row: int
    pair_row: int
    edits: tuple[str, ...]
    is_query_only: bool


def write_sheets(out: Path, count: int, seed: int) -> None:
    """Write sheets, the guide for raters and the key into a new folder.

    For each subset, `count` edited questions and as many originals are sampled. No text occurs twice, and no
    question occurs both edited and original.

    Raises:
        UserError: The folder has sheets already.
    """
    if (out / "key.json").exists():
        raise UserError(f"{out}: the folder has sheets already. Name another folder with --out.")
    folders = DatasetFolders()
    folders.check_outputs(Output("--out", out, "folder"))
    originals = {question.question_id: question.text for question in folders.read_records(Question)}
    candidates = sorted(
        (row.candidate for row in folders.read_records(ScreenedCandidate)), key=lambda row: row.candidate_id
    )
    keys: dict[str, list[SheetKeyRow]] = {}
    for subset in SUBSETS:
        rng = make_generator(seed, "reading", subset)
        rows = [(row, row.text, originals[row.question_id]) for row in candidates if row.subset == subset]
        pairs = pd.DataFrame(rows, columns=["candidate", "edited", "original"])
        pairs = pairs.iloc[rng.permutation(len(pairs))]
        drawn = pairs.drop_duplicates("edited").head(count)
        others = pairs["original"].drop_duplicates()
        others = others[~others.isin([*drawn["original"], *drawn["edited"]])].head(count)
        texts = pd.concat([drawn["edited"], others])
        text_order, pair_order = rng.permutation(len(texts)), rng.permutation(len(drawn))
        folder = out / BLANK_SHEETS_DIR
        _write_sheet(
            folder / f"{subset}-texts.csv", texts.iloc[text_order].to_frame("text"), MARKS_BY_SHEET["texts"]
        )
        _write_sheet(
            folder / f"{subset}-pairs.csv",
            drawn.iloc[pair_order][["original", "edited"]],
            MARKS_BY_SHEET["pairs"],
        )
        places = zip(drawn["candidate"], np.argsort(text_order), np.argsort(pair_order), strict=False)
        keys[subset] = [
            SheetKeyRow(
                candidate_id=candidate.candidate_id,
                text_row=int(text_row) + 1,
                pair_row=int(pair_row) + 1,
                edits=tuple(f"{edit.kind}: {edit.old} > {edit.new}" for edit in candidate.edits),
                is_query_only=candidate.query_only,
            )
            for candidate, text_row, pair_row in places
        ]
    copy_file(Path(__file__).with_name("reading_guide.md"), out / BLANK_SHEETS_DIR / "guide.md")
    write_json(out / "key.json", keys)
    report_written(
        "edit-quality",
        f"{format_count(sum(map(len, keys.values())), 'edited question')} to read",
        out / BLANK_SHEETS_DIR,
    )


def _write_sheet(path: Path, sheet: pd.DataFrame, marks: Iterable[str]) -> None:
    numbered = {"row": range(1, len(sheet) + 1)} | {name: list(sheet[name]) for name in sheet}
    write_text(path, pd.DataFrame(numbered | dict.fromkeys(marks, "")).to_csv(index=False))


def read_sheet(path: Path, blank_sheets: Path, problems: Problems) -> pd.DataFrame:
    """Read a filled sheet, indexed by row number from 1.

    Adds a problem for every missing or unknown mark and for every text that differs from the blank sheet, for
    example because the sheet was sorted.
    """
    blank = pd.read_csv(blank_sheets / path.name, dtype=str, keep_default_na=False)
    try:
        sheet = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    except (FileNotFoundError, ValueError) as error:
        problems.add(str(path), "no such file" if isinstance(error, FileNotFoundError) else str(error))
        return blank
    if len(sheet) != len(blank):
        problems.add(str(path), f"{format_count(len(sheet), 'row')}, but the blank sheet has {len(blank)}")
        return blank
    sheet = sheet.reindex(columns=blank.columns, fill_value="").apply(lambda column: column.str.strip())
    sheet.index += 1
    marks = MARKS_BY_SHEET["texts" if "text" in blank else "pairs"]
    given = [name for name in blank if name not in marks]
    for row in sheet.index[(sheet[given].to_numpy() != blank[given].to_numpy()).any(axis=1)]:
        problems.add(
            f"{path}, row {row}", "differs from the blank sheet. Keep the rows, their order and their texts"
        )
    for mark, letters in marks.items():
        sheet[mark] = sheet[mark].str.lower()
        for row, value in sheet.loc[~sheet[mark].isin(letters), mark].items():
            problems.add(f"{path}, row {row}", f"{mark} is {value!r}. Use one of {', '.join(letters)}")
    return sheet
