"""The human study: how well do people reject unanswerable questions? (RGQA, section 5.4)

50 AQs and 50 UQs of each subset of a release, from its test part, are the tasks of a data set of its own, `data/<data set>-people/`,
which people judge at the same desk, pulled and kept as ever; what they call invalid they reject. What they said is written
as `rgqa score --resource human=FILE` takes it, with their rates.

Writes  data/<data set>-people/interim/batch/   tasks.jsonl, label_studio_tasks.json: as stage batch does
        data/<data set>-people/study/judgements/all.json, <subset>.json   {question_id, accepted} for each person's judgement
        params.yaml: a section <data set>-people, if there is none
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
import pandas as pd

from annotation.study.answers_table import build_answers_table
from annotation.study.assignment import wilson_interval
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
{name}:                                   # the human study of {release} (rgqa annotate human-baseline sample)
  annotate: {{max_votes: 3, overlap_rate: 1.0, training_tasks: 0, qualification_tasks: 0, seed: {seed}}}  # three people judge everything
"""
SAME_VERDICT_PAIRS = ("valid", "valid"), ("invalid", "invalid")
RemainingItems = Mapping[str, Mapping[str, list[Item]]]  # image -> verdict -> items that are not asked yet


class _Provenance(msgspec.Struct):
    item: Item


def choose_tasks(items: Iterable[Item], items_per_label: int, seed: int) -> list[Task]:
    """As many AQs as UQs of each subset, at most `each`, from the test part, two of an image in a task; sorted by id.

    Of a task's questions both are answerable, neither, or one, so that one tells nothing of the other, as far as images have
    such pairs; their `expected` is the truth. Images are used as evenly as pairs allow. No item is asked twice, though an AQ may
    stand in several subsets.
    """
    offered = sorted(
        (item for item in items if item.split == "test"),
        key=lambda item: hash_uniform(str(seed), item.item_id),
    )
    asked, uses, tasks = set[str](), Counter[str](), list[Task]()
    for subset in SUBSETS:
        left: dict[str, dict[str, list[Item]]] = defaultdict(lambda: {"valid": [], "invalid": []})
        for item in offered:
            if item.subset == subset and item.item_id not in asked:
                left[item.image_id]["invalid" if item.unanswerable else "valid"].append(item)
        there = [sum(len(kinds[kind]) for kinds in left.values()) for kind in ("valid", "invalid")]
        count, size = 0, min(items_per_label, *there)
        for pairs in [SAME_VERDICT_PAIRS] * (size // 4) + [(("valid", "invalid"),)] * size:
            found = [_choose_image(left, pair, uses) for pair in pairs]
            if count < size and None not in found:
                tasks += [
                    _build_task([left[at or ""][kind].pop() for kind in pair], subset, seed)
                    for at, pair in zip(found, pairs, strict=True)
                ]
                uses.update(at for at in found if at)
                count += len(pairs)
        asked |= {row.question_id or "" for task in tasks for row in (task.first, task.second)}
    return sorted(tasks, key=lambda task: task.task_id)


def _choose_image(left: RemainingItems, pair: tuple[str, str], uses: Counter[str]) -> str | None:
    """The image that has such a pair: where two are alike, one that has little of the other kind to pair; then the least used."""
    fits = [at for at, kinds in left.items() if all(len(kinds[kind]) >= pair.count(kind) for kind in pair)]
    spare = {at: sum(len(rows) for kind, rows in left[at].items() if kind not in pair) for at in fits}
    return min(fits, key=lambda at: (spare[at], uses[at]), default=None)


def _build_task(items: list[Item], subset: Subset, seed: int) -> Task:
    """One is a candidate and one a repeat to the queue: no filter weighs anybody."""
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
    """Draw the study of a release and make its data set; drawn again, the same release gives the same bytes.

    Args:
        release: its folder; by default the version that is in params.yaml. each: AQs and UQs of a subset; 50 in the paper.

    Raises:
        UserError: no such release, an image of it is not among the data set's, or another study was drawn already.
    """
    folders = DatasetFolders()
    people = DatasetFolders(f"{folders.dataset}-people")
    release = release or folders.release_dir(params.read_release_version())
    if not (release / "provenance.jsonl").is_file():
        raise UserError(
            f"{release}: no release is there (no provenance.jsonl); make it with dvc repro, or name its folder"
        )
    tasks = choose_tasks(
        (row.item for row in read_jsonl(release / "provenance.jsonl", _Provenance)), items_per_label, seed
    )
    if not tasks:
        raise UserError(f"{release}: no subset has both AQs and UQs in its test part; nothing can be drawn")
    image_records = {row.image_id: row for row in folders.read_records(ImageRecord)}
    problems = Problems(f"{release}: its image_records are not those of data set {folders.dataset}")
    for image_id in sorted({row.image_id for row in tasks} - image_records.keys()):
        problems.add(image_id, "no such image")
    problems.raise_if_any()
    if people.record_file(Task).exists() and list(people.read_records(Task)) != tasks:
        raise UserError(
            f"{people.root}: another study was drawn there, and people may be at work on it; move that folder away to draw anew"
        )
    for subset, count in sorted(Counter(row.subset for row in tasks).items()):
        short = (
            ""
            if count == items_per_label
            else f" ({items_per_label} of each were wanted; the release has no more pairs)"
        )
        print(f"study: {subset}: {count} AQs, {count} UQs{short}")
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
    people.write_stage_outputs(
        "batch", what, {"tasks.jsonl": tasks, "label_studio_tasks.json": [{"data": row} for row in browser]}
    )
    if people.dataset not in params.read_params_file():
        section = PARAMS_TEMPLATE.format(name=people.dataset, release=release.name, seed=seed)
        write_text(PARAMS_FILE, PARAMS_FILE.read_text(encoding="utf-8").rstrip() + "\n" + section)
    print(
        f"study: next: dataset: {people.dataset} in {PARAMS_FILE}; then invite, serve and pull as ever, and rgqa annotate human-baseline score"
    )


def score_judgements() -> None:
    """Write people's judgements for `rgqa score --resource human=FILE`, and print their rates.

    Raises:
        UserError: the data set in use is no human study, or nobody judged anything yet.
    """
    folders = DatasetFolders()
    tasks = {task.task_id: task for task in folders.read_records(Task)}
    pulled, home = folders.annotations / PULLED_FILENAME, folders.study / "judgements"
    verdicts, counts = read_verdicts(pulled, tasks)
    if not folders.dataset.endswith("-people") or not verdicts:
        raise UserError(
            f"{folders.dataset}: no judgement of a human study: {counts or f'{pulled} is not there'}"
        )
    judgements = build_judgements(tasks, verdicts)
    for name in ("all", *SUBSETS):
        rows = judgements[(judgements["subset"] == name) | (name == "all")]
        write_json(home / f"{name}.json", rows[["question_id", "accepted"]].to_dict("records"))
    print(format_table(judgements))
    report_written("study", f"{format_count(len(judgements), 'judgement')}", home)
    print(
        f"study: beside a model: rgqa score RELEASE model.json --subset SUBSET --resource human={home}/SUBSET.json"
    )


def build_judgements(tasks: Mapping[str, Task], verdicts: Iterable[Verdict]) -> pd.DataFrame:
    """A row for each judgement: question_id, subset, annotator, answerable, accepted; "unsure" is accepted."""
    rows = build_answers_table(tasks, verdicts)
    rows = rows.assign(answerable=rows["expected"] == "valid", accepted=rows["choice"] != "invalid")
    return rows[["question_id", "subset", "annotator", "answerable", "accepted"]]


def format_table(judgements: pd.DataFrame) -> str:
    """To print, by subset: shares with 95 % Wilson intervals. FPR is the share of UQs accepted."""

    def share(part: pd.Series) -> str:
        right, total = int(part.sum()), len(part)
        low, high = wilson_interval(right, total)
        return f"{right / total:.1%} [{low:.1%}, {high:.1%}]" if total else "undefined"

    rows = {}
    for subset, of in judgements.groupby("subset", observed=True):
        aq, accepted = of["answerable"], of["accepted"]
        rows[subset] = {
            "people": of["annotator"].nunique(),
            "AQs accepted (TPR)": share(accepted[aq]),
            "UQs rejected": share(~accepted[~aq]),
            "UQs accepted (FPR)": share(accepted[~aq]),
            "accuracy": share(aq == accepted),
        }
    return pd.DataFrame.from_dict(rows, "index").rename_axis("subset").reset_index().to_string(index=False)
