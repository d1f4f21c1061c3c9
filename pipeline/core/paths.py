"""Where things lie. Everything of a data set is in `data/<data set>/`, its releases in `data/release/<data set>/`.

source/       what came in: questions, sceneGraphs, images (read-only for us)
truth/        the complete truth, known for the sample only; opened by simulated annotators, the audit, and one reference row
              of the leaderboard
clip/         a local CLIP: open_clip_config.json and weights, if the model is not fetched by name
vqa/          nets of the data set's own that answer questions: rows of the leaderboard
vectors/      vectors that were computed elsewhere, to start from
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
from pipeline.core.progress import done
from pipeline.core.records import Question, Record, Vocabulary

R = TypeVar("R", bound=Record)

DATA = Path("data")
WRITTEN: dict[type[Record], str] = {  # the records that one file of one stage holds
    records.Picture: "ingest/pictures.jsonl",
    records.Question: "ingest/questions.jsonl",
    records.Scene: "ingest/scenes.jsonl",
    records.OwnScore: "rank/own_scores.jsonl",
    records.Tagged: "tag/tags.jsonl",
    records.Screened: "screen/screened.jsonl",
    records.Estimate: "estimate/estimates.jsonl",
    records.EditScore: "similarity/edit_scores.jsonl",
    records.Task: "batch/tasks.jsonl",
    records.Verdict: "collect/verdicts.jsonl",
    records.Verified: "collect/verified.jsonl",
    records.AqCheck: "collect/aq_checks.jsonl",
    records.Item: "balance/items.jsonl",
}


class Folders:
    """The folders of one data set, relative to the project's root (the working directory), and what stages wrote there."""

    def __init__(self, dataset: str | None = None) -> None:
        self.dataset = dataset or params.dataset()
        self.home = DATA / self.dataset
        self.source = self.home / "source"
        self.truth = self.home / "truth"
        self.clip = self.home / "clip"
        self.vqa = self.home / "vqa"
        self.vectors = self.home / "vectors"
        self.annotations = self.home / "annotations"
        self.rounds = self.home / "rounds"
        self.errata = self.home / "errata"
        self.predictions = self.home / "predictions"
        self.study = self.home / "study"

    def watched(self) -> list[Path]:
        """The folders that DVC must find, empty or not, or it stops at some stage without a word on what to do."""
        return [
            self.source,
            self.truth,
            self.clip,
            self.vqa,
            self.vectors,
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
        own = [*self.watched(), self.study, self.stage(""), self.release("")]
        check_output_paths(outputs, [*own, *inputs])

    def stage(self, name: str) -> Path:
        """The folder that stage `name` writes."""
        return self.home / "interim" / name

    def release(self, version: str) -> Path:
        return DATA / "release" / self.dataset / version

    def file(self, kind: type[Record]) -> Path:
        """The file that holds all records of a kind (`WRITTEN`)."""
        return self.stage(WRITTEN[kind])

    def rows(self, kind: type[R]) -> Iterator[R]:
        """All records of a kind, one by one; see `read_jsonl`."""
        return read_jsonl(self.file(kind), kind)

    def asked(self, pictures: Container[str]) -> Iterator[Question]:
        """The questions on these pictures; others are there for what they tell of the world."""
        return (question for question in self.rows(Question) if question.picture_id in pictures)

    def vocabulary(self) -> Vocabulary:
        """What stage vocabulary counted."""
        return read_json(self.stage("vocabulary") / "vocabulary.json", Vocabulary)

    def finish(self, stage: str, what: str, files: Mapping[str, object]) -> None:
        """Write a stage's files in this order (records as `.jsonl`, any value as `.json`, else texts), and say what was made."""
        writers = {".jsonl": write_jsonl, ".json": write_json}
        for name, content in files.items():
            path = self.stage(stage) / name
            writers.get(path.suffix, write_text)(path, content)
        done(stage, what, self.stage(stage))
