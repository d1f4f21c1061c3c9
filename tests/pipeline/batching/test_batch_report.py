import numpy as np

from pipeline.batching.batch_report import report, told_by_text, warn
from pipeline.core.records import Task, TaskQuestion


def made_up(filter_words, count=300):
    """Tasks whose candidates and filters are `What <word> is the <number>?` with words drawn alike or not."""
    words = ["color", "size", "shape"]
    rng = np.random.default_rng(0)
    tasks = []
    for i in range(count):
        candidate = TaskQuestion(key="c", text=f"What {rng.choice(words)} is the {i % 50}?", role="candidate")
        filter_question = TaskQuestion(
            key="f", text=f"What {rng.choice(filter_words)} is the {rng.integers(50)}?", role="filter"
        )
        tasks.append(
            Task(task_id=str(i), picture_id="n1", subset="clip-hard", first=candidate, second=filter_question)
        )
    return tasks


def test_the_report_tells_whether_the_text_alone_tells_the_filter():
    assert told_by_text(made_up(["color", "size", "shape"]), seed=0) < 0.65
    assert told_by_text(made_up(["place"]), seed=0) > 0.99
    half = told_by_text(made_up(["color", "size", "shape", "place", "place", "place"]), seed=0)
    assert 0.65 < half < 0.85  # half of the filters are known for sure, the rest is chance: 0.75


def asked(number, expected, source, candidate_first):
    candidate = TaskQuestion(key="c", text=f"candidate {number}", role="candidate")
    known = TaskQuestion(key="f", text=f"filter {number}", role="filter", expected=expected, source=source)
    first, second = (candidate, known) if candidate_first else (known, candidate)
    return Task(task_id=str(number), picture_id="n1", subset="clip-hard", first=first, second=second)


def test_filters_are_counted_by_source_and_verdict(capsys):
    rows = [
        asked(1, "valid", "own question", True),
        asked(2, "valid", "own question", False),
        asked(3, "invalid", "template", False),
    ]
    figures = report(rows, seed=0)
    assert figures["tasks"] == {"clip-hard": 3}
    assert figures["filters"] == {"own question, valid": 2, "template, invalid": 1}
    assert (figures["filters_valid"], figures["filters_invalid"], figures["candidate_first"]) == (2, 1, 1)
    warn(figures | {"filter_told_by_text_auroc": 0.65})  # no more than is tolerated
    assert capsys.readouterr().err == ""


def test_tasks_whose_filters_are_all_valid_are_warned_about(capsys):
    warn(report([asked(1, "valid", "own question", True)], seed=0))
    assert "no filter question is known to be unanswerable" in capsys.readouterr().err
