import numpy as np
import pytest
import yaml

from pipeline.auditing.clip_histograms import histograms
from pipeline.core.errors import UserError
from pipeline.core.files import write_json
from pipeline.core.paths import Folders
from pipeline.core.records import Item
from pipeline.encoders.cache import Cache, keys
from pipeline.encoders.clip import ModelRecord
from pipeline.reporting.clip_scores import scores_by_kind, scores_of_edited


def items(aqs, uqs):
    return [
        Item(
            item_id=f"{kind}{i}",
            subset="pt-easy",
            picture_id="n1",
            question_id="1",
            text="?",
            unanswerable=kind == "u",
            answer="",
            pair_id="p",
            part="test",
            score=score,
        )
        for kind, scores in (("a", aqs), ("u", uqs))
        for i, score in enumerate(scores)
    ]


def test_scores_given_apart_fill_those_that_are_missing_and_no_others():
    # u0 as given, u1 as the item says, u2 has none
    rows = items([0.0, 1.0], [None, 1.0, None])
    assert scores_by_kind(rows, {"u0": 0.0, "u1": 0.5}) == ([0.0, 1.0], [0.0, 1.0])


def test_a_runs_histograms_have_the_audits_figures(run):
    for subset in ("clip-easy", "clip-hard"):
        drawn = histograms(*scores_by_kind(run.items[subset], {}))
        audit = run.audit.subsets[subset]
        assert (drawn.area, drawn.distance) == (audit.clip_overlap, audit.clip_distance)


MODEL = {
    "model": "none",
    "pretrained": "",
    "weights_sha256": "00",
    "fingerprint": "f",
    "preprocessing": "p",
    "quick_gelu": False,
    "dimension": 2,
    "context_length": 8,
    "open_clip": "3",
    "torch": "2",
}


@pytest.fixture
def embedded(tmp_path, monkeypatch):
    """Two pictures along the axes, and the vectors of two edited texts in the cache."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "params.yaml").write_text(yaml.safe_dump({"dataset": "d", "d": {"embed": {"model": "none"}}}))
    folder = tmp_path / "data/d/interim/embed"
    folder.mkdir(parents=True)
    np.save(folder / "pictures.npy", np.array([[1, 0], [0, 1]], np.float32))
    write_json(folder / "picture_ids.json", ["n1", "n2"])
    write_json(folder / "embed.json", {"model": MODEL, "pictures": 2, "questions": 0, "distinct_texts": 0})
    cache = Cache(tmp_path / "data/cache/vectors.sqlite", 2)
    cache.put(
        keys(ModelRecord(**MODEL), "text", ["Is it red?", "Is it blue?"]),
        np.array([[0.6, 0.8], [1, 0]], np.float32),
    )
    cache.close()
    return Folders("d")


def edited(name, text, picture, score=None):
    return Item(
        item_id=name,
        subset="pt-easy",
        picture_id=picture,
        question_id="1",
        text=text,
        unanswerable=True,
        answer="",
        pair_id="p",
        part="test",
        score=score,
    )


def test_an_edited_question_is_scored_by_the_cosine_with_its_picture(embedded):
    rows = [
        edited("a", "Is it red?", "n1"),
        edited("b", "Is it red?", "n2"),
        edited("c", "Is it blue?", "n2"),
        edited("d", "Never seen", "n1", 0.25),
    ]
    # (0.6, 0.8) . (1, 0) = 0.6, . (0, 1) = 0.8; (1, 0) . (0, 1) = 0; d has its score already
    assert scores_of_edited(rows, embedded) == {"a": 0.6, "b": 0.8, "c": 0.0}


def test_a_text_that_needs_a_model_that_is_not_there_is_an_error(embedded):
    with pytest.raises(UserError, match="none"):
        scores_of_edited([edited("a", "Not in the cache", "n1")], embedded)
