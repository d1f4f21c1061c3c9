"""Requests and replies of the protocol of OpenAI's servers."""

import asyncio
import json

import pytest

from pipeline.core.errors import UserError
from pipeline.inference.chat_model import Choice, Message, Reply, ReplySchema, RequestSettings
from pipeline.inference.openai_server import (
    InvalidReplyError,
    OpenAiServer,
    ServerError,
    make_request_fields,
    read_reply,
)

from .small_server import small_server


def body(message=None, **choice):
    return json.dumps(
        {"choices": [{"message": message or {"content": "red"}, "finish_reason": "stop"} | choice]}
    ).encode()


@pytest.mark.parametrize(
    ("data", "choice"),
    [
        (body(), Choice("red")),
        (body(finish_reason="length"), Choice("red", "max_tokens")),
        (body(finish_reason="content_filter"), Choice("red", "content_filter")),
        (body(finish_reason=None), Choice("red")),
        (body({"content": None, "refusal": "I will not"}), Choice("I will not", is_refusal=True)),
        (body({"content": None, "reasoning_content": "Hm"}), Choice("", has_reasoning=True)),
        (body({"content": "red", "reasoning": "Hm"}), Choice("red", has_reasoning=True)),
        (
            body({"content": [{"type": "text", "text": "dark "}, {"type": "text", "text": "red"}]}),
            Choice("dark red"),
        ),
        (body(message=[1]), Choice("")),
        (
            body(logprobs={"content": [{"token": "red", "logprob": -1}]}),
            Choice("red", token_logprobs=[{"token": "red", "logprob": -1}]),
        ),
        # Tokens without a log probability are of no use.
        (body(logprobs={"content": [{"token": "red"}]}), Choice("red")),
        (
            body(logprobs={"content": [{"token": "red", "logprob": -1, "top_logprobs": ["red"]}]}),
            Choice("red"),
        ),
        (body(logprobs={"content": "red"}), Choice("red")),
        (body(logprobs={"content": [{"token": "red", "logprob": -1, "top_logprobs": 5}]}), Choice("red")),
        (body(logprobs=[-1]), Choice("red")),
    ],
)
def test_the_parts_of_a_choice_are_read(data, choice):
    assert read_reply(data) == Reply([choice])


def test_tokens_are_counted_if_the_server_counts_them():
    usage = {"usage": {"prompt_tokens": 7, "completion_tokens": 2}}
    assert read_reply(json.dumps(json.loads(body()) | usage).encode()) == Reply([Choice("red")], 7, 2)
    odd = {"usage": {"prompt_tokens": "7", "completion_tokens": None}}
    assert read_reply(json.dumps(json.loads(body()) | odd).encode()) == Reply([Choice("red")], 0, 0)
    assert read_reply(b'{"choices": []}') == Reply([], error="the server sent no choices")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"<html>", "not JSON: <html>"),
        (b"", "not JSON: an empty reply"),
        (b"[1]", "not a reply of a model: [1]"),
        (b'{"choices": null}', "a reply without the field choices"),
        (b'{"choices": [1]}', "a reply without the field choices"),
        (b'{"error": {"message": "out of memory"}}', "an error in place of a reply: out of memory"),
        (b"\xff\xfe", "not JSON"),
    ],
)
def test_what_is_no_reply_is_an_error_with_its_beginning(data, words):
    with pytest.raises(InvalidReplyError) as error:
        read_reply(data)
    assert words in str(error.value)


def test_a_request_states_only_what_is_needed():
    image = Message("user", "What is it?", "data:image/png;base64,AA==")
    fields = make_request_fields([Message("system", "Be brief."), image], RequestSettings())
    assert fields == {
        "messages": [
            {"role": "system", "content": "Be brief."},
            {
                "role": "user",
                "content": [
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
                    {"type": "text", "text": "What is it?"},
                ],
            },
        ],
        "temperature": 0.0,
        "max_tokens": 64,
    }
    schema = ReplySchema("cup", {"type": "object"})
    settings = RequestSettings(0.7, 9, 3, 2, needs_logprobs=True, num_top_logprobs=20, schema=schema)
    assert make_request_fields([], settings) == {
        "messages": [],
        "temperature": 0.7,
        "max_tokens": 9,
        "seed": 3,
        "n": 2,
        "logprobs": True,
        "top_logprobs": 20,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "cup", "schema": {"type": "object"}, "strict": True},
        },
    }


def send(model):
    async def run():
        async with model:
            return await model.send([Message("user", "Is it red?")], RequestSettings())

    return asyncio.run(run())


def test_settings_are_headers_and_fields_of_the_request(monkeypatch):
    seen = []
    with small_server(key="k-123456") as server:
        reply = server.reply
        server.reply = lambda request, number: seen.append(request) or reply(request, number)
        monkeypatch.setenv("NET_API_KEY", "k-123456\n")
        options = [
            ("top_k", "1"),
            ("header.X-Project", "birds"),
            ("chat_template_kwargs", '{"think": false}'),
            ("name", "x y"),
        ]
        assert send(OpenAiServer("net", server.url, "NET_API_KEY", options)).num_input_tokens == 1000
        with pytest.raises(ServerError) as error:
            send(OpenAiServer("net", server.url))
    assert (
        seen[0]["top_k"] == 1
        and seen[0]["chat_template_kwargs"] == {"think": False}
        and seen[0]["name"] == "x y"
    )
    assert "header.X-Project" not in seen[0]
    assert error.value.status_code == 401


@pytest.mark.parametrize(
    ("error", "is_transient"),
    [
        (ServerError(429, "slow down"), True),
        (ServerError(503, "busy"), True),
        (ServerError(408, "late"), True),
        (ServerError(400, "too large"), False),
        (ServerError(401, "key"), False),
        (TimeoutError(), True),
        (ConnectionError("reset"), True),
        (InvalidReplyError("not JSON"), False),
    ],
)
def test_only_failures_that_pass_are_transient(error, is_transient):
    assert OpenAiServer("net", "http://127.0.0.1:9/v1").is_transient(error) is is_transient


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("7", 7), ("1.5", 1.5), ("²", 0), ("-3", 0), ("Wed, 21 Oct 2026 07:28:00 GMT", 0), ("", 0)],
)
def test_the_server_says_when_to_ask_again(header, seconds):
    with (
        small_server(dead_after=1, status=429, retry_after=header, words="slow down") as server,
        pytest.raises(ServerError, match="Error code: 429 - slow down") as error,
    ):
        send(OpenAiServer("net", server.url))
    assert error.value.retry_after == seconds


def test_a_connection_that_fails_is_a_connection_error():
    with pytest.raises(ConnectionError, match="connection error"):
        send(OpenAiServer("net", "http://127.0.0.1:1/v1"))


def test_requests_use_the_proxy_of_the_environment(monkeypatch):
    for name in ("NO_PROXY", "no_proxy", "http_proxy", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with small_server() as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url.removesuffix("/v1"))
        assert send(OpenAiServer("net", "http://models.example.org/v1")).choices
    monkeypatch.setenv("HTTP_PROXY", "socks5://127.0.0.1:1080")
    with pytest.raises(UserError, match="NO_PROXY=models.example.org"):
        OpenAiServer("net", "http://models.example.org/v1")
