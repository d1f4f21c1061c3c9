"""`hf-vqa/...` as inspect_ai runs it: models by name, tasks, logs."""

import base64
import json
import math
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from pipeline.core.errors import UserError
from pipeline.inference.answer_distributions import decode_distribution

pytest.importorskip("transformers")
inspect_ai = pytest.importorskip("inspect_ai")
from inspect_ai import Task  # noqa: E402
from inspect_ai import eval as evaluate  # noqa: E402
from inspect_ai.dataset import Sample  # noqa: E402
from inspect_ai.model import ChatMessageUser, ContentImage, ContentText, GenerateConfig, get_model  # noqa: E402

from pipeline.inference.hf_vqa import load_vqa_model, parse_image_question, read_image_bytes  # noqa: E402
from pipeline.inference.hf_vqa_base import ImageQuestion  # noqa: E402
from tests.inference.tiny_models import (  # noqa: E402
    ANSWERS,
    QUESTIONS,
    image,
    tiny_blip,
    tiny_vilt,
)


@pytest.fixture(scope="module")
def vilt(tmp_path_factory):
    return tiny_vilt(tmp_path_factory.mktemp("vilt"))


def asked(question, data, **more):
    uri = "data:image/png;base64," + base64.b64encode(data).decode()
    return ChatMessageUser(content=[ContentImage(image=uri), ContentText(text=question)], **more)


def evaluated(model, tmp_path, samples, **config):
    task = Task(dataset=samples, config=GenerateConfig(**config))
    (log,) = evaluate(task, model=model, log_dir=str(tmp_path), display="none", fail_on_error=False)
    return log


def test_the_log_has_the_answer_distribution(vilt, tmp_path):
    samples = [Sample(id=k, input=[asked(q, image(k))]) for k, q in enumerate(QUESTIONS * 5)]
    model = get_model(f"hf-vqa/{vilt}", device="cpu", batch_size=4)
    log = evaluated(model, tmp_path, samples, logprobs=True, top_logprobs=3)
    assert log.status == "success"
    net = load_vqa_model(str(vilt), {"device": "cpu"})
    for k, sample in enumerate(log.samples):
        (wanted,) = net.predict([ImageQuestion(QUESTIONS[k % 4], image(k))])
        kept = decode_distribution(sample.output.metadata["distribution"]).astype(float)
        assert kept == pytest.approx(wanted.distribution, abs=1e-3)
        (token,) = sample.output.choices[0].logprobs.content
        assert sample.output.completion == token.token == wanted.answer
        assert math.exp(token.logprob) == pytest.approx(wanted.probability, abs=1e-5)
        tops = [top.token for top in token.top_logprobs]
        assert tops == [ANSWERS[place] for place in wanted.distribution.argsort()[::-1][:3]]
    assert (
        model.api.answer_vocabulary == ANSWERS and model.api.model_info["class"] == "ViltForQuestionAnswering"
    )


def test_a_generating_model_has_no_distribution(tmp_path):
    model = get_model(f"hf-vqa/{tiny_blip(tmp_path / 'blip')}", device="cpu")
    samples = [Sample(id=seed, input=[asked("is the cup red?", image(seed))]) for seed in range(8)]
    log = evaluated(model, tmp_path, samples, logprobs=True)
    replies = model.api.vqa_model.predict(
        [ImageQuestion("is the cup red?", image(seed)) for seed in range(8)]
    )
    for sample, reply in zip(log.samples, replies, strict=True):
        assert sample.output.stop_reason == ("max_tokens" if reply.is_answer_truncated else "stop")
    assert {reply.is_answer_truncated for reply in replies} == {True, False}
    output = log.samples[0].output
    assert "distribution" not in output.metadata and model.api.answer_vocabulary == ()
    assert output.choices[0].logprobs.content[0].top_logprobs is None


def test_a_broken_image_does_not_affect_others(vilt, tmp_path):
    samples = [Sample(id=k, input=[asked("is it?", image(k) if k != 2 else b"none")]) for k in range(5)]
    log = evaluated(get_model(f"hf-vqa/{vilt}", device="cpu"), tmp_path, samples)
    assert [sample.error is not None for sample in log.samples] == [False, False, True, False, False]
    assert "not a JPEG" in log.samples[2].error.message


def test_chat_messages_are_rejected_with_the_options_to_use(vilt, tmp_path):
    turns = [asked("is it?", image(0)), ChatMessageUser(content="Can it be answered?")]
    text = [ChatMessageUser(content="is it?")]
    two = [asked("is it?", image(0)), asked("is it?", image(1))]
    samples = [Sample(id=k, input=messages) for k, messages in enumerate((turns, text, two))]
    model = get_model(f"hf-vqa/{vilt}", device="cpu")
    log = evaluated(model, tmp_path, samples)
    assert all(
        "--prompt bare --confidence token-probability" in sample.error.message for sample in log.samples
    )
    log = evaluated(model, tmp_path, [Sample(input=[asked("is it?", image(0))])], num_choices=3)
    assert "gives one answer" in log.samples[0].error.message


def test_the_image_id_is_read_from_the_message(tmp_path):
    (tmp_path / "a.png").write_bytes(b"1")
    assert parse_image_question([asked(" is it?\n", b"1", metadata={"image_id": "n7"})]) == ImageQuestion(
        "is it?", b"1", "n7"
    )
    assert read_image_bytes(str(tmp_path / "a.png")) == b"1"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"colour": 1}, "--model-arg colour: .* batch_size, revision, device, answers_file"),
        ({"answers_file": "/nosuch"}, "answers_file=/nosuch: cannot be read"),
    ],
)
def test_invalid_settings_are_one_message(vilt, settings, words):
    with pytest.raises(UserError, match=words):
        get_model(f"hf-vqa/{vilt}", **settings)


def test_duplicate_answers_are_rejected(vilt, tmp_path):
    (tmp_path / "twice.txt").write_text("a\nb\na\nd\ne\n")
    with pytest.raises(UserError, match="5 lines, 4 of them different"):
        load_vqa_model(str(vilt), {"answers_file": str(tmp_path / "twice.txt")})


def test_other_models_are_rejected_with_an_alternative(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llava"}))
    with pytest.raises(
        UserError, match=f"vilt, blip, lxmert, and this model is of type llava.*hf-vlm/{tmp_path}"
    ):
        load_vqa_model(str(tmp_path), {})


def test_offline_a_missing_model_is_one_message_and_revisions_are_respected(vilt, tmp_path):
    # Where the hub keeps what it fetched: a model's newest revision is none of ours, an older one is.
    kept = tmp_path / "models--nobody--kept"
    newest, older = kept / "snapshots" / ("a" * 40), kept / "snapshots" / ("b" * 40)
    newest.mkdir(parents=True)
    (newest / "config.json").write_text(json.dumps({"model_type": "llava"}))
    shutil.copytree(vilt, older)
    (kept / "refs").mkdir()
    (kept / "refs/main").write_text(newest.name)
    (kept / "refs/first").write_text(older.name)
    code = (
        "from pipeline.inference.hf_vqa import load_vqa_model\n"
        "from pipeline.core.errors import UserError\n"
        "for name, more in ('nosuch', {}), ('kept', {}), ('kept', {'revision': 'first'}):\n"
        "    try: print(load_vqa_model(f'nobody/{name}', more).model_info['revision'])\n"
        "    except UserError as error: print(error)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_HUB_CACHE": str(tmp_path)},
    )  # fmt: skip
    missing, of_newest, revision = result.stdout.splitlines()
    assert missing.startswith("hf-vqa/nobody/nosuch cannot be loaded (HF_HUB_OFFLINE is set")
    assert of_newest.startswith("nobody/kept: ") and "of type llava" in of_newest
    assert revision == older.name


def test_a_probability_of_0_has_a_finite_logarithm(vilt, monkeypatch):
    model = get_model(f"hf-vqa/{vilt}", device="cpu", memoize=False)
    from pipeline.inference.hf_vqa_base import VqaPrediction

    result = model.api._make_logprobs(VqaPrediction("yes", 0.0, np.array([0.0, 0.0, 0.0, 0.0, 0.0])), 2)
    assert all(math.isfinite(token.logprob) for token in [result.content[0], *result.content[0].top_logprobs])
    assert [token.bytes for token in result.content] == [
        [ord(letter) for letter in "yes"]
    ]  # as OpenAI's form has it
