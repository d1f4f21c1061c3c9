"""Operate the annotation page and Label Studio's own screen, by mouse or keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from annotation.server import accounts
from annotation.study.roster import read_roster
from pipeline.core.paths import DatasetFolders

KEYS = {
    "first": {
        "valid": "1",
        "invalid": "2",
        "unsure": "3",
        "missing object": "q",
        "wrong attribute": "w",
        "wrong relation": "e",
        "no valid answer": "a",
        "underspecified": "s",
        "unclear image": "d",
    },
    "second": {
        "valid": "8",
        "invalid": "9",
        "unsure": "0",
        "missing object": "i",
        "wrong attribute": "o",
        "wrong relation": "p",
        "no valid answer": "j",
        "underspecified": "k",
        "unclear image": "l",
    },
}


def link(name: str) -> str:
    """The address that somebody of the roster is let in by."""
    (person,) = (person for person in read_roster(DatasetFolders()) if person.name == name)
    return accounts.make_link(person)


def shown(page: Any) -> dict[str, Any]:
    """Return the state of the annotation page, after the current request has finished."""
    page.wait_for_function("() => state.screen && !busy")
    return page.evaluate("state")


def choose(page: Any, choices: dict[str, str], by: str) -> None:
    """Choose on the annotation page by `mouse` or by `key`; `first_reason` is chosen in the card of `first`."""
    for control, choice in choices.items():
        name = control.removesuffix("_reason")
        if by == "key":
            page.keyboard.press(KEYS[name][choice])
        else:
            page.locator(f'label:has(input[name="{control}"][value="{choice}"])').click()
        assert page.locator(f'input[name="{control}"][value="{choice}"]').is_checked()


def submit(page: Any, by: str) -> dict[str, Any]:
    """Submit, and what the page shows then."""
    with page.expect_response(lambda response: response.url.endswith("/annotate/step")) as response:
        if by == "key":
            page.keyboard.press("Enter")
        else:
            page.locator("#answers .primary").click()
    assert response.value.ok, response.value.text()
    return shown(page)


def label(page: Any, name: str, choice: str) -> Any:
    """A choice on Label Studio's own screen (interface.xml)."""
    card = page.locator(".rgqa-question").nth(("first", "second").index(name))
    return card.locator("label", has=page.locator(f'input[name="{choice}"]'))


def answer(page: Any, choices: dict[str, str], by: str) -> None:
    """The same as `choose` on Label Studio's own screen."""
    for control, choice in choices.items():
        name = control.removesuffix("_reason")
        if by == "mouse":
            label(page, name, choice).click()
        else:
            page.keyboard.press(KEYS[name][choice])
        page.locator(".rgqa-question").nth(("first", "second").index(name)).locator(
            "label.ant-radio-wrapper-checked", has=page.locator(f'input[name="{choice}"]')
        ).wait_for()


def sent(page: Any, act: Callable[[], None]) -> None:
    """Do something on Label Studio's own screen that sends an annotation, and wait until the server has stored it."""
    with page.expect_response(
        lambda r: "/annotations" in r.url and r.request.method in ("POST", "PATCH")
    ) as response:
        act()
    assert response.value.ok


HOSTILE = [
    '<img src=x onerror="window.broken=1"><script>window.broken=1</script><b>bold</b>',
    "{{first}} {{7*7}} ${7*7} $first %(first)s",
    "\"double\" 'single' `back` \\ &amp; &lt; </span></div>",
    "\u05d4\u05d0\u05dd \u05d9\u05e9 \u05db\u05dc\u05d1? \u202eabc\u202c end",
    "word " * 400 + "end?",
    "x" * 1500 + "?",
]
