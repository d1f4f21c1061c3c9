"""The OpenAI-compatible server, tested with OpenAI's client and with requests that the client would not send."""

import base64
import io
import json
import math
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from PIL import Image

from research.synthetic_world.model_server import FaultInjection, run_in_thread
from research.synthetic_world.served_models import ServedModel

openai = pytest.importorskip("openai")
QUESTION = "What color is this picture?"


@pytest.fixture(scope="module")
def net():
    return ServedModel(["vanilla", "blind"])


@pytest.fixture(scope="module")
def server(net):
    with run_in_thread(net) as running:
        yield running


def square(rgb):
    file = io.BytesIO()
    Image.new("RGB", (64, 48), rgb).save(file, "PNG")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


def messages(text=QUESTION, url=None):
    image = {"type": "image_url", "image_url": {"url": url or square((200, 40, 40))}}
    return [{"role": "user", "content": [image, {"type": "text", "text": text}]}]


def client(server, retries=0):
    return openai.OpenAI(base_url=server.url, api_key="none", max_retries=retries)


def ask(server, retries=0, model="vanilla", **more):
    settings = {"messages": messages(), "temperature": 0, **more}
    return client(server, retries).chat.completions.create(model=model, **settings)


def test_models_are_listed(server):
    assert [model.id for model in client(server).models.list()] == ["vanilla", "blind"]


def test_log_probabilities_are_those_of_the_token_that_is_said(server):
    choice = ask(server, logprobs=True, top_logprobs=3).choices[0]
    (token,) = choice.logprobs.content
    assert (choice.message.content, choice.finish_reason, token.token) == ("red", "stop", "red")
    assert token.top_logprobs[0].logprob == token.logprob and len(token.top_logprobs) == 3
    yes = ask(server, messages=messages(f"{QUESTION} Can this question be answered?"), logprobs=True)
    said = yes.choices[0].logprobs.content[0]
    # MSP on both sides: the answer's own probability, and what of no answer's share falls to it (under 1/123 of it).
    assert said.token == "Yes" and 0 <= math.exp(token.logprob) - math.exp(said.logprob) < 1 / 100


def test_none_are_given_unasked_or_from_a_server_that_drops_them(server, net):
    assert ask(server).choices[0].logprobs is None
    with run_in_thread(net, faults=FaultInjection(has_logprobs=False)) as dropping:
        assert ask(dropping, logprobs=True, top_logprobs=3).choices[0].logprobs is None


def test_several_replies_are_sampled_by_temperature_and_seed(server):
    def drawn_texts(**more):
        reply = ask(server, model="blind", n=20, temperature=1, **more)
        return [choice.message.content for choice in reply.choices]

    assert drawn_texts(seed=1) == drawn_texts(seed=1) != drawn_texts(seed=2)
    assert len(set(drawn_texts(seed=1))) > 2  # blind: white 0.25, red 0.17 ...
    cold = ask(server, model="blind", n=20, temperature=0)
    assert len({choice.message.content for choice in cold.choices}) == 1


def test_failing_requests_have_status_500_and_a_client_that_tries_again_gets_through(net):
    with run_in_thread(net, faults=FaultInjection(failure_rate=0.5)) as failing:
        outcomes = []
        for _ in range(40):
            try:
                outcomes.append(ask(failing).choices[0].message.content)
            except openai.InternalServerError as error:
                outcomes.append(error.status_code)
        assert set(outcomes) == {"red", 500} and 10 <= outcomes.count(500) <= 30
        assert ask(failing, retries=8).choices[0].message.content == "red"


def test_cut_off_replies_are_empty_and_say_so(net):
    with run_in_thread(net, faults=FaultInjection(truncation_rate=1)) as cutting:
        choice = ask(cutting, logprobs=True).choices[0]
        assert (choice.message.content, choice.finish_reason, choice.logprobs.content) == ("", "length", [])


def test_so_is_a_reply_that_is_longer_than_the_request_allows(server):
    text = f"{QUESTION} Then say from 0 to 100 how sure you are."
    whole = ask(server, messages=messages(text)).choices[0]
    assert whole.message.content.startswith("red\n") and whole.finish_reason == "stop"
    short = ask(server, messages=messages(text), max_tokens=1).choices[0]
    assert (short.message.content, short.finish_reason) == ("red", "length")


def test_too_many_requests_per_second_get_429(net):
    with run_in_thread(net, faults=FaultInjection(max_requests_per_second=3)) as limited:
        with ThreadPoolExecutor(6) as pool:
            replies = list(pool.map(lambda _: status(limited, body()), range(6)))
        assert sorted(code for code, _ in replies) == [200, 200, 200, 429, 429, 429]
        assert {headers["Retry-After"] for code, headers in replies if code == 429} == {"1"}
        assert ask(limited, retries=3).choices[0].message.content == "red"


def test_a_slow_server_answers_side_by_side(net):
    with run_in_thread(net, faults=FaultInjection(delay_seconds=0.4)) as slow:
        start = time.monotonic()
        with ThreadPoolExecutor(5) as pool:
            list(pool.map(lambda _: ask(slow), range(5)))
        assert 0.4 <= time.monotonic() - start < 1.6


def body(**more):
    return json.dumps({"model": "vanilla", "messages": messages(), "temperature": 0} | more).encode()


def status(server, data, path="/chat/completions"):
    request = urllib.request.Request(server.url + path, data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=10) as reply:
            return reply.status, dict(reply.headers)
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers) | json.loads(error.read())


@pytest.mark.parametrize(
    ("data", "path", "code", "words"),
    [
        (b"{", "/chat/completions", 400, "invalid request"),
        (b'{"model": "vanilla"}', "/chat/completions", 400, "messages"),
        (b"{}", "/completions", 404, "/v1/completions"),
        (body(model="gpt"), "/chat/completions", 404, "vanilla, blind"),
        (body(stream=True), "/chat/completions", 400, "stream"),
        (
            body(messages=messages(url="https://example.org/a.jpg")),
            "/chat/completions",
            400,
            "not fetched",
        ),
        (
            body(messages=messages(url="data:image/png;base64,AAAA")),
            "/chat/completions",
            400,
            "cannot be read",
        ),
        (body(messages=messages(url="data:image/png;base64,?")), "/chat/completions", 400, "image_url"),
    ],
)
def test_errors_have_openais_format(server, data, path, code, words):
    got, told = status(server, data, path)
    assert got == code and words in told["error"]["message"]


def test_the_command_prints_its_address_first_and_ends_by_a_signal():
    command = [sys.executable, "-m", "pipeline.cli", "sample", "serve", "--model", "blind"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("blind at http://127.0.0.1:")
        with urllib.request.urlopen(line.split()[2] + "/models", timeout=10) as reply:
            assert json.loads(reply.read())["data"][0]["id"] == "blind"
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0 and process.stdout.read() == "stopped\n"
    assert Path("data/sample/vqa").is_dir()


def test_a_port_that_is_taken_is_one_message(server):
    command = [sys.executable, "-m", "pipeline.cli", "sample", "serve", "--model", "blind", "--port"]
    told = subprocess.run([*command, str(server.server_port)], capture_output=True, text=True, timeout=60)
    assert told.returncode == 1 and "Traceback" not in told.stderr
    assert f"--port {server.server_port}" in told.stderr
