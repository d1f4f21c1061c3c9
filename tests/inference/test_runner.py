"""Whole runs, by inspect_ai, against a server on 127.0.0.1."""

import importlib.metadata
import json
import os
import platform
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from pipeline.core.errors import UserError
from pipeline.inference.cost_forecast import Prices
from pipeline.inference.run_options import RunOptions
from pipeline.inference.runner import _warn_of_empty_replies, run_model
from pipeline.scoring.version import VERSION

from .small_server import KEY, make_release, small_server

inspect_ai = pytest.importorskip("inspect_ai")
from inspect_ai.log import read_eval_log  # noqa: E402


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    return make_release(tmp_path_factory.mktemp("release"), 30)  # 60 samples in two subsets


@pytest.fixture
def options(released, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pipeline.inference.request_pool.MAX_RETRIES", 0)

    def make(server, **more):
        settings = {"confidence": "token-probability", "images": released / "images", "out": tmp_path / "run"}
        return RunOptions(released, "net", server.url, **settings | more)

    return make


def predictions(done):
    return (done.folder.path / "predictions.jsonl").read_bytes()


@pytest.fixture(scope="module")
def undisturbed(released, tmp_path_factory):
    """predictions.jsonl of a run that nothing disturbed."""
    with small_server() as server:
        out = tmp_path_factory.mktemp("undisturbed") / "run"
        options = RunOptions(
            released,
            "net",
            server.url,
            confidence="token-probability",
            images=released / "images",
            out=out,
        )
        return predictions(run_model(options))


def test_every_question_is_asked_once_and_every_item_has_its_row(options, released):
    with small_server() as server:
        done = run_model(options(server))
    assert set(server.asked.values()) == {1} and len(server.asked) == 60
    order = [row["question_id"] for row in json.loads((released / "rgqa/clip-easy.json").read_text())]
    rows = [json.loads(line) for line in predictions(done).splitlines()]
    assert [row["questionId"] for row in rows] == order
    assert all(row["prediction"] and 0 <= row["confidence"] <= 1 for row in rows)
    counts = done.record["counts"]
    assert (counts["items"], counts["answered"], counts["failed"]) == (60, 60, 0)
    assert counts["abstained"] == sum(row["prediction"] == "unanswerable" for row in rows)
    assert done.record["tokens"] == {
        "input": 60_000,
        "output": 600,
    }  # the server counts 1,000 and 10 for each


def test_a_finished_run_asks_nothing_again(options, undisturbed):
    with small_server() as server:
        run_model(options(server))
        before = server.requests
        assert predictions(run_model(options(server))) == undisturbed
        assert server.requests == before


def test_failed_requests_are_no_answers_and_are_repeated(options, undisturbed):
    with small_server(failing={10, 11, 30}, status=400) as server:
        done = run_model(options(server))
        assert done.record["counts"]["failed"] == 3 and len(done.record["failures"]) == 3
        assert all("out of order" in reason for reason in done.record["failures"].values())
        assert len(predictions(done).splitlines()) == 57
        again = run_model(options(server))
    assert predictions(again) == undisturbed and again.record["failures"] == {}
    assert sorted(server.asked.values()) == [1] * 57 + [1] * 3  # what failed was not counted as asked
    assert [session["replies"] for session in again.record["sessions"]] == [57, 3]


@pytest.mark.parametrize("handler", [signal.default_int_handler, signal.SIG_IGN])
def test_a_run_resumes_after_the_server_died(handler, options, undisturbed):
    before = signal.signal(signal.SIGINT, handler)  # a script's job in the background ignores Ctrl-C
    try:
        with small_server(dead_after=25, status=401) as server:
            done = run_model(options(server, max_connections=4))
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert server.requests <= 24 + 20 + 4  # not all 62
    assert "20 requests in a row failed" in done.stop_reason and "out of order" in done.stop_reason
    kept = done.record["counts"]["replies"]
    assert kept == 22  # 24 requests, 2 of them the probe's
    with small_server() as server:
        again = run_model(options(server, max_connections=4))
    assert predictions(again) == undisturbed and not again.stop_reason
    assert len(server.asked) == 60 - kept


@pytest.mark.parametrize("fault", ["reset", "half"])
def test_broken_connections_stop_the_run_after_a_while(fault, options, monkeypatch, undisturbed):
    monkeypatch.setattr("pipeline.inference.request_pool.MAX_RETRIES", 5)  # more than 90 s for each question
    monkeypatch.setattr("pipeline.inference.run_monitor.MAX_SECONDS_WITHOUT_REPLY", 1.0)
    began = time.monotonic()
    with small_server(dead_after=25, fault=fault) as server:
        done = run_model(options(server, max_connections=2))
    assert time.monotonic() - began < 60 and done.record["counts"]["replies"] == 22
    assert "no reply for" in done.stop_reason and "connection error" in done.stop_reason
    with small_server() as server:
        assert predictions(run_model(options(server))) == undisturbed and len(server.asked) == 60 - 22


def test_a_hanging_server_stops_the_run(options, monkeypatch):
    monkeypatch.setattr("pipeline.inference.request_pool.MAX_RETRIES", 5)
    monkeypatch.setattr("pipeline.inference.openai_server.REQUEST_TIMEOUT_SECONDS", 1)
    monkeypatch.setattr("pipeline.inference.run_monitor.MAX_SECONDS_WITHOUT_REPLY", 1.0)
    with small_server(dead_after=9, fault="hang") as server:
        done = run_model(options(server, max_connections=2, limit=20))
    assert "no reply for" in done.stop_reason and done.record["counts"]["replies"] == 6


@pytest.mark.parametrize(
    "fault", ["web_page", "half_json", "other_json", "no_choices", "null_choices", "error_in_200"]
)
def test_an_invalid_reply_is_no_answer(fault, options):
    with small_server(failing=range(5, 9), fault=fault) as server:
        done = run_model(options(server, limit=20))
        assert done.record["counts"]["answered"] == 16 and len(done.record["failures"]) == 4
        assert run_model(options(server, limit=20)).record["counts"]["answered"] == 20  # is asked again


@pytest.mark.parametrize("fault", ["web_page", "half_json", "other_json", "null_choices", "error_in_200"])
def test_a_server_of_another_kind_is_reported_before_the_first_question(fault, options):
    with small_server(dead_after=1, fault=fault) as server, pytest.raises(UserError) as error:
        run_model(options(server))
    (problem,) = error.value.problems
    assert server.url in problem and "check the address" in problem and not options(server).out.exists()


THOUGHTS = {"role": "assistant", "content": None, "reasoning_content": "It looks red, but"}


@pytest.mark.parametrize(
    "message",
    [
        THOUGHTS,
        {"role": "assistant", "content": "<think>It looks red, but"},
        {"role": "assistant", "content": ""},
    ],
)
def test_a_truncated_reasoning_model_is_not_asked(options, message):
    how = {"message": message, "finish_reason": "length"}
    with small_server(spoilt_probe=how) as server, pytest.raises(UserError) as error:
        run_model(options(server, confidence="abstention"))
    (problem,) = error.value.problems
    assert "--max-tokens 64" in problem and "--max-tokens 8192" in problem
    assert "reasoning" in problem or message is not THOUGHTS
    assert server.requests == 3 and not server.asked and not options(server).out.exists()


@pytest.mark.parametrize("name", ["HOME", "XDG_DATA_HOME"])
def test_an_unwritable_home_is_no_problem(options, name, tmp_path):
    """In a process of its own: inspect_ai opens its trace once."""
    code = (
        "import sys; from pipeline.inference.cli import main\n"
        "release, url, out = sys.argv[1:]\n"
        "main([release, '--server', url, '--model', 'net', '--images', release + '/images', '--limit', '4', '--out', out])"
    )
    (tmp_path / "full").write_text("")
    with small_server() as server:
        given = options(server)
        home = {
            "HOME": str(tmp_path / "full"),
            name: str(tmp_path / "full"),
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        env = {key: value for key, value in os.environ.items() if not key.startswith("XDG")} | home
        command = [sys.executable, "-c", code, str(given.release), server.url, str(given.out)]
        done = subprocess.run(command, capture_output=True, text=True, env=env)
    assert (
        done.returncode == 0
        and "4 of 4 items have a prediction" in done.stderr
        and "Traceback" not in done.stderr
    )
    assert not [path.name for path in given.out.iterdir() if path.name.startswith(".inspect")]


@pytest.mark.parametrize("how", ["kill", "interrupt"])
def test_a_killed_run_resumes_to_the_same_bytes(how, options, undisturbed, tmp_path):
    code = (
        "import sys; from pathlib import Path; from pipeline.inference.runner import run_model\n"
        "from pipeline.inference.run_options import RunOptions\n"
        "release, url, out = sys.argv[1:]\n"
        "done = run_model(RunOptions(Path(release), 'net', url, confidence='token-probability', images=Path(release, 'images'),"
        " out=Path(out), max_connections=4)); print(done.stop_reason)"
    )
    with small_server(delay=0.2) as server:
        given = options(server)
        command = [sys.executable, "-c", code, str(given.release), server.url, str(given.out)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path.cwd(), env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})  # fmt: skip
        journal = given.out / "answers.jsonl"
        deadline = time.time() + 60
        while time.time() < deadline and not (journal.exists() and journal.read_bytes().count(b"\n") >= 12):
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL if how == "kill" else signal.SIGINT)
        said = process.communicate(timeout=60)[0].decode()
    kept = journal.read_bytes().count(b"\n")
    assert 12 <= kept < 60 and process.returncode == (-9 if how == "kill" else 0)
    assert said == ("" if how == "kill" else "Ctrl-C\n")
    twice = set(server.asked)
    with small_server() as server:
        again = run_model(options(server))
    assert predictions(again) == undisturbed and len(server.asked) == 60 - kept
    sessions = again.record["sessions"]
    assert [(session["replies"], session["failed"]) for session in sessions] == [(kept, 0), (60 - kept, 0)]
    assert 0.2 * kept / 4 <= sessions[0]["seconds"] < 60
    assert len(twice & set(server.asked)) <= 4  # no more than were under way


def test_a_server_without_log_probabilities_is_not_asked(options):
    with small_server(logprobs=False) as server, pytest.raises(UserError) as error:
        run_model(options(server))
    assert not server.asked and not options(server).out.exists()
    (problem,) = error.value.problems
    assert (
        "returns no log probabilities; --confidence token-probability needs log probabilities. Use --confidence verbalized"
        in problem
    )
    with small_server(logprobs=False) as server:
        assert run_model(options(server, confidence="abstention")).record["counts"]["answered"] == 60


def test_a_model_that_does_not_see_gives_a_warning(options, capsys):
    with small_server(sees=False) as server:
        done = run_model(options(server, limit=4))
    (warning,) = done.record["warnings"]
    assert "to a red and to a blue square: it may not see images" in warning
    assert f"warning: {warning}" in capsys.readouterr().err
    with small_server(sees=False) as server:
        assert (
            run_model(options(server, limit=4, no_image=True, images=None, out=Path("no-image"))).record[
                "warnings"
            ]
            == []
        )


def test_the_no_image_control_sends_no_image(options, released):
    with small_server() as server:
        sees = run_model(options(server, limit=8))
        without = run_model(options(server, limit=8, no_image=True, out=Path("no-image"), images=None))
    assert predictions(sees) != predictions(without)


def test_the_key_is_read_from_the_environment_and_written_nowhere(options, monkeypatch):
    monkeypatch.setenv("SERVER_API_KEY", KEY)
    with small_server(key=KEY, failing=range(20, 24), status=400) as server:
        done = run_model(options(server))
        server.key = "another"
        with pytest.raises(UserError) as error:  # the server repeats the key in its words
            run_model(options(server, out=Path("other")))
    assert done.record["counts"]["answered"] == 56
    assert "refuses the API key" in str(error.value) and "set SERVER_API_KEY" in str(error.value)
    assert KEY not in str(error.value) and "***" in str(error.value)
    for path in Path().rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes()


def test_a_key_in_a_servers_error_is_redacted(options, monkeypatch):
    monkeypatch.setenv("SERVER_API_KEY", KEY)
    with small_server(key=KEY, failing=range(20, 24), status=400) as server:
        monkeypatch.setattr(server, "words", f"wrong key {KEY}")
        done = run_model(options(server, limit=24))
    assert done.record["counts"]["failed"] == 4
    assert all("wrong key ***" in reason for reason in done.record["failures"].values())


def test_a_lone_surrogate_loses_no_reply(options):
    with small_server(mutter="\ud83d") as server:
        done = run_model(options(server, limit=8, confidence="abstention"))
    assert done.record["counts"]["answered"] == 8 and b"\xef\xbf\xbd" in predictions(done)


def test_several_replies_are_requested_at_a_temperature_above_0(options):
    with small_server(greedy=False) as server:  # as vLLM: "n must be 1 when using greedy sampling"
        done = run_model(options(server, limit=6, confidence="self-consistency", num_replies=4))
    assert done.record["counts"]["answered"] == 6 and server.requests == 6 + 2


def test_rate_limits_are_waited_for(options, undisturbed, monkeypatch):
    monkeypatch.setattr("pipeline.inference.request_pool.MAX_RETRIES", 2)
    # the first ten requests after the probe's two are rejected: each question waits a second, and has its reply then
    with small_server(failing=range(3, 13), status=429, retry_after="1") as server:
        done = run_model(options(server))
        assert predictions(done) == undisturbed and server.requests == 72
    assert done.record["sessions"][0]["seconds"] >= 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": "llava"}, "knows no such model or address (Error code: 404 - no model llava)"),
        ({"server": "http://127.0.0.1:1/v1"}, "no server answers at http://127.0.0.1:1/v1"),
        (
            {"model": "nosuch/x", "server": ""},
            "--model nosuch/x: Model API nosuch of model 'nosuch/x' not recognized",
        ),
        ({"model": "openai-api/nosuch/x", "server": ""}, "No NOSUCH_API_KEY defined in the environment"),
        ({"prompt": "rude"}, "--prompt rude: no such prompt"),
        ({"subsets": ("hard",)}, "no subset hard; there are clip-easy, pt-hard"),
        ({"release": Path("nowhere")}, "nowhere: no such folder"),
    ],
)
def test_a_run_that_cannot_start_is_one_message(change, message, options):
    with small_server() as server, pytest.raises(UserError) as error:
        run_model(options(server)._replace(**change))
    assert message in "\n".join(error.value.problems)
    assert not server.asked and not options(server).out.exists()


def test_a_short_outage_of_the_server_is_waited_for(options, monkeypatch, capsys, undisturbed):
    monkeypatch.setattr("pipeline.inference.request_pool.MAX_RETRIES", 3)
    # one connection: it is asked four times, with waiting times of at most 1, 2 and 4 seconds
    with small_server(failing={5, 6, 7}, status=503) as server:
        assert predictions(run_model(options(server, max_connections=1))) == undisturbed
    said = capsys.readouterr().err
    assert said.count("the server answered with HTTP status 503; such requests are sent again") == 1


def test_the_forecast_after_the_first_replies_has_the_cost(options, capsys):
    with small_server() as server:
        done = run_model(options(server, prices=Prices(10.0, 20.0)))
    # After 3 times the 10 that are asked at once 30 are left: 30,000 tokens in at 10, 300 out at 20 for a million
    assert "30 replies so far, 30 questions remain: about" in (text := capsys.readouterr().err)
    assert "30 thousand tokens in, 300 out, cost 0.31 more" in text
    assert done.record["cost"] == pytest.approx(0.612)  # 60,000 at 10, 600 at 20


def test_a_full_disk_stops_the_run_and_keeps_replies(options, monkeypatch, undisturbed):
    from pipeline.inference.run_folder import RunFolder

    append_row = RunFolder.append_row

    def append(self, row):
        if len(self.rows) == 15:
            raise OSError(28, "No space left on device")
        append_row(self, row)

    monkeypatch.setattr(RunFolder, "append_row", append)
    with small_server() as server:
        done = run_model(options(server))
    assert "the disk is full" in done.stop_reason and done.record["counts"]["replies"] == 15
    monkeypatch.setattr(RunFolder, "append_row", append_row)
    with small_server() as server:
        assert predictions(run_model(options(server))) == undisturbed


def test_requests_are_concurrent(options):
    with small_server(delay=0.1) as server:
        run_model(options(server, max_connections=6, confidence="abstention"))
    assert 4 <= server.most_busy <= 6


def test_missing_replies_are_requested_again(options):
    replies = {}
    for most in (10, 1):
        with small_server(most_choices=most) as server:
            run_model(
                options(
                    server, confidence="self-consistency", num_replies=3, limit=6, out=Path(f"most{most}")
                )
            )
        replies[most] = set(server.asked.values())
    assert replies == {10: {1}, 1: {3}}


def test_replies_are_requested_singly_if_the_server_rejects_several(options):
    with small_server(several=False) as server:
        done = run_model(options(server, confidence="self-consistency", num_replies=3, limit=6))
    assert done.record["counts"]["answered"] == 6 and sorted(server.asked.values()) == [3] * 6


def test_options_reach_the_server_run_json_and_the_log(options):
    how = {
        "prompt": "ask-first",
        "confidence": "self-consistency",
        "num_replies": 3,
        "max_image_size": 2,
        "seed": 5,
        "max_tokens": 48,
    }
    with small_server() as server:
        log_path = Path("log.eval")
        done = run_model(
            options(server, subsets=("pt-hard",), split="all", limit=2, inspect_log=log_path, **how)
        )
    assert server.asked == {  # a turn of its own for each question, before that which wants an answer
        "Can this question be answered from what the picture shows? Reply with yes or no.": 2,
        **{question: 1 for question in server.asked if question.startswith("Is ")},
    }
    assert done.record["generate_config"] == {"temperature": 0.7, "max_tokens": 48, "seed": 5}
    assert done.record["versions"] == {
        "rgqa_scorers": VERSION,
        "python": platform.python_version(),
        "aiohttp": importlib.metadata.version("aiohttp"),
    }
    log = read_eval_log(str(log_path))
    text = {name: log.eval.metadata[name] for name in ("split", "max_image_size", "num_replies", "no_image")}
    assert text == {"split": "all", "max_image_size": 2, "num_replies": 3, "no_image": False}
    for what in ("prompt", "confidence"):
        assert log.eval.metadata[what] == done.record[what] and log.eval.metadata[what]["name"] == how[what]
    assert all(sample.metadata["subsets"] == ["pt-hard"] for sample in log.samples) and len(log.samples) == 2


def test_the_log_of_inspect_ai_gives_the_same_scores(options, released, capsys):
    """A failed reply is an error in the log, and all others have the prediction and confidence of the run."""
    with small_server(spoilt={"finish_reason": "length"}, failing=()) as server:
        truncated = run_model(
            options(server, limit=4, out=Path("truncated"), inspect_log=Path("truncated.json"))
        )
    assert truncated.record["counts"]["truncated"] == 4
    log = read_eval_log("truncated.json")
    assert {sample.error.message.partition(":")[0] for sample in log.samples} == {"truncated"}
    with small_server() as server:
        run_model(options(server, inspect_log=Path("log.eval")))
    from pipeline.scoring.cli import main as score

    reports = []
    for predictions in ("run/predictions.jsonl", "log.eval"):
        score([str(released), predictions, "--json", "scores.json", "--subset", "pt-hard"])
        capsys.readouterr()
        (model,) = json.loads(Path("scores.json").read_text())["models"]
        reports.append(model["subsets"])
        Path("scores.json").unlink()
    assert reports[0] == reports[1]


def test_a_second_turn_that_always_fails_stops_the_run(options):
    """The first turn succeeds each time, so a count that each reply resets would never reach the limit."""
    with small_server(failing=range(4, 1000, 2), status=400) as server:
        done = run_model(options(server, confidence="verbalized", max_connections=1))
    assert "20 requests in a row failed" in done.stop_reason
    assert server.requests == 2 + 2 * 20 and done.record["counts"]["replies"] == 0


def test_single_replies_are_no_more_requests_at_the_same_time(options):
    with small_server(several=False, delay=0.02) as server:
        run_model(options(server, confidence="self-consistency", num_replies=6, limit=6, max_connections=3))
    assert server.most_busy <= 3


def test_an_image_that_cannot_be_kept_is_encoded_again(released):
    import asyncio
    import io

    from pipeline.inference.release_images import ReleaseImages

    class Full(io.BytesIO):
        def write(self, data):
            super().write(data[:10])
            raise OSError(28, "No space left on device")

    images = ReleaseImages(released, ["n1"], folder=released / "images")
    images._encoded_file = Full()

    async def get_twice():
        return [await images.get_data_uri("n1") for _ in range(2)]

    assert asyncio.run(get_twice()) == [images.encode_data_uri("n1")] * 2


def test_each_image_is_encoded_once(options, monkeypatch):
    from pipeline.inference.release_images import ReleaseImages

    encoded, encode = [], ReleaseImages.encode_data_uri

    def count(self, image_id):
        encoded.append(image_id)
        return encode(self, image_id)

    monkeypatch.setattr(ReleaseImages, "encode_data_uri", count)
    with small_server() as server:
        run_model(options(server))
    assert sorted(encoded) == sorted(f"n{number}" for number in range(30))  # two questions about each


def test_other_weights_under_the_same_name_are_rejected(options):
    with small_server() as server:
        run_model(options(server, limit=4))
        about = json.loads(Path("run/run.json").read_text())
        Path("run/run.json").write_text(json.dumps(about | {"model_info": {"revision": "1a"}, "limit": 6}))
        with pytest.raises(UserError, match="its replies are of revision 1a, now None; choose another --out"):
            run_model(options(server, limit=6))


def test_a_vqa_model_writes_its_answer_distributions(options, tmp_path):
    pytest.importorskip("transformers")
    from .tiny_models import tiny_vilt

    tiny_vilt(tmp_path / "vilt")
    with small_server() as server:
        given = options(server, limit=8, confidence="")._replace(
            server="", model=f"hf-vqa/{tmp_path / 'vilt'}"
        )
    done = run_model(given)
    assert (
        done.record["prompt"]["name"] == "bare" and done.record["confidence"]["name"] == "token-probability"
    )
    assert done.record["model_info"]["class"] == "ViltForQuestionAnswering"
    rows = {row["questionId"]: row for row in map(json.loads, predictions(done).splitlines())}
    with np.load(done.folder.path / "distribution.npz") as kept:
        assert kept["items"].tolist() == [*rows] and len(rows) == 8
        for name, row in zip(kept["items"], kept["probabilities"], strict=True):
            assert kept["answers"][row.argmax()] == rows[name]["prediction"]
            assert row.max() == pytest.approx(rows[name]["confidence"], abs=1e-3)  # kept with 11 bits


def test_lxmert_runs_with_a_features_file(options, tmp_path):
    pytest.importorskip("transformers")
    from .tiny_models import ANSWERS, tiny_lxmert

    config = tiny_lxmert(tmp_path / "lxmert") and json.loads((tmp_path / "lxmert/config.json").read_text())
    regions = np.zeros((30, 4, config["visual_feat_dim"]), np.float32), np.full((30, 4, 4), 0.5)
    features = tmp_path / "f.npz"
    np.savez(features, ids=[f"n{k}" for k in range(30)], features=regions[0], boxes=regions[1])
    (tmp_path / "answers.txt").write_text("\n".join(ANSWERS))
    arguments = (("features_file", str(features)), ("answers_file", str(tmp_path / "answers.txt")))
    with small_server() as server:
        given = options(server, limit=4, confidence="")._replace(
            server="", model=f"hf-vqa/{tmp_path / 'lxmert'}"
        )
    done = run_model(given._replace(model_args=arguments))
    assert done.record["counts"]["answered"] == 4 and not done.record["warnings"]


@pytest.mark.parametrize(("empty", "warned"), [(0, 0), (1, 1), (20, 1)])
def test_five_percent_of_empty_replies_give_a_warning(empty, warned, capsys):
    rows = [{"failure": "", "prediction": "" if n < empty else "red"} for n in range(20)]  # 1 of 20 is 5 %
    about = {"warnings": []}
    for _ in range(2):  # said once, though the run goes on
        _warn_of_empty_replies([*rows, {"failure": "truncated", "prediction": None}], about)
    assert len(about["warnings"]) == warned and capsys.readouterr().err.count("warning:") == warned
