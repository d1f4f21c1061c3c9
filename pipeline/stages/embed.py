"""Turn the pictures, and each distinct text of the questions asked about them, into unit vectors.

Reads   ingest/pictures.jsonl, ingest/questions.jsonl, the picture files, vectors/clip.safetensors if there is one
Writes  pictures.npy, picture_ids.json   float32 [n, d]; row i is picture i, ids sorted
        texts.npy, texts.json            float32 [m, d]; row i is text i, texts sorted
        embed.json                       the model, how many of each
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np

from pipeline.core import params
from pipeline.core.errors import UserError, run
from pipeline.core.files import read_json, read_jsonl, replacing, write_json
from pipeline.core.params import Params
from pipeline.core.paths import DATA, Folders
from pipeline.core.progress import done, track
from pipeline.core.records import Picture, Question
from pipeline.encoders import clip
from pipeline.encoders.cache import Cache, key, write_seed

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
    device: clip.Device = "auto"
    picture_batch: Annotated[int, msgspec.Meta(ge=1, le=4096)] = 32
    text_batch: Annotated[int, msgspec.Meta(ge=1, le=4096)] = 128


class EmbedReport(msgspec.Struct, frozen=True, kw_only=True):
    """Counts and the model. `distinct_texts` <= `questions`: each text is encoded once."""

    model: clip.ModelRecord
    pictures: int
    questions: int
    distinct_texts: int


def distinct_texts(questions: Iterable[Question]) -> list[str]:
    """Each text once, sorted by code point."""
    return sorted({question.text for question in questions})


def encode_missing(
    cache: Cache, contents: Mapping[bytes, str], encode: Callable[[list[str]], clip.Batches], label: str
) -> int:
    """Encode the contents (by key) that the cache lacks, keeping each batch as it comes; return how many those were."""
    missing = cache.missing(list(contents))
    if missing:
        for indices, vectors in track(encode([contents[k] for k in missing]), label, unit="batch"):
            cache.put([missing[i] for i in indices], vectors)
    return len(missing)


def write_vectors(path: Path, cache: Cache, keys: Sequence[bytes]) -> None:
    """Write the vectors of `keys`, in that order, as a .npy file of which only a part is ever in memory."""
    with replacing(path) as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (len(keys), cache.dimension)}
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, len(keys), WRITTEN_AT_ONCE):
            file.write(cache.get(keys[start : start + WRITTEN_AT_ONCE]).astype("<f4").tobytes())


def main() -> None:
    chosen = params.load("embed", EmbedParams)
    folders = Folders()
    out, ingest = folders.stage("embed"), folders.stage("ingest")
    pictures = list(read_jsonl(ingest / "pictures.jsonl", Picture))
    shown = {picture.picture_id for picture in pictures}
    questions = [q for q in read_jsonl(ingest / "questions.jsonl", Question) if q.picture_id in shown]
    texts = distinct_texts(questions)
    if not texts:
        raise UserError(
            f"{ingest}: {len(pictures)} pictures and no question about any of them; check the source and ingest.split"
        )

    encoder = clip.load(chosen.model, chosen.pretrained, device=chosen.device)
    picture_keys, text_keys = _keys(encoder.record, pictures, texts)
    cache = Cache(CACHE, encoder.record.dimension, seed=folders.vectors / SEED)
    paths = dict(zip(picture_keys, (picture.path for picture in pictures), strict=True))
    # texts first: one that is too long is then known before the pictures, which take most of the time
    new = encode_missing(
        cache,
        dict(zip(text_keys, texts, strict=True)),
        lambda items: encoder.texts(items, chosen.text_batch),
        "texts",
    )
    new += encode_missing(
        cache, paths, lambda items: encoder.pictures(items, chosen.picture_batch), "pictures"
    )

    write_vectors(out / "pictures.npy", cache, picture_keys)
    write_json(out / "picture_ids.json", [picture.picture_id for picture in pictures])
    write_vectors(out / "texts.npy", cache, text_keys)
    write_json(out / "texts.json", texts)
    report = EmbedReport(
        model=encoder.record, pictures=len(pictures), questions=len(questions), distinct_texts=len(texts)
    )
    write_json(out / "embed.json", report)
    cache.close()
    done("embed", f"{len(pictures):,} pictures and {len(texts):,} texts ({new:,} newly encoded)", out)


def export_vectors() -> Path:
    """Write embed's vectors as the data set's seed, so that they need not (and on another machine, in the last
    bits, could not) be computed again. Returns the file."""
    folders = Folders()
    out = folders.stage("embed")
    model = read_json(out / "embed.json", EmbedReport).model
    pictures = read_jsonl(folders.stage("ingest") / "pictures.jsonl", Picture)
    picture_keys, text_keys = _keys(model, pictures, read_json(out / "texts.json", list[str]))
    vectors = np.concatenate([np.load(out / "pictures.npy"), np.load(out / "texts.npy")])
    path = folders.vectors / SEED
    write_seed(path, [*picture_keys, *text_keys], vectors)
    return path


def _keys(
    model: clip.ModelRecord, pictures: Iterable[Picture], texts: Iterable[str]
) -> tuple[list[bytes], list[bytes]]:
    made_by = model.fingerprint, model.preprocessing
    return [key(*made_by, "picture", p.sha256) for p in pictures], [
        key(*made_by, "text", text) for text in texts
    ]


if __name__ == "__main__":
    run(main)
