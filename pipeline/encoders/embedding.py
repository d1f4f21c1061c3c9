"""The vectors of a data set's pictures and texts: parameters, report, what is still to encode, and files of vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np

from pipeline.core.files import read_json, read_jsonl, replacing
from pipeline.core.params import Params
from pipeline.core.paths import DATA, Folders
from pipeline.core.progress import track
from pipeline.core.records import Picture, Record
from pipeline.encoders.cache import Cache, keys, write_seed
from pipeline.encoders.clip import Batches, Device, ModelRecord

CACHE = DATA / "cache" / "vectors.sqlite"
SEED = "clip.safetensors"  # in the data set's folder `vectors`
WRITTEN_AT_ONCE = 8192  # rows held in memory while a table is written


class EmbedParams(Params):
    """Parameters of embed.

    Attributes:
        model, pretrained: as open_clip names them; see `clip.load`.
        device: "auto" takes the GPU when there is one.
        picture_batch, text_batch: how many at once; they change the speed, not the vectors.
    """

    model: str
    pretrained: str = ""
    device: Device = "auto"
    picture_batch: Annotated[int, msgspec.Meta(ge=1, le=4096)] = 32
    text_batch: Annotated[int, msgspec.Meta(ge=1, le=4096)] = 128


class EmbedReport(Record):
    """Counts and the model. `distinct_texts` <= `questions`: each text is encoded once."""

    model: ModelRecord
    pictures: int
    questions: int
    distinct_texts: int


def encode_missing(
    cache: Cache,
    wanted: Sequence[bytes],
    contents: Sequence[str],
    encode: Callable[[list[str]], Batches],
    label: str,
) -> int:
    """Encode those contents whose vectors the cache lacks and keep each batch as it comes.

    Args:
        wanted: the key of each of `contents`; equal contents have equal keys and are encoded once.
        encode: `Encoder.pictures` or `Encoder.texts` with a batch size.

    Returns:
        How many were encoded.
    """
    content_of = dict(zip(wanted, contents, strict=True))
    missing = cache.missing(wanted)
    if missing:
        for indices, vectors in track(encode([content_of[key] for key in missing]), label, unit="batch"):
            cache.put([missing[i] for i in indices], vectors)
    return len(missing)


def write_vectors(path: Path, cache: Cache, wanted: Sequence[bytes]) -> None:
    """Write the vectors of keys, in that order, as a .npy file of which only a part is ever in memory."""
    with replacing(path) as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (len(wanted), cache.dimension)}
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, len(wanted), WRITTEN_AT_ONCE):
            file.write(cache.get(wanted[start : start + WRITTEN_AT_ONCE]).astype("<f4").tobytes())


def export_vectors() -> Path:
    """Write embed's vectors as the data set's seed, so that they need not (and on another machine, in the last
    bits, could not) be computed again. Returns the file."""
    folders = Folders()
    embed = folders.stage("embed")
    model = read_json(embed / "embed.json", EmbedReport).model
    pictures = read_jsonl(folders.stage("ingest") / "pictures.jsonl", Picture)
    picture_keys = keys(model, "picture", (picture.sha256 for picture in pictures))
    text_keys = keys(model, "text", read_json(embed / "texts.json", list[str]))
    vectors = np.concatenate([np.load(embed / "pictures.npy"), np.load(embed / "texts.npy")])
    write_seed(folders.vectors / SEED, [*picture_keys, *text_keys], vectors)
    return folders.vectors / SEED
