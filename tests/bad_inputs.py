"""Run a command and return its error message, for tests of invalid inputs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pipeline.core.errors import run_command


def error_message(capsys: pytest.CaptureFixture[str], main: Callable[[], object]) -> str:
    """Return the message of a command that ends with exit code 1; "" if it succeeds. A traceback fails the test."""
    capsys.readouterr()
    try:
        run_command(main)
    except SystemExit as end:
        message = capsys.readouterr().err
        assert end.code == 1
        assert message.count("error: ") >= 1 and "Traceback" not in message
        return message[message.index("error: ") :]
    return ""
