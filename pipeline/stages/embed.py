"""Encode the images, and each distinct text of the questions about these images, as unit vectors.

Reads   ingest/images.jsonl, ingest/questions.jsonl, ingest/ingest.json, the image files, and embeddings/clip.safetensors if it exists
Writes  images.npy, image_ids.json   float32 [n, d]; row i is image i, sorted by id
        texts.npy, texts.json        float32 [m, d]; row i is text i, sorted
        embed.json                   the model and counts

The model is loaded only if a vector is missing both in the cache and in `embeddings/`, or if the folder of
the model does not describe the model completely.
Without CLIP subsets (`ingest.subsets`) no model is needed, and the vectors have no components (d = 0).
"""

from __future__ import annotations

from contextlib import closing
from functools import cache, partial
from pathlib import Path

from pipeline.candidates.encoders import clip
from pipeline.candidates.encoders.embedding_cache import (
    EmbedParams,
    EmbedReport,
    make_cache_keys,
    open_cache,
    write_empty_npy,
)
from pipeline.candidates.encoders.weights import find_pretrained_conflict, list_local_files
from pipeline.core.errors import Problems, UserError, format_count, run_command
from pipeline.core.params import load_params
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import CLIP_SUBSETS, ImageRecord

# The bundled sample, and the SHA-256 of the weights in its folder `clip`.
SAMPLE_DATASET = "sample"
SAMPLE_CLIP_SHA256 = "64d21db0691f6d7193749ebd98f85a964723e6c15ff5595cb342883f8aff201a"


def main() -> None:
    params, folders = load_params("embed", EmbedParams), DatasetFolders()
    out, images = folders.stage_dir("embed"), list(folders.read_records(ImageRecord))
    ids = [image.image_id for image in images]
    question_texts = [question.text for question in folders.read_questions_about(set(ids))]
    texts = sorted(set(question_texts))
    if not texts:
        raise UserError(
            f"{folders.stage_dir('ingest')}: {format_count(len(images), 'image')} and no question about any of these images. "
            "Check the source and ingest.split."
        )

    if not set(CLIP_SUBSETS).intersection(folders.read_subsets()):
        for name, rows in (("images", ids), ("texts", texts)):
            write_empty_npy(out / f"{name}.npy", len(rows))
        report = EmbedReport(
            model=None, images=len(images), questions=len(question_texts), distinct_texts=len(texts)
        )
        what = "nothing encoded, because no CLIP subset is made"
        folders.write_stage_outputs(
            "embed", what, {"image_ids.json": ids, "texts.json": texts, "embed.json": report}
        )
        return
    check_model_location(params, folders.clip)
    encoder = cache(partial(load_encoder, params))
    model = clip.read_model_record(params.model, params.pretrained) or encoder().record
    check_sample_model(params, model, folders.dataset)
    image_keys = make_cache_keys(model, "image", (image.sha256 for image in images))
    text_keys = make_cache_keys(model, "text", texts)
    with closing(open_cache(folders, model.dimension)) as vectors:
        # Texts are encoded first, so that a text that is too long is reported before the images are encoded,
        # which takes most of the time.
        encoded = vectors.encode_missing(
            text_keys, texts, lambda missing: encoder().encode_texts(missing, params.text_batch_size), "texts"
        )
        paths = [image.path for image in images]
        encoded += vectors.encode_missing(
            image_keys,
            paths,
            lambda missing: encoder().encode_images(missing, params.image_batch_size),
            "images",
        )
        vectors.write_npy(out / "images.npy", image_keys)
        vectors.write_npy(out / "texts.npy", text_keys)
    report = EmbedReport(
        model=model,
        images=len(images),
        questions=len(question_texts),
        distinct_texts=len(texts),
        uses_sample_clip=is_sample_model(model) and folders.dataset != SAMPLE_DATASET,
    )
    what = f"{format_count(len(images), 'image')} and {len(texts):,} texts ({encoded:,} newly encoded)"
    folders.write_stage_outputs(
        "embed", what, {"image_ids.json": ids, "texts.json": texts, "embed.json": report}
    )


def load_encoder(params: EmbedParams) -> clip.Encoder:
    """Load the CLIP model.

    Raises:
        UserError: The model cannot be loaded, or is not the model that its folder describes.
    """
    encoder = clip.Encoder(params.model, params.pretrained, device=params.device)
    if clip.read_model_record(params.model, params.pretrained) not in (None, encoder.record):
        raise UserError(
            f"embed: {params.model}: open_clip {encoder.record.open_clip} reads this folder differently than the pipeline, so "
            "vectors would be stored under a wrong key. Install the version of open_clip that requirements.lock names."
        )
    return encoder


def is_sample_model(model: clip.ModelRecord) -> bool:
    """Report whether a model is the CLIP model of the bundled sample, wherever its files are."""
    return model.weights_sha256 == SAMPLE_CLIP_SHA256


def check_sample_model(params: EmbedParams, model: clip.ModelRecord, dataset: str) -> None:
    """Refuse the sample's model for other images unless it is allowed.

    Raises:
        UserError: It is not allowed.
    """
    if is_sample_model(model) and dataset != SAMPLE_DATASET and not params.allow_sample_clip:
        raise UserError(
            f"embed.model: {params.model} is the CLIP model of the sample. It knows only the sample's synthetic world, so its scores of the images "
            f"of {dataset} mean little. Use another model (docs/guides/own_data.md), make subsets without CLIP "
            "(ingest.subsets: [pt-easy, pt-hard]), or set embed.allow_sample_clip: true for a try; the release card then says so."
        )


def check_model_location(params: EmbedParams, folder: Path) -> None:
    """Check that `model` and `pretrained` name one model, and that the files of the model are in a folder
    that DVC tracks.

    Args:
        params: Parameters of stage `embed`.
        folder: The folder that DVC tracks.

    Raises:
        UserError: Lists everything that is wrong.
    """
    problems = Problems("embed")
    if fault := find_pretrained_conflict(params.model, params.pretrained):
        problems.add("pretrained", fault)
    for path in list_local_files(params.model, params.pretrained):
        if not path.resolve().is_relative_to(folder.resolve()):
            problems.add(
                str(path),
                f"the model is outside of {folder}, so dvc repro would not notice changes. Move or copy it there and name that path.",
            )
    problems.raise_if_any()


if __name__ == "__main__":
    run_command(main)
