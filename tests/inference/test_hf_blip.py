"""BLIP against transformers called by hand, one question at a time."""

import io

import numpy as np
import pytest
from PIL import Image

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
from pipeline.inference import hf_blip  # noqa: E402
from pipeline.inference.hf_vqa import load_vqa_model  # noqa: E402
from pipeline.inference.hf_vqa_base import ImageQuestion  # noqa: E402
from tests.inference.tiny_models import QUESTIONS, image, tiny_blip  # noqa: E402

LISTED = ("yes", "no", "red cup", "blue", "the table is red")


@pytest.fixture(scope="module")
def blip(tmp_path_factory):
    return tiny_blip(tmp_path_factory.mktemp("blip"))


@pytest.fixture(scope="module")
def model(blip):
    return transformers.BlipForQuestionAnswering.from_pretrained(blip).eval()


@pytest.fixture(scope="module")
def processor(blip):
    return transformers.BlipProcessor.from_pretrained(blip)


@pytest.fixture
def shown():
    return [ImageQuestion(question, image(k)) for k, question in enumerate(QUESTIONS)]


def read(processor, one):
    with Image.open(io.BytesIO(one.image_bytes)) as image:
        return processor(images=image.convert("RGB"), text=one.question, return_tensors="pt")


def test_a_generated_answer_has_the_probability_of_its_tokens(blip, model, processor, shown):
    net = load_vqa_model(str(blip), {"device": "cpu"})
    assert net.answer_vocabulary == ()
    for one, reply in zip(shown, net.predict(shown), strict=True):
        written = model.generate(
            **read(processor, one), max_new_tokens=20, do_sample=False,
            output_scores=True, return_dict_in_generate=True,
        )  # fmt: skip
        each = model.text_decoder.compute_transition_scores(
            written.sequences, written.scores, normalize_logits=True
        )
        assert reply.answer == processor.decode(written.sequences[0, 1:], skip_special_tokens=True).strip()
        assert reply.probability == pytest.approx(each.sum().exp().item(), rel=1e-4)
        assert reply.distribution is None
        assert reply.is_answer_truncated == (3 not in written.sequences[0])  # 3: the mark of an answer's end


def test_padding_after_the_end_of_an_answer_does_not_count(blip, shown, model, processor):
    """A batch of one length whose answers end at different places: each as alone."""
    net = load_vqa_model(str(blip), {"device": "cpu"})
    many = [ImageQuestion("is the cup red?", image(seed)) for seed in range(24)]
    together = net.predict(many)
    assert {reply.is_answer_truncated for reply in together} == {True, False}
    for one, reply in zip(many, together, strict=True):
        (alone,) = net.predict([one])
        assert (reply.answer, reply.probability) == (alone.answer, pytest.approx(alone.probability, rel=1e-4))


def test_a_list_of_answers_is_ranked_by_likelihood(blip, model, processor, shown, tmp_path, monkeypatch):
    (tmp_path / "answers.txt").write_text("\n".join(LISTED))
    monkeypatch.setattr(hf_blip, "ANSWERS_PER_BATCH", 2)
    net = load_vqa_model(str(blip), {"device": "cpu", "answers_file": str(tmp_path / "answers.txt")})
    assert net.answer_vocabulary == LISTED
    start = model.config.text_config.bos_token_id
    for one, reply in zip(shown, net.predict(shown), strict=True):
        inputs = read(processor, one)
        for answer, probability in zip(LISTED, reply.distribution, strict=True):
            ids = processor.tokenizer(answer, return_tensors="pt").input_ids
            ids[0, 0] = start
            # HF's own loss is the mean over the tokens after the first.
            with torch.no_grad():
                seen = model.vision_model(inputs["pixel_values"])[0]
                question = model.text_encoder(inputs["input_ids"], encoder_hidden_states=seen)[0]
                loss = model.text_decoder(ids, encoder_hidden_states=question, labels=ids).loss.item()
                smooth = model.text_decoder.label_smoothing
            assert smooth == 0 and probability == pytest.approx(np.exp(-loss * (ids.shape[1] - 1)), rel=1e-4)
        assert reply.answer == LISTED[reply.distribution.argmax()] and reply.distribution.sum() <= 1


def test_a_truncated_question_keeps_its_end_token(blip, shown):
    net = load_vqa_model(str(blip), {"device": "cpu"})  # takes 32 words
    long = ImageQuestion("is the cup red ? " * 9, shown[0].image_bytes)
    cut, whole = net.predict([long, shown[0]])
    assert cut.is_question_truncated and not whole.is_question_truncated
    (same,) = net.predict(
        [ImageQuestion("is the cup red ? " * 6, shown[0].image_bytes)]
    )  # 30 words and two marks
    assert not same.is_question_truncated and (same.answer, pytest.approx(same.probability)) == (
        cut.answer,
        cut.probability,
    )
