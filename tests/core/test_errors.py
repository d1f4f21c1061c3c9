"""Error messages, of commands, of servers and of the Hugging Face Hub."""

import errno
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest
from huggingface_hub import constants

from pipeline.core.errors import Problems, UserError, format_error, run_command
from pipeline.core.hf_hub import use_cache_if_unreachable
from pipeline.core.server_errors import (
    explain_error,
    format_one_line,
    get_failure_reason,
    get_http_status,
    unwrap_retry_error,
)
from pipeline.core.server_errors import (
    format_error as format_server_error,
)
from pipeline.public_sets.row_sources import open_rows

# Errors


def test_all_problems_are_reported_together(capsys):
    problems = Problems("questions.json")
    problems.add("q1", "no image")
    problems.add("q2", "no answer")
    with pytest.raises(SystemExit) as end:
        run_command(problems.raise_if_any)
    assert end.value.code == 1
    assert capsys.readouterr().err == "error: questions.json: 2 problems\n  q1: no image\n  q2: no answer\n"


def test_no_problems_raise_nothing():
    Problems("x").raise_if_any()


def test_a_long_list_is_truncated_with_the_number_of_further_entries(capsys):
    with pytest.raises(SystemExit):
        run_command(
            lambda: (_ for _ in ()).throw(UserError(["head", *map(chr, range(0x4E00, 0x4E00 + 130))]))
        )
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1 + 100 + 1
    assert lines[-1] == "  ... and 30 more"


def test_five_examples_are_printed_of_each_kind_of_problem():
    faults = [f"row {n}: no answer for '{n}'" for n in range(100)]
    six = [f"row {n}: no image {n}" for n in range(6)]
    lines = format_error(
        UserError(["file.csv: 107 problems", *faults[:50], "row 7: odd", *faults[50:], *six])
    ).splitlines()
    assert lines == [
        "error: file.csv: 107 problems",
        *(f"  {fault}" for fault in faults[:5]),
        "  ... and 95 more like these",
        "  row 7: odd",
        # Six lines of a kind take no more lines than five and "and 1 more".
        *(f"  {fault}" for fault in six),
    ]


def test_every_message_is_printable():
    format_error(UserError("a \ud800 b \x1b[2J")).encode("utf-8")
    assert "\x1b" not in format_error(UserError("a \x1b[2J"))


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "x.npy"), "the disk is full (x.npy)"),
        (KeyboardInterrupt(), "stopped by Ctrl-C"),
        (PermissionError(errno.EACCES, "Permission denied", "x.npy"), "no permission"),
        (OSError(errno.EDQUOT, "", "x.npy"), "your disk quota is used up (x.npy); free some"),
        (
            OSError(errno.EFBIG, "", "x.npy"),
            "a file is larger than this disk or your limits (ulimit -f) allow (x.npy); raise",
        ),
        (
            OSError(errno.ENAMETOOLONG, "", "x.npy"),
            "a file name is too long (x.npy)",
        ),
        (
            IsADirectoryError(errno.EISDIR, "", "x.npy"),
            "a folder where a file was expected (x.npy); move it away",
        ),
        (
            NotADirectoryError(errno.ENOTDIR, "", "x.npy"),
            "a file where a folder was expected (x.npy); move it away",
        ),
        (OSError(errno.ELOOP, "", "x.npy"), "links refer to each other in a circle (x.npy)"),
        (
            OSError(errno.EMFILE, "", "x.npy"),
            "more files are open than your limits (ulimit -n) allow (x.npy); raise the limits",
        ),
        (
            OSError(errno.EIO, "", "x.npy"),
            "the disk failed (x.npy); check the disk, then run the same command again",
        ),
    ],
)
def test_a_full_disk_and_ctrl_c_end_with_a_message(capsys, raised, expected):
    def main():
        raise raised

    with pytest.raises(SystemExit) as end:
        run_command(main)
    assert end.value.code == 1
    assert capsys.readouterr().err.removeprefix("error: ").startswith(expected)


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (FileNotFoundError(errno.ENOENT, "No such file or directory", "/proc/x"), "/proc/x"),
        (OSError(errno.EINVAL, "Invalid argument", "out.json"), "out.json"),
        (OSError(errno.ETXTBSY, "Text file busy", "out.json"), "out.json"),
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), "Broken pipe"),
        (OSError("of a library, without a number"), "without a number"),
        (UnicodeEncodeError("utf-8", "title \ud800", 6, 7, "surrogates not allowed"), "title \\ud800"),
    ],
)
def test_other_system_errors_and_lone_surrogates_are_one_message(capsys, raised, told):
    def main():
        raise raised

    with pytest.raises(SystemExit) as end:
        run_command(main)
    assert end.value.code == 1 and told in capsys.readouterr().err


def test_a_deleted_working_folder_is_named(tmp_path, monkeypatch, capsys):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(SystemExit):
        run_command(Path("params.yaml").absolute)
    assert "working folder" in capsys.readouterr().err


def test_a_bug_keeps_its_traceback():
    with pytest.raises(ZeroDivisionError):
        run_command(lambda: 1 / 0)


def test_the_command_answers_without_heavy_imports():
    script = "import sys, pipeline.cli.main; print(sorted({'torch', 'spacy', 'pandas', 'numpy', 'datasets'} & set(sys.modules)))"
    assert (
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
        == "[]\n"
    )


# Server errors


class ServerError(Exception):
    def __init__(self, words, status_code=None):
        super().__init__(words)
        self.status_code = status_code


class TriesError(Exception):
    def __init__(self, last):
        self.last_attempt = SimpleNamespace(exception=lambda: last)


MODEL = SimpleNamespace(
    name="net", address="http://127.0.0.1:9/v1", key_variable="NET_API_KEY", is_local=False
)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ServerError("bad token", 401), "refuses the API key (bad token); set NET_API_KEY"),
        (ServerError("bad token", 403), "refuses the API key (bad token); set NET_API_KEY"),
        (
            ServerError("no x", 404),
            "knows no such model or address (no x); its address is http://127.0.0.1:9/v1",
        ),
        (ServerError("too big", 413), "answers with an error (too big); its address is"),
        (
            ServerError("refused"),
            "no server answers at http://127.0.0.1:9/v1 (refused); check that it is running",
        ),
        (TriesError(ServerError("bad token", 401)), "refuses the API key (bad token)"),
        (
            ValueError("Expecting value: line 1"),
            "answers, but not with a model's reply (Expecting value: line 1)",
        ),
        (ServerError("Unexpected non-whitespace"), "answers, but not with a model's reply (Unexpected"),
    ],
)
def test_messages_say_what_to_do(error, words, monkeypatch):
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    assert words in explain_error(MODEL, error)


@pytest.mark.parametrize(
    ("variables", "named"),
    [
        ({}, None),
        ({"HTTP_PROXY": "http://proxy.example.org:3128"}, "proxy.example.org:3128 of HTTP_PROXY"),
        ({"http_proxy": "http://me:secret@proxy.example.org"}, "proxy.example.org of http_proxy"),
        ({"ALL_PROXY": "socks5://proxy.example.org:1080"}, "proxy.example.org:1080 of ALL_PROXY"),
        # The URL of the model is http, not https.
        ({"HTTPS_PROXY": "http://proxy.example.org:3128"}, None),
        ({"HTTP_PROXY": "http://proxy.example.org", "NO_PROXY": "localhost,127.0.0.1"}, None),
    ],
)
@pytest.mark.parametrize("status", [None, 403, 404, 503])
def test_a_proxy_is_named_without_its_password(monkeypatch, variables, named, status):
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    told = explain_error(MODEL, ServerError("refused", status))
    assert (f"proxy {named}" in told and "NO_PROXY=127.0.0.1" in told) if named else "proxy" not in told
    assert "secret" not in told


def test_the_last_attempt_is_the_cause():
    last = ServerError("x", 500)
    assert (
        unwrap_retry_error(TriesError(last)) is last
        and get_http_status(TriesError(last)) == 500
        and unwrap_retry_error(last) is last
    )


def test_a_key_with_a_line_break_is_redacted(monkeypatch):
    monkeypatch.setenv("NET_API_KEY", "sk-123456\r\n")
    assert (
        format_server_error(ServerError(r"Illegal header value b'Bearer sk-123456\r\n'"))
        == r"Illegal header value b'Bearer ***\r\n'"
    )


def test_a_local_model_is_not_called_a_server():
    model = SimpleNamespace(name="hf-vlm/x", address="", is_local=True)
    assert explain_error(model, ValueError("no memory")) == "hf-vlm/x does not answer: no memory"


def test_quotes_are_unescaped():
    assert (
        get_failure_reason(
            SimpleNamespace(message=r"X('\nRequest:\n{}\n\nBadRequest(\'no\')')", traceback="")
        )
        == "BadRequest('no')"
    )


@pytest.mark.parametrize("name", ["NET_API_KEY", "HF_TOKEN", "net_secret"])
def test_keys_of_the_environment_are_redacted(name, monkeypatch):
    monkeypatch.setenv(name, "sk-123456")
    monkeypatch.setenv("HOME_OF_NET", "harmless")
    assert format_server_error(ServerError("not sk-123456 but harmless")) == "not *** but harmless"


def test_the_request_before_an_error_is_omitted():
    shown = """ModelGenerateError('\\nRequest:\\n{\\n "messages": []\\n}\\n\\nError code: 400 - too large')"""
    assert get_failure_reason(SimpleNamespace(message=shown, traceback="")) == "Error code: 400 - too large"
    raised = ServerError("\nRequest:\n{}\n\nError code: 400 - too large")
    assert format_server_error(raised) == "Error code: 400 - too large"


def test_the_error_of_several_attempts_is_reported():
    trace = (
        "Traceback (most recent call last):\n  File x, line 1\nopenai.InternalServerError: Error code: 503 - busy\n\n"
        "The above exception was the direct cause of the following exception:\n\n"
        "tenacity.RetryError: RetryError[<Future at 0x1 state=finished raised InternalServerError>]\n"
    )
    error = SimpleNamespace(message="RetryError(<Future at 0x1>)", traceback=trace)
    assert get_failure_reason(error) == "InternalServerError: Error code: 503 - busy"
    assert (
        get_failure_reason(SimpleNamespace(message="RetryError(<Future>)", traceback=""))
        == "RetryError(<Future>)"
    )


def test_a_line_is_short_and_has_no_line_break():
    assert format_one_line("a\n\tb") == "a b" and len(format_one_line("x" * 300)) == 204


# HF Hub


class Refusing(BaseHTTPRequestHandler):
    def do_HEAD(self):
        self.send_error(404)

    def log_message(self, *_):
        pass


class NoHttp(Refusing):
    def do_HEAD(self):
        self.wfile.write(b"SSH-2.0\r\n")


@pytest.fixture
def hub(monkeypatch):
    """A function that replaces the Hub by a server, or by None with a port at which nothing listens."""
    servers = []

    def put(handler):
        server = HTTPServer(("127.0.0.1", 0), handler or Refusing)
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        if handler is None:
            server.server_close()
        else:
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
            servers.append(server)
        return constants.ENDPOINT

    yield put
    for server in servers:
        server.shutdown()
        server.server_close()


def test_an_unreachable_hub_is_reported_and_disabled_within_the_block(hub, capsys):
    address = hub(None)
    with pytest.raises(ZeroDivisionError), use_cache_if_unreachable("the weights"):
        assert constants.HF_HUB_OFFLINE
        raise ZeroDivisionError
    assert not constants.HF_HUB_OFFLINE
    assert (
        capsys.readouterr().err == f"{address} is unreachable; looking for the weights in the local cache\n"
    )


@pytest.mark.parametrize("handler", [Refusing, NoHttp])
def test_a_hub_that_answers_is_left_to_the_libraries(hub, handler, capsys):
    hub(handler)
    with use_cache_if_unreachable("the weights"):
        assert not constants.HF_HUB_OFFLINE
    assert capsys.readouterr().err == ""


def test_a_hub_that_the_user_disabled_is_not_requested(hub, monkeypatch, capsys):
    hub(None)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with use_cache_if_unreachable("the weights"):
        pass
    assert constants.HF_HUB_OFFLINE and capsys.readouterr().err == ""


def test_a_data_set_of_an_unreachable_hub_is_loaded_from_the_cache_only(hub, capsys):
    address = hub(None)
    with pytest.raises(UserError, match="^nobody/nothing: `datasets` cannot load it.* Couldn't reach"):
        open_rows("nobody/nothing")
    assert (
        capsys.readouterr().err
        == f"{address} is unreachable; looking for nobody/nothing in the local cache\n"
    )
