"""Read the source into records and check all of it; everything wrong is told at once.

Reads   data/<data set>/source     GQA's files (sources/gqa_files.py) or a table of own questions (sources/own_table.py)
Writes  pictures.jsonl    Picture: the pictures of the split that the benchmark is built from, each decoded once
        questions.jsonl   Question: those of the splits asked for
        unbalanced.jsonl  Question: GQA's unbalanced questions about these pictures, where their file is there and no graph
                          is read: for what they tell of the pictures, never to be asked
        scenes.jsonl      Scene: the published scene graphs of the splits asked for; boxes clipped to their image
        left_out.jsonl    UnusedQuestion: questions without an answer, that is, with one such as "unanswerable" or "n/a"
        ingest.json       counts per split; relations left out because they point to no object; questions said in other words
All are sorted by id. Nothing is written unless everything is right.
"""

from __future__ import annotations

import os
from contextlib import ExitStack

import msgspec

from pipeline.core.atomic_files import replacing
from pipeline.core.errors import UserError, counted, run, some_of, warn
from pipeline.core.json_files import lines
from pipeline.core.params import load
from pipeline.core.paths import Folders
from pipeline.core.progress import track
from pipeline.core.records import Question
from pipeline.core.release_params import check_fields
from pipeline.language.paraphrase import paraphrase
from pipeline.sources.source_folder import IngestParams, SourceFolder


def main() -> None:
    params, folders = load("ingest", IngestParams), Folders()
    if os.environ.get("DVC_STAGE"):
        check_folders(folders)
        if warning := check_fields():
            warn(warning)
    source, out = SourceFolder(folders.source, params), folders.stage("ingest")
    encode, paraphrased = msgspec.json.Encoder().encode, 0
    with ExitStack() as written:  # the files take their places together, when all is right
        for read in (source.questions, source.unbalanced, source.scenes, source.pictures):
            name, records = read.__name__, read()
            if params.paraphrase and name == "questions":
                records = paraphrase(source.questions(), params.split, params.seed)
            file = written.enter_context(replacing(out / f"{name}.jsonl"))
            total = len(source.wanted) if name == "pictures" else None
            for record in track(records, f"ingest: {name}", total=total, unit="record"):
                paraphrased += isinstance(record, Question) and record.source_text != ""
                file.write(encode(record) + b"\n")
        report = source.report(paraphrased)
        left_out = source.left_out()
        written.enter_context(replacing(out / "left_out.jsonl")).write(lines(left_out))
    questions = report.counts[params.split]["questions"]
    what = f"{counted(questions, 'question')} on {counted(len(source.wanted), 'picture')} of {params.split}"
    what += f", {paraphrased:,} paraphrased" if params.paraphrase else ""
    if left_out:
        examples = some_of([f"{row.question_id} ({row.answer!r})" for row in left_out])
        number = counted(len(left_out), "question")
        warn(f"left out {number} without an answer: {examples}; all are in {out / 'left_out.jsonl'}")
    folders.finish("ingest", what, {"ingest.json": report})


def check_folders(folders: Folders) -> None:
    """Told at the first stage, by whoever runs `dvc repro`.

    Raises:
        UserError: lists the folders that are missing.
    """
    if missing := [str(folder) for folder in folders.watched() if not folder.is_dir()]:
        raise UserError(
            f"{', '.join(missing)}: no such folder; run: rgqa init {folders.dataset} (it makes what is missing, "
            "which may stay empty, and changes nothing else)"
        )


if __name__ == "__main__":
    run(main)
