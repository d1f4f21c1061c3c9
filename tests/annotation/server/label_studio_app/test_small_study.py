"""On a real server of their own, emptied before each test: what the desk does when things change under somebody's hands."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
import requests

from annotation.client.erase import erase_annotator
from annotation.client.pull import pull_annotations
from annotation.client.push import push_tasks
from annotation.client.volunteers import open_link_file
from annotation.server.accounts import format_links, update_roster
from pipeline.core.json_files import read_json
from pipeline.core.paths import DatasetFolders
from tests.annotation.conftest import made_task
from tests.annotation.server.conftest import DeskClient, Studio, as_known, form_token, report, served
from tests.annotation.server.label_studio_app.test_sessions import with_known

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """A server with 40 tasks of two votes each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("RGQA_ANNOTATE_DATABASE", raising=False)
        tasks = [made_task(number) for number in range(40)]
        with served(tmp_path_factory.mktemp("few"), tasks, ("ann", "ben")) as studio:
            update_roster(["exa"], adjudicator=True)
            yield studio


@pytest.fixture
def studio(few: Studio) -> Iterator[Studio]:
    """The same, with nobody's answers; queue.json is put back at the end."""
    before = few.queue.read_text()
    for table in ("task_completion", "rgqa_place", "rgqa_participant"):
        sql(few, f"DELETE FROM {table}")
    change(few)
    yield few
    few.queue.write_text(before)


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
    sql(studio, f"UPDATE rgqa_place SET opened = datetime(opened, '-{hours} hours')")


def said(studio: Studio, name: str) -> list[str]:
    """What somebody's annotations say first, in the order in which they were made; "skipped" for those that were."""
    who = f"SELECT id FROM htx_user WHERE email = '{name}@rgqa.local'"
    rows = sql(studio, f"SELECT result FROM task_completion WHERE completed_by_id IN ({who}) ORDER BY id")
    given = [json.loads(row) for row in rows]
    return [row[0]["value"]["choices"][0] if row else "skipped" for row in given]


def held(studio: Studio, name: str) -> str:
    """The key of the task that somebody has before them."""
    who = f"SELECT id FROM htx_user WHERE email = '{name}@rgqa.local'"
    return sql(studio, f"SELECT key FROM rgqa_place WHERE state = 'open' AND user IN ({who})")[0]


def change(studio: Studio, **parts: Any) -> dict[str, Any]:
    """Change parts of queue.json, or of its rules, as a push does; all at once, so that the server builds the queue anew."""
    content = json.loads(studio.queue.read_text())
    rules = {name: parts.pop(name) for name in list(parts) if name in content["rules"]}
    content |= {**parts, "rules": content["rules"] | rules}
    new = studio.queue.with_suffix(".new")
    new.write_text(json.dumps(content))
    new.replace(studio.queue)
    return content


def test_a_images_address_tells_tasks_and_people_apart(studio: Studio) -> None:
    ann, ben = studio.desk("ann"), studio.desk("ben")
    first, other = ann.step({}), ben.step({})
    assert first["place"] == other["place"] == 1
    # At one browser, one after the other: the address of one must not bring the image kept of the other.
    assert first["image"] != other["image"]
    key, tasks = held(studio, "ann"), json.loads(studio.queue.read_text())["tasks"]
    ann.step({"decline": True})
    change(studio, tasks=[row for row in tasks if row["key"] != key])
    again = ann.agree()
    assert again["image"] != first["image"]


def test_an_answer_goes_to_what_was_shown_or_nowhere(studio: Studio) -> None:
    ann, ben = studio.desk("ann"), studio.desk("ben")
    place = ann.step({})["place"]
    said_twice = {"place": place, "first": "invalid", "second": "valid", "seconds": 1}
    other = studio.queue.parents[2] / "other/study/queue.json"  # is pushed later, so that it is theirs now
    other.parent.mkdir(parents=True)
    other.write_text(json.dumps(json.loads(studio.queue.read_text()) | {"data_set": "other"}))
    try:
        now = ann.agree()
        assert now["show"] == "task" and now["place"] != place
        assert ann.post({"answer": said_twice}).status_code == 404
        assert said(studio, "ann") == []
    finally:
        other.unlink()
    key = held(studio, "ann")
    ann.step({"decline": True})  # in another tab; ben gets what was hers
    change(studio, tasks=[row for row in json.loads(studio.queue.read_text())["tasks"] if row["key"] != key])
    assert ann.agree()["show"] == ben.step({})["show"] == "task"
    assert ann.post({"answer": said_twice}).status_code == 404
    assert said(studio, "ann") == []


def test_who_declined_reads_and_changes_nothing_more(studio: Studio) -> None:
    ann = studio.desk("ann")
    first = ann.step({})
    second = ann.answer(first)
    ann.step({"decline": True})
    given = {"first": "invalid", "second": "valid", "seconds": 1}
    for shown in (first, second):
        assert ann.post({"answer": {"place": shown["place"], **given}}).status_code == 404
        assert ann.post({"open": shown["place"]}).status_code == 404
        assert ann.session.get(studio.url + shown["image"], timeout=60).status_code == 404
    assert said(studio, "ann") == ["valid"]
    assert ann.agree() == second  # who agrees again goes on


def test_nobodys_link_is_that_of_somebody_who_was_forgotten(studio: Studio) -> None:
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
        DeskClient(studio.url, before).agree()
        erase_annotator("fred")
        assert requests.get(studio.url + before, timeout=60).status_code == 403
        after = join("fred")  # another fred
        assert requests.get(studio.url + before, timeout=60).status_code == 403
        assert DeskClient(studio.url, after).agree()["show"] == "task"
        erase_annotator("fred")
    open_link_file(DatasetFolders()).unlink()


def test_a_damaged_queue_closes_its_own_desk_alone_and_a_push_mends_it(studio: Studio) -> None:
    other = studio.queue.parents[2] / "other/study/queue.json"
    other.parent.mkdir(parents=True, exist_ok=True)
    for damaged in ("{", "[]", '{"data_set": "other"}', "null"):
        other.write_text(damaged)
        assert studio.desk("ann").step({})["show"] == "task"
    other.unlink()
    ann = studio.desk("ann")
    studio.queue.write_text("{")
    assert ann.step({})["words"] == "There is nothing for you here now."
    push_tasks()
    assert studio.desk("ann").step({})["show"] == "task"


def test_what_is_open_with_somebody_who_is_asked_no_more_goes_to_others_at_once(studio: Studio) -> None:
    change(studio, votes=1, tasks=json.loads(studio.queue.read_text())["tasks"][:1])
    ann, ben = studio.desk("ann"), studio.desk("ben")
    assert ann.step({})["show"] == "task" and ben.step({})["show"] == "wait"
    change(studio, excluded={"ann@rgqa.local": 0})
    assert ben.step({})["show"] == "task"


def test_a_task_of_an_earlier_batch_that_stayed_open_frees_nothing(studio: Studio) -> None:
    ann, ben = studio.desk("ann"), studio.desk("ben")
    ann.step({})
    tasks = json.loads(studio.queue.read_text())["tasks"]
    left = [row for row in tasks if row["key"] != held(studio, "ann")][:1]
    later(studio, 13)
    change(studio, votes=1, tasks=left)
    assert ann.step({})["show"] == "task" and ben.step({})["show"] == "wait"


def test_two_answers_of_one_person_on_one_task_can_still_be_corrected(studio: Studio) -> None:
    ann = studio.desk("ann")
    shown = ann.step({})
    ann.answer(shown)
    names = "result, was_cancelled, ground_truth, created_at, updated_at, draft_created_at, completed_by_id, task_id, project_id"
    more = "result_count, bulk_created"
    sql(studio, f"INSERT INTO task_completion ({names}, {more}) SELECT {names}, {more} FROM task_completion")
    ann.answer(shown)
    ann.answer(shown, "invalid")
    assert said(studio, "ann") == ["invalid", "invalid"]


def test_at_the_end_one_can_go_back_and_correct_the_last_task(studio: Studio) -> None:
    change(studio, most_tasks=2)
    ann = studio.desk("ann")
    end = ann.answer(ann.answer(ann.step({})))
    assert (end["show"], end["back"], end["judged"]) == ("thanks", 2, 2)
    again = ann.step({"open": end["back"]})
    assert again["given"]["first"] == "valid"
    assert ann.answer(again, "unsure")["show"] == "thanks"
    assert said(studio, "ann") == ["valid", "unsure"]
    assert ann.step({"decline": True})["back"] is None  # who takes no part corrects nothing


def test_what_the_leader_deleted_is_written_again_and_the_same_answer_is_no_correction(
    studio: Studio,
) -> None:
    ann = studio.desk("ann")
    shown = ann.step({})
    ann.answer(shown)
    when = "SELECT updated_at FROM task_completion"
    before = sql(studio, when)
    ann.answer(shown)
    assert sql(studio, when) == before  # pull would take another time for a correction
    ann.step({"skip": {"place": 2}})
    sql(studio, "DELETE FROM task_completion")
    ann.answer(shown)
    ann.step({"skip": {"place": 2}})
    assert said(studio, "ann") == ["valid", "skipped"]


def test_what_another_batch_took_out_is_asked_corrected_and_shown_no_more(studio: Studio) -> None:
    ann = studio.desk("ann")
    shown = [ann.step({})]
    for _ in range(3):
        shown.append(ann.answer(shown[-1]))
    gone = sql(studio, "SELECT key FROM rgqa_place WHERE number IN (3, 4)")
    tasks = json.loads(studio.queue.read_text())["tasks"]
    change(studio, tasks=[row for row in tasks if row["key"] not in gone])
    now = ann.step({})
    assert (now["place"], now["back"]) == (5, 2)  # the open one went too; back passes over the one before
    for body in ({"open": 3}, {"skip": {"place": 4}}):
        assert ann.post(body).status_code == 404
    given = {"first": "valid", "second": "valid", "seconds": 1}
    assert ann.post({"answer": {"place": 4, **given}}).status_code == 404
    assert ann.session.get(studio.url + shown[2]["image"], timeout=60).status_code == 404
    assert ann.session.get(studio.url + now["image"], timeout=60).status_code == 200


def test_what_somebody_keeps_open_for_long_goes_to_others_and_a_late_answer_counts(studio: Studio) -> None:
    change(studio, votes=1, tasks=json.loads(studio.queue.read_text())["tasks"][:1])
    ann, ben = studio.desk("ann"), studio.desk("ben")
    late = ann.step({})
    assert ben.step({})["show"] == "wait"
    later(studio, 11)
    assert ben.step({})["show"] == "wait"
    later(studio, 2)
    shown = ben.step({})
    assert (shown["show"], shown["first"]) == ("task", late["first"])
    assert ann.answer(late)["show"] != "task"
    ben.answer(shown)
    assert said(studio, "ann") == said(studio, "ben") == ["valid"]
    assert report(studio)["votes"] == {"answered": 2}


def test_who_fails_the_filters_is_told_kindly_and_asked_no_more(studio: Studio) -> None:
    ann = studio.desk("ann")
    shown, count = ann.step({}), 0
    while shown["show"] == "task":
        shown = ann.answer(shown, second={"valid": "invalid", "invalid": "valid"}[as_known(shown)])
        count += 1
    assert 10 <= count < 40  # ten filters of a kind, of two kinds in turn by lot
    assert shown["show"] == "thanks" and "it is no judgement of you" in shown["words"]
    assert (shown["judged"], shown["right"], shown["back"]) == (count, 0, None)
    (row,) = report(studio)["people"]
    assert row["out"] and ann.step({})["words"] == shown["words"]


def test_an_expert_gets_what_stays_doubtful_alone_and_the_word_is_marked(studio: Studio) -> None:
    content = json.loads(studio.queue.read_text())
    change(studio, tasks=content["tasks"][:3])
    ann, ben, expert = studio.desk("ann"), studio.desk("ben"), studio.desk("exa")
    assert expert.step({})["show"] == "wait"
    for desk, first in ((ann, {}), (ben, {"t0001": "invalid"})):
        shown = desk.step({})
        while shown["show"] == "task":
            shown = desk.answer(shown, first.get(held(studio, {ann: "ann", ben: "ben"}[desk]), "valid"))
    trained = with_known(json.loads(studio.queue.read_text()), training=1, test=1)
    change(studio, known=trained["known"], **{name: trained["rules"][name] for name in ("training", "test")})
    shown = expert.step({})
    assert (shown["show"], shown["of"]) == ("task", 1) and held(studio, "exa") == "t0001"
    end = expert.answer(shown, "invalid")
    assert (end["show"], end["judged"], end["asked"]) == ("wait", 1, 0)
    told = report(studio)["tasks"]
    people = json.loads(studio.queue.read_text())["people"]
    left = {"exa@rgqa.local": people.pop("exa@rgqa.local")}
    change(studio, people=people, left=left)  # who left stays an expert in what was said
    assert report(studio)["tasks"] == told and told["known"] == 3
    pull_annotations()
    pulled = read_json(DatasetFolders().annotations / "pulled.json")
    given = [(row["data"]["task"], one["completed_by"]) for row in pulled for one in row["annotations"]]
    assert [task for task, who in given if who == "adjudicator-01"] == ["t0001"]
