"""What a report rests on: the records and reports of every stage, read once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotation.study.weighing import SetAside
from pipeline.auditing.subset_audit import AuditReport
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
from pipeline.encoders.clip import ModelRecord
from pipeline.encoders.embedding import EmbedReport
from pipeline.judge.reconstruct import Reconstructed
from pipeline.releasing.all_dropped import all_dropped
from pipeline.releasing.provenance import ReleaseParams
from pipeline.releasing.rgqa_format import RgqaRow
from pipeline.sources.ingesting import IngestReport

REPORTS = ("rank", "perturb", "screen", "batch", "collect", "balance")  # whose figures make the funnel
READ = {  # stage -> what is read of it
    "ingest": ("ingest.json", "pictures.jsonl", "questions.jsonl", "scenes.jsonl"),
    "embed": ("embed.json",),
    "rank": ("rank.json",),
    "perturb": ("perturb.json", "unperturbed.jsonl"),
    "screen": ("screen.json", "dropped.jsonl"),
    "batch": ("batch.json", "tasks.jsonl"),
    "collect": ("collect.json", "verified.jsonl", "verdicts.jsonl", "set_aside.jsonl"),
    "balance": ("balance.json", "items.jsonl", "unpaired.jsonl"),
    "audit": ("audit.json",),
    "vocabulary": ("vocabulary.json", "reconstructed.jsonl"),
}


@dataclass(frozen=True, slots=True)
class Run:
    """A run as far as a page tells of it.

    Attributes:
        reports: stage -> its report, of those in REPORTS. items: subset -> its items.
        pictures, questions, scenes: by id, of the split the benchmark is built from; scenes where there are any.
        reconstructed: by picture id, the graphs put together from questions.
        verified: candidate id -> the candidates that became items. verdicts: verdict id -> theirs.
        tasks: task id -> those of these verdicts. aside: verdict id -> why it does not count.
        released: subset -> (UQs, AQs) as counted in the release. examples: (subset, stage, reason) -> a text.
    """

    folders: Folders
    version: str
    split: str
    release: ReleaseParams
    model: ModelRecord
    audit: AuditReport
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
    def all_items(self) -> list[Item]:
        return [item for items in self.items.values() for item in items]

    @property
    def simulated(self) -> bool:
        """Whether any verdict behind the items was made by a machine."""
        return any(item.simulated for item in self.all_items)

    @property
    def rehearsal(self) -> bool:
        """Whether the verdicts are simulated from no known truth."""
        return any(item.rehearsal for item in self.all_items)


def read_run(folders: Folders, version: str) -> Run:
    """Read a run whose stages have all run.

    Raises:
        UserError: lists the stages that have not run and the files they owe.
    """
    _all_there(folders, version)
    ingest, collect, balance = (folders.stage(stage) for stage in ("ingest", "collect", "balance"))
    vocabulary = folders.stage("vocabulary")
    items: dict[Subset, list[Item]] = {}
    for item in read_jsonl(balance / "items.jsonl", Item):
        items.setdefault(item.subset, []).append(item)
    if not items:
        raise UserError(
            f"{balance / 'items.jsonl'}: no items, so there is nothing to report; "
            "balance.json and collect.json say what became of the candidates"
        )
    pictures = {row.picture_id: row for row in read_jsonl(ingest / "pictures.jsonl", Picture)}
    questions = read_jsonl(ingest / "questions.jsonl", Question)
    scenes = read_jsonl(ingest / "scenes.jsonl", Scene)
    graphs = read_jsonl(vocabulary / "reconstructed.jsonl", Reconstructed)
    uqs = {item.item_id for rows in items.values() for item in rows if item.unanswerable}
    all_verified = list(read_jsonl(collect / "verified.jsonl", Verified))
    verified = {row.candidate.candidate_id: row for row in all_verified if row.candidate.candidate_id in uqs}
    wanted = {key for row in verified.values() for key in row.verdict_ids}
    all_verdicts = read_jsonl(collect / "verdicts.jsonl", Verdict)
    verdicts = {row.verdict_id: row for row in all_verdicts if row.verdict_id in wanted}
    judged = {verdict.task_id for verdict in verdicts.values()}
    tasks = read_jsonl(folders.stage("batch") / "tasks.jsonl", Task)
    set_aside = read_jsonl(collect / "set_aside.jsonl", SetAside)
    return Run(
        folders=folders,
        version=version,
        split=read_json(ingest / "ingest.json", IngestReport).split,
        release=params.load("release", ReleaseParams),
        model=read_json(folders.stage("embed") / "embed.json", EmbedReport).model,
        audit=read_json(folders.stage("audit") / "audit.json", AuditReport),
        reports={stage: read_json(folders.stage(stage) / f"{stage}.json") for stage in REPORTS},
        items={subset: items[subset] for subset in SUBSETS if subset in items},
        pictures=pictures,
        questions={row.question_id: row for row in questions if row.picture_id in pictures},
        scenes={row.picture_id: row for row in scenes if row.picture_id in pictures},
        reconstructed={row.picture_id: row for row in graphs if row.picture_id in pictures},
        vocabulary=read_json(vocabulary / "vocabulary.json", Vocabulary),
        verified=verified,
        verdicts=verdicts,
        tasks={row.task_id: row for row in tasks if row.task_id in judged},
        aside={row.verdict_id: row.reason for row in set_aside if row.verdict_id in wanted},
        released=_released(folders.release(version)),
        examples=_examples(all_dropped(folders, all_verified)),
    )


def _all_there(folders: Folders, version: str) -> None:
    missing: dict[str, list[Path]] = {}
    for stage, names in READ.items():
        if absent := [path for name in names if not (path := folders.stage(stage) / name).is_file()]:
            missing[stage] = absent
    if not (folder := folders.release(version) / "rgqa").is_dir():
        missing["release"] = [folder]
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


def _examples(dropped: Iterable[Dropped]) -> dict[tuple[str, str, str], str]:
    """One text for each reason for which something fell out: the one whose id hashes lowest, so neither the first
    nor a chosen one."""
    lowest: dict[tuple[str, str, str], tuple[str, str]] = {}
    for row in dropped:
        place, mark = (
            (row.subset, row.stage, row.reason),
            (content_key("example", row.candidate_id), row.text),
        )
        lowest[place] = min(lowest.get(place, mark), mark)
    return {place: text for place, (_, text) in lowest.items()}
