"""Store the vectors of images and texts, so that no vector is computed twice.

The key of a vector is the SHA-256 of the model's fingerprint, the model's preprocessing and the content (the
SHA-256 of an image file, or a text). All data sets share one SQLite file, and so do all projects of a user that
`rgqa init FOLDER` made. The file is written batch by batch, so a process that is killed loses at most the current
batch. The file can be deleted at any time.

Vectors that were computed elsewhere can be added with a *precomputed file*: a small safetensors file with
`keys` uint8 [n, 32] and `vectors` float32 [n, d].
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
from pipeline.core.project import get_user_cache_dir, is_own_project
from pipeline.core.records import ImageRecord, Record, Subset

CACHE_PATH = DATA_DIR / "cache" / "vectors.sqlite"
# Another project may write at the same time, one batch after the other.
MAX_WAIT_SECONDS = 60
# Name of the precomputed file in the folder `embeddings` of a data set.
PRECOMPUTED_FILE_NAME = "clip.safetensors"
# The CLIP model of a data set whose parameters name none, and its pretrained tag.
DEFAULT_MODEL, DEFAULT_PRETRAINED = "ViT-B-32", "laion2b_s34b_b79k"
# Number of rows that are in memory while a table is written.
WRITE_CHUNK_ROWS = 8192


class EmbedParams(Params):
    """Parameters of stage `embed`.

    Attributes:
        model: CLIP model: a name that open_clip knows, or `local-dir:FOLDER`. Only the CLIP subsets
            (`ingest.subsets`) need a model.
        pretrained: Pretrained tag of open_clip, or `TAG=WEIGHTS_FILE`. Leave it empty for `local-dir:FOLDER`.
            For `ViT-B-32`, empty means `laion2b_s34b_b79k`.
        device: Device of the model. `auto` uses a GPU if there is one.
        image_batch_size: Number of images encoded at once. It changes the speed, not the vectors.
        text_batch_size: Number of texts encoded at once. It changes the speed, not the vectors.
        allow_sample_clip: Accept the CLIP model of the bundled sample for another data set. The model knows
            only the synthetic world of the sample, so its scores of photographs mean little. The release card
            then says so.
    """

    model: str = DEFAULT_MODEL
    pretrained: str = ""
    device: Device = "auto"
    image_batch_size: Annotated[int, msgspec.Meta(ge=1, le=4096)] = 32
    text_batch_size: Annotated[int, msgspec.Meta(ge=1, le=4096)] = 128
    allow_sample_clip: bool = False

    def __post_init__(self) -> None:
        if self.model == DEFAULT_MODEL and not self.pretrained:
            msgspec.structs.force_setattr(self, "pretrained", DEFAULT_PRETRAINED)


class EmbedReport(Record):
    """The report of the stage embed.

    Attributes:
        model: The CLIP model; None if no CLIP subset is made, so that nothing was encoded.
        uses_sample_clip: Whether it is the model of the bundled sample, used for another data set (`embed.allow_sample_clip`).
    """

    model: ModelRecord | None
    images: int
    questions: int
    distinct_texts: int
    uses_sample_clip: bool = False


class SimilarityReport(Record):
    """The report of the stage similarity.

    Attributes:
        model: The model that made the vectors.
        candidates: Number of edited candidates.
        distinct_texts: Number of different texts of the candidates.
        texts_too_long: Number of texts that do not fit into the model's context. They have neither a vector
            nor a score.
        score_quantiles: Subset -> quantile level -> score.
    """

    model: ModelRecord | None
    candidates: int
    distinct_texts: int
    texts_too_long: int
    score_quantiles: dict[Subset, dict[str, float]]


def make_cache_keys(
    model: ModelRecord, kind: Literal["image", "text"], contents: Iterable[str]
) -> list[bytes]:
    """Return the keys of the vectors that a model makes, 32 bytes each.

    Args:
        model: The model.
        kind: Whether the contents are images or texts.
        contents: The SHA-256 of each image file in hexadecimal digits, or the texts themselves.
    """
    # The key of an image has the word "picture", which earlier versions used, so that old keys stay valid.
    made_by = f"{model.fingerprint}\x1f{model.preprocessing}\x1f{'picture' if kind == 'image' else kind}\x1f"
    return [hashlib.sha256(f"{made_by}{content}".encode()).digest() for content in contents]


def find_cache_path(precomputed: Path) -> Path:
    """Return the file of the cache.

    Projects of one's own share a file in the user's cache folder. A clone keeps its own file. So does a project with
    precomputed vectors: they come from elsewhere, and must not replace the vectors of other projects.

    Args:
        precomputed: The precomputed file of the data set, which may be missing.
    """
    is_shared = is_own_project() and not precomputed.exists()
    return get_user_cache_dir() / CACHE_PATH.name if is_shared else CACHE_PATH


def open_cache(folders: DatasetFolders, dimension: int) -> EmbeddingCache:
    """Open the cache of a data set.

    Args:
        folders: The data set.
        dimension: The length of the vectors.
    """
    precomputed = folders.embeddings / PRECOMPUTED_FILE_NAME
    return EmbeddingCache(find_cache_path(precomputed), dimension, precomputed)


class EmbeddingCache:
    """A file that maps keys to float32 vectors. The file stays valid if the process is killed at any moment.

    Args:
        path: The SQLite file. It is created if it does not exist.
        dimension: The length of the vectors.
        precomputed: A file written by `write_precomputed`, or None. Its vectors replace stored vectors of the
            same key.

    Raises:
        UserError: The file is damaged. The file is only a cache and can be deleted.
        OSError: The disk is full.
    """

    def __init__(self, path: Path, dimension: int, precomputed: Path | None = None) -> None:
        self._path, self.dimension = path, dimension
        path.parent.mkdir(parents=True, exist_ok=True)
        with self._translate_errors():
            self._connection = sqlite3.connect(path, timeout=MAX_WAIT_SECONDS)
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID"
            )
        if precomputed is not None and precomputed.exists():
            self.put(*read_precomputed(precomputed))

    def find_missing(self, keys: Sequence[bytes]) -> list[bytes]:
        """Return the keys that have no stored vector, in the order of `keys` and without duplicates."""
        with self._translate_errors():
            # The query does not read the vectors themselves.
            query = "SELECT 1 FROM vectors WHERE key = ?"
            return [
                key
                for key in dict.fromkeys(keys)
                if self._connection.execute(query, (key,)).fetchone() is None
            ]

    def put(self, keys: Sequence[bytes], vectors: np.ndarray) -> None:
        """Store vectors, float32 [len(keys), dimension]. They are on the disk when the method returns."""
        rows = [vector.tobytes() for vector in np.ascontiguousarray(vectors, np.float32)]
        # The connection is a context manager that makes all insertions one transaction.
        with self._translate_errors(), self._connection:
            self._connection.executemany(
                "INSERT OR REPLACE INTO vectors VALUES (?, ?)", zip(keys, rows, strict=True)
            )

    def get(self, keys: Sequence[bytes]) -> np.ndarray:
        """Return vectors float32 [len(keys), dimension]. Every key must be present.

        Raises:
            UserError: The stored vectors have another length. A wrong precomputed file can cause this.
        """
        with self._translate_errors():
            select = "SELECT vector FROM vectors WHERE key = ?"
            rows = [self._connection.execute(select, (key,)).fetchone()[0] for key in keys]
        if others := {len(row) // 4 for row in rows} - {self.dimension}:
            raise UserError(
                f"{self._path}: found vectors of length {min(others)}, expected {self.dimension}. Delete the file,"
                f" and embeddings/{PRECOMPUTED_FILE_NAME} of the data set if they came from there, to compute them"
                " again."
            )
        return np.frombuffer(b"".join(rows), np.float32).reshape(len(keys), self.dimension)

    def encode_missing(
        self,
        keys: Sequence[bytes],
        contents: Sequence[str],
        encode: Callable[[list[str]], EmbeddingBatches],
        label: str,
    ) -> int:
        """Encode the contents whose vectors are missing, and store each batch when it is ready.

        Args:
            keys: The keys of `contents`. Equal contents have equal keys and are encoded once.
            contents: The image files or texts.
            encode: A function such as `Encoder.encode_images` or `Encoder.encode_texts` with a fixed batch
                size.
            label: Label of the progress bar.

        Returns:
            The number of contents that were encoded.
        """
        content_by_key = dict(zip(keys, contents, strict=True))
        missing = self.find_missing(keys)
        if missing:
            missing_contents = [content_by_key[key] for key in missing]
            for indices, vectors in track(encode(missing_contents), label, unit="batch"):
                self.put([missing[i] for i in indices], vectors)
        return len(missing)

    def write_npy(self, path: Path, keys: Sequence[bytes]) -> None:
        """Write the vectors of `keys`, in this order, to a .npy file.

        Only a small number of vectors is in memory at any time.
        """
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
                f"{self._path}: the cache cannot be used ({error}). Check that no other run uses it and that you"
                " may write there."
            ) from error
        except sqlite3.DatabaseError as error:
            raise UserError(
                f"{self._path}: the cache is damaged ({error}). Delete the file and run again; its vectors are"
                " computed again."
            ) from error


def write_empty_npy(path: Path, num_rows: int) -> None:
    """Write a .npy file with rows but no columns, in place of vectors that are not needed."""
    with atomic_write(path) as file:
        np.save(file, np.zeros((num_rows, 0), np.float32))


def write_precomputed(path: Path, keys: Sequence[bytes], vectors: np.ndarray) -> None:
    """Write vectors, float32 [len(keys), d], sorted by key, so that the same vectors give the same bytes."""
    from safetensors.numpy import save

    order = sorted(range(len(keys)), key=keys.__getitem__)
    table = np.frombuffer(b"".join(keys[i] for i in order), np.uint8).reshape(-1, 32)
    with atomic_write(path) as file:
        file.write(save({"keys": table, "vectors": np.ascontiguousarray(vectors[order], np.float32)}))


def read_precomputed(path: Path) -> tuple[list[bytes], np.ndarray]:
    """Return the keys and vectors of a precomputed file.

    Raises:
        UserError: The file has another format or is truncated.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        tensors = load_file(path)
        return [bytes(row) for row in tensors["keys"]], tensors["vectors"]
    except (SafetensorError, KeyError, OSError) as error:
        raise UserError(
            f"{path}: not a file of precomputed vectors ({error}). Restore it, or delete it to compute the vectors"
            " again."
        ) from error


def export_embeddings() -> Path:
    """Write the vectors of the data set to its precomputed file, so that they need not be computed again.

    The file has the vectors of the stage embed. It also has the vectors of the edited texts if the stage
    similarity has run with the same model. Vectors that another machine computes may differ in their last
    bits.

    Returns:
        The path of the file.

    Raises:
        UserError: There are no vectors.
    """
    folders = DatasetFolders()
    embed, edited = folders.stage_dir("embed"), folders.stage_dir("similarity")
    model = read_json(embed / "embed.json", EmbedReport).model
    if model is None:
        raise UserError(
            f"{embed}: there are no embeddings, because no CLIP subset is made (ingest.subsets); nothing to export"
        )
    images = make_cache_keys(model, "image", (image.sha256 for image in folders.read_records(ImageRecord)))
    tables = [(images, embed / "images.npy")]
    report = edited / "similarity.json"
    same = report.exists() and read_json(report, SimilarityReport).model == model
    for folder in (embed, edited) if same else (embed,):
        texts = read_json(folder / "texts.json", list[str])
        tables.append((make_cache_keys(model, "text", texts), folder / "texts.npy"))
    keys = [key for table_keys, _ in tables for key in table_keys]
    vectors = np.concatenate([np.load(path) for _, path in tables])
    # A text may be in both tables. The first vector of the text is written.
    first = list(dict(zip(reversed(keys), reversed(range(len(keys))), strict=True)).values())
    write_precomputed(folders.embeddings / PRECOMPUTED_FILE_NAME, [keys[i] for i in first], vectors[first])
    return folders.embeddings / PRECOMPUTED_FILE_NAME
