import json
from pathlib import Path

import pytest

from annotation.study import human_scores
from annotation.study.human_study import StudyTask
from pipeline.core.errors import UserError


def drawn_of(each):
    """So many AQs and UQs of one subset, by task."""
    rows = [
        StudyTask(
            task=f"{n}{'aq' if answerable else 'uq'}",
            question_id=f"q{n}",
            subset="clip-hard",
            picture_id="n1",
            text=f"What is {n}?",
            answerable=answerable,
        )
        for n in range(each)
        for answerable in (True, False)
    ]
    return {row.task: row for row in rows}


def annotation(number, person, choice, **more):
    result = (
        [{"from_name": "judgement", "to_name": "image", "type": "choices", "value": {"choices": [choice]}}]
        if choice
        else []
    )
    return {
        "id": number,
        "completed_by": person,
        "result": result,
        "was_cancelled": False,
        "lead_time": 3.0,
        "created_at": f"2026-01-01T00:00:{number % 60:02}Z",
    } | more


def export(path, rows):
    path.write_text(
        json.dumps(
            [
                {"id": n, "data": {"task": task, "image": "x", "question": "y"}, "annotations": made}
                for n, (task, made) in enumerate(rows)
            ]
        )
    )
    return path


def test_the_last_answer_of_each_person_counts_and_what_does_not_is_counted(tmp_path):
    drawn = drawn_of(1)
    one, two = sorted(drawn)
    path = export(
        tmp_path / "e.json",
        [
            (
                one,
                [
                    annotation(2, 1, "reject"),
                    annotation(1, 1, "answer"),
                    annotation(3, {"id": 2, "email": "b@x.org"}, "answer"),
                ],
            ),
            (two, [annotation(4, 2, "answer", was_cancelled=True), annotation(5, 1, "")]),
            ("elsewhere", [annotation(6, 1, "answer")]),
        ],
    )
    given, counts = human_scores.read_judgements([path, path], drawn)  # the same export twice changes nothing
    assert sorted((row.asked.task, row.accepted) for row in given) == [(one, False), (one, True)]
    assert len({row.person for row in given}) == 2 and not any("b@x.org" in row.person for row in given)
    assert counts == {
        "complete": 2,
        "empty": 1,
        "of another batch": 1,
        "replaced by a later one": 1,
        "seen more than once": 6,
        "skipped": 1,
    }


def test_exports_that_are_none_are_all_named(tmp_path):
    drawn = drawn_of(1)
    (tmp_path / "a.json").write_text("{")
    bad = export(tmp_path / "b.json", [(min(drawn), [annotation(7, 1, "valid")])])
    with pytest.raises(UserError) as caught:
        human_scores.read_judgements([tmp_path / "a.json", bad], drawn)
    assert "2 problems" in caught.value.problems[0]
    assert (
        "a.json: not" in caught.value.problems[1]
        and "wanted: Label Studio's export format JSON" in caught.value.problems[1]
    )
    assert (
        "b.json: 1 annotations say `judgement`: 'valid'; wanted are `judgement`, each answer, reject."
        in caught.value.problems[2]
    )
    with pytest.raises(UserError, match="no judgement of this study"):
        human_scores.read_judgements([export(tmp_path / "c.json", [])], drawn)


def test_rates_are_those_of_people():
    drawn = drawn_of(2)
    given = [human_scores.GivenJudgement(row, "p", row.answerable) for row in drawn.values()]
    given += [human_scores.GivenJudgement(row, "q", True) for row in drawn.values()]
    rates = human_scores.rates(given)
    assert rates.reset_index().to_dict("records") == [
        {"subset": "clip-hard", "people": 2, "aqs": 4, "accepted": 4, "uqs": 4, "rejected": 2}
    ]
    line = human_scores.table(rates).splitlines()[1]
    assert line.split()[:3] == ["clip-hard", "2", "100.0%"]
    assert " 50.0% [15.0%, 85.0%]" in line  # Wilson 2 of 4
    assert " 75.0% [" in line  # 6 of 8 right


def test_a_rate_of_nothing_is_undefined():
    aqs = [row for row in drawn_of(2).values() if row.answerable]
    rates = human_scores.rates(human_scores.GivenJudgement(row, "p", True) for row in aqs)
    assert human_scores.table(rates).splitlines()[1].count("undefined") == 2  # UQs rejected, UQs accepted


def test_nothing_is_scored_before_a_study_was_drawn(tiny):
    with pytest.raises(UserError, match="no study was drawn; run: rgqa annotate study draw"):
        human_scores.score([Path("x.json")])
