"""What people hand in as predictions: what is read, and of what is not, the one message. Each row: the file's name, its bytes
(or what makes them), and a piece of what must be said; or READ, where the scores must be those of the plain file."""

import gzip
import io
import json
import os
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from pipeline.scoring.cli import main
from tests.scoring.conftest import predictions, write

READ = ""
ROWS = predictions()
FIRST = ROWS[0]


def table(rows=ROWS, sign=",", head=("questionId", "prediction", "confidence")) -> str:
    lines = [head, *([str(value) for value in row.values()] for row in rows)]
    return "".join(sign.join(line) + "\n" for line in lines)


def workbook(frame: pd.DataFrame, **options) -> bytes:
    file = io.BytesIO()
    frame.to_excel(file, index=False, **options)
    return file.getvalue()


def parquet(frame: pd.DataFrame) -> bytes:
    file = io.BytesIO()
    frame.to_parquet(file)
    return file.getvalue()


def empty_rows_between() -> bytes:
    frame = pd.DataFrame(
        [ROWS[0], dict.fromkeys(FIRST), *ROWS[1:], dict.fromkeys(FIRST), dict.fromkeys(FIRST)]
    )
    return workbook(frame.assign(**{"": None}))


def changed(**values) -> str:
    return json.dumps([FIRST | values, *ROWS[1:]])


FRAME = pd.DataFrame(ROWS)
LINES = "".join(json.dumps(row) + "\n" for row in ROWS)
PLAIN = json.dumps(ROWS)
TWICE = PLAIN.replace('"confidence": 0.9', '"confidence": 0.9, "confidence": 0.1')
CASES: list[tuple[str, str, str | bytes | Callable[[], bytes], str]] = [
    # tables of text
    ("a decimal comma among commas", "m.csv", table().replace("0.9", "0,9"), "m.csv: 1 row has more cells than the header"),
    ("all decimal commas", "m.csv", table().replace("0.", "0,"), "m.csv: 6 rows have more cells than the header"),
    ("its rows are named", "m.csv", table().replace("0.9", "0,9"), "row 2. Write decimals with a point"),
    ("a decimal comma among semicolons", "m.csv", table(sign=";").replace("0.", "0,"), "'0,9', expected a number with a decimal point"),
    ("semicolons", "m.csv", table(sign=";"), READ),
    ("tabs in a .csv", "m.csv", table(sign="\t"), READ),
    ("commas in a .tsv", "m.tsv", table(), READ),
    ("capitals in the header", "m.csv", table(head=("QUESTIONID", "Prediction", "CONFIDENCE")), READ),
    ("blanks in the header", "m.csv", table(head=(" Question ID", "prediction ", "Confidence")), READ),
    ("capitals in the ending", "m.CSV", table(), READ),
    ("a column twice", "m.csv", table(head=("questionId", "prediction", "prediction")), "the header has prediction more than once"),
    ("a column twice, by capitals", "m.csv", table(head=("id", "ID", "prediction")), "the header has id more than once"),
    ("Excel's name for its separator", "m.csv", "sep=;\n" + table(sign=";"), READ),
    ("Excel's name for a separator of its own", "m.csv", "\ufeffsep=|\r\n" + table(sign="|"), READ),
    ("an underscore in a number", "m.csv", table().replace("0.9", "1_0"), "row 1 (a1): confidence is '1_0', expected a number"),
    ("underscores in all numbers", "m.tsv", table(sign="\t").replace("0.", "1_0"), "confidence is '1_09', expected a number"),
    ("an underscore in a label", "m.csv", table(head=("id", "prediction", "p_answerable")).replace("0.9", "0_1"), "a1: p_answerable is '0_1', expected a number from 0 to 1"),
    ("an underscore in VLMEvalKit's table", "m.tsv", "index\tquestion\tprediction\tconfidence\na1\t?\tred\t1_0\n", "row 1 (a1): confidence is '1_0', expected a number"),
    ("Excel's empty rows", "m.csv", table() + ",,\n,,\n", READ),
    ("Excel's empty columns", "m.csv", table().replace("\n", ",,\n"), READ),
    ("a mark of the byte order", "m.csv", "\ufeff" + table(), READ),
    ("Excel's Unicode text", "m.csv", table(sign="\t").encode("utf-16"), READ),
    ("ends of lines as Windows has them", "m.csv", table().replace("\n", "\r\n"), READ),
    ("Latin-1", "m.csv", table().replace("blue", "bleuté").encode("latin-1"), "not UTF-8 text"),
    ("a quote that does not end", "m.csv", table().replace("blue", '"blue'), "not a table"),
    ("a header alone", "m.csv", "questionId,prediction,confidence\n", "no rows"),
    ("an empty file", "m.csv", "", "no rows"),
    ("no header", "m.csv", table().split("\n", 1)[1], "expected an id"),
    ("a cell missing", "m.csv", table().replace("a1,red,0.9", "a1,red"), "1 row has no `confidence`, but other rows have one (row 1)"),
    ("only the id", "m.csv", table().replace("a1,red,0.9", "a1"), "1: prediction is missing (null, or an empty cell)"),
    ("a word for a number", "m.csv", table().replace("0.9", "high"), "confidence is 'high', expected a number"),
    ("a zero byte", "m.csv", table().replace("blue", "bl\0ue"), READ),
    ("a line separator in a cell", "m.csv", table().replace("blue", "blue\u2028ish"), READ),
    # JSON
    ("a line separator in a text", "m.jsonl", LINES.replace("blue", "blue\u2028ish"), READ),
    ("a mark of the byte order in JSON lines", "m.jsonl", "\ufeff" + LINES, READ),
    ("a mark of the byte order in JSON", "m.json", "\ufeff" + PLAIN, READ),
    ("UTF-16", "m.json", PLAIN.encode("utf-16"), READ),
    ("a key twice", "m.json", TWICE, "an object has the key confidence twice; keep one"),
    ("a key twice, with blanks", "m.json", TWICE.replace('"confidence":', '"confidence" :'), "the key confidence twice"),
    ("a key twice in a line", "m.jsonl", "\n".join([LINES.strip(), json.dumps(FIRST)[:-1] + ', "questionId": "x"}']), "line 7: an object has the key questionId twice"),
    ("a key twice under predictions", "m.json", f'{{"predictions": {TWICE}}}', "the key confidence twice"),
    ("a key twice in UTF-16", "m.json", TWICE.encode("utf-16"), "the key confidence twice"),
    ("what looks like a key in a text", "m.json", PLAIN.replace("blue", '\\"confidence\\":'), READ),
    ("a text of many colons", "m.jsonl", LINES.replace("blue", '\\"a\\": \\"b\\" :'), READ),
    ("nested deeply", "m.json", "[" * 100_000, "nested too deep"),
    ("nested deeply in a row", "m.json", changed(more=0).replace('"more": 0', '"more": ' + "[" * 5000 + "]" * 5000), "nested too deep"),
    ("a line nested deeply", "m.jsonl", LINES + '{"a":' * 5000, "line 7: not valid JSON (nested too deep)"),
    ("truncated", "m.json", PLAIN[:-20], "The file may be truncated"),
    ("a line truncated", "m.jsonl", LINES[:-20], "line 6: not valid JSON"),
    ("empty", "m.json", "", "not valid JSON"),
    ("a number", "m.json", "3", "expected a list of objects"),
    ("a list of numbers", "m.json", "[1, 2]", "expected a list of objects"),
    ("a list of lists", "m.json", "[[]]", "expected a list of objects"),
    ("an empty list", "m.json", "[]", "no rows"),
    ("no UTF-8", "m.json", PLAIN.replace("blue", "bleuté").encode("latin-1"), "not UTF-8 text"),
    ("a numeric answer", "m.json", changed(prediction=2), "row 1 (a1): the answer is 2, expected a string"),
    ("no answer", "m.json", changed(prediction=None), "1 of 6 items has no prediction; 1: prediction is missing (null, or an empty cell)"),
    ("a list for an answer", "m.json", changed(prediction=["red"]), "the answer is ['red'], expected a string"),
    ("true for a confidence", "m.json", changed(confidence=True), "confidence is True, expected a number"),
    ("a text for a confidence", "m.json", changed(confidence="0.9"), "confidence is '0.9', expected a number"),
    ("texts for all confidences", "m.json", json.dumps([row | {"confidence": str(row["confidence"])} for row in ROWS]), "confidence is '0.9', expected a number"),
    ("NaN", "m.json", changed(confidence=float("nan")), "confidence is nan, expected a finite number"),
    ("infinity", "m.json", changed(confidence=1).replace('"confidence": 1,', '"confidence": 1e999,').replace('"confidence": 1}', '"confidence": 1e999}', 1), "confidence is inf, expected a finite number"),
    ("a number of 400 digits", "m.json", changed(confidence=10**400), "expected a number that fits into a float"),
    ("a number of 5,000 digits", "m.json", PLAIN.replace("0.9", "1" * 5000), "not valid JSON"),
    ("an id twice", "m.json", json.dumps([*ROWS, FIRST]), "duplicate id 'a1'"),
    ("an id that is unknown", "m.json", changed(questionId="zzz"), "zzz"),
    ("an object for an id", "m.json", changed(questionId={"a": 1}), "{'a': 1}"),
    ("half a character", "m.json", PLAIN.replace("blue", "\\ud800"), READ),
    ("a name that steers a terminal", "m.json", changed(questionId="\x1b[2J"), "?[2J"),
    # packed ones
    ("packed", "m.json.gz", gzip.compress(PLAIN.encode()), READ),
    ("a packed table", "m.csv.gz", gzip.compress(table().encode()), READ),
    ("packed and truncated", "m.json.gz", gzip.compress(PLAIN.encode())[:-9], "not a gzip file, or truncated"),
    ("a workbook", "m.xlsx", lambda: workbook(FRAME), READ),
    ("a workbook with empty rows and columns", "m.xlsx", empty_rows_between, READ),
    ("a workbook with capitals", "m.xlsx", lambda: workbook(FRAME.rename(columns=str.upper)), READ),
    ("a workbook with a column twice", "m.xlsx", lambda: workbook(FRAME.rename(columns={"prediction": "Confidence"})), "the header has confidence more than once"),
    ("a column without a name, as pandas writes its index", "m.csv", FRAME.to_csv(), READ),
    ("a workbook with a column without a name", "m.xlsx", lambda: workbook(FRAME.assign(**{"": "x"}), header=["questionId", "prediction", "confidence", None]), READ),
    ("no workbook", "m.xlsx", b"PK\x03\x04junk", "not a .xlsx file"),
    ("an old workbook", "m.xls", b"\xd0\xcf\x11\xe0", ".xls is not supported"),
    ("Parquet", "m.parquet", lambda: parquet(FRAME), READ),
    ("Parquet with capitals", "m.parquet", lambda: parquet(FRAME.rename(columns=str.upper)), READ),
    ("junk for Parquet", "m.parquet", b"PAR1" + bytes(range(256)) + b"\x10\0\0\0PAR1", "not a Parquet file"),
    ("a page for Parquet", "m.parquet", b"<html>404</html>", "not a Parquet file"),
    ("Parquet truncated", "m.parquet", lambda: parquet(FRAME)[:-30], "not a Parquet file"),
    ("Parquet with numbers for answers", "m.parquet", lambda: parquet(FRAME.assign(prediction=range(6))), "the answer is 0, expected a string"),
    ("a pickle", "m.pkl", b"\x80\x04N.", "opening a pickle runs the code in it"),
    ("no log of inspect_ai", "m.eval", b"PK\x05\x06" + bytes(18), "it is not an inspect_ai log"),
]  # fmt: skip


def told(capsys: pytest.CaptureFixture[str], release: Path, path: Path) -> tuple[int, str, str]:
    """Exit code, what was printed, what was said; whatever else is raised is a traceback."""
    try:
        main([str(release), str(path), "--bootstrap", "10"])
        code = 0
    except SystemExit as end:
        code = int(end.code or 0)
    out, error = capsys.readouterr()
    return code, out, error


@pytest.mark.parametrize(
    ("name", "data", "said"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_it_is_read_as_intended_or_reported_in_one_message(release, tmp_path, capsys, name, data, said):
    plain = told(capsys, release, write(tmp_path / "plain.json", ROWS))
    data = data() if callable(data) else data
    (tmp_path / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    code, out, error = told(capsys, release, tmp_path / name)
    if said:
        assert (code, out) == (1, "")
        assert error.startswith("error: ") and said in error and "Traceback" not in error
    else:
        assert code == 0, error
        # but for the file's name and digest, the page of the plain file
        assert [line for line in out.splitlines() if "plain" not in line] == [
            line for line in plain[1].splitlines() if "plain" not in line
        ] or numbers_of(out) == numbers_of(plain[1])


def numbers_of(page: str) -> list[str]:
    return [line for line in page.splitlines() if "%" in line]


@pytest.mark.parametrize("what", ["folder", "missing", "link", "pipe", "device"])
def test_what_is_not_a_file_is_reported(release, tmp_path, capsys, what):
    path = tmp_path / "m.json"
    if what == "folder":
        path.mkdir()
    elif what == "link":
        path.symlink_to(tmp_path / "nothing")
    elif what == "pipe":
        os.mkfifo(path)
    elif what == "device":
        path.symlink_to("/dev/zero")
    code, _, error = told(capsys, release, path)
    assert code == 1 and error.startswith(f"error: {path}: ")
