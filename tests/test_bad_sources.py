"""Stage `ingest` reads a source folder or reports its problems in one message.

Each row has a description, how the file is made, and a fragment of the message, or READ.
"""

import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from pipeline.core.json_files import read_jsonl
from pipeline.core.records import ImageRecord, Question
from pipeline.stages import ingest
from tests.bad_inputs import error_message
from tests.odd_images import gif_on_canvas, png

READ = ""
SOURCE = Path("data/tiny/source")
IMAGES = SOURCE / "images"
QUESTIONS = "questions1.2/testdev_balanced_questions.json"
GRAPHS = "sceneGraphs/train_sceneGraphs.json"
HEAD = ("question_id", "image", "question", "answer")
ROWS = [("007", "n100001.jpg", "What color is it?", "red"), ("008", "n100002", "Which, if any?", "NA")]


# --- tables of questions


def csv_of(rows=ROWS, sign=",", head=HEAD) -> str:
    return "".join(sign.join(f'"{cell}"' for cell in row) + "\n" for row in [head, *rows])


def packed(kind: str, rows=ROWS, head=HEAD) -> bytes:
    file, frame = io.BytesIO(), pd.DataFrame(rows, columns=list(head))
    frame.to_excel(file, index=False) if kind == "xlsx" else frame.to_parquet(file)
    return file.getvalue()


def lines(**more: Any) -> str:
    rows = [dict(zip(HEAD, row, strict=True)) for row in ROWS]
    return "".join(json.dumps(row) + "\n" for row in [rows[0] | more, *rows[1:]])


TABLES: list[tuple[str, str, str | bytes, str]] = [
    ("plain", "csv", csv_of(), READ),
    ("semicolons", "csv", csv_of(sign=";"), READ),
    ("tabs", "csv", csv_of(sign="\t"), READ),
    ("capitals", "csv", csv_of(head=("Question_ID", "IMAGE", "Question", "Answer")), READ),
    ("blanks in names", "csv", csv_of(head=("Question ID", " image", "question ", "answer")), READ),
    ("a mark of the byte order", "csv", "\ufeff" + csv_of(), READ),
    ("ends of lines as Windows has them", "csv", csv_of().replace("\n", "\r\n"), READ),
    ("Excel's empty rows", "csv", csv_of() + ",,,\n,,,\n", READ),
    ("a line separator in a cell", "csv", csv_of([*ROWS, ("009", "n100003", "What\u2028is it?", "x")]), READ),
    ("a line separator in a line", "jsonl", lines(full_answer="It is\u2028red."), READ),
    ("a mark of the byte order in JSON lines", "jsonl", "\ufeff" + lines(), READ),
    ("empty lines", "jsonl", "\n" + lines() + "\n\n", READ),
    ("a workbook", "xlsx", packed("xlsx"), READ),
    ("a workbook with empty rows", "xlsx", packed("xlsx", [ROWS[0], (None,) * 4, ROWS[1], (None,) * 4]), READ),
    ("a workbook with capitals", "xlsx", packed("xlsx", head=[name.upper() for name in HEAD]), READ),
    ("Parquet", "parquet", packed("parquet"), READ),
    ("surplus cells", "csv", csv_of([(*ROWS[0], "0,93")]), "row 2: Object contains unknown field `(beyond the header)`"),
    ("a cell missing", "csv", csv_of([ROWS[0][:3]]), "row 2: Object missing required field `answer`"),
    ("a column twice", "csv", csv_of(head=(*HEAD[:3], "question")), "the header has question more than once"),
    ("a column twice by capitals", "csv", csv_of(head=(*HEAD[:3], "Question")), "the header has question more than once"),
    ("a column that nobody knows", "csv", csv_of(head=(*HEAD[:3], "anser")), "no column answer in the header"),
    ("no header", "csv", csv_of(head=ROWS[0]), "no column question_id and no column image"),
    ("Latin-1", "csv", csv_of([("1", "n100001", "Où?", "là")]).encode("latin-1"), "not UTF-8"),
    ("a cell of 131,073 letters", "csv", csv_of([(*ROWS[0], "x" * 131_073), (*ROWS[1], "")], head=(*HEAD, "full_answer")), READ),
    ("a quote that does not end", "csv", csv_of() + '"9,a', "unexpected end of data"),
    ("empty", "csv", "", "the file is empty"),
    ("empty lines alone", "jsonl", "\n\n", "it has no questions"),
    ("a header alone", "csv", csv_of([]), "it has no questions"),
    ("a zero byte in an id", "csv", csv_of([("0\0", *ROWS[0][1:])]), "invalid id"),
    ("an id twice", "csv", csv_of([ROWS[0], ROWS[0]]), "row 3, question 007: the same id is in questions.csv, row 2"),
    ("a blank id", "csv", csv_of([(" ", *ROWS[0][1:])]), "invalid id"),
    ("a path for an image", "csv", csv_of([("1", "../x.jpg", "What?", "x")]), "invalid name of image"),
    ("a name of 300 letters", "csv", csv_of([("1" * 300, *ROWS[0][1:])]), "has 300 characters, more than 200"),
    ("an image's name of 300 letters", "csv", csv_of([("1", "n" * 300, "What?", "x")]), "has 300 characters, more than 200"),
    ("a blank question", "csv", csv_of([("1", "n100001", "  ", "x")]), "question 1: the question is empty"),
    ("a split that nobody knows", "csv", csv_of([(*ROWS[0], "dev")], head=(*HEAD, "split")), "Invalid enum value 'dev'"),
    ("a program that is no JSON", "csv", csv_of([(*ROWS[0], "select")], head=(*HEAD, "program")), "row 2: JSON is malformed"),
    ("a program nested deeply", "jsonl", lines(program="[" * 5000), "nested too deeply"),
    ("a key twice", "jsonl", lines().replace('"answer"', '"answer": "x", "answer"', 1), "line 1: the key answer occurs more than once"),
    ("a numeric answer", "jsonl", lines(answer=2), 'expected a string: "2", not 2'),
    ("a numeric id", "jsonl", lines(question_id=7), "ids are strings, because numbers lose leading zeros"),
    ("true for an answer", "jsonl", lines(answer=True), "line 1: answer is the truth value TRUE"),
    ("lists nested deeply", "jsonl", '{"a": ' + "[" * 5000, "nested too deeply"),
    ("objects nested deeply", "jsonl", '{"answer":' * 5000, "nested too deeply"),
    ("a list", "jsonl", "[1]", "Expected `object`, got `array`"),
    ("cut off", "jsonl", lines()[:-9], "line 2: Input data was truncated"),
    ("half a character", "jsonl", lines().replace("red", "\\ud800"), "line 1: "),
    ("no workbook", "xlsx", b"PK\x03\x04 junk", "questions.xlsx: not a .xlsx file"),
    ("a workbook cut off", "xlsx", packed("xlsx")[:-200], "questions.xlsx: not a .xlsx file"),
    ("a workbook of numbers", "xlsx", packed("xlsx", [(7, "a", "What?", "x")]), "ids are strings"),
    ("an empty workbook", "xlsx", packed("xlsx", [], []), "questions.xlsx: the file is empty"),
    ("junk for Parquet", "parquet", b"PAR1" + bytes(range(256)) + b"\x10\0\0\0PAR1", "questions.parquet: not a Parquet file"),
    ("Parquet cut off", "parquet", packed("parquet")[:-30], "questions.parquet: not a Parquet file"),
    ("a page for Parquet", "parquet", b"<html>404</html>", "questions.parquet: not a Parquet file"),
]  # fmt: skip


@pytest.fixture
def own(tiny: Path, set_params: Callable[..., None]) -> Path:
    """The tiny project without files of GQA, but with its images."""
    (SOURCE / "questions1.2").rename("away")
    (SOURCE / "sceneGraphs").rename("graphs")
    # The tables are too small for the CLIP subsets.
    set_params(
        "ingest", split="test", question_splits=["test"], graph_splits=[], subsets=["pt-easy", "pt-hard"]
    )
    return tiny


@pytest.mark.parametrize(
    ("ending", "data", "said"), [case[1:] for case in TABLES], ids=[case[0] for case in TABLES]
)
def test_a_table_is_read_correctly_or_reported(own, capsys, ending, data, said):
    (SOURCE / f"questions.{ending}").write_bytes(data if isinstance(data, bytes) else data.encode())
    message = error_message(capsys, ingest.main)
    if said:
        assert said in message
        return
    assert message == ""
    read = {
        q.question_id: (q.image_id, q.text, q.answer)
        for q in read_jsonl("data/tiny/interim/ingest/questions.jsonl", Question)
    }
    assert read["007"] == ("n100001", "What color is it?", "red")
    assert read["008"] == ("n100002", "Which, if any?", "NA")
    assert len(read) == 2 + ("\u2028is" in str(data))


@pytest.mark.parametrize(
    ("name", "make", "said"),
    [
        ("questions.csv", Path.mkdir, "questions.csv is a folder, not a file"),
        ("questions.csv", os.mkfifo, "questions.csv is not a regular file"),
        ("questions.csv", lambda path: path.symlink_to(path.name), "questions.csv is a broken link"),
        ("Questions.CSV", lambda path: path.write_text(csv_of()), "Questions.CSV is not in lower case"),
    ],
)  # fmt: skip
def test_paths_that_are_no_tables_are_reported(own, capsys, set_params, name, make, said):
    make(SOURCE / name)
    assert said in error_message(capsys, ingest.main)
    set_params("ingest", format="table")
    assert said in error_message(capsys, ingest.main)


# --- files of GQA


def changed(path: str, change: Callable[[dict], object]) -> None:
    value = json.loads((SOURCE / path).read_text())
    change(value)
    (SOURCE / path).write_text(json.dumps(value))


def text(path: str, edit: Callable[[str], str]) -> Callable[[], object]:
    return lambda: (SOURCE / path).write_text(edit((SOURCE / path).read_text()))


def thing(edit: Callable[[dict], object]) -> Callable[[], None]:
    """Change the first object of the first graph."""
    return lambda: changed(
        GRAPHS, lambda graphs: edit(next(iter(next(iter(graphs.values()))["objects"].values())))
    )


def in_place_of(path: str, make: Callable[[Path], object]) -> Callable[[], None]:
    def do() -> None:
        (SOURCE / path).unlink()
        make(SOURCE / path)

    return do


FILES: list[tuple[str, Callable[[], object], str]] = [
    ("a blank name", thing(lambda o: o.update(name="")), "its name is blank"),
    ("a name of blanks", thing(lambda o: o.update(name=" \t")), "its name is blank"),
    ("a blank attribute", thing(lambda o: o.update(attributes=["red", ""])), "an attribute is blank"),
    ("a blank relation", thing(lambda o: o.update(relations=[{"name": " ", "object": "1"}])), "the name of a relation is blank"),
    ("a number for a name", thing(lambda o: o.update(name=3)), "Expected `str`, got `int`"),
    ("half a pixel", thing(lambda o: o.update(x=0.5)), "Expected `int`, got `float`"),
    ("a field that nobody knows", thing(lambda o: o.update(colour="red")), "unknown field `colour`"),
    ("graphs in a list", text(GRAPHS, lambda _: "[]"), "expected one JSON object with ids as keys"),
    ("an empty file", text(GRAPHS, lambda _: ""), "the file is empty; download it again"),
    ("a file cut off", text(QUESTIONS, lambda old: old[:-50]), "the file may be truncated, download it again"),
    ("graphs nested deeply", text(GRAPHS, lambda _: '{"1": ' + "[" * 5000 + "]" * 5000 + "}"), "nested too deeply"),
    ("all nested deeply", text(GRAPHS, lambda _: '{"a":' * 100_000), "train_sceneGraphs.json: "),
    ("an id twice", text(QUESTIONS, lambda old: old.replace('"00100102"', '"00100101"')), "the id 00100101 occurs more than once"),
    ("a key twice", text(QUESTIONS, lambda old: old.replace('"answer"', '"answer": "x", "answer"', 1)), "the key answer occurs more than once"),
    ("a pipe", in_place_of(QUESTIONS, os.mkfifo), "a pipe where a file was expected"),
    ("a folder", in_place_of(GRAPHS, Path.mkdir), "a folder where a file was expected"),
    ("a link to nothing", in_place_of(GRAPHS, lambda path: path.symlink_to("nothing")), "no such file"),
    ("no UTF-8", lambda: (SOURCE / QUESTIONS).write_bytes(b'{"\xe9": {}}'), "not valid JSON"),
]  # fmt: skip


@pytest.mark.parametrize(("damage", "said"), [case[1:] for case in FILES], ids=[case[0] for case in FILES])
def test_problems_of_gqa_files_are_reported(tiny, capsys, damage, said):
    damage()
    assert said in (message := error_message(capsys, ingest.main)) and bool(message) == bool(said)


def test_one_question_is_enough_for_edited_questions(tiny, capsys, set_params):
    set_params("ingest", subsets=["pt-easy"])
    changed(QUESTIONS, lambda rows: [rows.pop(key) for key in list(rows)[1:]])
    assert error_message(capsys, ingest.main) == ""


# --- images


def save(**options: Any) -> Callable[[Path], object]:
    """Write a grey image of the size of the tiny world."""
    mode, form = options.pop("mode", "RGB"), options.pop("format", "PNG")
    return lambda path: Image.new("RGB", (448, 336), "gray").convert(mode).save(path, form, **options)


def frames(form: str) -> Callable[[Path], object]:
    images = [Image.new("RGB", (448, 336), colour) for colour in ("red", "blue")]
    return lambda path: images[0].save(path, form, save_all=True, append_images=images[1:])


def sixteen(path: Path) -> None:
    Image.fromarray(np.full((336, 448), 40_000, np.uint16)).save(path, "PNG")


def clear(path: Path) -> None:
    Image.new("RGBA", (448, 336), (9, 9, 9, 9)).save(path, "PNG")


def turned(path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (336, 448)).save(path, "JPEG", exif=exif)


def huge(path: Path) -> None:
    """Return a PNG that claims to have 100,000 x 100,000 pixels."""
    path.write_bytes(png(100_000, 100_000, 8, 2, b""))


DRAWN_IMAGES: list[tuple[str, Callable[[Path], object], str]] = [
    ("a photo on its side", turned, READ),
    ("a PNG", save(), READ),
    ("a WebP", save(format="WEBP"), READ),
    ("a GIF", save(format="GIF"), READ),
    ("a BMP", save(format="BMP"), READ),
    ("a JPEG in CMYK", save(format="JPEG", mode="CMYK"), READ),
    ("a grey one", save(mode="L"), READ),
    ("one of two colours", save(mode="1"), READ),
    ("an opaque alpha channel", save(mode="RGBA"), READ),
    ("16 bits", sixteen, READ),
    ("a transparent one", clear, "partly transparent"),
    ("an animated GIF", frames("GIF"), "2 frames: browsers animate them"),
    ("an animated PNG", frames("PNG"), "2 frames: browsers animate them"),
    ("an animated WebP", frames("WEBP"), "2 frames: browsers animate them"),
    ("an AVIF", save(format="AVIF"), READ),
    ("a TIFF", save(format="TIFF"), "but TIFF: "),
    ("an EPS", save(format="EPS"), "but PostScript: "),
    ("an SVG", lambda path: path.write_text("<svg xmlns='http://www.w3.org/2000/svg'/>"), "but SVG: "),
    ("a page", lambda path: path.write_text("<html>404</html>"), "but a web page"),
    ("a bomb", huge, "too large: more than"),
    ("an empty file", Path.touch, "the file is empty"),
    ("a folder", Path.mkdir, "a folder where an image was expected"),
    ("a pipe", os.mkfifo, "no regular file where an image was expected"),
    ("a link to nothing", lambda path: path.symlink_to("nothing"), "a link to nothing where an image was expected"),
    ("a link to an image", lambda path: path.symlink_to("n100002.jpg"), READ),
    ("a head alone", lambda path: path.write_bytes(b"\xff\xd8\xff\xe0"), "image n100001: images/n100001.jpg: "),
    ("a colour of GIF around a smaller frame", lambda path: path.write_bytes(gif_on_canvas(8, 4)), "partly transparent"),
    ("nothing", lambda path: None, "no such file in images/"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "said"), [case[1:] for case in DRAWN_IMAGES], ids=[case[0] for case in DRAWN_IMAGES]
)
def test_an_image_is_read_as_browsers_show_it_or_reported(tiny, capsys, make, said):
    (IMAGES / "n100001.jpg").unlink()
    make(IMAGES / "n100001.jpg")
    assert said in (message := error_message(capsys, ingest.main)) and bool(message) == bool(said)


@pytest.mark.parametrize(
    "name", ["n100001.jfif", "n100001.JPE", "n100001.pjpeg", "n100001.heic", "n100001", "n100001.jpg_large"]
)
def test_an_image_is_found_with_any_suffix(tiny, capsys, name):
    # Cameras, browsers and messengers give JPEG files many names.
    (IMAGES / "n100001.jpg").rename(IMAGES / name)
    assert error_message(capsys, ingest.main) == READ
    rows = {
        row.image_id: row.path
        for row in read_jsonl(Path("data/tiny/interim/ingest/images.jsonl"), ImageRecord)
    }
    assert rows["n100001"] == (IMAGES / name).as_posix()


@pytest.mark.parametrize("name", ["n100001.heic", "n100001.jpg", "n100001"])
def test_an_image_format_that_browsers_do_not_show_is_named_in_the_message(tiny, capsys, name):
    (IMAGES / "n100001.jpg").unlink()
    (IMAGES / name).write_bytes(b"\0\0\0\x18ftypheic\0\0\0\0mif1heic")
    assert f"images/{name}: not a JPEG, PNG, WebP, GIF, BMP or AVIF image, but HEIC" in error_message(
        capsys, ingest.main
    )
