import io
import json

import pytest

from pipeline.core.errors import UserError
from pipeline.sources.download.hub_parquet import read_questions
from pipeline.sources.large_json import write_members
from tests.sources.download.conftest import JSONS, on_hub, parquet, question

ROWS = JSONS["testdev_balanced_questions.json"]


def converted(folder, *files):
    """Return the number and the content of the JSON made from Parquet files."""
    paths = [folder / f"{number}.parquet" for number in range(len(files))]
    for path, data in zip(paths, files, strict=True):
        path.write_bytes(data)
    target = io.BytesIO()
    count = write_members(target, read_questions(paths))
    return count, json.loads(target.getvalue())


def written(folder, rows):
    return converted(folder, parquet(rows))[1]


def swapped(row):
    marks = {
        text: [{"objectId": mark["value"], "value": mark["objectId"]} for mark in found]
        for text, found in row["annotations"].items()
    }
    return row | {"annotations": marks}


@pytest.mark.parametrize("form", [lambda row: row, swapped], ids=["word first", "object first"])
def test_questions_have_the_format_of_gqa(tmp_path, form):
    assert written(tmp_path, [form(on_hub(row, name)) for name, row in ROWS.items()]) == ROWS


def test_lists_of_ids_may_be_lists_on_the_hub(tmp_path):
    rows = [
        on_hub(row, name) | {key: row[key] for key in ("entailed", "equivalent")}
        for name, row in ROWS.items()
    ]
    assert written(tmp_path, rows) == ROWS


def test_fields_that_are_empty_on_the_hub_are_as_in_gqa(tmp_path):
    bare = question("n1", 7) | {
        "entailed": [],
        "annotations": {"answer": {}, "question": {}, "fullAnswer": {}},
    }
    row = on_hub(bare, "01") | {"groups": None, "annotations": None}
    assert written(tmp_path, [row, on_hub(question("n1", 8), "02")])["01"] == bare | {
        "groups": {"global": None, "local": None}
    }


def test_several_files_become_one(tmp_path):
    names = list(ROWS)
    files = [parquet([on_hub(ROWS[name], name) for name in names[at::2]]) for at in (0, 1)]
    assert converted(tmp_path, *files) == (len(ROWS), ROWS)


def test_missing_columns_are_reported(tmp_path):
    with pytest.raises(
        UserError,
        match=r"0\.parquet: columns imageId, semantic are missing; the file has answer, id, question, types",
    ):
        written(tmp_path, [{"answer": "x", "id": "1", "question": "What?", "types": {"structural": "query"}}])


def test_an_invalid_parquet_file_is_reported(tmp_path):
    with pytest.raises(UserError, match=r"0\.parquet: not a Parquet file, or truncated"):
        converted(tmp_path, b"<html>")
