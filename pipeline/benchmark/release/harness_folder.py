"""Write the folder `harness/` of a release, with which lmms-eval, VLMEvalKit and inspect_ai run the items."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from pipeline.benchmark.release.lmms_eval_tasks import write_lmms_eval_tasks
from pipeline.benchmark.release.vlmevalkit_table import write_table
from pipeline.core.atomic_files import write_text
from pipeline.core.jsonl_index import FilteredView
from pipeline.core.records import Item

INSPECT_TASK = '''\
"""The items of this release as a task of inspect_ai. The commands are in ../README.md."""

from pathlib import Path

from inspect_ai import Task, task
from inspect_ai._util.error import PrerequisiteError

try:
    try:
        from rgqa_scorers.inference.registry import release_task, translate_user_errors
    except ModuleNotFoundError as error:
        if str(error.name).split(".")[0] != "rgqa_scorers":
            raise
        # The source tree of the project has the same code.
        from pipeline.inference.registry import release_task, translate_user_errors
except ModuleNotFoundError as error:
    message = f"{error.name} is not installed: pip install {error.name}"
    if str(error.name).split(".")[0] == "pipeline":
        message = 'rgqa_scorers is not installed: pip install "$(ls RELEASE/scorers/*.whl)[inspect]"'
    raise PrerequisiteError(message) from None
RELEASE = Path(__file__).resolve().parents[2]


@task
def rgqa(
    split: str = "test", prompt: str = "abstain", confidence: str = "abstention", images: str = ""
) -> Task:
    make_task = translate_user_errors(release_task)
    return make_task(RELEASE, split=split, prompt=prompt, confidence=confidence, images=images)
'''
README = """\
# Run this release in an evaluation harness

RELEASE is the folder above this one, and LOG is the file that the harness writes. To get RELEASE from the Hugging Face hub:

    hf download OWNER/NAME --repo-type dataset --revision vVERSION --local-dir RELEASE

All three harnesses ask each item of split `test` once, with an instruction how to abstain (prompt `abstain`). The same answers get
the same scores in all of them:

    rgqa-score RELEASE LOG --detect-abstention

`--detect-abstention` finds the answers that abstain. A failed request and a truncated answer have no prediction. The command counts
them, and `--missing wrong` scores them as wrong.

## lmms-eval 0.7

    pip install lmms-eval
    lmms-eval --include_path RELEASE/harness/lmms_eval --tasks rgqa --model MODEL --log_samples --output_path logs

LOG is `logs/MODEL/DATE_samples_rgqa.jsonl`. The task `rgqa_validation` has the items of split `validation`.

## VLMEvalKit

In a clone of its repository:

    cp RELEASE/harness/vlmevalkit/rgqa.tsv ~/LMUData/rgqa_openended.tsv
    python run.py --data rgqa_openended --model MODEL --mode infer

LOG is `outputs/MODEL/DATE/MODEL_rgqa_openended.xlsx`. `rgqa_validation.tsv` has the items of split `validation`. VLMEvalKit reads
tables from `~/LMUData`, or from the folder in the environment variable `LMUData`, and takes a table for open questions if its name
contains `openended`.

## inspect_ai

    pip install "$(ls RELEASE/scorers/*.whl)[inspect]"
    inspect eval RELEASE/harness/inspect/rgqa.py --model MODEL --no-log-images

LOG is `logs/DATE_rgqa_ID.eval`. `-T split=validation` asks the items of split `validation`. RELEASE must be a relative path, because
inspect_ai does not find files by absolute paths. The command `rgqa-run` of the same package does this in one step, with other prompts
and with confidences.
"""
SEPARATE_IMAGES_NOTE = """
## Images

The images are not in this release.

- lmms-eval: set `RGQA_IMAGES` to their folder, and install the package in `RELEASE/scorers`, which reads it.
- VLMEvalKit: copy them into `~/LMUData/images/rgqa_openended`.
- inspect_ai: add `-T images=FOLDER`, with an absolute path.
"""


def write_harness_folder(
    release_folder: Path, items: Collection[Item], images: Mapping[str, str], version: str, has_images: bool
) -> None:
    """Write the folder `harness/` of a release whose tables are already written.

    Args:
        release_folder: The folder of the release.
        items: The items in release order.
        images: Image id -> path of the image.
        version: The version of the release.
        has_images: Whether the release contains the images.
    """
    write_lmms_eval_tasks(release_folder, version)
    folder = release_folder / "harness"
    missing = ""
    for split, name in (("test", "rgqa"), ("validation", "rgqa_validation")):
        if members := FilteredView(items, lambda item, split=split: item.split == split):
            write_table(folder / "vlmevalkit" / f"{name}.tsv", members, images, has_images)
        else:
            missing += f"\nThis release has no items of split `{split}`, so there is no task and no table `{name}`.\n"
    write_text(folder / "inspect/rgqa.py", INSPECT_TASK)
    write_text(
        folder / "README.md",
        README.replace("VERSION", version) + missing + ("" if has_images else SEPARATE_IMAGES_NOTE),
    )
