import json

import pytest

from pipeline.core.errors import UserError
from pipeline.sources.fetching.hub_parquet import convert
from tests.pipeline.sources.fetching.conftest import JSONS, on_hub, parquet, question

ROWS = JSONS["testdev_balanced_questions.json"]


def written(tmp_path, rows):
    (tmp_path / "a.parquet").write_bytes(parquet(rows))
    convert([tmp_path / "a.parquet"], tmp_path / "a.json")
    return json.loads((tmp_path / "a.json").read_text())


def swapped(row):
    marks = {
        text: [{"objectId": mark["value"], "value": mark["objectId"]} for mark in found]
        for text, found in row["annotations"].items()
    }
    return row | {"annotations": marks}


@pytest.mark.parametrize("form", [lambda row: row, swapped], ids=["word first", "object first"])
def test_questions_come_back_as_gqa_has_them(tmp_path, form):
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
    files = []
    for at in (0, 1):
        files.append(tmp_path / f"{at}.parquet")
        files[-1].write_bytes(parquet([on_hub(ROWS[name], name) for name in names[at::2]]))
    assert convert(files, tmp_path / "a.json") == len(ROWS)
    assert json.loads((tmp_path / "a.json").read_text()) == ROWS


def test_missing_columns_are_told(tmp_path):
    with pytest.raises(
        UserError,
        match=r"a\.parquet: columns imageId, semantic are missing; there are answer, id, question, types",
    ):
        written(tmp_path, [{"answer": "x", "id": "1", "question": "What?", "types": {"structural": "query"}}])


def test_what_is_no_parquet_file_is_told(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"<html>")
    with pytest.raises(UserError, match="not a Parquet file, or cut off"):
        convert([tmp_path / "a.parquet"], tmp_path / "a.json")
