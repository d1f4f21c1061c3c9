import math
from functools import partial

import numpy as np
import pytest

from pipeline.scorers import bootstrap
from pipeline.scorers.answered import Options
from pipeline.scorers.bootstrap import clusters, draws, interval, replicates
from pipeline.scorers.resampling import resampled
from tests.pipeline.scorers.conftest import answered


def test_the_bootstrap_resamples_pictures_with_all_their_items():
    # Picture n1 holds items 0 and 1: whatever is drawn, they have one weight.
    count, (place,) = clusters([["n1", "n1", "n2"]])
    weights = np.array(list(draws(count, range(500), 0)))
    assert weights.shape == (500, 2) and (weights.sum(axis=1) == 2).all() and place.tolist() == [0, 0, 1]
    # Each count is binomial(2, 1/2): mean 1, standard error 0.03.
    assert weights.mean(axis=0) == pytest.approx([1, 1], abs=0.12)


def test_a_picture_of_two_subsets_has_one_number():
    count, places = clusters([["n1", "n2"], ["n2", "n3"]])
    assert count == 3 and [place.tolist() for place in places] == [[0, 1], [1, 2]]


def test_one_seed_draws_the_same_pictures():
    first, again, other = (np.array(list(draws(4, range(5), seed))) for seed in (7, 7, 8))
    assert (first == again).all() and (first != other).any() and (first.sum(axis=1) == 4).all()


def test_an_interval_is_the_middle_95_percent():
    assert interval(np.arange(1001) / 1000) == pytest.approx((0.025, 0.975))
    assert interval(np.arange(1001) / 1000, level=0.5) == pytest.approx((0.25, 0.75))


def test_an_interval_needs_95_percent_of_the_repetitions():
    # 5 of 100 undefined: the interval of the others, 0 to 94; 6 of 100: none.
    values = np.append(np.arange(95.0), [math.nan] * 5)
    assert interval(values) == pytest.approx((0.025 * 94, 0.975 * 94))
    values[94] = math.nan
    assert all(math.isnan(bound) for bound in interval(values))
    assert all(math.isnan(bound) for bound in interval(np.array([1.0, math.nan])))


@pytest.mark.parametrize("repetitions", [1, 21])
def test_two_threads_give_what_one_gives(monkeypatch, repetitions):
    joined = {"s": answered()}
    scoring = partial(resampled, groups=("realistic", "selective"))
    options = Options(bootstrap=repetitions)
    alone = replicates(joined, scoring, options)
    monkeypatch.setattr(bootstrap, "MANY", 1)
    beside = replicates(joined, scoring, options)
    assert alone["s"].keys() == beside["s"].keys()
    for name, values in alone["s"].items():
        assert values.tolist() == pytest.approx(beside["s"][name].tolist(), nan_ok=True, abs=0)
