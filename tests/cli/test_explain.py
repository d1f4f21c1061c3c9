"""`rgqa explain`: the provenance of one question."""

import subprocess
import sys

import pytest

from annotation.study.quality_control import ExcludedAnswer
from pipeline.benchmark.release.provenance import Provenance
from pipeline.cli.explain import explain_item
from pipeline.core.errors import UserError
from pipeline.core.json_files import read_jsonl
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import DroppedCandidate, Task, Verdict
from tests.closure import ROOT


@pytest.fixture
def release(tiny_run, monkeypatch):
    monkeypatch.chdir(tiny_run)
    return tiny_run / "data/release/tiny/0.1.0"


def items(release):
    return [row.item for row in read_jsonl(release / "provenance.jsonl", Provenance)]


def test_explain_prints_the_provenance_of_an_item(release):
    item = next(item for item in items(release) if item.subset == "clip-easy" and item.unanswerable)
    text = "\n".join(explain_item(item.item_id, DatasetFolders()))
    for fragment in (
        item.text,
        "CLIP       score",
        "evidence",
        "estimate   answerable with probability",
        f"%; difficulty {item.difficulty}",
        "votes",
        "simulated",
        "released   clip-easy",
        item.pair_id,
    ):
        assert fragment in text
    edited = next(item for item in items(release) if item.edits)
    text = "\n".join(explain_item(edited.item_id, DatasetFolders()))
    assert f"{edited.edits[0].old!r} -> {edited.edits[0].new!r}" in text
    assert f"CLIP       score {edited.score:.4f}\n" in text


@pytest.mark.parametrize("prefix", ["clipeasy_nosuch+", "x+", "+", "pthard_n1+"])
def test_a_candidate_that_does_not_exist_has_no_history_of_another(release, prefix):
    source = next(item for item in items(release) if item.unanswerable).question_id
    with pytest.raises(UserError, match=f"no such candidate .*rgqa explain {source} lists"):
        explain_item(f"{prefix}{source}", DatasetFolders())
    assert explain_item(source, DatasetFolders())


def test_explain_of_an_unknown_id_is_an_error_without_traceback(release):
    done = subprocess.run(
        [sys.executable, "-m", "pipeline.cli", "explain", "nope"],
        capture_output=True,
        text=True,
        check=False,
        cwd=release.parents[3],
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: nope: no such question or item") and "Traceback" not in done.stderr


def test_explain_says_why_a_candidate_was_dropped(release):
    dropped = next(read_jsonl(DatasetFolders().stage_dir("screen") / "dropped.jsonl", DroppedCandidate))
    text = "\n".join(explain_item(dropped.candidate_id, DatasetFolders()))
    assert f"dropped    by screen: {dropped.reason}" in text and "released" not in text


def test_explain_of_an_answerable_item_names_its_pair(release):
    item = next(item for item in items(release) if not item.unanswerable)
    text = "\n".join(explain_item(item.item_id, DatasetFolders()))
    assert f"answerable, {item.answer!r}; pair {item.pair_id}" in text


@pytest.mark.parametrize("position", ["first", "second"])
def test_explain_says_which_question_of_a_task_was_the_candidate(release, position):
    other = {"first": "second", "second": "first"}[position]
    uqs = {item.item_id for item in items(release) if item.unanswerable}
    task = next(t for t in DatasetFolders().read_records(Task) if getattr(t, position).candidate_id in uqs)
    verdict = next(v for v in DatasetFolders().read_records(Verdict) if v.task_id == task.task_id)
    text = "\n".join(explain_item(getattr(task, position).candidate_id, DatasetFolders()))
    assert f"{task.task_id}: it is the {position} question" in text
    assert (
        f"{verdict.annotator}: {getattr(verdict, position)}; other question: {getattr(verdict, other)}\n"
        in text
    )


def test_explain_says_which_verdicts_do_not_count_and_why(release):
    uqs = {item.item_id for item in items(release) if item.unanswerable}
    excluded = next(
        row
        for row in read_jsonl(
            DatasetFolders().stage_dir("collect") / "excluded_answers.jsonl", ExcludedAnswer
        )
        if row.candidate_id in uqs
    )
    text = "\n".join(explain_item(excluded.candidate_id, DatasetFolders()))
    assert f"(excluded: {excluded.reason}); other question:" in text
    assert text.count("(excluded: ") < text.count("verdict  ")
