"""Test the annotation page on a real server in a real browser, from the link to the last screen: answers are stored as clicked."""

from __future__ import annotations

import re

import msgspec
import pytest

from annotation.client.credentials import connect
from annotation.client.erase import erase_annotator
from annotation.client.pull import pull_annotations
from annotation.client.push import get_project_title, push_tasks
from annotation.server.accounts import format_links, update_roster
from annotation.study.roster import read_roster
from pipeline.core.json_files import read_json
from pipeline.core.paths import DatasetFolders
from tests.annotation.browser.page_actions import HOSTILE, KEYS, choose, link, shown, submit
from tests.annotation.conftest import made_task
from tests.annotation.server.conftest import served

pytestmark = pytest.mark.server

REASONS = list(KEYS["first"])[3:]
KNOWN = {True: "valid", False: "invalid"}  # of "Is there a dog 6?": even numbers are valid


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server with a training of one task, a test of one, and 20 tasks of which the first have hostile texts."""
    tasks = [made_task(number, images=8) for number in range(24)]
    for place, text in enumerate(HOSTILE):
        asked = msgspec.structs.replace(tasks[place].first, text=text)
        tasks[place] = msgspec.structs.replace(tasks[place], first=asked)
    home = tmp_path_factory.mktemp("annotation-page")
    with served(
        home,
        tasks,
        ("ann", "ben", "cyd", "dan"),
        training_tasks=1,
        qualification_tasks=1,
        min_qualification_accuracy=1.0,
        max_votes=3,
    ) as studio:
        yield studio


@pytest.fixture
def enter(server, chromium):
    """Open the link of an annotator in a separate browser context."""
    contexts = []

    def opened(name, width=1366, height=768):
        context = chromium.new_context(viewport={"width": width, "height": height})
        context.set_default_timeout(15_000)
        contexts.append(context)
        page = context.new_page()
        page.problems = []
        page.on("console", lambda line: page.problems.append(line.text) if line.type == "error" else None)
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        page.goto(link(name))
        return page

    yield opened
    for context in contexts:
        context.close()


def known(state):
    """The known verdicts of a task of training or test: "Is there a dog 7?" is invalid, of even numbers valid."""
    return {side: KNOWN[int(state[side].rstrip("?").split()[-1]) % 2 == 0] for side in ("first", "second")}


def honest(state, place):
    """Return varied answers to the first question, and the correct answer to the second one, which is the gold question."""
    first = [{"first": "valid"}, {"first": "unsure"}]
    first += [{"first": "invalid", "first_reason": why} for why in REASONS]
    second = {"second": known({"first": "1", "second": state["second"]})["second"]}
    if second["second"] == "invalid":
        second["second_reason"] = REASONS[place % len(REASONS)]
    elif place % 3 == 0:
        second["second"] = "unsure"
    return first[place % len(first)] | second


def agree(page):
    assert shown(page)["screen"] == "consent"
    page.get_by_role("button", name="I have read this and agree").click()
    page.get_by_role("button", name="Close the guidelines").click()
    start(page)


def start(page):
    """Start the part of the work that is announced."""
    page.wait_for_function("() => state.screen === 'announcement' && !busy")
    page.locator("#message-screen button.primary").click()
    page.locator("#task").wait_for()


def through(page, by="key"):
    """Consent, training and test; the first real task is open then."""
    agree(page)
    while (state := shown(page))["screen"] != "task":
        if state["screen"] == "announcement":
            start(page)
            continue
        if state["screen"] != "feedback":
            choose(page, known(state), by)
        submit(page, by)


def stored(email):
    """Texts of a task -> what is stored of somebody's answer, by the administrator's list."""
    server = connect()
    numbers = {number for number, address in server.get_user_emails().items() if address == email}
    return {
        (task.data["first"], task.data["second"]): one.choices
        for task in server.iter_annotated_tasks(server.find_project(get_project_title(DatasetFolders())))
        for one in sorted(task.annotations, key=lambda one: one.id)  # of several versions the last one
        if one.completed_by in numbers or getattr(one.completed_by, "id", None) in numbers
    }


def test_answers_by_mouse_and_keys_are_stored_as_clicked(enter):
    page = enter("ann")
    through(page, "mouse")
    clicked, place = {}, 0
    while (state := shown(page))["screen"] == "task":
        asked = (state["first"], state["second"])
        for side, text in zip(("first", "second"), asked, strict=True):
            assert page.locator(".text").nth(int(side == "second")).evaluate("e => e.textContent") == text
        by = ("mouse", "key")[place // 4 % 2]
        clicked[asked] = honest(state, place)
        choose(page, clicked[asked], by)
        submit(page, by)
        if place == 5:  # back by two, another answer, and forward again
            page.keyboard.press("Backspace")
            page.wait_for_function("() => !busy && state.answer")
            before = shown(page)["assignment"]
            page.get_by_role("button", name="Back").click()
            page.wait_for_function("place => !busy && state.assignment !== place", arg=before)
            state = shown(page)
            asked = (state["first"], state["second"])
            assert {name: value for name, value in state["answer"].items() if value} == clicked[asked]
            again = honest(state, 7)
            choose(page, again, "key")
            clicked[asked] = again
            submit(page, "key")
        place += 1
    # The gold questions of four tasks were shown in training and test.
    assert state["screen"] == "thanks" and state["num_judged"] == len(clicked) == 20
    assert stored("ann@rgqa.local") == clicked
    assert not page.problems, page.problems
    assert page.evaluate("window.broken") is None


def test_failing_the_test_twice_gives_no_tasks(enter):
    page = enter("ben")
    agree(page)
    seen = []
    for tried in range(2):
        while (state := shown(page))["screen"] in ("announcement", "training", "feedback", "test"):
            if state["screen"] == "announcement":
                start(page)
                continue
            if state["screen"] != "feedback":
                seen.append((state["screen"], state["first"], state["second"]))
                choose(
                    page,
                    {
                        side: {"valid": "invalid", "invalid": "valid"}[one]
                        for side, one in known(state).items()
                    },
                    "key",
                )
            submit(page, "key")
        assert state["screen"] == "test_failed"
        if not tried:
            page.get_by_role("button", name="Try again").click()
    assert [kind for kind, *_ in seen] == ["training", "test", "test"]
    assert seen[1] != seen[2]  # other tasks
    assert page.get_by_role("button", name="Try again").count() == 0
    assert stored("ben@rgqa.local") == {}  # no answer of training or test is a verdict


def test_drafts_and_progress_survive_a_reload(enter):
    page = enter("cyd")
    through(page)
    choose(page, {"first": "invalid", "first_reason": "wrong attribute"}, "key")
    place = shown(page)["assignment"]
    page.reload()
    page.locator("#task").wait_for()
    assert shown(page)["assignment"] == place
    assert page.locator('input[name="first_reason"][value="wrong attribute"]').is_checked()
    second = {"second": honest(shown(page), 1)["second"]}
    choose(page, second, "key")
    assert submit(page, "key")["assignment"] != place
    assert list(stored("cyd@rgqa.local").values()) == [
        {"first": "invalid", "first_reason": "wrong attribute"} | second
    ]


def test_browser_gets_only_texts_image_and_own_number(enter):
    page = enter("cyd")
    page.locator("#task").wait_for()
    fields = {
        "screen",
        "assignment",
        "image_url",
        "first",
        "second",
        "task_number",
        "set_size",
        "num_done_in_set",
        "previous_assignment",
        "answer",
        "choices",
        "guidelines",
        "contact",
    }
    assert set(shown(page)) == fields
    assert re.fullmatch(
        rf"/annotate/image/{shown(page)['assignment']}\?[0-9a-f]{{16}}", shown(page)["image_url"]
    )


@pytest.mark.parametrize(("width", "height"), [(1366, 768), (768, 1024), (390, 844)])
def test_image_is_large_and_submit_visible_at_every_size(enter, width, height):
    page = enter("cyd", width, height)
    page.locator("#task").wait_for()
    page.wait_for_function(
        "() => document.querySelector('#image').naturalWidth && document.querySelector('#image').complete"
    )
    assert page.locator("#image").bounding_box()["width"] >= (width if width < 960 else 0.5 * width)
    box = page.get_by_role("button", name="Submit").bounding_box()
    assert box["y"] + box["height"] <= height and box["x"] + box["width"] <= width


def test_volunteer_signs_up_and_returns_with_a_personal_link(server, chromium):
    update_roster([], open_link=True)
    address = format_links(DatasetFolders(), [])[0].split()[-1]
    push_tasks()
    context = chromium.new_context(viewport={"width": 390, "height": 844})
    page = context.new_page()
    page.goto(address)
    page.locator("input[name=name]").fill("eve")
    page.get_by_role("button").first.click()
    own = page.get_by_text("/annotate/open/").first.inner_text()
    page.goto(f"{server.url}/annotate/")
    through(page)
    assert shown(page)["screen"] == "task"
    context.close()
    context = chromium.new_context()
    page = context.new_page()
    page.goto(own)
    page.locator("#task").wait_for()  # no consent, training or test again
    context.close()
    pull_annotations()
    assert "eve" in [person.name for person in read_roster(DatasetFolders())]


def test_erased_annotator_leaves_no_data_and_others_keep_theirs(enter, capsys):
    page = enter("dan")
    through(page)
    choose(page, {"first": "invalid", "second": "valid"}, "key")
    submit(page, "key")
    assert len(stored("dan@rgqa.local")) == 1
    others = stored("ann@rgqa.local")
    pull_annotations()
    pulled = DatasetFolders().annotations / "pulled.json"
    assert b"annotator-04" in pulled.read_bytes()
    capsys.readouterr()
    erase_annotator("dan")
    said = capsys.readouterr().out
    assert "1 annotation," in said and "1 account" in said
    assert "0 contain dan@rgqa.local" in said
    assert stored("dan@rgqa.local") == {} and stored("ann@rgqa.local") == others
    assert b"annotator-04" not in pulled.read_bytes() and b"annotator-01" in pulled.read_bytes()
    assert "dan" not in [person.name for person in read_roster(DatasetFolders())]
    page.reload()  # the session is gone too
    assert "/user/login" in page.url or page.locator("#task").is_hidden()
    push_tasks()
    pull_annotations()
    assert b"annotator-04" not in pulled.read_bytes()
    assert "dan@rgqa.local" not in read_json(DatasetFolders().study / "queue.json", dict)["annotators"]
