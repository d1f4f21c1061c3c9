"""Test Label Studio\'s own screen (interface.xml), which other servers than ours use, in a real browser.

The page of our own server is tested in test_annotation_page.py, test_annotation_page_on_server.py.
"""

from __future__ import annotations

import pytest

from tests.annotation.browser.page_actions import answer, label, sent

pytestmark = pytest.mark.server

ORDINARY = [
    (f"What color is car {place}?", f"Is there a dog next to the bench number {place}?") for place in range(5)
]
HOSTILE = [
    '<img src=x onerror="window.broken=1"><script>window.broken=1</script><b>bold</b>',
    "{{first}} {{7*7}} ${7*7} $first $second %(first)s",
    "\"double\" 'single' `back` \\ &amp; &lt; </span></div>",
    "\u05d4\u05d0\u05dd \u05d9\u05e9 \u05db\u05dc\u05d1? \u202eabc\u202c end",
    "\U0001f436 is it a \U0001f469\u200d\U0001f33e or a \u00f1andu\u0301?",
    "word " * 400 + "end?",
    "x" * 1500 + "?",
    "https://example.org/?a=1&b=2",
]


def start(page, studio, project):
    """Open the project's label stream and close the instructions by keyboard."""
    page.goto(f"{studio.url}/projects/{project}/data?labeling=1", wait_until="commit")
    page.locator(".rgqa-guide").wait_for()
    page.locator(".rgqa label").first.wait_for()
    page.keyboard.press("Escape")
    page.locator(".rgqa-guide").wait_for(state="hidden")


def wait_for(page, question):
    page.locator(".rgqa-question .lsf-richtext__container").first.get_by_text(question, exact=True).wait_for()


def test_instructions_come_first_with_their_images(page, studio):
    project = studio.project("instructions", ORDINARY[:1])
    page.goto(f"{studio.url}/projects/{project}/data?labeling=1", wait_until="commit")
    guide = page.locator(".rgqa-guide")
    guide.wait_for()
    assert "When in doubt, say valid." in guide.inner_text()
    assert "By answering the first task" in guide.inner_text()
    boxes = guide.locator(".image").all()
    assert len(boxes) == 3
    for box in boxes:
        # the files' own size, as laid out: the window grows into its place while it opens
        assert box.evaluate("e => [e.offsetWidth, e.offsetHeight]") == [448, 336]
        address = box.evaluate("e => getComputedStyle(e).backgroundImage.slice(5, -2)")
        loaded = page.evaluate(
            "async a => { let i = new Image(); i.src = a; await i.decode(); return i.naturalWidth }", address
        )
        assert loaded == 448
    page.keyboard.press("Escape")
    guide.wait_for(state="hidden")
    page.get_by_role("button", name="Instructions").click()  # to be read again at any time
    guide.wait_for()


def test_answers_and_corrections_are_stored_as_clicked(page, studio):
    project = studio.project("answers", ORDINARY)
    start(page, studio, project)
    clicked = {
        "task0": {"first": "valid", "second": "invalid", "second_reason": "missing object"},
        "task1": {"first": "invalid", "first_reason": "unclear image", "second": "unsure"},
        "task2": {"first": "unsure", "second": "valid"},
        "task3": {
            "first": "invalid",
            "second": "invalid",
            "first_reason": "wrong relation",
            "second_reason": "underspecified",
        },
    }
    ways = [
        ("mouse", lambda: page.locator("button[name=submit]").click()),
        ("key", lambda: page.keyboard.press("Control+Enter")),
        ("key", lambda: page.keyboard.press("Control+Enter")),
        ("key", lambda: page.keyboard.press("Control+Enter")),
    ]
    for place, (by, submit) in enumerate(ways):
        wait_for(page, ORDINARY[place][0])
        answer(page, clicked[f"task{place}"], by)
        sent(page, submit)
    wait_for(page, ORDINARY[4][0])
    assert studio.stored(project) == clicked

    for place in (3, 2, 1):  # back to the second task
        page.get_by_test_id("prev-task").click()
        wait_for(page, ORDINARY[place][0])
    label(page, "first", "invalid").locator("xpath=self::*[contains(@class, 'checked')]").wait_for()
    answer(page, {"first": "valid", "second": "invalid", "second_reason": "no valid answer"}, "key")
    sent(page, lambda: page.keyboard.press("Control+Enter"))
    clicked["task1"] = {"first": "valid", "second": "invalid", "second_reason": "no valid answer"}
    assert studio.stored(project) == clicked

    start(page, studio, project)  # who comes back goes on with the first open task
    wait_for(page, ORDINARY[4][0])


def test_reason_is_stored_only_with_invalid(page, studio):
    project = studio.project("reasons", ORDINARY[:1])
    start(page, studio, project)
    answer(page, {"first": "invalid", "first_reason": "wrong relation", "second": "valid"}, "key")
    answer(page, {"first": "valid"}, "key")  # on second thoughts
    page.keyboard.press("k")  # a slip: the second question is valid
    sent(page, lambda: page.keyboard.press("Control+Enter"))
    assert studio.stored(project) == {"task0": {"first": "valid", "second": "valid"}}


def test_hostile_text_is_shown_as_text_and_can_be_answered(page, studio):
    pairs = list(zip(HOSTILE[::2], HOSTILE[1::2], strict=True))
    opened, asked = [], []
    page.on("dialog", lambda dialog: (opened.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: asked.append(request.url))
    project = studio.project("hostile", pairs)
    start(page, studio, project)
    for place, pair in enumerate(pairs):
        cards = page.locator(".rgqa-question .lsf-richtext__container")
        page.wait_for_function(
            "wanted => document.querySelector('.rgqa-question .lsf-richtext__container')?.textContent == wanted",
            arg=pair[0],
        )
        for card, text in zip(cards.all(), pair, strict=True):
            assert card.evaluate("e => e.textContent") == text
            inside = (
                "e => [...e.querySelectorAll('*')].map(x => [x.tagName, ...x.getAttributeNames()].join(' '))"
            )
            assert set(card.evaluate(inside)) == {"SPAN class"}, place
        answer(page, {"first": "valid", "second": "valid"}, "mouse")  # its answers can still be reached
        sent(page, lambda: page.keyboard.press("Control+Enter"))
    assert page.evaluate("window.broken") is None
    assert opened == []
    assert not [url for url in asked if url.endswith("/x") or "example.org" in url]
    assert set(studio.stored(project)) == {f"task{place}" for place in range(len(pairs))}
