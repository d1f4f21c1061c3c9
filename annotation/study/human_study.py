"""The human study, drawn: how well do people reject unanswerable questions? (RGQA, section 5.4)

50 AQs and 50 UQs of each subset of a release, from its test part, as tasks with one question each. What people said of
them is read by `annotation.study.human_scores`.

Writes  data/<data set>/study/human/   git-ignored, as is all of study/
        tasks.json      what Label Studio imports, in an order that tells nothing
        study.xml       the project's labelling configuration
        drawn.jsonl     which task is which item: not for people's eyes
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from pipeline.core import params
from pipeline.core.errors import Problems, UserError
from pipeline.core.files import content_key, copy_file, read_jsonl, write_json, write_jsonl
from pipeline.core.paths import DATA, Folders
from pipeline.core.progress import done
from pipeline.core.randomness import generator
from pipeline.core.records import SUBSETS, Item, Picture, Record, Subset

EACH = 50  # AQs and UQs of a subset, as in the paper
LOCAL = "/data/local-files/?d="


class StudyTask(Record):
    """A task of the study and the item behind it. `question_id` is the item's, as in the release and in predictions."""

    task: str
    question_id: str
    subset: Subset
    picture_id: str
    text: str
    answerable: bool


class _Provenance(msgspec.Struct):
    item: Item


def choose(items: Iterable[Item], each: int, seed: int) -> list[StudyTask]:
    """As many AQs as UQs of each subset, at most `each`, from the test part; sorted by task, which is by lot.

    Pictures are used as evenly as can be, and no item is asked twice, though an AQ may stand in several subsets.
    """
    offered: dict[tuple[Subset, bool], list[Item]] = defaultdict(list)
    for item in sorted(items, key=lambda item: item.item_id):
        if item.part == "test":
            offered[item.subset, not item.unanswerable].append(item)
    drawn: dict[str, StudyTask] = {}  # by item
    shown: Counter[str] = Counter()
    for subset in SUBSETS:
        lots: dict[bool, list[Item]] = {}
        for answerable in (True, False):
            left = [item for item in offered[subset, answerable] if item.item_id not in drawn]
            order = generator(seed, "human study", subset, str(answerable)).permutation(len(left))
            lots[answerable] = [left[i] for i in order]
        size = min(each, *map(len, lots.values()))
        for answerable, left in lots.items():
            for _ in range(size):
                item = min(left, key=lambda item: shown[item.picture_id])  # the first of equals
                left.remove(item)
                shown[item.picture_id] += 1
                drawn[item.item_id] = StudyTask(
                    task=content_key("human study", str(seed), subset, item.item_id),
                    question_id=item.item_id,
                    subset=subset,
                    picture_id=item.picture_id,
                    text=item.text,
                    answerable=answerable,
                )
    return sorted(drawn.values(), key=lambda task: task.task)


def tasks(
    drawn: Iterable[StudyTask], pictures: Mapping[str, Picture], address: str = LOCAL
) -> list[dict[str, dict[str, str]]]:
    """The tasks as Label Studio imports them: nothing in them tells AQs and UQs, or subsets, apart.

    Args:
        address: what stands before a picture's path in `data/`; by default that of Label Studio's local file serving.
    """
    return [
        {
            "data": {
                "task": row.task,
                "image": address + Path(pictures[row.picture_id].path).relative_to(DATA).as_posix(),
                "question": row.text,
            }
        }
        for row in drawn
    ]


def draw(release: Path | None = None, each: int = EACH, seed: int = 0, address: str = LOCAL) -> None:
    """Draw the study of a release and write its tasks; drawn again, the same release gives the same bytes.

    Args:
        release: its folder; by default the version that is in params.yaml. address: see `tasks`.

    Raises:
        UserError: no such release, a picture of it is not among the data set's, or another study was drawn already.
    """
    folders = Folders()
    release = release or folders.release(params.version())
    home = folders.study / "human"
    if not (release / "provenance.jsonl").is_file():
        raise UserError(
            f"{release}: no release is there (no provenance.jsonl); make it with dvc repro, or name its folder"
        )
    drawn = choose((row.item for row in read_jsonl(release / "provenance.jsonl", _Provenance)), each, seed)
    if not drawn:
        raise UserError(f"{release}: no subset has both AQs and UQs in its test part; nothing can be drawn")
    pictures = {
        row.picture_id: row for row in read_jsonl(folders.stage("ingest") / "pictures.jsonl", Picture)
    }
    problems = Problems(f"{release}: its pictures are not those of data set {folders.dataset}")
    for picture_id in sorted({row.picture_id for row in drawn} - pictures.keys()):
        problems.add(picture_id, "no such picture")
    problems.raise_if_any()
    before = home / "drawn.jsonl"
    if before.exists() and list(read_jsonl(before, StudyTask)) != drawn:
        raise UserError(
            f"{home}: another study was drawn there, and people may be at work on it; move that folder away to draw anew"
        )
    write_jsonl(before, drawn)
    write_json(home / "tasks.json", tasks(drawn, pictures, address))
    copy_file(Path(__file__).with_name("study.xml"), home / "study.xml")
    for subset, count in sorted(Counter(row.subset for row in drawn).items()):
        short = "" if count == 2 * each else f" ({each} of each were wanted; the release has no more)"
        print(f"study: {subset}: {count // 2} AQs, {count // 2} UQs{short}")
    done("study", f"{len(drawn):,} tasks", home / "tasks.json")
    print(
        f"study: set up a project with {home / 'study.xml'}, import tasks.json, have it judged, export it as JSON"
    )
    print("study: then run: rgqa annotate study score EXPORT.json")
