"""OpenAI-compatible requests and replies. `test_model_server` tests them through OpenAI's client."""

import base64
import math
import random

import msgspec
import pytest

from research.synthetic_world.chat_format import (
    ChatRequest,
    Message,
    RequestError,
    make_choice,
    parse_turn,
    sample_token,
)
from research.synthetic_world.served_models import ChatTurn


def asked(**more):
    return msgspec.convert({"model": "rp", "messages": [], **more}, ChatRequest)


def test_a_low_temperature_sharpens():
    # Returns the normalized weights instead of a choice.
    class Place(random.Random):
        def choices(self, population, weights=None, *, cum_weights=None, k=1):
            assert weights
            return [[weight / sum(weights) for weight in weights]]

    # 0.8 to 0.2 is 4 to 1; at temperature one half 16 to 1
    assert sample_token({"a": 0.8, "b": 0.2}, 0.5, Place()) == pytest.approx([16 / 17, 1 / 17])
    assert sample_token({"a": 0.2, "b": 0.8}, 0, Place()) == "b"


def test_a_message_is_its_texts_and_its_last_image():
    def image(data):
        url = "data:image/png;base64," + base64.b64encode(data).decode()
        return {"type": "image_url", "image_url": {"url": url, "detail": "low"}}

    parts = [
        image(b"1"),
        {"type": "text", "text": "What"},
        image(b"2"),
        {"type": "text", "text": "is it?"},
    ]
    message = msgspec.convert({"role": "user", "content": parts}, Message)
    assert parse_turn(message) == ChatTurn("user", "What\nis it?", b"2")
    assert parse_turn(Message("system", "Look.")) == ChatTurn("system", "Look.")
    assert parse_turn(Message("assistant", None)) == ChatTurn("assistant", "")


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1/a.png", "data:text/plain;base64,AAAA", "data:image/png;base64,?", ""]
)
def test_an_image_must_be_in_the_request(url):
    parts = [{"type": "image_url", "image_url": {"url": url}}]
    with pytest.raises(RequestError, match="image_url") as caught:
        parse_turn(msgspec.convert({"role": "user", "content": parts}, Message))
    assert caught.value.status == 400


def test_each_token_has_its_log_probability_and_those_of_the_most_likely_ones():
    said = [{"red": 0.5, "blue": 0.25, "a cup": 0.25}, {"\n": 1.0}, {"50": 1.0}]
    reply = make_choice(asked(temperature=0, logprobs=True, top_logprobs=2), said, False, True, 3)
    assert (reply["index"], reply["message"]["content"], reply["finish_reason"]) == (3, "red\n50", "stop")
    first, line, _ = reply["logprobs"]["content"]
    assert first["logprob"] == math.log(0.5) and first["bytes"] == [114, 101, 100] and line["logprob"] == 0
    assert [top["token"] for top in first["top_logprobs"]] == ["red", "blue"]
    assert make_choice(asked(logprobs=True), said, True, False, 0)["logprobs"] is None
    assert make_choice(asked(), said, True, True, 0)["finish_reason"] == "length"


def test_what_has_no_probability_has_openais_least_logarithm():
    (token,) = make_choice(asked(logprobs=True, top_logprobs=9), [{"red": 1.0, "blue": 0.0}], False, True, 0)[
        "logprobs"
    ]["content"]
    assert token["top_logprobs"][1]["logprob"] == -9999.0
