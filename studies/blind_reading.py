"""How good perturbed questions are, read by people: blind sheets for two readers, and what their marks come to.

    python -m studies.blind_reading draw --count 200 --seed 1 --out sheets     sheets/pt-easy.csv, sheets/pt-hard.csv, key.json
    python -m studies.blind_reading score sheets sheets/ann sheets/ben         shares with intervals, kappa

A row shows two texts, A and B: a question and what perturbation made of it, in an order drawn by lot, so that a reader
does not know which is the original. Each reader gets a copy, fills four columns and does not see the other's marks:

    a_good, b_good   y if the text is grammatical English
    changed          y if A and B mean different things
    where            p: they differ in what they take for granted (a thing, its attribute, a relation between things);
                     a: merely in what is asked or offered for choice; f: in a frame word ("color", "side of the photo")

Runs on the screened candidates of the data set in use (`dvc repro screen`).
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from sklearn.metrics import cohen_kappa_score

from annotation.study.quality import wilson
from pipeline.core.errors import Problems, UserError, run
from pipeline.core.files import read_json, read_jsonl, write_json
from pipeline.core.paths import Folders
from pipeline.core.progress import done
from pipeline.core.randomness import generator
from pipeline.core.records import Question, Record, Screened

SUBSETS = ("pt-easy", "pt-hard")
MARKS = {"a_good": "yn", "b_good": "yn", "changed": "yn", "where": "paf"}
app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


class Pair(Record):
    """What the readers do not see. `edited` is "a" or "b": which of the two texts perturbation made."""

    candidate_id: str
    edited: str


def draw(
    screened: Sequence[Screened], originals: Mapping[str, str], subset: str, count: int, seed: int
) -> tuple[list[Pair], list[dict]]:
    """`count` pairs of a subset, no text twice, drawn by lot: the key and the rows of the sheet."""
    rows = sorted(
        (row.candidate for row in screened if row.candidate.subset == subset),
        key=lambda row: row.candidate_id,
    )
    rng = generator(seed, "reading", subset)
    seen: set[str] = set()
    key, sheet = [], []
    for index in rng.permutation(len(rows)):
        row = rows[index]
        if row.text in seen or len(key) == count:
            continue
        seen.add(row.text)
        edited = "ab"[int(rng.integers(2))]
        texts = (row.text, originals[row.question_id])
        key.append(Pair(candidate_id=row.candidate_id, edited=edited))
        sheet.append(
            {
                "row": len(key),
                "a": texts[edited == "b"],
                "b": texts[edited == "a"],
                **dict.fromkeys(MARKS, ""),
            }
        )
    return key, sheet


def shares(key: Sequence[Pair], readers: Sequence[Sequence[Mapping[str, str]]]) -> dict[str, dict]:
    """Per figure: each reader's share with its 95 % Wilson interval, and the kappa between the first two.

    Figures: `grammatical` (the edited text), `original grammatical`, `changed`, `presupposition` (where is p), `frame word`.
    """

    def figure(marks: Sequence[bool]) -> dict:
        right = sum(marks)
        return {
            "right": right,
            "of": len(marks),
            "share": right / len(marks),
            "interval": wilson(right, len(marks)),
        }

    asked = {
        "grammatical": lambda row, pair: row[f"{pair.edited}_good"] == "y",
        "original grammatical": lambda row, pair: row[f"{'b' if pair.edited == 'a' else 'a'}_good"] == "y",
        "changed": lambda row, pair: row["changed"] == "y",
        "presupposition": lambda row, pair: row["where"] == "p",
        "frame word": lambda row, pair: row["where"] == "f",
    }
    found = {}
    for name, ask in asked.items():
        marks = [[ask(row, pair) for row, pair in zip(reader, key, strict=True)] for reader in readers]
        found[name] = {
            "readers": [figure(row) for row in marks],
            "kappa": kappa(*marks[:2]) if len(marks) > 1 else None,
        }
    return found


def kappa(first: Sequence[bool], second: Sequence[bool]) -> float | None:
    """Cohen's kappa; None if both gave one and the same mark throughout, where it is undefined."""
    return None if len({*first, *second}) == 1 else float(cohen_kappa_score(first, second))


def read_sheet(path: Path, rows: int, problems: Problems) -> list[dict[str, str]]:
    """A reader's filled sheet; every missing or unknown mark is a problem."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            sheet = list(csv.DictReader(file))
    except FileNotFoundError:
        problems.add(str(path), "no such file")
        return []
    if len(sheet) != rows:
        problems.add(str(path), f"{len(sheet)} rows, the sheet that was drawn has {rows}")
    for row in sheet:
        for mark, letters in MARKS.items():
            value = (row.get(mark) or "").strip()
            if mark == "where" and row.get("changed") == "n":
                continue
            if value not in letters or len(value) != 1:
                problems.add(
                    f"{path}, row {row.get('row')}",
                    f"{mark} is {value!r}, wanted one of {', '.join(letters)}",
                )
    return sheet


@app.command("draw", epilog="Example: python -m studies.blind_reading draw --count 200 --seed 1 --out sheets")
def draw_sheets(
    out: Annotated[Path, typer.Option(help="A new folder for the sheets and their key.")],
    count: Annotated[int, typer.Option(min=1, help="Pairs of each subset.")] = 200,
    seed: Annotated[int, typer.Option(min=0, help="Of the pairs drawn and of what is A, what is B.")] = 1,
) -> None:
    """Draw blind sheets of the screened candidates of the data set in use."""

    def make() -> None:
        if (out / "key.json").exists():
            raise UserError(f"{out}: sheets are there already; name another folder")
        folders = Folders()
        screened = list(read_jsonl(folders.stage("screen") / "screened.jsonl", Screened))
        originals = {
            row.question_id: row.text
            for row in read_jsonl(folders.stage("ingest") / "questions.jsonl", Question)
        }
        keys = {}
        out.mkdir(parents=True, exist_ok=True)
        for subset in SUBSETS:
            keys[subset], sheet = draw(screened, originals, subset, count, seed)
            with (out / f"{subset}.csv").open("w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, ["row", "a", "b", *MARKS])
                writer.writeheader()
                writer.writerows(sheet)
        write_json(out / "key.json", keys)
        done("reading", f"{sum(map(len, keys.values()))} pairs to read", out)

    run(make)


@app.command("score", epilog="Example: python -m studies.blind_reading score sheets sheets/ann sheets/ben")
def score_sheets(
    sheets: Annotated[Path, typer.Argument(help="The folder that `draw` made.")],
    readers: Annotated[list[Path], typer.Argument(help="Folders with filled copies of the sheets.")],
) -> None:
    """Tell what the readers' marks come to: shares with intervals, kappa."""

    def tell() -> None:
        keys = read_json(sheets / "key.json", dict[str, list[Pair]])
        problems = Problems("readers' sheets")
        filled = {
            s: [read_sheet(reader / f"{s}.csv", len(keys[s]), problems) for reader in readers] for s in keys
        }
        problems.raise_if_any()
        found = {subset: shares(keys[subset], filled[subset]) for subset in keys}
        write_json(sheets / "reading.json", found)
        for subset, figures in found.items():
            for name, figure in figures.items():
                told = "; ".join(
                    f"{r['share']:.1%} ({r['interval'][0]:.1%} to {r['interval'][1]:.1%})"
                    for r in figure["readers"]
                )
                kappa_told = "undefined" if figure["kappa"] is None else f"{figure['kappa']:.2f}"
                print(f"{subset:8} {name:20} {told}; kappa {kappa_told}")

    run(tell)


if __name__ == "__main__":
    app()
