"""Write a finished run as a log of inspect_ai, for `inspect view` and other programs that read such logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalError,
    EvalLog,
    EvalSample,
    EvalSpec,
    write_eval_log,
)
from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, ModelOutput, ModelUsage

from .release_questions import DistinctQuestion, ReleaseQuestions
from .release_tasks import make_score, to_sample
from .run_folder import JournalRow


def write_inspect_log(
    path: Path, questions: ReleaseQuestions, rows: Sequence[JournalRow], record: Mapping[str, Any]
) -> None:
    """Write the replies of a run as a log of inspect_ai. An existing file is replaced.

    The log has the texts of all replies, but not the images.

    Args:
        path: The file, which ends with .eval or .json.
        questions: The questions that were asked.
        rows: The rows of answers.jsonl.
        record: The content of run.json.
    """
    row_by_id = {row["id"]: row for row in rows}
    samples = [
        _make_sample(question, questions, row_by_id[question.id], str(record["model"]))
        for question in questions.rows
        if question.id in row_by_id
    ]
    log = EvalLog(
        status="success",
        eval=EvalSpec(
            created=record["sessions"][0]["started_at"],
            task=questions.benchmark.name,
            dataset=EvalDataset(
                name=questions.benchmark.name, samples=len(samples), sample_ids=[one.id for one in samples]
            ),
            model=str(record["model"]),
            config=EvalConfig(),
            metadata={
                **questions.prompted_run.log_metadata,
                "split": record["split"],
                "written_by": "rgqa run",
            },
        ),
        samples=samples,
    )
    partial = path.with_name(f".partial-{path.name}")
    write_eval_log(log, str(partial), format="json" if path.suffix == ".json" else "eval")
    partial.replace(path)


def _make_sample(
    question: DistinctQuestion, questions: ReleaseQuestions, row: JournalRow, model: str
) -> EvalSample:
    sample, prompted_run = to_sample(question), questions.prompted_run
    asked = prompted_run.prompt.format_question(question.asked_text)
    usage = ModelUsage(
        input_tokens=row["tokens"][0], output_tokens=row["tokens"][1], total_tokens=sum(row["tokens"])
    )
    output = ModelOutput.from_content(model, row["prediction"] or "")
    output.usage = usage
    error = EvalError(message=row["failure"], traceback="", traceback_ansi="") if row["failure"] else None
    score = make_score(
        row["prediction"] or "",
        row["confidence"],
        row["abstained"],
        question.item.answers,
        row["raw_replies"],
    )
    return EvalSample(
        id=question.id,
        epoch=1,
        input=sample.input,
        target=sample.target,
        messages=[
            ChatMessageUser(content=asked),
            *(ChatMessageAssistant(content=text) for text in row["raw_replies"]),
        ],
        output=output,
        scores=None if error else {"rgqa": score},
        metadata={**(sample.metadata or {}), "raw_replies": row["raw_replies"]},
        model_usage={model: usage},
        error=error,
        total_time=row["seconds"],
        working_time=row["seconds"],
    )
