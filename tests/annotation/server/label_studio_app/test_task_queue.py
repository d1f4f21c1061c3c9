"""On real servers: who is asked what."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from tests.annotation.server.conftest import Studio, report, run_inside

pytestmark = pytest.mark.server


def test_every_task_gets_its_votes_of_different_people_and_no_more(studio: Studio) -> None:
    # Two votes each (overlap 1): whoever is left finishes the study.
    people = [studio.desk(name) for name in ("joe", "kim", "lea")]
    shown = [desk.step({}) for desk in people]
    for _ in range(110):
        for number, desk in enumerate(people):
            if shown[number]["show"] == "task":
                shown[number] = desk.answer(shown[number])
    lines = [
        "from tasks.models import Annotation",
        "rows = Annotation.objects.filter(was_cancelled=False)",
        "answer = [[row.task.data['task'], row.completed_by.email] for row in rows]",
    ]
    pairs = run_inside(studio, "\n".join(lines))
    assert len(pairs) == len({tuple(pair) for pair in pairs})  # nobody twice
    careful = {f"{desk}@rgqa.local" for desk in ("joe", "kim", "lea")}
    votes = Counter(key for key, email in pairs if email in careful)
    # What others hold open or answered may have had fewer of theirs.
    assert max(votes.values()) <= 2 and sum(count == 2 for count in votes.values()) >= 70
    assert {row["show"] for row in shown} <= {"thanks", "wait"}
    assert report(studio)["votes"]["answered"] == len(pairs)


def test_who_is_excluded_or_has_a_fallen_filter(studio: Studio) -> None:
    content = json.loads(studio.queue.read_text())
    keys = [row["key"] for row in content["tasks"]]
    studio.queue.write_text(json.dumps(content | {"excluded": {"ben@rgqa.local": 0}, "fallen": keys[:50]}))
    try:
        assert studio.desk("ben").step({})["show"] == "thanks"
        assert report(studio)["tasks"]["tasks"] == 100  # a task whose filter fell may still be asked
    finally:
        studio.queue.write_text(json.dumps(content))
    assert studio.desk("ben").step({})["show"] in ("task", "wait")  # wait: the others have given all votes
