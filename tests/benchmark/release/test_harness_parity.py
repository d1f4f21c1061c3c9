"""The same answers get the same scores in every harness.

lmms-eval and inspect_ai run on a release with an OpenAI-compatible server, which always gives the same reply to a question. VLMEvalKit,
which is in no package index, is simulated.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import threading
import zipfile
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest

from pipeline.inference.prompts import PROMPTS
from tests.closure import ROOT
from tests.scoring.conftest import numbers, scored

LMMS_EVAL = "lmms-eval==0.7.3"
# PyTorch is taken from the environment of these tests. pycocoevalcap has 100 MB and is not needed by our tasks.
EXCLUDED_PACKAGES = ("torch", "torchvision", "pycocoevalcap")


class Script(NamedTuple):
    """The replies to all questions.

    Attributes:
        questions: Questions by the id of the item.
        answers_by_question: The right answer of each answerable question.
    """

    questions: dict[str, str]
    answers_by_question: dict[str, str]

    def reply(self, question):
        """Return status and body by a hash of the question.

        Of seven questions, two get the right answer, two a wrong one, one an abstention, one fails, and one is truncated.
        """
        case = int(sha256(question.encode()).hexdigest(), 16) % 7
        if case == 0:
            return 400, {"error": {"message": "cannot serve this", "type": "invalid_request_error"}}
        is_truncated = case == 1
        replies = {2: "I cannot tell from the image.", 3: "two dogs", 4: "unanswerable"}
        message = {
            "role": "assistant",
            "content": replies.get(case, self.answers_by_question.get(question, "table")),
        }
        choice = {"index": 0, "finish_reason": "length" if is_truncated else "stop", "message": message}
        usage = {"prompt_tokens": 9, "completion_tokens": 64 if is_truncated else 3, "total_tokens": 73}
        body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        return 200, body | {"usage": usage}

    def answers(self):
        """Return the answers by id, without failed requests and truncated answers."""
        replies = {name: self.reply(question)[1] for name, question in self.questions.items()}
        choices = {name: reply["choices"][0] for name, reply in replies.items() if "choices" in reply}
        complete = {name: choice for name, choice in choices.items() if choice["finish_reason"] == "stop"}
        return {name: choice["message"]["content"] for name, choice in complete.items()}


@pytest.fixture
def script(release):
    table = pd.read_csv(release / "harness/vlmevalkit/rgqa.tsv", sep="\t", dtype=str)
    questions = [text.split("\n")[0] for text in table["question"]]
    right = {q: a for q, a in zip(questions, table["answer"], strict=True) if a != "unanswerable"}
    return Script(dict(zip(table["index"], questions, strict=True)), right)


@contextmanager
def serving(script):
    """Yield the address of the server, and the text and image of each request."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args):
            pass

        def do_POST(self):
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            parts = {part["type"]: part for part in request["messages"][-1]["content"]}
            asked.append((parts["text"]["text"], parts["image_url"]["image_url"]["url"]))
            status, body = script.reply(asked[-1][0].split("\n")[0])
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def run(command, home, **more):
    """Run a command offline in a home folder of its own."""
    home.mkdir()
    offline = {"PATH": os.environ["PATH"], "HOME": str(home), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    clean = {"PYTHONDONTWRITEBYTECODE": "1"}  # Other tests use this release.
    done = subprocess.run(command, cwd=home, env=offline | clean | more, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def run_inspect(release, url, folder):
    """Run the task file of the release with its wheel, and return the log."""
    (wheel,) = (release / "scorers").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "wheel")
    inspect = str(Path(sys.executable).parent / "inspect")
    task = os.path.relpath(
        release / "harness/inspect/rgqa.py", folder / "inspect"
    )  # inspect_ai does not find absolute paths.
    command = [inspect, "eval", task, "--model", "openai-api/local/m", "--display", "none"]
    server = {"LOCAL_BASE_URL": url, "LOCAL_API_KEY": "none"}
    run([*command, "--log-dir", "logs"], folder / "inspect", PYTHONPATH=str(folder / "wheel"), **server)
    (log,) = (folder / "inspect/logs").glob("*.eval")
    return log


def run_lmms_eval(release, url, folder):
    """Run task rgqa in an environment with lmms-eval, and return the log."""
    uv, environment = str(Path(sys.executable).parent / "uv"), folder / "environment"
    overrides = folder / "overrides.txt"
    overrides.write_text("".join(f'{name}; python_version < "0"\n' for name in EXCLUDED_PACKAGES))
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, environment], check=True)
    install = [uv, "pip", "install", "--quiet", "--python", environment, "--overrides", overrides]
    subprocess.run([*install, "-c", ROOT / "requirements.lock", LMMS_EVAL], check=True)
    (packages,) = environment.glob("lib/*/site-packages")
    (packages / "torch.pth").write_text(sysconfig.get_path("purelib") + "\n")
    command = [
        environment / "bin/lmms-eval",
        "--include_path",
        release / "harness/lmms_eval",
        "--tasks",
        "rgqa",
    ]
    options = f"model=m,base_url={url},api_key=none,max_retries=1,num_concurrent=2"
    command += ["--model", "openai", "--model_args", options, "--log_samples", "--output_path", "logs"]
    run(command, folder / "lmms")
    # The environment has 1.1 GB.
    shutil.rmtree(environment)
    (log,) = (folder / "lmms/logs").rglob("*_samples_rgqa.jsonl")
    return log


def write_vlmevalkit_log(release, answers, path):
    """Write a log like VLMEvalKit (vlmeval/inference.py and vlmeval/api/base.py at 3d2f88e), and return its path.

    VLMEvalKit does not log truncation, so truncated answers are failures here.
    """
    table = pd.read_csv(release / "harness/vlmevalkit/rgqa.tsv", sep="\t").drop(columns="image")
    predictions = [answers.get(str(name), "Failed to obtain answer via API.") for name in table["index"]]
    table.assign(prediction=predictions).to_excel(path, index=False)
    return path


def write_batch_log(script, path):
    """Write a log like OpenAI's batch API, one line per request, and return its path."""
    lines = []
    for name, question in script.questions.items():
        status, body = script.reply(question)
        response = {"status_code": status, "request_id": name, "body": body}
        lines.append(json.dumps({"id": name, "custom_id": name, "response": response, "error": None}))
    path.write_text("\n".join(lines))
    return path


def scores(release, log, folder, *options):
    """Return all scores by path, and the ids of failed items."""
    (model,) = scored(folder, release, log, "--missing", "wrong", "--bootstrap", 20, *options)["models"]
    return numbers(model["subsets"]), model["file_info"]["failures"].keys()


def plain_scores(release, script, folder):
    """Return the scores of a plain file with the same answers."""
    rows = [{"questionId": name, "prediction": answer} for name, answer in script.answers().items()]
    (folder / "plain.json").write_text(json.dumps(rows))
    found, _ = scores(release, folder / "plain.json", folder, "--detect-abstention")
    assert len(found) > 100 and found["/clip-hard/realistic/auaf"] > 0
    return {key: pytest.approx(value, abs=1e-12) for key, value in found.items()}


def assert_all_alike(release, script, logs, expected, folder):
    """Check that each log has the expected scores and failed items."""
    answers = script.answers()
    assert 2 < len(script.questions) - len(answers) < len(answers)
    for log in logs:
        found, failed = scores(release, log, folder, "--detect-abstention")
        assert found == expected, log
        assert failed == script.questions.keys() - answers.keys(), log


@pytest.mark.slow
def test_inspect_batches_and_vlmevalkit_give_the_scores_of_the_same_answers(release, script, tmp_path):
    with serving(script) as (url, asked):
        inspects = run_inspect(release, url, tmp_path)
    # A question about an image is asked once even if several items have it.
    assert {text for text, _ in asked} == {
        PROMPTS["abstain"].format_question(text) for text in script.questions.values()
    }
    assert len(set(asked)) == len(asked) <= len(script.questions)
    batchs = write_batch_log(script, tmp_path / "batch.jsonl")
    vlmevalkits = write_vlmevalkit_log(release, script.answers(), tmp_path / "vlm.xlsx")
    expected = plain_scores(release, script, tmp_path)
    assert_all_alike(release, script, [inspects, batchs, vlmevalkits], expected, tmp_path)
    # With the confidence method "abstention", the log of inspect has the abstentions that --detect-abstention finds in the answers.
    own, _ = scores(release, inspects, tmp_path)
    counts = {key for key in own.keys() | expected.keys() if "/abstention/" in key}
    assert own.keys() | counts == expected.keys() | counts
    assert all(own[key] == expected[key] for key in expected.keys() - counts)


@pytest.mark.server
def test_lmms_eval_gives_the_scores_of_the_same_answers(release, script, tmp_path):
    with serving(script) as (url, asked):
        log = run_lmms_eval(release, url, tmp_path)
    texts = [PROMPTS["abstain"].format_question(text) for text in script.questions.values()]
    assert sorted(text for text, _ in asked) == sorted(texts)
    assert_all_alike(release, script, [log], plain_scores(release, script, tmp_path), tmp_path)
