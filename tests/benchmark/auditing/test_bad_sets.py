"""Files that users pass to `rgqa audit`: they are read, or refused with one message.

Each case has a name, the name of the file, its bytes, and a part of the message, or READ if the result must be the same set as in the
plain file.
"""

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from pipeline.benchmark.auditing.labelled_set import ColumnOptions, load_labelled_set
from pipeline.public_sets.row_sources import open_rows
from tests.bad_inputs import error_message

READ = ""
HEAD = ("question", "answer", "image")
ROWS = [
    dict(zip(HEAD, (f"Is there a {what}?", said, f"p{i}"), strict=True))
    for i, (what, said) in enumerate([("cat", "yes"), ("dog", "no"), ("cup", "yes"), ("tree", "no")])
]


def table(sign: str = ",", head: tuple[str, ...] = HEAD, end: str = "\n") -> str:
    return "".join(sign.join(line) + end for line in [head, *(tuple(row.values()) for row in ROWS)])


def changed(**values: object) -> str:
    return json.dumps([ROWS[0] | values, *ROWS[1:]])


def workbook() -> bytes:
    pd.DataFrame(ROWS).to_excel(file := io.BytesIO(), index=False)
    return file.getvalue()


def parquet() -> bytes:
    pd.DataFrame(ROWS).to_parquet(file := io.BytesIO())
    return file.getvalue()


PLAIN = json.dumps(ROWS)
LINES = "".join(json.dumps(row) + "\n" for row in ROWS)
CASES: list[tuple[str, str, str | bytes | Callable[[], bytes], str]] = [
    # tables
    ("commas", "s.csv", table(), READ),
    ("semicolons", "s.csv", table(";"), READ),
    ("tabs in a .csv", "s.csv", table("\t"), READ),
    ("commas in a .tsv", "s.tsv", table(), READ),
    ("capitals in the ending", "s.CSV", table(), READ),
    ("ends of lines as Windows has them", "s.csv", table(end="\r\n"), READ),
    ("a byte order mark", "s.csv", "\ufeff" + table(), READ),
    ("Excel's empty rows", "s.csv", table() + ",,\n,,\n", READ),
    ("blanks in the header", "s.csv", table(head=(" question", "answer ", "image")), READ),
    ("a comma too many", "s.csv", table().replace("yes,", "yes,,", 1), "1 row has more cells than the header"),
    ("a comma too many in every row", "s.csv", table(end=",\n").replace(",\n", "\n", 1), READ),
    ("a cell missing", "s.csv", table().replace("yes,p0", "yes"), "row 1: the image is missing"),
    ("a column twice", "s.csv", table(head=("question", "answer", "answer")), "the header has answer more than once"),
    ("a header in capitals", "s.csv", table(head=("QUESTION", "Answer", "image")), READ),
    ("no header", "s.csv", table().split("\n", 1)[1], "question: no such column; the columns are Is there a cat?, yes, p0"),
    ("a header alone", "s.csv", ",".join(HEAD) + "\n", "no rows"),
    ("an empty table", "s.csv", "", "the file is empty"),
    ("Latin-1", "s.csv", table().replace("cat", "ch\xe2t").encode("latin-1"), "not UTF-8"),
    ("a quote that does not end", "s.csv", table().replace("Is there a cup", '"Is there a cup'), "not a table (row 5: "),
    # JSON
    ("a list", "s.json", PLAIN, READ),
    ("lines", "s.jsonl", LINES, READ),
    ("lines in a .json", "s.json", LINES, READ),
    ("pretty-printed objects", "s.json", "\n".join(json.dumps(row, indent=2) for row in ROWS), READ),
    ("a pretty-printed list beside another", "s.json", json.dumps({"licenses": ["CC0"], "questions": ROWS}, indent=2), READ),
    ("a compact list beside another", "s.json", json.dumps({"licenses": ["CC0"], "questions": ROWS}), READ),
    ("Excel's line of its separator", "s.csv", "sep=;\n" + table(";"), READ),
    ("lines with empty ones between", "s.jsonl", "\n" + LINES.replace("\n", "\n\n"), READ),
    ("a byte order mark in JSON", "s.json", "\ufeff" + PLAIN, READ),
    ("a list under a key", "s.json", json.dumps({"version": "1", "questions": ROWS}), READ),
    ("a key twice", "s.json", PLAIN.replace('"answer"', '"answer": "no", "answer"', 1), "an object has the key answer twice"),
    ("a key twice in a line", "s.jsonl", LINES.replace('"answer"', '"answer": "no", "answer"', 1), "the key answer twice"),
    ("truncated", "s.json", PLAIN[:-20], "Input data was truncated"),
    ("a truncated line", "s.jsonl", LINES[:-20], "JSON Lines: Input data was truncated"),
    ("an empty file", "s.json", "", "no rows"),
    ("an empty list", "s.json", "[]", "no rows"),
    ("a number", "s.json", "3", "expected a list of JSON objects"),
    ("a list of lists", "s.json", "[[1]]", "expected a list of JSON objects"),
    ("nested deeply", "s.json", "[" * 100_000, "expected a list of JSON objects"),
    ("UTF-16", "s.json", PLAIN.encode("utf-16"), READ),
    ("NaN for a label", "s.json", changed(answer=float("nan")), "NaN is not valid JSON: write null"),
    ("an infinity in a line", "s.jsonl", LINES.replace('"yes"', "-Infinity"), "(Infinity is not valid JSON: write null)"),
    ("NaN in a text alone", "s.json", PLAIN.replace("cat", "NaN")[:-9], "truncated\n"),
    ("no label", "s.json", changed(answer=None), "row 1: the label is missing"),
    ("a third label", "s.json", changed(answer="perhaps"), "--positive-label VALUE"),
    ("one label alone", "s.json", PLAIN.replace('"no"', '"yes"'), "two labels are needed"),
    ("a number for a text", "s.json", changed(question=5), "row 1: the text is missing or has no words"),
    ("a text without words", "s.json", changed(question="\U0001f600 ?!"), "row 1: the text is missing or has no words"),
    ("one image alone", "s.json", PLAIN.replace("p1", "p0").replace("p2", "p0").replace("p3", "p0"), "all rows have the same image"),
    ("a page", "s.json", "<html>404</html>", "expected a list of JSON objects"),
    # binary files
    ("Parquet", "s.parquet", parquet, READ),
    ("junk for Parquet", "s.parquet", b"PAR1" + bytes(range(256)) + b"\x10\0\0\0PAR1", "not a Parquet file, or truncated"),
    ("truncated Parquet", "s.parquet", lambda: parquet()[:-30], "not a Parquet file, or truncated"),
    ("a page for Parquet", "s.parquet", "<html>404</html>", "not a Parquet file, or truncated"),
    ("a workbook", "s.xlsx", workbook, READ),
    ("compressed", "s.json.gz", gzip.compress(PLAIN.encode()), "the file is an archive or an Excel workbook. Unpack it"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "data", "said"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_a_set_is_read_or_refused_in_one_message(tmp_path: Path, capsys, name, data, said):
    data = data() if callable(data) else data
    (tmp_path / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    found = []
    message = error_message(
        capsys,
        lambda: found.append(load_labelled_set(open_rows(str(tmp_path / name)), name, ColumnOptions(*HEAD))),
    )
    assert said in message and bool(message) == bool(said)
    if not said:
        assert found[0].texts == [row["question"] for row in ROWS]
        assert found[0].labels.tolist() == [1, 0, 1, 0] and found[0].images == ["p0", "p1", "p2", "p3"]


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ((True, False), "answer has the values true (2), false (2); to use other values as labels, give --text-column NAME --label-column NAME --positive-label"),
        ((0, 1, 2), "answer has the values 0 (2), 1 (1), 2 (1); to use"),
        ((["yes"], ["no"]), 'answer has the values ["yes"] (2), ["no"] (2); to use'),
    ],
)  # fmt: skip
@pytest.mark.parametrize("more", [{}, {"image_id": 1, "answer_type": "yes/no"}, {"image_source": 1, "category": "x", "question_id": 1}])  # fmt: skip
def test_unknown_label_values_are_listed(tmp_path: Path, capsys, labels, more, said):
    name = "multiple_choice_answer" if "answer_type" in more else "answer"
    rows = [
        {"question": f"Is it {i}?", "image": f"p{i}", name: labels[i % len(labels)]} | more for i in range(4)
    ]
    (tmp_path / "s.json").write_text(json.dumps(rows))
    message = error_message(capsys, lambda: load_labelled_set(open_rows(str(tmp_path / "s.json")), "s.json"))
    assert said in message and "no row has the label" in message
