"""What language models say of texts: one in a folder against transformers' own loss, a server against arithmetic."""

import sys

import pytest

from pipeline.core.errors import UserError
from pipeline.encoders import language_models
from pipeline.encoders.language_models import LocalModel, ServerModel
from tests.pipeline.encoders.fake_language_model import fake_language_model

TEXTS = ["Is there a cup?", "What color is the cup on the table?", "?"]


@pytest.fixture
def server(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr(language_models, "PAUSES", (0.0, 0.0))
    with fake_language_model() as fake:
        yield fake


def test_a_server_is_asked_once_for_all_texts_and_each_gets_the_mean_of_its_own_tokens(server):
    scores = ServerModel(server.address, "tiny", chat=False).scores(["Is there a cup?", "Is a kettle?"])
    # without the first word, which has none, and the one that the server adds: (5 + 1 + 4) / 3; (1 + 7) / 2
    assert scores == pytest.approx([-10 / 3, -4])
    [(path, key, body)] = server.asked
    assert (path, key, body["model"]) == ("/v1/completions", None, "tiny")


def test_a_text_of_one_token_has_no_score(server):
    assert ServerModel(server.address, "tiny", chat=False).scores(["Cup?"]) == [None]


def test_the_key_comes_from_the_environment(server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "abc")
    ServerModel(server.address, "tiny", chat=False).scores(["Is it?"])
    assert server.asked[0][1] == "Bearer abc"


def test_a_model_that_is_asked_says_a_digit_and_its_probabilities_count_where_they_are_known(server):
    server.replies = {"A?": {"7": 0.5, " 3": 0.25, "the": 0.25}, "B?": "8", "C?": "Hard to say", "D?": ""}
    model = ServerModel(server.address, "tiny", chat=True)
    # (7 * 0.5 + 3 * 0.25) / 0.75
    assert model.scores(["A?", "B?", "C?", "D?"]) == [pytest.approx(4.25 / 0.75), 8, None, None]
    assert {path for path, _, _ in server.asked} == {"/v1/chat/completions"}
    assert model.name != ServerModel(server.address, "tiny", chat=False).name


def test_a_busy_server_is_asked_again_and_one_that_refuses_is_not(server):
    server.refuse = [429, 503]
    assert ServerModel(server.address, "tiny", chat=False).scores(["Is it?"]) == [-3]
    server.refuse = [401]
    with pytest.raises(UserError, match="completions: 401, busy; run the same command again"):
        ServerModel(server.address, "tiny", chat=False).scores(["Is it?"])
    server.refuse = [500] * 3
    with pytest.raises(UserError, match="500, busy"):
        ServerModel(server.address, "tiny", chat=False).scores(["Is it?"])
    assert (len(server.asked), server.refuse) == (7, [])


@pytest.mark.parametrize("raw", ['{"choices": [{"index": 0, "logprobs": null}]}', "<html>", "{}"])
def test_a_server_that_does_not_echo_is_told_of_with_the_way_out(server, raw):
    server.raw = raw
    with pytest.raises(UserError, match=r"not the reply that is expected.*\(--chat\)"):
        ServerModel(server.address, "tiny", chat=False).scores(["Is it?"])


def test_a_chat_without_a_choice_is_no_reply(server):
    server.raw = '{"choices": []}'
    with pytest.raises(UserError, match="not the reply that is expected"):
        ServerModel(server.address, "tiny", chat=True).scores(["Is it?"])


@pytest.mark.parametrize("address", ["ftp://127.0.0.1/v1", "http://127.0.0.1:1/v1"])
def test_an_address_without_a_server_is_told(server, address):
    with pytest.raises(UserError, match=address):
        ServerModel(address, "tiny", chat=False).scores(["Is it?"])


def test_without_transformers_the_message_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(UserError, match=r'pip install "\.\[hf\]"'):
        LocalModel(tmp_path)


def tiny_gpt2(folder, **marks):
    """A GPT-2 of random weights whose tokens are bytes."""
    transformers = pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    import torch

    letters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: number for number, letter in enumerate([*marks.values(), *letters])}
    bytewise = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=[]))
    bytewise.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    transformers.PreTrainedTokenizerFast(tokenizer_object=bytewise, **marks).save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=len(vocabulary), n_positions=64, n_embd=16, n_layer=2, n_head=2, initializer_range=0.5
    )
    model = transformers.GPT2LMHeadModel(config).eval()
    model.save_pretrained(folder)
    return model, vocabulary


@pytest.mark.parametrize("marks", [{"bos_token": "<b>", "eos_token": "<e>"}, {"eos_token": "<e>"}, {}])
def test_a_local_model_gives_what_transformers_says_of_each_text_alone(tmp_path, marks):
    model, vocabulary = tiny_gpt2(tmp_path / "tiny", **marks)
    import torch

    expected = []
    for text in TEXTS:
        begin = [vocabulary[mark] for mark in list(marks.values())[:1]]
        row = torch.tensor([begin + [vocabulary[letter.replace(" ", "Ġ")] for letter in text]])
        with torch.inference_mode():
            expected.append(-model(row, labels=row).loss.item() if row.shape[1] > 1 else None)
    local = LocalModel(tmp_path / "tiny")
    assert local.name == "tiny"
    assert [(score is None) for score in local.scores(TEXTS)] == [False, False, not marks]
    for scores in (local.scores(TEXTS), local.scores(TEXTS[:1]) + local.scores(TEXTS[1:])):
        assert scores[:2] == pytest.approx(expected[:2], abs=1e-4)


def test_a_text_longer_than_the_context_has_no_score_and_changes_no_other(tmp_path):
    tiny_gpt2(tmp_path / "tiny", bos_token="<b>")
    local = LocalModel(tmp_path / "tiny")
    longest = "x" * 63  # and the beginning: 64 tokens, its context
    alone = local.scores([longest])
    assert alone[0] is not None and local.scores(["x" * 64]) == [None]
    assert local.scores([longest, "x" * 64]) == [pytest.approx(alone[0], abs=1e-4), None]


def test_a_folder_without_a_model_is_told(tmp_path):
    pytest.importorskip("transformers")
    with pytest.raises(UserError, match="no causal language model"):
        LocalModel(tmp_path)
