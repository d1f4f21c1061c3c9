"""What the desk's page does by itself, in a real browser, against a stand-in for its server."""

from __future__ import annotations

import pytest

from tests.annotation.browser.hands import KEYS
from tests.annotation.browser.stand_in import CONSENT, StandIn, task
from tests.annotation.client.test_labeling_config import CONTROLS

pytestmark = pytest.mark.server

SIZES = [(1366, 768), (768, 1024), (390, 844)]
HOSTILE = [
    '<img src=x onerror="window.broken=1"><script>window.broken=1</script><b>bold</b>',
    "{{first}} {{7*7}} ${7*7} $first %(first)s",
    "\"double\" 'single' `back` \\ &amp; &lt; </span></div>",
    "\u05d4\u05d0\u05dd \u05d9\u05e9 \u05db\u05dc\u05d1? \u202eabc\u202c end",
    "word " * 400 + "end?",
    "x" * 1500 + "?",
]
LONG = "What is the piece of furniture in front of the white item of furniture the standing white animal is below called?"


@pytest.fixture
def desk():
    server = StandIn()
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


def opened(page, desk, state):
    desk.state = state
    page.goto(f"{desk.url}/annotate/")
    page.locator("main:not([hidden])").wait_for()
    return page


def card(page, place):
    return page.locator(".question").nth(place)


def checked(page):
    script = "Object.fromEntries([...document.querySelectorAll('#answers input:checked')].map(e => [e.name, e.value]))"
    return page.evaluate(script)


def last(page, desk, count):
    page.wait_for_function("() => !document.querySelector('#answers .act').disabled")
    assert len(desk.sent) == count, desk.sent
    return desk.sent[-1]


def test_consent_must_be_accepted_and_its_hash_is_sent(page, desk):
    opened(page, desk, lambda body: task() if body == {"consent": "abc"} else CONSENT)
    assert page.locator("#promise h1").inner_text() == "Before you start"
    assert "Ann Lee, ann@example.org" in page.locator("#promise").inner_text()
    assert page.locator("#task").is_hidden()
    page.keyboard.press("Enter")
    page.keyboard.press("1")
    assert desk.sent == [{}]
    page.get_by_role("button", name="I have read this and agree").click()
    page.locator("#task").wait_for()
    assert desk.sent == [{}, {"consent": "abc"}]


def test_consent_can_be_declined(page, desk):
    gone = {"show": "thanks", "words": "Nothing is kept of you."}
    opened(page, desk, lambda body: gone if body == {"decline": True} else CONSENT)
    page.get_by_role("button", name="I do not agree").click()
    page.get_by_text("Nothing is kept of you.").wait_for()


def test_every_key_of_the_interface_chooses_what_stands_beside_it(page, desk):
    opened(page, desk, task())
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


def test_what_is_chosen_by_keys_or_by_mouse_is_sent_with_the_seconds(page, desk):
    opened(page, desk, lambda body: task(desk.sent.count(body) + len(desk.sent)))
    for key in "2q8":
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    sent = last(page, desk, 2)["answer"]
    assert 0 < sent.pop("seconds") < 20
    assert sent == {"place": 2, "first": "invalid", "first_reason": "missing object", "second": "valid"}
    card(page, 0).get_by_text("unsure").click()
    card(page, 1).get_by_text("invalid", exact=True).click()
    card(page, 1).get_by_text("wrong relation").click()
    page.get_by_role("button", name="Submit").click()
    sent = last(page, desk, 3)["answer"]
    assert {name: sent[name] for name in ("first", "second", "second_reason")} == {
        "first": "unsure",
        "second": "invalid",
        "second_reason": "wrong relation",
    }
    assert checked(page) == {}  # the next task begins empty


def test_a_page_left_open_for_days_can_still_submit(page, desk):
    page.clock.install(time=0)
    opened(page, desk, lambda body: task(len(desk.sent)))
    page.clock.fast_forward(3 * 86_400_000)
    for key in "18":
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    assert last(page, desk, 2)["answer"]["seconds"] == 86_400  # the most that the server takes


def test_after_the_guidelines_enter_submits_and_does_not_open_them_again(page, desk):
    opened(page, desk, lambda body: task(len(desk.sent)))
    page.get_by_role("button", name="Guidelines").click()
    page.keyboard.press("Escape")
    page.locator("#guide").wait_for(state="hidden")  # the browser closes it when it comes to it
    for key in ("1", "8", "Enter"):
        page.keyboard.press(key)
    assert last(page, desk, 2)["answer"]["first"] == "valid"
    assert page.locator("#guide").is_hidden()


def test_a_task_is_not_submitted_with_one_answer_and_says_which_is_missing(page, desk):
    opened(page, desk, task())
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    page.get_by_text("Please judge the second question.").wait_for()
    assert desk.sent == [{}]


def test_a_reason_is_not_sent_with_a_verdict_that_is_not_invalid(page, desk):
    opened(page, desk, task())
    for key in ("2", "e", "1", "8", "k", "Enter"):  # on second thoughts valid; k is a slip
        page.keyboard.press(key)
    sent = last(page, desk, 2)["answer"]
    assert (sent["first"], sent["second"]) == ("valid", "valid")
    assert "first_reason" not in sent and "second_reason" not in sent


@pytest.mark.parametrize("act", ["double click", "Enter twice"])
def test_nothing_is_submitted_twice(page, desk, act):
    opened(page, desk, lambda body: task(len(desk.sent)))
    page.keyboard.press("1")
    page.keyboard.press("8")
    if act == "double click":
        page.get_by_role("button", name="Submit").dblclick()
    else:
        page.evaluate(
            "[1, 2, 3].forEach(() => document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true})))"
        )
    page.wait_for_timeout(500)
    assert len(desk.sent) == 2


@pytest.mark.parametrize("status", [0, 500, 503])
def test_a_broken_connection_loses_nothing_and_says_so(page, desk, status):
    opened(page, desk, lambda body: task(len(desk.sent), first=f"Question {len(desk.sent)}?"))
    page.keyboard.press("2")
    page.keyboard.press("9")
    desk.fail = [status, status]
    page.keyboard.press("Enter")
    told = f"The server has a fault ({status})" if status else "No connection"
    page.get_by_text(f"{told}. What you chose is kept").wait_for()
    assert checked(page) == {"first": "invalid", "second": "invalid"}
    page.keyboard.press("Enter")  # impatience sends nothing more
    page.get_by_text("Question 4?", exact=True).wait_for()
    assert [row["answer"]["place"] for row in desk.sent[1:]] == [1, 1, 1]
    assert desk.sent[1] == desk.sent[2] == desk.sent[3]
    assert page.locator("#message").is_hidden()


def test_what_is_sent_late_is_what_the_page_shows(page, desk):
    opened(page, desk, lambda body: task(len(desk.sent)))
    page.keyboard.press("2")
    page.keyboard.press("9")
    desk.fail = [0, 0]
    page.keyboard.press("Enter")
    page.get_by_text("No connection. What you chose is kept").wait_for()
    place = card(page, 0).get_by_text("valid", exact=True).bounding_box()
    page.mouse.click(place["x"] + 2, place["y"] + 2)
    shows = checked(page)
    assert shows == {"first": "invalid", "second": "invalid"}
    sent = last(page, desk, 4)["answer"]
    assert {name: sent[name] for name in shows} == shows
    card(page, 0).get_by_text("valid", exact=True).click()  # of the next task it can be chosen
    assert checked(page) == {"first": "valid"}


@pytest.mark.parametrize("width", [1366, 768, 390])
def test_a_long_address_does_not_widen_the_page(page, desk, width):
    page.set_viewport_size({"width": width, "height": 844})
    long = "https://example.org/" + "ethics" * 30
    asks = {"contact": f"Lee, {'lee' * 40}@example.org"}
    states = [
        CONSENT | asks | {"html": f"<h1>Before you start</h1><p>{long}</p>"},
        {"show": "wait", "words": f"Later. {long}"} | asks,
    ]
    for state in states:
        opened(page, desk, state)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, state["show"]


def test_who_is_logged_out_is_told_and_finds_the_choices_again(page, desk):
    opened(page, desk, task())
    page.keyboard.press("2")
    page.keyboard.press("8")
    desk.fail = [403]
    page.keyboard.press("Enter")
    page.get_by_text("You are logged out here").wait_for()
    opened(page, desk, task())
    assert checked(page) == {"first": "invalid", "second": "valid"}


def test_what_the_server_does_not_take_is_told_in_its_words(page, desk):
    opened(page, desk, task())
    page.keyboard.press("1")
    page.keyboard.press("8")
    desk.fail = [400]
    page.keyboard.press("Enter")
    page.get_by_text("no such choice").wait_for()


def test_a_draft_is_of_one_task_alone(page, desk):
    opened(page, desk, task(1))
    page.keyboard.press("2")
    opened(page, desk, task(1, first="Another question?"))
    assert checked(page) == {}
    opened(page, desk, task(1))
    assert checked(page) == {"first": "invalid"}


def test_going_back_shows_what_was_given_and_forward_comes_the_open_task(page, desk):
    given = {"first": "invalid", "second": "valid", "first_reason": "underspecified"}
    desk_states = {2: task(2, back=1), 1: task(1, given=given)}
    opened(page, desk, lambda body: desk_states[body.get("open", 2)])
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


def test_training_tells_after_each_answer_what_is_right_and_why(page, desk):
    told = task(
        show="feedback",
        given={"first": "invalid", "second": "valid"},
        known={"first": "invalid", "second": "invalid"},
        why={"first": "It has no answer here: no car.", "second": "It has no answer here: <b>no dog</b>."},
        right={"first": True, "second": False},
    )
    opened(page, desk, lambda body: told if "answer" in body else task(show="training"))
    page.keyboard.press("2")
    page.keyboard.press("8")
    page.keyboard.press("Enter")
    page.get_by_text("✓ Right: it is invalid.", exact=True).wait_for()
    assert "It has no answer here: no car." in card(page, 0).inner_text()
    assert "✗ Not so: it is invalid." in card(page, 1).inner_text()
    assert "<b>no dog</b>" in card(page, 1).inner_text()
    page.keyboard.press("1")  # what was said stays
    assert checked(page) == {"first": "invalid", "second": "valid"}
    page.keyboard.press("Enter")
    card(page, 0).locator(".known").wait_for(state="hidden")
    assert desk.sent[-1] == {}


def test_who_fails_the_test_is_told_and_tries_again(page, desk):
    failed = {"show": "failed", "words": "Not this time.", "again": True, "asked": 24, "right": 15}
    opened(page, desk, lambda body: task(show="test") if "again" in body else failed)
    page.get_by_text("Not this time.").wait_for()
    assert (
        "Of 24 questions whose answers we know you answered 15 as known."
        in page.locator("#words").inner_text()
    )
    page.get_by_role("button", name="Try again").click()
    page.locator("#task").wait_for()
    assert desk.sent == [{}, {"again": True}]
    opened(page, desk, failed | {"again": False})
    assert page.get_by_role("button", name="Try again").count() == 0


def test_the_guidelines_can_be_read_in_every_state_and_keys_do_nothing_meanwhile(page, desk):
    for state in (CONSENT, task(), {"show": "wait", "words": "Later."}):
        opened(page, desk, state)
        page.get_by_role("button", name="Guidelines").click()
        assert "When in doubt, say valid." in page.locator("#guide").inner_text()
        assert "Questions: Ann Lee, ann@example.org" in page.locator("#guide").inner_text()
        images = page.locator("#guide img")
        assert [images.nth(n).evaluate("e => e.naturalWidth") for n in range(3)] == [448] * 3
        page.keyboard.press("1")
        page.keyboard.press("Escape")
        page.locator("#guide").wait_for(state="hidden")
        assert checked(page) == {}
    assert not page.problems, page.problems


def test_a_pause_is_suggested_after_half_an_hour_of_work_and_not_after_one(page, desk):
    page.clock.install(time=0)
    opened(page, desk, lambda body: task(len(desk.sent)))

    def answered(minutes):
        page.clock.fast_forward(minutes * 60_000)
        count = len(desk.sent)
        for key in ("1", "8", "Enter"):
            page.keyboard.press(key)
        last(page, desk, count + 1)
        return page.locator("#pause").is_visible()

    assert [answered(4) for _ in range(7)] == [False] * 7  # 28 minutes
    assert answered(4)
    page.get_by_role("button", name="Go on").click()
    assert [answered(4) for _ in range(6)] == [False] * 6
    assert not answered(20)  # that was a pause
    assert [answered(4) for _ in range(7)] == [False] * 7


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_shows_as_text_and_can_be_answered(page, desk, text):
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    opened(page, desk, task(first=text, second=text))
    for place in (0, 1):
        assert card(page, place).locator(".text").evaluate("e => e.textContent") == text
        assert card(page, place).locator(".text *").count() == 0
        card(page, place).get_by_text("valid", exact=True).click()
    page.get_by_role("button", name="Submit").click()
    last(page, desk, 2)
    assert page.evaluate("window.broken") is None
    assert all(url.startswith(f"{desk.url}/annotate/") for url in asked if not url.startswith("data:"))
    assert page.evaluate("document.documentElement.scrollWidth") <= 1366
    assert not page.problems, page.problems


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_on_every_screen_the_image_is_large_and_submit_in_sight(page, desk, width, height):
    page.set_viewport_size({"width": width, "height": height})
    opened(page, desk, task(first=LONG, second=LONG, back=1))
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


def test_the_image_is_enlarged_by_buttons_keys_and_wheel_and_whole_again_at_the_next_task(page, desk):
    opened(page, desk, lambda body: task(len(desk.sent)))
    page.get_by_role("button", name="Zoom in").click()
    assert scale(page) == 1.5
    page.keyboard.press("+")
    assert scale(page) == 2.25
    page.get_by_role("button", name="Show the whole image").click()
    assert scale(page) == 1
    frame = page.locator("#frame").bounding_box()
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
    last(page, desk, 2)
    assert scale(page) == 1


def test_two_fingers_enlarge_the_image_and_one_moves_it_then_and_scrolls_the_page_before(chromium, desk):
    context = chromium.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = opened(context.new_page(), desk, task(first=LONG, second=LONG))
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


def test_the_next_image_is_not_asked_for_before_its_time(page, desk):
    asked = []
    page.on("request", lambda request: asked.append(request.url.rpartition("/annotate/")[2]))
    opened(page, desk, task(3))
    page.wait_for_timeout(300)
    assert [name for name in asked if name.startswith("image")] == ["image/3"]


def test_a_screen_reader_is_told_what_is_asked_and_every_control_has_a_name(page, desk):
    opened(page, desk, task(3, back=2))
    said = page.locator("#said").inner_text()
    assert "Task 3 of 20. First question: What color is the car? Second question: Is there a dog?" in said
    assert page.get_by_role("radiogroup", name="First question: verdict").count() == 1
    assert page.get_by_role("radio", name="valid", exact=True).count() == 2
    assert page.get_by_role("img", name="The image that both questions are about").count() == 1
    assert page.get_by_role("progressbar", name="Done so far").get_attribute("value") == "2"
    for element in page.locator("main:not([hidden]) button:visible, header button:visible").all():
        assert element.inner_text().strip() or element.get_attribute("aria-label")
