from fractions import Fraction
from math import prod

import numpy as np
import pytest

from annotation.study.dawid_skene import dawid_skene


def test_one_round_by_hand():
    # Items 0, 1; annotators a, b, c. Item 0: 1, 1, 0. Item 1: 0, 0, 0.
    item, who, said = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 2, 0, 1, 2]), np.array([1, 1, 0, 0, 0, 0])
    found = dawid_skene(item, who, said, responses=2, smoothing=0, most_rounds=1)
    # Start, P(class 1): item 0 2/3, item 1 0. Prior of 1: 1/3. Tables, by weights 2/3 on item 0, 0 on item 1 for
    # class 1 and 1/3, 1 for class 0: a and b say 1 of class 1 always, of class 0 in (1/3) / (4/3) = 1/4; c says 0 always.
    assert found.prior == pytest.approx([2 / 3, 1 / 3])
    assert found.confusion[:, 1, 1] == pytest.approx([1, 1, 0])
    assert found.confusion[:, 0, 1] == pytest.approx([1 / 4, 1 / 4, 0])
    # Item 0: class 1 has 1/3 * 1 * 1 * 1, class 0 has 2/3 * 1/4 * 1/4 * 1 = 1/24: 8/9. Item 1: class 1 is ruled out.
    assert found.posterior[:, 1] == pytest.approx([8 / 9, 0])
    assert not found.settled


def plain(votes, rounds, smoothing):
    """Three responses, two classes, in exact fractions and plain loops."""
    items, people = sorted({v[0] for v in votes}), sorted({v[1] for v in votes})
    belief = {}
    for i in items:
        mine = [v[2] for v in votes if v[0] == i]
        belief[i] = [Fraction(2 * mine.count(c) + mine.count(2), 2 * len(mine)) for c in (0, 1)]
    for _ in range(rounds):
        prior = [
            (sum(belief[i][c] for i in items) + smoothing) / (len(items) + 2 * smoothing) for c in (0, 1)
        ]
        table = {}
        for a in people:
            for c in (0, 1):
                weights = [
                    sum(belief[i][c] for i, b, r in votes if b == a and r == said) + smoothing
                    for said in range(3)
                ]
                table[a, c] = [w / sum(weights) for w in weights]
        for i in items:
            likely = [prior[c] * prod(table[a, c][r] for j, a, r in votes if j == i) for c in (0, 1)]
            belief[i] = [x / sum(likely) for x in likely]
    return belief


def test_three_rounds_with_unsure_agree_with_exact_fractions():
    votes = [
        (0, 0, 1),
        (0, 1, 1),
        (0, 2, 2),
        (1, 0, 0),
        (1, 1, 2),
        (1, 2, 0),
        (2, 0, 1),
        (2, 1, 0),
        (3, 1, 1),
        (3, 2, 2),
    ]
    expected = plain(votes, 3, Fraction(1))
    item, who, said = np.array(votes).T
    found = dawid_skene(item, who, said, most_rounds=3)
    assert found.posterior == pytest.approx(
        np.array([[float(p) for p in expected[i]] for i in range(4)]), abs=1e-12
    )


def simulated(seed, items=3000):
    """Three votes of eight annotators on each item; share of class 1 is 0.6, and errors are known."""
    rng = np.random.default_rng(seed)
    table = np.zeros((8, 2, 3))
    table[:, 1, 0] = (0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 0.4)  # misses
    table[:, 0, 1] = (0.01, 0.02, 0.02, 0.05, 0.1, 0.1, 0.3, 0.4)  # false alarms
    table[:, 0, 2], table[:, 1, 2] = 0.1, 0.02  # unsure, more often of what is valid
    table[:, 0, 0], table[:, 1, 1] = 1 - table[:, 0].sum(axis=1), 1 - table[:, 1].sum(axis=1)
    truth = (rng.random(items) < 0.6).astype(int)
    item = np.repeat(np.arange(items), 3)
    who = np.concatenate([rng.permutation(8)[:3] for _ in range(items)])
    said = np.array([rng.choice(3, p=table[a, truth[i]]) for i, a in zip(item, who, strict=True)])
    return table, truth, item, who, said


def test_known_tables_are_found_again_and_truths_better_than_by_majority():
    table, truth, item, who, said = simulated(11)
    found = dawid_skene(item, who, said)
    assert found.settled
    # About 3000 * 3 / 8 = 1125 votes each, at least 400 of a class: three standard errors of a share near 0.3 are 0.07.
    assert np.abs(found.confusion - table).max() < 0.09
    assert abs(found.prior[1] - truth.mean()) < 0.03
    counts = np.zeros((len(truth), 3))
    np.add.at(counts, (item, said), 1)
    right = (found.posterior.argmax(axis=1) == truth).mean()
    assert right > ((counts[:, 1] > counts[:, 0]) == truth).mean() + 0.01
    # A probability means what it says: of those held at 0.95 and more, at least 95 % are right, give or take 1 %.
    sure = found.posterior.max(axis=1) >= 0.95
    assert (found.posterior.argmax(axis=1) == truth)[sure].mean() > 0.94


def test_the_same_votes_give_the_same_bytes_in_any_order_of_items():
    _, _, item, who, said = simulated(12, 200)
    one = dawid_skene(item, who, said)
    assert one.posterior.tobytes() == dawid_skene(item, who, said).posterior.tobytes()
    other = dawid_skene(199 - item, who, said)
    assert other.posterior[::-1] == pytest.approx(one.posterior, abs=1e-7)


def test_few_votes_never_make_certainty():
    found = dawid_skene(np.array([0, 0]), np.array([0, 1]), np.array([1, 1]))
    assert 0.5 < found.posterior[0, 1] < 0.95


def test_no_votes_or_arrays_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="0 items"):
        dawid_skene(np.array([], int), np.array([], int), np.array([], int))
    with pytest.raises(ValueError, match="1 items, 2 annotators"):
        dawid_skene(np.array([0]), np.array([0, 1]), np.array([1, 1]))
