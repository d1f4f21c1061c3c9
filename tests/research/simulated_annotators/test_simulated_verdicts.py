import shutil
from pathlib import Path

import pytest

from pipeline.core.errors import UserError
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import Step, Task, TaskQuestion
from research.simulated_annotators.simulated_verdicts import simulate_from_evidence, simulate_from_truth


def color_of(name, image_id):
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
    verdicts = simulate_from_truth(DatasetFolders(), [color_of("table", "n100003")], votes_per_task=8, seed=1)
    assert len(verdicts) == 8 and share_invalid(verdicts) >= 6 / 8
    assert all(v.simulated and not v.rehearsal and v.annotator.startswith("simulated-") for v in verdicts)


def test_without_the_truth_there_are_no_simulated_verdicts(screened):
    Path("data/tiny/truth/testdev_sceneGraphs.json").unlink()
    with pytest.raises(UserError, match="truth/testdev_sceneGraphs.json: no such file"):
        simulate_from_truth(DatasetFolders(), [color_of("table", "n100003")], votes_per_task=3, seed=1)


def test_a_rehearsal_treats_unstated_objects_as_absent_and_needs_no_truth(screened):
    shutil.rmtree("data/tiny/truth")
    verdicts = simulate_from_evidence(
        DatasetFolders(), [color_of("table", "n100003")], votes_per_task=8, seed=1
    )
    assert share_invalid(verdicts) >= 6 / 8
    assert all(v.simulated and v.rehearsal and v.annotator.startswith("rehearsal-") for v in verdicts)
    nowhere = simulate_from_evidence(
        DatasetFolders(), [color_of("table", "n999")], votes_per_task=8, seed=1
    )  # nothing is known of this image
    assert {v.first for v in nowhere} <= {"valid", "unsure"}
