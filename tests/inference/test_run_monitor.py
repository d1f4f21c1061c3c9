import asyncio
import signal
import time
from types import SimpleNamespace

import pytest

from pipeline.inference.cost_forecast import MIN_REPLIES_BEFORE_FORECAST, Prices
from pipeline.inference.run_folder import RunFolder
from pipeline.inference.run_monitor import MAX_CONSECUTIVE_FAILURES, RunMonitor, make_journal_row


def sample(name, error="", **score):
    about = {"prediction": "red"}
    value = {"confidence": 0.5, "refused": 0, **score}
    return SimpleNamespace(
        id=name,
        error=SimpleNamespace(message=error, traceback="") if error else None,
        scores={} if error else {"realistic": SimpleNamespace(value=value, metadata=about, answer="red")},
        metadata={"items": [name, f"{name}b"], "raw": ["half"] if error else ["Red."]},
        model_usage={"net": SimpleNamespace(input_tokens=100, output_tokens=3)},
        output=SimpleNamespace(metadata=None),
        total_time=2.0,
        working_time=1.5,
    )


@pytest.fixture
def watch(tmp_path, monkeypatch):
    pressed, said, steps = [], [], []
    monkeypatch.setattr(signal, "raise_signal", pressed.append)
    folder = RunFolder(tmp_path)
    watch = RunMonitor(folder, 100, Prices(1.0), said.append, None, lambda *counts: steps.append(counts))
    watch.pressed, watch.told, watch.steps = pressed, said, steps
    return watch


def after(watch, *samples):
    async def all_of_them():
        for one in samples:
            await watch.after(one)

    asyncio.run(all_of_them())


def test_a_reply_is_a_row_of_the_journal(watch):
    before = time.time()
    after(watch, sample("a", refused=1))
    (row,) = watch.folder.rows
    assert before <= row.pop("start") + 2.0 <= time.time()  # it took 2 seconds, waiting included
    assert row == {
        "id": "a", "item_ids": ["a", "ab"], "prediction": "red", "confidence": 0.5, "refused": True, "raw": ["Red."],
        "failure": "", "seconds": 1.5, "tokens": [100, 3],
    }  # fmt: skip
    assert (watch.folder.path / "answers.jsonl").read_text().count("\n") == 1


@pytest.mark.parametrize("why", ["truncated: no answer", "no confidence: verbal, from 'x'"])
def test_a_reply_of_no_use_is_kept_as_what_it_is(why, watch):
    after(watch, sample("a", error=why))
    assert [(row["failure"], row["raw"], row["confidence"]) for row in watch.folder.rows] == [
        (why, ["half"], None)
    ]
    assert watch.failed == {} and watch.in_a_row == 0


def test_a_failed_request_is_no_row(watch):
    nothing = "no answer: the server sent none"  # as proxies do where the server behind them is away
    after(watch, sample("a", error="Error code: 500 - x"), sample("b"), sample("c", error=nothing))
    assert watch.failed == {"a": "Error code: 500 - x", "c": nothing}
    assert [row["id"] for row in watch.folder.rows] == ["b"] and watch.steps == [(0, 1), (1, 1), (1, 2)]


def test_that_requests_are_tried_again_is_told_once_for_each_kind(watch):
    failures = (("RateLimitError", 429), ("RateLimitError", 429), ("APIConnectionError", None), (None, 503))
    for kind, status in failures:
        watch.again(kind, status)
    assert watch.told == [
        "run: RateLimitError (429) from the server; such requests are tried again",
        "run: APIConnectionError from the server; such requests are tried again",
        "run: failure (503) from the server; such requests are tried again",
    ]
    assert watch.retried == {"RateLimitError (429)": 2, "APIConnectionError": 1, "failure (503)": 1}


def test_what_ctrl_c_cut_off_did_not_fail(watch):
    after(watch, sample("a", error='CancelledError("Cancelled via cancel scope 7f by <Task pending>")'))
    assert watch.failed == {} and watch.folder.rows == [] and watch.steps == []


def test_failures_in_a_row_end_the_run_and_a_reply_between_them_does_not(watch):
    failing = [sample(str(number), error="Error code: 500 - x") for number in range(MAX_CONSECUTIVE_FAILURES)]
    after(watch, *failing[1:], sample("between"), *failing[1:])
    assert watch.pressed == [] and not watch.stopped
    after(watch, failing[0])
    assert watch.pressed == [signal.SIGINT]
    assert (
        watch.stopped
        == f"{MAX_CONSECUTIVE_FAILURES} requests in a row failed, the last with: Error code: 500 - x"
    )
    after(watch, *failing, sample("late"))
    assert watch.pressed == [signal.SIGINT]  # once is enough
    assert watch.folder.rows[-1]["id"] == "late"  # a reply is a reply


def test_the_forecast_is_told_once_after_the_first_replies(watch):
    after(watch, *(sample(str(number)) for number in range(MIN_REPLIES_BEFORE_FORECAST + 5)))
    (told,) = watch.told
    # 80 left x 100 tokens = 8,000 in, x 3 = 240 out; 8,000 at 1 for a million
    assert (
        told.startswith("run: 80 more to ask: about")
        and "8 thousand tokens in, 240 out, cost 0.01 more" in told
    )


@pytest.mark.parametrize("agreed", [True, False])
def test_where_somebody_is_asked_nothing_more_is_begun_until_they_agree(agreed, watch):
    asked, begun = [], []

    def answer(told):
        asked.append(told)
        begun.append("answered")
        return agreed

    watch.agreed = answer

    async def run():
        for number in range(MIN_REPLIES_BEFORE_FORECAST - 1):
            await watch.after(sample(str(number)))
        last = asyncio.create_task(watch.after(sample("last")))
        await asyncio.sleep(0)
        late = asyncio.create_task(watch.before())
        late.add_done_callback(lambda _: begun.append("begun"))
        await last
        await asyncio.sleep(0.05)
        late.cancel()

    asyncio.run(run())
    assert len(asked) == 1 and begun[0] == "answered"
    assert watch.pressed == ([] if agreed else [signal.SIGINT])
    assert watch.stopped == ("" if agreed else "not wanted any more")


def test_a_disk_that_is_full_ends_the_run(watch, monkeypatch):
    def full(row):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(watch.folder, "add", full)
    after(watch, sample("a"))
    assert (
        "the disk is full" in watch.stopped and watch.pressed == [signal.SIGINT] and watch.usage.replies == 0
    )


def test_a_score_without_a_number_is_no_prediction():
    assert make_journal_row(sample("a", confidence=None), "")["failure"].startswith("no confidence")
