"""The folder `harness/` of a release: what lmms-eval, VLMEvalKit and inspect_ai need to ask a model its items."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from pipeline.benchmark.release.lmms_eval_tasks import write_lmms_eval_tasks
from pipeline.benchmark.release.vlmevalkit_table import write_table
from pipeline.core.atomic_files import write_text
from pipeline.core.jsonl_index import FilteredView
from pipeline.core.records import Item

INSPECT_TASK = '''\
"""The items of the release that this file is in, as a task of inspect_ai; ../README.md has the commands."""

from pathlib import Path

from inspect_ai import Task, task
from inspect_ai._util.error import PrerequisiteError

try:
    try:
        from rgqa_scorers.inference.registry import checked, release_task
    except ModuleNotFoundError as error:
        if str(error.name).split(".")[0] != "rgqa_scorers":
            raise
        # The whole project has the same code.
        from pipeline.inference.registry import checked, release_task
except ModuleNotFoundError as error:
    message = f"{error.name} is not installed: pip install {error.name}"
    if str(error.name).split(".")[0] == "pipeline":
        message = "rgqa_scorers is not installed: install RELEASE/scorers/WHEEL, the file there, with its extra inspect"
    raise PrerequisiteError(message) from None
RELEASE = Path(__file__).resolve().parents[2]


@task
def rgqa(part: str = "test", prompt: str = "refuse", recipe: str = "refusal", images: str = "") -> Task:
    return checked(release_task)(RELEASE, part=part, prompt=prompt, recipe=recipe, images=images)
'''
README = """\
# Ask a model with the harness you have

RELEASE is the folder above this one, LOG what the harness writes. All three ask each item of split test once, with a line that says how
to refuse (prompt `refuse`), and the same answers have the same scores by all three:

    rgqa-score RELEASE LOG --detect-abstention

reads which answers refuse. A request that failed, or whose answer was cut off, has no answer: the command counts them, and `--missing wrong`
takes them for wrong answers.

lmms-eval 0.7 (`pip install lmms-eval`); LOG is `logs/MODEL/DATE_samples_rgqa.jsonl`; task `rgqa_validation` has the items of split validation:

    lmms-eval --include_path RELEASE/harness/lmms_eval --tasks rgqa --model MODEL --log_samples --output_path logs

VLMEvalKit, in a clone of its repository; LOG is `outputs/MODEL/DATE/MODEL_rgqa_openended.xlsx`; `rgqa_validation.tsv` has split validation. It looks for tables
in `~/LMUData`, or where `LMUData` says, and takes one for open questions if its name has `openended` in it:

    cp RELEASE/harness/vlmevalkit/rgqa.tsv ~/LMUData/rgqa_openended.tsv
    python run.py --data rgqa_openended --model MODEL --mode infer

inspect_ai (`pip install "RELEASE/scorers/WHEEL[inspect]"`, WHEEL being the file there); LOG is `logs/DATE_rgqa_ID.eval`; `-T part=validation` asks part
validation. RELEASE is a relative path here, as inspect_ai finds no file by another:

    inspect eval RELEASE/harness/inspect/rgqa.py --model MODEL --no-log-images

`rgqa-run`, of the same installation, does this in one command, with other prompts and with confidences.
"""
SEPARATE_IMAGES_NOTE = """
The images are not in this release. For lmms-eval, `RGQA_IMAGES` names their folder, which the wheel in `RELEASE/scorers` reads; for VLMEvalKit, put them into
`~/LMUData/images/rgqa_openended`; for inspect_ai, add `-T images=FOLDER`, a full path.
"""


def write_harness_folder(
    release_folder: Path, items: Collection[Item], images: Mapping[str, str], version: str, has_images: bool
) -> None:
    """Write `harness/` of the release at `home`, whose tables are there.

    Args:
        items: in the order of the release.
        images: the path of each image by its id. embed: they are in the release.
    """
    write_lmms_eval_tasks(release_folder, version)
    folder = release_folder / "harness"
    missing = ""
    for split, name in (("test", "rgqa"), ("validation", "rgqa_validation")):
        if members := FilteredView(items, lambda item, split=split: item.split == split):
            write_table(folder / "vlmevalkit" / f"{name}.tsv", members, images, has_images)
        else:
            missing += (
                f"\nThis release has no items of split {split}, so there is no task and no table `{name}`.\n"
            )
    write_text(folder / "inspect/rgqa.py", INSPECT_TASK)
    write_text(folder / "README.md", README + missing + ("" if has_images else SEPARATE_IMAGES_NOTE))
