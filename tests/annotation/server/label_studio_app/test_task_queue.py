"""Test on real servers which annotator gets which task."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from tests.annotation.server.conftest import Studio, report, run_inside

pytestmark = pytest.mark.server


def test_every_task_gets_its_votes_from_different_annotators(studio: Studio) -> None:
    # Two votes each (overlap 1): whoever is left finishes the study.
    people = [studio.open_page(name) for name in ("joe", "kim", "lea")]
    shown = [client.step({}) for client in people]
    for _ in range(110):
        for number, client in enumerate(people):
            if shown[number]["screen"] == "task":
                shown[number] = client.answer(shown[number])
    lines = [
        "from tasks.models import Annotation",
        "rows = Annotation.objects.filter(was_cancelled=False).exclude(completed_by__email='olga@rgqa.local')",
        "answer = [[row.task.data['task'], row.completed_by.email] for row in rows]",
    ]
    # A correction is a further annotation of the same annotator. Olga annotates another data set (`test_observer`).
    pairs = {tuple(pair) for pair in run_inside(studio, "\n".join(lines))}
    careful = {f"{client}@rgqa.local" for client in ("joe", "kim", "lea")}
    votes = Counter(key for key, email in pairs if email in careful)
    # What others hold open or answered may have had fewer of theirs.
    assert max(votes.values()) <= 2 and sum(count == 2 for count in votes.values()) >= 70
    assert {row["screen"] for row in shown} <= {"thanks", "wait"}
    assert report(studio)["assignment_states"]["answered"] == len(pairs)


def test_exclusions_and_discarded_gold_questions_are_applied(studio: Studio) -> None:
    content = json.loads(studio.queue.read_text())
    keys = [row["key"] for row in content["tasks"]]
    studio.queue.write_text(
        json.dumps(content | {"excluded_since": {"ben@rgqa.local": 0}, "discarded_tasks": keys[:50]})
    )
    try:
        shown = studio.open_page("ben").step({})
        assert shown["screen"] == "thanks"
        # Tasks with a discarded gold question are still assigned.
        assert report(studio)["tasks"]["num_tasks"] == 100
    finally:
        studio.queue.write_text(json.dumps(content))
    # Ben is no longer excluded. If the others have given all votes, he gets no task, but another message.
    assert studio.open_page("ben").step({}).get("message") != shown["message"]
