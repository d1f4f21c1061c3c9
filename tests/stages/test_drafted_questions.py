"""Questions that a model drafted, from their annotation tasks to the card of the release."""

import json
import shutil

import msgspec
import pytest
import yaml

from pipeline.benchmark.balancing.pairing import AQ_NOT_CONFIRMED
from pipeline.benchmark.release.check_release import check_release
from pipeline.benchmark.release.provenance import UNJUDGED_WARNING, Provenance
from pipeline.core.json_files import read_json, read_jsonl, write_json, write_jsonl
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import (
    DRAFTED_AQ,
    CollectedCandidate,
    DroppedCandidate,
    GoldQuestionCheck,
    Question,
    Task,
)
from pipeline.stages import audit, balance, batch, collect, release

UNJUDGED = "answerable according to net, judged by nobody"


@pytest.fixture
def drafted(tiny_run, tmp_path, monkeypatch):
    """A copy of the tiny project in which a model has drafted all questions. Returns a function that runs stages."""
    shutil.copytree(tiny_run, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    folders = DatasetFolders()
    shutil.rmtree(folders.release_dir("0.1.0"))
    path = folders.record_file(Question)
    rows = [msgspec.structs.replace(row, drafted_by="net") for row in read_jsonl(path, Question)]
    write_jsonl(path, rows)
    report = folders.stage_dir("ingest") / "ingest.json"
    write_json(report, read_json(report) | {"drafted": {"net": {"questions": len(rows)}}})

    def run(*stages, **params):
        document = yaml.safe_load((tmp_path / "params.yaml").read_text())
        for name, values in params.items():
            document["tiny"].setdefault(name, {}).update(values)
        (tmp_path / "params.yaml").write_text(yaml.safe_dump(document))
        for stage in stages:
            stage.main()

    return run


def read_rows(kind, name=None):
    folders = DatasetFolders()
    return list(read_jsonl(folders.stage_dir(name) if name else folders.record_file(kind), kind))


def test_only_questions_that_annotators_confirmed_become_aqs(drafted):
    drafted(batch, collect, balance, audit, release)
    tasks = read_rows(Task)
    asked = {
        row.question_id
        for task in tasks
        if task.subset == DRAFTED_AQ
        for row in (task.first, task.second)
        if row.role == "candidate"
    }
    judged = read_rows(CollectedCandidate)
    assert asked == {row.candidate.question_id for row in judged}
    # A drafted question is no candidate of the benchmark: it is neither verified nor dropped.
    assert DRAFTED_AQ not in {row.candidate.subset for row in judged}
    checks = {row.question_id: row.status for row in read_rows(GoldQuestionCheck)}
    assert asked <= checks.keys()
    items = [
        row.item for row in read_jsonl(DatasetFolders().release_dir("0.1.0") / "provenance.jsonl", Provenance)
    ]
    aqs = [item for item in items if not item.unanswerable]
    assert aqs and all(checks[item.item_id] == "verified" and not item.unjudged for item in aqs)
    counts = read_json(DatasetFolders().stage_dir("balance") / "balance.json")["drafted_questions"]
    statuses = [checks[key] for key in asked]
    assert counts["confirmed"] == statuses.count("verified") and counts["rejected"] == statuses.count(
        "refuted"
    )
    assert sum(counts.values()) == len(asked) and counts["unasked"] == 0
    assert (
        read_json(DatasetFolders().stage_dir("collect") / "collect.json")["candidates"][DRAFTED_AQ][
            "answerable"
        ]
        == counts["confirmed"]
    )
    home = DatasetFolders().release_dir("0.1.0")
    card = (home / "README.md").read_text()
    assert "**A model wrote answerable questions.**" in card
    assert f"{counts['confirmed']} have an answer, " in card and "judged by nobody" not in card
    assert check_release(home)


def test_drafts_that_an_earlier_round_decided_are_not_asked_again(drafted):
    drafted(batch, collect, balance)
    folders = DatasetFolders()
    before = {row.question_id: row.status for row in read_rows(GoldQuestionCheck)}
    counts = read_json(folders.stage_dir("balance") / "balance.json")["drafted_questions"]
    judged = [
        row
        for row in read_rows(CollectedCandidate, "collect/drafted.jsonl")
        if row.status in ("answerable", "unanswerable")
    ]
    decided = {row.candidate.question_id: row for row in judged}
    assert decided
    write_jsonl(folders.rounds / "1.jsonl", judged)
    drafted(batch)
    tasks = read_rows(Task)
    asked = {
        row.question_id
        for task in tasks
        if task.subset == DRAFTED_AQ
        for row in (task.first, task.second)
        if row.role == "candidate"
    }
    assert not asked & decided.keys()
    # Their verdicts are known, so as gold questions of their images they need no confirmation.
    judged_texts = {(row.candidate.image_id, row.candidate.text): row.status for row in judged}
    shown = [
        (row, judged_texts[task.image_id, row.text])
        for task in tasks
        for row in (task.first, task.second)
        if row.role == "gold" and (task.image_id, row.text) in judged_texts
    ]
    assert {row.gold_source for row, _ in shown} == {"verified candidate"}
    choices = {"answerable": "valid", "unanswerable": "invalid"}
    assert all(row.expected_choice == choices[status] for row, status in shown)
    drafted(collect, balance)
    after = {row.question_id: row.status for row in read_rows(GoldQuestionCheck)}
    assert {key: after[key] for key in decided} == {key: before[key] for key in decided}
    again = read_json(folders.stage_dir("balance") / "balance.json")["drafted_questions"]
    assert again["unasked"] == 0 and again["confirmed"] >= counts["confirmed"]


def test_refuted_and_unasked_drafts_are_no_aqs(drafted, capsys):
    drafted(batch, collect)
    path = DatasetFolders().record_file(GoldQuestionCheck)
    rows = read_rows(GoldQuestionCheck)
    drafted(balance)
    used = {
        row["item_id"]
        for row in map(json.loads, (DatasetFolders().stage_dir("balance") / "items.jsonl").open())
    }
    first, second = [row for row in rows if row.question_id in used][:2]
    write_jsonl(
        path,
        [
            msgspec.structs.replace(row, status="refuted") if row == first else row
            for row in rows
            if row != second
        ],
    )
    drafted(balance)
    left = {
        row["item_id"]
        for row in map(json.loads, (DatasetFolders().stage_dir("balance") / "items.jsonl").open())
    }
    assert not left & {first.question_id, second.question_id}
    counts = read_json(DatasetFolders().stage_dir("balance") / "balance.json")["drafted_questions"]
    assert counts["unasked"] == 1 and counts["rejected"] >= 1
    assert AQ_NOT_CONFIRMED in {row.reason for row in read_rows(DroppedCandidate, "balance/unpaired.jsonl")}
    assert "1 question that a model drafted cannot be used as an AQ" in capsys.readouterr().err


def test_without_confirmation_every_row_and_the_card_say_that_nobody_judged(drafted):
    drafted(batch, batch={"ask_drafted": False})
    assert DRAFTED_AQ not in {task.subset for task in read_rows(Task)}
    drafted(collect, balance, audit, release, balance={"require_confirmation": False})
    home = DatasetFolders().release_dir("0.1.0")
    provenance = list(read_jsonl(home / "provenance.jsonl", Provenance))
    checks = {row.question_id: row for row in read_rows(GoldQuestionCheck)}
    marked = {row.item.item_id for row in provenance if row.item.unjudged}
    # A question that served as a gold question was judged.
    unasked = {row.item.item_id for row in provenance if not row.item.unanswerable} - checks.keys()
    assert unasked and unasked <= marked
    for path in (home / "rgqa").glob("*.json"):
        for row in json.loads(path.read_text()):
            assert row["canary"].find(UNJUDGED_WARNING) > 0
            assert row.get("unjudged") == (UNJUDGED if row["question_id"] in unasked else row.get("unjudged"))
            assert ("unjudged" in row) == (row["question_id"] in marked)
    card = (home / "README.md").read_text()
    assert f"{len(unasked)} AQs are {UNJUDGED}" in card or f"{len(unasked)} AQ is {UNJUDGED}" in card
    assert f"No annotator confirmed that {len(marked)} of the AQs have an answer" in card
    assert check_release(home)


def test_questions_of_people_change_nothing(tiny_run, tmp_path, monkeypatch):
    shutil.copytree(tiny_run, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    before = (DatasetFolders().stage_dir("balance") / "items.jsonl").read_bytes()
    balance.main()
    assert (DatasetFolders().stage_dir("balance") / "items.jsonl").read_bytes() == before
    assert b"unjudged" not in before
    assert "drafted_questions" not in read_json(DatasetFolders().stage_dir("balance") / "balance.json")
