import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pipeline.core.errors import UserError
from pipeline.inference.answer_distributions import encode_distribution, read_distributions
from pipeline.inference.run_folder import ANSWER_VOCABULARY_FILE, RunFolder

SETTINGS = {"model": "net", "confidence": {"name": "verbalized", "hash": "1"}, "limit": 0}


def row(name, *more, failure="", confidence=0.5):
    return {
        "id": name,
        "item_ids": [name, *more],
        "prediction": f"é {name}",
        "confidence": confidence,
        "failure": failure,
    }


@pytest.fixture
def folder(tmp_path):
    run = RunFolder(tmp_path / "run")
    with run.hold_lock():
        assert run.load_previous(SETTINGS) == {}
        run.write_json("run.json", SETTINGS)
        yield run


def opened(folder, settings=SETTINGS):
    again = RunFolder(folder.path)
    before = again.load_previous(settings)
    return before, again.rows


def test_rows_are_loaded_again(folder):
    folder.append_row(row("a"))
    folder.append_row(row("b", "c"))
    assert opened(folder) == (SETTINGS, [row("a"), row("b", "c")])


def test_a_lone_surrogate_is_replaced(folder):
    # A lone surrogate, and a complete pair.
    folder.append_row(row("a") | {"prediction": "red \ud83d", "raw_replies": ["\ud83d\ude00"]})
    _, rows = opened(folder)
    assert rows == folder.rows == [row("a") | {"prediction": "red \ufffd", "raw_replies": ["\U0001f600"]}]
    assert folder.write_predictions(["a"]) == 1


def test_a_distribution_is_written_from_the_journal(folder):
    folder.append_row(row("a", "c") | {"distribution": encode_distribution(np.array([0.25, 0.5]))})
    folder.append_row(row("b"))
    folder.write_distribution(["c", "a"])  # a model that names no answers
    assert not (folder.path / "distribution.npz").exists()
    folder.write_json(ANSWER_VOCABULARY_FILE, ["yes", "no"])
    folder.write_distribution(["c", "none", "b", "a"])
    answers, rows = read_distributions(folder.path / "distribution.npz")
    assert answers == ["yes", "no"] and {name: row.tolist() for name, row in rows.items()} == {
        "c": [0.25, 0.5],
        "a": [0.25, 0.5],
    }


def test_another_file_named_answers_jsonl_is_one_message(folder):
    (folder.path / "answers.jsonl").write_text('{"a": 1}\n')
    with pytest.raises(UserError, match="answers.jsonl: "):
        opened(folder)


def test_an_incomplete_last_line_is_dropped_and_the_next_row_is_complete(folder):
    folder.append_row(row("a"))
    path = folder.path / "answers.jsonl"
    path.write_bytes(path.read_bytes() + json.dumps(row("b"), ensure_ascii=False).encode()[:-9])
    _, rows = opened(folder)
    assert rows == [row("a")]
    folder.append_row(row("b"))
    assert opened(folder)[1] == [row("a"), row("b")]


def test_other_settings_are_rejected_with_the_differences(folder):
    folder.append_row(row("a"))
    with pytest.raises(UserError) as error:
        opened(folder, SETTINGS | {"limit": 5, "confidence": {"name": "verbalized", "hash": "2"}})
    assert error.value.problems[1:] == ['confidence hash was "1", now "2"', "limit was 0, now 5"]


def test_other_settings_are_accepted_without_replies(folder):
    assert opened(folder, SETTINGS | {"limit": 5}) == ({}, [])


def test_predictions_are_in_the_given_order_with_all_items_of_a_sample(folder):
    for one in (row("c"), row("a", "d"), row("b", failure="truncated: no answer", confidence=None)):
        folder.append_row(one)
    assert folder.write_predictions(["a", "b", "c", "d", "e"]) == 3
    lines = (folder.path / "predictions.jsonl").read_text().splitlines()
    assert [json.loads(line)["questionId"] for line in lines] == ["a", "c", "d"]
    assert lines[2] == '{"questionId": "d", "prediction": "é a", "confidence": 0.5}'


def test_another_process_cannot_use_the_folder(folder):
    code = (
        "from pathlib import Path; import sys; from pipeline.inference.run_folder import RunFolder\n"
        "with RunFolder(Path(sys.argv[1])).hold_lock(): pass"
    )
    done = subprocess.run([sys.executable, "-c", code, str(folder.path)], capture_output=True, text=True)
    assert done.returncode == 1 and "another run is using this folder" in done.stderr


def failed_start(path):
    with pytest.raises(UserError, match="no server"), RunFolder(path).hold_lock():
        raise UserError("no server")


def test_folders_that_a_failed_start_created_are_removed(tmp_path):
    failed_start(tmp_path / "runs" / "net")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("linked", [False, True])
def test_a_folder_of_the_user_stays_unchanged(tmp_path, linked):
    mine = tmp_path / "mine"
    mine.mkdir()
    given = tmp_path / "link" if linked else mine
    if linked:
        given.symlink_to(mine)
    failed_start(given)
    assert list(mine.iterdir()) == []
    failed_start(given / "runs" / "net")  # what is below is made, and removed
    assert list(mine.iterdir()) == []
    (mine / "notes.txt").write_text("mine")
    failed_start(given)
    failed_start(given / "net")
    assert [path.name for path in mine.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("name", ["run.json", "answers.jsonl", "predictions.jsonl", "scores.json", "plots"])
@pytest.mark.parametrize("text", ["[]", '{"name": "mine"}', "no JSON", '{"id": "a"}\n{"id": "cut'])
def test_files_that_a_run_did_not_write_are_not_replaced(tmp_path, name, text):
    run = RunFolder(tmp_path)
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match=name), run.hold_lock():
        run.load_previous(SETTINGS)
    assert (tmp_path / name).read_text() == text and [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("place", ["/proc/x", "/dev/null", "/dev/null/x", "file/x", "x" * 300])
def test_a_path_where_no_folder_can_be_created_is_one_message(tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="--out") as error, RunFolder(Path(place)).hold_lock():
        pass
    assert len(error.value.problems) == 1 and [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_file_instead_of_a_folder_is_one_message(tmp_path):
    (tmp_path / "run").write_text("")
    with (
        pytest.raises(UserError, match="wanted a folder, found a file"),
        RunFolder(tmp_path / "run").hold_lock(),
    ):
        pass


def test_after_two_failed_writes_the_journal_is_whole(folder, monkeypatch):
    folder.append_row(row("a"))

    class Full(io.FileIO):
        is_full = True

        def write(self, data):
            return super().write(data[:10] if self.is_full else data)

    folder._journal.close()
    folder._journal = Full(folder.path / "answers.jsonl", "a")
    for name in ("b", "c"):
        with pytest.raises(OSError, match="No space left"):
            folder.append_row(row(name))
    folder._journal.is_full = False
    folder.append_row(row("d"))
    assert opened(folder)[1] == [row("a"), row("d")]


def test_a_full_disk_leaves_no_incomplete_line(folder, monkeypatch):
    folder.append_row(row("a"))

    class Full(io.FileIO):
        def write(self, data):
            return super().write(data[:10])

    path = folder.path / "answers.jsonl"
    folder._journal.close()
    folder._journal = Full(path, "a")
    with pytest.raises(OSError, match="No space left"):
        folder.append_row(row("b"))
    monkeypatch.undo()
    assert opened(folder)[1] == [row("a")]
