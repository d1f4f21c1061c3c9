"""The human study: how well do people reject unanswerable questions? (RGQA, section 5.4)

`draw` takes 50 AQs and 50 UQs of each subset of a release, from its test part, as tasks with one question each.
`score` reads what people said and writes it as `rgqa score --human` takes it.

Writes  data/<data set>/study/human/   git-ignored, as is all of study/
        tasks.json      what Label Studio imports, in an order that tells nothing
        study.xml       the project's labelling configuration
        drawn.jsonl     which task is which item: not for people's eyes
        judgements/all.json, judgements/<subset>.json   {question_id, accepted} for each person's judgement
"""

from __future__ import annotations

import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from annotation.study.exports import Annotation, Exported, pseudonym
from annotation.study.quality import wilson
from pipeline.core import params
from pipeline.core.errors import Problems, UserError
from pipeline.core.files import content_key, read_json, read_jsonl, write_json, write_jsonl
from pipeline.core.paths import DATA, Folders
from pipeline.core.progress import done
from pipeline.core.randomness import generator
from pipeline.core.records import SUBSETS, Item, Picture, Record, Subset

EACH = 50  # AQs and UQs of a subset, as in the paper
LOCAL = "/data/local-files/?d="
ANSWERS = {"answer": True, "reject": False}


class Drawn(Record):
    """A task of the study and the item behind it. `question_id` is the item's, as in the release and in predictions."""

    task: str
    question_id: str
    subset: Subset
    picture_id: str
    text: str
    answerable: bool


class Judgement(Record):
    """What `rgqa score --human` takes: was the item judged answerable?"""

    question_id: str
    accepted: bool


class Given(Record):
    """A person's last answer to a task."""

    task: str
    person: str
    accepted: bool


class Result(Record):
    """People's judgements of a subset: AQs and those accepted, UQs and those rejected."""

    subset: Subset
    people: int
    aqs: int
    accepted: int
    uqs: int
    rejected: int


class _Provenance(msgspec.Struct):
    item: Item


def choose(items: Iterable[Item], each: int, seed: int) -> list[Drawn]:
    """As many AQs as UQs of each subset, at most `each`, from the test part; sorted by task, which is by lot.

    Pictures are used as evenly as can be, and no item is asked twice, though an AQ may stand in several subsets.
    """
    mine: dict[tuple[Subset, bool], list[Item]] = defaultdict(list)
    for item in items:
        if item.part == "test":
            mine[item.subset, not item.unanswerable].append(item)
    drawn: list[Drawn] = []
    asked: set[str] = set()
    shown: Counter[str] = Counter()
    for subset in SUBSETS:
        found = {}
        for answerable in (True, False):
            rows = [item for item in mine[subset, answerable] if item.item_id not in asked]
            rows.sort(key=lambda item: item.item_id)
            lot = generator(seed, "human study", subset, str(answerable)).permutation(len(rows))
            found[answerable] = [rows[i] for i in lot]
        size = min(each, *(len(rows) for rows in found.values()))
        for answerable, rows in found.items():
            for item in _spread(rows, size, shown):
                asked.add(item.item_id)
                key = content_key("human study", str(seed), subset, item.item_id)
                drawn.append(
                    Drawn(
                        task=key,
                        question_id=item.item_id,
                        subset=subset,
                        picture_id=item.picture_id,
                        text=item.text,
                        answerable=answerable,
                    )
                )
    return sorted(drawn, key=lambda row: row.task)


def _spread(rows: Sequence[Item], size: int, shown: Counter[str]) -> list[Item]:
    """The first `size` rows, those of pictures shown least coming first each time; counts what it takes."""
    left, taken = list(rows), []
    while len(taken) < size:
        item = min(left, key=lambda row: shown[row.picture_id])  # the first of equals
        left.remove(item)
        taken.append(item)
        shown[item.picture_id] += 1
    return taken


def tasks(
    drawn: Iterable[Drawn], pictures: Mapping[str, Picture], address: str = LOCAL
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
    for picture_id in sorted({row.picture_id for row in drawn} - set(pictures)):
        problems.add(picture_id, "no such picture")
    problems.raise_if_any()
    before = home / "drawn.jsonl"
    if before.exists() and list(read_jsonl(before, Drawn)) != drawn:
        raise UserError(
            f"{home}: another study was drawn there, and people may be at work on it; move that folder away to draw anew"
        )
    write_jsonl(before, drawn)
    write_json(home / "tasks.json", tasks(drawn, pictures, address))
    shutil.copyfile(Path(__file__).with_name("study.xml"), home / "study.xml")
    for subset, count in sorted(Counter(row.subset for row in drawn).items()):
        short = "" if count == 2 * each else f" ({each} of each were wanted; the release has no more)"
        print(f"study: {subset}: {count // 2} AQs, {count // 2} UQs{short}")
    done("study", f"{len(drawn):,} tasks", home / "tasks.json")
    print(
        f"study: set up a project with {home / 'study.xml'}, import tasks.json, have it judged, export it as JSON"
    )
    print("study: then run: rgqa annotate study score EXPORT.json")


def read_judgements(paths: Iterable[Path], drawn: Mapping[str, Drawn]) -> tuple[list[Given], dict[str, int]]:
    """Each person's last answer to each task, sorted, and how many annotations of what kind there were.

    Raises:
        UserError: lists the files that are no exports, and answers that are none.
    """
    problems = Problems("exports of the human study")
    counts: Counter[str] = Counter()
    last: dict[tuple[str, str], tuple[tuple[str, str], bool]] = {}
    for path in paths:
        try:
            exported = read_json(path, list[Exported])
        except UserError as error:
            what = str(error).removeprefix(f"{path}: ")
            problems.add(str(path), f"{what} (wanted: Label Studio's export format JSON)")
            continue
        for row in exported:
            task = str(row.data.get("task"))
            for annotation in row.annotations:
                said = _judgement(annotation)
                if task not in drawn:
                    counts["of another study"] += 1
                elif annotation.was_cancelled:
                    counts["skipped"] += 1
                elif said is None:
                    counts["empty"] += 1
                elif said not in ANSWERS:
                    problems.add(f"{path}, annotation {annotation.id}", f"{said!r}, wanted answer or reject")
                else:
                    counts["complete"] += 1
                    when = annotation.updated_at or annotation.created_at, str(annotation.id).zfill(20)
                    key = task, pseudonym(annotation.completed_by)
                    last[key] = max(last.get(key, (("", ""), False)), (when, ANSWERS[said]))
    if not counts["complete"] and not problems.lines:
        problems.add(
            "all exports",
            f"no judgement of this study in them: {dict(sorted(counts.items())) or 'nothing at all'}",
        )
    problems.raise_if_any()
    counts["replaced by a later one"] = counts["complete"] - len(last)
    counts["complete"] = len(last)
    given = [
        Given(task=task, person=person, accepted=accepted)
        for (task, person), (_, accepted) in sorted(last.items())
    ]
    return given, {kind: count for kind, count in sorted(counts.items()) if count}


def _judgement(annotation: Annotation) -> str | None:
    """What was chosen; None if nothing was."""
    for result in annotation.result:
        value = result.get("value")
        choices = value.get("choices") if isinstance(value, dict) else None
        if result.get("from_name") == "judgement" and isinstance(choices, list) and choices:
            return str(choices[0])
    return None


def results(given: Sequence[Given], drawn: Mapping[str, Drawn]) -> list[Result]:
    """What the judgements come to, subset by subset."""
    rows = []
    for subset in SUBSETS:
        mine = [(drawn[row.task].answerable, row) for row in given if drawn[row.task].subset == subset]
        if mine:
            aqs = [row.accepted for answerable, row in mine if answerable]
            uqs = [row.accepted for answerable, row in mine if not answerable]
            rows.append(
                Result(
                    subset=subset,
                    people=len({row.person for _, row in mine}),
                    aqs=len(aqs),
                    accepted=sum(aqs),
                    uqs=len(uqs),
                    rejected=len(uqs) - sum(uqs),
                )
            )
    return rows


def score(exports: Sequence[Path]) -> None:
    """Write people's judgements for `rgqa score --human`, and print their rates.

    Raises:
        UserError: nothing was drawn, or the exports are none of this study's.
    """
    home = Folders().study / "human"
    if not (home / "drawn.jsonl").exists():
        raise UserError(f"{home}: no study was drawn; run: rgqa annotate study draw")
    drawn = {row.task: row for row in read_jsonl(home / "drawn.jsonl", Drawn)}
    given, counts = read_judgements(exports, drawn)
    places = {"all": given} | {
        subset: [row for row in given if drawn[row.task].subset == subset] for subset in SUBSETS
    }
    for name, rows in places.items():
        judged = [Judgement(question_id=drawn[row.task].question_id, accepted=row.accepted) for row in rows]
        path = home / "judgements" / f"{name}.json"
        if judged:
            write_json(path, judged)
        else:
            path.unlink(missing_ok=True)
    print("\n".join(table(results(given, drawn))))
    print(f"study: annotations: {', '.join(f'{count:,} {kind}' for kind, count in counts.items())}")
    done("study", f"{len(given):,} judgements", home / "judgements")
    print(
        f"study: beside a model: rgqa score RELEASE model.json --subset SUBSET --human {home / 'judgements'}/SUBSET.json"
    )


def table(rows: Sequence[Result]) -> list[str]:
    """Lines to print: shares with 95 % Wilson intervals. FPR is the share of UQs accepted."""

    def share(part: int, whole: int) -> str:
        low, high = wilson(part, whole)
        return f"{part / whole:6.1%} [{low:.1%}, {high:.1%}]" if whole else "undefined"

    head = ("subset", "people", "AQs accepted (TPR)", "UQs rejected", "UQs accepted (FPR)", "accuracy")
    widths = (10, 6, 24, 24, 24, 24)
    cells = [head] + [
        (
            row.subset,
            str(row.people),
            share(row.accepted, row.aqs),
            share(row.rejected, row.uqs),
            share(row.uqs - row.rejected, row.uqs),
            share(row.accepted + row.rejected, row.aqs + row.uqs),
        )
        for row in rows
    ]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in cells
    ]
