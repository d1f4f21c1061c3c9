import numpy as np
import pytest

from pipeline.benchmark.auditing.verifier_agreement import trials
from research.studies.verifier_agreement import drawn, shown
from tests.benchmark.auditing.two_pictures import A, B, source


def test_half_of_the_verdicts_shown_are_of_own_pictures_and_all_were_dared():
    found = source(*A, *B)
    some = drawn(list(trials(found, 5, np.random.default_rng(0))), 4, seed=3)
    assert [t.own for t in some] == [True, True, False, False] and all(t.dared for t in some)
    text = shown(some, found)
    assert text.count("\n## ") + 1 == 4
    assert (
        "- cup (2): color red (a2)" in text
        and "Verdict: **answerable red**" in text
        and "- no cup in the picture (b1)" in text
    )


@pytest.mark.parametrize("seed", [1, 2])
def test_the_same_seed_shows_the_same(seed):
    found = list(trials(source(*A, *B), 5, np.random.default_rng(seed)))
    assert [t.picture_id for t in drawn(found, 4, seed)] == [t.picture_id for t in drawn(found, 4, seed)]
    assert [t.picture_id for t in found] == [
        t.picture_id for t in trials(source(*A, *B), 5, np.random.default_rng(seed))
    ]
