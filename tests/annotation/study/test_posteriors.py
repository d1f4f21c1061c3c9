import numpy as np
import pytest

from annotation.study.dawid_skene import dawid_skene
from annotation.study.judged import judged_tasks
from annotation.study.posteriors import posteriors, usual
from pipeline.core.records import Task, TaskQuestion, Verdict

V, X, U = "valid", "invalid", "unsure"


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
    plain = dawid_skene(
        np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 0, 1, 0, 1]), np.array([1, 1, 0, 2, 1, 0])
    )
    assert [row.invalid for row in alone] == pytest.approx(plain.posterior[:, 1], abs=1e-6)
    assert mine[1].where_valid == pytest.approx(dict(zip((V, X, U), plain.confusion[1, 0], strict=True)))


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
