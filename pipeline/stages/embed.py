"""Turn the images, and each distinct text of the questions asked about them, into unit vectors.

Reads   ingest/images.jsonl, ingest/questions.jsonl, the image files, vectors/clip.safetensors if there is one
Writes  images.npy, image_ids.json   float32 [n, d]; row i is image i, ids sorted
        texts.npy, texts.json            float32 [m, d]; row i is text i, texts sorted
        embed.json                       the model, how many of each

The model is loaded only if there is a vector neither in the cache nor in `embeddings/`, or its folder does not say all of it.
"""

from __future__ import annotations

from contextlib import closing
from functools import cache, partial
from pathlib import Path

from pipeline.candidates.encoders import clip
from pipeline.candidates.encoders.embedding_cache import (
    CACHE_PATH,
    PRECOMPUTED_FILE_NAME,
    EmbeddingCache,
    EmbedParams,
    EmbedReport,
    make_cache_keys,
)
from pipeline.candidates.encoders.weights import find_pretrained_conflict, list_local_files
from pipeline.core.errors import Problems, UserError, format_count, run_command
from pipeline.core.params import load_params
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import ImageRecord


def main() -> None:
    params, folders = load_params("embed", EmbedParams), DatasetFolders()
    out, images = folders.stage_dir("embed"), list(folders.read_records(ImageRecord))
    ids = [image.image_id for image in images]
    asked = [question.text for question in folders.read_questions_about(set(ids))]
    texts = sorted(set(asked))
    if not texts:
        raise UserError(
            f"{folders.stage_dir('ingest')}: {format_count(len(images), 'image')} and no question about any of them; "
            "check the source and ingest.split"
        )

    check_model_location(params, folders.clip)
    encoder = cache(partial(load_encoder, params))
    model = clip.read_model_record(params.model, params.pretrained) or encoder().record
    image_keys = make_cache_keys(model, "image", (image.sha256 for image in images))
    text_keys = make_cache_keys(model, "text", texts)
    with closing(
        EmbeddingCache(CACHE_PATH, model.dimension, precomputed=folders.embeddings / PRECOMPUTED_FILE_NAME)
    ) as kept:
        # texts first: one that is too long is then known before the images, which take most of the time
        encoded = kept.encode_missing(
            text_keys, texts, lambda them: encoder().encode_texts(them, params.text_batch_size), "texts"
        )
        paths = [image.path for image in images]
        encoded += kept.encode_missing(
            image_keys,
            paths,
            lambda them: encoder().encode_images(them, params.image_batch_size),
            "images",
        )
        kept.write_npy(out / "images.npy", image_keys)
        kept.write_npy(out / "texts.npy", text_keys)
    report = EmbedReport(model=model, images=len(images), questions=len(asked), distinct_texts=len(texts))
    what = f"{format_count(len(images), 'image')} and {len(texts):,} texts ({encoded:,} newly encoded)"
    folders.write_stage_outputs(
        "embed", what, {"image_ids.json": ids, "texts.json": texts, "embed.json": report}
    )


def load_encoder(params: EmbedParams) -> clip.Encoder:
    """The model, ready to encode.

    Raises:
        UserError: it cannot be loaded, or is not what its folder says.
    """
    encoder = clip.Encoder(params.model, params.pretrained, device=params.device)
    if clip.read_model_record(params.model, params.pretrained) not in (None, encoder.record):
        raise UserError(
            f"embed: {params.model}: open_clip {encoder.record.open_clip} reads the folder otherwise than this pipeline, so "
            "that vectors would be kept under a wrong name; install the release of open_clip that requirements.lock names"
        )
    return encoder


def check_model_location(params: EmbedParams, folder: Path) -> None:
    """Check that `model` and `pretrained` name one model, and that it lies where DVC sees it change.

    Raises:
        UserError: it does not; says everything that is wrong.
    """
    problems = Problems("embed")
    if fault := find_pretrained_conflict(params.model, params.pretrained):
        problems.add("pretrained", fault)
    for place in list_local_files(params.model, params.pretrained):
        if not place.resolve().is_relative_to(folder.resolve()):
            problems.add(
                str(place),
                f"a model outside of {folder}, where dvc repro would not see it change; move or copy it there, and name that place",
            )
    problems.raise_if_any()


if __name__ == "__main__":
    run_command(main)
