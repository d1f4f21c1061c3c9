"""inspect_ai finds what the entry point names."""

import json
from importlib.metadata import entry_points

import pytest
from inspect_ai import eval as run_tasks
from inspect_ai import eval_retry
from inspect_ai._util.error import PrerequisiteError
from inspect_ai._util.registry import registry_lookup
from inspect_ai.model import ModelAPI, modelapi

from .conftest import said


def test_the_entry_point_names_the_registry():
    found = entry_points(group="inspect_ai")["rgqa"]
    assert found.load().__name__ == "pipeline.inference.registry"


def test_models_are_known_by_their_names():
    entry_points(group="inspect_ai")["rgqa"].load()
    assert registry_lookup("modelapi", "hf-vqa") and registry_lookup("modelapi", "hf-vlm")


@pytest.mark.parametrize("subset", ["clip-easy", "clip-hard", "pt-easy", "pt-hard"])
def test_each_subset_has_its_task(pictured, subset):
    entry_points(group="inspect_ai")["rgqa"].load()
    (pictured / "provenance.jsonl").unlink()  # so that any items may stand in any subset
    for name in ("clip-easy", "clip-hard", "pt-easy", "pt-hard"):
        rows = [{"img_id": "n1", "question_id": name, "sent": "?", "label": {"UQ": 1.0}}]
        (pictured / f"rgqa/{name}.json").write_text(json.dumps(rows))
    make = registry_lookup("task", f"rgqa/{subset.replace('-', '_')}")
    task = make(release=str(pictured), images=str(pictured / "images"))
    assert [sample.id for sample in task.dataset] == [subset]


ASKED = []


@modelapi(name="flaky")
class Flaky(ModelAPI):
    """Says "red", but fails the first time. A class, or a run that goes on could not make it anew."""

    async def generate(self, input, tools, tool_choice, config):
        ASKED.append(input[-1].text)
        if len(ASKED) == 1:
            raise RuntimeError("the server is down")
        return said("red")


def test_a_task_is_found_by_name_and_resumes_after_a_failure(pictured, tmp_path):
    options = {"display": "none", "log_level": "error", "log_dir": str(tmp_path / "logs")}
    parameters = {
        "release": str(pictured),
        "images": str(pictured / "images"),
        "split": "validation",
        "prompt": "short-answer",
    }
    (first,) = run_tasks("rgqa/pt_hard", task_args=parameters, model="flaky/model", **options)
    assert first.eval.task == "rgqa/pt_hard" and first.eval.task_args_passed == parameters
    assert (
        first.eval.metadata["prompt"]["name"] == "short-answer"
        and first.eval.metadata["max_image_size"] == 1024
    )
    assert first.samples[0].metadata["subsets"] == ["pt-hard"]
    (failed,) = [sample.id for sample in first.samples if sample.error]
    (second,) = eval_retry(first, **options)
    assert len(ASKED) == 3 and ASKED[2] == ASKED[0] and f"the {failed}?" in ASKED[0]
    assert {sample.id: sample.error for sample in second.samples} == {"a1": None, "u1": None} and failed in (
        "a1",
        "u1",
    )


def test_a_mistake_of_the_user_is_a_message_of_inspect_ai(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # no release
    with pytest.raises(PrerequisiteError) as caught:
        run_tasks("rgqa/all", model="flaky/model", display="none")
    assert "no rgqa/*.json in it" in str(caught.value.message)
