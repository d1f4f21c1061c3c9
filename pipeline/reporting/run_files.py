"""What a report rests on: the records and reports of every stage, read once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotation.study.votes import SetAside
from pipeline.core import params
from pipeline.core.errors import UserError
from pipeline.core.files import content_key, read_json, read_jsonl
from pipeline.core.paths import Folders
from pipeline.core.records import (
    SUBSETS,
    Dropped,
    Item,
    Picture,
    Question,
    Scene,
    Subset,
    Task,
    Verdict,
    Verified,
    Vocabulary,
)
from pipeline.judge.reconstruct import Reconstructed
from pipeline.releasing.rgqa_format import RgqaRow
from pipeline.stages.release import ReleaseParams, not_unanswerable

REPORTS = ("ingest", "embed", "rank", "perturb", "screen", "batch", "collect", "balance", "audit")
READ = {  # stage -> what is read of it beside its report
    "ingest": ("pictures.jsonl", "questions.jsonl", "scenes.jsonl"),
    "vocabulary": ("vocabulary.json", "reconstructed.jsonl"),
    "perturb": ("unperturbed.jsonl",),
    "screen": ("dropped.jsonl",),
    "batch": ("tasks.jsonl",),
    "collect": ("verified.jsonl", "verdicts.jsonl", "set_aside.jsonl"),
    "balance": ("items.jsonl", "unpaired.jsonl"),
}


@dataclass(frozen=True, slots=True)
class Run:
    """A run as far as a page tells of it.

    Attributes:
        reports: stage -> its report. items: subset -> its items.
        pictures, questions, scenes: by id, of the split the benchmark is built from; scenes where there are any.
        reconstructed: by picture id, the graphs put together from questions.
        verified: candidate id -> the candidates that became items. verdicts: verdict id -> theirs.
        tasks: task id -> those of these verdicts. aside: verdict id -> why it does not count.
        released: subset -> (UQs, AQs) as counted in the release. examples: (subset, stage, reason) -> a text.
    """

    folders: Folders
    version: str
    release: ReleaseParams
    reports: dict[str, dict[str, Any]]
    items: dict[Subset, list[Item]]
    pictures: dict[str, Picture]
    questions: dict[str, Question]
    scenes: dict[str, Scene]
    reconstructed: dict[str, Reconstructed]
    vocabulary: Vocabulary
    verified: dict[str, Verified]
    verdicts: dict[str, Verdict]
    tasks: dict[str, Task]
    aside: dict[str, str]
    released: dict[Subset, tuple[int, int]]
    examples: dict[tuple[str, str, str], str]

    @property
    def simulated(self) -> bool:
        """Whether any verdict behind the items was made by a machine."""
        return any(item.simulated for rows in self.items.values() for item in rows)

    @property
    def rehearsal(self) -> bool:
        """Whether the verdicts are simulated from no known truth."""
        return any(item.rehearsal for rows in self.items.values() for item in rows)

    @property
    def split(self) -> str:
        return self.reports["ingest"]["split"]


def read_run(folders: Folders, version: str) -> Run:
    """Read a run whose stages have all run.

    Raises:
        UserError: lists the stages that have not run and the files they owe.
    """
    _all_there(folders, version)
    items: dict[Subset, list[Item]] = {}
    for item in read_jsonl(folders.stage("balance") / "items.jsonl", Item):
        items.setdefault(item.subset, []).append(item)
    if not items:
        raise UserError(
            f"{folders.stage('balance') / 'items.jsonl'}: no items, so there is nothing to report; "
            "balance.json and collect.json say what became of the candidates"
        )
    ingest, collect = folders.stage("ingest"), folders.stage("collect")
    pictures = {row.picture_id: row for row in read_jsonl(ingest / "pictures.jsonl", Picture)}
    uqs = {item.item_id for rows in items.values() for item in rows if item.unanswerable}
    verified = list(read_jsonl(collect / "verified.jsonl", Verified))
    of_items = {row.candidate.candidate_id: row for row in verified if row.candidate.candidate_id in uqs}
    wanted = {key for row in of_items.values() for key in row.verdict_ids}
    verdicts = {
        row.verdict_id: row
        for row in read_jsonl(collect / "verdicts.jsonl", Verdict)
        if row.verdict_id in wanted
    }
    judged = {verdict.task_id for verdict in verdicts.values()}
    return Run(
        folders=folders,
        version=version,
        release=params.load("release", ReleaseParams),
        reports={stage: read_json(folders.stage(stage) / f"{stage}.json") for stage in REPORTS},
        items={subset: items[subset] for subset in SUBSETS if subset in items},
        pictures=pictures,
        questions={
            q.question_id: q
            for q in read_jsonl(ingest / "questions.jsonl", Question)
            if q.picture_id in pictures
        },
        scenes={
            s.picture_id: s for s in read_jsonl(ingest / "scenes.jsonl", Scene) if s.picture_id in pictures
        },
        reconstructed={
            g.picture_id: g
            for g in read_jsonl(folders.stage("vocabulary") / "reconstructed.jsonl", Reconstructed)
            if g.picture_id in pictures
        },
        vocabulary=read_json(folders.stage("vocabulary") / "vocabulary.json", Vocabulary),
        verified=of_items,
        verdicts=verdicts,
        tasks={
            row.task_id: row
            for row in read_jsonl(folders.stage("batch") / "tasks.jsonl", Task)
            if row.task_id in judged
        },
        aside={
            row.verdict_id: row.reason
            for row in read_jsonl(collect / "set_aside.jsonl", SetAside)
            if row.verdict_id in wanted
        },
        released=_released(folders.release(version)),
        examples=_examples(folders, verified),
    )


def _all_there(folders: Folders, version: str) -> None:
    missing: dict[str, list[Path]] = defaultdict(list)
    for stage in dict.fromkeys((*REPORTS, *READ)):
        names = [f"{stage}.json"] if stage in REPORTS else []
        for name in (*names, *READ.get(stage, ())):
            if not (path := folders.stage(stage) / name).is_file():
                missing[stage].append(path)
    if not (folder := folders.release(version) / "rgqa").is_dir():
        missing["release"].append(folder)
    if missing:
        raise UserError(
            [
                f"data set {folders.dataset!r}, version {version}: {len(missing)} stages have not run to their end; run: dvc repro",
                *(f"{stage}: no {', '.join(map(str, paths))}" for stage, paths in missing.items()),
            ]
        )


def _released(folder: Path) -> dict[Subset, tuple[int, int]]:
    """UQs and AQs of each subset as counted in RGQA's files of the release."""
    counts: dict[Subset, tuple[int, int]] = {}
    for subset in SUBSETS:
        path = folder / "rgqa" / f"{subset}.json"
        rows = read_json(path, list[RgqaRow]) if path.is_file() else []
        uqs = sum("UQ" in row.label for row in rows)
        counts[subset] = uqs, len(rows) - uqs
    return counts


def _examples(folders: Folders, verified: list[Verified]) -> dict[tuple[str, str, str], str]:
    """One text for each reason for which something fell out: the one whose id hashes lowest, so neither the first
    nor a chosen one."""
    best: dict[tuple[str, str, str], tuple[str, str]] = {}
    for row in _fallen(folders, verified):
        place, mark = (
            (row.subset, row.stage, row.reason),
            (content_key("example", row.candidate_id), row.text),
        )
        if place not in best or mark < best[place]:
            best[place] = mark
    return {place: text for place, (_, text) in best.items()}


def _fallen(folders: Folders, verified: list[Verified]) -> Iterator[Dropped]:
    for stage, name in (
        ("perturb", "unperturbed.jsonl"),
        ("screen", "dropped.jsonl"),
        ("balance", "unpaired.jsonl"),
    ):
        yield from read_jsonl(folders.stage(stage) / name, Dropped)
    yield from not_unanswerable(verified)
