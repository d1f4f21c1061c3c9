import json

import pytest

from annotation.study.exports import make_pseudonym, read_pulled
from annotation.study.import_annotations import import_exports
from annotation.study.private_files import read_or_create_salt
from annotation.study.roster import Annotator, write_roster
from pipeline.core.errors import UserError
from pipeline.core.json_files import write_json
from pipeline.core.paths import DatasetFolders
from tests.annotation.study.conftest import task
from tests.annotation.study.export_files import TASKS, annotation, chosen, exported, pulled, verdicts


def take_in(tmp_path, *files):
    paths = []
    for number, content in enumerate(files):
        paths.append(tmp_path / f"export{number}.json")
        paths[-1].write_text(content if isinstance(content, str) else json.dumps(content))
    import_exports(paths)


def test_exports_and_snapshots_are_imported_once_with_pseudonyms(batched, tmp_path, capsys):
    person = {"id": 3, "email": "anna@example.org", "first_name": "Anna"}
    rows = (
        [exported("t1", annotation(1, 3))],
        [exported("t1", annotation(1, person)), exported("t2", annotation(2, 4, "unsure"))],
    )
    take_in(tmp_path, *rows)
    assert verdicts(batched) == {
        ("t1", make_pseudonym(3, read_or_create_salt(DatasetFolders()))): ("valid", "invalid"),
        ("t2", make_pseudonym(4, read_or_create_salt(DatasetFolders()))): ("unsure", "invalid"),
    }
    assert (
        "anna" not in batched.read_text()
        and "import: 2 new annotations, 2 in total" in capsys.readouterr().out
    )
    before = batched.read_bytes()
    take_in(tmp_path, rows[0])
    assert batched.read_bytes() == before


def test_known_email_gets_the_pseudonym_of_the_roster(batched, tmp_path):
    write_roster(
        DatasetFolders(), [Annotator(name="anna", pseudonym="annotator-02", email="Anna@example.org")]
    )
    take_in(
        tmp_path, [exported("t1", annotation(1, {"id": 3, "email": "anna@Example.org"}), annotation(2, 4))]
    )
    assert {who for _, who in verdicts(batched)} == {
        "annotator-02",
        make_pseudonym(4, read_or_create_salt(DatasetFolders())),
    }


def test_pulled_annotator_is_recognised_by_annotation_id(batched, tmp_path):
    batched.parent.mkdir(parents=True, exist_ok=True)
    batched.write_text(json.dumps([pulled("t1", annotation(1, "annotator-02"))]))
    take_in(tmp_path, [exported("t1", annotation(1, 3)), exported("t2", annotation(2, 3))])
    assert verdicts(batched).keys() == {("t1", "annotator-02"), ("t2", "annotator-02")}
    assert len(read_pulled(batched)) == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[{", "not valid JSON"),
        ("", "the file is empty or"),
        ('[{"data": ' + '{"a": ' * 100_000, "nested too deeply"),
        ([{"task": "t1", "image": "x", "first": "valid"}], "Object missing required field `data`"),
        ([{"data": {"text": "x"}, "annotations": []}], "1 row without the key `task`"),
        ({"data": {}}, "Expected `array`, got `object`"),
        (
            [exported("t1", annotation(1, 1, first="maybe"))],
            "unknown labels: `first`: 'maybe', `second`: 'invalid'",
        ),
        ([exported("old", annotation(1, 1))], "none is of a task of this batch"),
    ],
)
def test_invalid_export_is_refused_and_nothing_is_written(batched, tmp_path, content, message):
    good = [exported("t2", annotation(9, 9))] if "batch" not in message else []
    with pytest.raises(UserError, match=message.replace("`", ".")):
        take_in(tmp_path, content, good)
    assert not batched.exists()


def test_unknown_reason_is_refused(batched, tmp_path):
    result = [chosen("first", "invalid"), chosen("second", "valid"), chosen("first_reason", "aliens")]
    with pytest.raises(UserError, match="`first_reason`: 'aliens'"):
        take_in(tmp_path, [exported("t1", annotation(1, 1, result=result))])


def test_contradicting_export_is_refused_with_a_list(batched, tmp_path):
    rows = [exported(key, annotation(number, 3)) for number, key in enumerate(TASKS, 1)]
    take_in(tmp_path, rows)
    before = batched.read_bytes()
    flipped = [
        exported(key, annotation(n, 3, first="invalid", second="valid")) for n, key in enumerate(TASKS, 1)
    ]
    with pytest.raises(UserError) as caught:
        take_in(tmp_path, flipped)
    assert caught.value.problems[0] == "import (nothing was written): 3 problems"
    assert [line.split(":")[0] for line in caught.value.problems[1:]] == ["task t1", "task t2", "task t3"]
    assert batched.read_bytes() == before


def test_person_with_two_pseudonyms_is_reported(batched, tmp_path):
    batched.parent.mkdir(parents=True, exist_ok=True)
    rows = [pulled("t1", annotation(1, "annotator-01")), pulled("t2", annotation(2, "annotator-02"))]
    batched.write_text(json.dumps(rows))
    with pytest.raises(UserError, match="has several pseudonyms in pulled.json: annotator-01, annotator-02"):
        take_in(tmp_path, [exported("t1", annotation(1, 3)), exported("t2", annotation(2, 3))])


def test_exports_in_the_annotations_folder_must_be_moved(batched, capsys):
    batched.parent.mkdir(parents=True, exist_ok=True)
    path = batched.with_name("export.json")
    path.write_text(json.dumps([exported("t1", annotation(1, 3))]))
    import_exports([path])
    assert "move the imported files out of" in capsys.readouterr().out
    assert task("a").task_id == "a"


def test_unknown_annotator_gives_nobody_a_pseudonym(batched, tmp_path):
    batched.parent.mkdir(parents=True, exist_ok=True)
    batched.write_text(json.dumps([pulled("t1", annotation(1, None))]))
    take_in(tmp_path, [exported("t1", annotation(1, 3)), exported("t2", annotation(2, 3))])
    assert verdicts(batched).keys() == {
        ("t1", "unknown"),
        ("t2", make_pseudonym(3, read_or_create_salt(DatasetFolders()))),
    }


def test_backup_does_not_restore_erased_annotators(batched, tmp_path, capsys):
    write_json(
        DatasetFolders().study / "erased.json",
        {
            "annotator-01": "2026-01-01",
            make_pseudonym(3, read_or_create_salt(DatasetFolders())): "2026-01-01",
        },
    )
    backup = exported("t1", annotation(1, "annotator-01"), annotation(2, "annotator-02"), annotation(3, 3))
    take_in(tmp_path, [backup])
    assert [row.completed_by for row in read_pulled(batched).values()] == ["annotator-02"]
    assert "import: 2 annotations skipped: their annotators were erased" in capsys.readouterr().out
