"""What tests of bad inputs share: a command run as a stranger runs it, and what it told."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pipeline.core.errors import run_command


def told(capsys: pytest.CaptureFixture[str], main: Callable[[], object]) -> str:
    """The one message with which a command ends, by exit code 1; "" if it did what it was asked to. All else is a
    traceback, and fails the test."""
    capsys.readouterr()
    try:
        run_command(main)
    except SystemExit as end:
        message = capsys.readouterr().err
        assert end.code == 1
        assert message.count("error: ") >= 1 and "Traceback" not in message
        return message[message.index("error: ") :]
    return ""
