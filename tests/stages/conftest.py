"""Exports of verdicts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

BEGIN = datetime(2025, 1, 1, tzinfo=UTC)


def export(tasks, choose):
    """What was pulled if annotators 1, 2 and 3 answered everything as `choose(person, question)` says."""

    def result(name, choice):
        return {"from_name": name, "to_name": "image", "type": "choices", "value": {"choices": [choice]}}

    return [
        {
            "id": i,
            "data": {"task": task.task_id},
            "annotations": [
                {
                    "id": 10 * i + who,
                    "completed_by": f"annotator-{who:02}",
                    "was_cancelled": False,
                    "created_at": (BEGIN + timedelta(seconds=20 * i)).isoformat(),
                    "result": [
                        result("first", choose(who, task.first)),
                        result("second", choose(who, task.second)),
                    ],
                }
                for who in (1, 2, 3)
            ],
        }
        for i, task in enumerate(tasks)
    ]
