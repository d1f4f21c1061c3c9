"""Training questions are read one by one."""

import json

import pytest

from pipeline.core.errors import UserError
from pipeline.sources.training_questions import TrainingQuestion, read_training_questions


def row(image="n1", **changes):
    return {"imageId": image, "question": "Is it red?", "answer": "yes", "isBalanced": True, **changes}


def test_files_and_folders_are_read_and_other_fields_are_skipped(tmp_path):
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / "1.json").write_text(json.dumps({"02": row("n2")}))
    (tmp_path / "all" / "0.json").write_text(json.dumps({"01": row(entailed=["x"])}))
    found = [*read_training_questions(tmp_path / "all")]
    assert found == [TrainingQuestion("n1", "Is it red?", "yes"), TrainingQuestion("n2", "Is it red?", "yes")]
    assert [*read_training_questions(tmp_path / "all" / "1.json")] == found[1:]


def test_all_problems_are_reported_at_the_end(tmp_path):
    path = tmp_path / "train.json"
    path.write_text(json.dumps({"1": row(), "2": row(answer=3), "3": {"imageId": "n1"}}))
    found = read_training_questions(path)
    assert next(found).text == "Is it red?"
    with pytest.raises(UserError, match=r"2 problems\n.*question 2: .*\n.*question 3: "):
        next(found)


@pytest.mark.parametrize(
    ("content", "message"), [("{}", "none; expected"), ("[1", "not valid|expected"), ("", "empty")]
)
def test_files_without_questions_are_refused(content, message, tmp_path):
    path = tmp_path / "train.json"
    path.write_text(content)
    with pytest.raises(UserError, match=message):
        list(read_training_questions(path))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UserError, match="no such file"):
        list(read_training_questions(tmp_path / "train.json"))
