import json

import numpy as np
import pytest

from pipeline.core.errors import UserError
from pipeline.core.files import write_json
from pipeline.ranking.clip_vectors import read_vectors
from tests.pipeline.ranking.small_world import world


@pytest.fixture
def embedded(tmp_path):
    """The vectors of the small world as embed writes them."""
    _, vectors = world()
    for name, value in (("picture_ids", vectors.picture_ids), ("texts", vectors.text_list)):
        write_json(tmp_path / f"{name}.json", value)
    np.save(tmp_path / "pictures.npy", vectors.pictures)
    np.save(tmp_path / "texts.npy", vectors.texts)
    return tmp_path


def test_vectors_are_read_as_they_were_written(embedded):
    vectors = read_vectors(embedded)
    assert np.array_equal(vectors.texts, world()[1].texts) and vectors.picture_ids == world()[1].picture_ids


def test_vectors_that_do_not_fit_are_all_named(embedded):
    texts = np.load(embedded / "texts.npy")
    texts[3] *= 2
    texts[5, 0] = np.nan
    np.save(embedded / "texts.npy", texts)
    np.save(embedded / "pictures.npy", np.zeros((2, 24), np.float32))
    with pytest.raises(UserError) as caught:
        read_vectors(embedded)
    text = str(caught.value)
    assert "(2, 24), expected float32 with 12 rows" in text and "texts.npy, row 3" in text and "row 5" in text
    (embedded / "pictures.npy").write_bytes(b"")
    with pytest.raises(UserError, match="pictures.npy"):
        read_vectors(embedded)
    (embedded / "texts.json").write_text(json.dumps(["a"]))
    with pytest.raises(UserError, match="expected float32 with 1 rows"):
        read_vectors(embedded)
