"""The sample's committed vectors are those of its committed CLIP."""

import json

import numpy as np

from pipeline.core.files import sha256_file
from pipeline.encoders import clip
from pipeline.encoders.cache import key, read_seed
from tests.closure import ROOT

HOME = ROOT / "data/sample"


def test_computing_them_again_agrees_within_a_hundred_thousandth():
    encoder = clip.load(f"local-dir:{HOME / 'clip'}", device="cpu")
    made_by = encoder.record.fingerprint, encoder.record.preprocessing
    keys, vectors = read_seed(HOME / "vectors/clip.safetensors")
    rows = dict(zip(keys, vectors, strict=True))
    questions = json.loads((HOME / "source/questions1.2/testdev_balanced_questions.json").read_text())
    texts = sorted({q["question"] for q in questions.values()})
    paths = sorted((HOME / "source/images").glob("*.jpg"))
    assert len(rows) == len(texts) + len(paths)  # nothing is missing, nothing is left over
    for index, found in encoder.texts(texts[::100], 8):
        assert np.abs(found - [rows[key(*made_by, "text", texts[::100][i])] for i in index]).max() < 1e-5
    for index, found in encoder.pictures(paths[::20], 4):
        assert (
            np.abs(found - [rows[key(*made_by, "picture", sha256_file(paths[::20][i]))] for i in index]).max()
            < 1e-5
        )
