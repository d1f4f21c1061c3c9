"""Read the records and reports of all stages, for the report."""

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

# Stages whose reports are used to count candidates (`funnel`).
REPORTING_STAGES = ("rank", "perturb", "screen", "batch", "collect", "balance")
REQUIRED_FILES = (
    *(
        RECORD_FILES[kind]
        for kind in (ImageRecord, Question, SceneGraph, Task, CollectedCandidate, Verdict, Item)
    ),
    *(f"{stage}/{stage}.json" for stage in ("ingest", "embed", *REPORTING_STAGES, "audit", "vocabulary")),
    *("collect/excluded_answers.jsonl", "vocabulary/reconstructed.jsonl", *DROPPED_FILES),
)


class PipelineRun:
    """The records and reports of a complete run.

    Attributes:
        folders: The folders of the data set.
        version: The version of the release.
        split: The split of the source from which the benchmark is built.
        wording: A sentence that says whether the questions of the source were reworded, or "".
        items: Subset -> items.
        release_params: Section `release` of params.yaml.
        clip_model: The CLIP model; None if none was used.
        audit: The audit.
        paper_rules: Subset -> audit of the items that RGQA's rules make. It is {} unless `make leaderboard`
            has made this audit.
        reports: Stage -> report, for the stages in `REPORTING_STAGES`.
        vocabulary: The vocabulary.
        images, questions, scenes: Id -> image, question or published scene graph of the split.
        reconstructed: Image id -> partial graph.
        verified: Candidate id -> candidate, for candidates that became items.
        verdicts, tasks: Id -> verdict or task, for these candidates.
        exclusion_reasons: (verdict id, candidate id) -> why the verdict about the candidate does not count.
        released_uqs: Subset -> number of unanswerable questions (UQs) in the release.
        dropped_examples: (subset, stage, reason) -> text of a dropped candidate.

    Raises:
        UserError: Stages have not run. The message lists these stages and their missing files.
    """

    def __init__(self, folders: DatasetFolders, version: str) -> None:
        _check_files_exist(folders, version)
        self.folders, self.version = folders, version
        items = group_by(folders.read_records(Item), lambda item: item.subset)
        if not items:
            raise UserError(
                f"{folders.record_file(Item)}: no items, so there is nothing to report; "
                "balance.json and collect.json state what happened to the candidates"
            )
        self.items: dict[Subset, list[Item]] = {
            subset: items[subset] for subset in SUBSETS if subset in items
        }
        ingested = read_json(folders.stage_dir("ingest") / "ingest.json", IngestReport)
        self.split, self.wording = ingested.split, ingested.wording
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
        verdict_ids = {key for row in self.verified.values() for key in row.verdict_ids}
        self.verdicts = {
            row.verdict_id: row for row in folders.read_records(Verdict) if row.verdict_id in verdict_ids
        }
        task_ids = {verdict.task_id for verdict in self.verdicts.values()}
        self.tasks = {row.task_id: row for row in folders.read_records(Task) if row.task_id in task_ids}
        excluded = read_jsonl(folders.stage_dir("collect") / "excluded_answers.jsonl", ExcludedAnswer)
        self.exclusion_reasons = {(row.verdict_id, row.candidate_id): row.reason for row in excluded}
        self.released_uqs = _count_released_uqs(folders.release_dir(version))
        self.dropped_examples = _pick_dropped_examples(iter_dropped(folders, verified.values()))

    @property
    def all_items(self) -> list[Item]:
        return [item for items in self.items.values() for item in items]

    @property
    def simulated(self) -> bool:
        """Whether any verdict behind the items is simulated."""
        return any(item.simulated for item in self.all_items)

    @property
    def rehearsal(self) -> bool:
        """Whether the verdicts come from a rehearsal, whose verdicts are not simulated from a known truth."""
        return any(item.rehearsal for item in self.all_items)


def _check_files_exist(folders: DatasetFolders, version: str) -> None:
    paths = [path for path in map(folders.stage_dir, REQUIRED_FILES) if not path.is_file()]
    missing = dict(group_by(paths, lambda path: path.parent.name))
    if not (folder := folders.release_dir(version) / "rgqa").is_dir():
        missing["release"] = [folder]
    if missing:
        raise UserError(
            [
                f"data set {folders.dataset!r}, version {version}: {format_count(len(missing), 'stage is incomplete', 'stages are incomplete')}; run dvc repro",
                *(f"{stage}: missing {', '.join(map(str, paths))}" for stage, paths in missing.items()),
            ]
        )


def _count_released_uqs(folder: Path) -> dict[Subset, int]:
    """Return the number of UQs of each subset in the RGQA files of the release."""
    counts: dict[Subset, int] = {}
    for subset in SUBSETS:
        path = folder / "rgqa" / f"{subset}.json"
        rows = read_json(path, list[RgqaRow]) if path.is_file() else []
        counts[subset] = sum("UQ" in row.label for row in rows)
    return counts


def _pick_dropped_examples(dropped: Iterable[DroppedCandidate]) -> dict[tuple[str, str, str], str]:
    """Return one random text for each reason: that of the candidate whose id has the lowest hash."""
    lowest: dict[tuple[str, str, str], tuple[str, str]] = {}
    for row in dropped:
        key, hash_value = (row.subset, row.stage, row.reason), content_hash("example", row.candidate_id)
        lowest[key] = min(lowest.get(key, (hash_value, row.text)), (hash_value, row.text))
    return {key: text for key, (_, text) in lowest.items()}
