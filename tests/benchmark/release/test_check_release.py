import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import msgspec
import pyarrow
import pyarrow.parquet
import pytest

from pipeline.benchmark.release.check_release import (
    check_checksums,
    check_release,
    publish_release,
    write_checksums,
)
from pipeline.benchmark.release.provenance import Provenance
from pipeline.core.errors import UserError
from pipeline.core.json_files import read_jsonl, write_jsonl
from pipeline.scoring.benchmark_reader import read_benchmark


def test_the_release_passes_its_check_and_a_changed_one_does_not(release, tmp_path):
    assert "sanity predictions get their scores" in check_release(release)
    publish_release(release, tmp_path)
    place = tmp_path / "tiny/0.1.0"
    predictions = place / "sanity/clip-easy/clip_score.json"
    predictions.chmod(0o644)
    predictions.write_text(predictions.read_text().replace("0.", "0.9", 1))
    with pytest.raises(UserError, match="its bytes have changed"):
        check_release(place)


@pytest.fixture
def copy(release, tmp_path):
    return shutil.copytree(release, tmp_path / "copy")


def test_rows_that_tell_of_other_items_are_noticed_though_all_sums_are_right(copy):
    rows = list(read_jsonl(copy / "provenance.jsonl", Provenance))
    write_jsonl(copy / "provenance.jsonl", rows[1:])
    write_checksums(copy)
    subset = rows[0].item.subset
    with pytest.raises(UserError, match=f"rgqa/{subset}.json: its rows are not those of provenance.jsonl"):
        check_release(copy)


def test_scores_that_are_not_reached_are_noticed_though_all_sums_are_right(copy):
    path = next((copy / "sanity").glob("*/expected.json"))
    stated = json.loads(path.read_text())
    stated["constant"]["auroc"] += 0.01
    path.write_text(json.dumps(stated))
    write_checksums(copy)
    with pytest.raises(UserError, match=f"sanity/{path.parent.name}/constant.json: scores are"):
        check_release(copy)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.txt").write_text("abc")
    (tmp_path / "sub" / "b.txt").write_text("b")
    write_checksums(tmp_path)
    return tmp_path


def test_the_sums_are_those_of_the_standard_tool(folder):
    assert len(check_checksums(folder)) == 2
    assert (folder / "CHECKSUMS.sha256").read_text().splitlines()[
        0
    ] == f"{hashlib.sha256(b'abc').hexdigest()}  a.txt"
    assert (
        subprocess.run(
            ["sha256sum", "-c", "CHECKSUMS.sha256"], cwd=folder, capture_output=True, check=False
        ).returncode
        == 0
    )


def test_changed_missing_and_added_files_are_all_told(folder):
    (folder / "a.txt").write_text("abd")
    (folder / "sub" / "b.txt").unlink()
    (folder / "c.txt").write_text("c")
    with pytest.raises(UserError) as caught:
        check_checksums(folder)
    assert caught.value.problems[1:] == [
        "a.txt: its bytes have changed",
        "c.txt: not listed in CHECKSUMS.sha256",
        "sub/b.txt: missing",
    ]


def test_sums_that_are_no_text_and_pipes_are_told(folder):
    os.mkfifo(folder / "pipe")  # to open it would wait for ever
    (folder / "a.txt").unlink()
    os.mkfifo(folder / "a.txt")
    with pytest.raises(UserError, match="no regular file") as error:
        check_checksums(folder)
    assert "pipe: not listed" in str(error.value)
    (folder / "CHECKSUMS.sha256").write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match="CHECKSUMS.sha256: not UTF-8"):
        check_checksums(folder)


def test_a_folder_that_is_not_there_is_told_as_such(tmp_path):
    with pytest.raises(UserError, match="nosuch: there is no such folder"):
        check_release(tmp_path / "nosuch")


def test_what_python_leaves_beside_the_tasks_that_were_run_changes_nothing(copy, tmp_path):
    left = copy / "harness/lmms_eval/__pycache__"
    left.mkdir()
    (left / "rgqa_tasks.cpython-311.pyc").write_bytes(b"x")
    assert "items agree" in check_release(copy)
    publish_release(copy, tmp_path / "published")
    assert not list((tmp_path / "published").rglob("__pycache__"))


def test_publishing_the_same_bytes_again_does_nothing_and_files_are_read_only(release, tmp_path):
    assert publish_release(release, tmp_path).startswith("published -> ")
    assert publish_release(release, tmp_path).startswith("already published")
    files = [path for path in (tmp_path / "tiny/0.1.0").rglob("*") if path.is_file()]
    assert files and all(path.stat().st_mode & 0o777 == 0o444 for path in files)


@pytest.mark.parametrize("where", ["", "data", "../link"])
def test_a_copy_never_lies_inside_the_release(copy, where):
    (copy / "../link").symlink_to(copy)
    before = sorted(copy.rglob("*"))
    with pytest.raises(UserError, match="--destination"):
        publish_release(copy, copy / where)
    assert sorted(copy.rglob("*")) == before


@pytest.mark.parametrize("where", ["/proc/x", "/dev", "/dev/null/x", "/sys/kernel"])
def test_a_place_that_takes_no_files_is_told(release, where):
    with pytest.raises(UserError, match="--destination"):
        publish_release(release, Path(where))


def test_a_published_version_never_changes(release, tmp_path):
    place = tmp_path / "tiny/0.1.0"
    place.mkdir(parents=True)
    (place / "CHECKSUMS.sha256").write_text("other bytes\n")
    with pytest.raises(UserError, match="published with different bytes"):
        publish_release(release, tmp_path)


def test_what_the_hub_leaves_in_a_download_is_no_split_of_it_nor_is_what_a_link_leads_to(copy, tmp_path):
    (copy / ".gitattributes").write_text("*.parquet filter=lfs")
    cache = copy / ".cache/huggingface/download/data"
    cache.mkdir(parents=True)
    (cache / "pt-hard-validation.parquet.metadata").write_text("x")
    (tmp_path / "private").mkdir()
    (tmp_path / "private/key").write_text("secret")
    (copy / "more").symlink_to(tmp_path / "private")
    assert "items agree" in check_release(copy)
    publish_release(copy, tmp_path / "published")
    names = {path.name for path in (tmp_path / "published").rglob("*")}
    assert "README.md" in names and not names & {".gitattributes", ".cache", "more", "key"}


def emptied(copy):
    (copy / "provenance.jsonl").write_text("")


def without_a_table(copy):
    (copy / "data/pt-hard-validation.parquet").unlink()


def one_prediction_less(copy):
    path = copy / "sanity/pt-hard/blind.json"
    path.write_text(json.dumps(json.loads(path.read_text())[1:]))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (emptied, "provenance.jsonl: no item in it\ndata/clip-easy-validation.parquet: provenance.jsonl has no item of it\n"),
        (without_a_table, "data/pt-hard-validation.parquet: missing, though provenance.jsonl has its items"),
        (one_prediction_less, "sanity/pt-hard/blind.json: its rows are not those of provenance.jsonl"),
        (("provenance.jsonl", "{}"), "provenance.jsonl, line 1: not a Provenance"),
        (("params.json", "[1]"), "params.json: not what is expected here: Expected `object`"),
        (("audit.json", "[1]"), "audit.json: not what is expected here: Expected `object`"),
        (("errata.json", '{"a": 1}'), "errata.json: not what is expected here: Expected `array`"),
        (("data/pt-hard-validation.parquet", "junk"), "data/pt-hard-validation.parquet: no Parquet file, or cut off"),
        (("verdicts.jsonl", '{"verdict_id": 1}'), "verdicts.jsonl, line 1: not a Verdict"),
        (("dropped.jsonl", "[]"), "dropped.jsonl, line 1: not a Dropped"),
        (("excluded_answers.jsonl", "x"), "excluded_answers.jsonl, line 1: not a ExcludedAnswer"),
        (("croissant.json", '{"distribution": []}'), "croissant.json: does not name data/pt-hard-validation.parquet"),
        (("croissant.json", "{}"), "croissant.json: not what is expected here"),
        (("rgqa/other.json", "[]"), "rgqa/other.json: provenance.jsonl has no item of it"),
        (("sanity/pt-hard/expected.json", "{}"), "sanity/pt-hard/expected.json: no scores in it"),
    ],
)  # fmt: skip
def test_what_does_not_agree_is_told_though_all_sums_are_right(copy, change, said):
    if callable(change):
        change(copy)
    else:
        (copy / change[0]).write_text(change[1])
    write_checksums(copy)
    with pytest.raises(UserError, match="does not pass its sanity check") as error:
        check_release(copy)
    assert said in str(error.value)


def test_a_table_of_other_rows_is_noticed_though_all_sums_are_right(copy):
    shutil.copy(copy / "data/pt-hard-validation.parquet", copy / "data/pt-hard-test.parquet")
    write_checksums(copy)
    with pytest.raises(UserError, match=r"pt-hard-test\.parquet: its rows are not those of provenance"):
        check_release(copy)


def rewritten(path, change):
    """A table with some of its columns changed."""
    table = pyarrow.parquet.read_table(path)
    pyarrow.parquet.write_table(change(table), path)


def replaced(name, make):
    def change(table):
        place = table.schema.get_field_index(name)
        values = make(table.column(name).to_pylist())
        return table.set_column(place, name, [values])

    return change


def renamed(table):
    return table.rename_columns(
        ["question_id" if name == "source_question_id" else name for name in table.column_names]
    )


def texts(values):
    return pyarrow.array(values, pyarrow.string())


def labels_renamed(table):
    told = table.schema.metadata[b"huggingface"].replace(b'"answerable"', b'"no"')
    return table.replace_schema_metadata(table.schema.metadata | {b"huggingface": told})


CHANGES = {
    "a renamed column": (renamed, "has no column source_question_id"),
    "a column too many": (lambda t: t.append_column("more", [t.column("item_id")]), "has a column more"),
    "a column twice": (lambda t: t.append_column("answer", [t.column("answer")]), "has the column answer twice"),
    "a column gone": (lambda t: t.drop_columns(["canary"]), "has no column canary"),
    "numbers for answers": (replaced("answer", lambda v: pyarrow.array(range(len(v)))), "column answer has the type int64"),
    "numbers for ids": (replaced("image_id", lambda v: pyarrow.array(range(len(v)))), "column image_id has the type int64"),
    "floats for labels": (replaced("label", lambda v: pyarrow.array(map(float, v))), "column label has the type double"),
    "null ids": (replaced("item_id", lambda v: texts([None, *v[1:]])), "item_id is null (1)"),
    "all ids null": (replaced("item_id", lambda v: texts([None] * len(v))), "rows missing"),
    "null answers": (replaced("answer", lambda v: texts([None] * len(v))), "answer differs"),
    "an id twice": (replaced("item_id", lambda v: texts([v[1], *v[1:]])), "rows repeated (1)"),
    "an unknown id": (replaced("item_id", lambda v: texts(["x", *v[1:]])), "rows unknown (1): x"),
    "another text": (replaced("question", lambda v: texts(["Who?", *v[1:]])), "question differs (1)"),
    "other pairs": (replaced("pair_id", lambda v: texts([f"{x}?" for x in v])), "pair_id differs"),
    "another canary": (replaced("canary", lambda v: texts(["c"] * len(v))), "canary differs"),
    "labels turned": (replaced("label", lambda v: pyarrow.array([1 - x for x in v])), "label differs"),
    "no images": (lambda t: t.drop_columns(["image"]), "has no column image"),
    "null images": (replaced("image", lambda v: pyarrow.array([None] * len(v), t_image())), "image is missing or another"),
    "other images": (replaced("image", lambda v: pyarrow.array([{**x, "path": "z.png"} for x in v], t_image())), "image is missing or another"),
    "other names of labels": (labels_renamed, "column label does not name its values"),
    "no rows": (lambda t: t.slice(0, 0), "rows missing"),
}  # fmt: skip


def t_image():
    return pyarrow.struct({"bytes": pyarrow.binary(), "path": pyarrow.string()})


@pytest.mark.parametrize("name", CHANGES)
def test_a_table_is_held_against_schema_and_items_though_all_sums_are_right(copy, name):
    change, told = CHANGES[name]
    rewritten(copy / "data/pt-hard-test.parquet", change)
    write_checksums(copy)
    with pytest.raises(UserError) as caught:
        check_release(copy)
    assert any(
        line.startswith("data/pt-hard-test.parquet: ") and told in line for line in caught.value.problems
    )


def test_what_score_refuses_check_refuses(copy):
    """An AQ whose answer is "N/A." in all files of the release."""
    rows = list(read_jsonl(copy / "provenance.jsonl", Provenance))
    at = next(place for place, row in enumerate(rows) if not row.item.unanswerable)
    item = msgspec.structs.replace(rows[at].item, answer="N/A.")
    rows[at] = msgspec.structs.replace(rows[at], item=item)
    write_jsonl(copy / "provenance.jsonl", rows)
    path = copy / f"rgqa/{item.subset}.json"
    listed = json.loads(path.read_text())
    for row in listed:
        if row["question_id"] == item.item_id:
            row["label"] = {"N/A.": 1.0}
    path.write_text(json.dumps(listed))
    rewritten(
        copy / f"data/{item.subset}-{item.split}.parquet",
        lambda t: replaced(
            "answer",
            lambda v: texts(
                [
                    "N/A." if i == item.item_id else x
                    for i, x in zip(t.column("item_id").to_pylist(), v, strict=True)
                ]
            ),
        )(t),
    )
    write_checksums(copy)
    with pytest.raises(UserError, match="says that there is no answer"):
        read_benchmark(copy)
    with pytest.raises(UserError, match=r"cannot be scored: .*says that there is no answer") as caught:
        check_release(copy)
    assert not [line for line in caught.value.problems if line.startswith(("data/", "rgqa/"))]


def test_a_uq_that_has_an_answer_is_noticed_though_all_files_agree(copy):
    rows = list(read_jsonl(copy / "provenance.jsonl", Provenance))
    uqs = [row.item.item_id for row in rows if row.item.unanswerable]
    answered = [
        msgspec.structs.replace(row, item=msgspec.structs.replace(row.item, answer="red"))
        if row.item.item_id == uqs[0]
        else row
        for row in rows
    ]
    write_jsonl(copy / "provenance.jsonl", answered)
    write_checksums(copy)
    with pytest.raises(UserError, match=rf"UQs that have an answer \(1\): {re.escape(uqs[0])}"):
        check_release(copy)


def test_a_subset_without_aqs_is_refused_by_check_as_by_score(copy):
    path = next((copy / "rgqa").glob("*.json"))
    path.write_text(json.dumps([row for row in json.loads(path.read_text()) if "UQ" in row["label"]]))
    write_checksums(copy)
    with pytest.raises(UserError, match="cannot be scored: .*has no AQs"):
        check_release(copy)


def test_a_subset_file_that_cannot_be_read_is_the_only_problem_of_its_tables(copy):
    path = next((copy / "rgqa").glob("*.json"))
    path.write_text("{")
    write_checksums(copy)
    with pytest.raises(UserError) as error:
        check_release(copy)
    assert not [line for line in error.value.problems if ".parquet" in line]


def test_a_copy_under_another_name_is_published_under_the_releases_own(copy, tmp_path):
    publish_release(copy, tmp_path / "published")
    assert (tmp_path / "published/tiny/0.1.0/CHECKSUMS.sha256").is_file()


def test_lines_that_are_no_sums_and_files_outside_are_told(folder):
    with (folder / "CHECKSUMS.sha256").open("a") as file:
        file.write(f"junk\n{'0' * 64}  ../good.json\n")
    with pytest.raises(UserError) as error:
        check_checksums(folder)
    assert error.value.problems[1:] == [
        "CHECKSUMS.sha256, line 3: wanted a sum, two blanks and a file, got 'junk'",
        "CHECKSUMS.sha256, line 4: ../good.json points outside the release",
    ]
    (folder / "CHECKSUMS.sha256").unlink()
    (folder / "CHECKSUMS.sha256").mkdir()
    with pytest.raises(UserError, match="CHECKSUMS.sha256: a folder where a file was expected"):
        check_checksums(folder)
