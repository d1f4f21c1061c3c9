import io

import pytest

from pipeline.inference.progress_display import ProgressDisplay


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
