"""The vectors of a data set's images and texts: kept once they were computed, written as tables, carried along.

A vector's key is the SHA-256 of the model's fingerprint, its preprocessing and the content (an image file's SHA-256,
or a text). Every data set shares one SQLite file, written batch by batch, so that a kill at any moment loses
at most the batch in work. It can be deleted at any time. Vectors computed elsewhere come in through a *seed*: a
small safetensors file with `keys` uint8 [n, 32] and `vectors` float32 [n, d].
"""

from __future__ import annotations

import errno
import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import numpy as np

from pipeline.candidates.encoders.clip import Device, EmbeddingBatches, ModelRecord
from pipeline.core.atomic_files import atomic_write
from pipeline.core.errors import UserError
from pipeline.core.json_files import read_json
from pipeline.core.params import Params
from pipeline.core.paths import DATA_DIR, DatasetFolders
from pipeline.core.progress import track
from pipeline.core.records import ImageRecord, Record, Subset

CACHE_PATH = DATA_DIR / "cache" / "vectors.sqlite"
PRECOMPUTED_FILE_NAME = "clip.safetensors"  # in the data set's folder `vectors`
WRITE_CHUNK_ROWS = 8192  # rows held in memory while a table is written


class EmbedParams(Params):
    """Parameters of embed.

    Attributes:
        model, pretrained: as open_clip names them; see `clip.Encoder`.
        device: "auto" takes the GPU when there is one.
        image_batch, text_batch: how many at once; they change the speed, not the vectors.
    """

    model: str
    pretrained: str = ""
    device: Device = "auto"
    image_batch_size: Annotated[int, msgspec.Meta(ge=1, le=4096)] = 32
    text_batch_size: Annotated[int, msgspec.Meta(ge=1, le=4096)] = 128


class EmbedReport(Record):
    """Counts and the model. `distinct_texts` <= `questions`: each text is encoded once."""

    model: ModelRecord
    images: int
    questions: int
    distinct_texts: int


class SimilarityReport(Record):
    """Counts, the model, and quantiles of the scores of each subset. `distinct_texts` <= `candidates`; those of them that
    are `too_long` for the model have neither vector nor score."""

    model: ModelRecord
    candidates: int
    distinct_texts: int
    too_long: int
    score_quantiles: dict[Subset, dict[str, float]]


def make_cache_keys(
    model: ModelRecord, kind: Literal["image", "text"], contents: Iterable[str]
) -> list[bytes]:
    """Keys of vectors that a model makes, 32 bytes each.

    Args:
        contents: images' SHA-256 in hex, or the texts themselves.
    """
    # Keys of embeddings computed before images were called images stay valid.
    made_by = f"{model.fingerprint}\x1f{model.preprocessing}\x1f{'picture' if kind == 'image' else kind}\x1f"
    return [hashlib.sha256(f"{made_by}{content}".encode()).digest() for content in contents]


class EmbeddingCache:
    """Vectors of `dimension` float32 by key, in one file that survives a kill at any moment.

    Args:
        path: the SQLite file; made when missing.
        seed: a file written by `write_seed`; its vectors take the place of any of the same key.

    Raises:
        UserError: the file is damaged (delete it: it is only a cache). OSError: the disk is full.
    """

    def __init__(self, path: Path, dimension: int, precomputed: Path | None = None) -> None:
        self._path, self.dimension = path, dimension
        path.parent.mkdir(parents=True, exist_ok=True)
        with self._translate_errors():
            self._connection = sqlite3.connect(path)
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID"
            )
        if precomputed is not None and precomputed.exists():
            self.put(*read_precomputed(precomputed))

    def find_missing(self, keys: Sequence[bytes]) -> list[bytes]:
        """Those keys that have no vector yet, each once, in the order given."""
        with self._translate_errors():
            there = "SELECT 1 FROM vectors WHERE key = ?"  # the vectors themselves are not read
            return [
                key
                for key in dict.fromkeys(keys)
                if self._connection.execute(there, (key,)).fetchone() is None
            ]

    def put(self, keys: Sequence[bytes], vectors: np.ndarray) -> None:
        """Keep vectors [len(wanted), d] by key; on return they are on the disk."""
        rows = [vector.tobytes() for vector in np.ascontiguousarray(vectors, np.float32)]
        with self._translate_errors(), self._connection:  # one transaction
            self._connection.executemany(
                "INSERT OR REPLACE INTO vectors VALUES (?, ?)", zip(keys, rows, strict=True)
            )

    def get(self, keys: Sequence[bytes]) -> np.ndarray:
        """Vectors float32 [len(wanted), dimension]; every key must be there.

        Raises:
            UserError: they have another width, as a seed may bring them.
        """
        with self._translate_errors():
            select = "SELECT vector FROM vectors WHERE key = ?"
            rows = [self._connection.execute(select, (key,)).fetchone()[0] for key in keys]
        if others := {len(row) // 4 for row in rows} - {self.dimension}:
            raise UserError(
                f"{self._path}: vectors of {min(others)} numbers, but the model's have {self.dimension}; delete the file, and "
                f"vectors/{PRECOMPUTED_FILE_NAME} of the data set if they came from there, to compute them anew"
            )
        return np.frombuffer(b"".join(rows), np.float32).reshape(len(keys), self.dimension)

    def encode_missing(
        self,
        keys: Sequence[bytes],
        contents: Sequence[str],
        encode: Callable[[list[str]], EmbeddingBatches],
        label: str,
    ) -> int:
        """Encode those contents whose vectors are missing and keep each batch as it comes.

        Args:
            wanted: the key of each of `contents`; equal contents have equal keys and are encoded once.
            encode: `Encoder.images` or `Encoder.texts` with a batch size.

        Returns:
            How many were encoded.
        """
        content_of = dict(zip(keys, contents, strict=True))
        missing = self.find_missing(keys)
        if missing:
            for indices, vectors in track(encode([content_of[key] for key in missing]), label, unit="batch"):
                self.put([missing[i] for i in indices], vectors)
        return len(missing)

    def write_npy(self, path: Path, keys: Sequence[bytes]) -> None:
        """Write the vectors of keys, in that order, as a .npy file of which only a part is ever in memory."""
        with atomic_write(path) as file:
            header = {"descr": "<f4", "fortran_order": False, "shape": (len(keys), self.dimension)}
            np.lib.format.write_array_header_1_0(file, header)
            for start in range(0, len(keys), WRITE_CHUNK_ROWS):
                file.write(self.get(keys[start : start + WRITE_CHUNK_ROWS]).astype("<f4").tobytes())

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_FULL:
                raise OSError(errno.ENOSPC, "the disk is full", str(self._path)) from error
            raise UserError(
                f"{self._path}: the cache cannot be used ({error}); is another run using it, may you write there?"
            ) from error
        except sqlite3.DatabaseError as error:
            raise UserError(
                f"{self._path}: the cache is damaged ({error}); delete the file and run again, it is only a cache"
            ) from error


def write_precomputed(path: Path, keys: Sequence[bytes], vectors: np.ndarray) -> None:
    """Write vectors [len(wanted), d] sorted by key: the same vectors give the same bytes."""
    from safetensors.numpy import save

    order = sorted(range(len(keys)), key=keys.__getitem__)
    table = np.frombuffer(b"".join(keys[i] for i in order), np.uint8).reshape(-1, 32)
    with atomic_write(path) as file:
        file.write(save({"keys": table, "vectors": np.ascontiguousarray(vectors[order], np.float32)}))


def read_precomputed(path: Path) -> tuple[list[bytes], np.ndarray]:
    """Keys and vectors of a seed file.

    Raises:
        UserError: not such a file, or cut off.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        tensors = load_file(path)
        return [bytes(row) for row in tensors["keys"]], tensors["vectors"]
    except (SafetensorError, KeyError, OSError) as error:
        raise UserError(
            f"{path}: not a file of vectors ({error}); restore it, or delete it to compute the vectors anew"
        ) from error


def export_embeddings() -> Path:
    """Write the vectors of embed, and those of edited texts where similarity has run with the same model, as the data set's
    seed, so that they need not (and on another machine, in the last bits, could not) be computed again. Returns the file."""
    folders = DatasetFolders()
    embed, edited = folders.stage_dir("embed"), folders.stage_dir("similarity")
    model = read_json(embed / "embed.json", EmbedReport).model
    images = make_cache_keys(model, "image", (image.sha256 for image in folders.read_records(ImageRecord)))
    tables = [(images, embed / "images.npy")]
    report = edited / "similarity.json"
    same = report.exists() and read_json(report, SimilarityReport).model == model
    for folder in (embed, edited) if same else (embed,):
        texts = read_json(folder / "texts.json", list[str])
        tables.append((make_cache_keys(model, "text", texts), folder / "texts.npy"))
    wanted = [key for of_table, _ in tables for key in of_table]
    vectors = np.concatenate([np.load(path) for _, path in tables])
    first = list(
        dict(zip(reversed(wanted), reversed(range(len(wanted))), strict=True)).values()
    )  # a text may be in both
    write_precomputed(folders.embeddings / PRECOMPUTED_FILE_NAME, [wanted[i] for i in first], vectors[first])
    return folders.embeddings / PRECOMPUTED_FILE_NAME
