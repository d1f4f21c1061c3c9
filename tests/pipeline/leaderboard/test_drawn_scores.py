import numpy as np
import pytest

from pipeline.leaderboard.drawn_scores import on_draws
from pipeline.leaderboard.paired_scores import answered, kinds_of
from pipeline.scorers.answered import Options
from pipeline.scorers.bootstrap import clusters, draws
from pipeline.scorers.by_kind import SHOWN
from pipeline.scorers.resampling import resampled


@pytest.fixture
def drawn(benchmark, said):
    """`drawn(decimals, answers)`: a model on pt-hard, each item's picture, and 30 draws of these."""

    def make(decimals=6, worth=None):
        model = said(1.0, 3)
        model = model._replace(confidence=model.confidence.round(decimals))
        at = answered(benchmark.subsets["pt-hard"], model, Options())
        at = at if worth is None else at._replace(correct=at.correct * worth)
        count, (picture,) = clusters([at.items.clusters.tolist()])
        return at, picture, np.array([*draws(count, range(30), 5)])

    return make


@pytest.mark.parametrize("worth", [None, 0.3, 0.0])  # answers of people may be right in part
@pytest.mark.parametrize("decimals", [6, 0, -2])  # without ties, with some, all tied
def test_scores_are_those_of_the_scorers_own_resampling(decimals, worth, drawn):
    at, picture, draws = drawn(decimals, worth)
    kinds = kinds_of(at.items)
    assert "missing object" in kinds
    found = on_draws(at, picture, draws, kinds)
    exact = {"rtol": 0, "atol": 0 if worth is None else 1e-12}
    scores = resampled(at, picture, Options(), ("realistic",))
    for name in SHOWN:
        np.testing.assert_allclose(found["", name], [scores(draw)[name] for draw in draws], **exact)
    for kind, which in kinds.items():
        scores = resampled(at.at(which), picture[which], Options(), ("realistic",))
        np.testing.assert_allclose(found[kind, "auaf"], [scores(draw)["auaf"] for draw in draws], **exact)


def test_draws_that_are_held_in_parts_give_the_same(drawn, monkeypatch):
    whole = on_draws(*drawn(), {})
    monkeypatch.setattr("pipeline.leaderboard.drawn_scores.TOGETHER", 500)
    parts = on_draws(*drawn(), {})
    for name, repeated in whole.items():
        np.testing.assert_array_equal(parts[name], repeated)


def test_a_draw_without_a_uq_of_the_kind_or_without_any_is_undefined(drawn):
    at, picture, draws = drawn()
    draws = np.ones((2, draws.shape[1]), int)
    draws[0, 3] = 0
    draws[1] = 0
    only = at.items.answerable | (at.items["picture"] == "n3")
    found = on_draws(at, picture, draws, {"one": only})
    assert np.isnan(found["one", "auaf"]).all()
    for name in SHOWN:
        assert np.isnan(found["", name]).tolist() == [False, True]
