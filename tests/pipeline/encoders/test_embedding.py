"""What is missing is encoded and kept; tables of vectors are written in parts and can be exported."""

import numpy as np
import pytest

from pipeline.core.params import convert
from pipeline.encoders import embedding
from pipeline.encoders.cache import Cache, keys, read_seed
from pipeline.encoders.clip import ModelRecord
from pipeline.encoders.embedding import (
    EmbedParams,
    EmbedReport,
    encode_missing,
    export_vectors,
    write_vectors,
)

MODEL = ModelRecord(
    model="m",
    pretrained="",
    weights_sha256="w",
    fingerprint="f",
    preprocessing="p",
    quick_gelu=False,
    dimension=2,
    context_length=8,
    open_clip="3",
    torch="2",
)


def lengths(texts):
    """Stands for an encoder: a vector of (letters, 1) for each text, two at a time, the last batch first."""
    for start in reversed(range(0, len(texts), 2)):
        some = texts[start : start + 2]
        yield np.arange(start, start + len(some)), np.array([[len(text), 1] for text in some], np.float32)


def test_only_what_the_cache_lacks_is_encoded_and_equal_contents_once(tmp_path):
    cache, asked = Cache(tmp_path / "v.sqlite", 2), []

    def encode(texts):
        asked.extend(texts)
        yield from lengths(texts)

    texts = ["red", "blue", "red", "green"]
    wanted = keys(MODEL, "text", texts)
    cache.put(wanted[1:2], np.array([[9, 9]], np.float32))
    assert encode_missing(cache, wanted, texts, encode, "texts") == 2
    assert asked == ["red", "green"]
    assert cache.get(wanted).tolist() == [[3, 1], [9, 9], [3, 1], [5, 1]]
    assert encode_missing(cache, wanted, texts, encode, "texts") == 0


def test_a_table_written_in_parts_is_the_table(tmp_path, monkeypatch):
    monkeypatch.setattr(embedding, "WRITTEN_AT_ONCE", 2)
    cache, wanted = Cache(tmp_path / "v.sqlite", 2), keys(MODEL, "text", "abcde")
    vectors = np.arange(10, dtype=np.float32).reshape(5, 2)
    cache.put(wanted, vectors)
    write_vectors(tmp_path / "t.npy", cache, [*wanted, wanted[0]])
    np.testing.assert_array_equal(np.load(tmp_path / "t.npy"), [*vectors, vectors[0]])


def test_exported_vectors_have_the_keys_of_their_pictures_and_texts(tmp_path, monkeypatch):
    from pipeline.core.files import write_json, write_jsonl
    from pipeline.core.records import Picture

    monkeypatch.chdir(tmp_path)
    (tmp_path / "params.yaml").write_text("dataset: d\nd: {}\n")
    folder = tmp_path / "data/d/interim/embed"
    folder.mkdir(parents=True)
    picture = Picture(picture_id="n1", split="val", path="n1.jpg", width=1, height=1, sha256="00ff")
    write_jsonl(tmp_path / "data/d/interim/ingest/pictures.jsonl", [picture])
    write_json(folder / "texts.json", ["red"])
    write_json(folder / "embed.json", EmbedReport(model=MODEL, pictures=1, questions=1, distinct_texts=1))
    np.save(folder / "pictures.npy", np.array([[1, 0]], np.float32))
    np.save(folder / "texts.npy", np.array([[0, 1]], np.float32))
    exported = dict(zip(*read_seed(export_vectors()), strict=True))
    assert {key: row.tolist() for key, row in exported.items()} == {
        keys(MODEL, "picture", ["00ff"])[0]: [1, 0],
        keys(MODEL, "text", ["red"])[0]: [0, 1],
    }


@pytest.mark.parametrize("batch", [0, 5000, "many"])
def test_a_batch_has_1_to_4096_rows(batch):
    with pytest.raises(Exception, match="text_batch"):
        convert({"model": "m", "text_batch": batch}, EmbedParams, "params.yaml")
