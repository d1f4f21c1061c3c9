"""On real servers: what is kept of what a person's page sends."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.annotation.server.conftest import DeskClient, Studio, annotations

pytestmark = pytest.mark.server


def test_answers_corrections_and_skips_are_label_studios_annotations(studio: Studio) -> None:
    desk = studio.desk("cyd")
    first = desk.step({})
    second = desk.answer(first, "invalid", "valid", first_reason="missing object", seconds=0.001)
    assert (second["place"], second["back"]) == (2, 1)
    third = desk.step({"skip": {"place": 2}})
    assert (third["place"], third["back"]) == (3, 2)
    again = desk.step({"open": 1})
    assert again["given"] == {
        "first": "invalid",
        "second": "valid",
        "first_reason": "missing object",
        "second_reason": "",
    }
    assert desk.answer(again, "unsure", "invalid")["place"] == 3
    taken_up = desk.step({"open": 2})
    assert taken_up["given"] is None and desk.answer(taken_up, "valid", "unsure")["place"] == 3
    one, two = annotations(studio, "cyd")
    assert (one["said"], one["skipped"], one["seconds"]) == (
        {"first": "unsure", "second": "invalid"},
        False,
        0.001,
    )
    assert (two["said"], two["skipped"]) == ({"first": "valid", "second": "unsure"}, False)
    assert desk.post({"skip": {"place": 1}}).status_code == 409  # a slip on Skip takes no answer back


def test_seconds_are_at_most_what_the_server_saw(studio: Studio) -> None:
    desk = studio.desk("dan")
    desk.answer(desk.answer(desk.step({})), seconds=80_000)
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
def test_what_is_no_answer_changes_nothing(studio: Studio, wrong: dict) -> None:
    desk = studio.desk("dan")
    before, place = annotations(studio, "dan") if wrong == {"task": 1} else [], desk.step({})["place"]
    answer = desk.post(
        {"answer": {"place": place, "first": "valid", "second": "valid", "seconds": 1} | wrong}
    )
    assert answer.status_code == 400, answer.text
    assert desk.step({})["place"] == place
    if before:
        assert annotations(studio, "dan") == before


def test_double_clicks_and_two_tabs_lose_and_double_nothing(studio: Studio) -> None:
    desk = studio.desk("gus")
    tabs = [desk, DeskClient(studio.url, session=desk.session), studio.desk("gus")]
    place = desk.step({})["place"]
    said = {"answer": {"place": place, "first": "invalid", "second": "valid", "seconds": 1}}
    with ThreadPoolExecutor(12) as pool:
        shown = list(pool.map(lambda turn: tabs[turn % 3].step(said), range(24)))
    assert {row["place"] for row in shown} == {place + 1}
    with ThreadPoolExecutor(12) as pool:  # and pages that only ask do not go on
        assert {row["place"] for row in pool.map(lambda turn: tabs[turn % 3].step({}), range(24))} == {
            place + 1
        }
    assert [row["said"] for row in annotations(studio, "gus")] == [{"first": "invalid", "second": "valid"}]


def with_known(content: dict[str, Any], training: int, test: int) -> dict[str, Any]:
    """The queue with tasks of known verdicts: the first question valid, the second not."""
    image = "/data/local-files/?d=tiny/source/images/n0.png"
    known = [
        {
            "key": f"k{number}",
            "image": image,
            "first": {"text": f"Is there a cat {number}?", "expected": "valid", "why": "a cat"},
            "second": {"text": f"What color is the dog {number}?", "expected": "invalid", "why": "no dog"},
        }
        for number in range(training + 2 * test)
    ]
    rules = content["rules"] | {"training": training, "test": test, "test_share": 0.8}
    return content | {"known": known, "rules": rules}


def test_training_tells_what_is_right_and_a_failed_test_can_be_tried_once_more(studio: Studio) -> None:
    content = json.loads(studio.queue.read_text())
    changed = with_known(content, training=1, test=2)
    studio.queue.write_text(json.dumps(changed))
    try:
        desk = studio.desk("hal")
        shown = desk.step({})
        assert (shown["show"], shown["number"], shown["of"], shown["back"]) == ("training", 1, 1, None)
        feedback = desk.answer(shown, "valid", "valid")
        assert feedback["show"] == "feedback"
        assert feedback["known"] == {"first": "valid", "second": "invalid"}
        assert feedback["right"] == {"first": True, "second": False} and feedback["why"]["second"] == "no dog"
        shown = desk.step({})
        assert (shown["show"], shown["number"], shown["of"]) == ("test", 1, 2)
        shown = desk.answer(
            shown, "valid", "valid"
        )  # half of it wrong: every task has one valid and one invalid
        failed = desk.answer(shown, "valid", "valid")
        assert (failed["show"], failed["again"]) == ("failed", True)
        assert desk.post({"open": shown["place"]}).status_code == 404  # the test's answers stay as they are
        shown = desk.step({"again": True})
        assert (shown["show"], shown["number"], shown["of"]) == ("test", 1, 2)
        for _ in range(2):
            shown = desk.answer(shown, "valid", "invalid")
        assert shown["show"] == "task"
        assert annotations(studio, "hal") == []  # none of this is a verdict
        ivy = studio.desk("ivy")
        shown = ivy.answer(ivy.step({}), second="valid") and ivy.step({})
        for turn in range(2):
            shown = ivy.answer(ivy.answer(shown, second="valid"), second="valid")
            assert (shown["show"], shown["again"]) == ("failed", turn == 0)
            shown = ivy.step({"again": True})
        assert shown["show"] == "failed"
    finally:
        studio.queue.write_text(json.dumps(content))
