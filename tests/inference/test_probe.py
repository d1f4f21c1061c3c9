import asyncio
import base64
import io
from pathlib import Path
from types import SimpleNamespace

import pytest
from PIL import Image

from pipeline.core.errors import UserError
from pipeline.inference.confidence_methods import CONFIDENCE_METHODS
from pipeline.inference.probe import BLUE, RED, make_square_png, open_and_probe, probe_server
from pipeline.inference.run_options import RunOptions

pytest.importorskip("inspect_ai")


class StatusError(Exception):
    def __init__(self, status_code):
        super().__init__(f"status {status_code}")
        self.status_code = status_code


class FakeModel:
    """Replies with the color that it sees; `gives` are what it can: logprobs, top_logprobs, several."""

    def __init__(self, gives=(), sees=True, rejects=None, status=400, needs=1, thinks=False):
        self.needs, self.thinks = needs, thinks  # tokens of a reply; are its first ones thoughts?
        self.gives, self.sees, self.rejects, self.configs, self.status = gives, sees, rejects, [], status
        self.api = SimpleNamespace(base_url="http://127.0.0.1:9/v1", api_key_vars=["NET_API_KEY"])

    def __str__(self):
        return "net"

    async def generate(self, messages, config):
        self.configs.append(config)
        if self.rejects and self.rejects(config):
            raise StatusError(self.status)
        (image,) = [part.image for part in messages[0].content if part.type == "image"]
        pixel = Image.open(io.BytesIO(base64.b64decode(image.partition(",")[2]))).getpixel((0, 0))
        said = {RED: "Red", BLUE: "Blue"}[pixel] if self.sees else "Grey"
        tops = [SimpleNamespace(token="x")] * (
            2 if "top_logprobs" in self.gives and config.top_logprobs else 1
        )
        tokens = [SimpleNamespace(top_logprobs=tops)] if config.logprobs and "logprobs" in self.gives else []
        cut = config.max_tokens < self.needs
        content = [SimpleNamespace(type="reasoning"), SimpleNamespace(type="text")] if self.thinks else said
        choice = SimpleNamespace(
            logprobs=SimpleNamespace(content=tokens) if tokens else None,
            stop_reason="max_tokens" if cut and not self.thinks else "stop",
            message=SimpleNamespace(content=content, text="" if cut else said),
        )
        count = (config.num_choices or 1) if "several" in self.gives else 1
        usage = SimpleNamespace(output_tokens=min(self.needs, config.max_tokens))
        return SimpleNamespace(
            choices=[choice] * count, completion="" if cut else said, usage=usage, error=None
        )


def found(model, method, **how):
    return asyncio.run(probe_server(model, CONFIDENCE_METHODS[method], **how))


def problem(model, method):
    with pytest.raises(UserError) as error:
        found(model, method)
    (line,) = error.value.problems
    return line


def test_a_model_that_sees_is_asked_twice_without_a_warning():
    model = FakeModel()
    assert found(model, "abstention") == (True, ()) and len(model.configs) == 2
    assert all(config.temperature == 0 and config.logprobs is None for config in model.configs)


def test_the_same_word_for_red_and_blue_is_a_warning_unless_no_image_is_sent():
    (warning,) = found(FakeModel(sees=False), "abstention").warnings
    assert warning == "net replies 'grey' to a red and to a blue square: it may not see images"
    assert found(FakeModel(sees=False), "abstention", no_image=True).warnings == ()


@pytest.mark.parametrize("thinks", [True, False])
@pytest.mark.parametrize("method", ["abstention", "token-probability"])
def test_truncated_replies_end_the_probe_with_a_token_limit_to_set(method, thinks):
    # A reply of 700 tokens ends within the 2,048 that are tried; 4 * 700 = 2,800 leave room for longer questions.
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
    line = problem(FakeModel(rejects=lambda config: config.logprobs), "token-probability")
    assert "log probabilities (status 400)" in line and "--confidence token-probability needs" in line
    assert "answers with an error (status 400)" in problem(
        FakeModel(rejects=lambda _: True), "token-probability"
    )


@pytest.mark.parametrize("method", ["token-probability", "self-consistency", "abstention"])
def test_an_error_independent_of_the_method_is_reported_immediately(method):
    # 401: the key is wrong, whatever is asked for.
    model = FakeModel(rejects=lambda _: True, status=401)
    assert "log probabilities" not in problem(model, method) and len(model.configs) == 1


@pytest.mark.parametrize(
    ("model", "at_once"),
    [
        (FakeModel(["several"]), True),
        (FakeModel(), False),
        (FakeModel(rejects=lambda config: config.num_choices), False),
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
