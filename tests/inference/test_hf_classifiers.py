"""ViLT and LXMERT against transformers called by hand, one question at a time."""

import io

import numpy as np
import pytest
from PIL import Image

from pipeline.core.errors import UserError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
from pipeline.inference.hf_vqa import load_vqa_model  # noqa: E402
from pipeline.inference.hf_vqa_base import ImageQuestion, hash_weights  # noqa: E402
from tests.inference.tiny_models import (  # noqa: E402
    ANSWERS,
    QUESTIONS,
    image,
    tiny_lxmert,
    tiny_vilt,
)

SIZES = ((96, 64), (64, 64), (64, 112), (96, 64))


@pytest.fixture(scope="module")
def vilt(tmp_path_factory):
    return tiny_vilt(tmp_path_factory.mktemp("vilt"))


@pytest.fixture(scope="module")
def lxmert(tmp_path_factory):
    return tiny_lxmert(tmp_path_factory.mktemp("lxmert"))


@pytest.fixture
def shown():
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


def test_vilt_gives_the_sigmoid_of_each_answers_logit_alone_and_in_a_batch(vilt, shown):
    net = load_vqa_model(str(vilt), {"device": "cpu"})
    assert net.answer_vocabulary == ANSWERS
    together = net.predict(shown)
    for one, reply in zip(shown, together, strict=True):
        wanted = 1 / (1 + np.exp(-vilt_by_hand(vilt, one)))
        assert reply.distribution == pytest.approx(wanted, abs=1e-5)
        assert (reply.answer, reply.probability) == (ANSWERS[wanted.argmax()], reply.distribution.max())
        (alone,) = net.predict([one])
        assert alone.answer == reply.answer and alone.distribution == pytest.approx(
            reply.distribution, abs=1e-5
        )


def test_vilt_gives_the_softmax_if_configured(vilt, shown):
    (reply,) = load_vqa_model(str(vilt), {"activation": "softmax", "device": "cpu"}).predict(shown[:1])
    weights = np.exp(vilt_by_hand(vilt, shown[0]))
    assert reply.distribution == pytest.approx(weights / weights.sum(), abs=1e-5)
    with pytest.raises(UserError, match="--model-arg activation=relu: .* sigmoid, softmax"):
        load_vqa_model(str(vilt), {"activation": "relu"})


def test_vilts_order_of_patches_is_fixed_and_the_global_generator_unchanged(vilt, shown):
    net, orders = load_vqa_model(str(vilt), {"device": "cpu"}), []

    def visual_embed(*arguments, **named):
        found = original(*arguments, **named)
        orders.append(found[2][0].tolist())  # where the patches come from
        return found

    embeddings = net.model.vilt.embeddings
    original, embeddings.visual_embed = embeddings.visual_embed, visual_embed
    torch.manual_seed(5)
    first = net.predict(shown)
    drawn = torch.rand(1)
    again = net.predict(shown)
    assert orders[0] == orders[1]
    assert all((a.distribution == b.distribution).all() for a, b in zip(first, again, strict=True))
    torch.manual_seed(5)
    assert torch.rand(1) == drawn


def test_a_long_question_is_truncated_and_marked(vilt, shown):
    net = load_vqa_model(str(vilt), {"device": "cpu"})  # takes 12 words, two of them marks
    long = ImageQuestion(" ".join(["is the cup red ?"] * 4), shown[0].image_bytes)
    replies = net.predict([long, shown[0]])
    assert [reply.is_question_truncated for reply in replies] == [True, False]
    kept = ImageQuestion("is the cup red ? is the cup red ?", shown[0].image_bytes)  # its first 10 words
    assert replies[0].distribution == pytest.approx(net.predict([kept])[0].distribution, abs=1e-5)


def test_a_model_without_answer_names_needs_an_answers_file(tmp_path, shown):
    folder = str(tiny_vilt(tmp_path / "vilt", named=False))
    with pytest.raises(
        UserError,
        match="5 answers, and its configuration does not name them; give --model-arg answers_file=FILE",
    ):
        load_vqa_model(folder, {})
    (tmp_path / "four.txt").write_text("yes\nno\nred\nblue\n")
    with pytest.raises(UserError, match=r"5 answers, and .*four.txt does not name them"):
        load_vqa_model(folder, {"answers_file": str(tmp_path / "four.txt")})
    (tmp_path / "names.txt").write_text("a\nb\nc\nd\ne\n")
    net = load_vqa_model(folder, {"answers_file": str(tmp_path / "names.txt")})
    assert (
        net.answer_vocabulary == ("a", "b", "c", "d", "e")
        and net.predict(shown[:1])[0].answer in net.answer_vocabulary
    )


def test_model_info_identifies_the_model(vilt):
    about = load_vqa_model(str(vilt), {"device": "cpu"}).model_info
    assert about == {
        "class": "ViltForQuestionAnswering",
        "revision": hash_weights(vilt),
        "device": "cpu",
        "activation": "sigmoid",
    }


def test_lxmert_reads_the_regions_of_the_features_file(lxmert, shown, regions, tmp_path):
    path, arrays = regions()
    (tmp_path / "names.txt").write_text("\n".join(ANSWERS))
    settings = {"features_file": path, "answers_file": str(tmp_path / "names.txt"), "device": "cpu"}
    net = load_vqa_model(str(lxmert), settings)
    model = transformers.LxmertForQuestionAnswering.from_pretrained(lxmert).eval()
    for place, (one, reply) in enumerate(zip(shown, net.predict(shown), strict=True)):
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
        net.predict([shown[0]._replace(image_id="n9")])


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
