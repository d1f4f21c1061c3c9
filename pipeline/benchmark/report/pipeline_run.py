"""What a report rests on: the records and reports of every stage, read once."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from annotation.study.quality_control import ExcludedAnswer
from pipeline.benchmark.auditing.rule_comparison import read_comparison
from pipeline.benchmark.auditing.subset_audit import AuditReport
from pipeline.benchmark.release.provenance import DROPPED_FILES, iter_dropped
from pipeline.benchmark.release.subset_files import RgqaRow
from pipeline.candidates.encoders.embedding_cache import EmbedReport
from pipeline.core import params
from pipeline.core.errors import UserError, format_count
from pipeline.core.json_files import content_hash, read_json, read_jsonl
from pipeline.core.jsonl_index import group_by
from pipeline.core.paths import RECORD_FILES, DatasetFolders
from pipeline.core.records import (
    SUBSETS,
    CollectedCandidate,
    DroppedCandidate,
    ImageRecord,
    Item,
    Question,
    SceneGraph,
    Subset,
    Task,
    Verdict,
)
from pipeline.core.release_params import ReleaseParams
from pipeline.sources.source_folder import IngestReport
from pipeline.verifier.partial_graphs import PartialGraph

REPORTING_STAGES = (
    "rank",
    "perturb",
    "screen",
    "batch",
    "collect",
    "balance",
)  # whose figures make the funnel
REQUIRED_FILES = (
    *(
        RECORD_FILES[kind]
        for kind in (ImageRecord, Question, SceneGraph, Task, CollectedCandidate, Verdict, Item)
    ),
    *(f"{stage}/{stage}.json" for stage in ("ingest", "embed", *REPORTING_STAGES, "audit", "vocabulary")),
    *("collect/set_aside.jsonl", "vocabulary/reconstructed.jsonl", *DROPPED_FILES),
)


class PipelineRun:
    """A run whose stages have all run, as far as a page tells of it.

    Attributes:
        reports: stage -> its report, of those in REPORTS. items: subset -> its items.
        images, questions, scenes: by id, of the split the benchmark is built from; scenes where there are any.
        reconstructed: by image id, the graphs put together from questions.
        verified: candidate id -> the candidates that became items. verdicts: verdict id -> theirs.
        tasks: task id -> those of these verdicts. aside: verdict id -> why it does not count.
        paper_rules: the audit of the items under the paper's rules, by subset; {} if `make leaderboard` has not made one.
        released: subset -> UQs as counted in the release. examples: (subset, stage, reason) -> a text.

    Raises:
        UserError: lists the stages that have not run and the files they owe.
    """

    def __init__(self, folders: DatasetFolders, version: str) -> None:
        _check_files_exist(folders, version)
        self.folders, self.version = folders, version
        items = group_by(folders.read_records(Item), lambda item: item.subset)
        if not items:
            raise UserError(
                f"{folders.record_file(Item)}: no items, so there is nothing to report; "
                "balance.json and collect.json say what became of the candidates"
            )
        self.items: dict[Subset, list[Item]] = {
            subset: items[subset] for subset in SUBSETS if subset in items
        }
        self.split = read_json(folders.stage_dir("ingest") / "ingest.json", IngestReport).split
        self.release_params = params.load_params("release", ReleaseParams)
        self.clip_model = read_json(folders.stage_dir("embed") / "embed.json", EmbedReport).model
        self.audit = read_json(folders.stage_dir("audit") / "audit.json", AuditReport)
        self.paper_rules = read_comparison(folders)
        self.reports: dict[str, dict[str, Any]] = {
            stage: read_json(folders.stage_dir(stage) / f"{stage}.json") for stage in REPORTING_STAGES
        }
        self.vocabulary = folders.read_vocabulary()
        self.images = {row.image_id: row for row in folders.read_records(ImageRecord)}
        self.questions = {row.question_id: row for row in folders.read_questions_about(self.images)}
        self.scenes = {
            row.image_id: row for row in folders.read_records(SceneGraph) if row.image_id in self.images
        }
        graphs = read_jsonl(folders.stage_dir("vocabulary") / "reconstructed.jsonl", PartialGraph)
        self.reconstructed = {row.image_id: row for row in graphs if row.image_id in self.images}
        uqs = {item.item_id for item in self.all_items if item.unanswerable}
        verified = {row.candidate.candidate_id: row for row in folders.read_records(CollectedCandidate)}
        self.verified = {key: row for key, row in verified.items() if key in uqs}
        wanted = {key for row in self.verified.values() for key in row.verdict_ids}
        self.verdicts = {
            row.verdict_id: row for row in folders.read_records(Verdict) if row.verdict_id in wanted
        }
        judged = {verdict.task_id for verdict in self.verdicts.values()}
        self.tasks = {row.task_id: row for row in folders.read_records(Task) if row.task_id in judged}
        set_aside = read_jsonl(folders.stage_dir("collect") / "set_aside.jsonl", ExcludedAnswer)
        self.exclusion_reasons = {(row.verdict_id, row.candidate_id): row.reason for row in set_aside}
        self.released_uqs = _count_released_uqs(folders.release_dir(version))
        self.dropped_examples = _pick_dropped_examples(iter_dropped(folders, verified.values()))

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


def _check_files_exist(folders: DatasetFolders, version: str) -> None:
    paths = [path for path in map(folders.stage_dir, REQUIRED_FILES) if not path.is_file()]
    missing = dict(group_by(paths, lambda path: path.parent.name))
    if not (folder := folders.release_dir(version) / "rgqa").is_dir():
        missing["release"] = [folder]
    if missing:
        raise UserError(
            [
                f"data set {folders.dataset!r}, version {version}: {format_count(len(missing), 'stage has not run to its end', 'stages have not run to their end')}; run: dvc repro",
                *(f"{stage}: no {', '.join(map(str, paths))}" for stage, paths in missing.items()),
            ]
        )


def _count_released_uqs(folder: Path) -> dict[Subset, int]:
    """UQs of each subset as counted in RGQA's files of the release."""
    counts: dict[Subset, int] = {}
    for subset in SUBSETS:
        path = folder / "rgqa" / f"{subset}.json"
        rows = read_json(path, list[RgqaRow]) if path.is_file() else []
        counts[subset] = sum("UQ" in row.label for row in rows)
    return counts


def _pick_dropped_examples(dropped: Iterable[DroppedCandidate]) -> dict[tuple[str, str, str], str]:
    """One text for each reason for which something fell out: the one whose id hashes lowest, so neither the first
    nor a chosen one."""
    lowest: dict[tuple[str, str, str], tuple[str, str]] = {}
    for row in dropped:
        place, mark = (row.subset, row.stage, row.reason), content_hash("example", row.candidate_id)
        lowest[place] = min(lowest.get(place, (mark, row.text)), (mark, row.text))
    return {place: text for place, (_, text) in lowest.items()}
