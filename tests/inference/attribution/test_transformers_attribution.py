"""Random models of transformers: rollout and cross-attention against what the models give when they are called by hand."""

import numpy as np
import pytest
from PIL import Image

from pipeline.core.errors import UserError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("inspect_ai")
from pipeline.inference.attribution.attribution_maps import rasterize_boxes  # noqa: E402
from pipeline.inference.attribution.transformers_attribution import TransformersAttributor  # noqa: E402
from tests.inference.tiny_models import (  # noqa: E402
    ANSWERS,
    QUESTIONS,
    image,
    tiny_blip,
    tiny_lxmert,
    tiny_vilt,
)


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    path = tmp_path_factory.mktemp("images") / "n0.png"
    path.write_bytes(image(0, (96, 64)))
    return path


@pytest.fixture(scope="module")
def vilt(tmp_path_factory):
    return tiny_vilt(tmp_path_factory.mktemp("vilt"))


def sight(folder, **settings):
    return TransformersAttributor(f"hf-vqa/{folder}", {"device": "cpu", **settings})


def in_order(monkeypatch):
    """ViLT takes its patches row by row: the draw of all of them becomes the order in which they lie."""
    monkeypatch.setattr(torch, "multinomial", lambda weights, count, **_: torch.arange(count))


def test_vilts_rollout_equals_that_of_a_forward_pass_without_shuffling(vilt, shown, monkeypatch):
    found = sight(vilt).attribute(shown, QUESTIONS[:2])
    in_order(monkeypatch)
    model = transformers.ViltForQuestionAnswering.from_pretrained(vilt).eval()
    processor = transformers.ViltProcessor.from_pretrained(vilt)
    for text, one in zip(QUESTIONS, found, strict=False):
        with Image.open(shown) as image, torch.no_grad():
            inputs = processor(image.convert("RGB"), text, return_tensors="pt")
            output = model(**inputs, output_attentions=True)
        total = torch.eye(output.attentions[0].shape[-1])
        for layer in output.attentions:
            total = (layer[0].mean(0) + torch.eye(len(total))) / 2 @ total
        # 64 x 96 pixels in patches of 16: 4 rows of 6, after the words and the image's own token
        patches = total[0, inputs["input_ids"].shape[1] + 1 :].reshape(4, 6).numpy()
        assert one.get_panel("rollout").attribution_map == pytest.approx(patches / patches.sum(), abs=1e-5)
        assert one.answer == ANSWERS[int(output.logits.argmax())]


def test_the_random_order_of_vilt_does_not_change_the_map(vilt, shown, monkeypatch):
    model, seeds = sight(vilt), torch.manual_seed
    grids = []
    for more in (0, 1, 2):
        monkeypatch.setattr(torch, "manual_seed", lambda seed, more=more: seeds(seed + more))
        (one,) = model.attribute(shown, QUESTIONS[:1])
        grids.append(one.get_panel("rollout").attribution_map)
    assert np.ptp(grids[0]) > 1e-3
    assert grids[1] == pytest.approx(grids[0], abs=1e-6) and grids[2] == pytest.approx(grids[0], abs=1e-6)


def test_attribution_leaves_the_model_unchanged(vilt, shown):
    model = sight(vilt)
    embeddings = model.net.model.vilt.embeddings
    before = embeddings.visual_embed
    model.attribute(shown, QUESTIONS[:1])
    assert embeddings.visual_embed == before
    assert not model.net.model._forward_hooks and not model.net.model._forward_pre_hooks


@pytest.mark.parametrize("listed", [False, True])
def test_blips_words_attend_to_patches(tmp_path, shown, listed):
    folder, settings = tiny_blip(tmp_path / "blip"), {}
    if listed:
        (tmp_path / "answers.txt").write_text("yes\nno\n")
        settings = {"answers_file": str(tmp_path / "answers.txt")}
    (one,) = sight(folder, **settings).attribute(shown, ["is the cup red?"])
    model = transformers.BlipForQuestionAnswering.from_pretrained(folder).eval()
    processor = transformers.BlipProcessor.from_pretrained(folder)
    with Image.open(shown) as image, torch.no_grad():
        inputs = processor(image.convert("RGB"), "is the cup red?", return_tensors="pt")
        seen = model.vision_model(inputs["pixel_values"])[0]
        read = model.text_encoder(
            inputs["input_ids"], encoder_hidden_states=seen, output_attentions=True, return_dict=True
        )
    # two layers of [1, 2 heads, 7 tokens, 17]: [CLS] is the cup red ? [SEP] on the whole image and 4 x 4 patches
    mean = torch.stack(read.cross_attentions).mean((0, 1, 2))[:, 1:]
    words = (mean / mean.sum(1, keepdim=True))[1:-1].mean(0).reshape(4, 4).numpy()
    assert one.get_panel("cross-attention").attribution_map == pytest.approx(words, abs=1e-6)
    assert [panel.title for panel in one.panels if panel.is_collapsed] == [
        f"Cross-attention of the word {word!r}" for word in ("is", "the", "cup", "red", "?")
    ]


def test_lxmerts_words_attend_to_the_regions_of_the_features_file(tmp_path, shown):
    folder = tiny_lxmert(tmp_path / "lxmert")
    draw = np.random.default_rng(0)
    corners = np.sort(draw.uniform(size=(1, 36, 2, 2)), 2).reshape(1, 36, 4).astype(np.float32)
    features = draw.normal(size=(1, 36, 8)).astype(np.float32)
    np.savez(tmp_path / "regions.npz", ids=np.array(["n0"]), features=features, boxes=corners)
    (tmp_path / "answers.txt").write_text("\n".join(ANSWERS))
    settings = {"features_file": str(tmp_path / "regions.npz"), "answers_file": str(tmp_path / "answers.txt")}
    (one,) = sight(folder, **settings).attribute(shown, ["is the cup red?"], "n0")
    model = transformers.LxmertForQuestionAnswering.from_pretrained(folder).eval()
    ids = transformers.AutoTokenizer.from_pretrained(folder)("is the cup red?", return_tensors="pt")
    with torch.no_grad():
        output = model(
            **ids,
            visual_feats=torch.from_numpy(features),
            visual_pos=torch.from_numpy(corners),
            output_attentions=True,
        )
    (layer,) = output.cross_encoder_attentions  # [1, 2 heads, 7 tokens, 36]
    words = layer[0].mean(0)[1:-1].mean(0).numpy()
    panel = one.get_panel("cross-attention")
    assert panel.attribution_map == pytest.approx(rasterize_boxes(words, corners[0]), abs=1e-6)
    assert panel.marks[0].box == pytest.approx(corners[0, words.argmax()])
    with pytest.raises(UserError, match="no features of image 'n7'"):
        sight(folder, **settings).attribute(shown, ["is it?"], "n7")


def test_a_missing_model_and_a_damaged_image_are_one_message(tmp_path, vilt):
    with pytest.raises(UserError, match="cannot be loaded"):
        sight(tmp_path / "nothing")
    (tmp_path / "broken.png").write_bytes(b"no image")
    with pytest.raises(UserError, match=r"broken.png"):
        sight(vilt).attribute(tmp_path / "broken.png", QUESTIONS[:1])
