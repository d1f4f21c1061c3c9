import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.errors import UserError
from pipeline.core.files import write_json
from pipeline.core.paths import Folders
from pipeline.core.records import Item
from pipeline.encoders.cache import Cache, key
from pipeline.reporting.clip_scores import BINS, histograms, scores_of_edited


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


@pytest.mark.parametrize(
    ("aqs", "uqs", "area", "distance"),
    [
        # 50 bins from 0 to 1, each 0.02 wide: 0 lies in bin 0, 0.5 in bin 25, 1 in bin 49 (the last has its upper edge).
        # Shares of AQ 1/2, 1/4, 1/4, of UQ 1/4, 1/2, 1/4: 1/4 + 1/4 + 1/4 = 3/4. Means 1.5/4 and 2/4.
        ([0, 0, 0.5, 1], [0, 0.5, 0.5, 1], 0.75, -0.125),
        ([0, 0.1, 1], [0, 0.1, 1], 1.0, 0.0),
        ([0.9, 1.0], [0.0, 0.1], 0.0, 0.9),
        # 0.501 and 0.519 share bin 25 (0.50 to 0.52), 0.521 lies in bin 26. The bins from 0 to 1: AQ 1/3 each in 0, 25
        # and 49; UQ 1/2 each in 25 and 26. Overlap 1/3. Means 1.501/3 and 1.04/2.
        ([0, 0.501, 1], [0.519, 0.521], 1 / 3, 1.501 / 3 - 0.52),
    ],
)
def test_overlap_and_distance_are_those_of_arithmetic(aqs, uqs, area, distance):
    found = histograms(items(aqs, uqs), {})
    assert (found.area, found.distance) == (pytest.approx(area, abs=1e-4), pytest.approx(distance, abs=1e-6))


SCORES = st.lists(st.floats(-1, 1).map(lambda x: round(x, 6)), min_size=1, max_size=30)


@given(SCORES, SCORES)
def test_what_is_drawn_is_what_is_counted(aqs, uqs):
    found = histograms(items(aqs, uqs), {})
    assert (len(found.aq), len(found.uq), len(found.edges)) == (BINS, BINS, BINS + 1)
    assert sum(found.aq) == pytest.approx(1) and sum(found.uq) == pytest.approx(1)
    assert found.area == pytest.approx(sum(map(min, found.aq, found.uq)), abs=1e-4)
    assert found.distance == pytest.approx(found.aq_mean - found.uq_mean, abs=1e-6)


def test_scores_given_apart_fill_those_that_are_missing_and_no_others():
    rows = items([0.0, 1.0], [None, 1.0, None])
    found = histograms(rows, {"u0": 0.0, "u1": 0.5})
    assert found.unscored == 1
    assert (found.uq[0], found.uq[49]) == (0.5, 0.5)  # u0 as given, u1 as the item says


@pytest.mark.parametrize(("aqs", "uqs"), [([], [0.1]), ([0.1], []), ([None], [0.1])])
def test_without_scores_of_both_kinds_there_is_no_histogram(aqs, uqs):
    assert histograms(items(aqs, uqs), {}) is None


def test_a_run_has_the_audits_figures(run):
    for subset in ("clip-easy", "clip-hard"):
        found = histograms(run.items[subset], {})
        audit = run.reports["audit"]["subsets"][subset]
        assert (found.area, found.distance) == (audit["clip_overlap"], audit["clip_distance"])


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
        [key("f", "p", "text", text) for text in ("Is it red?", "Is it blue?")],
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
