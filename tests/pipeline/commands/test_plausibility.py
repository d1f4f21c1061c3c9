"""`rgqa plausibility`, with a server that says what its model finds of each text."""

import json
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipeline.cli import app
from pipeline.commands import plausibility
from pipeline.commands.plausibility import side_by_side
from pipeline.core.files import write_jsonl
from pipeline.core.records import Alternatives
from pipeline.encoders import language_models
from tests.pipeline.encoders.fake_language_model import fake_language_model

SCORES = Path("data/few/plausibility/scores.jsonl")


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A data set of two candidates with three texts between them, and a server."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(language_models, "PAUSES", ())
    monkeypatch.setattr(plausibility, "BATCH", 1)
    Path("params.yaml").write_text("dataset: few\nfew: {}\n")
    draw({"a": ("Is it red?", "Is it blue?"), "b": ("Is it red?", "Is it ripe now?")})
    with fake_language_model() as fake:
        yield fake


def draw(texts):
    rows = [Alternatives(candidate_id=name, subset="pt-easy", texts=drawn) for name, drawn in texts.items()]
    write_jsonl(Path("data/few/interim/perturb/alternatives.jsonl"), rows)


def told(server, *options, model="tiny"):
    address = ("--server", server.address) if server else ()
    result = CliRunner().invoke(app, ["plausibility", "--model", model, *address, *options])
    return result.exit_code, result.output


def scores():
    return [tuple(json.loads(line).values()) for line in SCORES.read_text().splitlines()]


def test_each_distinct_text_is_asked_once_and_nothing_but_texts(server):
    code, output = told(server)
    assert (code, sorted(server.texts)) == (0, ["Is it blue?", "Is it red?", "Is it ripe now?"])
    assert "3 of 3 texts have a score by tiny" in output
    # words after the first: (2 + 5) / 2, (2 + 4) / 2, (2 + 4 + 4) / 3; sorted by text
    assert scores() == [
        ("Is it blue?", -3.5, "tiny"),
        ("Is it red?", -3.0, "tiny"),
        ("Is it ripe now?", -3.3333, "tiny"),
    ]


def test_only_texts_without_a_score_are_asked_for_and_no_score_is_lost(server):
    told(server)
    server.asked.clear()
    draw({"a": ("Is it red?", "Is it new?")})
    assert told(server)[0] == 0
    assert server.texts == ["Is it new?"]
    assert len(scores()) == 4


def test_what_was_scored_before_the_server_failed_is_kept(server):
    told(server)
    whole = SCORES.read_bytes()
    SCORES.unlink()
    server.asked.clear()
    post = server.RequestHandlerClass.do_POST

    def fail_later(handler):
        if server.asked:
            server.refuse = [401]
        post(handler)

    server.RequestHandlerClass.do_POST = fail_later
    try:
        code, output = told(server, "--jobs", "1")
    finally:
        server.RequestHandlerClass.do_POST = post
    assert code == 1 and "401" in output
    assert [row[0] for row in scores()] == ["Is it red?"]  # the shortest goes first
    server.refuse = []
    assert told(server)[0] == 0
    assert SCORES.read_bytes() == whole


def test_scores_of_two_models_are_never_mixed(server):
    told(server)
    before = SCORES.read_bytes()
    for options in ((), ("--chat",)):
        code, output = told(server, *options, model="tiny" if options else "other")
        assert code == 1 and "scores of tiny, which cannot be compared" in output
    assert SCORES.read_bytes() == before


def test_texts_that_get_no_score_are_counted(server):
    server.replies = {"Is it red?": "9", "Is it blue?": "I cannot say", "Is it ripe now?": {"4": 1.0}}
    output = told(server, "--chat")[1]
    assert "2 of 3 texts have a score by tiny, asked" in output
    assert scores() == [("Is it red?", 9.0, "tiny, asked"), ("Is it ripe now?", 4.0, "tiny, asked")]


def test_without_alternatives_the_message_says_what_to_set(server):
    draw({})
    code, output = told(server)
    assert code == 1 and "set perturb: alternatives above 1" in output
    assert not SCORES.exists()


def test_chat_needs_a_server(server):
    code, output = told(None, "--chat")
    assert code == 1 and "--chat asks a server" in output


def test_work_side_by_side_comes_in_order_and_stops_when_it_is_left():
    begun, go_on = [], threading.Event()

    def ask(batch):
        begun.append(batch[0])
        if batch[0] > "0":
            go_on.wait(10)
        return [float(batch[0])]

    results = side_by_side(ask, [[str(i)] for i in range(100)], 2)
    assert next(results) == (["0"], [0.0])
    threading.Timer(0.1, go_on.set).start()
    results.close()
    assert len(begun) < 10
    assert [scores for _, scores in side_by_side(ask, [["3"], ["2"], ["1"]], 3)] == [[3.0], [2.0], [1.0]]
