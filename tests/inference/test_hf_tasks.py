"""Models of transformers as inspect_ai runs them."""

import asyncio
import base64
import io
import json
import math
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from pipeline.core.errors import UserError
from pipeline.inference.answer_distributions import decode_distribution

inspect_ai = pytest.importorskip("inspect_ai")
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
from inspect_ai import Task  # noqa: E402
from inspect_ai import eval as evaluate  # noqa: E402
from inspect_ai.dataset import Sample  # noqa: E402
from inspect_ai.model import (  # noqa: E402
    ChatMessageAssistant,
    ChatMessageUser,
    ContentImage,
    ContentText,
    GenerateConfig,
    get_model,
)

from pipeline.inference.hf_vqa import load_vqa_model, parse_image_question, read_image_bytes  # noqa: E402
from pipeline.inference.hf_vqa_base import ImageQuestion  # noqa: E402
from tests.inference.tiny_models import (  # noqa: E402
    ANSWERS,
    CHAT,
    QUESTIONS,
    image,
    tiny_blip,
    tiny_llava,
    tiny_vilt,
)

# HF VQA
# `hf-vqa/...` as inspect_ai runs it: models by name, tasks, logs.


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


# HF VLM
# `hf-vlm/...` against transformers called by hand, with a random LLaVA.


QUESTION = "is the cup red ?"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_llava(tmp_path_factory.mktemp("llava"))


@pytest.fixture(scope="module")
def model(folder):
    return get_model(f"hf-vlm/{folder}", device="cpu")


def asked_vlm(question=QUESTION, data=None):
    uri = "data:image/png;base64," + base64.b64encode(data or image(1)).decode()
    return ChatMessageUser(content=[ContentImage(image=uri), ContentText(text=question)])


def said(model, messages, **config):
    return asyncio.run(model.generate(messages, config=GenerateConfig(max_tokens=6, **config)))


def by_hand(folder, text, data, most=6):
    """Token by token the likeliest, each by a whole forward pass; with the log probabilities [n, vocabulary]."""
    net = transformers.LlavaForConditionalGeneration.from_pretrained(folder).eval()
    processor = transformers.AutoProcessor.from_pretrained(folder)
    with Image.open(io.BytesIO(data)) as image:
        inputs = processor(images=image.convert("RGB"), text=text, return_tensors="pt")
    tokens, rows = [], []
    while len(tokens) < most and 2 not in tokens:
        ids = torch.cat([inputs["input_ids"], torch.tensor([tokens], dtype=torch.long)], 1)
        with torch.no_grad():
            logits = net(input_ids=ids, pixel_values=inputs["pixel_values"]).logits[0, -1]
        rows.append(logits.log_softmax(-1))
        tokens.append(int(logits.argmax()))
    return tokens, rows


def test_the_reply_has_greedy_tokens_with_log_probabilities(model, folder):
    for seed in (1, 2, 5):
        output = said(model, [asked_vlm(data=image(seed))], temperature=0, logprobs=True, top_logprobs=3)
        tokens, rows = by_hand(folder, f"USER : <image> {QUESTION} ASSISTANT :", image(seed))
        ended = tokens[-1] == 2
        tokens = tokens[:-1] if ended else tokens
        content = output.choices[0].logprobs.content
        assert [token.token.strip() for token in content] == [CHAT[place] for place in tokens]
        assert "".join(token.token for token in content) == " ".join(CHAT[place] for place in tokens)
        for token, place, row in zip(content, tokens, rows, strict=False):
            assert token.logprob == pytest.approx(row[place].item(), abs=1e-4)
            assert [top.token for top in token.top_logprobs] == [CHAT[k] for k in row.topk(3).indices]
        assert output.stop_reason == ("stop" if ended else "max_tokens")
        assert output.usage.output_tokens == len(tokens) + ended


def test_a_later_turn_sees_the_earlier_ones(model, folder):
    turns = [
        asked_vlm(),
        ChatMessageAssistant(content="yes"),
        ChatMessageUser(content="can it be answered ?"),
    ]
    output = said(model, turns, temperature=0)
    text = f"USER : <image> {QUESTION} ASSISTANT : yes USER : can it be answered ? ASSISTANT :"
    tokens, _ = by_hand(folder, text, image(1))
    marks = {"<s>", "</s>", "<pad>", "<unk>", "<image>"}
    assert output.completion.split() == [CHAT[k] for k in tokens if CHAT[k] not in marks]


def test_several_replies_are_sampled_by_seed_and_the_global_generator_unchanged(model):
    def drawn(seed):
        output = said(model, [asked_vlm()], temperature=1, num_choices=6, seed=seed)
        return [choice.message.text for choice in output.choices]

    torch.manual_seed(9)
    first = drawn(1)
    after = torch.rand(1)
    assert first == drawn(1) != drawn(2) and len(set(first)) > 1
    torch.manual_seed(9)
    assert torch.rand(1) == after


def test_model_info_identifies_the_model(model):
    assert (
        model.api.model_info["class"] == "LlavaForConditionalGeneration" and model.api.answer_vocabulary == ()
    )
    assert (
        model.api.model_info["revision"].startswith("sha256:") and model.api.model_info["dtype"] == "float32"
    )
    assert all(
        math.isfinite(t.logprob)
        for t in said(model, [asked_vlm()], logprobs=True).choices[0].logprobs.content
    )


@pytest.mark.parametrize(
    ("gpu", "wanted", "device"), [(True, "", "cuda"), (False, "", "cpu"), (True, "cpu", "cpu")]
)
def test_the_model_uses_a_gpu_if_available_unless_configured(monkeypatch, folder, gpu, wanted, device):
    put = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpu)
    monkeypatch.setattr(transformers.PreTrainedModel, "to", lambda model, place: put.append(place) or model)
    model = get_model(f"hf-vlm/{folder}", device=wanted, memoize=False)
    assert put == [device] and model.api.model_info["device"] == device


def test_a_model_that_cannot_be_loaded_is_one_message(tmp_path):
    with pytest.raises(UserError, match="has no chat template"):
        get_model(f"hf-vlm/{tiny_llava(tmp_path / 'mute', template=None)}", device="cpu")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(UserError, match=f"hf-vlm/{tmp_path} cannot be loaded: "):
        get_model(f"hf-vlm/{tmp_path}")


def test_a_chat_model_sees_a_transparent_image_on_white():
    """Browsers show such images on white, too."""
    from pipeline.inference.hf_vlm import _to_template_message

    file = io.BytesIO()
    # Fully transparent black: on white every pixel is white, without a background it would be black.
    Image.new("RGBA", (2, 2), (0, 0, 0, 0)).save(file, "PNG")
    uri = f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
    message = ChatMessageUser(content=[ContentImage(image=uri), ContentText(text="what is it ?")])
    written = _to_template_message(message)
    assert written["role"] == "user" and written["content"][1] == {"type": "text", "text": "what is it ?"}
    assert np.unique(np.asarray(written["content"][0]["image"])).tolist() == [255]
