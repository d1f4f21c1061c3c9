"""Test on real servers how messages of the annotation page are stored."""

from __future__ import annotations

import json
import os
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from annotation.client.pull import pull_annotations
from annotation.study.exports import read_pulled, to_verdicts
from annotation.study.roster import read_roster
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import Task
from tests.annotation.server.conftest import PageClient, Studio, annotations, run_inside, with_known

pytestmark = pytest.mark.server


def test_answers_corrections_and_skips_become_annotations(studio: Studio) -> None:
    client = studio.open_page("cyd")
    first = client.step({})
    second = client.answer(first, "invalid", "valid", first_reason="missing object", seconds=0.001)
    assert (second["assignment"], second["previous_assignment"]) == (2, 1)
    third = client.step({"skip": {"assignment": 2}})
    assert (third["assignment"], third["previous_assignment"]) == (3, 2)
    again = client.step({"reopen": 1})
    assert again["answer"] == {
        "first": "invalid",
        "second": "valid",
        "first_reason": "missing object",
        "second_reason": "",
    }
    assert client.answer(again, "unsure", "invalid")["assignment"] == 3
    taken_up = client.step({"reopen": 2})
    assert taken_up["answer"] is None and client.answer(taken_up, "valid", "unsure")["assignment"] == 3
    one, two, corrected = annotations(studio, "cyd")
    assert (one["said"], one["skipped"], one["seconds"]) == (
        {"first": "invalid", "second": "valid", "first_reason": "missing object"},
        False,
        0.001,
    )
    # A skipped task that is taken up again is no correction.
    assert (two["said"], two["skipped"]) == ({"first": "valid", "second": "unsure"}, False)
    # Both versions of the first answer are kept.
    assert (corrected["key"], corrected["seconds"]) == (one["key"], 0.001)
    assert corrected["said"] == {"first": "unsure", "second": "invalid"}
    assert client.post({"skip": {"assignment": 1}}).status_code == 409  # a slip on Skip takes no answer back


def test_seconds_are_limited_by_server_time(studio: Studio) -> None:
    client = studio.open_page("dan")
    client.answer(client.answer(client.step({})), seconds=80_000)
    assert 0 < annotations(studio, "dan")[1]["seconds"] < 60


@pytest.mark.parametrize(
    "wrong",
    [
        {"first": "yes"},
        {"second": None},
        {"first": ["valid"]},
        {"seconds": -1},
        {"seconds": 86_401},
        {"seconds": "3"},
        {"seconds": None},
        {"seconds": True},
        {"first_reason": "missing object"},  # of a valid question
        {"first": "invalid", "first_reason": "no such reason"},
        {"completed_by": 1},
        {"task": 1},
    ],
)  # fmt: skip
def test_invalid_answer_changes_nothing(studio: Studio, wrong: dict) -> None:
    client = studio.open_page("dan")
    before, place = annotations(studio, "dan") if wrong == {"task": 1} else [], client.step({})["assignment"]
    answer = client.post(
        {"answer": {"assignment": place, "first": "valid", "second": "valid", "seconds": 1} | wrong}
    )
    assert answer.status_code == 400, answer.text
    assert client.step({})["assignment"] == place
    if before:
        assert annotations(studio, "dan") == before


def test_clock_set_back_loses_no_correction_and_gives_no_negative_times(studio: Studio) -> None:
    client = studio.open_page("kim")
    first = client.step({})
    second = client.answer(first, "valid")
    # As if the machine's clock had been ahead by a day until now.
    lines = [
        "from datetime import timedelta",
        "from django.db.models import F",
        "from tasks.models import Annotation",
        "from annotation.server.label_studio_app.models import TaskAssignment",
        "from users.models import User",
        "user, day = User.objects.get(email='kim@rgqa.local'), timedelta(days=1)",
        "Annotation.objects.filter(completed_by=user).update(created_at=F('created_at') + day, updated_at=F('updated_at') + day)",
        "TaskAssignment.objects.filter(user=user.pk).update(opened_at=F('opened_at') + day, answered_at=F('answered_at') + day)",
        "answer = 1",
    ]
    run_inside(studio, "\n".join(lines))
    os.utime(studio.queue)  # the server builds the queue again, as after a start
    pull_annotations()
    time.sleep(1.1)
    client.answer(second, "valid", seconds=1.0)
    client.answer(client.step({"reopen": first["assignment"]}), "invalid")
    pull_annotations()
    tasks = {task.task_id: task for task in DatasetFolders().read_records(Task)}
    (kim,) = (row.pseudonym for row in read_roster(DatasetFolders()) if row.name == "kim")
    pulled = read_pulled(DatasetFolders().annotations / "pulled.json")
    verdicts, _ = to_verdicts(pulled, tasks)
    own = sorted((row for row in verdicts if row.annotator == kim), key=lambda row: row.sequence_index)
    assert [row.first for row in own] == ["invalid", "valid"]
    assert own[1].duration_seconds == 1.0
    assert own[1].seconds_since_previous is not None and 1 < own[1].seconds_since_previous < 100


def test_double_clicks_and_two_tabs_neither_lose_nor_duplicate_answers(studio: Studio) -> None:
    client = studio.open_page("gus")
    tabs = [client, PageClient(studio.url, session=client.session), studio.open_page("gus")]
    place = client.step({})["assignment"]
    said = {"answer": {"assignment": place, "first": "invalid", "second": "valid", "seconds": 1}}
    with ThreadPoolExecutor(12) as pool:
        shown = list(pool.map(lambda turn: tabs[turn % 3].step(said), range(24)))
    assert {row["assignment"] for row in shown} == {place + 1}
    with ThreadPoolExecutor(12) as pool:  # and pages that only ask do not go on
        assert {row["assignment"] for row in pool.map(lambda turn: tabs[turn % 3].step({}), range(24))} == {
            place + 1
        }
    assert [row["said"] for row in annotations(studio, "gus")] == [{"first": "invalid", "second": "valid"}]


def test_training_gives_feedback_and_failed_test_can_be_retaken_once(studio: Studio) -> None:
    content = json.loads(studio.queue.read_text())
    changed = with_known(content, training=1, test=2)
    studio.queue.write_text(json.dumps(changed))
    try:
        client = studio.open_page("hal")
        shown = client.step({})
        assert (shown["screen"], shown["task_number"], shown["set_size"], shown["previous_assignment"]) == (
            "training",
            1,
            1,
            None,
        )
        feedback = client.answer(shown, "valid", "valid")
        assert feedback["screen"] == "feedback"
        assert feedback["expected"] == {"first": "valid", "second": "invalid"}
        assert (
            feedback["is_correct"] == {"first": True, "second": False}
            and feedback["explanation"]["second"] == "no dog"
        )
        shown = client.step({})
        assert (shown["screen"], shown["task_number"], shown["set_size"]) == ("test", 1, 2)
        shown = client.answer(
            shown, "valid", "valid"
        )  # half of it wrong: every task has one valid and one invalid
        failed = client.answer(shown, "valid", "valid")
        assert (failed["screen"], failed["can_retake"]) == ("test_failed", True)
        assert (
            client.post({"reopen": shown["assignment"]}).status_code == 404
        )  # the test's answers stay as they are
        shown = client.step({"retake_test": True})
        assert (shown["screen"], shown["task_number"], shown["set_size"]) == ("test", 1, 2)
        for _ in range(2):
            shown = client.answer(shown, "valid", "invalid")
        assert shown["screen"] == "task"
        assert annotations(studio, "hal") == []  # none of this is a verdict
        ivy = studio.open_page("ivy")
        shown = ivy.answer(ivy.step({}), second="valid") and ivy.step({})
        for turn in range(2):
            shown = ivy.answer(ivy.answer(shown, second="valid"), second="valid")
            assert (shown["screen"], shown["can_retake"]) == ("test_failed", turn == 0)
            shown = ivy.step({"retake_test": True})
        assert shown["screen"] == "test_failed"
    finally:
        studio.queue.write_text(json.dumps(content))


def test_tables_are_created_once_and_have_unique_rows(studio: Studio) -> None:
    lines = [
        "from django.db import IntegrityError, connection, transaction",
        "from django.utils.timezone import now",
        "from annotation.server.label_studio_app.models import Participant, TaskAssignment, ensure_tables",
        "ensure_tables()",
        "ensure_tables()",
        "row = {'user': 10**9, 'dataset': 'x', 'number': 1, 'kind': 'task', 'key': 'a', 'opened_at': now()}",
        "def twice(model, **fields):",
        "    try:",
        "        with transaction.atomic():",
        "            model.objects.create(**fields)",
        "    except IntegrityError:",
        "        return 'refused'",
        "TaskAssignment.objects.create(**row)",
        "Participant.objects.create(user=10**9, dataset='x')",
        "answer = [twice(TaskAssignment, **row | {'key': 'b'}), twice(TaskAssignment, **row | {'number': 2}), twice(Participant, user=10**9, dataset='x')]",
        "TaskAssignment.objects.filter(user=10**9).delete()",
        "Participant.objects.filter(user=10**9).delete()",
    ]
    assert run_inside(studio, "\n".join(lines)) == ["refused"] * 3


def test_concurrent_answers_are_all_stored(studio: Studio) -> None:
    def answer(client: PageClient) -> None:
        shown = client.step({})
        for _ in range(3):
            shown = client.answer(shown)

    names = ("fay", "joe", "kim", "lea")
    before = {name: len(annotations(studio, name)) for name in names}
    with ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(answer, [studio.open_page(name) for name in names]))
    assert {name: len(annotations(studio, name)) - before[name] for name in names} == dict.fromkeys(names, 3)
