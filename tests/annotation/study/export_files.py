"""Exports of Label Studio for three tasks."""

from annotation.study.exports import (
    read_verdicts,
)
from pipeline.core.records import Task, TaskQuestion

TASKS = {
    key: Task(
        task_id=key,
        image_id="n1",
        subset="clip-hard",
        first=TaskQuestion(key="1", text="candidate", role="candidate", candidate_id=key),
        second=TaskQuestion(key="2", text="gold question", role="gold", expected_choice="valid"),
    )
    for key in ("t1", "t2", "t3")
}


def chosen(name, choice):
    return {
        "id": "x",
        "type": "choices",
        "from_name": name,
        "to_name": "image",
        "origin": "manual",
        "value": {"choices": [choice]},
    }


def annotation(number, person, first="valid", second="invalid", **more):
    """An annotation as Label Studio 1.23 exports it, with what it writes beside what we read."""
    return {
        "id": number,
        "completed_by": person,
        "result": [chosen("first", first), chosen("second", second)],
        "was_cancelled": False,
        "ground_truth": False,
        "created_at": f"2025-01-01T00:00:{number:02}Z",
        "updated_at": f"2025-01-01T00:00:{number:02}Z",
        "draft_created_at": None,
        "lead_time": 3.5,
        "prediction": {},
        "unique_id": "u",
        "import_id": None,
        "last_action": None,
        "task": 5,
        "project": 1,
        "updated_by": person if isinstance(person, int) else None,
    } | more


def exported(key, *annotations):
    return {
        "id": 5,
        "annotations": list(annotations),
        "file_upload": "x.json",
        "drafts": [],
        "predictions": [],
        "meta": {},
        "data": {"task": key, "image": "/data/local-files/?d=x.jpg", "first": "a", "second": "b"},
        "inner_id": 1,
        "total_annotations": len(annotations),
        "cancelled_annotations": 0,
    }


def pulled(key, *annotations):
    """A row as `rgqa annotate pull` writes it."""
    kept = ("id", "completed_by", "result", "was_cancelled", "lead_time", "created_at", "updated_at")
    return {"data": {"task": key}, "annotations": [{name: row[name] for name in kept} for row in annotations]}


def verdicts(path):
    return {(row.task_id, row.annotator): (row.first, row.second) for row in read_verdicts(path, TASKS)[0]}
