"""The sample's committed vectors are those of its committed CLIP."""

import json

import numpy as np

from pipeline.candidates.encoders import clip
from pipeline.candidates.encoders.embedding_cache import make_cache_keys, read_precomputed
from pipeline.core.atomic_files import sha256_file
from tests.closure import ROOT

HOME = ROOT / "data/sample"


def test_computing_them_again_agrees_within_a_hundred_thousandth():
    encoder = clip.Encoder(f"local-dir:{HOME / 'clip'}", device="cpu")
    rows = dict(zip(*read_precomputed(HOME / "embeddings/clip.safetensors"), strict=True))
    questions = json.loads((HOME / "source/questions1.2/testdev_balanced_questions.json").read_text())
    texts = sorted({q["question"] for q in questions.values()})
    paths = sorted((HOME / "source/images").glob("*.jpg"))
    embedded = [
        *make_cache_keys(encoder.record, "text", texts),
        *make_cache_keys(encoder.record, "image", map(sha256_file, paths)),
    ]
    assert set(embedded) <= set(rows)
    # Beyond them the texts that perturb and screen leave, most questions in two: only a run tells which.
    assert len(embedded) < len(rows) < len(embedded) + 2 * len(questions)
    for index, vectors in encoder.encode_texts(texts[::100], 8):
        wanted = make_cache_keys(encoder.record, "text", (texts[::100][i] for i in index))
        assert np.abs(vectors - [rows[key] for key in wanted]).max() < 1e-5
    for index, vectors in encoder.encode_images(paths[::20], 4):
        wanted = make_cache_keys(encoder.record, "image", (sha256_file(paths[::20][i]) for i in index))
        assert np.abs(vectors - [rows[key] for key in wanted]).max() < 1e-5
