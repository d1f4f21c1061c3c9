"""What hands do on the annotator's screen, by mouse or by keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
        "unclear picture": "d",
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
        "unclear picture": "l",
    },
}


def texts(page: Any) -> list[str]:
    return [
        card.locator(".lsf-richtext__container").inner_text() for card in page.locator(".rgqa-question").all()
    ]


def label(page: Any, name: str, choice: str) -> Any:
    card = page.locator(".rgqa-question").nth(("first", "second").index(name))
    return card.locator("label", has=page.locator(f'input[name="{choice}"]'))


def answer(page: Any, choices: dict[str, str], by: str) -> None:
    """Choose by `mouse` or by `key`; `first_reason` is chosen in the card of `first`."""
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
    """Do something that sends an annotation, and wait until the server has stored it."""
    with page.expect_response(
        lambda r: "/annotations" in r.url and r.request.method in ("POST", "PATCH")
    ) as response:
        act()
    assert response.value.ok
