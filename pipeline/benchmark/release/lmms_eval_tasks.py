"""Write the folder `harness/lmms_eval` of a release: its items as tasks of lmms-eval.

`rgqa score` reads the logs that lmms-eval writes for these tasks.
"""

from __future__ import annotations

import json
from pathlib import Path

from pipeline.benchmark.release import rgqa_tasks
from pipeline.core.atomic_files import write_text
from pipeline.core.json_files import copy_file
from pipeline.inference.prompts import PROMPTS

# Name of the file with the settings of all tasks. It has no suffix, because lmms-eval reads every .yaml file
# as a task.
COMMON_FILE = "rgqa_common"
# Settings of all tasks. Only the answer shows whether the model abstains, so the prompt says how to abstain.
COMMON_SETTINGS = """\
dataset_path: parquet
output_type: generate_until
process_docs: !function rgqa_tasks.deduplicate_items
doc_to_visual: !function rgqa_tasks.load_images
doc_to_text: !function rgqa_tasks.make_prompt
doc_to_target: !function rgqa_tasks.expected_response
process_results: !function rgqa_tasks.process_results
lmms_eval_specific_kwargs:
  default:
    pre_prompt: {before}
    post_prompt: {after}
generation_kwargs:
  max_new_tokens: {tokens}
  temperature: 0
  do_sample: false
metric_list:
  - metric: item_id
    aggregation: !function builtins.len
    higher_is_better: true
  - metric: max_new_tokens
    aggregation: !function statistics.median
    higher_is_better: true
metadata:
  version: {version}
"""
TASK_TEMPLATE = """\
include: {common}
task: {task}
test_split: {split}
dataset_kwargs:
  data_files:
    {split}:
{files}"""


def write_lmms_eval_tasks(release_folder: Path, version: str) -> list[str]:
    """Write the tasks of a release whose tables are already written.

    The task `rgqa` asks every item of split `test` once. The task `rgqa_validation` asks the items of split
    `validation`. The tasks `rgqa_<subset>` ask the items of one subset in split `test`. A task without items
    is not written.

    Args:
        release_folder: The folder of the release.
        version: The version of the release.

    Returns:
        The names of the tasks.
    """
    folder = release_folder / "harness/lmms_eval"
    source = Path(rgqa_tasks.__file__)
    copy_file(source, folder / source.name)
    before, after = map(json.dumps, PROMPTS["abstain"].template.split("{question}"))
    settings = {"tokens": rgqa_tasks.MAX_NEW_TOKENS, "version": version, "before": before, "after": after}
    write_text(folder / COMMON_FILE, COMMON_SETTINGS.format(**settings))
    tables = {
        split: sorted((release_folder / "data").glob(f"*-{split}.parquet"))
        for split in ("test", "validation")
    }
    tasks = {"rgqa": ("test", tables["test"]), "rgqa_validation": ("validation", tables["validation"])}
    for table in tables["test"]:
        subset = table.stem.removesuffix("-test").replace("-", "_")
        tasks[f"rgqa_{subset}"] = ("test", [table])
    tasks = {task: (split, members) for task, (split, members) in tasks.items() if members}
    for task, (split, members) in tasks.items():
        files = "".join(f"      - ../../data/{table.name}\n" for table in members)
        write_text(
            folder / f"{task}.yaml",
            TASK_TEMPLATE.format(common=COMMON_FILE, task=task, split=split, files=files),
        )
    return list(tasks)
