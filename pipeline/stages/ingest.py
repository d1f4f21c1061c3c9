"""Read the source folder into records and check everything. All problems are reported together.

Reads   data/<data set>/source     GQA's files (sources/gqa_files.py) or a table of questions (sources/question_table.py)
Writes  images.jsonl            ImageRecord: the images of the split that the benchmark is built from, each decoded once
        questions.jsonl         Question: the questions of the requested splits
        unbalanced.jsonl        Question: GQA's unbalanced questions about these images, if their file exists and no scene
                                graphs of the split are read. These questions are evidence and never become
                                items.
        scenes.jsonl            SceneGraph: the published scene graphs of the requested splits; boxes are clipped to their image
        unused_questions.jsonl  UnusedQuestion: questions without an answer, or whose answer is a text such as
                                "unanswerable" or "n/a"
        ingest.json             counts per split, including relations without an object, which are skipped; number of
                                paraphrased questions, and why they were paraphrased or not; the subsets that later stages make
All files are sorted by id. Nothing is written unless everything is valid and the source is large enough for
the subsets.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial

import msgspec

from pipeline.core.atomic_files import atomic_write
from pipeline.core.errors import UserError, format_count, join_examples, run_command, warn
from pipeline.core.json_files import encode_jsonl
from pipeline.core.params import load_params, read_dataset_params
from pipeline.core.paths import DatasetFolders
from pipeline.core.progress import track
from pipeline.core.rank_params import RankParams, SizeMeter
from pipeline.core.records import Question
from pipeline.core.release_params import check_release_params
from pipeline.language.functional_programs import is_existence_question
from pipeline.language.paraphrase import paraphrase_questions
from pipeline.language.text_programs import add_programs
from pipeline.sources.source_folder import IngestParams, SourceFolder


def main() -> None:
    params, folders = load_params("ingest", IngestParams), DatasetFolders()
    if os.environ.get("DVC_STAGE"):
        check_source_folders(folders)
        if warning := check_release_params():
            warn(warning)
    source, out = SourceFolder(folders.source, params), folders.stage_dir("ingest")
    encode, paraphrased, meter = msgspec.json.Encoder().encode, 0, SizeMeter(params.split)
    # All files replace the old files together, when everything is known to be valid.
    with ExitStack() as stack:
        for name, read in (
            ("questions", partial(read_questions, source, params)),
            ("unbalanced", source.read_unbalanced_questions),
            ("scenes", source.read_scene_graphs),
            ("images", source.read_images),
        ):
            file = stack.enter_context(atomic_write(out / f"{name}.jsonl"))
            total = len(source.questions_by_image) if name == "images" else None
            for record in track(read(), f"ingest: {name}", total=total, unit="record"):
                if name == "questions" and isinstance(record, Question):
                    meter.add(record, is_existence_question(record))
                paraphrased += isinstance(record, Question) and record.source_text != ""
                file.write(encode(record) + b"\n")
        if not source.problems.lines:
            for warning in meter.find_problems(params.subsets, load_rank_params(), source.problems):
                warn(warning)
        report = source.make_report(paraphrased)
        unused = source.get_unused_questions()
        stack.enter_context(atomic_write(out / "unused_questions.jsonl")).write(encode_jsonl(unused))
    questions = report.counts[params.split]["questions"]
    what = f"{format_count(questions, 'question')} on {format_count(len(source.questions_by_image), 'image')} of {params.split}"
    if report.paraphrase.used:
        what += f", {paraphrased:,} paraphrased"
        if report.paraphrase.auto:
            what += f" (ingest.paraphrase: auto, and {report.paraphrase.public_source} is public)"
    if unused:
        examples = join_examples([f"{row.question_id} ({row.answer!r})" for row in unused])
        number = format_count(len(unused), "question")
        warn(
            f"skipped {number} without an answer: {examples}. The complete list is in {out / 'unused_questions.jsonl'}."
        )
    folders.write_stage_outputs("ingest", what, {"ingest.json": report})


def read_questions(source: SourceFolder, params: IngestParams) -> Iterator[Question]:
    """Yield the questions of a source, sorted by id: with derived programs if a table has none, and paraphrased if asked for."""
    questions = source.read_questions()
    if source.format == "table":
        questions = add_programs(questions)
    if source.resolve_paraphrase().used:
        questions = paraphrase_questions(questions, params.split, params.seed)
    yield from questions


def load_rank_params() -> RankParams:
    """Return the parameters of the stage rank, which decide whether the source is large enough."""
    return load_params("rank", RankParams) if "rank" in read_dataset_params() else RankParams()


def check_source_folders(folders: DatasetFolders) -> None:
    """Check that the folders of the data set exist. The check is part of the first stage of `dvc repro`.

    Raises:
        UserError: Lists the missing folders.
    """
    if missing := [str(folder) for folder in folders.dvc_dirs() if not folder.is_dir()]:
        raise UserError(
            f"{', '.join(missing)}: no such folder. Run: rgqa init {folders.dataset}. It creates the missing folders, "
            "which may stay empty, and changes nothing else."
        )


if __name__ == "__main__":
    run_command(main)
