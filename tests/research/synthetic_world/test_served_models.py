"""Reference models behind OpenAI's interface: the models, and the format of chats."""

import base64
import io
import json
import math
import random
from pathlib import Path

import msgspec
import numpy as np
import pytest
from PIL import Image

from pipeline.core.errors import UserError
from pipeline.core.paths import DatasetFolders
from pipeline.inference.confidence_methods import CONFIDENCE_METHODS
from pipeline.inference.prompts import PROMPTS
from research.reference_models.inference import load_net, predict
from research.reference_models.model_outputs import VqaQuery
from research.reference_models.net_files import REGION_HEAD_FILE
from research.reference_models.region_extraction import extract_regions
from research.reference_models.region_head import load_head
from research.reference_models.region_stores import ArrayStore
from research.synthetic_world.chat_format import (
    ChatRequest,
    Message,
    RequestError,
    make_choice,
    parse_turn,
    sample_token,
)
from research.synthetic_world.served_models import (
    SERVED_MODELS,
    ChatTurn,
    ServedModel,
    make_token_distributions,
    parse_request,
)

# Replies of served nets. Prompts have any wording that people use, not only ours.


IMAGES = Path("data/sample/source/images")
QUESTION = "Is the cup to the left or to the right of the picture?"
WORD = "Answer the question in a word or phrase."
OFFER = 'If the question cannot be answered from the image, say "unanswerable".'


@pytest.fixture(scope="module")
def net():
    return ServedModel(["rp", "vanilla", "blind", "k_plus_1"])


@pytest.fixture(scope="module")
def images():
    return sorted(IMAGES.glob("*.jpg"))[:3]


def user(text, image=None):
    return ChatTurn("user", text, image)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (f"{QUESTION}\n{WORD}", "word"),
        (f"Question: {QUESTION} Short answer:", "word"),
        (f"{WORD}\n{OFFER}\n{QUESTION}", "refuse"),
        (f"{QUESTION}\nCan this question be answered from the image? Yes or no.", "yes"),
        (f"Here is a question: {QUESTION} Is it answerable from what you see?", "yes"),
        (f"Question: {QUESTION}\nIs this question answerable: True or False?", "true"),
        (f"{QUESTION}\n{WORD} On a second line say from 0 to 100 how sure you are.", "word and number"),
    ],
)
def test_question_and_form_are_read_from_one_message(text, form):
    assert parse_request([user(text, b"0")]) == (QUESTION, b"0", form)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("Can the question be answered from the picture? Answer yes or no.", "yes"),
        ("Is that answer correct? (yes or no)", "yes"),
        ("Is the answer true or false?", "true"),
        ("How sure are you that the question can be answered, from 0 to 100?", "number"),
        (WORD, "word"),
        (f"{WORD} {OFFER}", "refuse"),
    ],
)
def test_a_later_turn_asks_of_the_same_question(text, form):
    turns = [user(f"{QUESTION}\n{WORD}", b"0"), ChatTurn("assistant", "left"), user(text)]
    assert parse_request(turns) == (QUESTION, b"0", form)


def test_the_prompts_and_recipes_of_rgqa_run_are_understood():
    for name, form in (("short-answer", "word"), ("abstain", "refuse"), ("ask-first", "word")):
        prompt = PROMPTS[name]
        turns = [user(prompt.format_question(QUESTION), b"0")]
        if prompt.first_turn_template:
            turns = [user(prompt.format_first_turn(QUESTION), b"0")]
            assert parse_request(turns) == (QUESTION, b"0", "yes")
            turns += [ChatTurn("assistant", "Yes"), user(prompt.format_question(QUESTION))]
        assert parse_request(turns) == (QUESTION, b"0", form)
        for recipe, wanted in (("p-true", "yes"), ("verbalized", "number")):
            more = [ChatTurn("assistant", "left"), user(CONFIDENCE_METHODS[recipe].followup_turn)]
            assert parse_request([*turns, *more]) == (QUESTION, b"0", wanted)


def test_examples_before_do_not_count():
    turns = [
        ChatTurn("system", "You look at pictures. Is that clear?"),
        user("What is this?\nAnswer in a word.", b"1"),
        ChatTurn("assistant", "cup"),
        user(f"{QUESTION}\nAnswer in a word.", b"2"),
    ]
    assert parse_request(turns) == (QUESTION, b"2", "word")
    without = [turn._replace(image=None) for turn in turns]
    assert parse_request([*without, ChatTurn("assistant", "left"), user("Can it be answered?")])[:2] == (
        QUESTION,
        None,
    )


def test_an_image_may_come_before_its_question():
    assert parse_request([user("", b"0"), user(QUESTION)]) == (QUESTION, b"0", "word")


def test_what_the_net_believes_of_no_answer_is_spread_or_offered():
    # 0.2 for red, 0.1 for blue, so 0.7 for neither: a third of it each among three answers.
    answers = {"red": 0.2, "blue": 0.1, "cup": 0.0}
    (word,) = make_token_distributions(answers, 0.2, "word")
    assert list(word) == ["red", "blue", "cup"]
    assert list(word.values()) == pytest.approx([0.2 + 0.7 / 3, 0.1 + 0.7 / 3, 0.7 / 3])
    (offered,) = make_token_distributions(answers, 0.2, "refuse")
    assert offered == pytest.approx({"unanswerable": 0.7, "red": 0.2, "blue": 0.1, "cup": 0.0})


def test_other_answers_share_the_rest_of_the_probability():
    # Sigmoids: 0.9 and 0.6 and 0.3; the second and third have 0.1 between them, two to one.
    (word,) = make_token_distributions({"a": 0.6, "b": 0.9, "c": 0.3}, 0.9, "word")
    assert word == pytest.approx({"b": 0.9, "a": 0.1 * 2 / 3, "c": 0.1 / 3})
    # A confidence beside the answers scales them: 0.45 instead of 0.9, so 0.3 and 0.15 beside it, and 0.1 for none.
    (offered,) = make_token_distributions({"a": 0.6, "b": 0.9, "c": 0.3}, 0.45, "refuse")
    assert offered == pytest.approx({"b": 0.45, "a": 0.3, "c": 0.15, "unanswerable": 0.1})


@pytest.mark.parametrize("form", ["word", "refuse", "yes", "true", "number", "word and number"])
@pytest.mark.parametrize("confidence", [0.0, 1e-9, 0.5, 1.0])
def test_each_token_has_a_distribution(form, confidence):
    for token in make_token_distributions({"a": 0.7, "b": 0.9, "c": 0.2}, confidence, form):
        assert math.fsum(token.values()) == pytest.approx(1) and min(token.values()) >= 0


@pytest.mark.parametrize("name", ["rp", "blind"])
def test_a_net_says_what_stage_answer_has_of_it(net, images, name):
    folders = DatasetFolders("sample")
    files = {path.stem: path for path in images}
    regions = extract_regions(folders.clip, load_head(folders.vqa_models / REGION_HEAD_FILE), files)
    store = regions.stores["detected"]
    assert isinstance(store, ArrayStore)
    asks = [VqaQuery(path.stem, QUESTION) for path in images]
    seen = predict(load_net(folders.vqa_models / f"{name}-0.safetensors", use_float64=True), asks, store)
    for path, logits in zip(images, seen.logits, strict=True):
        (yes,) = net.generate(name, [user(f"{QUESTION} Can this question be answered?", path.read_bytes())])
        assert yes["Yes"] == pytest.approx(1 / (1 + math.exp(-logits.max())), rel=1e-2)
        (word,) = net.generate(name, [user(QUESTION, path.read_bytes())])
        assert next(iter(word)) == seen.answers[logits.argmax()]


def test_nets_use_the_image_except_the_text_only_one(net, images):
    said = {
        name: [net.generate(name, [user("Is there a person?", p.read_bytes())]) for p in images]
        for name in net.names
    }
    assert said["blind"][0] == said["blind"][1] == said["blind"][2]
    for name in ("rp", "vanilla", "k_plus_1"):
        assert said[name][0] != said[name][1]


def test_red_and_blue_are_distinguished(net):
    def colour(name, rgb):
        file = io.BytesIO()
        Image.new("RGB", (64, 64), rgb).save(file, "PNG")
        return next(iter(net.generate(name, [user("What color is this picture?", file.getvalue())])[0]))

    for name in ("rp", "vanilla"):
        assert (colour(name, (200, 40, 40)), colour(name, (50, 90, 190))) == ("red", "blue")


def test_an_image_made_smaller_or_encoded_again_is_still_seen(net):
    """Questions of the sample with their answers. The text-only net gets about half of them right."""
    path = Path("data/sample/source/questions1.2/testdev_balanced_questions.json")
    questions = list(json.loads(path.read_text()).values())[:150]

    def right(name, size):
        count = 0
        for question in questions:
            file = io.BytesIO()
            with Image.open(IMAGES / f"{question['imageId']}.jpg") as image:
                image.resize(size).save(file, "JPEG", quality=90)
            said = net.generate(name, [user(f"{question['question']}\n{WORD}", file.getvalue())])
            count += next(iter(said[0])) == question["answer"]
        return count

    found = {width: right("rp", (width, width * 3 // 4)) for width in (256, 192, 128)}
    # Measured: 134, 127, 93 of 150; the text-only net 75 at each size.
    assert found[256] >= 125 and found[192] >= 115 and found[128] >= 80
    assert right("blind", (256, 192)) == right("blind", (128, 96)) <= 85


def test_a_request_without_image_is_answered_as_for_a_grey_one(net):
    file = io.BytesIO()
    Image.new("RGB", (64, 48), (127, 127, 127)).save(file, "PNG")
    assert net.generate("rp", [user(QUESTION)]) == net.generate("rp", [user(QUESTION, file.getvalue())])


def test_images_are_remembered_up_to_a_number(net, monkeypatch, images):
    monkeypatch.setattr("research.synthetic_world.served_models.MAX_CACHED_REGIONS", 2)
    net._regions.clear()
    said = [net.generate("rp", [user(QUESTION, path.read_bytes())]) for path in images * 2]
    assert said[:3] == said[3:] and len(net._regions) == 2


def test_unknown_nets_are_named_with_those_that_there_are():
    with pytest.raises(
        UserError, match="no net own_rp, nosuch of seed 0 can be served. Available: .*vanilla"
    ):
        ServedModel(["own_rp", "nosuch", "rp"])
    assert {"rp", "vanilla", "blind", "mix", "branched", "k_plus_1"} <= set(SERVED_MODELS)
    assert not {"separated", "own_rp", "true_regions", "caption_match"} & set(SERVED_MODELS)


def test_what_is_no_image_is_an_error(net):
    with pytest.raises(ValueError, match="JPEG, PNG, WebP"):
        net.generate("rp", [user(QUESTION, b"no image")])
    assert np.isfinite(net.generate("blind", [user(QUESTION, b"no image")])[0]["yes"])


# OpenAI-compatible requests and replies. `test_model_server` tests them through OpenAI's client.


def asked(**more):
    return msgspec.convert({"model": "rp", "messages": [], **more}, ChatRequest)


def test_a_low_temperature_sharpens():
    # Returns the normalized weights instead of a choice.
    class Place(random.Random):
        def choices(self, population, weights=None, *, cum_weights=None, k=1):
            assert weights
            return [[weight / sum(weights) for weight in weights]]

    # 0.8 to 0.2 is 4 to 1; at temperature one half 16 to 1
    assert sample_token({"a": 0.8, "b": 0.2}, 0.5, Place()) == pytest.approx([16 / 17, 1 / 17])
    assert sample_token({"a": 0.2, "b": 0.8}, 0, Place()) == "b"


def test_a_message_is_its_texts_and_its_last_image():
    def image(data):
        url = "data:image/png;base64," + base64.b64encode(data).decode()
        return {"type": "image_url", "image_url": {"url": url, "detail": "low"}}

    parts = [
        image(b"1"),
        {"type": "text", "text": "What"},
        image(b"2"),
        {"type": "text", "text": "is it?"},
    ]
    message = msgspec.convert({"role": "user", "content": parts}, Message)
    assert parse_turn(message) == ChatTurn("user", "What\nis it?", b"2")
    assert parse_turn(Message("system", "Look.")) == ChatTurn("system", "Look.")
    assert parse_turn(Message("assistant", None)) == ChatTurn("assistant", "")


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1/a.png", "data:text/plain;base64,AAAA", "data:image/png;base64,?", ""]
)
def test_an_image_must_be_in_the_request(url):
    parts = [{"type": "image_url", "image_url": {"url": url}}]
    with pytest.raises(RequestError, match="image_url") as caught:
        parse_turn(msgspec.convert({"role": "user", "content": parts}, Message))
    assert caught.value.status == 400


def test_each_token_has_its_log_probability_and_those_of_the_most_likely_ones():
    said = [{"red": 0.5, "blue": 0.25, "a cup": 0.25}, {"\n": 1.0}, {"50": 1.0}]
    reply = make_choice(asked(temperature=0, logprobs=True, top_logprobs=2), said, False, True, 3)
    assert (reply["index"], reply["message"]["content"], reply["finish_reason"]) == (3, "red\n50", "stop")
    first, line, _ = reply["logprobs"]["content"]
    assert first["logprob"] == math.log(0.5) and first["bytes"] == [114, 101, 100] and line["logprob"] == 0
    assert [top["token"] for top in first["top_logprobs"]] == ["red", "blue"]
    assert make_choice(asked(logprobs=True), said, True, False, 0)["logprobs"] is None
    assert make_choice(asked(), said, True, True, 0)["finish_reason"] == "length"


def test_what_has_no_probability_has_openais_least_logarithm():
    (token,) = make_choice(asked(logprobs=True, top_logprobs=9), [{"red": 1.0, "blue": 0.0}], False, True, 0)[
        "logprobs"
    ]["content"]
    assert token["top_logprobs"][1]["logprob"] == -9999.0
