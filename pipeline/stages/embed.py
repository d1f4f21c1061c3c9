"""Turn the pictures, and each distinct text of the questions asked about them, into unit vectors.

Reads   ingest/pictures.jsonl, ingest/questions.jsonl, the picture files, vectors/clip.safetensors if there is one
Writes  pictures.npy, picture_ids.json   float32 [n, d]; row i is picture i, ids sorted
        texts.npy, texts.json            float32 [m, d]; row i is text i, texts sorted
        embed.json                       the model, how many of each
"""

from __future__ import annotations

from contextlib import closing

from pipeline.core.errors import UserError, run
from pipeline.core.files import read_jsonl, write_json
from pipeline.core.params import load
from pipeline.core.paths import Folders
from pipeline.core.progress import done
from pipeline.core.records import Picture, Question
from pipeline.encoders import clip
from pipeline.encoders.cache import Cache, keys
from pipeline.encoders.embedding import CACHE, SEED, EmbedParams, EmbedReport, encode_missing, write_vectors


def main() -> None:
    params, folders = load("embed", EmbedParams), Folders()
    out, ingest = folders.stage("embed"), folders.stage("ingest")
    pictures = list(read_jsonl(ingest / "pictures.jsonl", Picture))
    picture_ids = [picture.picture_id for picture in pictures]
    shown = set(picture_ids)
    asked = [q.text for q in read_jsonl(ingest / "questions.jsonl", Question) if q.picture_id in shown]
    texts = sorted(set(asked))
    if not texts:
        raise UserError(
            f"{ingest}: {len(pictures)} pictures and no question about any of them; check the source and ingest.split"
        )

    encoder = clip.load(params.model, params.pretrained, device=params.device)
    model = encoder.record
    picture_keys = keys(model, "picture", (picture.sha256 for picture in pictures))
    text_keys = keys(model, "text", texts)
    with closing(Cache(CACHE, model.dimension, seed=folders.vectors / SEED)) as cache:
        # texts first: one that is too long is then known before the pictures, which take most of the time
        encoded = encode_missing(
            cache, text_keys, texts, lambda missing: encoder.texts(missing, params.text_batch), "texts"
        ) + encode_missing(
            cache,
            picture_keys,
            [picture.path for picture in pictures],
            lambda missing: encoder.pictures(missing, params.picture_batch),
            "pictures",
        )
        write_vectors(out / "pictures.npy", cache, picture_keys)
        write_json(out / "picture_ids.json", picture_ids)
        write_vectors(out / "texts.npy", cache, text_keys)
        write_json(out / "texts.json", texts)
    report = EmbedReport(model=model, pictures=len(pictures), questions=len(asked), distinct_texts=len(texts))
    write_json(out / "embed.json", report)
    done("embed", f"{len(pictures):,} pictures and {len(texts):,} texts ({encoded:,} newly encoded)", out)


if __name__ == "__main__":
    run(main)
