"""embed: each image and each distinct text once, whatever happened to earlier runs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from pipeline.candidates.encoders import clip, embedding_cache
from pipeline.candidates.encoders.embedding_cache import EmbedParams
from pipeline.core.atomic_files import sha256_file
from pipeline.core.errors import UserError
from pipeline.core.json_files import write_json, write_jsonl
from pipeline.stages import embed
from tests.closure import ROOT
from tests.stages.small_projects import OUT, TEXTS, lay_out_world, written


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_clip: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    lay_out_world(tiny_clip)
    return tmp_path


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Everything that the model was asked to encode, in order, once for each time."""
    seen: list[str] = []

    def counting(method):
        def wrapped(self, items, batch) -> Iterator:
            for indices, rows in method(self, items, batch):
                seen.extend(str(items[i]) for i in indices)
                yield indices, rows

        return wrapped

    monkeypatch.setattr(clip.Encoder, "encode_images", counting(clip.Encoder.encode_images))
    monkeypatch.setattr(clip.Encoder, "encode_texts", counting(clip.Encoder.encode_texts))
    return seen


def test_rows_are_images_by_id_and_distinct_texts(world: Path) -> None:
    embed.main()
    assert json.loads((OUT / "image_ids.json").read_text()) == ["a", "b", "c", "d", "e"]
    assert json.loads((OUT / "texts.json").read_text()) == [
        "Is it red?",
        "What color is the dog?",
        "Where is the cat?",
    ]
    images, texts = np.load(OUT / "images.npy"), np.load(OUT / "texts.npy")
    assert (images.shape, images.dtype, texts.shape, texts.dtype) == (
        (5, 16),
        np.float32,
        (3, 16),
        np.float32,
    )
    np.testing.assert_allclose(np.linalg.norm(images, axis=1), 1, atol=1e-6)
    np.testing.assert_array_equal(images[0], images[4])  # e is a copy of a
    report = json.loads((OUT / "embed.json").read_text())
    assert (report["images"], report["questions"], report["distinct_texts"]) == (5, 4, 3)


def test_each_row_is_the_vector_of_its_own_image_and_text(world: Path, tiny_clip: Path) -> None:
    embed.main()
    encoder = clip.Encoder(f"local-dir:{tiny_clip}", device="cpu")
    for row, name in enumerate("abcd"):
        ((_, expected),) = encoder.encode_images([f"data/world/source/images/{name}.png"], 1)
        np.testing.assert_allclose(np.load(OUT / "images.npy")[row], expected[0], atol=1e-6)
    for row, text in enumerate(sorted(set(TEXTS))):
        ((_, expected),) = encoder.encode_texts([text], 1)
        np.testing.assert_allclose(np.load(OUT / "texts.npy")[row], expected[0], atol=1e-6)


def test_an_image_or_text_that_occurs_twice_is_encoded_once(world: Path, encoded: list[str]) -> None:
    embed.main()
    assert len(encoded) == len(set(encoded)) == 4 + 3


def test_the_same_bytes_with_and_without_what_was_kept(world: Path, encoded: list[str]) -> None:
    embed.main()
    first = written()
    encoded.clear()
    embed.main()
    assert encoded == [] and written() == first
    embedding_cache.CACHE_PATH.unlink()
    embed.main()
    assert len(encoded) == 7 and written() == first


def test_after_a_kill_nothing_is_encoded_twice(
    world: Path, encoded: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    put, batches = embedding_cache.EmbeddingCache.put, []

    def dying(self, keys, vectors) -> None:
        put(self, keys, vectors)
        batches.append(keys)
        if len(batches) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(embedding_cache.EmbeddingCache, "put", dying)
    with pytest.raises(KeyboardInterrupt):
        embed.main()
    assert encoded == ["Is it red?", "Where is the cat?"] and not OUT.exists()  # short ones first
    embed.main()
    assert len(encoded) == len(set(encoded)) == 7


def test_exported_vectors_replace_the_model_and_the_images(world: Path, encoded: list[str]) -> None:
    embed.main()
    first = written()
    assert embedding_cache.export_embeddings() == Path("data/world/embeddings/clip.safetensors")
    embedding_cache.CACHE_PATH.unlink()
    encoded.clear()
    embed.main()
    assert encoded == [] and written() == first


def test_unreadable_images_are_all_named_and_the_others_kept(world: Path, encoded: list[str]) -> None:
    kept = Path("data/world/source/images/b.png").read_bytes()
    Path("data/world/source/images/b.png").write_bytes(b"")
    Path("data/world/source/images/d.png").write_bytes(b"\x89PNG broken")
    with pytest.raises(UserError) as caught:
        embed.main()
    assert [Path(line.split(":")[0]).name for line in caught.value.problems[1:]] == ["b.png", "d.png"]
    Path("data/world/source/images/b.png").write_bytes(kept)
    Path("data/world/source/images/d.png").write_bytes(kept)
    encoded.clear()
    embed.main()
    assert [Path(item).name for item in encoded if item.endswith("png")] == ["b.png", "d.png"]


def test_images_without_questions_are_an_error(world: Path) -> None:
    write_jsonl("data/world/interim/ingest/questions.jsonl", [])
    with pytest.raises(UserError, match="5 images and no question about any of these images"):
        embed.main()


def test_the_model_of_the_sample_is_known_by_its_weights() -> None:
    """After the sample's model was trained again, write its SHA-256 into `SAMPLE_CLIP_SHA256`."""
    assert sha256_file(ROOT / "data/sample/clip/open_clip_model.safetensors") == embed.SAMPLE_CLIP_SHA256


def test_the_model_of_the_sample_is_refused_for_other_images_unless_it_is_asked_for(
    world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        embed, "SAMPLE_CLIP_SHA256", sha256_file(Path("data/world/clip/open_clip_model.safetensors"))
    )
    with pytest.raises(UserError, match="allow_sample_clip: true") as caught:
        embed.main()
    assert "ingest.subsets" in str(caught.value) and not (OUT / "images.npy").exists()
    document = json.loads(Path("params.yaml").read_text())
    document["world"]["embed"]["allow_sample_clip"] = True
    Path("params.yaml").write_text(json.dumps(document))
    embed.main()
    assert json.loads((OUT / "embed.json").read_text())["uses_sample_clip"] is True
    # For the sample itself nothing is asked for.
    monkeypatch.setattr(embed, "SAMPLE_DATASET", "world")
    document["world"]["embed"]["allow_sample_clip"] = False
    Path("params.yaml").write_text(json.dumps(document))
    embed.main()
    assert json.loads((OUT / "embed.json").read_text())["uses_sample_clip"] is False


def test_without_a_clip_subset_nothing_is_encoded(world: Path, encoded: list[str]) -> None:
    write_json("data/world/interim/ingest/ingest.json", {"subsets": ["pt-easy"]})
    shutil.rmtree("data/world/clip")
    embed.main()
    assert not encoded and np.load(OUT / "images.npy").shape == (5, 0)
    assert np.load(OUT / "texts.npy").shape == (3, 0)
    report = json.loads((OUT / "embed.json").read_text())
    assert (report["model"], report["images"], report["questions"]) == (None, 5, 4)


def test_the_default_model_has_a_default_tag() -> None:
    assert EmbedParams().pretrained == "laion2b_s34b_b79k"
    assert EmbedParams(pretrained="openai").pretrained == "openai"
    assert EmbedParams(model="local-dir:x").pretrained == ""
