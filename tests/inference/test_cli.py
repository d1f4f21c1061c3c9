"""The command `rgqa run`, and the probe before a run."""

import asyncio
import base64
import errno
import hashlib
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from pipeline.core.errors import UserError
from pipeline.inference import cli
from pipeline.inference.chat_model import Choice, Reply
from pipeline.inference.cli import main, run_and_score
from pipeline.inference.confidence_methods import CONFIDENCE_METHODS
from pipeline.inference.probe import BLUE, RED, make_square_png, open_and_probe, probe_server
from pipeline.inference.run_folder import RunFolder
from pipeline.inference.run_options import RunOptions
from pipeline.inference.runner import RunOutcome
from pipeline.scoring import cli as scoring_cli

from .small_server import make_release, small_server

pytest.importorskip("inspect_ai")


# Command line


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    return make_release(tmp_path_factory.mktemp("release"), 12)


@pytest.fixture
def line(released, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pipeline.inference.request_pool.MAX_RETRIES", 0)

    def make(server, *more):
        images = ["--images", str(released / "images")]
        return [str(released), "--server", server.url, "--model", "net", *images, "--out", "run", *more]

    return make


def test_a_run_ends_with_the_scores_of_its_predictions(line, released, capsys, tmp_path):
    with small_server() as server:
        main(line(server, "--confidence", "token-probability"))
    shown = capsys.readouterr()
    assert "run: 24 of 24 items have a prediction" in shown.err and "-> run" in shown.err
    assert "AUAF" in shown.out and "clip-easy" in shown.out and "pt-hard" in shown.out
    scoring_cli.main([str(released), "run/predictions.jsonl", "--json", "again.json"])
    ours, again = (json.loads((tmp_path / name).read_text()) for name in ("run/scores.json", "again.json"))
    assert (
        ours["models"][0]["subsets"] == again["models"][0]["subsets"] and ours["models"][0]["name"] == "run"
    )


def test_a_finished_run_prints_its_scores_again_without_computing_them(line, capsys, monkeypatch):
    with small_server() as server:
        words = line(server, "--limit", "9")
        main(words)
        first = capsys.readouterr().out
        with monkeypatch.context() as patch:
            patch.setattr(cli, "score_models", None)
            main(words)
        assert capsys.readouterr().out == first
        # Other predictions are scored.
        path = Path("run/predictions.jsonl")
        rows = [json.loads(row) for row in path.read_text().splitlines()]
        journal = Path("run/answers.jsonl")
        kept = [json.loads(row) for row in journal.read_text().splitlines()]
        journal.write_text("".join(json.dumps(row | {"confidence": 0.25}) + "\n" for row in kept))
        main(words)
        assert [json.loads(row)["confidence"] for row in path.read_text().splitlines()] == [0.25] * len(rows)
        report = json.loads(Path("run/scores.json").read_text())
        assert report["models"][0]["subsets"]["pt-hard"]["realistic"]["auroc"] == 0.5


def test_a_limited_run_is_scored_on_complete_pairs(line, capsys):
    with small_server() as server:
        main(line(server, "--limit", "9"))
    assert "run: 8 questions in 4 pairs" in capsys.readouterr().err
    report = json.loads(Path("run/scores.json").read_text())
    subset = report["models"][0]["subsets"]["pt-hard"]
    assert (subset["counts"]["aqs"], subset["counts"]["uqs"]) == (4, 4)
    assert subset["pairs"]["pairs"] == 4 and "dual_accuracy" not in subset["pairs"]
    assert len(Path("run/predictions.jsonl").read_text().splitlines()) == 8


def test_an_answerable_question_that_another_subset_pairs_is_scored_only_beside_its_own(
    line, released, capsys
):
    """Each subset has other UQs for the same AQs; a drawing has AQs whose UQ of the other subset was not drawn."""
    path = released / "rgqa/pt-hard.json"
    before, provenance = path.read_bytes(), (released / "provenance.jsonl").read_text()
    sums = (released / "CHECKSUMS.sha256").read_text()
    try:
        rows = json.loads(before)
        for row in rows:
            if row["label"] == {"UQ": 1.0}:
                row |= {"question_id": f"h{row['question_id']}", "sent": row["sent"] + "?"}
        path.write_text(json.dumps(rows))
        items = [json.loads(text)["item"] for text in provenance.splitlines()]
        for item in items:
            item["pair_id"] = f"{item['subset']}+{item['pair_id']}"
            if item["subset"] == "pt-hard" and item["item_id"].startswith("u"):
                item["item_id"] = f"h{item['item_id']}"
        (released / "provenance.jsonl").write_text("\n".join(json.dumps({"item": item}) for item in items))
        digests = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in path.parent.iterdir()}
        lines = [f"{digest}  rgqa/{name}\n" for name, digest in sorted(digests.items())]
        (released / "CHECKSUMS.sha256").write_text("".join(lines))
        with small_server() as server:
            main(line(server, "--limit", "12"))
    finally:
        path.write_bytes(before)
        (released / "provenance.jsonl").write_text(provenance)
        (released / "CHECKSUMS.sha256").write_text(sums)
    report = json.loads(Path("run/scores.json").read_text())
    for subset in report["models"][0]["subsets"].values():
        assert subset["counts"]["aqs"] == subset["counts"]["uqs"] == subset["pairs"]["pairs"] > 0


def test_items_without_an_answer_count_as_wrong_answers(line, capsys):
    with small_server(failing=range(3, 6), status=400) as server:
        main(line(server))
    shown = capsys.readouterr()
    assert "3 failed" in shown.err
    assert (
        "3 items without an answer, counted as wrong answers:\n  " in shown.out
        and "out of order" in shown.out
    )
    report = json.loads(Path("run/scores.json").read_text())
    assert report["models"][0]["subsets"]["pt-hard"]["counts"]["missing"] == 3


def test_at_most_five_different_reasons_are_listed(monkeypatch, tmp_path):
    counts = dict.fromkeys(("items", "questions", "failed"), 9) | dict.fromkeys(
        ("answered", "replies", "abstained", "truncated", "no_confidence"), 0
    )
    failures = {f"u{i}": f"reason {i // 2}" for i in range(14)}
    about = {"counts": counts, "tokens": {"input": 0, "output": 0}, "cost": None, "failures": failures}
    done = RunOutcome(RunFolder(tmp_path / "run"), frozenset(failures), about, None)
    monkeypatch.setattr(cli, "run_model", lambda options: done)
    with pytest.raises(UserError) as caught:
        run_and_score(["release", "--model", "net"], "rgqa run")
    assert caught.value.problems == ["there is no answer to score", *(f"reason {i}" for i in range(5))]


def test_plots_are_written_into_the_folder_of_the_run(line, capsys):
    def draw(benchmark, models, options, folder):
        folder.mkdir(exist_ok=True)
        path = folder / f"{benchmark.name}-{models[0].name}-{options.split}.svg"
        path.write_text("")
        return [path]

    with small_server() as server:
        run_and_score(line(server, "--limit", "9"), "rgqa run", draw)
        assert not Path("run/plots").exists()
        run_and_score(line(server, "--limit", "9", "--plots"), "rgqa run", draw)
        assert "run: 1 plot -> run/plots\n" in capsys.readouterr().err
        assert Path("run/plots/toy-run-test.svg").exists()
        run_and_score(line(server, "--limit", "9", "--plots"), "rgqa run", draw)  # nothing has changed
        assert "plot" not in capsys.readouterr().err
        Path("run/plots/toy-run-test.svg").unlink()
        run_and_score(line(server, "--limit", "9", "--plots"), "rgqa run", draw)
    assert "run: 1 plot -> run/plots\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("raised", "message"),
    [
        (OSError(errno.ENOSPC, "No space left", "x"), "the disk is full (x)"),
        (OSError(errno.EACCES, "Permission denied", "x"), "no permission"),
        (KeyboardInterrupt(), "stopped by Ctrl-C"),
        (UserError(["one", "two"]), "one\n  two"),
    ],
)
def test_an_error_that_ends_a_run_is_one_message_without_a_traceback(monkeypatch, capsys, raised, message):
    def ended(options):
        raise raised

    monkeypatch.setattr(cli, "run_model", ended)
    with pytest.raises(SystemExit) as end:
        main(["release", "--model", "net"])
    assert end.value.code == 1 and capsys.readouterr().err.startswith(f"error: {message}")


def test_an_internal_error_keeps_its_traceback(monkeypatch):
    def ended(options):
        raise OSError(errno.EBADF, "Bad file descriptor")

    monkeypatch.setattr(cli, "run_model", ended)
    with pytest.raises(OSError, match="Bad file descriptor"):
        main(["release", "--model", "net"])


def test_too_few_questions_for_a_score_are_no_error(line, released, tmp_path, capsys):
    shutil.copytree(released, tmp_path / "unpaired")
    (tmp_path / "unpaired/provenance.jsonl").unlink()
    with small_server() as server:
        main(["unpaired", *line(server, "--limit", "1")[1:]])
    shown = capsys.readouterr()
    assert (
        "run: 1 of 1 item has a prediction" in shown.err
        and "run: no scores of clip-easy, pt-hard" in shown.err
    )
    assert shown.out == "" and not Path("run/scores.json").exists()


def test_a_run_without_answers_is_not_scored(line, capsys):
    with small_server(failing=range(3, 99), status=400) as server, pytest.raises(SystemExit) as end:
        main(line(server, "--limit", "5"))
    assert end.value.code == 1
    error = capsys.readouterr().err
    assert "error: there is no answer to score\n  " in error and "out of order" in error


def test_a_mistake_of_the_user_is_one_message_and_exit_code_1(line, capsys):
    with small_server(logprobs=False) as server, pytest.raises(SystemExit) as end:
        main(line(server, "--confidence", "p-true"))
    assert end.value.code == 1
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith("error: net returns no log probabilities")


def test_the_help_needs_no_inspect_ai():
    code = "import sys; sys.modules['inspect_ai'] = None; from pipeline.inference.cli import main; main(sys.argv[1:])"
    done = subprocess.run([sys.executable, "-c", code, "--help"], capture_output=True, text=True)
    assert done.returncode == 0 and "usage: rgqa-run RELEASE" in done.stdout and "--confidence" in done.stdout


@pytest.mark.parametrize(
    ("missing", "model"),
    [
        ("inspect_ai", ["--model", "openai/x"]),
        ("aiohttp", ["--model", "x", "--server", "http://127.0.0.1:1"]),
        ("anyio", ["--model", "x", "--server", "http://127.0.0.1:1"]),
    ],
)
def test_a_missing_package_is_a_message_with_the_install_command(missing, model, released, tmp_path):
    code = f"import sys; sys.modules[{missing!r}] = None; from pipeline.inference.cli import main; main(sys.argv[1:])"
    words = [sys.executable, "-c", code, str(released), *model, "--no-image", "--out", str(tmp_path / "run")]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == (
        'error: the packages that run models are not installed: pip install "rgqa-scorers[inspect]"\n'
    )


# Probe


class StatusError(Exception):
    def __init__(self, status_code):
        super().__init__(f"status {status_code}")
        self.status_code = status_code


class FakeModel:
    """Replies with the color that it sees; `gives` are what it can: logprobs, top_logprobs, several."""

    name, address, key_variable, is_local = "net", "http://127.0.0.1:9/v1", "NET_API_KEY", False

    def __init__(self, gives=(), sees=True, rejects=None, status=400, needs=1, thinks=False):
        self.needs, self.thinks = needs, thinks  # tokens of a reply; are its first ones thoughts?
        self.gives, self.sees, self.rejects, self.requests, self.status = gives, sees, rejects, [], status

    async def send(self, messages, settings):
        self.requests.append(settings)
        if self.rejects and self.rejects(settings):
            raise StatusError(self.status)
        data = base64.b64decode(messages[0].image.partition(",")[2])
        pixel = Image.open(io.BytesIO(data)).getpixel((0, 0))
        said = {RED: "Red", BLUE: "Blue"}[pixel] if self.sees else "Grey"
        has_tops = "top_logprobs" in self.gives and settings.num_top_logprobs
        token = {"token": said, "logprob": -0.1, "top_logprobs": [{"token": "x"}] * (2 if has_tops else 1)}
        cut = settings.max_tokens < self.needs
        choice = Choice(
            "" if cut else said,
            "max_tokens" if cut and not self.thinks else "stop",
            has_reasoning=self.thinks,
            token_logprobs=[token] if settings.needs_logprobs and "logprobs" in self.gives else (),
        )
        count = settings.num_choices if "several" in self.gives else 1
        return Reply([choice] * count, 9, min(self.needs, settings.max_tokens))


def found(model, method, **how):
    return asyncio.run(probe_server(model, CONFIDENCE_METHODS[method], **how))


def problem(model, method):
    with pytest.raises(UserError) as error:
        found(model, method)
    (line,) = error.value.problems
    return line


def test_a_model_that_sees_is_asked_twice_without_a_warning():
    model = FakeModel()
    assert found(model, "abstention") == (True, ()) and len(model.requests) == 2
    assert all(one.temperature == 0 and not one.needs_logprobs for one in model.requests)


def test_the_same_word_for_red_and_blue_is_a_warning_unless_no_image_is_sent():
    (warning,) = found(FakeModel(sees=False), "abstention").warnings
    assert warning == "net replies 'grey' to a red and to a blue square: it may not see images"
    assert found(FakeModel(sees=False), "abstention", no_image=True).warnings == ()


@pytest.mark.parametrize("thinks", [True, False])
@pytest.mark.parametrize("method", ["abstention", "token-probability"])
def test_truncated_replies_end_the_probe_with_a_token_limit_to_set(method, thinks):
    # A reply of 700 tokens ends within the 2,048 that are tried; 4 * 700 = 2,800 leave space for longer questions.
    line = problem(FakeModel(needs=700, thinks=thinks), method)
    assert "--max-tokens 64" in line and "--max-tokens 2800" in line and "No question was asked" in line
    assert ("reasoning" in line) is thinks
    # One of 5,000 does not; 4 * 2,048 = 8,192.
    assert "--max-tokens 8192" in problem(FakeModel(needs=5000, thinks=thinks), method)
    found(FakeModel(["logprobs"], needs=700, thinks=thinks), method, max_tokens=800)


@pytest.mark.parametrize("method", ["token-probability", "p-true"])
def test_without_log_probabilities_other_methods_are_proposed(method):
    line = problem(FakeModel(), method)
    assert "no log probabilities" in line and f"--confidence {method} needs" in line
    assert "Use --confidence verbalized (or self-consistency, abstention)" in line


def test_p_true_needs_more_than_the_chosen_token():
    assert found(FakeModel(["logprobs"]), "token-probability").warnings == ()
    line = problem(FakeModel(["logprobs"]), "p-true")
    assert "of the chosen token only" in line and "Use --confidence token-probability (or verbalized," in line
    assert found(FakeModel(["logprobs", "top_logprobs"]), "p-true").warnings == ()


def test_a_server_that_rejects_log_probabilities_is_distinguished_from_a_broken_one():
    line = problem(FakeModel(rejects=lambda settings: settings.needs_logprobs), "token-probability")
    assert "log probabilities (status 400)" in line and "--confidence token-probability needs" in line
    assert "answers with an error (status 400)" in problem(
        FakeModel(rejects=lambda _: True), "token-probability"
    )


@pytest.mark.parametrize("method", ["token-probability", "self-consistency", "abstention"])
def test_an_error_independent_of_the_method_is_reported_immediately(method):
    # 401: the key is wrong, whatever is asked for.
    model = FakeModel(rejects=lambda _: True, status=401)
    assert "log probabilities" not in problem(model, method) and len(model.requests) == 1


@pytest.mark.parametrize(
    ("model", "at_once"),
    [
        (FakeModel(["several"]), True),
        (FakeModel(), False),
        (FakeModel(rejects=lambda settings: settings.num_choices > 1), False),
    ],
)
def test_several_replies_at_once_are_tried(model, at_once):
    assert found(model, "self-consistency").supports_num_choices is at_once


@pytest.mark.parametrize(
    ("model", "missing", "words"),
    [
        ("hf-vqa/x", "torch", '--model hf-vqa/x: torch is not installed: pip install "rgqa-scorers[hf]"'),
        ("mistral/x", "mistralai", '--model mistral/x: mistralai is not installed: pip install "mistralai"'),
        (
            "anthropic/x",
            None,
            "--model anthropic/x: Anthropic API requires optional dependencies. Install with: pip install anthropic",
        ),
    ],
)
def test_a_package_that_is_missing_is_named(model, missing, words, monkeypatch):
    def get_model(name, **_):
        if missing:
            raise ModuleNotFoundError(f"No module named {missing!r}", name=missing)
        raise RuntimeError(
            "[bold]ERROR[/bold]: Anthropic API requires optional dependencies. Install with:\n\n[bold]pip install anthropic[/bold]"
        )

    monkeypatch.setattr("inspect_ai.model.get_model", get_model)
    with pytest.raises(UserError) as error:
        open_and_probe(RunOptions(Path("release"), model).with_defaults)
    assert error.value.problems == [words]


def test_the_square_is_an_image_of_one_color():
    image = Image.open(io.BytesIO(make_square_png((1, 2, 3), 5)))
    assert image.size == (5, 5) and image.getcolors() == [(25, (1, 2, 3))]
