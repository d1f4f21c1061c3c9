"""What is missing is encoded and kept, whatever happens to the run; tables of vectors are written in parts and can be
exported."""

from __future__ import annotations

import errno
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
import pytest

from pipeline.candidates.encoders import embedding_cache
from pipeline.candidates.encoders.clip import ModelRecord
from pipeline.candidates.encoders.embedding_cache import (
    EmbeddingCache,
    EmbedParams,
    EmbedReport,
    SimilarityReport,
    export_embeddings,
    make_cache_keys,
    open_cache,
    read_precomputed,
    write_precomputed,
)
from pipeline.core.errors import UserError
from pipeline.core.params import convert_params
from pipeline.core.paths import DatasetFolders
from tests.closure import ROOT

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
    cache, asked = EmbeddingCache(tmp_path / "v.sqlite", 2), []

    def encode(texts):
        asked.extend(texts)
        yield from lengths(texts)

    texts = ["red", "blue", "red", "green"]
    wanted = make_cache_keys(MODEL, "text", texts)
    cache.put(wanted[1:2], np.array([[9, 9]], np.float32))
    assert cache.encode_missing(wanted, texts, encode, "texts") == 2
    assert asked == ["red", "green"]
    assert cache.get(wanted).tolist() == [[3, 1], [9, 9], [3, 1], [5, 1]]
    assert cache.encode_missing(wanted, texts, encode, "texts") == 0


def test_a_table_written_in_parts_is_the_table(tmp_path, monkeypatch):
    monkeypatch.setattr(embedding_cache, "WRITE_CHUNK_ROWS", 2)
    cache, wanted = EmbeddingCache(tmp_path / "v.sqlite", 2), make_cache_keys(MODEL, "text", "abcde")
    vectors = np.arange(10, dtype=np.float32).reshape(5, 2)
    cache.put(wanted, vectors)
    cache.write_npy(tmp_path / "t.npy", [*wanted, wanted[0]])
    np.testing.assert_array_equal(np.load(tmp_path / "t.npy"), [*vectors, vectors[0]])


def test_exported_vectors_have_the_keys_of_their_images_and_texts(tmp_path, monkeypatch):
    from pipeline.core.json_files import write_json, write_jsonl
    from pipeline.core.records import ImageRecord

    monkeypatch.chdir(tmp_path)
    (tmp_path / "params.yaml").write_text("dataset: d\nd: {}\n")
    folder = tmp_path / "data/d/interim/embed"
    folder.mkdir(parents=True)
    image = ImageRecord(image_id="n1", split="val", path="n1.jpg", width=1, height=1, sha256="00ff")
    write_jsonl(tmp_path / "data/d/interim/ingest/images.jsonl", [image])
    write_json(folder / "texts.json", ["red"])
    write_json(folder / "embed.json", EmbedReport(model=MODEL, images=1, questions=1, distinct_texts=1))
    np.save(folder / "images.npy", np.array([[1, 0]], np.float32))
    np.save(folder / "texts.npy", np.array([[0, 1]], np.float32))
    exported = dict(zip(*read_precomputed(export_embeddings()), strict=True))
    assert {key: row.tolist() for key, row in exported.items()} == {
        make_cache_keys(MODEL, "image", ["00ff"])[0]: [1, 0],
        make_cache_keys(MODEL, "text", ["red"])[0]: [0, 1],
    }

    # What similarity encoded goes with it, a text that both have once; unless another model made it.
    edited = tmp_path / "data/d/interim/similarity"
    edited.mkdir()
    write_json(edited / "texts.json", ["blue", "red"])
    np.save(edited / "texts.npy", np.array([[1, 0], [0, 1]], np.float32))
    for model, texts in (
        (MODEL, ["blue", "red"]),
        (msgspec.structs.replace(MODEL, fingerprint="g"), ["red"]),
    ):
        report = SimilarityReport(
            model=model, candidates=2, distinct_texts=2, texts_too_long=0, score_quantiles={}
        )
        write_json(edited / "similarity.json", report)
        found, rows = read_precomputed(export_embeddings())
        assert sorted(found) == sorted(
            [*make_cache_keys(MODEL, "image", ["00ff"]), *make_cache_keys(MODEL, "text", texts)]
        )
        exported = dict(zip(found, rows.tolist(), strict=True))
        assert [exported[key] for key in make_cache_keys(MODEL, "text", texts)] == [[1, 0], [0, 1]][
            -len(texts) :
        ]


@pytest.mark.parametrize("batch", [0, 5000, "many"])
def test_a_batch_has_1_to_4096_rows(batch):
    with pytest.raises(Exception, match="text_batch"):
        convert_params({"model": "m", "text_batch": batch}, EmbedParams, "params.yaml")


KEYS = [bytes([i]) * 32 for i in range(6)]
ROWS = np.arange(18, dtype=np.float32).reshape(6, 3)


def key(fingerprint: str, preprocessing: str, kind: Literal["image", "text"], content: str) -> bytes:
    model = ModelRecord(
        model="m",
        pretrained="",
        weights_sha256="w",
        fingerprint=fingerprint,
        preprocessing=preprocessing,
        quick_gelu=False,
        dimension=3,
        context_length=8,
        open_clip="3",
        torch="2",
    )
    (found,) = make_cache_keys(model, kind, [content])
    return found


def test_a_key_changes_with_each_of_its_parts_and_with_nothing_else() -> None:
    same = key("model", "resize", "text", "red")
    others = [
        key("other", "resize", "text", "red"),
        key("model", "crop", "text", "red"),
        key("model", "resize", "image", "red"),
        key("model", "resize", "text", "blue"),
        key("modelresize", "", "text", "red"),
    ]
    assert key("model", "resize", "text", "red") == same and len(same) == 32
    assert len({same, *others}) == 6


def test_vectors_are_returned_bit_for_bit_in_the_requested_order(tmp_path: Path) -> None:
    first = EmbeddingCache(tmp_path / "a" / "v.sqlite", 3)
    first.put(KEYS, ROWS / 7)
    first.close()
    again = EmbeddingCache(tmp_path / "a" / "v.sqlite", 3)
    np.testing.assert_array_equal(again.get([KEYS[4], KEYS[0], KEYS[4]]), (ROWS / 7)[[4, 0, 4]])


def test_missing_keys_are_returned_once_each_in_order(tmp_path: Path) -> None:
    cache = EmbeddingCache(tmp_path / "v.sqlite", 3)
    cache.put(KEYS[1:3], ROWS[1:3])
    assert cache.find_missing([KEYS[5], KEYS[1], KEYS[0], KEYS[5], KEYS[2]]) == [KEYS[5], KEYS[0]]


def test_stored_vectors_survive_a_kill_9(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    program = f"""
import os, signal, numpy as np
from pathlib import Path
from pipeline.candidates.encoders.embedding_cache import EmbeddingCache
cache = EmbeddingCache(Path({str(path)!r}), 3)
for i in range(4):
    cache.put([bytes([i]) * 32], np.full((1, 3), i, np.float32))
cache._connection.execute("BEGIN")
cache._connection.execute("INSERT INTO vectors VALUES (?, ?)", (bytes([9]) * 32, b"half"))
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == -signal.SIGKILL
    cache = EmbeddingCache(path, 3)
    np.testing.assert_array_equal(cache.get(KEYS[:4])[:, 0], [0, 1, 2, 3])
    assert cache.find_missing([bytes([9]) * 32]) != []  # the transaction in work left nothing


def test_a_full_disk_is_reported_and_loses_nothing(tmp_path: Path) -> None:
    cache = EmbeddingCache(tmp_path / "v.sqlite", 1000)
    cache.put(KEYS[:1], np.ones((1, 1000)))
    cache._connection.execute("PRAGMA max_page_count = 4")  # SQLite's own way to stand on a full disk
    with pytest.raises(OSError) as caught:
        cache.put(KEYS[1:], np.ones((5, 1000)))
    assert caught.value.errno == errno.ENOSPC and caught.value.filename == str(tmp_path / "v.sqlite")
    assert cache.find_missing(KEYS) == KEYS[1:]


def test_a_damaged_cache_says_that_it_may_be_deleted(tmp_path: Path) -> None:
    (tmp_path / "v.sqlite").write_bytes(b"no database" * 100)
    with pytest.raises(UserError, match="v.sqlite: the cache is damaged"):
        EmbeddingCache(tmp_path / "v.sqlite", 3)


def test_a_seed_gives_the_same_bytes_whatever_the_order(tmp_path: Path) -> None:
    write_precomputed(tmp_path / "one", KEYS, ROWS)
    write_precomputed(tmp_path / "two", KEYS[::-1], ROWS[::-1])
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    keys, rows = read_precomputed(tmp_path / "one")
    assert keys == KEYS
    np.testing.assert_array_equal(rows, ROWS)


def test_the_seed_wins_over_what_this_machine_computed(tmp_path: Path) -> None:
    # only so are the bytes the same on every machine, also where something was encoded before the seed came
    EmbeddingCache(tmp_path / "v.sqlite", 3).put(KEYS[:2], ROWS[:2] + 1e-7)
    write_precomputed(tmp_path / "seed", KEYS[:1], ROWS[:1])
    cache = EmbeddingCache(tmp_path / "v.sqlite", 3, precomputed=tmp_path / "seed")
    np.testing.assert_array_equal(cache.get(KEYS[:2]), [ROWS[0], ROWS[1] + np.float32(1e-7)])


@pytest.mark.parametrize("content", [b"", b"\x10" * 40])
def test_a_broken_precomputed_file_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "seed").write_bytes(content)
    with pytest.raises(UserError, match="seed: not a file of precomputed vectors"):
        EmbeddingCache(tmp_path / "v.sqlite", 3, precomputed=tmp_path / "seed")


def test_vectors_of_another_width_are_refused_in_one_sentence(tmp_path: Path) -> None:
    write_precomputed(tmp_path / "seed", KEYS, ROWS)
    cache = EmbeddingCache(tmp_path / "v.sqlite", 4, precomputed=tmp_path / "seed")
    with pytest.raises(UserError, match=r"v.sqlite: found vectors of length 3, expected 4") as caught:
        cache.get(KEYS[:2])
    assert len(caught.value.problems) == 1


def test_the_cache_is_plain_sqlite(tmp_path: Path) -> None:
    EmbeddingCache(tmp_path / "v.sqlite", 3).put(KEYS[:1], ROWS[:1])
    ((k, v),) = sqlite3.connect(tmp_path / "v.sqlite").execute("SELECT key, vector FROM vectors")
    assert (k, v) == (KEYS[0], ROWS[0].tobytes())


# Which file


@pytest.fixture
def two_projects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Two projects of one's own with a data set `birds`, and an empty cache folder of the user."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    homes = (tmp_path / "a", tmp_path / "b")
    for home in homes:
        home.mkdir()
        (home / "rgqa-version.yaml").write_text("")
    return homes


def test_projects_share_their_vectors(
    two_projects: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["one", "three"]
    keys = make_cache_keys(MODEL, "text", texts)
    encoded = []
    for home in two_projects:
        monkeypatch.chdir(home)
        with closing(open_cache(DatasetFolders("birds"), 2)) as cache:
            encoded.append(cache.encode_missing(keys, texts, lengths, "texts"))
            np.testing.assert_array_equal(cache.get(keys), [[3, 1], [5, 1]])
    assert encoded == [2, 0]
    assert [path.name for path in (tmp_path / "user/rgqa-pipeline").iterdir()] == ["vectors.sqlite"]
    assert not any((home / "data").exists() for home in two_projects)


def test_vectors_from_elsewhere_stay_in_their_project(
    two_projects: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = two_projects
    keys = make_cache_keys(MODEL, "text", ["one"])
    wrong = first / "data/birds/embeddings/clip.safetensors"
    write_precomputed(wrong, keys, np.array([[7, 7]], np.float32))
    monkeypatch.chdir(first)
    with closing(open_cache(DatasetFolders("birds"), 2)) as cache:
        np.testing.assert_array_equal(cache.get(keys), [[7, 7]])
    monkeypatch.chdir(second)
    with closing(open_cache(DatasetFolders("birds"), 2)) as cache:
        assert cache.find_missing(keys) == keys


def test_a_clone_keeps_its_own_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    with closing(open_cache(DatasetFolders("birds"), 2)):
        assert embedding_cache.CACHE_PATH.is_file() and not (tmp_path / "user").exists()


def test_projects_write_at_the_same_time(
    two_projects: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(two_projects[0])
    script = (
        "import sys, numpy as np\n"
        "from pipeline.candidates.encoders.embedding_cache import open_cache\n"
        "from pipeline.core.paths import DatasetFolders\n"
        "cache = open_cache(DatasetFolders('birds'), 2)\n"
        "for n in range(50): cache.put([f'{sys.argv[1]}{n}'.encode()], np.ones((1, 2), np.float32))\n"
    )
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", script, name], cwd=home, env=os.environ | {"PYTHONPATH": str(ROOT)}
        )
        for name, home in zip("ab", two_projects, strict=True)
    ]
    assert [run.wait(timeout=120) for run in runs] == [0, 0]
    keys = [f"{name}{n}".encode() for name in "ab" for n in range(50)]
    with closing(open_cache(DatasetFolders("birds"), 2)) as cache:
        assert cache.find_missing(keys) == []
