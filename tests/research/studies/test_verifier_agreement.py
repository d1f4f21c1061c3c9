import numpy as np
import pytest

from pipeline.benchmark.auditing.verifier_agreement import run_trials
from research.studies.verifier_agreement import format_verdicts, sample_committed
from tests.benchmark.auditing.two_images import A, B, source


def test_half_of_the_verdicts_are_about_own_images_and_all_are_committed():
    found = source(*A, *B)
    some = sample_committed(list(run_trials(found, 5, np.random.default_rng(0))), 4, seed=3)
    assert [t.is_own_image for t in some] == [True, True, False, False] and all(t.committed for t in some)
    text = format_verdicts(some, found)
    assert text.count("\n## ") + 1 == 4
    assert (
        "- cup (2): color red (a2)" in text
        and "Verdict: **answerable red**" in text
        and "- no cup in the image (b1)" in text
    )


@pytest.mark.parametrize("seed", [1, 2])
def test_the_same_seed_shows_the_same(seed):
    found = list(run_trials(source(*A, *B), 5, np.random.default_rng(seed)))
    assert [t.image_id for t in sample_committed(found, 4, seed)] == [
        t.image_id for t in sample_committed(found, 4, seed)
    ]
    assert [t.image_id for t in found] == [
        t.image_id for t in run_trials(source(*A, *B), 5, np.random.default_rng(seed))
    ]
