import os
import subprocess
import sys

import pandas as pd
import pytest
from datasets import load_dataset

from pipeline.benchmark.release.harness_folder import write_harness_folder


def test_the_tables_for_vlmevalkit_have_the_items_of_a_split(release):
    for split, name in (("test", "rgqa"), ("validation", "rgqa_validation")):
        table = pd.read_csv(release / f"harness/vlmevalkit/{name}.tsv", sep="\t", dtype=str)
        tables = [str(path) for path in (release / "data").glob(f"*-{split}.parquet")]
        rows = load_dataset("parquet", data_files=tables, split="train")
        expected = {row["item_id"]: row for row in rows}
        assert len(table) == len(expected) > 0 and set(table["index"]) == set(expected)
        for row in table.itertuples(index=False):
            item = expected[row[0]]
            assert row.question.startswith(item["question"] + "\n") and "unanswerable" in row.question
            assert row.answer == (item["answer"] or "unanswerable")
            assert row.image_path.split(".")[0] == item["image_id"]


def test_the_folder_has_a_task_for_inspect_and_instructions_for_all_harnesses(release):
    text = (release / "harness/README.md").read_text()
    assert "harness/lmms_eval --tasks rgqa" in text and "harness/vlmevalkit/rgqa.tsv" in text
    assert "inspect eval RELEASE/harness/inspect/rgqa.py" in text and "RGQA_IMAGES" not in text
    sums = (release / "CHECKSUMS.sha256").read_text()
    files = [path for path in (release / "harness").rglob("*") if path.is_file()]
    assert len(files) == 12 and all(f"  {path.relative_to(release)}" in sums for path in files)
    compile((release / "harness/inspect/rgqa.py").read_text(), "rgqa.py", "exec")


def test_without_images_the_instructions_state_where_each_harness_looks_for_them(tmp_path):
    (tmp_path / "data").mkdir()
    write_harness_folder(tmp_path, [], {}, "1.0.0", has_images=False)
    text = (tmp_path / "harness/README.md").read_text()
    assert "RGQA_IMAGES" in text and "images/rgqa_openended" in text and "-T images=FOLDER" in text
    assert not (tmp_path / "harness/vlmevalkit").exists()
    assert "no items of split `test`" in text and "no items of split `validation`" in text


MOCK = """
import sys
from inspect_ai import eval
from inspect_ai.model import ModelOutput, ModelUsage, get_model

def say(*_):
    return ModelOutput.from_content("mock", "red").model_copy(update={"usage": ModelUsage()})

model = get_model("mockllm/model", custom_outputs=say)
(log,) = eval(sys.argv[1], model=model, limit=4, display="plain", task_args={"split": sys.argv[2]})
print(log.status, len(log.samples))
"""


@pytest.mark.parametrize("split", ["test", "train"])
def test_inspect_runs_the_task_and_reports_errors_without_traceback(release, tmp_path, split):
    pytest.importorskip("inspect_ai")
    (tmp_path / "release").symlink_to(release)  # inspect_ai does not find files by absolute paths.
    words = [sys.executable, "-c", MOCK, "release/harness/inspect/rgqa.py", split]
    path = {"PYTHONPATH": os.pathsep.join([os.getcwd(), *sys.path])}
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, env=os.environ | path)
    if split == "test":
        assert done.stdout.splitlines()[-1] == "success 4", done.stderr
    else:
        assert "train" in done.stderr + done.stdout and "Traceback" not in done.stderr + done.stdout


def test_without_the_scorers_the_task_states_what_to_install(release, tmp_path):
    pytest.importorskip("inspect_ai")
    code = "import runpy, sys; sys.modules['pipeline'] = sys.modules['rgqa_scorers'] = None; runpy.run_path(sys.argv[1])"
    words = [sys.executable, "-c", code, str(release / "harness/inspect/rgqa.py")]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    assert "PrerequisiteError" in done.stderr and "RELEASE/scorers/*.whl" in done.stderr
