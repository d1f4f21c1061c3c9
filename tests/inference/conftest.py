"""A small release with images, and a model with given replies, run by inspect_ai."""

import base64
import io
import json
from math import log

import pytest
from inspect_ai import eval as run_tasks
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    Logprobs,
    ModelOutput,
    ModelUsage,
    get_model,
)
from PIL import Image

from pipeline.inference.release_tasks import release_task
from tests.scoring.conftest import few_pairs_are_enough, release  # noqa: F401


def png(color, size=(8, 4)):
    written = io.BytesIO()
    Image.new("RGB", size, color).save(written, "PNG")
    return written.getvalue()


def said(*texts, tokens=None, stop="stop"):
    """What a model says: one choice or several; `tokens` are those of each."""
    logprobs = None if tokens is None else Logprobs.model_validate({"content": tokens})
    choices = [
        ChatCompletionChoice(
            message=ChatMessageAssistant(content=text, source="generate"), stop_reason=stop, logprobs=logprobs
        )
        for text in texts
    ]
    # with its usage, or inspect_ai counts tokens by a table that it fetches
    return ModelOutput(model="mock", choices=choices, usage=ModelUsage())


@pytest.fixture
def pictured(release):  # noqa: F811
    """The release of `conftest.release`, whose questions differ, with a folder of images n1, n2, n3."""
    for file in (release / "rgqa").glob("*.json"):
        rows = json.loads(file.read_text())
        for row in rows:
            row["sent"] = f"What color is the {row['question_id']}?"
        file.write_text(json.dumps(rows))
    images = release / "images"
    images.mkdir()
    for name, color in (("n1", "red"), ("n2", "green"), ("n3", "blue")):
        (images / f"{name}.png").write_bytes(png(color))
    return release


@pytest.fixture
def answer(pictured, tmp_path):
    """Run a task over the release: `answer(lambda messages, config: ModelOutput, confidence=...)` returns inspect_ai's log."""

    def run(say, single=False, **options):
        if single:  # one question alone, of no pair
            lines = [json.loads(line) for line in (pictured / "provenance.jsonl").read_text().splitlines()]
            rows = [{"item": line["item"] | {"pair_id": None}} for line in lines]
            (pictured / "provenance.jsonl").write_text("\n".join(map(json.dumps, rows)))
            options["limit"] = 1
        model = get_model(
            "mockllm/model", custom_outputs=lambda messages, tools, choice, config: say(messages, config)
        )
        task = release_task(pictured, images=pictured / "images", **options)
        (log,) = run_tasks(
            task, model=model, log_dir=str(tmp_path / "logs"), display="none", log_level="error"
        )
        return log

    return run


def image_in(message):
    """The bytes of the image in a message."""
    (uri,) = [part.image for part in message.content if part.type == "image"]
    return base64.b64decode(uri.partition(",")[2])


def tokens(*said):
    """(text, probability) -> tokens as a server gives them."""
    return [{"token": text, "logprob": log(p), "bytes": list(text.encode())} for text, p in said]


def first_word(text, **others):
    """One token with the probabilities of the likeliest."""
    top = [{"token": token, "logprob": log(p)} for token, p in others.items()]
    return [{"token": text, "logprob": -0.5, "top_logprobs": top}]
