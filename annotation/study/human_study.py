"""The human study: how well do people reject unanswerable questions? (RGQA, section 5.4)

50 AQs and 50 UQs of each subset of a release, from its test part, as tasks with one question each; then what people said
of them, as `rgqa score --extra human=FILE` takes it, and their rates.

Writes  data/<data set>/study/human/   git-ignored, as is all of study/
        tasks.json      what Label Studio imports, in an order that tells nothing
        study.xml       the project's labelling configuration
        drawn.jsonl     which task is which item: not for people's eyes
        judgements/all.json, <subset>.json   {question_id, accepted} for each person's judgement, from exports
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
import pandas as pd

from annotation.study.exports import LOCAL, LabellingScreen, latest_of
from annotation.study.importing import read_exports
from annotation.study.weighing import wilson
from pipeline.core import params
from pipeline.core.errors import Problems, UserError
from pipeline.core.files import content_key, copy_file, read_jsonl, write_json, write_jsonl
from pipeline.core.paths import DATA, Folders
from pipeline.core.progress import done
from pipeline.core.randomness import generator
from pipeline.core.records import SUBSETS, Item, Picture, Record, Subset

STUDY_SCREEN = LabellingScreen(
    {"judgement": ("answer", "reject")}, {}, "Set the project up with study.xml, and judge these tasks again"
)


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
    offered = sorted((item for item in items if item.part == "test"), key=lambda item: item.item_id)
    drawn: dict[str, StudyTask] = {}  # by item
    shown: Counter[str] = Counter()
    for subset in SUBSETS:
        lots: list[list[Item]] = []
        for answerable in (True, False):
            left = [
                item
                for item in offered
                if (item.subset, not item.unanswerable) == (subset, answerable) and item.item_id not in drawn
            ]
            order = generator(seed, "human study", subset, str(answerable)).permutation(len(left))
            lots.append([left[i] for i in order])
        size = min(each, *map(len, lots))
        for left in lots:
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
                    answerable=not item.unanswerable,
                )
    return sorted(drawn.values(), key=lambda task: task.task)


def draw(release: Path | None = None, each: int = 50, seed: int = 0, address: str = "") -> None:
    """Draw the study of a release and write its tasks; drawn again, the same release gives the same bytes. Nothing in the
    tasks tells AQs and UQs, or subsets, apart.

    Args:
        release: its folder; by default the version that is in params.yaml. each: AQs and UQs of a subset; 50 in the paper.
        address: what stands before a picture's path in `data/`; by default that of Label Studio's local file serving.

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
        row.picture_id: Path(row.path)
        for row in read_jsonl(folders.stage("ingest") / "pictures.jsonl", Picture)
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
    images = ((address or LOCAL) + pictures[row.picture_id].relative_to(DATA).as_posix() for row in drawn)
    tasks = [
        {"data": {"task": row.task, "image": image, "question": row.text}}
        for row, image in zip(drawn, images, strict=True)
    ]
    write_jsonl(before, drawn)
    write_json(home / "tasks.json", tasks)
    copy_file(Path(__file__).with_name("study.xml"), home / "study.xml")
    for subset, count in sorted(Counter(row.subset for row in drawn).items()):
        short = "" if count == 2 * each else f" ({each} of each were wanted; the release has no more)"
        print(f"study: {subset}: {count // 2} AQs, {count // 2} UQs{short}")
    done("study", f"{len(drawn):,} tasks", home / "tasks.json")
    print(
        f"study: set up a project with {home / 'study.xml'}, import tasks.json, have it judged, export it as JSON"
    )
    print("study: then run: rgqa annotate study score EXPORT.json")


def score(exports: Sequence[Path]) -> None:
    """Write people's judgements for `rgqa score --extra human=FILE`, and print their rates.

    Raises:
        UserError: nothing was drawn, or the exports are none of this study's.
    """
    home = Folders().study / "human"
    if not (home / "drawn.jsonl").exists():
        raise UserError(f"{home}: no study was drawn; run: rgqa annotate study draw")
    drawn = {row.task: row for row in read_jsonl(home / "drawn.jsonl", StudyTask)}
    judgements, counts = read_judgements(exports, drawn)
    for name in ("all", *SUBSETS):
        path = home / "judgements" / f"{name}.json"
        rows = judgements[(judgements["subset"] == name) | (name == "all")]
        if len(rows):
            write_json(path, rows[["question_id", "accepted"]].to_dict("records"))
        else:
            path.unlink(missing_ok=True)
    print(table(rates(judgements)))
    print(f"study: annotations: {', '.join(f'{count:,} {kind}' for kind, count in counts.items())}")
    done("study", f"{len(judgements):,} judgements", home / "judgements")
    print(
        f"study: beside a model: rgqa score RELEASE model.json --subset SUBSET --extra human={home / 'judgements'}/SUBSET.json"
    )


def read_judgements(
    paths: Iterable[Path], drawn: Mapping[str, StudyTask]
) -> tuple[pd.DataFrame, dict[str, int]]:
    """Each person's last answer to each task (columns task, question_id, subset, answerable, person, accepted), sorted by
    task and person, and how many annotations of what kind there were.

    Args:
        drawn: by task.

    Raises:
        UserError: lists the files that are no exports, and answers that are none; or there is none.
    """
    subject = "exports of the human study"
    latest, counts = latest_of(read_exports(paths, subject), drawn, STUDY_SCREEN, subject)
    if not latest:
        raise UserError(
            f"exports of the human study: no judgement of this study in them: {counts or 'nothing'}"
        )
    judgements = [
        msgspec.structs.asdict(drawn[task])
        | {"person": person, "accepted": annotation.chosen["judgement"] == "answer"}
        for (task, person), annotation in sorted(latest.items())
    ]
    return pd.DataFrame(judgements), counts


def rates(judgements: pd.DataFrame) -> pd.DataFrame:
    """Subset -> people, AQs and those accepted, UQs and those rejected."""
    aq, accepted = judgements["answerable"], judgements["accepted"]
    counted = {"aqs": aq, "accepted": aq & accepted, "uqs": ~aq, "rejected": ~aq & ~accepted}
    by_subset = judgements.assign(people=judgements["person"], **counted).groupby("subset")
    return by_subset.agg({"people": "nunique", **dict.fromkeys(counted, "sum")})


def table(rates: pd.DataFrame) -> str:
    """To print: shares with 95 % Wilson intervals. FPR is the share of UQs accepted."""

    def shares(part: pd.Series, whole: pd.Series) -> list[str]:
        bounds = [wilson(right, total) for right, total in zip(part, whole, strict=True)]
        return [
            f"{share:.1%} [{low:.1%}, {high:.1%}]" if share == share else "undefined"
            for share, (low, high) in zip(part / whole, bounds, strict=True)
        ]

    columns = {
        "people": rates["people"],
        "AQs accepted (TPR)": shares(rates["accepted"], rates["aqs"]),
        "UQs rejected": shares(rates["rejected"], rates["uqs"]),
        "UQs accepted (FPR)": shares(rates["uqs"] - rates["rejected"], rates["uqs"]),
        "accuracy": shares(rates["accepted"] + rates["rejected"], rates["aqs"] + rates["uqs"]),
    }
    return pd.DataFrame(columns, rates.index).reset_index().to_string(index=False)
