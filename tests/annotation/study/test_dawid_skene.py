from fractions import Fraction
from math import prod

import numpy as np
import pytest

from annotation.study.dawid_skene import dawid_skene, posteriors, usual
from annotation.study.judged import judged_tasks
from pipeline.core.records import Task, TaskQuestion, Verdict

V, X, U = "valid", "invalid", "unsure"


def test_one_round_by_hand():
    # Items 0, 1; annotators a, b, c. Item 0: 1, 1, 0. Item 1: 0, 0, 0.
    item, who, said = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 2, 0, 1, 2]), np.array([1, 1, 0, 0, 0, 0])
    posterior, confusion = dawid_skene(item, who, said, responses=2, smoothing=0, most_rounds=1)
    # Start, P(class 1): item 0 2/3, item 1 0. Prior of 1: 1/3. Tables, by weights 2/3 on item 0, 0 on item 1 for
    # class 1 and 1/3, 1 for class 0: a and b say 1 of class 1 always, of class 0 in (1/3) / (4/3) = 1/4; c says 0 always.
    assert confusion[:, 1, 1] == pytest.approx([1, 1, 0])
    assert confusion[:, 0, 1] == pytest.approx([1 / 4, 1 / 4, 0])
    # Item 0: class 1 has 1/3 * 1 * 1 * 1, class 0 has 2/3 * 1/4 * 1/4 * 1 = 1/24: 8/9. Item 1: class 1 is ruled out.
    assert posterior[:, 1] == pytest.approx([8 / 9, 0])


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
    posterior, _ = dawid_skene(item, who, said, most_rounds=3)
    assert posterior == pytest.approx(
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
    posterior, confusion = dawid_skene(item, who, said)
    further, _ = dawid_skene(item, who, said, most_rounds=2000)
    assert (posterior == further).all()  # it had settled
    # About 3000 * 3 / 8 = 1125 votes each, at least 400 of a class: three standard errors of a share near 0.3 are 0.07.
    assert np.abs(confusion - table).max() < 0.09
    assert abs(posterior[:, 1].mean() - truth.mean()) < 0.03
    counts = np.zeros((len(truth), 3))
    np.add.at(counts, (item, said), 1)
    right = (posterior.argmax(axis=1) == truth).mean()
    assert right > ((counts[:, 1] > counts[:, 0]) == truth).mean() + 0.01
    # A probability means what it says: of those held at 0.95 and more, at least 95 % are right, give or take 1 %.
    sure = posterior.max(axis=1) >= 0.95
    assert (posterior.argmax(axis=1) == truth)[sure].mean() > 0.94


def test_the_same_votes_give_the_same_bytes_in_any_order_of_items():
    _, _, item, who, said = simulated(12, 200)
    one, _ = dawid_skene(item, who, said)
    assert one.tobytes() == dawid_skene(item, who, said)[0].tobytes()
    other, _ = dawid_skene(199 - item, who, said)
    assert other[::-1] == pytest.approx(one, abs=1e-7)


def test_few_votes_never_make_certainty():
    posterior, _ = dawid_skene(np.array([0, 0]), np.array([0, 1]), np.array([1, 1]))
    assert 0.5 < posterior[0, 1] < 0.95


def test_no_votes_or_arrays_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="0 items"):
        dawid_skene(np.array([], int), np.array([], int), np.array([], int))
    with pytest.raises(ValueError, match="1 items, 2 annotators"):
        dawid_skene(np.array([0]), np.array([0, 1]), np.array([1, 1]))


def world(rows):
    """Tasks and verdicts from (task, subset, annotator, choice); a task that ends in f shows the filter first."""
    tasks, verdicts = {}, []
    for key, subset, who, choice in rows:
        asked = TaskQuestion(key="1", text="candidate", role="candidate", candidate_id=f"c{key}")
        known = TaskQuestion(key="2", text="filter", role="filter", expected=V)
        first, second = (known, asked) if key.endswith("f") else (asked, known)
        tasks[key] = Task(task_id=key, picture_id="n1", subset=subset, first=first, second=second)
        said = (V, choice) if key.endswith("f") else (choice, V)
        verdicts.append(
            Verdict(verdict_id=key + who, task_id=key, annotator=who, first=said[0], second=said[1])
        )
    return tasks, verdicts


def test_each_subset_is_estimated_by_itself_from_answers_to_its_candidates():
    hard = [("a", "x", X), ("a", "y", X), ("bf", "x", V), ("bf", "y", U), ("c", "x", X), ("c", "y", V)]
    easy = [("d", "x", X), ("d", "z", X), ("e", "x", X), ("e", "z", X)]
    rows = [(k, "clip-hard", who, said) for k, who, said in hard] + [
        (k, "pt-easy", who, said) for k, who, said in easy
    ]
    found, tables = posteriors(judged_tasks(*world(rows[::-1])))
    alone, mine = posteriors(judged_tasks(*world(rows[:6])))
    assert {row.candidate_id: row.invalid for row in alone}.items() <= {
        row.candidate_id: row.invalid for row in found
    }.items()
    assert [row.candidate_id for row in found] == ["ca", "cbf", "cc", "cd", "ce"]
    assert [(t.subset, t.annotator, t.votes) for t in tables] == [
        ("clip-hard", "x", 3),
        ("clip-hard", "y", 3),
        ("pt-easy", "x", 2),
        ("pt-easy", "z", 2),
    ]
    # Items a, bf, c; annotators x, y; valid is 0, invalid 1, unsure 2.
    posterior, confusion = dawid_skene(
        np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 0, 1, 0, 1]), np.array([1, 1, 0, 2, 1, 0])
    )
    assert [row.invalid for row in alone] == pytest.approx(posterior[:, 1], abs=1e-6)
    assert mine[1].where_valid == pytest.approx(dict(zip((V, X, U), confusion[1, 0], strict=True)))


def test_what_is_usual_is_weighted_by_votes():
    _, tables = posteriors(
        judged_tasks(*world([("a", "pt-hard", "x", X), ("b", "pt-hard", "x", V), ("b", "pt-hard", "y", V)]))
    )
    x, y = tables
    valid, invalid = zip(*(usual(tables, "pt-hard", choice) for choice in (V, X)), strict=True)
    assert valid == pytest.approx([(2 * x.where_valid[said] + y.where_valid[said]) / 3 for said in (V, X)])
    assert invalid == pytest.approx(
        [(2 * x.where_invalid[said] + y.where_invalid[said]) / 3 for said in (V, X)]
    )
