"""Test encoding with open_clip, on models small enough to be made for the test, and the sample's committed vectors."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pipeline.candidates.encoders import clip
from pipeline.candidates.encoders.embedding_cache import make_cache_keys, read_precomputed
from pipeline.core.atomic_files import sha256_file
from pipeline.core.errors import UserError
from tests.closure import ROOT

# CLIP
# Test encoding with open_clip, on models small enough to be made for the test.


REPO = Path(__file__).parents[3]
Make = Callable[..., Path]
QUESTIONS = [
    "Is it red?",
    "What color is the ball to the left of the dog?",
    "Is the man on the left or on the right side?",
]


def vectors(batches: clip.EmbeddingBatches, count: int) -> np.ndarray:
    """The rows of all batches, in the order of the input."""
    out = np.full((count, 16), np.nan, np.float32)
    for indices, rows in batches:
        out[indices] = rows
    return out


def drawn_images(folder: Path, count: int) -> list[Path]:
    rng = np.random.default_rng(0)
    paths = [folder / f"{i}.png" for i in range(count)]
    for path in paths:
        Image.fromarray(rng.integers(0, 255, (30, 40, 3), np.uint8)).save(path)
    return paths


def test_all_vectors_have_length_one(tiny_clip: Path, tmp_path: Path) -> None:
    encoder = clip.Encoder(f"local-dir:{tiny_clip}")
    texts = vectors(encoder.encode_texts(QUESTIONS, 2), 3)
    images = vectors(encoder.encode_images(drawn_images(tmp_path, 3), 2), 3)
    np.testing.assert_allclose(np.linalg.norm(texts, axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(images, axis=1), 1, atol=1e-6)


def test_vectors_are_those_of_the_model_itself_at_full_context(tiny_clip: Path) -> None:
    # The oracle is open_clip used as its own documentation says, with nothing of ours.
    import open_clip
    import torch

    network, _ = open_clip.create_model_from_pretrained(f"local-dir:{tiny_clip}")
    tokens = open_clip.get_tokenizer(f"local-dir:{tiny_clip}")(QUESTIONS)
    with torch.inference_mode():
        expected = network.eval().encode_text(tokens, normalize=True).numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # cutting must have been found harmless
        np.testing.assert_allclose(
            vectors(clip.Encoder(f"local-dir:{tiny_clip}").encode_texts(QUESTIONS, 1), 3), expected, atol=1e-6
        )


def test_images_are_prepared_as_the_configuration_says(tiny_clip: Path, tmp_path: Path) -> None:
    import open_clip
    import torch

    (path,) = drawn_images(tmp_path, 1)
    network, prepare = open_clip.create_model_from_pretrained(f"local-dir:{tiny_clip}")
    with torch.inference_mode():
        expected = network.eval().encode_image(prepare(Image.open(path))[None], normalize=True).numpy()
    np.testing.assert_allclose(
        vectors(clip.Encoder(f"local-dir:{tiny_clip}").encode_images([path], 1), 1), expected, atol=1e-6
    )


def test_vectors_do_not_depend_on_the_batch(tiny_clip: Path, tmp_path: Path) -> None:
    encoder, paths = clip.Encoder(f"local-dir:{tiny_clip}"), drawn_images(tmp_path, 7)
    np.testing.assert_array_equal(
        vectors(encoder.encode_images(paths, 1), 7), vectors(encoder.encode_images(paths, 7), 7)
    )
    np.testing.assert_array_equal(
        vectors(encoder.encode_texts(QUESTIONS, 1), 3), vectors(encoder.encode_texts(QUESTIONS, 3), 3)
    )


ENCODE = """
import sys
from pathlib import Path
from pipeline.candidates.encoders.clip import Encoder

encoder = Encoder(f"local-dir:{sys.argv[1]}")
sys.stdout.buffer.write(encoder.stack_batches(encoder.encode_images(sys.argv[2:], 3), len(sys.argv) - 2).tobytes())
sys.stdout.buffer.write(encoder.stack_batches(encoder.encode_texts(["Is it red?", "What color is the ball to the left?"], 2), 2).tobytes())
"""


def test_vectors_do_not_depend_on_the_processor(tiny_clip: Path, tmp_path: Path) -> None:
    # In single precision nine of ten numbers of the sample's vectors differ between these two settings.
    plain = {
        "ATEN_CPU_CAPABILITY": "default",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, "-c", ENCODE, str(tiny_clip), *map(str, drawn_images(tmp_path, 4))]
    outputs = [
        subprocess.run(
            command,
            cwd=REPO,
            env=os.environ | {"PYTHONPATH": str(REPO)} | env,
            stdout=subprocess.PIPE,
            check=True,
        )
        for env in ({}, plain)
    ]
    assert outputs[0].stdout == outputs[1].stdout
    assert len(outputs[0].stdout) == (4 + 2) * 16 * 4


def test_a_table_has_the_rows_in_the_order_of_the_input(tiny_clip: Path, tmp_path: Path) -> None:
    encoder, paths = clip.Encoder(f"local-dir:{tiny_clip}"), drawn_images(tmp_path, 3)
    np.testing.assert_allclose(
        encoder.stack_batches(encoder.encode_images(paths, 2), 3),
        vectors(encoder.encode_images(paths, 1), 3),
        atol=1e-6,
    )
    np.testing.assert_allclose(
        encoder.stack_batches(encoder.encode_texts(QUESTIONS, 2), 3),
        vectors(encoder.encode_texts(QUESTIONS, 1), 3),
        atol=1e-6,
    )
    assert encoder.stack_batches(encoder.encode_texts([], 2), 0).shape == (0, 16)


def test_a_tower_that_attends_to_the_padding_gets_the_full_context_and_a_warning(
    make_clip: Make, tmp_path: Path
) -> None:
    # Without a causal mask every token attends to the padding, so cutting it off changes the vectors.
    folder = make_clip(tmp_path, custom_text=True, text_cfg={"no_causal_mask": True})
    import open_clip
    import torch

    tokens = open_clip.get_tokenizer(f"local-dir:{folder}")(QUESTIONS)
    with torch.inference_mode():
        expected = (
            open_clip.create_model_from_pretrained(f"local-dir:{folder}")[0]
            .eval()
            .encode_text(tokens, normalize=True)
            .numpy()
        )
    with pytest.warns(UserWarning, match="truncated"):
        got = vectors(clip.Encoder(f"local-dir:{folder}").encode_texts(QUESTIONS, 1), 3)
    np.testing.assert_allclose(got, expected, atol=1e-6)


def test_a_separate_causal_text_tower_is_truncated_too(make_clip: Make, tmp_path: Path) -> None:
    folder = make_clip(tmp_path, custom_text=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(vectors(clip.Encoder(f"local-dir:{folder}").encode_texts(QUESTIONS, 1), 3)).all()


COCA = {"embed_cls": True, "output_tokens": True}
MULTIMODAL = {
    "context_length": 20,
    "vocab_size": 49408,
    "width": 16,
    "heads": 2,
    "layers": 1,
    "attn_pooler_heads": 2,
}


def test_a_coca_model_gives_the_vectors_that_open_clip_gives(make_clip: Make, tmp_path: Path) -> None:
    # Its text tower has a place more than the text, after it, so that texts cannot be cut without a warning.
    import open_clip
    import torch

    folder = make_clip(
        tmp_path,
        custom_text=True,
        multimodal_cfg=MULTIMODAL,
        text_cfg=COCA,
        vision_cfg={"attentional_pool": True, "attn_pooler_heads": 2, "output_tokens": True},
    )
    network, prepare = open_clip.create_model_from_pretrained(f"local-dir:{folder}")
    (path,) = drawn_images(tmp_path, 1)
    with torch.inference_mode():
        tokens = open_clip.get_tokenizer(f"local-dir:{folder}")(QUESTIONS)
        texts = network.eval().encode_text(tokens, normalize=True).numpy()
        images = network.encode_image(prepare(Image.open(path))[None], normalize=True).numpy()
    encoder = clip.Encoder(f"local-dir:{folder}")
    with pytest.warns(UserWarning, match="truncated"):
        np.testing.assert_allclose(vectors(encoder.encode_texts(QUESTIONS, 2), 3), texts, atol=1e-5)
    np.testing.assert_allclose(vectors(encoder.encode_images([path], 1), 1), images, atol=1e-5)


def test_every_text_longer_than_the_context_is_named(tiny_clip: Path) -> None:
    # start + 18 words + end = 20 tokens just fit; 19 words do not
    fits, over, far_over = " ".join(["red"] * 18), " ".join(["red"] * 19), " ".join(["dog"] * 300)
    encoder = clip.Encoder(f"local-dir:{tiny_clip}")
    assert len(vectors(encoder.encode_texts([fits], 1), 1)) == 1
    with pytest.raises(UserError) as caught:
        list(encoder.encode_texts([fits, over, QUESTIONS[0], far_over], 2))
    first, *rest = caught.value.problems
    assert first == "texts longer than the model's context of 20 tokens: 2 problems"
    assert rest[0].startswith(repr(over) + ": 21 tokens") and rest[1].startswith(repr(far_over))
    batches = list(encoder.encode_texts([far_over, fits, over, QUESTIONS[0]], 1, skip_long=True))
    assert [indices.tolist() for indices, _ in batches] == [[3], [1]]  # the shorter one first


def test_every_unreadable_image_is_named_after_the_others_are_encoded(
    tiny_clip: Path, tmp_path: Path
) -> None:
    good = drawn_images(tmp_path, 3)
    empty, cut, text = tmp_path / "empty.jpg", tmp_path / "cut.png", tmp_path / "text.jpg"
    empty.touch()
    cut.write_bytes(good[0].read_bytes()[:900])
    text.write_text("not a drawn_image")
    seen: list[int] = []
    with pytest.raises(UserError) as caught:
        for indices, _ in clip.Encoder(f"local-dir:{tiny_clip}").encode_images(
            [good[0], empty, good[1], cut, text, good[2]], 2
        ):
            seen.extend(indices)
    assert seen == [0, 2, 5]
    assert [line.split(":")[0] for line in caught.value.problems[1:]] == [str(empty), str(cut), str(text)]


def test_the_record_names_weights_and_preprocessing(tiny_clip: Path) -> None:
    record = clip.Encoder(f"local-dir:{tiny_clip}").record
    assert (
        record.weights_sha256
        == hashlib.sha256((tiny_clip / "open_clip_model.safetensors").read_bytes()).hexdigest()
    )
    assert json.loads(record.preprocessing)["resize_mode"] == "squash"
    assert (record.dimension, record.context_length, record.quick_gelu) == (16, 20, False)


def test_another_activation_is_another_model(make_clip: Make, tiny_clip: Path, tmp_path: Path) -> None:
    # the same weights with QuickGELU give other vectors, so a cache must not mix them
    folder = make_clip(tmp_path, quick_gelu=True, weights={})
    one, other = clip.Encoder(f"local-dir:{tiny_clip}").record, clip.Encoder(f"local-dir:{folder}").record
    assert one.weights_sha256 == other.weights_sha256 and one.fingerprint != other.fingerprint


def test_a_complete_folder_gives_the_record_of_the_loaded_model() -> None:
    model = f"local-dir:{REPO / 'data/sample/clip'}"
    assert clip.read_model_record(model) == clip.Encoder(model, device="cpu").record


@pytest.mark.parametrize(
    "change",
    [
        lambda config: config["preprocess_cfg"].pop("interpolation"),
        lambda config: config["preprocess_cfg"].update(size=[192, 192]),
        lambda config: config["model_cfg"]["text_cfg"].pop("context_length"),
        lambda config: config["model_cfg"]["text_cfg"].update(hf_tokenizer_name="x"),
        lambda config: config.pop("model_cfg"),
    ],
    ids=["a default", "two sizes", "no context", "another tokenizer", "no model"],
)
def test_an_incomplete_folder_gives_no_record(tmp_path: Path, change) -> None:
    source = REPO / "data/sample/clip"
    config = json.loads((source / "open_clip_config.json").read_text())
    (tmp_path / "open_clip_model.safetensors").write_bytes(b"not read")
    (tmp_path / "open_clip_config.json").write_text(json.dumps(config))
    assert clip.read_model_record(f"local-dir:{tmp_path}") is not None
    change(config)
    (tmp_path / "open_clip_config.json").write_text(json.dumps(config))
    assert clip.read_model_record(f"local-dir:{tmp_path}") is None


def test_a_model_by_name_or_a_folder_that_is_not_there_gives_no_record(tmp_path: Path) -> None:
    assert clip.read_model_record("ViT-B-32", "laion2b_s34b_b79k") is None
    assert clip.read_model_record(f"local-dir:{tmp_path / 'none'}") is None


# Committed vectors
# The sample's committed vectors are those of its committed CLIP.


HOME = ROOT / "data/sample"


def test_computing_them_again_agrees_within_a_hundred_thousandth():
    encoder = clip.Encoder(f"local-dir:{HOME / 'clip'}", device="cpu")
    rows = dict(zip(*read_precomputed(HOME / "embeddings/clip.safetensors"), strict=True))
    questions = json.loads((HOME / "source/questions1.2/testdev_balanced_questions.json").read_text())
    texts = sorted({q["question"] for q in questions.values()})
    paths = sorted((HOME / "source/images").glob("*.jpg"))
    embedded = [
        *make_cache_keys(encoder.record, "text", texts),
        *make_cache_keys(encoder.record, "image", map(sha256_file, paths)),
    ]
    assert set(embedded) <= set(rows)
    # Beyond them the texts that perturb and screen leave, most questions in two: only a run tells which.
    assert len(embedded) < len(rows) < len(embedded) + 2 * len(questions)
    for index, vectors in encoder.encode_texts(texts[::100], 8):
        wanted = make_cache_keys(encoder.record, "text", (texts[::100][i] for i in index))
        assert np.abs(vectors - [rows[key] for key in wanted]).max() < 1e-5
    for index, vectors in encoder.encode_images(paths[::20], 4):
        wanted = make_cache_keys(encoder.record, "image", (sha256_file(paths[::20][i]) for i in index))
        assert np.abs(vectors - [rows[key] for key in wanted]).max() < 1e-5
