import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from annotation.study.agreement import agreement, alpha, kappa
from annotation.study.judged import judged_tasks
from pipeline.core.records import Task, TaskQuestion, Verdict

V, X, U = "valid", "invalid", "unsure"


def task(key, subset="clip-hard"):
    return Task(
        task_id=key,
        picture_id="n1",
        subset=subset,
        first=TaskQuestion(key="1", text="candidate", role="candidate", candidate_id=f"c{key}"),
        second=TaskQuestion(key="2", text="filter", role="filter", expected="valid"),
    )


def verdict(key, who, candidate):
    return Verdict(verdict_id=key + who, task_id=key, annotator=who, first=candidate, second="valid")


def test_alpha_of_krippendorffs_own_example():
    # Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), section B: two observers, ten units, binary.
    # Coincidences: 00 -> 10, 01 and 10 -> 4, 11 -> 2; alpha = 1 - 19 * 4 / (14 * 6) = 0.095.
    first, second = (0, 1, 0, 0, 0, 0, 0, 0, 1, 0), (1, 1, 1, 0, 0, 1, 0, 0, 0, 0)
    counts = np.array([[(a, b).count(0), (a, b).count(1)] for a, b in zip(first, second, strict=True)])
    assert alpha(counts) == pytest.approx(1 - 19 * 4 / (14 * 6), abs=1e-12)


def test_alpha_with_different_numbers_of_verdicts_by_hand():
    # Units (3 valid), (1 valid, 2 invalid), (2 invalid), and one judged once, which does not count. n = 8, 4 of each.
    # Disagreeing pairs, each unit's over its verdicts - 1: 2 * 1 * 2 / 2 = 2. Expected: 2 * 4 * 4 / 7. 1 - 2 * 7 / 32.
    assert alpha(np.array([[3, 0], [1, 2], [0, 2], [1, 0]])) == pytest.approx(1 - 14 / 32, abs=1e-12)


@pytest.mark.parametrize(
    "counts", [[[2, 0], [3, 0]], [[2, 0], [0, 1]], [[1, 0], [0, 1]], np.zeros((0, 2), int)]
)
def test_alpha_is_undefined_where_all_say_the_same_or_nothing_is_judged_twice(counts):
    assert alpha(np.array(counts)) is None


def test_kappa_by_hand():
    # Observed 14 of 20; by chance 0.5 * 0.6 + 0.5 * 0.4 = 0.5: (0.7 - 0.5) / (1 - 0.5).
    assert kappa(np.array([[8, 2], [4, 6]])) == pytest.approx(0.4)
    assert kappa(np.array([[0, 1], [1, 0]])) == pytest.approx(-1)


def test_kappa_agrees_with_scikit_learn():
    rng = np.random.default_rng(3)
    for size in (2, 5, 40, 400):
        one = rng.integers(0, 2, size)
        other = np.where(rng.random(size) < 0.3, 1 - one, one)
        one[0], other[0], one[1] = 0, 1, 1
        table = np.array([[((one == a) & (other == b)).sum() for b in (0, 1)] for a in (0, 1)])
        assert kappa(table) == pytest.approx(cohen_kappa_score(one, other), abs=1e-12)


@pytest.mark.parametrize("table", [[[7, 0], [0, 0]], [[0, 0], [0, 7]], [[0, 0], [0, 0]]])
def test_kappa_is_undefined_where_both_always_say_the_same_one_thing(table):
    assert np.isnan(kappa(np.array(table)))


def test_agreement_is_told_for_all_and_for_each_subset_and_unsure_is_valid():
    tasks = {t.task_id: t for t in (task("a"), task("b"), task("c", "pt-easy"), task("d", "pt-easy"))}
    verdicts = [
        verdict("a", "x", V),
        verdict("a", "y", U),  # the same: unsure is valid
        verdict("b", "x", V),
        verdict("b", "y", X),  # not
        verdict("c", "x", X),
        verdict("c", "z", X),
        verdict("d", "x", X),
    ]
    together, hard, easy = agreement(judged_tasks(tasks, verdicts))
    assert [(p.first, p.second, p.both, p.same, p.kappa) for p in together.pairs] == [
        ("x", "y", 2, 1, 0.0),  # observed 1/2, by chance 1 * 1/2
        ("x", "z", 1, 1, None),
    ]
    assert (together.subset, together.candidates, together.verdicts, together.share) == (None, 3, 6, 2 / 3)
    # Units (2, 0), (1, 1), (0, 2) of valid, invalid: 1 - (2 / 6) / (2 * 3 * 3 / 30) = 4/9.
    assert together.alpha == pytest.approx(4 / 9)
    assert (hard.subset, hard.candidates, hard.share) == ("clip-hard", 2, 0.5)
    assert (easy.subset, easy.candidates, easy.share, easy.alpha) == ("pt-easy", 1, 1.0, None)


def test_one_annotator_alone_agrees_with_nobody():
    (together, hard) = agreement(judged_tasks({"a": task("a")}, [verdict("a", "x", V)]))
    assert (together.pairs, together.alpha, together.share, together.candidates) == ((), None, None, 0)
    assert hard.subset == "clip-hard"


def test_where_no_verdict_counts_there_is_nothing_to_agree_about():
    (together,) = agreement(judged_tasks({"a": task("a")}, [verdict("a", "x", V)])[:0])
    assert (together.candidates, together.verdicts, together.alpha, together.pairs) == (0, 0, None, ())
