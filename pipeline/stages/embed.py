"""Turn the pictures, and each distinct text of the questions asked about them, into unit vectors.

Reads   ingest/pictures.jsonl, ingest/questions.jsonl, the picture files, vectors/clip.safetensors if there is one
Writes  pictures.npy, picture_ids.json   float32 [n, d]; row i is picture i, ids sorted
        texts.npy, texts.json            float32 [m, d]; row i is text i, texts sorted
        embed.json                       the model, how many of each

The model is loaded only if there is a vector neither in the cache nor in `vectors/`, or its folder does not say all of it.
"""

from __future__ import annotations

from contextlib import closing
from functools import cache, partial
from pathlib import Path

from pipeline.candidates.encoders import clip
from pipeline.candidates.encoders.embedding_cache import CACHE, SEED, Cache, EmbedParams, EmbedReport, keys
from pipeline.candidates.encoders.weights import local_files, own_weights_fault
from pipeline.core.errors import Problems, UserError, counted, run
from pipeline.core.params import load
from pipeline.core.paths import Folders
from pipeline.core.records import Picture


def main() -> None:
    params, folders = load("embed", EmbedParams), Folders()
    out, pictures = folders.stage("embed"), list(folders.rows(Picture))
    ids = [picture.picture_id for picture in pictures]
    asked = [question.text for question in folders.asked(set(ids))]
    texts = sorted(set(asked))
    if not texts:
        raise UserError(
            f"{folders.stage('ingest')}: {counted(len(pictures), 'picture')} and no question about any of them; "
            "check the source and ingest.split"
        )

    check_place(params, folders.clip)
    encoder = cache(partial(loaded, params))
    model = clip.written_record(params.model, params.pretrained) or encoder().record
    picture_keys = keys(model, "picture", (picture.sha256 for picture in pictures))
    text_keys = keys(model, "text", texts)
    with closing(Cache(CACHE, model.dimension, seed=folders.vectors / SEED)) as kept:
        # texts first: one that is too long is then known before the pictures, which take most of the time
        encoded = kept.fill(text_keys, texts, lambda them: encoder().texts(them, params.text_batch), "texts")
        paths = [picture.path for picture in pictures]
        encoded += kept.fill(
            picture_keys, paths, lambda them: encoder().pictures(them, params.picture_batch), "pictures"
        )
        kept.write(out / "pictures.npy", picture_keys)
        kept.write(out / "texts.npy", text_keys)
    report = EmbedReport(model=model, pictures=len(pictures), questions=len(asked), distinct_texts=len(texts))
    what = f"{counted(len(pictures), 'picture')} and {len(texts):,} texts ({encoded:,} newly encoded)"
    folders.finish("embed", what, {"picture_ids.json": ids, "texts.json": texts, "embed.json": report})


def loaded(params: EmbedParams) -> clip.Encoder:
    """The model, ready to encode.

    Raises:
        UserError: it cannot be loaded, or is not what its folder says.
    """
    encoder = clip.Encoder(params.model, params.pretrained, device=params.device)
    if clip.written_record(params.model, params.pretrained) not in (None, encoder.record):
        raise UserError(
            f"embed: {params.model}: open_clip {encoder.record.open_clip} reads the folder otherwise than this pipeline, so "
            "that vectors would be kept under a wrong name; install the release of open_clip that requirements.lock names"
        )
    return encoder


def check_place(params: EmbedParams, home: Path) -> None:
    """Check that `model` and `pretrained` name one model, and that it lies where DVC sees it change.

    Raises:
        UserError: it does not; says everything that is wrong.
    """
    problems = Problems("embed")
    if fault := own_weights_fault(params.model, params.pretrained):
        problems.add("pretrained", fault)
    for place in local_files(params.model, params.pretrained):
        if not place.resolve().is_relative_to(home.resolve()):
            problems.add(
                str(place),
                f"a model outside of {home}, where dvc repro would not see it change; move or copy it there, and name that place",
            )
    problems.raise_if_any()


if __name__ == "__main__":
    run(main)
