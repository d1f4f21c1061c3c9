"""The qualification round: known answers first, real tasks for those who pass."""

import re

from annotation.client.pull import pull
from annotation.client.push import push
from pipeline.core.paths import Folders

ROUND = "RGQA tiny: annotator-{:02}: qualification"


def answer(study, number: int, as_known: bool) -> None:
    """Judge the whole round of an annotator: "Is there a dog 7?" is known to be invalid, of even numbers valid."""
    for task in study.in_project(ROUND.format(number)):
        known = [
            "invalid" if int(re.findall(r"\d+", task["data"][name])[0]) % 2 else "valid"
            for name in ("first", "second")
        ]
        said = known if as_known else ["valid" if one == "invalid" else "invalid" for one in known]
        study.annotate(task, *said)


def real(study, number: int) -> list[str]:
    title = f"RGQA tiny: annotator-{number:02}"
    return study.keys(title) if any(row["title"] == title for row in study.projects.values()) else []


def test_real_tasks_come_to_those_who_passed_the_round_and_to_nobody_before(study, set_params, capsys):
    set_params("annotate", qualification=2, qualification_share=0.8)
    push()
    assert [len(study.keys(ROUND.format(number))) for number in (1, 2, 3)] == [2, 2, 2]
    assert [real(study, number) for number in (1, 2, 3)] == [[], [], []]
    answer(study, 1, as_known=True)
    answer(study, 2, as_known=False)
    capsys.readouterr()
    push()
    assert (
        len(real(study, 1)) == 40 and real(study, 2) == [] and real(study, 3) == []
    )  # alone, she gets every task once
    said = capsys.readouterr().out
    assert "annotator-01: qualification: passed, 4 of 4 questions as known" in said
    assert "annotator-02: qualification: not passed, 0 of 4 questions as known" in said
    assert "annotator-03: qualification: 0 of 4 questions answered" in said


def test_answers_of_the_round_are_no_verdicts(study, set_params):
    set_params("annotate", qualification=2)
    push()
    answer(study, 1, as_known=True)
    push()
    pull()
    assert not (Folders().annotations / "pulled.json").exists()


def test_without_the_parameter_there_is_no_round(study):
    push()
    assert not [row for row in study.projects.values() if "qualification" in row["title"]]
    assert real(study, 1)
