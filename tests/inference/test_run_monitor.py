"""Progress, cost and problems of a run while it runs."""

import asyncio
import io

import pytest

from pipeline.inference.cost_forecast import (
    MIN_REPLIES_BEFORE_FORECAST,
    Prices,
    Usage,
    format_duration,
    format_forecast,
)
from pipeline.inference.progress_display import ProgressDisplay
from pipeline.inference.run_folder import RunFolder
from pipeline.inference.run_monitor import MAX_CONSECUTIVE_FAILURES, MAX_SECONDS_WITHOUT_REPLY, RunMonitor

# Run monitor


def row(name, failure="", abstained=False):
    """A row of answers.jsonl."""
    confidence, prediction = (None, None) if failure else (0.5, "red")
    return {
        "id": name, "item_ids": [name, f"{name}b"], "prediction": prediction, "confidence": confidence, "abstained": abstained,
        "raw_replies": ["Red."], "failure": failure, "started_at": 1.0, "seconds": 1.5, "tokens": [100, 3],
    }  # fmt: skip


class StatusError(Exception):
    def __init__(self, words, status_code):
        super().__init__(words)
        self.status_code = status_code


@pytest.fixture
def monitor(tmp_path):
    stops, lines, steps = [], [], []
    folder = RunFolder(tmp_path)
    monitor = RunMonitor(folder, 100, Prices(1.0), lines.append, None, lambda *counts: steps.append(counts))
    monitor.cancel = lambda: stops.append(monitor.stop_reason)
    monitor.stops, monitor.lines, monitor.steps = stops, lines, steps
    return monitor


def after(monitor, *rows):
    async def all_of_them():
        for one in rows:
            await monitor.record_row(one)

    asyncio.run(all_of_them())


def test_a_reply_is_a_row_of_the_journal(monitor):
    after(monitor, row("a", abstained=True))
    assert monitor.folder.rows == [row("a", abstained=True)]
    assert (monitor.folder.path / "answers.jsonl").read_text().count("\n") == 1


@pytest.mark.parametrize("why", ["truncated: no answer", "no confidence: verbalized, from 'x'"])
def test_an_unusable_reply_is_saved_with_its_reason(why, monitor):
    after(monitor, row("a", failure=why))
    assert [one["failure"] for one in monitor.folder.rows] == [why]
    assert monitor.failures == {} and monitor.failure_times == []


def test_a_failed_request_is_no_row(monitor):
    monitor.record_failure("a", "Error code: 500 - x")
    after(monitor, row("b"))
    monitor.record_failure("c", "no answer: the server sent none")
    assert monitor.failures == {"a": "Error code: 500 - x", "c": "no answer: the server sent none"}
    assert [one["id"] for one in monitor.folder.rows] == ["b"] and monitor.steps == [(0, 1), (1, 1), (1, 2)]


def test_retries_are_reported_once_for_each_kind(monitor):
    for error in (
        StatusError("slow down", 429),
        StatusError("slow down", 429),
        ConnectionError("reset"),
        TimeoutError(),
        StatusError("busy", 503),
    ):
        monitor.record_retry(error)
    assert monitor.lines == [
        "run: the server answered with HTTP status 429; such requests are sent again",
        "run: a connection failed; such requests are sent again",
        "run: a request had no reply in time; such requests are sent again",
        "run: the server answered with HTTP status 503; such requests are sent again",
    ]
    assert [*monitor.num_retries.values()] == [2, 1, 1, 1]


def test_a_run_that_only_retries_is_stopped(monitor, monkeypatch):
    monitor.record_retry(ConnectionError("reset"))
    assert not monitor.stop_reason
    monitor.last_reply_time -= MAX_SECONDS_WITHOUT_REPLY
    monitor.record_retry(ConnectionError("reset"))
    assert monitor.stop_reason == "no reply for 3 min 0 s; the last request failed with: reset"
    assert len(monitor.stops) == 1


def test_consecutive_failures_stop_the_run(monitor):
    def fail(count):
        for number in range(count):
            monitor.record_failure(str(number), "Error code: 500 - x")

    fail(MAX_CONSECUTIVE_FAILURES - 1)
    monitor.note_reply()
    after(monitor, row("between"))
    fail(MAX_CONSECUTIVE_FAILURES - 1)
    assert monitor.stops == [] and not monitor.stop_reason
    fail(1)
    reason = f"{MAX_CONSECUTIVE_FAILURES} requests in a row failed; the last with: Error code: 500 - x"
    assert monitor.stops == [reason] and monitor.stop_reason == reason
    fail(MAX_CONSECUTIVE_FAILURES)
    after(monitor, row("late"))
    assert monitor.stops == [reason]  # once is enough
    assert monitor.folder.rows[-1]["id"] == "late"  # a reply is a reply


def test_the_forecast_is_shown_once_after_the_first_replies(monitor):
    after(monitor, *(row(str(number)) for number in range(MIN_REPLIES_BEFORE_FORECAST + 5)))
    (line,) = monitor.lines
    # 80 left x 100 tokens = 8,000 in, x 3 = 240 out; 8,000 at 1 for a million
    assert (
        line.startswith("run: 20 replies so far, 80 questions remain: about")
        and "8 thousand tokens in, 240 out, cost 0.01 more" in line
    )


@pytest.mark.parametrize("agreed", [True, False])
def test_no_request_starts_until_the_forecast_is_confirmed(agreed, monitor):
    asked, begun = [], []

    def answer(forecast):
        asked.append(forecast)
        begun.append("answered")
        return agreed

    monitor.confirm = answer

    async def run():
        for number in range(MIN_REPLIES_BEFORE_FORECAST - 1):
            await monitor.record_row(row(str(number)))
        last = asyncio.create_task(monitor.record_row(row("last")))
        await asyncio.sleep(0)
        late = asyncio.create_task(monitor.wait_if_paused())
        late.add_done_callback(lambda _: begun.append("begun"))
        await last
        await asyncio.sleep(0.05)
        late.cancel()

    asyncio.run(run())
    assert len(asked) == 1 and begun[0] == "answered"
    assert monitor.stops == ([] if agreed else ["the forecast was declined"])
    assert monitor.stop_reason == ("" if agreed else "the forecast was declined")


def test_a_full_disk_stops_the_run(monitor, monkeypatch):
    def full(row):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(monitor.folder, "append_row", full)
    after(monitor, row("a"))
    assert (
        "the disk is full" in monitor.stop_reason
        and len(monitor.stops) == 1
        and monitor.usage.num_replies == 0
    )


# Progress display


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_without_a_terminal_at_most_ten_lines_are_printed(capsys):
    with ProgressDisplay(0, 1000) as screen:
        for number in range(1, 1001):
            screen.update(number, number // 500)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 10
    assert lines[0] == "run: 100 of 1,000 replies" and lines[-1] == "run: 1,000 of 1,000 replies, 2 failed"


def test_a_resumed_run_counts_earlier_replies(capsys):
    with ProgressDisplay(900, 1000) as screen:
        screen.update(1, 0)
        screen.update(100, 0)
    assert capsys.readouterr().err.splitlines() == [
        "run: 901 of 1,000 replies",
        "run: 1,000 of 1,000 replies",
    ]


def test_a_terminal_shows_a_bar_with_the_failures(monkeypatch):
    pytest.importorskip("rich")
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with ProgressDisplay(10, 50) as screen:
        screen.update(15, 3)
        screen.print_line("about [bold]10[/bold] s")
        screen.bar.refresh()
    shown = terminal.getvalue()
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")  # the cursor, hidden meanwhile, is back
    assert "25/50" in terminal.getvalue() and "3 failed" in terminal.getvalue()
    assert "about [bold]10[/bold] s" in terminal.getvalue()


def test_ctrl_d_means_no(monkeypatch):
    def ended(_):
        raise EOFError

    monkeypatch.setattr("builtins.input", ended)
    assert not ProgressDisplay(0, 10).confirm("cost 3.00 more")


@pytest.mark.parametrize(
    ("answer", "agreed"), [("", True), ("Y", True), ("yes ", True), ("n", False), ("stop", False)]
)
def test_only_yes_continues(answer, agreed, monkeypatch):
    asked = []
    monkeypatch.setattr("builtins.input", lambda text: asked.append(text) or answer)
    assert ProgressDisplay(0, 10).confirm("cost 3.00 more") is agreed
    assert asked == ["run: cost 3.00 more. Go on? [Y/n] "]


# Cost forecast


def test_a_forecast_is_proportional_to_the_usage_so_far():
    # 20 replies in 10 s, 1,000 tokens in and 5 out each; 480 left: x 24 = 240 s, 480,000 and 2,400 tokens;
    # 0.48 x 0.15 + 0.0024 x 0.60 = 0.072 + 0.00144
    text = format_forecast(Usage(20, 10.0, 20_000, 100), 480, Prices(0.15, 0.60))
    assert (
        text
        == "480 questions remain: about 4 min 0 s, 480 thousand tokens in, 2.4 thousand out, cost 0.07 more"
    )


@pytest.mark.parametrize(
    ("tokens_in", "tokens_out", "text"), [(0, 100, "0 tokens in, 100 out"), (100, 0, "100 tokens in, 0 out")]
)
def test_a_server_may_count_input_or_output_tokens_only(tokens_in, tokens_out, text):
    assert f"about 10 s, {text}, cost 0.00 more" in format_forecast(
        Usage(20, 10.0, tokens_in, tokens_out), 20, Prices(1.0, 1.0)
    )


def test_without_prices_no_cost_is_shown():
    assert "cost" not in format_forecast(Usage(20, 10.0, 20_000, 100), 480, Prices())


def test_a_server_that_counts_no_tokens_leaves_the_cost_unknown():
    assert format_forecast(Usage(20, 10.0, 0, 0), 20, Prices(1.0)) == (
        "20 questions remain: about 10 s, cost unknown: the server reports no token counts"
    )


def test_one_price_is_enough():
    assert (
        Prices(2.0).compute_cost(500_000, 1_000_000) == 1.0
        and Prices(None, 2.0).compute_cost(500_000, 1_000_000) == 2.0
    )


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "0 s"), (59.6, "1 min 0 s"), (3600, "1 h 0 min"), (86_400, "24 h 0 min")]
)
def test_durations_are_formatted_with_units(seconds, words):
    assert format_duration(seconds) == words
