"""Simulated annotators, crowds of them, and their verdicts."""

import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from pipeline.core.errors import UserError
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import SceneGraph, SceneObject, Step, Task, TaskQuestion
from pipeline.tasks.gold_questions import SCENE_TEMPLATES
from research.simulated_annotators.annotator_crowds import make_crowd
from research.simulated_annotators.annotators import (
    ALWAYS_ANSWERABLE,
    ANNOTATORS,
    SimulatedAnnotator,
    choose_verdict,
    find_obstacle_in_truth,
    simulate_verdicts,
)
from research.simulated_annotators.simulated_verdicts import simulate_from_evidence, simulate_from_truth
from research.simulated_annotators.word_senses import WordSenses

WORDS = WordSenses(categories={}, attribute_types={"red": "color"})
TABLE = SceneObject(object_id="1", name="table", x=0, y=0, w=9, h=9, attributes=("red",))
SCENE = SceneGraph(image_id="n1", split="testdev", width=9, height=9, objects=(TABLE,), is_complete=True)
LOOK = partial(find_obstacle_in_truth, {"n1": SCENE}, WORDS)


def color_of(name):
    steps = (
        Step(operation="select", argument=f"{name} (-)", dependencies=()),
        Step(operation="query", argument="color", dependencies=(0,)),
    )
    return TaskQuestion(key=name, text=f"What color is the {name}?", role="candidate", program=steps)


def task(number):
    filter_question = TaskQuestion(
        key="f", text="Is this a color image?", role="gold", expected_choice="invalid"
    )  # a wrong expectation
    return Task(
        task_id=f"{number:04}",
        image_id="n1",
        subset="clip-hard",
        first=color_of("dog"),
        second=filter_question,
    )


@pytest.mark.parametrize(
    ("question", "at", "seen"),
    [
        (color_of("table"), "n1", ""),
        (color_of("dog"), "n1", "missing object"),
        (color_of("dog"), "n2", "unclear"),  # there is no truth for this image
        (TaskQuestion(key="", text="Who?", role="gold"), "n1", "unclear"),  # there is no program
    ],
)
def test_the_obstacle_depends_on_the_image_and_the_question_alone(question, at, seen):
    assert find_obstacle_in_truth({"n1": SCENE}, WORDS, question, at) == seen


def test_always_answerable_questions_are_the_templates_about_the_scene():
    assert set(SCENE_TEMPLATES) == ALWAYS_ANSWERABLE


def test_eight_annotators_differ_in_care_and_one_is_careless():
    assert len(ANNOTATORS) == 8
    assert len({(a.miss_rate, a.false_alarm_rate) for a in ANNOTATORS}) == 8
    assert [a.name for a in ANNOTATORS if a.miss_rate > 0.4 and a.false_alarm_rate > 0.3] == ["simulated-8"]
    assert all(a.false_alarm_rate < a.miss_rate for a in ANNOTATORS)  # in doubt: valid


def shares(seen):
    annotator = SimulatedAnnotator("a", miss_rate=0.3, false_alarm_rate=0.1, unsure_rate=0.4)
    rng = np.random.default_rng(0)
    said = [choose_verdict(seen, annotator, rng)[0] for _ in range(4000)]
    return {choice: said.count(choice) / 4000 for choice in set(said)}


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        ("missing object", {"invalid": 0.7, "valid": 0.3}),
        ("", {"valid": 0.9, "invalid": 0.1}),
        ("unclear", {"valid": 0.6, "unsure": 0.4}),
    ],
)
def test_annotators_err_as_often_as_they_say(seen, expected):
    assert shares(seen) == pytest.approx(expected, abs=0.03)  # 4 standard deviations of 4,000 draws


def test_each_task_gets_as_many_different_annotators_as_asked_for_and_all_verdicts_are_marked():
    verdicts = simulate_verdicts([task(i) for i in range(40)], LOOK, votes_per_task=3, seed=1)
    assert len(verdicts) == len({(v.task_id, v.annotator) for v in verdicts}) == 120
    assert {v.annotator for v in verdicts} == {a.name for a in ANNOTATORS}
    assert all(v.simulated for v in verdicts)
    assert [v.verdict_id for v in verdicts] == sorted(v.verdict_id for v in verdicts)


def test_annotators_follow_the_truth_and_not_the_expected_choice():
    verdicts = [
        v
        for v in simulate_verdicts([task(i) for i in range(200)], LOOK, 8, 1)
        if v.annotator == "simulated-1"
    ]
    assert (
        sum(v.first == "invalid" for v in verdicts) >= 186
    )  # misses 2 % of 200: 4, and 5 standard deviations more
    assert sum(v.second == "valid" for v in verdicts) >= 190
    assert {v.first_reason for v in verdicts if v.first == "invalid"} == {"missing object"}


def test_verdicts_do_not_depend_on_the_other_tasks():
    one = simulate_verdicts([task(7)], LOOK, 3, seed=1)
    many = simulate_verdicts([task(i) for i in range(20)], LOOK, 3, seed=1)
    assert [(v.annotator, v.first, v.second) for v in one] == [
        (v.annotator, v.first, v.second) for v in many if v.task_id == "0007"
    ]


def test_a_crowd_has_eight_annotators_of_whom_three_are_unreliable():
    people = make_crowd(1)
    assert len({person.name for person in people}) == 8
    assert all(0.02 <= p.miss_rate <= 0.12 and 0.005 <= p.false_alarm_rate <= 0.04 for p in people[:5])
    careless, biased, malicious = people[5:]
    rng = np.random.default_rng(0)
    assert {choose_verdict(seen, malicious, rng)[0] for seen in ["", "missing object"] * 50} == {"invalid"}
    assert {choose_verdict("missing object", biased, rng)[0] for _ in range(50)} == {"invalid"}
    assert min(careless.miss_rate, careless.false_alarm_rate) >= 0.4


def test_a_crowd_depends_on_its_seed():
    assert make_crowd(1) == make_crowd(1) != make_crowd(2)
    assert make_crowd(1)[5:] == make_crowd(2)[5:]


def color_task_of(name, image_id):
    steps = (
        Step(operation="select", argument=f"{name} (-)", dependencies=()),
        Step(operation="query", argument="color", dependencies=(0,)),
    )
    candidate = TaskQuestion(key="c", text=f"What color is the {name}?", role="candidate", program=steps)
    known = TaskQuestion(key="f", text="Is this a color image?", role="gold", expected_choice="valid")
    return Task(task_id=name + image_id, image_id=image_id, subset="pt-hard", first=candidate, second=known)


def share_invalid(verdicts):
    return sum(verdict.first == "invalid" for verdict in verdicts) / len(verdicts)


def test_simulated_verdicts_follow_the_truth_and_are_marked(screened):
    # n100003 is a park: there is no table. Eight annotators miss 11 % on average: 0.89 say so, at least six of eight.
    verdicts = simulate_from_truth(
        DatasetFolders(), [color_task_of("table", "n100003")], votes_per_task=8, seed=1
    )
    assert len(verdicts) == 8 and share_invalid(verdicts) >= 6 / 8
    assert all(v.simulated and not v.rehearsal and v.annotator.startswith("simulated-") for v in verdicts)


def test_without_the_truth_there_are_no_simulated_verdicts(screened):
    Path("data/tiny/truth/testdev_sceneGraphs.json").unlink()
    with pytest.raises(UserError, match="truth/testdev_sceneGraphs.json: no such file"):
        simulate_from_truth(DatasetFolders(), [color_task_of("table", "n100003")], votes_per_task=3, seed=1)


def test_a_rehearsal_treats_unstated_objects_as_absent_and_needs_no_truth(screened):
    shutil.rmtree("data/tiny/truth")
    verdicts = simulate_from_evidence(
        DatasetFolders(), [color_task_of("table", "n100003")], votes_per_task=8, seed=1
    )
    assert share_invalid(verdicts) >= 6 / 8
    assert all(v.simulated and v.rehearsal and v.annotator.startswith("rehearsal-") for v in verdicts)
    nowhere = simulate_from_evidence(
        DatasetFolders(), [color_task_of("table", "n999")], votes_per_task=8, seed=1
    )  # nothing is known of this image
    assert {v.first for v in nowhere} <= {"valid", "unsure"}
