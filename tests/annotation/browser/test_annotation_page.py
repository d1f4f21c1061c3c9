"""Test the annotation page in a real browser against a stub server."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotation.client.annotator_texts import render_guidelines
from tests.annotation.browser.page_actions import HOSTILE, KEYS
from tests.annotation.browser.stub_server import CONSENT, StubServer, task
from tests.annotation.interface import CONTROLS

pytestmark = pytest.mark.server


SIZES = [(1366, 768), (768, 1024), (390, 844)]
LONG = "What is the piece of furniture in front of the white item of furniture the standing white animal is below called?"


@pytest.fixture
def server():
    server = StubServer()
    yield server
    server.close()


@pytest.fixture
def page(chromium):
    context = chromium.new_context(viewport={"width": 1366, "height": 768})
    context.set_default_timeout(20_000)
    page = context.new_page()
    page.problems = []
    page.on("console", lambda line: page.problems.append(line.text) if line.type == "error" else None)
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    yield page
    context.close()


def opened(page, server, state):
    server.state = state
    page.goto(f"{server.url}/annotate/")
    page.locator("main:not([hidden])").wait_for()
    return page


def card(page, place):
    return page.locator(".question").nth(place)


def checked(page):
    script = "Object.fromEntries([...document.querySelectorAll('#answers input:checked')].map(e => [e.name, e.value]))"
    return page.evaluate(script)


def last(page, server, count):
    page.wait_for_function("() => !document.querySelector('#answers .primary').disabled")
    assert len(server.sent) == count, server.sent
    return server.sent[-1]


def test_consent_must_be_accepted_and_its_hash_is_sent(page, server):
    opened(page, server, lambda body: task() if body == {"consent": "abc"} else CONSENT)
    assert page.locator("#consent-text h1").inner_text() == "Before you start"
    assert "Ann Lee, ann@example.org" in page.locator("#consent-text").inner_text()
    assert page.locator("#task").is_hidden()
    page.keyboard.press("Enter")
    page.keyboard.press("1")
    assert server.sent == [{}]
    page.get_by_role("button", name="I have read this and agree").click()
    page.locator("#guidelines[open]").wait_for()  # they open by themselves, and once
    assert "valid" in page.locator("#guidelines-text").inner_text()
    page.keyboard.press("2")
    page.get_by_role("button", name="Close the guidelines").click()
    page.locator("#task").wait_for()
    assert checked(page) == {}
    assert server.sent == [{}, {"consent": "abc"}]
    page.keyboard.press("2")
    page.keyboard.press("8")
    page.keyboard.press("Enter")
    last(page, server, 3)
    assert page.locator("#guidelines[open]").count() == 0


def test_consent_can_be_declined(page, server):
    gone = {"screen": "thanks", "message": "Nothing is kept of you."}
    opened(page, server, lambda body: gone if body == {"is_declined": True} else CONSENT)
    page.get_by_role("button", name="I do not agree").click()
    page.get_by_text("Nothing is kept of you.").wait_for()


def test_every_key_selects_the_choice_next_to_it(page, server):
    opened(page, server, task())
    for place, name in enumerate(("first", "second")):
        for control in (name, f"{name}_reason"):
            for choice in CONTROLS[control].iter("Choice"):
                value, key = choice.get("value"), choice.get("hotkey")
                assert KEYS[name][value] == key
                if control != name:
                    page.keyboard.press(KEYS[name]["invalid"])
                page.keyboard.press(key)
                assert checked(page)[control] == value
                label = card(page, place).locator("label", has=page.locator(f'input[value="{value}"]'))
                assert label.locator("kbd").inner_text() == key
    page.keyboard.press("l")  # the same key again takes a reason back
    assert "second_reason" not in checked(page)


def test_choices_are_sent_with_the_seconds(page, server):
    opened(page, server, lambda body: task(server.sent.count(body) + len(server.sent)))
    for key in "2q8":
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    sent = last(page, server, 2)["answer"]
    assert 0 < sent.pop("seconds") < 20
    assert sent == {"assignment": 2, "first": "invalid", "first_reason": "missing object", "second": "valid"}
    card(page, 0).get_by_text("unsure").click()
    card(page, 1).get_by_text("invalid", exact=True).click()
    card(page, 1).get_by_text("wrong relation").click()
    page.get_by_role("button", name="Submit").click()
    sent = last(page, server, 3)["answer"]
    assert {name: sent[name] for name in ("first", "second", "second_reason")} == {
        "first": "unsure",
        "second": "invalid",
        "second_reason": "wrong relation",
    }
    assert checked(page) == {}  # the next task begins empty


def test_page_left_open_for_days_can_still_submit(page, server):
    page.clock.install(time=0)
    opened(page, server, lambda body: task(len(server.sent)))
    page.clock.fast_forward(3 * 86_400_000)
    for key in "18":
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    assert last(page, server, 2)["answer"]["seconds"] == 86_400  # the most that the server takes


def test_after_the_guidelines_enter_submits_and_does_not_open_them_again(page, server):
    opened(page, server, lambda body: task(len(server.sent)))
    page.get_by_role("button", name="Guidelines").click()
    page.keyboard.press("Escape")
    page.locator("#guidelines").wait_for(state="hidden")  # the browser closes it when it comes to it
    for key in ("1", "8", "Enter"):
        page.keyboard.press(key)
    assert last(page, server, 2)["answer"]["first"] == "valid"
    assert page.locator("#guidelines").is_hidden()


def test_incomplete_answer_is_not_submitted(page, server):
    opened(page, server, task())
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    page.get_by_text("Please judge the second question.").wait_for()
    assert server.sent == [{}]


def test_reason_is_sent_only_with_invalid(page, server):
    opened(page, server, task())
    for key in ("2", "e", "1", "8", "k", "Enter"):  # on second thoughts valid; k is a slip
        page.keyboard.press(key)
    sent = last(page, server, 2)["answer"]
    assert (sent["first"], sent["second"]) == ("valid", "valid")
    assert "first_reason" not in sent and "second_reason" not in sent


@pytest.mark.parametrize("act", ["double click", "Enter twice"])
def test_nothing_is_submitted_twice(page, server, act):
    opened(page, server, lambda body: task(len(server.sent)))
    page.keyboard.press("1")
    page.keyboard.press("8")
    if act == "double click":
        page.get_by_role("button", name="Submit").dblclick()
    else:
        page.evaluate(
            "[1, 2, 3].forEach(() => document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true})))"
        )
    page.wait_for_timeout(500)
    assert len(server.sent) == 2


@pytest.mark.parametrize("status", [0, 500, 503, 429])
def test_broken_connection_loses_nothing_and_is_reported(page, server, status):
    opened(page, server, lambda body: task(len(server.sent), first=f"Question {len(server.sent)}?"))
    page.keyboard.press("2")
    page.keyboard.press("9")
    server.fail = [status, status]
    page.keyboard.press("Enter")
    problem = {0: "No connection", 429: "The server is busy"}.get(status, f"Server error ({status})")
    page.get_by_text(f"{problem}. Your choices are kept").wait_for()
    assert checked(page) == {"first": "invalid", "second": "invalid"}
    page.keyboard.press("Enter")  # impatience sends nothing more
    page.get_by_text("Question 4?", exact=True).wait_for()
    assert [row["answer"]["assignment"] for row in server.sent[1:]] == [1, 1, 1]
    assert server.sent[1] == server.sent[2] == server.sent[3]
    assert page.locator("#message").is_hidden()


def test_late_request_sends_what_the_page_shows(page, server):
    opened(page, server, lambda body: task(len(server.sent)))
    page.keyboard.press("2")
    page.keyboard.press("9")
    server.fail = [0, 0]
    page.keyboard.press("Enter")
    page.get_by_text("No connection. Your choices are kept").wait_for()
    place = card(page, 0).get_by_text("valid", exact=True).bounding_box()
    page.mouse.click(place["x"] + 2, place["y"] + 2)
    shows = checked(page)
    assert shows == {"first": "invalid", "second": "invalid"}
    sent = last(page, server, 4)["answer"]
    assert {name: sent[name] for name in shows} == shows
    card(page, 0).get_by_text("valid", exact=True).click()  # of the next task it can be chosen
    assert checked(page) == {"first": "valid"}


@pytest.mark.parametrize("width", [1366, 768, 390])
def test_long_url_does_not_widen_the_page(page, server, width):
    page.set_viewport_size({"width": width, "height": 844})
    long = "https://example.org/" + "ethics" * 30
    asks = {"contact": f"Lee, {'lee' * 40}@example.org"}
    states = [
        CONSENT | asks | {"html": f"<h1>Before you start</h1><p>{long}</p>"},
        {"screen": "wait", "message": f"Later. {long}"} | asks,
    ]
    for state in states:
        opened(page, server, state)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, state["screen"]


def test_choices_survive_a_logout(page, server):
    opened(page, server, task())
    page.keyboard.press("2")
    page.keyboard.press("8")
    server.fail = [403]
    page.keyboard.press("Enter")
    page.get_by_text("You are logged out").wait_for()
    opened(page, server, task())
    assert checked(page) == {"first": "invalid", "second": "valid"}


def test_refusal_shows_the_message_of_the_server(page, server):
    opened(page, server, task())
    page.keyboard.press("1")
    page.keyboard.press("8")
    server.fail = [400]
    page.keyboard.press("Enter")
    page.get_by_text("no such choice").wait_for()


@pytest.mark.parametrize("failure", [b'{"detail": "This task does not exist."}', b"<h1>Not Found</h1>"])
@pytest.mark.parametrize("status", [404, 409, 413, 415, 200])
def test_permanent_errors_say_what_to_do_and_are_not_repeated(page, server, status, failure):
    opened(page, server, task())
    page.keyboard.press("2")
    page.keyboard.press("8")
    server.fail, server.failure = [status] * 20, failure
    page.keyboard.press("Enter")
    message = page.locator("#message")
    message.get_by_role("button", name="Reload").wait_for()
    text = message.inner_text()
    assert "No connection" not in text and "Trying again" not in text
    for part in ("Your choices are kept", "load the page again", "write to: Ann Lee, ann@example.org"):
        assert part in text
    assert ("This task does not exist." in text) == (b"task" in failure)
    page.wait_for_timeout(2500)  # a repeated request would be sent after 1 s
    assert len(server.sent) == 2
    server.fail.clear()
    message.get_by_role("button", name="Reload").click()
    message.wait_for(state="hidden")
    page.locator("#task").wait_for()
    assert checked(page) == {"first": "invalid", "second": "valid"}


def test_draft_belongs_to_one_task(page, server):
    opened(page, server, task(1))
    page.keyboard.press("2")
    opened(page, server, task(1, first="Another question?"))
    assert checked(page) == {}
    opened(page, server, task(1))
    assert checked(page) == {"first": "invalid"}


def test_going_back_shows_the_answer_and_forward_the_open_task(page, server):
    given = {"first": "invalid", "second": "valid", "first_reason": "underspecified"}
    desk_states = {2: task(2, previous_assignment=1), 1: task(1, answer=given)}
    opened(page, server, lambda body: desk_states[body.get("reopen", 2)])
    for way in ("Backspace", "ArrowLeft", "button"):
        if way == "button":
            page.get_by_role("button", name="Back").click()
        else:
            page.keyboard.press(way)
        page.get_by_role("button", name="Correct").wait_for()
        assert checked(page) == given
        assert page.locator("#back").is_disabled()
        assert page.locator("#skip").is_hidden()
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Submit").wait_for()


def test_training_shows_feedback_with_explanation(page, server):
    feedback = task(
        screen="feedback",
        answer={"first": "invalid", "second": "valid"},
        expected={"first": "invalid", "second": "invalid"},
        explanation={
            "first": "It has no answer here: no car.",
            "second": "It has no answer here: <b>no dog</b>.",
        },
        is_correct={"first": True, "second": False},
    )
    opened(page, server, lambda body: feedback if "answer" in body else task(screen="training"))
    page.keyboard.press("2")
    page.keyboard.press("8")
    page.keyboard.press("Enter")
    page.get_by_text("✓ Correct: it is invalid.", exact=True).wait_for()
    assert "It has no answer here: no car." in card(page, 0).inner_text()
    assert "✗ Not correct: it is invalid." in card(page, 1).inner_text()
    assert "<b>no dog</b>" in card(page, 1).inner_text()
    page.keyboard.press("1")  # what was said stays
    assert checked(page) == {"first": "invalid", "second": "valid"}
    page.keyboard.press("Enter")
    card(page, 0).locator(".feedback").wait_for(state="hidden")
    assert server.sent[-1] == {}


def test_failed_test_can_be_retaken(page, server):
    failed = {
        "screen": "test_failed",
        "message": "Not this time.",
        "can_retake": True,
    }
    opened(page, server, lambda body: task(screen="test") if "retake_test" in body else failed)
    page.get_by_text("Not this time.").wait_for()
    page.get_by_role("button", name="Try again").click()
    page.locator("#task").wait_for()
    assert server.sent == [{}, {"retake_test": True}]
    opened(page, server, failed | {"can_retake": False})
    assert page.get_by_role("button", name="Try again").count() == 0


def test_guidelines_can_be_opened_on_every_screen_and_block_keys(page, server):
    for state in (CONSENT, task(), {"screen": "wait", "message": "Later."}):
        opened(page, server, state)
        page.get_by_role("button", name="Guidelines").click()
        assert "When in doubt, say valid." in page.locator("#guidelines").inner_text()
        assert "Questions: Ann Lee, ann@example.org" in page.locator("#guidelines").inner_text()
        images = page.locator("#guidelines img")
        assert [images.nth(n).evaluate("e => e.naturalWidth") for n in range(3)] == [448] * 3
        page.keyboard.press("1")
        page.keyboard.press("Escape")
        page.locator("#guidelines").wait_for(state="hidden")
        assert checked(page) == {}
    assert not page.problems, page.problems


def test_break_is_suggested_after_half_an_hour_of_work(page, server):
    page.clock.install(time=0)
    opened(page, server, lambda body: task(len(server.sent)))

    def answered(minutes):
        page.clock.fast_forward(minutes * 60_000)
        count = len(server.sent)
        for key in ("1", "8", "Enter"):
            page.keyboard.press(key)
        last(page, server, count + 1)
        return page.locator("#pause").is_visible()

    assert [answered(4) for _ in range(7)] == [False] * 7  # 28 minutes
    assert answered(4)
    page.get_by_role("button", name="Continue").click()
    assert [answered(4) for _ in range(6)] == [False] * 6
    assert not answered(20)  # that was a pause
    assert [answered(4) for _ in range(7)] == [False] * 7


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_shown_as_text_and_can_be_answered(page, server, text):
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    opened(page, server, task(first=text, second=text))
    for place in (0, 1):
        assert card(page, place).locator(".text").evaluate("e => e.textContent") == text
        assert card(page, place).locator(".text *").count() == 0
        card(page, place).get_by_text("valid", exact=True).click()
    page.get_by_role("button", name="Submit").click()
    last(page, server, 2)
    assert page.evaluate("window.broken") is None
    assert all(url.startswith(f"{server.url}/annotate/") for url in asked if not url.startswith("data:"))
    assert page.evaluate("document.documentElement.scrollWidth") <= 1366
    assert not page.problems, page.problems


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_image_is_large_and_buttons_visible_at_every_size(page, server, width, height):
    page.set_viewport_size({"width": width, "height": height})
    opened(page, server, task(first=LONG, second=LONG, previous_assignment=1))
    for key in "29":
        page.keyboard.press(key)
    page.wait_for_function("() => document.querySelector('#image').complete")
    image = page.locator("#image").bounding_box()
    assert image["width"] >= (0.5 * width if width > 1000 else width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for name in ("Submit", "Back", "Skip"):
        box = page.get_by_role("button", name=name).bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= width
        assert box["y"] >= 0 and box["y"] + box["height"] <= height
        assert box["height"] >= 44  # a thumb
    for label in page.locator(".choices label").all():
        assert label.bounding_box()["height"] >= 44
        assert label.evaluate("e => e.scrollWidth <= e.clientWidth + 1")  # no word cut off
    if width > 1000:  # nothing needs scrolling
        assert card(page, 1).bounding_box()["y"] + card(page, 1).bounding_box()["height"] < height - 60
        assert page.locator("#answers").evaluate("e => e.scrollHeight <= e.clientHeight")
    else:
        page.mouse.wheel(0, 3000)
        page.wait_for_timeout(300)
        end = card(page, 1).bounding_box()
        assert end["y"] + end["height"] <= page.get_by_role("button", name="Submit").bounding_box()["y"] + 1


def scale(page):
    return page.locator("#image").evaluate("e => new DOMMatrix(getComputedStyle(e).transform).a")


def test_image_zooms_and_resets_with_the_next_task(page, server):
    opened(page, server, lambda body: task(len(server.sent)))
    page.get_by_role("button", name="Zoom in").click()
    assert scale(page) == 1.5
    page.keyboard.press("+")
    assert scale(page) == 2.25
    page.get_by_role("button", name="Show the whole image").click()
    assert scale(page) == 1
    frame = page.locator("#image-frame").bounding_box()
    page.mouse.move(frame["x"] + 50, frame["y"] + 50)
    page.mouse.wheel(0, -400)
    page.wait_for_timeout(100)
    assert 2.5 < scale(page) < 3  # e
    # what lay under the mouse stays there
    assert page.locator("#image").bounding_box()["x"] == pytest.approx(
        frame["x"] - 50 * (scale(page) - 1), abs=1
    )
    page.mouse.down()
    page.mouse.move(frame["x"] + 20, frame["y"] + 50)
    page.mouse.up()
    assert page.locator("#image").bounding_box()["x"] == pytest.approx(
        frame["x"] - 50 * (scale(page) - 1) - 30, abs=1
    )
    for key in ("1", "8", "Enter"):
        page.keyboard.press(key)
    last(page, server, 2)
    assert scale(page) == 1


def test_pinch_zooms_and_one_finger_moves_the_zoomed_image(chromium, server):
    context = chromium.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = opened(context.new_page(), server, task(first=LONG, second=LONG))
    hand = context.new_cdp_session(page)

    def fingers(kind, *places):
        points = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(places)]
        hand.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    fingers("touchStart", (195, 260))
    for y in range(250, 50, -20):
        fingers("touchMove", (195, y))
    fingers("touchEnd")
    page.wait_for_timeout(200)
    assert page.evaluate("scrollY") > 0 and scale(page) == 1
    page.evaluate("scrollTo(0, 0)")
    fingers("touchStart", (150, 200), (250, 200))
    for reach in range(50, 105, 5):
        fingers("touchMove", (200 - reach, 200), (200 + reach, 200))
    fingers("touchEnd")
    assert scale(page) == pytest.approx(2, abs=0.15)  # the first pixels tell that it is a gesture
    assert page.evaluate("visualViewport.scale") == 1  # the page itself stays as it is
    before = page.locator("#image").bounding_box()["x"]
    fingers("touchStart", (150, 200))
    for x in (160, 180, 200):
        fingers("touchMove", (x, 200))
    fingers("touchEnd")
    assert page.locator("#image").bounding_box()["x"] == pytest.approx(before + 50, abs=2)
    context.close()


@pytest.mark.parametrize(
    ("part", "title", "button"),
    [
        ("training", "Training", "Start the training"),
        ("test", "Test", "Start the test"),
        ("task", "Your tasks", "Start with the tasks"),
    ],
)
def test_part_is_announced_on_a_page_of_its_own(page, server, part, title, button):
    announced = {"screen": "announcement", "part": part, "message": "First comes this."}
    screen = "task" if part == "task" else part
    opened(page, server, lambda body: task(screen=screen) if "start" in body else announced)
    assert page.locator("h1:visible").inner_text() == title
    assert page.get_by_text("First comes this.").is_visible() and page.locator("#task").is_hidden()
    assert page.locator("#progress").is_hidden()
    page.get_by_role("button", name=button).click()
    page.locator("#task").wait_for()
    assert server.sent == [{}, {"start": part}]


def test_progress_shows_sets_of_a_fixed_size(page, server):
    for place, position, value in ((1, "Task 1 of 20, set 1", 0), (20, "Task 20 of 20, set 1", 19),
                                   (21, "Task 1 of 20, set 2", 0)):  # fmt: skip
        opened(page, server, task(place))
        assert page.locator("#task-position").inner_text() == position
        assert page.locator("#progress").evaluate("e => [e.value, e.max]") == [value, 20]


def test_next_image_is_not_loaded_early(page, server):
    asked = []
    page.on("request", lambda request: asked.append(request.url.rpartition("/annotate/")[2]))
    opened(page, server, task(3))
    page.wait_for_timeout(300)
    assert [name for name in asked if name.startswith("image")] == ["image/3"]


def test_screen_reader_announcements_and_control_names(page, server):
    opened(page, server, task(3, previous_assignment=2))
    said = page.locator("#announcement").inner_text()
    assert (
        "Task 3 of 20, set 1. First question: What color is the car? Second question: Is there a dog?" in said
    )
    assert page.get_by_role("radiogroup", name="First question: verdict").count() == 1
    assert page.get_by_role("radio", name="valid", exact=True).count() == 2
    assert page.get_by_role("img", name="The image for both questions").count() == 1
    assert page.get_by_role("progressbar", name="Progress").get_attribute("value") == "2"
    for element in page.locator("main:not([hidden]) button:visible, header button:visible").all():
        assert element.inner_text().strip() or element.get_attribute("aria-label")


# Guidelines table
# Test the layout of the guidelines in a real browser.


CSS = Path(__file__).parents[3] / "annotation/server/label_studio_app/templates/annotation_page.css"
# Words of table cells that are drawn in more than one piece: the rectangles of a range over one of them lie on several lines.
BROKEN = """() => {
  const broken = [];
  for (const cell of document.querySelectorAll("th, td")) {
    const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      for (const found of walker.currentNode.data.matchAll(/\\p{L}+/gu)) {
        const range = document.createRange();
        range.setStart(walker.currentNode, found.index);
        range.setEnd(walker.currentNode, found.index + found[0].length);
        if (new Set([...range.getClientRects()].map(one => one.top)).size > 1) broken.push(found[0]);
      }
    }
  }
  return broken;
}"""


@pytest.mark.parametrize("width", [320, 390, 768, 1200])
@pytest.mark.parametrize(
    "own", ["", "| a | b |\n|---|---|\n| Donaudampfschifffahrtsgesellschaftskapitaen | why not |\n"]
)
def test_table_words_are_not_broken_and_page_fits_the_window(chromium, tmp_path, width, own):
    if own:
        (tmp_path / "guidelines.md").write_text(own)
    page = chromium.new_page(viewport={"width": width, "height": 800})
    page.set_content(
        f"<style>{CSS.read_text()}</style><body><div class=document id=guidelines-text>{render_guidelines(tmp_path)}</div>"
    )
    assert page.evaluate(BROKEN) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()


def test_phone_hides_keys_but_not_explanations(chromium, tmp_path):
    page = chromium.new_page(viewport={"width": 390, "height": 800})
    page.set_content(
        f"<style>{CSS.read_text()}</style><body><div class=document id=guidelines-text>{render_guidelines(tmp_path)}</div>"
    )
    assert page.locator("td", has_text="there is no dog").is_visible()
    assert not page.locator("th", has_text="first question").is_visible()
    page.close()


def test_yes_and_no_are_shown_where_the_set_has_such_labels(page, server):
    """The choices of sets of yes-or-no questions, as `rgqa doubt --annotate` asks them. The stored values stay the same."""
    opened(page, server, task(choices="yes-no"))
    shown = card(page, 0).locator(".choices label span").all_inner_texts()
    assert shown == ["yes", "no", "unsure"]
    page.keyboard.press("2")
    page.keyboard.press("8")
    assert page.locator(".reasons:visible").count() == 0
    page.keyboard.press("q")  # there are no reasons
    assert checked(page) == {"first": "invalid", "second": "valid"}
    page.keyboard.press("Enter")
    sent = last(page, server, 2)["answer"]
    assert {key: value for key, value in sent.items() if key not in ("assignment", "seconds")} == {
        "first": "invalid",
        "second": "valid",
    }
    # Later screens do not repeat the choices.
    feedback = {
        "expected": {"first": "invalid", "second": "valid"},
        "explanation": {"first": "", "second": ""},
    }
    right = {
        "is_correct": {"first": True, "second": False},
        "answer": {"first": "invalid", "second": "invalid"},
    }
    opened(page, server, task(choices="yes-no") | {"screen": "training"})
    card(page, 0).wait_for()
    page.keyboard.press("2")
    page.keyboard.press("9")
    server.state = task() | {"screen": "feedback"} | feedback | right
    page.keyboard.press("Enter")
    page.locator(".feedback:visible").first.wait_for()
    assert "it is no." in card(page, 0).locator(".feedback").inner_text()
    assert "it is yes." in card(page, 1).locator(".feedback").inner_text()
    assert page.problems == []
