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
from msgspec.structs import replace

from pipeline.benchmark.release.check_release import (
    check_checksums,
    check_release,
    publish_release,
    refuse_trial,
    write_checksums,
)
from pipeline.benchmark.release.provenance import Provenance
from pipeline.benchmark.release.release_summary import StudyFacts
from pipeline.core.errors import UserError
from pipeline.core.json_files import read_json, read_jsonl, write_jsonl
from pipeline.scoring.benchmark_reader import read_benchmark


def test_a_release_passes_its_check_and_a_changed_one_does_not(release, tmp_path):
    assert "reference prediction files scored as expected" in check_release(release)
    publish_release(release, tmp_path)
    place = tmp_path / "tiny/0.1.0"
    predictions = place / "reference_predictions/clip-easy/clip_score.json"
    predictions.chmod(0o644)
    predictions.write_text(predictions.read_text().replace("0.", "0.9", 1))
    with pytest.raises(UserError, match="its content has changed"):
        check_release(place)


@pytest.fixture
def copy(release, tmp_path):
    return shutil.copytree(release, tmp_path / "copy")


def test_rows_of_other_items_are_found_even_if_all_checksums_are_right(copy):
    rows = list(read_jsonl(copy / "provenance.jsonl", Provenance))
    write_jsonl(copy / "provenance.jsonl", rows[1:])
    write_checksums(copy)
    subset = rows[0].item.subset
    with pytest.raises(UserError, match=f"rgqa/{subset}.json: its rows differ from provenance.jsonl"):
        check_release(copy)


def test_wrong_scores_are_found_even_if_all_checksums_are_right(copy):
    path = next((copy / "reference_predictions").glob("*/expected.json"))
    stated = json.loads(path.read_text())
    stated["constant"]["auroc"] += 0.01
    path.write_text(json.dumps(stated))
    write_checksums(copy)
    with pytest.raises(
        UserError, match=f"reference_predictions/{path.parent.name}/constant.json: scores are"
    ):
        check_release(copy)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.txt").write_text("abc")
    (tmp_path / "sub" / "b.txt").write_text("b")
    write_checksums(tmp_path)
    return tmp_path


def test_the_checksums_agree_with_sha256sum(folder):
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


def test_changed_missing_and_added_files_are_all_reported(folder):
    (folder / "a.txt").write_text("abd")
    (folder / "sub" / "b.txt").unlink()
    (folder / "c.txt").write_text("c")
    with pytest.raises(UserError) as caught:
        check_checksums(folder)
    assert caught.value.problems[1:] == [
        "a.txt: its content has changed",
        "c.txt: not listed in CHECKSUMS.sha256",
        "sub/b.txt: missing",
    ]


def test_binary_checksums_and_pipes_are_reported(folder):
    os.mkfifo(folder / "pipe")  # Opening it would block.
    (folder / "a.txt").unlink()
    os.mkfifo(folder / "a.txt")
    with pytest.raises(UserError, match="not a regular file") as error:
        check_checksums(folder)
    assert "pipe: not listed" in str(error.value)
    (folder / "CHECKSUMS.sha256").write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match="CHECKSUMS.sha256: not UTF-8"):
        check_checksums(folder)


def test_a_missing_folder_is_reported(tmp_path):
    with pytest.raises(UserError, match="nosuch: no such folder"):
        check_release(tmp_path / "nosuch")


def test_bytecode_is_not_part_of_a_release(copy, tmp_path):
    left = copy / "harness/lmms_eval/__pycache__"
    left.mkdir()
    (left / "rgqa_tasks.cpython-311.pyc").write_bytes(b"x")
    assert "identical in all files" in check_release(copy)
    publish_release(copy, tmp_path / "published")
    assert not list((tmp_path / "published").rglob("__pycache__"))


def test_publishing_again_does_nothing_and_files_are_read_only(release, tmp_path):
    assert publish_release(release, tmp_path).startswith("copied the release to ")
    assert publish_release(release, tmp_path).startswith("already published")
    files = [path for path in (tmp_path / "tiny/0.1.0").rglob("*") if path.is_file()]
    assert files and all(path.stat().st_mode & 0o777 == 0o444 for path in files)


@pytest.mark.parametrize("where", ["", "data", "../link"])
def test_a_release_is_not_published_into_itself(copy, where):
    (copy / "../link").symlink_to(copy)
    before = sorted(copy.rglob("*"))
    with pytest.raises(UserError, match="--destination"):
        publish_release(copy, copy / where)
    assert sorted(copy.rglob("*")) == before


@pytest.mark.parametrize("where", ["/proc/x", "/dev", "/dev/null/x", "/sys/kernel"])
def test_a_folder_that_cannot_be_written_is_reported(release, where):
    with pytest.raises(UserError, match="--destination"):
        publish_release(release, Path(where))


def test_a_published_version_never_changes(release, tmp_path):
    place = tmp_path / "tiny/0.1.0"
    place.mkdir(parents=True)
    (place / "CHECKSUMS.sha256").write_text("other bytes\n")
    with pytest.raises(UserError, match="published with different content"):
        publish_release(release, tmp_path)


def test_hidden_files_of_a_download_and_linked_folders_are_not_part_of_a_release(copy, tmp_path):
    (copy / ".gitattributes").write_text("*.parquet filter=lfs")
    cache = copy / ".cache/huggingface/download/data"
    cache.mkdir(parents=True)
    (cache / "pt-hard-validation.parquet.metadata").write_text("x")
    (tmp_path / "private").mkdir()
    (tmp_path / "private/key").write_text("secret")
    (copy / "more").symlink_to(tmp_path / "private")
    assert "identical in all files" in check_release(copy)
    publish_release(copy, tmp_path / "published")
    names = {path.name for path in (tmp_path / "published").rglob("*")}
    assert "README.md" in names and not names & {".gitattributes", ".cache", "more", "key"}


def emptied(copy):
    (copy / "provenance.jsonl").write_text("")


def without_a_table(copy):
    (copy / "data/pt-hard-validation.parquet").unlink()


def one_prediction_less(copy):
    path = copy / "reference_predictions/pt-hard/text_only.json"
    path.write_text(json.dumps(json.loads(path.read_text())[1:]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (emptied, "provenance.jsonl: no item in it\ndata/clip-easy-test.parquet: provenance.jsonl contains none of its items\n"),
        (without_a_table, "data/pt-hard-validation.parquet: missing, but provenance.jsonl contains its items"),
        (one_prediction_less, "reference_predictions/pt-hard/text_only.json: its rows differ from provenance.jsonl"),
        (("provenance.jsonl", "{}"), "provenance.jsonl, line 1: not a Provenance"),
        (("params.json", "[1]"), "params.json: unexpected content: Expected `object`"),
        (("audit.json", "[1]"), "audit.json: unexpected content: Expected `object`"),
        (("errata.json", '{"a": 1}'), "errata.json: unexpected content: Expected `array`"),
        (("data/pt-hard-validation.parquet", "junk"), "data/pt-hard-validation.parquet: not a Parquet file, or truncated"),
        (("verdicts.jsonl", '{"verdict_id": 1}'), "verdicts.jsonl, line 1: not a Verdict"),
        (("dropped.jsonl", "[]"), "dropped.jsonl, line 1: not a Dropped"),
        (("excluded_answers.jsonl", "x"), "excluded_answers.jsonl, line 1: not a ExcludedAnswer"),
        (("croissant.json", '{"distribution": []}'), "croissant.json: does not list data/pt-hard-validation.parquet"),
        (("croissant.json", "{}"), "croissant.json: unexpected content"),
        (("rgqa/other.json", "[]"), "rgqa/other.json: provenance.jsonl contains none of its items"),
        (("reference_predictions/pt-hard/expected.json", "{}"), "reference_predictions/pt-hard/expected.json: no scores in it"),
    ],
)  # fmt: skip
def test_inconsistent_files_are_reported_even_if_all_checksums_are_right(copy, change, message):
    if callable(change):
        change(copy)
    else:
        (copy / change[0]).write_text(change[1])
    write_checksums(copy)
    with pytest.raises(UserError, match="does not pass its check") as error:
        check_release(copy)
    assert message in str(error.value)


def test_a_table_of_other_rows_is_found_even_if_all_checksums_are_right(copy):
    shutil.copy(copy / "data/pt-hard-validation.parquet", copy / "data/pt-hard-test.parquet")
    write_checksums(copy)
    with pytest.raises(UserError, match=r"pt-hard-test\.parquet: its rows differ from provenance"):
        check_release(copy)


def rewrite_table(path, change):
    """Change some columns of a table."""
    table = pyarrow.parquet.read_table(path)
    pyarrow.parquet.write_table(change(table), path)


def replaced(name, make):
    def change(table):
        index = table.schema.get_field_index(name)
        values = make(table.column(name).to_pylist())
        return table.set_column(index, name, [values])

    return change


def renamed(table):
    return table.rename_columns(
        ["question_id" if name == "source_question_id" else name for name in table.column_names]
    )


def texts(values):
    return pyarrow.array(values, pyarrow.string())


def labels_renamed(table):
    metadata = table.schema.metadata[b"huggingface"].replace(b'"answerable"', b'"no"')
    return table.replace_schema_metadata(table.schema.metadata | {b"huggingface": metadata})


CHANGES = {
    "a renamed column": (renamed, "has no column source_question_id"),
    "a column too many": (lambda t: t.append_column("more", [t.column("item_id")]), "has a column more"),
    "a column twice": (lambda t: t.append_column("answer", [t.column("answer")]), "has the column answer twice"),
    "a missing column": (lambda t: t.drop_columns(["canary"]), "has no column canary"),
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
    "swapped labels": (replaced("label", lambda v: pyarrow.array([1 - x for x in v])), "label differs"),
    "no images": (lambda t: t.drop_columns(["image"]), "has no column image"),
    "null images": (replaced("image", lambda v: pyarrow.array([None] * len(v), t_image())), "image is missing or wrong"),
    "other images": (replaced("image", lambda v: pyarrow.array([{**x, "path": "z.png"} for x in v], t_image())), "image is missing or wrong"),
    "other names of labels": (labels_renamed, "column label does not name its values"),
    "no rows": (lambda t: t.slice(0, 0), "rows missing"),
}  # fmt: skip


def t_image():
    return pyarrow.struct({"bytes": pyarrow.binary(), "path": pyarrow.string()})


@pytest.mark.parametrize("name", CHANGES)
def test_a_table_is_compared_with_schema_and_items_even_if_all_checksums_are_right(copy, name):
    change, message = CHANGES[name]
    rewrite_table(copy / "data/pt-hard-test.parquet", change)
    write_checksums(copy)
    with pytest.raises(UserError) as caught:
        check_release(copy)
    assert any(
        line.startswith("data/pt-hard-test.parquet: ") and message in line for line in caught.value.problems
    )


def test_the_check_refuses_what_scoring_refuses(copy):
    """An AQ whose answer is "N/A." in all files of the release."""
    rows = list(read_jsonl(copy / "provenance.jsonl", Provenance))
    at = next(index for index, row in enumerate(rows) if not row.item.unanswerable)
    item = msgspec.structs.replace(rows[at].item, answer="N/A.")
    rows[at] = msgspec.structs.replace(rows[at], item=item)
    write_jsonl(copy / "provenance.jsonl", rows)
    path = copy / f"rgqa/{item.subset}.json"
    listed = json.loads(path.read_text())
    for row in listed:
        if row["question_id"] == item.item_id:
            row["label"] = {"N/A.": 1.0}
    path.write_text(json.dumps(listed))
    rewrite_table(
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
    with pytest.raises(UserError, match="says that no answer exists"):
        read_benchmark(copy)
    with pytest.raises(UserError, match=r"cannot be scored: .*says that no answer exists") as caught:
        check_release(copy)
    assert not [line for line in caught.value.problems if line.startswith(("data/", "rgqa/"))]


def test_a_uq_with_an_answer_is_found_even_if_all_files_agree(copy):
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
    with pytest.raises(UserError, match=rf"UQs with an answer \(1\): {re.escape(uqs[0])}"):
        check_release(copy)


def test_a_subset_without_aqs_is_refused(copy):
    path = next((copy / "rgqa").glob("*.json"))
    path.write_text(json.dumps([row for row in json.loads(path.read_text()) if "UQ" in row["label"]]))
    write_checksums(copy)
    with pytest.raises(UserError, match="cannot be scored: .*has no AQs"):
        check_release(copy)


def test_an_unreadable_subset_file_causes_no_problems_of_its_tables(copy):
    path = next((copy / "rgqa").glob("*.json"))
    path.write_text("{")
    write_checksums(copy)
    with pytest.raises(UserError) as error:
        check_release(copy)
    assert not [line for line in error.value.problems if ".parquet" in line]


def test_a_copy_under_another_name_is_published_under_the_releases_own(copy, tmp_path):
    publish_release(copy, tmp_path / "published")
    assert (tmp_path / "published/tiny/0.1.0/CHECKSUMS.sha256").is_file()


def test_invalid_checksum_lines_and_paths_outside_the_release_are_reported(folder):
    with (folder / "CHECKSUMS.sha256").open("a") as file:
        file.write(f"junk\n{'0' * 64}  ../good.json\n")
    with pytest.raises(UserError) as error:
        check_checksums(folder)
    assert error.value.problems[1:] == [
        "CHECKSUMS.sha256, line 3: expected a checksum, two spaces and a path, got 'junk'",
        "CHECKSUMS.sha256, line 4: ../good.json points outside the release",
    ]
    (folder / "CHECKSUMS.sha256").unlink()
    (folder / "CHECKSUMS.sha256").mkdir()
    with pytest.raises(UserError, match="CHECKSUMS.sha256: a folder where a file was expected"):
        check_checksums(folder)


def test_a_trial_is_not_published_by_default(copy):
    # Fewer than 30 of the tiny study's UQs were audited. But its verdicts are simulated, which says more.
    facts = read_json(copy / "study.json", StudyFacts)
    assert "of the 30 UQs that are needed" in facts.doubts[0] and facts.label_error.value is None
    refuse_trial(copy, allow_trial=False)
    rows = [
        replace(row, item=replace(row.item, simulated=False))
        for row in read_jsonl(copy / "provenance.jsonl", Provenance)
    ]
    write_jsonl(copy / "provenance.jsonl", rows)
    with pytest.raises(UserError, match="only a trial(?s:.*)of the 30 UQs(?s:.*)--allow-trial"):
        refuse_trial(copy, allow_trial=False)
    refuse_trial(copy, allow_trial=True)
    (copy / "study.json").unlink()
    refuse_trial(copy, allow_trial=False)
