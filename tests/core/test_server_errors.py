import os
from types import SimpleNamespace

import pytest

from pipeline.core.server_errors import (
    explain_error,
    format_error,
    format_one_line,
    get_failure_reason,
    get_http_status,
    unwrap_retry_error,
)


class ServerError(Exception):
    def __init__(self, words, status_code=None):
        super().__init__(words)
        self.status_code = status_code


class TriesError(Exception):
    def __init__(self, last):
        self.last_attempt = SimpleNamespace(exception=lambda: last)


MODEL = SimpleNamespace(api=SimpleNamespace(base_url="http://127.0.0.1:9/v1", api_key_vars=["NET_API_KEY"]))


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
        format_error(ServerError(r"Illegal header value b'Bearer sk-123456\r\n'"))
        == r"Illegal header value b'Bearer ***\r\n'"
    )


def test_a_local_model_is_not_called_a_server():
    class Local(SimpleNamespace):
        __str__ = lambda self: "hf-vlm/x"  # noqa: E731

    assert explain_error(Local(), ValueError("no room")) == "hf-vlm/x does not answer: no room"


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
    assert format_error(ServerError("not sk-123456 but harmless")) == "not *** but harmless"


def test_the_request_before_an_error_is_omitted():
    shown = """ModelGenerateError('\\nRequest:\\n{\\n "messages": []\\n}\\n\\nError code: 400 - too large')"""
    assert get_failure_reason(SimpleNamespace(message=shown, traceback="")) == "Error code: 400 - too large"


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
