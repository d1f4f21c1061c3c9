import json

import pytest

from pipeline.core.errors import UserError
from pipeline.scoring.joined_predictions import FILE_OPTIONS, ScoringOptions
from pipeline.scoring.model_report import GROUP_NAMES
from pipeline.scoring.resources import RESOURCES, find_resource_groups, read_resources
from tests.scoring.conftest import write


def test_every_file_that_scores_may_need_has_a_name_and_a_group():
    assert {name.replace("-", "_") for name in RESOURCES} == set(FILE_OPTIONS) - {"synonyms"}
    assert {extra.score_group for extra in RESOURCES.values()} <= set(GROUP_NAMES)


def test_files_are_read_into_their_options(tmp_path):
    study = write(tmp_path / "h.json", [{"question_id": "a", "accepted": True}])
    (tmp_path / "log.jsonl").write_text(json.dumps({"seconds": 2}))
    found = read_resources(
        [
            f"human-judgments={study}",
            f"run-log={tmp_path / 'log.jsonl'}",
            f"scenes={write(tmp_path / 's', {})}",
        ],
        None,
    )
    assert (
        found["human_judgments"] == {"a": [True]}
        and found["run_log"]["latency_mean"] == 2.0
        and found["scenes"] == {}
    )
    # An empty file of scenes serves nothing.
    assert find_resource_groups(ScoringOptions(**found)) == ["human", "efficiency"]
    assert read_resources([], None) == {} and find_resource_groups(ScoringOptions()) == []


def test_all_problems_are_reported_at_once(tmp_path):
    with pytest.raises(UserError) as caught:
        read_resources(
            ["weather=x", "human-judgments", f"choices={tmp_path / 'none'}", f"choices={tmp_path}"], None
        )
    names = ", ".join(RESOURCES)
    assert caught.value.problems == [
        f"--resource weather=x: expected NAME=FILE, NAME one of {names}",
        f"--resource human-judgments: expected NAME=FILE, NAME one of {names}",
        f"{tmp_path / 'none'}: no such file",
        "--resource choices is given twice",
    ]
