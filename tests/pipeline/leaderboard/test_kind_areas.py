import numpy as np
import pytest

from pipeline.leaderboard.kind_areas import areas
from pipeline.leaderboard.paired_scores import answered, kinds_of
from pipeline.scorers.answered import Options
from pipeline.scorers.bootstrap import clusters, draws
from pipeline.scorers.resampling import resampled


@pytest.mark.parametrize("decimals", [6, 0])  # without and with ties
def test_areas_are_those_of_the_scorers_own_resampling(decimals, benchmark, said):
    model = said(1.0, 3)
    model = model._replace(confidence=model.confidence.round(decimals))
    at = answered(benchmark.subsets["pt-hard"], model, Options())
    count, (picture,) = clusters([at.items.clusters.tolist()])
    drawn = np.array([*draws(count, range(30), 5)])
    kinds = kinds_of(at.items) | {"all": np.ones(len(at.items), bool)}
    assert "missing object" in kinds
    for kind, found in areas(at, picture, drawn, kinds).items():
        scores = resampled(at.at(kinds[kind]), picture[kinds[kind]], Options(), ("realistic",))
        np.testing.assert_allclose(found, [scores(draw)["auaf"] for draw in drawn], rtol=0, atol=1e-12)


def test_draws_that_are_held_in_parts_give_the_same(benchmark, said, monkeypatch):
    at = answered(benchmark.subsets["pt-hard"], said(1.0, 3), Options())
    count, (picture,) = clusters([at.items.clusters.tolist()])
    drawn = np.array([*draws(count, range(30), 5)])
    kinds = {"all": np.ones(len(at.items), bool)}
    whole = areas(at, picture, drawn, kinds)["all"]
    monkeypatch.setattr("pipeline.leaderboard.kind_areas.TOGETHER", 500)
    np.testing.assert_array_equal(areas(at, picture, drawn, kinds)["all"], whole)


def test_a_draw_without_a_uq_of_the_kind_is_undefined(benchmark, said):
    at = answered(benchmark.subsets["pt-hard"], said(), Options())
    count, (picture,) = clusters([at.items.clusters.tolist()])
    drawn = np.ones((1, count), int)
    drawn[0, 3] = 0
    only = at.items.answerable | (at.items["picture"] == "n3")
    assert np.isnan(areas(at, picture, drawn, {"one": only})["one"]).all()


def test_without_kinds_there_is_nothing(benchmark, said):
    at = answered(benchmark.subsets["pt-hard"], said(), Options())
    assert areas(at, np.zeros(80, int), np.ones((3, 1), int), {}) == {}
