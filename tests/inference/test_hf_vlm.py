"""`hf-vlm/...` against transformers called by hand, with a random LLaVA."""

import asyncio
import base64
import io
import math

import pytest
from PIL import Image

from pipeline.core.errors import UserError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("inspect_ai")
from inspect_ai.model import (  # noqa: E402
    ChatMessageAssistant,
    ChatMessageUser,
    ContentImage,
    ContentText,
    GenerateConfig,
    get_model,
)

from tests.inference.tiny_models import CHAT, image, tiny_llava  # noqa: E402

QUESTION = "is the cup red ?"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_llava(tmp_path_factory.mktemp("llava"))


@pytest.fixture(scope="module")
def model(folder):
    return get_model(f"hf-vlm/{folder}", device="cpu")


def asked(question=QUESTION, data=None):
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
        output = said(model, [asked(data=image(seed))], temperature=0, logprobs=True, top_logprobs=3)
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
    turns = [asked(), ChatMessageAssistant(content="yes"), ChatMessageUser(content="can it be answered ?")]
    output = said(model, turns, temperature=0)
    text = f"USER : <image> {QUESTION} ASSISTANT : yes USER : can it be answered ? ASSISTANT :"
    tokens, _ = by_hand(folder, text, image(1))
    marks = {"<s>", "</s>", "<pad>", "<unk>", "<image>"}
    assert output.completion.split() == [CHAT[k] for k in tokens if CHAT[k] not in marks]


def test_several_replies_are_sampled_by_seed_and_the_global_generator_unchanged(model):
    def drawn(seed):
        output = said(model, [asked()], temperature=1, num_choices=6, seed=seed)
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
        math.isfinite(t.logprob) for t in said(model, [asked()], logprobs=True).choices[0].logprobs.content
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
