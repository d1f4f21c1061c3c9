"""Ask a vision model to judge annotation tasks, and store its verdicts in `annotations/panel.jsonl`.

The model gets what annotators get: the guidelines, the image, and the two questions of a task. It is not told which question is a gold
question or a repeat. Every request has one image and one task, so text in an image can change the reply to this task only.

Writes  study/panel/<model>/answers.jsonl   the journal: every reply as it came
        study/panel/<model>/panel.json      settings and counts
        annotations/panel.jsonl             the verdicts of all models (`annotation.study.panel_verdicts`)
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from annotation.client.annotator_texts import read_text
from annotation.panel.prompts import APPROACHES, PanelReply, make_prompt, read_choices
from annotation.study.assignment_params import AnnotateParams
from annotation.study.panel_verdicts import PANEL_FILENAME, PanelVerdict, write_panel
from pipeline.core.errors import Problems, UserError, format_count, warn
from pipeline.core.folder_lock import lock_folder
from pipeline.core.images import WHITE, encode_image
from pipeline.core.json_files import content_hash
from pipeline.core.params import load_params
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import ImageRecord, Task
from pipeline.drafting.requests import (
    describe_reply,
    make_reply_schema,
    make_request_options,
    open_vision_model,
    require_vision_model,
    send_request,
)
from pipeline.inference.chat_model import ChatSender
from pipeline.inference.cost_forecast import Prices, format_duration
from pipeline.inference.prompts import hash_texts
from pipeline.inference.request_pool import ask_requests, recover_sessions, redirect_inspect_files
from pipeline.inference.run_folder import JournalRow, RunFolder
from pipeline.inference.run_options import RunOptions, make_folder_name
from pipeline.sources.image_files import inspect_image


class PanelOptions(NamedTuple):
    """The options of `rgqa annotate panel`.

    Attributes:
        model: Name of the model on the server, or in inspect_ai.
        server: Base URL of an OpenAI-compatible server; "" to use a provider of inspect_ai.
        num_prompts: Number of prompts, each of which judges every task.
        max_tasks: Maximum number of tasks; 0 for all.
        max_image_size: Maximum length of the longer side of images that are sent, in pixels; 0 for the original size.
        max_tokens: Maximum length of a reply in tokens.
        max_connections: Number of requests at the same time; 0 for the default.
        prices: Prices for the forecast.
        yes: Whether to continue after the forecast without asking.
    """

    model: str
    server: str = ""
    num_prompts: int = 1
    max_tasks: int = 0
    max_image_size: int = 1024
    max_tokens: int = 2048
    max_connections: int = 0
    prices: Prices = Prices()
    yes: bool = False


class PanelFolder(RunFolder):
    """The folder of a model of the panel: the journal of replies, settings and counts."""

    COMMAND: ClassVar[str] = "rgqa annotate panel"
    RECORD_NAME: ClassVar[str] = "panel.json"
    RECORD_KEYS: ClassVar[frozenset[str]] = frozenset({"model", "guidelines"})
    ROW_KEYS: ClassVar[frozenset[str]] = frozenset({"id", "task_id", "prompt", "reply"})
    OUTPUT_NAMES: ClassVar[tuple[str, ...]] = ("panel.json", "answers.jsonl")


class PanelRequest(NamedTuple):
    """A request: the task, the index of the approach, the path of the image, the text, and the id in the journal."""

    task_id: str
    prompt: int
    image: Path
    text: str
    id: str


def run_panel(options: PanelOptions) -> None:
    """Ask a model all tasks that it has not judged yet, write the verdicts, and print counts.

    The same call resumes a run that was stopped. No request that has a reply is sent again.

    Raises:
        UserError: There are no tasks, images are missing, the model cannot be used, or asking stopped early.
    """
    require_vision_model(options.model, options.server)
    if load_params("annotate", AnnotateParams).choices != "answerability":
        raise UserError(
            "a panel judges whether questions have an answer; this data set asks for yes or no (annotate.choices), so people judge it"
        )
    folders = DatasetFolders()
    _, guidelines = read_text("guidelines.md", folders.study)
    requests = make_requests(folders, guidelines, options)
    folder = PanelFolder(folders.study / "panel" / _make_folder_name(options.model))
    settings = {
        "model": options.model,
        "guidelines": hash_texts(guidelines, *APPROACHES),
        "max_image_size": options.max_image_size,
    }
    with folder.hold_lock():
        before = folder.load_previous(settings)
        record: dict[str, Any] = {
            **settings,
            "server": options.server,
            "sessions": recover_sessions(before.get("sessions", []), folder.rows),
            "warnings": before.get("warnings", []),
        }
        folder.write_json(folder.RECORD_NAME, record)
        failures, stop_reason = _ask(options, folder, requests, record)
        verdicts, faults = read_verdicts(folder.rows, requests, options.model)
        tokens = [sum(row["tokens"][i] for row in folder.rows) for i in (0, 1)]
        record |= {
            "counts": {
                "requests": len(requests),
                "replies": len(folder.rows),
                "verdicts": len(verdicts),
                "failed": len(failures),
            },
            "faults": dict(faults.most_common()),
            "tokens": {"input": tokens[0], "output": tokens[1]},
            "failures": failures,
        }
        folder.write_json(folder.RECORD_NAME, record)
        path = folders.annotations / PANEL_FILENAME
        with lock_folder(folders.study):
            total = write_panel(path, options.model, verdicts) if verdicts else 0
    seconds = sum(row["seconds"] for row in record["sessions"])
    cost = f", cost {options.prices.compute_cost(*tokens):.2f}" if options.prices.is_known else ""
    print(
        f"panel: {format_count(len(verdicts), 'verdict')} of {format_count(len(requests), 'request')} by {options.model}; "
        f"{tokens[0]:,} tokens in, {tokens[1]:,} out{cost}, {format_duration(seconds)}"
    )
    if faults:
        why = "; ".join(f"{count} {fault}" for fault, count in faults.most_common())
        warn(
            f"{format_count(faults.total(), 'reply', 'replies')} without a verdict: {why}. They are in {folder.path / 'answers.jsonl'}"
        )
    if failures:
        reasons = [*dict.fromkeys(failures.values())][:5]
        warn(
            f"{format_count(len(failures), 'request')} failed: {'; '.join(reasons)}. Run the same command to send them again"
        )
    if stop_reason:
        raise UserError(
            f"stopped: {stop_reason}; {format_count(len(folder.rows), 'reply is', 'replies are')} saved in {folder.path}. "
            "Run the same command to resume"
        )
    if not verdicts:
        raise UserError(f"no verdict: none of {format_count(len(folder.rows), 'reply', 'replies')} has one")
    print(f"panel: {total:,} verdicts of all models -> {path}")


def make_requests(folders: DatasetFolders, guidelines: str, options: PanelOptions) -> list[PanelRequest]:
    """Return the requests, sorted by block and task.

    Raises:
        UserError: There are no tasks, or images are missing or cannot be read. All faults are listed.
    """
    path = folders.record_file(Task)
    tasks = list(folders.read_records(Task)) if path.exists() else []
    if not tasks:
        raise UserError(f"there are no tasks: {path}. Run: dvc repro batch")
    tasks.sort(key=lambda task: (task.priority_block, task.task_id))
    tasks = tasks[: options.max_tasks] if options.max_tasks else tasks
    paths = {row.image_id: Path(row.path) for row in folders.read_records(ImageRecord)}
    problems, hashes = Problems(str(folders.source / "images")), dict[str, str]()
    for image_id in sorted({task.image_id for task in tasks}):
        try:
            hashes[image_id] = inspect_image(paths[image_id])[2]
        except KeyError:
            problems.add(image_id, "no such image; run dvc repro ingest")
        except (OSError, ValueError) as error:
            problems.add(image_id, str(error))
    problems.raise_if_any()
    requests = []
    for approach in range(options.num_prompts):
        for task in tasks:
            text = make_prompt(guidelines, task.first.text, task.second.text, approach)
            name = f"{task.task_id}/{approach + 1}/{content_hash(hashes[task.image_id], text)}"
            requests.append(PanelRequest(task.task_id, approach, paths[task.image_id], text, name))
    return requests


def read_verdicts(
    rows: Sequence[JournalRow], requests: Sequence[PanelRequest], model: str
) -> tuple[list[PanelVerdict], Counter[str]]:
    """Return the verdicts in the journal, and the number of replies without a verdict by fault.

    Replies to tasks that no request is about now are left out.
    """
    wanted, faults = {request.id for request in requests}, Counter[str]()
    verdicts = []
    for row in {row["id"]: row for row in rows if row["id"] in wanted}.values():
        choices = read_choices(row["reply"])
        if choices.fault:
            faults["refusal" if row["finish"] == "refusal" else choices.fault] += 1
            continue
        verdicts.append(
            PanelVerdict(
                task_id=row["task_id"],
                model=model,
                prompt=f"prompt-{row['prompt'] + 1}",
                first=choices.first,  # type: ignore[arg-type]  # read_choices has checked both
                second=choices.second,  # type: ignore[arg-type]
                first_reason=choices.first_reason,
                second_reason=choices.second_reason,
            )
        )
    return verdicts, faults


def _ask(
    options: PanelOptions, folder: PanelFolder, requests: Sequence[PanelRequest], record: dict[str, Any]
) -> tuple[dict[str, str], str]:
    """Ask the requests without a reply. Return request id -> why it failed, and why asking stopped ("")."""
    done = {row["id"] for row in folder.rows}
    remaining = [request for request in requests if request.id not in done]
    if not remaining:
        return {}, ""
    request_options: RunOptions = make_request_options(
        options.model,
        options.server,
        max_tokens=options.max_tokens,
        max_connections=options.max_connections,
        prices=options.prices,
        yes=options.yes,
    )
    with redirect_inspect_files(folder.path):
        # The model is probed before the first request, so that a fault is found before anything is paid for.
        model, uses_schema = open_vision_model(request_options, record)
        schema = make_reply_schema("verdict", PanelReply) if uses_schema else None

        async def send(request: PanelRequest, model: ChatSender) -> JournalRow:
            """Send a request, and return the row of answers.jsonl: the request, the raw reply, why it ended, time and tokens."""
            started = time.time()
            image = await asyncio.to_thread(
                encode_image, request.image, max_side=options.max_image_size, background=WHITE
            )
            reply = await send_request(model, image.data_uri, request.text, schema, options.max_tokens)
            return {
                "id": request.id,
                "task_id": request.task_id,
                "prompt": request.prompt,
                **describe_reply(reply, time.time() - started),
            }

        outcome = ask_requests(
            request_options, model, remaining, send, folder, len(requests) - len(remaining), "panel"
        )
    record["sessions"].append(outcome.session)
    return outcome.failures, outcome.stop_reason


def _make_folder_name(model: str) -> str:
    """Return a file name for a model. Different models have different names."""
    return f"{make_folder_name(model)}-{content_hash(model)[:8]}"
