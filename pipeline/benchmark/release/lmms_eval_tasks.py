"""The folder `harness/lmms_eval` of a release: its items as tasks that lmms-eval runs, whose log `rgqa score` reads."""

from __future__ import annotations

import json
from pathlib import Path

from pipeline.benchmark.release import rgqa_tasks
from pipeline.core.atomic_files import write_text
from pipeline.core.json_files import copy_file
from pipeline.inference.prompts import PROMPTS

COMMON_FILE = "rgqa_common"  # without a suffix, or lmms-eval takes it for a task
# What all tasks have in common. The answer decides, so the model is told how to refuse.
COMMON_SETTINGS = """\
dataset_path: parquet
output_type: generate_until
process_docs: !function rgqa_tasks.once
doc_to_visual: !function rgqa_tasks.images
doc_to_text: !function rgqa_tasks.prompt
doc_to_target: !function rgqa_tasks.target
process_results: !function rgqa_tasks.results
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
test_split: {part}
dataset_kwargs:
  data_files:
    {part}:
{files}"""


def write_lmms_eval_tasks(home: Path, version: str) -> list[str]:
    """Write the tasks of the release at `home`, whose tables are there: `rgqa` asks every item of split test once,
    `rgqa_validation` those of split validation, `rgqa_<subset>` one subset's of split test. A part without items has none. Returns their
    names."""
    folder = home / "harness/lmms_eval"
    source = Path(rgqa_tasks.__file__)
    copy_file(source, folder / source.name)
    before, after = map(json.dumps, PROMPTS["refuse"].template.split("{question}"))
    settings = {"tokens": rgqa_tasks.MAX_NEW_TOKENS, "version": version, "before": before, "after": after}
    write_text(folder / COMMON_FILE, COMMON_SETTINGS.format(**settings))
    tables = {split: sorted((home / "data").glob(f"*-{split}.parquet")) for split in ("test", "validation")}
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
