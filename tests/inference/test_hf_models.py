"""VQA models against transformers called by hand, one question at a time."""

import hashlib
import io
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from pipeline.core.errors import UserError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
from pipeline.inference import hf_blip  # noqa: E402
from pipeline.inference.hf_vqa import load_vqa_model  # noqa: E402
from pipeline.inference.hf_vqa_base import (  # noqa: E402
    ImageQuestion,
    VqaModelSettings,
    explain_load_error,
    get_weights_revision,
    hash_weights,
    load_answer_vocabulary,
)
from tests.inference.tiny_models import (  # noqa: E402
    ANSWERS,
    QUESTIONS,
    image,
    tiny_blip,
    tiny_lxmert,
    tiny_vilt,
)

# HF VQA base
# The common interface of VQA models: answer vocabularies, hashes, devices.


@pytest.mark.parametrize(
    ("gpu", "wanted", "device"), [(True, "", "cuda"), (False, "", "cpu"), (True, "cpu", "cpu")]
)
def test_a_model_uses_a_gpu_if_available_unless_configured(monkeypatch, tmp_path, gpu, wanted, device):
    put = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpu)
    monkeypatch.setattr(transformers.PreTrainedModel, "to", lambda model, place: put.append(place) or model)
    net = load_vqa_model(str(tiny_vilt(tmp_path)), {"device": wanted})
    assert put == [device] == [net.device] and net.model_info["device"] == device


def test_answers_of_the_configuration_are_in_the_order_of_their_ids():
    config = SimpleNamespace(id2label={1: "no", 0: "yes", 2: 3})
    assert load_answer_vocabulary(VqaModelSettings(), config, 3) == ("yes", "no", "3")
    with pytest.raises(UserError, match="4 answers"):
        load_answer_vocabulary(VqaModelSettings(), config, 4)


def test_a_folder_is_identified_by_all_its_weights(tmp_path):
    assert hash_weights(tmp_path) == "" == hash_weights(tmp_path / "nosuch")
    (tmp_path / "b.safetensors").write_bytes(b"b")
    (tmp_path / "config.json").write_text("{}")
    one = hashlib.sha256(b"b").hexdigest()
    assert hash_weights(tmp_path) == "sha256:" + hashlib.sha256(one.encode()).hexdigest()
    (tmp_path / "a.bin").write_bytes(b"a")
    both = hashlib.sha256(b"a").hexdigest() + one
    assert hash_weights(tmp_path) == "sha256:" + hashlib.sha256(both.encode()).hexdigest()


def test_a_model_of_the_hub_is_identified_by_its_commit(tmp_path, monkeypatch):
    # As the hub keeps what it fetched: a branch names a commit, whose files lie in a folder of its name.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    kept = tmp_path / "models--a--b"
    (kept / "refs").mkdir(parents=True)
    for branch, commit in (("main", "a" * 40), ("old", "b" * 40)):
        (kept / "refs" / branch).write_text(commit)
        (kept / "snapshots" / commit).mkdir(parents=True)
        (kept / "snapshots" / commit / "config.json").write_text("{}")
    asked = ("", "old", "b" * 40, "nosuch")
    assert [get_weights_revision("a/b", revision) for revision in asked] == ["a" * 40, "b" * 40, "b" * 40, ""]
    (tmp_path / "w.bin").write_bytes(b"w")
    assert get_weights_revision(str(tmp_path), "old") == hash_weights(tmp_path) != ""


@pytest.mark.parametrize(
    ("value", "is_offline"),
    [("1", True), ("true", True), ("YES", True), ("on", True), ("0", False), ("", False), ("no", False)],
)
def test_the_message_mentions_offline_mode(monkeypatch, tmp_path, value, is_offline):
    # What huggingface_hub takes for true (its constants.ENV_VARS_TRUE_VALUES: 1, ON, YES, TRUE).
    monkeypatch.setenv("HF_HUB_OFFLINE", value)
    why = explain_load_error("hf-vqa/a/b", "a/b", OSError("no such file\nmore"))
    assert (
        why
        == f"hf-vqa/a/b cannot be loaded{' (HF_HUB_OFFLINE is set, so nothing is downloaded)' * is_offline}: no such file"
    )
    assert "OFFLINE" not in explain_load_error(
        "m", str(tmp_path), OSError("damaged")
    )  # a folder is not fetched


# HF BLIP
# BLIP against transformers called by hand, one question at a time.


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
def blip_questions():
    return [ImageQuestion(question, image(k)) for k, question in enumerate(QUESTIONS)]


def read(processor, one):
    with Image.open(io.BytesIO(one.image_bytes)) as image:
        return processor(images=image.convert("RGB"), text=one.question, return_tensors="pt")


def test_a_generated_answer_has_the_probability_of_its_tokens(blip, model, processor, blip_questions):
    net = load_vqa_model(str(blip), {"device": "cpu"})
    assert net.answer_vocabulary == ()
    for one, reply in zip(blip_questions, net.predict(blip_questions), strict=True):
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


def test_padding_after_the_end_of_an_answer_does_not_count(blip, blip_questions, model, processor):
    """A batch of one length whose answers end at different places: each as alone."""
    net = load_vqa_model(str(blip), {"device": "cpu"})
    many = [ImageQuestion("is the cup red?", image(seed)) for seed in range(24)]
    together = net.predict(many)
    assert {reply.is_answer_truncated for reply in together} == {True, False}
    for one, reply in zip(many, together, strict=True):
        (alone,) = net.predict([one])
        assert (reply.answer, reply.probability) == (alone.answer, pytest.approx(alone.probability, rel=1e-4))


def test_a_list_of_answers_is_ranked_by_likelihood(
    blip, model, processor, blip_questions, tmp_path, monkeypatch
):
    (tmp_path / "answers.txt").write_text("\n".join(LISTED))
    monkeypatch.setattr(hf_blip, "ANSWERS_PER_BATCH", 2)
    net = load_vqa_model(str(blip), {"device": "cpu", "answers_file": str(tmp_path / "answers.txt")})
    assert net.answer_vocabulary == LISTED
    start = model.config.text_config.bos_token_id
    for one, reply in zip(blip_questions, net.predict(blip_questions), strict=True):
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


def test_a_truncated_question_keeps_its_end_token(blip, blip_questions):
    net = load_vqa_model(str(blip), {"device": "cpu"})  # takes 32 words
    long = ImageQuestion("is the cup red ? " * 9, blip_questions[0].image_bytes)
    cut, whole = net.predict([long, blip_questions[0]])
    assert cut.is_question_truncated and not whole.is_question_truncated
    (same,) = net.predict(
        [ImageQuestion("is the cup red ? " * 6, blip_questions[0].image_bytes)]
    )  # 30 words and two marks
    assert not same.is_question_truncated and (same.answer, pytest.approx(same.probability)) == (
        cut.answer,
        cut.probability,
    )


# HF classifiers
# ViLT and LXMERT against transformers called by hand, one question at a time.


SIZES = ((96, 64), (64, 64), (64, 112), (96, 64))


@pytest.fixture(scope="module")
def vilt(tmp_path_factory):
    return tiny_vilt(tmp_path_factory.mktemp("vilt"))


@pytest.fixture(scope="module")
def lxmert(tmp_path_factory):
    return tiny_lxmert(tmp_path_factory.mktemp("lxmert"))


@pytest.fixture
def classifier_questions():
    pairs = zip(QUESTIONS, SIZES, strict=True)
    return [ImageQuestion(question, image(k, size), f"n{k}") for k, (question, size) in enumerate(pairs)]


@pytest.fixture
def regions(tmp_path):
    def write(**changed):
        draw = np.random.default_rng(0)
        arrays = {
            "ids": np.array(["n3", "n2", "n1", "n0"]),
            "features": draw.normal(size=(4, 36, 8)).astype(np.float16),
            "boxes": draw.uniform(size=(4, 36, 4)).astype(np.float32),
        }
        np.savez(tmp_path / "regions.npz", **(arrays | changed))
        return str(tmp_path / "regions.npz"), arrays

    return write


def vilt_by_hand(folder, one):
    """Logits [K] as the model card of ViLT gets them."""
    model = transformers.ViltForQuestionAnswering.from_pretrained(folder).eval()
    processor = transformers.ViltProcessor.from_pretrained(folder)
    with torch.no_grad(), Image.open(io.BytesIO(one.image_bytes)) as image:
        return model(**processor(image.convert("RGB"), one.question, return_tensors="pt")).logits[0].numpy()


def test_vilt_gives_the_sigmoid_of_each_answers_logit_alone_and_in_a_batch(vilt, classifier_questions):
    net = load_vqa_model(str(vilt), {"device": "cpu"})
    assert net.answer_vocabulary == ANSWERS
    together = net.predict(classifier_questions)
    for one, reply in zip(classifier_questions, together, strict=True):
        wanted = 1 / (1 + np.exp(-vilt_by_hand(vilt, one)))
        assert reply.distribution == pytest.approx(wanted, abs=1e-5)
        assert (reply.answer, reply.probability) == (ANSWERS[wanted.argmax()], reply.distribution.max())
        (alone,) = net.predict([one])
        assert alone.answer == reply.answer and alone.distribution == pytest.approx(
            reply.distribution, abs=1e-5
        )


def test_vilt_gives_the_softmax_if_configured(vilt, classifier_questions):
    (reply,) = load_vqa_model(str(vilt), {"activation": "softmax", "device": "cpu"}).predict(
        classifier_questions[:1]
    )
    weights = np.exp(vilt_by_hand(vilt, classifier_questions[0]))
    assert reply.distribution == pytest.approx(weights / weights.sum(), abs=1e-5)
    with pytest.raises(UserError, match="--model-arg activation=relu: .* sigmoid, softmax"):
        load_vqa_model(str(vilt), {"activation": "relu"})


def test_vilts_order_of_patches_is_fixed_and_the_global_generator_unchanged(vilt, classifier_questions):
    net, orders = load_vqa_model(str(vilt), {"device": "cpu"}), []

    def visual_embed(*arguments, **named):
        found = original(*arguments, **named)
        orders.append(found[2][0].tolist())  # where the patches come from
        return found

    embeddings = net.model.vilt.embeddings
    original, embeddings.visual_embed = embeddings.visual_embed, visual_embed
    torch.manual_seed(5)
    first = net.predict(classifier_questions)
    drawn = torch.rand(1)
    again = net.predict(classifier_questions)
    assert orders[0] == orders[1]
    assert all((a.distribution == b.distribution).all() for a, b in zip(first, again, strict=True))
    torch.manual_seed(5)
    assert torch.rand(1) == drawn


def test_a_long_question_is_truncated_and_marked(vilt, classifier_questions):
    net = load_vqa_model(str(vilt), {"device": "cpu"})  # takes 12 words, two of them marks
    long = ImageQuestion(" ".join(["is the cup red ?"] * 4), classifier_questions[0].image_bytes)
    replies = net.predict([long, classifier_questions[0]])
    assert [reply.is_question_truncated for reply in replies] == [True, False]
    kept = ImageQuestion(
        "is the cup red ? is the cup red ?", classifier_questions[0].image_bytes
    )  # its first 10 words
    assert replies[0].distribution == pytest.approx(net.predict([kept])[0].distribution, abs=1e-5)


def test_a_model_without_answer_names_needs_an_answers_file(tmp_path, classifier_questions):
    folder = str(tiny_vilt(tmp_path / "vilt", named=False))
    with pytest.raises(
        UserError,
        match="5 answers.*--model-arg answers_file=FILE",
    ):
        load_vqa_model(folder, {})
    (tmp_path / "four.txt").write_text("yes\nno\nred\nblue\n")
    with pytest.raises(UserError, match=r"5 answers, and .*four.txt does not name them"):
        load_vqa_model(folder, {"answers_file": str(tmp_path / "four.txt")})
    (tmp_path / "names.txt").write_text("a\nb\nc\nd\ne\n")
    net = load_vqa_model(folder, {"answers_file": str(tmp_path / "names.txt")})
    assert (
        net.answer_vocabulary == ("a", "b", "c", "d", "e")
        and net.predict(classifier_questions[:1])[0].answer in net.answer_vocabulary
    )


def test_model_info_identifies_the_model(vilt):
    about = load_vqa_model(str(vilt), {"device": "cpu"}).model_info
    assert about == {
        "class": "ViltForQuestionAnswering",
        "revision": hash_weights(vilt),
        "device": "cpu",
        "activation": "sigmoid",
    }


def test_lxmert_reads_the_regions_of_the_features_file(lxmert, classifier_questions, regions, tmp_path):
    path, arrays = regions()
    (tmp_path / "names.txt").write_text("\n".join(ANSWERS))
    settings = {"features_file": path, "answers_file": str(tmp_path / "names.txt"), "device": "cpu"}
    net = load_vqa_model(str(lxmert), settings)
    model = transformers.LxmertForQuestionAnswering.from_pretrained(lxmert).eval()
    for place, (one, reply) in enumerate(
        zip(classifier_questions, net.predict(classifier_questions), strict=True)
    ):
        words = transformers.AutoTokenizer.from_pretrained(lxmert)(one.question, return_tensors="pt")
        row = 3 - place  # the file has them in another order
        with torch.no_grad():
            said = model(
                **words,
                visual_feats=torch.tensor(arrays["features"][row : row + 1].astype(np.float32)),
                visual_pos=torch.tensor(arrays["boxes"][row : row + 1]),
            ).question_answering_score[0]
        assert reply.distribution == pytest.approx(said.sigmoid().numpy(), abs=1e-5)
    with pytest.raises(ValueError, match="no features of image 'n9'"):
        net.predict([classifier_questions[0]._replace(image_id="n9")])


def test_missing_or_invalid_regions_of_lxmert_are_one_message(lxmert, regions):
    with pytest.raises(UserError, match=r"--model-arg features_file=FILE.npz"):
        load_vqa_model(str(lxmert), {})
    for changed, words in (
        ({"boxes": np.ones((4, 36, 3))}, r"boxes \(4, 36, 3\) do not fit together"),
        ({"boxes": np.full((4, 36, 4), 300.0)}, "wanted fractions of the image, 0 to 1"),
        ({"ids": np.array(["n0"])}, r"ids \(1,\)"),
        ({"ids": np.array([{}], object)}, "wanted an .npz"),
    ):
        with pytest.raises(UserError, match=words):
            load_vqa_model(str(lxmert), {"features_file": regions(**changed)[0]})


def test_an_image_that_cannot_be_read_is_an_error(vilt):
    with pytest.raises(ValueError, match="not a JPEG"):
        load_vqa_model(str(vilt), {"device": "cpu"}).predict([ImageQuestion("is it?", b"none")])
