"""Where things lie. Everything of a data set is in `data/<data set>/`, its releases in `data/release/<data set>/`.

source/       what came in: questions, sceneGraphs, images (read-only for us)
truth/        the complete truth, known for the sample only; opened by simulated annotators, the audit, and one reference row
              of the leaderboard
clip/         a local CLIP: open_clip_config.json and weights, if the model is not fetched by name
vqa/          nets of the data set's own that answer questions: rows of the leaderboard
embeddings/   vectors that were computed elsewhere, to start from
annotations/  exports of verdicts, as people gave them
rounds/       what earlier rounds of annotation verified
errata/       faults of released items, as they were noted: the next release lists them
predictions/  what models said of the release, for the leaderboard
study/        who annotates, and who gets which task; git-ignored, it holds names
interim/      one folder per stage, written by that stage alone
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from pipeline.core import params, records
from pipeline.core.atomic_files import write_text
from pipeline.core.json_files import read_json, read_jsonl, write_json, write_jsonl
from pipeline.core.output_paths import Output, check_output_paths
from pipeline.core.progress import report_written
from pipeline.core.records import Question, Record, Vocabulary

R = TypeVar("R", bound=Record)

DATA_DIR = Path("data")
RECORD_FILES: dict[type[Record], str] = {  # the records that one file of one stage holds
    records.ImageRecord: "ingest/images.jsonl",
    records.Question: "ingest/questions.jsonl",
    records.SceneGraph: "ingest/scenes.jsonl",
    records.SourceQuestionScore: "rank/source_scores.jsonl",
    records.TaggedText: "tag/tags.jsonl",
    records.ScreenedCandidate: "screen/screened.jsonl",
    records.CandidateEstimate: "estimate/estimates.jsonl",
    records.EditedQuestionScore: "similarity/edit_scores.jsonl",
    records.Task: "batch/tasks.jsonl",
    records.Verdict: "collect/verdicts.jsonl",
    records.CollectedCandidate: "collect/verified.jsonl",
    records.GoldQuestionCheck: "collect/aq_checks.jsonl",
    records.Item: "balance/items.jsonl",
}


class DatasetFolders:
    """The folders of one data set, relative to the project's root (the working directory), and what stages wrote there."""

    def __init__(self, dataset: str | None = None) -> None:
        self.dataset = dataset or params.read_dataset_name()
        self.root = DATA_DIR / self.dataset
        self.source = self.root / "source"
        self.truth = self.root / "truth"
        self.clip = self.root / "clip"
        self.vqa_models = self.root / "vqa"
        self.embeddings = self.root / "embeddings"
        self.annotations = self.root / "annotations"
        self.rounds = self.root / "rounds"
        self.errata = self.root / "errata"
        self.predictions = self.root / "predictions"
        self.study = self.root / "study"

    def dvc_dirs(self) -> list[Path]:
        """The folders that DVC must find, empty or not, or it stops at some stage without a word on what to do."""
        return [
            self.source,
            self.truth,
            self.clip,
            self.vqa_models,
            self.embeddings,
            self.annotations,
            self.rounds,
            self.errata,
            self.predictions,
        ]

    def check_outputs(self, *outputs: Output | None, inputs: Iterable[Path | None] = ()) -> None:
        """Refuse outputs that would replace, or lie among, what the data set was given, its stages' files, its annotators or its
        releases, or that would replace the project's parameters or a graph of stages.

        Args:
            outputs: what a command will write; None for options that were not given.
            inputs: what else the command reads.

        Raises:
            UserError: everything that is wrong.
        """
        own = [*self.dvc_dirs(), self.study, self.stage_dir(""), self.release_dir("")]
        check_output_paths(outputs, [*own, *inputs])

    def stage_dir(self, name: str) -> Path:
        """The folder that stage `name` writes."""
        return self.root / "interim" / name

    def release_dir(self, version: str) -> Path:
        return DATA_DIR / "release" / self.dataset / version

    def record_file(self, kind: type[Record]) -> Path:
        """The file that holds all records of a kind (`WRITTEN`)."""
        return self.stage_dir(RECORD_FILES[kind])

    def read_records(self, kind: type[R]) -> Iterator[R]:
        """All records of a kind, one by one; see `read_jsonl`."""
        return read_jsonl(self.record_file(kind), kind)

    def read_questions_about(self, image_ids: Container[str]) -> Iterator[Question]:
        """The questions on these images; others are there for what they tell of the world."""
        return (question for question in self.read_records(Question) if question.image_id in image_ids)

    def read_vocabulary(self) -> Vocabulary:
        """What stage vocabulary counted."""
        return read_json(self.stage_dir("vocabulary") / "vocabulary.json", Vocabulary)

    def write_stage_outputs(self, stage: str, summary: str, files: Mapping[str, object]) -> None:
        """Write a stage's files in this order (records as `.jsonl`, any value as `.json`, else texts), and say what was made."""
        writers = {".jsonl": write_jsonl, ".json": write_json}
        for name, content in files.items():
            path = self.stage_dir(stage) / name
            writers.get(path.suffix, write_text)(path, content)
        report_written(stage, summary, self.stage_dir(stage))
