"""Measure a human baseline: how well do people reject unanswerable questions? (RGQA, section 5.4)

RGQA is the benchmark of Zhang et al. (ICCV 2023). By default, 50 answerable questions (AQs) and 50
unanswerable questions (UQs) per subset of a release are sampled from its test split. They become the tasks of
a separate data set, `data/<data set>-human/`, which people judge on the usual annotation page. A question is
rejected if it is called invalid. The judgements are written in the format of `rgqa score --resource
human-judgments=FILE`.

Writes  data/<data set>-human/interim/batch/   tasks.jsonl, label_studio_tasks.json: in the format of stage batch
        data/<data set>-human/study/judgements/all.json, <subset>.json   {question_id, accepted} for each judgement
        params.yaml: a section <data set>-human, if it does not exist
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
import pandas as pd

from annotation.study.answers_table import build_answers_table
from annotation.study.assignment import wilson_interval
from annotation.study.collect_command import HUMAN_BASELINE_SUFFIX, is_human_baseline
from annotation.study.exports import LOCAL_FILES_PREFIX, PULLED_FILENAME, read_verdicts
from pipeline.core import params
from pipeline.core.atomic_files import write_text
from pipeline.core.errors import Problems, UserError, format_count
from pipeline.core.json_files import content_hash, read_jsonl, write_json
from pipeline.core.params import PARAMS_FILE
from pipeline.core.paths import DATA_DIR, DatasetFolders
from pipeline.core.progress import report_written
from pipeline.core.randomness import hash_uniform
from pipeline.core.records import SUBSETS, ImageRecord, Item, Subset, Task, TaskQuestion, Verdict

PARAMS_TEMPLATE = """
{name}:                                   # human baseline of {release} (rgqa annotate human-baseline sample)
  annotate: {{max_votes: 3, overlap_rate: 1.0, training_tasks: 0, qualification_tasks: 0, seed: {seed}}}  # three annotators judge every task
"""
SAME_VERDICT_PAIRS = ("valid", "valid"), ("invalid", "invalid")
# Image id -> "valid" or "invalid" -> items that are not in a task yet.
RemainingItems = Mapping[str, Mapping[str, list[Item]]]


class _Provenance(msgspec.Struct):
    item: Item


def choose_tasks(items: Iterable[Item], items_per_label: int, seed: int) -> list[Task]:
    """Sample equally many AQs and UQs of each subset from the test split, and build tasks of two items of one
    image.

    If the images allow it, a quarter of the tasks has two AQs, a quarter has two UQs, and half of the tasks
    have one of each, so that one question of a task gives no hint about the other. Images are used as evenly
    as possible. No item occurs twice, although an AQ can be in several subsets.

    Args:
        items: The items of a release.
        items_per_label: Maximum number of AQs and of UQs per subset.
        seed: Seed of the sample.

    Returns:
        The tasks, sorted by id. `expected_choice` of a question is its correct choice.
    """
    candidates = sorted(
        (item for item in items if item.split == "test"),
        key=lambda item: hash_uniform(str(seed), item.item_id),
    )
    used, uses, tasks = set[str](), Counter[str](), list[Task]()
    for subset in SUBSETS:
        left: dict[str, dict[str, list[Item]]] = defaultdict(lambda: {"valid": [], "invalid": []})
        for item in candidates:
            if item.subset == subset and item.item_id not in used:
                left[item.image_id]["invalid" if item.unanswerable else "valid"].append(item)
        available = [sum(len(kinds[kind]) for kinds in left.values()) for kind in ("valid", "invalid")]
        count, size = 0, min(items_per_label, *available)
        for pairs in [SAME_VERDICT_PAIRS] * (size // 4) + [(("valid", "invalid"),)] * size:
            found = [_choose_image(left, pair, uses) for pair in pairs]
            if count < size and None not in found:
                tasks += [
                    _build_task([left[at or ""][kind].pop() for kind in pair], subset, seed)
                    for at, pair in zip(found, pairs, strict=True)
                ]
                uses.update(at for at in found if at)
                count += len(pairs)
        used |= {row.question_id or "" for task in tasks for row in (task.first, task.second)}
    return sorted(tasks, key=lambda task: task.task_id)


def _choose_image(left: RemainingItems, pair: tuple[str, str], uses: Counter[str]) -> str | None:
    """Return the image for a pair of items; None if no image has suitable items.

    The image with the fewest items of the other kind is chosen; of equal ones, the image that was used least.
    """
    suitable = [
        at for at, kinds in left.items() if all(len(kinds[kind]) >= pair.count(kind) for kind in pair)
    ]
    spare = {at: sum(len(rows) for kind, rows in left[at].items() if kind not in pair) for at in suitable}
    return min(suitable, key=lambda at: (spare[at], uses[at]), default=None)


def _build_task(items: list[Item], subset: Subset, seed: int) -> Task:
    """Build a task from two items, as a candidate and a repeat.

    There are no gold questions, so annotators are not assessed.
    """
    one, other = sorted(items, key=lambda item: hash_uniform(str(seed), "first", item.item_id))
    first, second = (
        TaskQuestion(
            key=content_hash("human study", item.item_id),
            text=item.text,
            role="candidate" if item is one else "repeat",
            candidate_id=item.item_id,
            question_id=item.item_id,
            expected_choice="invalid" if item.unanswerable else "valid",
        )
        for item in (one, other)
    )
    key = content_hash("human study", str(seed), subset, one.item_id, other.item_id)
    return Task(task_id=key, image_id=one.image_id, subset=subset, first=first, second=second)


def sample_items(release: Path | None = None, items_per_label: int = 50, seed: int = 0) -> None:
    """Sample the human baseline of a release and create its data set.

    The same release and seed give the same bytes.

    Args:
        release: Folder of the release; None for the version in params.yaml.
        items_per_label: Number of AQs and of UQs per subset; RGQA uses 50.
        seed: Seed of the sample.

    Raises:
        UserError: There is no such release, one of its images is not in the data set, or a different sample
            exists already.
    """
    folders = DatasetFolders()
    baseline = DatasetFolders(f"{folders.dataset}{HUMAN_BASELINE_SUFFIX}")
    release = release or folders.release_dir(params.read_release_version())
    if not (release / "provenance.jsonl").is_file():
        raise UserError(
            f"there is no release (no provenance.jsonl): {release}. Create it with dvc repro, or pass its folder with --release"
        )
    tasks = choose_tasks(
        (row.item for row in read_jsonl(release / "provenance.jsonl", _Provenance)), items_per_label, seed
    )
    if not tasks:
        raise UserError(f"no subset has both AQs and UQs in its test split: {release}. Use another release")
    image_records = {row.image_id: row for row in folders.read_records(ImageRecord)}
    problems = Problems(f"{release} has images that are not in the data set {folders.dataset}")
    for image_id in sorted({row.image_id for row in tasks} - image_records.keys()):
        problems.add(image_id, "this image is not in the data set")
    problems.raise_if_any()
    if baseline.record_file(Task).exists() and list(baseline.read_records(Task)) != tasks:
        raise UserError(
            f"a different sample exists already, and people may be working on it: {baseline.root}. Move this folder away to sample again"
        )
    for subset, count in sorted(Counter(row.subset for row in tasks).items()):
        short = (
            ""
            if count == items_per_label
            else f" (fewer than the requested {items_per_label} of each, because the release has no more pairs)"
        )
        print(f"human-baseline: {subset}: {count} AQs, {count} UQs{short}")
    images = {
        key: LOCAL_FILES_PREFIX + Path(row.path).relative_to(DATA_DIR).as_posix()
        for key, row in image_records.items()
    }
    browser = [
        {
            "task": row.task_id,
            "image": images[row.image_id],
            "first": row.first.text,
            "second": row.second.text,
        }
        for row in tasks
    ]
    what = f"{format_count(len(tasks), 'task')} of two questions"
    baseline.write_stage_outputs(
        "batch", what, {"tasks.jsonl": tasks, "label_studio_tasks.json": [{"data": row} for row in browser]}
    )
    if baseline.dataset not in params.read_params_file():
        section = PARAMS_TEMPLATE.format(name=baseline.dataset, release=release.name, seed=seed)
        write_text(PARAMS_FILE, PARAMS_FILE.read_text(encoding="utf-8").rstrip() + "\n" + section)
    print(
        f"human-baseline: Next, set dataset: {baseline.dataset} in {PARAMS_FILE}, run rgqa annotate invite, serve and pull, then "
        "rgqa annotate human-baseline score"
    )


def score_judgements() -> None:
    """Write the judgements in the format of `rgqa score --resource human-judgments=FILE`, and print the
    rates.

    Raises:
        UserError: The data set in use is not a human baseline, or there are no judgements yet.
    """
    folders = DatasetFolders()
    tasks = {task.task_id: task for task in folders.read_records(Task)}
    pulled, home = folders.annotations / PULLED_FILENAME, folders.study / "judgements"
    verdicts, counts = read_verdicts(pulled, tasks)
    if not is_human_baseline(folders) or not verdicts:
        raise UserError(
            f"the data set {folders.dataset} has no judgements of a human baseline: {counts or f'{pulled} does not exist'}. "
            "Set the data set NAME-human in params.yaml, and pull verdicts first"
        )
    judgements = build_judgements(tasks, verdicts)
    for name in ("all", *SUBSETS):
        rows = judgements[(judgements["subset"] == name) | (name == "all")]
        write_json(home / f"{name}.json", rows[["question_id", "accepted"]].to_dict("records"))
    print(format_table(judgements))
    report_written("human-baseline", f"{format_count(len(judgements), 'judgement')}", home)
    print(
        "human-baseline: To compare with a model, run rgqa score RELEASE model.json --subset SUBSET "
        f"--resource human-judgments={home}/SUBSET.json"
    )


def build_judgements(tasks: Mapping[str, Task], verdicts: Iterable[Verdict]) -> pd.DataFrame:
    """Return one row per judgement of a question, with the columns question_id, subset, annotator, answerable
    and accepted.

    The choice "unsure" counts as accepted.
    """
    rows = build_answers_table(tasks, verdicts)
    rows = rows.assign(answerable=rows["expected_choice"] == "valid", accepted=rows["choice"] != "invalid")
    return rows[["question_id", "subset", "annotator", "answerable", "accepted"]]


def format_table(judgements: pd.DataFrame) -> str:
    """Return a table for the terminal, with rates and 95 % Wilson intervals by subset.

    FPR is the rate of accepted UQs.
    """

    def format_rate(hits: pd.Series) -> str:
        count, total = int(hits.sum()), len(hits)
        low, high = wilson_interval(count, total)
        return f"{count / total:.1%} [{low:.1%}, {high:.1%}]" if total else "undefined"

    rows = {}
    for subset, group in judgements.groupby("subset", observed=True):
        aq, accepted = group["answerable"], group["accepted"]
        rows[subset] = {
            "annotators": group["annotator"].nunique(),
            "AQs accepted (TPR)": format_rate(accepted[aq]),
            "UQs rejected": format_rate(~accepted[~aq]),
            "UQs accepted (FPR)": format_rate(accepted[~aq]),
            "accuracy": format_rate(aq == accepted),
        }
    return pd.DataFrame.from_dict(rows, "index").rename_axis("subset").reset_index().to_string(index=False)
