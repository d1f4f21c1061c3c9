"""Test changes during a study on a real server, which is emptied before each test."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests

from annotation.client.erase import erase_annotator
from annotation.client.pull import pull_annotations
from annotation.client.push import push_tasks
from annotation.client.volunteers import open_link_file
from annotation.server.accounts import format_links, update_roster
from annotation.study.answers_table import build_answers_table
from annotation.study.exports import read_verdicts
from annotation.study.quality_control import measure_gold_accuracy
from annotation.study.roster import read_roster
from pipeline.core.json_files import read_json
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import Task
from tests.annotation.conftest import made_task
from tests.annotation.server.conftest import (
    PageClient,
    Studio,
    as_known,
    form_token,
    postgresql,
    report,
    served,
    with_known,
)

pytestmark = pytest.mark.server


@contextmanager
def few_tasks(folder: Path) -> Iterator[Studio]:
    """A server with 40 tasks of two votes each."""
    with served(folder, [made_task(number) for number in range(40)], ("ann", "ben")) as studio:
        update_roster(["exa"], adjudicator=True)
        yield studio


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """Such a server on SQLite."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("RGQA_ANNOTATE_DATABASE", raising=False)
        with few_tasks(tmp_path_factory.mktemp("few")) as studio:
            yield studio


@pytest.fixture
def studio(few: Studio) -> Iterator[Studio]:
    """The same, with nobody's answers; queue.json is put back at the end."""
    before = few.queue.read_text()
    for table in ("task_completion", "rgqa_task_assignment", "rgqa_participant"):
        sql(few, f"DELETE FROM {table}")
    change(few)
    yield few
    few.queue.write_text(before)


@pytest.fixture(params=["sqlite", "postgresql"])
def either_studio(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Studio]:
    """The same, and then a new server on PostgreSQL, for tests that do not use `sql`."""
    if request.param == "sqlite":
        yield request.getfixturevalue("studio")
        return
    with pytest.MonkeyPatch.context() as patch, postgresql() as address:
        patch.setenv("RGQA_ANNOTATE_DATABASE", address)
        with few_tasks(tmp_path_factory.mktemp("few-postgresql")) as studio:
            yield studio


def sql(studio: Studio, command: str) -> list[Any]:
    """The first column of what a command gives, past the server: its Python takes seconds to start."""
    with (
        closing(
            sqlite3.connect(studio.folder / "data/label-studio/label_studio.sqlite3", timeout=30)
        ) as base,
        base,
    ):
        return [row[0] for row in base.execute(command)]


def later(studio: Studio, hours: int) -> None:
    """As if so much time had passed since tasks were opened."""
    sql(studio, f"UPDATE rgqa_task_assignment SET opened_at = datetime(opened_at, '-{hours} hours')")


def said(studio: Studio, name: str) -> list[str]:
    """Return the first choice of each annotation of an annotator, in the order of creation; "skipped" for skips."""
    who = f"SELECT id FROM htx_user WHERE email = '{name}@rgqa.local'"
    rows = sql(studio, f"SELECT result FROM task_completion WHERE completed_by_id IN ({who}) ORDER BY id")
    given = [json.loads(row) for row in rows]
    return [row[0]["value"]["choices"][0] if row else "skipped" for row in given]


def held(studio: Studio, name: str) -> str:
    """Return the key of the open task of an annotator."""
    who = f"SELECT id FROM htx_user WHERE email = '{name}@rgqa.local'"
    return sql(studio, f"SELECT key FROM rgqa_task_assignment WHERE state = 'open' AND user IN ({who})")[0]


def change(studio: Studio, **parts: Any) -> dict[str, Any]:
    """Change parts of queue.json, or of its rules, as a push does; all at once, so that the server rebuilds the queue."""
    content = json.loads(studio.queue.read_text())
    rules = {name: parts.pop(name) for name in list(parts) if name in content["rules"]}
    content |= {**parts, "rules": content["rules"] | rules}
    new = studio.queue.with_suffix(".new")
    new.write_text(json.dumps(content))
    new.replace(studio.queue)
    return content


def test_image_url_differs_by_task_and_annotator(studio: Studio) -> None:
    ann, ben = studio.open_page("ann"), studio.open_page("ben")
    first, other = ann.step({}), ben.step({})
    assert first["assignment"] == other["assignment"] == 1
    # At one browser, one after the other: the address of one must not bring the image kept of the other.
    assert first["image_url"] != other["image_url"]
    key, tasks = held(studio, "ann"), json.loads(studio.queue.read_text())["tasks"]
    ann.step({"is_declined": True})
    change(studio, tasks=[row for row in tasks if row["key"] != key])
    again = ann.agree()
    assert again["image_url"] != first["image_url"]


def test_answer_is_stored_for_the_shown_task_or_refused(studio: Studio) -> None:
    ann, ben = studio.open_page("ann"), studio.open_page("ben")
    place = ann.step({})["assignment"]
    said_twice = {"assignment": place, "first": "invalid", "second": "valid", "seconds": 1}
    other = studio.queue.parents[2] / "other/study/queue.json"  # is pushed later, so that it is theirs now
    other.parent.mkdir(parents=True)
    other.write_text(json.dumps(json.loads(studio.queue.read_text()) | {"dataset": "other"}))
    try:
        now = ann.agree()
        assert now["screen"] == "task" and now["assignment"] != place
        assert ann.post({"answer": said_twice}).status_code == 404
        assert said(studio, "ann") == []
    finally:
        other.unlink()
    key = held(studio, "ann")
    ann.step({"is_declined": True})  # in another tab; ben gets what was hers
    change(studio, tasks=[row for row in json.loads(studio.queue.read_text())["tasks"] if row["key"] != key])
    assert ann.agree()["screen"] == ben.step({})["screen"] == "task"
    assert ann.post({"answer": said_twice}).status_code == 404
    assert said(studio, "ann") == []


def test_annotator_who_declined_has_no_access(studio: Studio) -> None:
    ann = studio.open_page("ann")
    first = ann.step({})
    second = ann.answer(first)
    ann.step({"is_declined": True})
    given = {"first": "invalid", "second": "valid", "seconds": 1}
    for shown in (first, second):
        assert ann.post({"answer": {"assignment": shown["assignment"], **given}}).status_code == 404
        assert ann.post({"reopen": shown["assignment"]}).status_code == 404
        assert ann.session.get(studio.url + shown["image_url"], timeout=60).status_code == 404
    assert said(studio, "ann") == ["valid"]
    assert ann.agree() == second  # who agrees again goes on


def test_link_of_erased_annotator_is_never_reused(studio: Studio) -> None:
    def come(name: str) -> str:
        """A volunteer's link."""
        session, door = requests.Session(), format_links(DatasetFolders(), [])[0].split()[-1]
        token = form_token(session.get(door, timeout=60).text)
        welcome = session.post(door, data={"name": name, "csrfmiddlewaretoken": token}, timeout=60)
        return welcome.text.split('<a href="')[1].split('"')[0].removeprefix(studio.url)

    def invited(name: str) -> str:
        update_roster([name])
        return studio.link(name)

    update_roster([], open_link=True)
    for join in (invited, come):
        before = join("fred")
        PageClient(studio.url, before).agree()
        erase_annotator("fred")
        assert requests.get(studio.url + before, timeout=60).status_code == 403
        after = join("fred")  # another fred
        assert requests.get(studio.url + before, timeout=60).status_code == 403
        assert PageClient(studio.url, after).agree()["screen"] == "task"
        erase_annotator("fred")
    open_link_file(DatasetFolders()).unlink()


def test_seats_of_volunteers_are_limited_per_hour_and_expire_unused(studio: Studio) -> None:
    update_roster([], open_link=True)
    change(studio, is_signup_open=True, max_signups_per_hour=2)
    door = format_links(DatasetFolders(), [])[0].split()[-1]

    def join(name: str) -> tuple[int, str, str]:
        session = requests.Session()
        token = form_token(session.get(door, timeout=60).text)
        answer = session.post(door, data={"name": name, "csrfmiddlewaretoken": token}, timeout=60)
        link = answer.text.split('<a href="')[1].split('"')[0] if answer.ok else ""
        return answer.status_code, answer.text, link.removeprefix(studio.url)

    def hours_pass(hours: int) -> None:
        sql(
            studio,
            f"UPDATE htx_user SET date_joined = datetime(date_joined, '-{hours} hours') WHERE email LIKE '%@volunteer%'",
        )

    assert "reserved for pseudonyms" in join("annotator-01")[1]
    worker, visitor = join("worker")[2], join("visitor")[2]
    client = PageClient(studio.url, worker)
    client.answer(client.agree())
    status, text, _ = join("third")
    assert status == 400 and "Many people have signed up in the last hour" in text
    push_tasks()  # only who has finished a task gets into the roster
    change(studio, max_signups_per_hour=2)
    assert {"worker", "visitor"} & {row.name for row in read_roster(DatasetFolders())} == {"worker"}
    hours_pass(2)
    assert join("third")[0] == 200
    assert join("visitor")[0] == 400  # the name is taken
    hours_pass(23)
    assert (
        PageClient(studio.url, visitor).agree()["screen"] == "task"
    )  # still theirs, as nobody else has come
    hours_pass(2)
    assert join("visitor")[0] == 200  # another visitor
    assert requests.get(studio.url + visitor, timeout=60).status_code == 403
    assert PageClient(studio.url, worker).step({})["screen"] == "task"
    erase_annotator("visitor")  # also without a finished task
    erase_annotator("worker")
    open_link_file(DatasetFolders()).unlink()


def test_damaged_queue_affects_only_its_data_set_and_push_repairs_it(studio: Studio) -> None:
    other = studio.queue.parents[2] / "other/study/queue.json"
    other.parent.mkdir(parents=True, exist_ok=True)
    for damaged in ("{", "[]", '{"dataset": "other"}', "null"):
        other.write_text(damaged)
        assert studio.open_page("ann").step({})["screen"] == "task"
    other.unlink()
    ann = studio.open_page("ann")
    studio.queue.write_text("{")
    assert ann.step({})["message"] == "There are no tasks for you at the moment."
    push_tasks()
    assert studio.open_page("ann").step({})["screen"] == "task"


def test_open_task_of_excluded_annotator_is_released_at_once(studio: Studio) -> None:
    change(studio, max_votes=1, tasks=json.loads(studio.queue.read_text())["tasks"][:1])
    ann, ben = studio.open_page("ann"), studio.open_page("ben")
    assert ann.step({})["screen"] == "task" and ben.step({})["screen"] == "wait"
    change(studio, excluded_since={"ann@rgqa.local": 0})
    assert ben.step({})["screen"] == "task"


def test_open_task_of_earlier_batch_is_not_released(studio: Studio) -> None:
    ann, ben = studio.open_page("ann"), studio.open_page("ben")
    ann.step({})
    tasks = json.loads(studio.queue.read_text())["tasks"]
    left = [row for row in tasks if row["key"] != held(studio, "ann")][:1]
    later(studio, 13)
    change(studio, max_votes=1, tasks=left)
    assert ann.step({})["screen"] == "task" and ben.step({})["screen"] == "wait"


def test_duplicate_annotations_can_still_be_corrected(studio: Studio) -> None:
    ann = studio.open_page("ann")
    shown = ann.step({})
    ann.answer(shown)
    names = "result, was_cancelled, ground_truth, created_at, updated_at, draft_created_at, completed_by_id, task_id, project_id"
    more = "result_count, bulk_created"
    sql(studio, f"INSERT INTO task_completion ({names}, {more}) SELECT {names}, {more} FROM task_completion")
    ann.answer(shown)
    ann.answer(shown, "invalid")
    assert said(studio, "ann") == ["valid", "valid", "invalid"]


def test_last_task_can_be_corrected_at_the_end(studio: Studio) -> None:
    change(studio, max_tasks_per_annotator=2)
    ann = studio.open_page("ann")
    end = ann.answer(ann.answer(ann.step({})))
    assert (end["screen"], end["previous_assignment"], end["num_judged"]) == ("thanks", 2, 2)
    again = ann.step({"reopen": end["previous_assignment"]})
    assert again["answer"]["first"] == "valid"
    assert ann.answer(again, "unsure")["screen"] == "thanks"
    assert said(studio, "ann") == ["valid", "valid", "unsure"]
    assert (
        ann.step({"is_declined": True})["previous_assignment"] is None
    )  # who takes no part corrects nothing


def test_deleted_annotation_is_created_again_and_equal_answer_is_not_a_correction(
    studio: Studio,
) -> None:
    ann = studio.open_page("ann")
    shown = ann.step({})
    ann.answer(shown)
    when = "SELECT updated_at FROM task_completion"
    before = sql(studio, when)
    ann.answer(shown)
    assert sql(studio, when) == before  # pull would take another time for a correction
    ann.step({"skip": {"assignment": 2}})
    sql(studio, "DELETE FROM task_completion")
    ann.answer(shown)
    ann.step({"skip": {"assignment": 2}})
    assert said(studio, "ann") == ["valid", "skipped"]


def test_tasks_removed_by_a_new_batch_are_not_accessible(studio: Studio) -> None:
    ann = studio.open_page("ann")
    shown = [ann.step({})]
    for _ in range(3):
        shown.append(ann.answer(shown[-1]))
    gone = sql(studio, "SELECT key FROM rgqa_task_assignment WHERE number IN (3, 4)")
    tasks = json.loads(studio.queue.read_text())["tasks"]
    change(studio, tasks=[row for row in tasks if row["key"] not in gone])
    now = ann.step({})
    assert (now["assignment"], now["previous_assignment"]) == (
        5,
        2,
    )  # the open one went too; back passes over the one before
    for body in ({"reopen": 3}, {"skip": {"assignment": 4}}):
        assert ann.post(body).status_code == 404
    given = {"first": "valid", "second": "valid", "seconds": 1}
    assert ann.post({"answer": {"assignment": 4, **given}}).status_code == 404
    assert ann.session.get(studio.url + shown[2]["image_url"], timeout=60).status_code == 404
    assert ann.session.get(studio.url + now["image_url"], timeout=60).status_code == 200


def test_stale_task_goes_to_others_and_late_answer_counts(studio: Studio) -> None:
    change(studio, max_votes=1, tasks=json.loads(studio.queue.read_text())["tasks"][:1])
    ann, ben = studio.open_page("ann"), studio.open_page("ben")
    late = ann.step({})
    assert ben.step({})["screen"] == "wait"
    later(studio, 11)
    assert ben.step({})["screen"] == "wait"
    later(studio, 2)
    shown = ben.step({})
    assert (shown["screen"], shown["first"]) == ("task", late["first"])
    assert ann.answer(late)["screen"] != "task"
    ben.answer(shown)
    assert said(studio, "ann") == said(studio, "ben") == ["valid"]
    assert report(studio)["assignment_states"] == {"answered": 2}


def test_annotator_who_fails_gold_questions_is_blocked_politely(studio: Studio) -> None:
    ann = studio.open_page("ann")
    shown, count = ann.step({}), 0
    while shown["screen"] == "task":
        shown = ann.answer(shown, second={"valid": "invalid", "invalid": "valid"}[as_known(shown)])
        count += 1
    assert 10 <= count < 40  # ten gold questions of one kind, with two kinds in random order
    assert shown["screen"] == "thanks" and "not a judgement of you" in shown["message"]
    assert (shown["num_judged"], shown["previous_assignment"]) == (count, None)
    (row,) = report(studio)["annotators"]
    assert row["stopped_because"] == "fails gold questions" and ann.step({})["message"] == shown["message"]


def test_corrections_do_not_let_an_excluded_annotator_in_again(studio: Studio) -> None:
    """Somebody corrected answer after answer, and saw by the next screen which tasks had a gold question."""
    ann = studio.open_page("ann")
    shown, seen = ann.step({}), []
    while shown["screen"] == "task":
        seen.append(shown)
        shown = ann.answer(shown, second={"valid": "invalid", "invalid": "valid"}[as_known(shown)])
    assert shown["screen"] == "thanks"
    replies = [ann.answer(task) for task in seen]  # the gold question is right now
    assert replies == [shown] * len(seen)
    # Nor does a restart change that, which reads the answers again.
    change(studio)
    assert ann.step({})["message"] == shown["message"]
    (row,) = report(studio)["annotators"]
    assert row["stopped_because"] == "fails gold questions" and row["num_judged"] == len(seen)
    assert len(said(studio, "ann")) == 2 * len(seen)  # all versions are kept
    pull_annotations()
    folders = DatasetFolders()
    tasks = {task.task_id: task for task in folders.read_records(Task)}
    verdicts, counts = read_verdicts(folders.annotations / "pulled.json", tasks)
    own = [row for row in verdicts if row.annotator == "annotator-01"]
    assert len(own) == len(seen) and counts["replaced by a later one"] == len(seen)
    assert all(row.first_answer and row.first_answer.second != row.second for row in own)
    (accuracy,) = measure_gold_accuracy(build_answers_table(tasks, own)).values()
    assert accuracy.sensitivity.num_correct == accuracy.specificity.num_correct == 0


def test_questions_of_training_and_test_never_come_again(studio: Studio) -> None:
    """Also if they are from tasks, because there are too few others."""
    content = json.loads(studio.queue.read_text())
    tasks = {task.task_id: task for task in DatasetFolders().read_records(Task)}
    known = with_known(content, training=1, test=1)["known_tasks"]
    for row, key in zip(known, ("t0001", "t0002", "t0003"), strict=True):
        row["image"] = f"/data/local-files/?d=tiny/source/images/{tasks[key].image_id}.png"
        row["second"]["text"] = tasks[key].second.text
    change(studio, known_tasks=known, training_tasks=1, qualification_tasks=1, min_qualification_accuracy=0.8)
    ann = studio.open_page("ann")
    shown, seen = ann.step({}), []
    while shown["screen"] != "thanks":
        if shown["screen"] == "feedback":
            shown = ann.step({})
            continue
        seen.append((shown["screen"], shown["second"]))
        choice = "invalid" if shown["screen"] != "task" else as_known(shown)
        shown = ann.answer(shown, second=choice)
        if len(seen) == 10:
            change(studio)  # the queue is built again
    assert [kind for kind, _ in seen[:3]] == ["training", "test", "task"]
    texts = [text for _, text in seen]
    assert len(texts) == len({*texts}) == 40  # 38 tasks, and the two whose gold questions were shown before


def test_parts_are_announced_and_a_failed_test_tells_no_results(studio: Studio) -> None:
    changed = with_known(json.loads(studio.queue.read_text()), training=1, test=2)
    rules = {name: changed["rules"][name] for name in ("training_tasks", "qualification_tasks")}
    change(studio, known_tasks=changed["known_tasks"], min_qualification_accuracy=0.8, **rules)
    ann = PageClient(studio.url, studio.link("ann"))
    shown = ann.step_once({"consent": ann.step_once({})["hash"]})
    assert (shown["screen"], shown["part"]) == ("announcement", "training") and "1 task." in shown["message"]
    assert ann.step_once({"start": "task"})["part"] == "training"  # no part can be left out
    shown = ann.step_once({"start": "training"})
    assert shown["screen"] == "training"
    assert ann.step_once({})["screen"] == "training"  # after a reload
    given = {"first": "valid", "second": "invalid", "seconds": 1}
    ann.step_once({"answer": {"assignment": shown["assignment"]} | given})
    shown = ann.step_once({})
    assert (shown["screen"], shown["part"]) == ("announcement", "test") and "2 tasks." in shown["message"]
    shown = ann.step_once({"start": "test"})
    wrong = given | {"second": "valid"}
    shown = ann.step_once({"answer": {"assignment": shown["assignment"]} | wrong})
    failed = ann.step_once({"answer": {"assignment": shown["assignment"]} | wrong})
    assert failed.keys() == {
        "screen",
        "message",
        "num_judged",
        "minutes_worked",
        "previous_assignment",
        "can_retake",
    }
    assert ann.step_once({"retake_test": True})["part"] == "test"
    shown = ann.step_once({"start": "test"})
    for _ in range(2):
        shown = ann.step_once({"answer": {"assignment": shown["assignment"]} | given})
    assert (shown["screen"], shown["part"]) == ("announcement", "task")
    # The announcement of the test promised this.
    assert shown["message"].startswith("You have passed the test. Now the work begins.")
    assert report(studio)["assignment_states"] == {}  # nobody has a task yet
    assert ann.step_once({"start": "task"})["screen"] == ann.step_once({})["screen"] == "task"


def test_passing_is_not_announced_while_gold_questions_are_unconfirmed(studio: Studio) -> None:
    changed = with_known(json.loads(studio.queue.read_text()), training=0, test=1)
    for number, row in enumerate(changed["known_tasks"]):
        row["second"]["unconfirmed"] = f"gold{number}"
    rules = {name: changed["rules"][name] for name in ("training_tasks", "qualification_tasks")}
    change(studio, known_tasks=changed["known_tasks"], min_qualification_accuracy=0.8, **rules)
    ann = PageClient(studio.url, studio.link("ann"))
    ann.step_once({"consent": ann.step_once({})["hash"]})
    shown = ann.step_once({"start": "test"})
    given = {"assignment": shown["assignment"], "first": "valid", "second": "invalid", "seconds": 1}
    shown = ann.step_once({"answer": given})
    assert (shown["screen"], shown["part"]) == ("announcement", "task")
    assert shown["message"].startswith("You have finished the test. Whether you have passed is known when")


def test_adjudicator_decides_a_test_question_on_which_annotators_disagree(either_studio: Studio) -> None:
    """No task asks the question, so the adjudicator gets the task of the test, which looks like any other task."""
    studio = either_studio
    changed = with_known(json.loads(studio.queue.read_text()), training=0, test=1)
    for number, row in enumerate(changed["known_tasks"]):
        row["second"]["unconfirmed"] = f"gold{number}"
    rules = {name: changed["rules"][name] for name in ("training_tasks", "qualification_tasks")}
    change(
        studio,
        tasks=changed["tasks"][:3],
        known_tasks=changed["known_tasks"],
        min_qualification_accuracy=0.5,
        audit_rate=0.0,
        **rules,
    )
    adjudicator = PageClient(studio.url, studio.link("exa"))
    assert adjudicator.step_once({"consent": adjudicator.step_once({})["hash"]})["screen"] == "wait"
    for name, choice in (("ann", "valid"), ("ben", "invalid")):
        client = PageClient(studio.url, studio.link(name))
        client.step_once({"consent": client.step_once({})["hash"]})
        shown = client.step_once({"start": "test"})
        client.step_once(
            {"answer": {"assignment": shown["assignment"], "first": "valid", "second": choice, "seconds": 1}}
        )
    shown = adjudicator.step_once({})
    assert (shown["screen"], shown["task_number"], shown["previous_assignment"]) == ("task", 1, None)
    given = {"assignment": shown["assignment"], "first": "valid", "second": "invalid", "seconds": 1}
    assert adjudicator.step_once({"answer": given})["screen"] == "wait"
    change(studio)  # The queue is built again from the database.
    assert adjudicator.step_once({})["screen"] == "wait"
    expected = changed["known_tasks"][0]["second"]["expected"]
    scores = {row["email"]: row["num_known_questions"] for row in report(studio)["annotators"]}
    # The first question counts anyway. The second one counts if the adjudicator confirms the presumed choice.
    assert scores["ann@rgqa.local"] == scores["ben@rgqa.local"] == (2 if expected == "invalid" else 1)


def test_adjudicator_gets_only_doubtful_tasks_and_verdicts_are_marked(studio: Studio) -> None:
    content = json.loads(studio.queue.read_text())
    # No task of the audit sample, which the adjudicator would get, too.
    change(studio, tasks=content["tasks"][:3], audit_rate=0.0)
    ann, ben, adjudicator = studio.open_page("ann"), studio.open_page("ben"), studio.open_page("exa")
    assert adjudicator.step({})["screen"] == "wait"
    for client, first in ((ann, {}), (ben, {"t0001": "invalid"})):
        shown = client.step({})
        while shown["screen"] == "task":
            shown = client.answer(shown, first.get(held(studio, {ann: "ann", ben: "ben"}[client]), "valid"))
    trained = with_known(json.loads(studio.queue.read_text()), training=1, test=1)
    change(
        studio,
        known_tasks=trained["known_tasks"],
        **{name: trained["rules"][name] for name in ("training_tasks", "qualification_tasks")},
    )
    shown = adjudicator.step({})
    assert (shown["screen"], shown["task_number"]) == ("task", 1) and held(studio, "exa") == "t0001"
    end = adjudicator.answer(shown, "invalid")
    assert (end["screen"], end["num_judged"]) == ("wait", 1)
    progress = report(studio)["tasks"]
    people = json.loads(studio.queue.read_text())["annotators"]
    left = {"exa@rgqa.local": people.pop("exa@rgqa.local")}
    change(studio, annotators=people, removed=left)  # who left stays an adjudicator in what was said
    assert report(studio)["tasks"] == progress and progress["num_decided"] == 3
    pull_annotations()
    pulled = read_json(DatasetFolders().annotations / "pulled.json")
    given = [(row["data"]["task"], one["completed_by"]) for row in pulled for one in row["annotations"]]
    assert [task for task, who in given if who == "adjudicator-01"] == ["t0001"]


def test_a_panel_of_models_saves_votes_of_people(studio: Studio) -> None:
    """Of 40 tasks, the ten of the first wave are in the overlap, so people are asked about them whatever the panel says."""
    decided, called_valid = {f"c{number}" for number in range(5, 40)}, ["c0"]
    change(studio, overlap_rate=0.0, decided_by_panel=sorted(decided), called_valid_by_panel=called_valid)
    asked: dict[str, set[str]] = {}
    for name in ("ann", "ben"):
        page = studio.open_page(name)
        shown = page.agree()
        while shown["screen"] == "task":
            asked.setdefault(held(studio, name), set()).add(name)
            shown = page.answer(shown, "invalid")
    candidates = {
        row["key"]: row["first"]["candidate"] for row in json.loads(studio.queue.read_text())["tasks"]
    }
    found = {candidates[key] for key in asked}
    assert found >= {f"c{number}" for number in range(5)}
    # At most the first wave, and not less than the part of it that is not among the first five.
    assert 5 <= len(found & decided) <= 10
