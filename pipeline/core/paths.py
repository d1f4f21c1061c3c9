"""Locations of files.

A data set is in `data/<data set>/`, and its releases are in `data/release/<data set>/`.

source/       Inputs: questions, scene graphs and images. The pipeline only reads these files.
truth/        Complete scene graphs, known only for the sample. Simulated annotators, the audit and one reference row of
              the leaderboard read them.
clip/         A local CLIP model: open_clip_config.json and weights. Empty if the model is downloaded by name.
vqa/          VQA models of the data set, which are rows of the leaderboard.
embeddings/   Precomputed embeddings.
annotations/  Exported verdicts of annotators.
rounds/       Verified candidates of earlier annotation rounds.
errata/       Errors in released items. The next release lists them.
predictions/  Predictions of models for the leaderboard.
study/        Annotators and their tasks. Git ignores this folder, because it contains names.
interim/      One folder per stage. Only that stage writes into it.
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
from pipeline.core.project import is_own_project
from pipeline.core.records import SUBSETS, Question, Record, Subset, Vocabulary

R = TypeVar("R", bound=Record)

DATA_DIR = Path("data")
# Type of records -> the file of a stage that contains them.
RECORD_FILES: dict[type[Record], str] = {
    records.ImageRecord: "ingest/images.jsonl",
    records.Question: "ingest/questions.jsonl",
    records.SceneGraph: "ingest/scenes.jsonl",
    records.SourceQuestionScore: "rank/source_scores.jsonl",
    records.TaggedText: "tag/tags.jsonl",
    records.ScreenedCandidate: "screen/screened.jsonl",
    records.CandidateEstimate: "estimate/estimates.jsonl",
    records.EditedQuestionScore: "similarity/edit_scores.jsonl",
    records.Task: "batch/tasks.jsonl",
    records.SpareGoldQuestion: "batch/spare_gold_questions.jsonl",
    records.Verdict: "collect/verdicts.jsonl",
    records.CollectedCandidate: "collect/verified.jsonl",
    records.GoldQuestionCheck: "collect/aq_checks.jsonl",
    records.Item: "balance/items.jsonl",
}


class _RequestedSubsets(Record, forbid_unknown_fields=False):
    """The field of ingest.json that later stages read."""

    subsets: tuple[Subset, ...] = SUBSETS


class DatasetFolders:
    """The folders of a data set and the files of its stages.

    All paths are relative to the working directory, which is the root of the project.

    Args:
        dataset: Name of the data set; None for the data set in use (key `dataset` of params.yaml).
    """

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
        """Return the folders that must exist for DVC, even if they are empty.

        If one of these folders is missing, DVC stops with an unclear message.
        """
        inputs = [self.source, self.clip, self.embeddings, self.annotations, self.rounds, self.errata]
        # Only the stages of a clone read these.
        return inputs if is_own_project() else [*inputs, self.truth, self.vqa_models, self.predictions]

    def check_outputs(self, *outputs: Output | None, inputs: Iterable[Path | None] = ()) -> None:
        """Refuse outputs that would replace files of the data set or its releases, the parameters or the
        stage graphs.

        Args:
            outputs: The outputs that a command will write; None for options that were not given.
            inputs: Further files that the command reads. None is ignored.

        Raises:
            UserError: Lists every problem.
        """
        protected = [*self.dvc_dirs(), self.study, self.stage_dir(""), self.release_dir("")]
        check_output_paths(outputs, [*protected, *inputs])

    def stage_dir(self, name: str) -> Path:
        """Return the folder of a stage."""
        return self.root / "interim" / name

    def release_dir(self, version: str) -> Path:
        return DATA_DIR / "release" / self.dataset / version

    def record_file(self, kind: type[Record]) -> Path:
        """Return the file with all records of a type (`RECORD_FILES`)."""
        return self.stage_dir(RECORD_FILES[kind])

    def read_records(self, kind: type[R]) -> Iterator[R]:
        """Yield all records of a type (`read_jsonl`)."""
        return read_jsonl(self.record_file(kind), kind)

    def read_questions_about(self, image_ids: Container[str]) -> Iterator[Question]:
        """Yield the questions about the given images.

        Stages use this to select the questions about the images of the benchmark. Questions about other
        images only serve as evidence, for example for the vocabulary.
        """
        return (question for question in self.read_records(Question) if question.image_id in image_ids)

    def read_subsets(self) -> tuple[Subset, ...]:
        """Return the subsets that are made (`ingest.subsets`), as stage `ingest` recorded them."""
        path = self.stage_dir("ingest") / "ingest.json"
        # A report of an earlier version does not state them.
        return read_json(path, _RequestedSubsets).subsets if path.exists() else SUBSETS

    def read_vocabulary(self) -> Vocabulary:
        """Return the vocabulary that stage `vocabulary` wrote."""
        return read_json(self.stage_dir("vocabulary") / "vocabulary.json", Vocabulary)

    def write_stage_outputs(self, stage: str, summary: str, files: Mapping[str, object]) -> None:
        """Write the files of a stage, and print one line about the results.

        Args:
            stage: Name of the stage.
            summary: What the stage made, for the printed line.
            files: File name -> records (`.jsonl`), any value (`.json`) or a text. The files are written in
                this order. A file of an earlier call whose content is None is deleted.
        """
        writers = {".jsonl": write_jsonl, ".json": write_json}
        for name, content in files.items():
            path = self.stage_dir(stage) / name
            if content is None:
                path.unlink(missing_ok=True)
                continue
            writers.get(path.suffix, write_text)(path, content)
        report_written(stage, summary, self.stage_dir(stage))
