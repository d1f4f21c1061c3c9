"""Send requests about images to a vision model, and keep every reply in a journal.

The requests are samples of a task of inspect_ai, one request each, and are asked as those of `rgqa run`
(`pipeline/inference/sample_runner.py`). A request that has a reply in the journal is not sent again.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import msgspec

from pipeline.core.errors import UserError, warn
from pipeline.drafting.images import Photographs
from pipeline.drafting.look_reader import Box
from pipeline.drafting.prompts import CropReply, DraftPrompts, LookReply, make_json_schema
from pipeline.inference.cost_forecast import Prices
from pipeline.inference.probe import open_and_probe, open_model
from pipeline.inference.prompts import hash_texts
from pipeline.inference.run_folder import JournalRow, RunFolder
from pipeline.inference.run_options import MAX_FOLDER_NAME_LENGTH, RunOptions
from pipeline.inference.runner import INSPECT_MISSING_MESSAGE
from pipeline.inference.sample_runner import ask_samples, recover_sessions, redirect_inspect_files

NO_PRICES = Prices()
RequestKind = Literal["look", "question", "crop"]
# The schema of the replies to requests for JSON.
_SCHEMAS = {"look": LookReply, "crop": CropReply}
# How the rounds are called in messages.
ROUND_NAMES: dict[RequestKind, str] = {
    "look": "draft, first look",
    "question": "draft, questions",
    "crop": "draft, third look",
}


class DraftFolder(RunFolder):
    """The folder of a draft: the journal of replies, and what is made from them."""

    COMMAND: ClassVar[str] = "rgqa draft"
    RECORD_NAME: ClassVar[str] = "draft.json"
    RECORD_KEYS: ClassVar[frozenset[str]] = frozenset({"model", "prompts"})
    ROW_KEYS: ClassVar[frozenset[str]] = frozenset({"id", "kind", "reply"})
    OUTPUT_NAMES: ClassVar[tuple[str, ...]] = (
        "draft.json",
        "answers.jsonl",
        "questions.csv",
        "sceneGraphs",
        "rejected.jsonl",
    )


class DraftRequest(NamedTuple):
    """A request about an image.

    Attributes:
        kind: "look" for the first look, "question" for a drafted question, "crop" for an object.
        image_id: Id of the image.
        sha256: SHA-256 of its file. A changed file is asked about again.
        question: The question, for kind "question".
        box: The box of the object in pixels, for kind "crop".
    """

    kind: RequestKind
    image_id: str
    sha256: str
    question: str = ""
    box: Box | None = None

    @property
    def id(self) -> str:
        """Id of the request in the journal."""
        detail = self.question or ("-".join(map(str, self.box)) if self.box else "")
        return f"{self.kind}/{self.image_id}/{hash_texts(self.sha256, detail)}"


class RequestSession:
    """Asks requests that have no reply in the journal yet. The model is probed before the first request.

    Args:
        options: How the model is asked. Its release is not used.
        folder: The folder of the draft, which is locked.
        images: The images.
        prompts: The texts of the requests.
        record: The record of the draft. Sessions and warnings are added to it.

    Attributes:
        failures: Request id -> why there is no reply.
    """

    def __init__(
        self,
        options: RunOptions,
        folder: DraftFolder,
        images: Photographs,
        prompts: DraftPrompts,
        record: dict[str, Any],
    ) -> None:
        self._options, self._folder, self._images, self._prompts = options, folder, images, prompts
        self._record, self._uses_schema, self._is_probed = record, False, False
        self._rows: dict[str, JournalRow] = {row["id"]: row for row in folder.rows}
        self.failures: dict[str, str] = {}
        record["sessions"] = recover_sessions(record.get("sessions", []), folder.rows)

    def get_reply(self, request: DraftRequest) -> str | None:
        """Return the reply to a request; None if there is none."""
        row = self._rows.get(request.id)
        return row["reply"] if row else None

    def get_sent_size(self, request: DraftRequest) -> tuple[int, int] | None:
        """Return width and height of the image as it was sent; None if this is not known."""
        size = self._rows[request.id].get("sent_size")
        return (int(size[0]), int(size[1])) if size else None

    def ask(self, kind: RequestKind, requests: Iterable[DraftRequest]) -> None:
        """Ask all requests of a round that have no reply.

        Raises:
            UserError: The model cannot be used, or asking stopped early. All replies are saved.
        """
        distinct = {request.id: request for request in requests}
        remaining = [request for name, request in distinct.items() if name not in self._rows]
        if not remaining:
            return
        with redirect_inspect_files(self._folder.path):
            model = self._open()
            task = _make_task(remaining, self._images, self._prompts, self._folder, self._uses_schema)
            outcome = ask_samples(
                self._options,
                task,
                model,
                self._folder,
                len(distinct) - len(remaining),
                ROUND_NAMES[kind],
                get_request_row,
            )
        self._record["sessions"].append(outcome.session)
        self._rows = {row["id"]: row for row in self._folder.rows}
        self.failures |= outcome.failures
        if outcome.stop_reason:
            self._folder.write_json(self._folder.RECORD_NAME, self._record)
            raise UserError(
                f"stopped: {outcome.stop_reason}; {len(self._rows):,} replies are saved in {self._folder.path}. "
                "Run the same command to resume"
            )

    def _open(self) -> Any:
        """Return the model. It is probed once, so that a fault is found before anything is paid for."""
        if self._is_probed:
            return open_model(self._options)
        model, capabilities = open_and_probe(self._options)
        self._is_probed = True
        self._uses_schema = self._options.is_remote and supports_schema(self._options)
        for warning in capabilities.warnings:
            warn(warning)
        self._record["warnings"] = [
            *dict.fromkeys([*self._record.get("warnings", []), *capabilities.warnings])
        ]
        self._record["uses_schema"] = self._uses_schema
        self._folder.write_json(self._folder.RECORD_NAME, self._record)
        return model


def require_vision_model(model: str, server: str) -> None:
    """Check that a model of transformers can read images and write texts.

    Raises:
        UserError: It is of another kind.
    """
    if not server and model.startswith(("hf/", "hf-vqa/")):
        raise UserError(
            f"--model {model}: wanted a model that reads images and writes text; models of transformers are hf-vlm/..."
        )


def make_folder_name(name: str) -> str:
    """Return a name as the name of a folder.

    >>> make_folder_name("photos-openai/gpt-4o")
    'photos-openai-gpt-4o'
    """
    safe = "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in name)
    return safe[-MAX_FOLDER_NAME_LENGTH:].lstrip(".")


def make_request_options(
    model: str,
    server: str = "",
    *,
    max_tokens: int = 8192,
    max_connections: int = 0,
    prices: Prices = NO_PRICES,
    yes: bool = False,
) -> RunOptions:
    """Return how a model is asked, as options of a run without a release."""
    options = RunOptions(
        Path(),
        model,
        server,
        prompt="abstain",
        confidence="abstention",
        max_tokens=max_tokens,
        max_connections=max_connections,
        prices=prices,
        yes=yes,
    )
    return options.with_defaults


def supports_schema(options: RunOptions) -> bool:
    """Return whether a server accepts a request for JSON by a schema."""
    import anyio
    from inspect_ai.model import ChatMessageUser, GenerateConfig

    async def ask() -> None:
        schema = make_response_schema("crop", CropReply)
        config = GenerateConfig(
            max_tokens=options.max_tokens,
            max_retries=0,
            attempt_timeout=120,
            temperature=0,
            response_schema=schema,
        )
        async with open_model(options) as model:
            await model.generate(
                [ChatMessageUser(content='Reply with {"name": "cup", "attributes": []}')], config=config
            )

    try:
        anyio.run(ask)
    # Servers and their clients report an unsupported schema in many ways. Without a schema, everything works, too.
    except Exception:
        return False
    return True


def make_response_schema(name: str, reply_type: type[msgspec.Struct]) -> Any:
    """Return the schema of a reply for inspect_ai."""
    from inspect_ai.model import ResponseSchema
    from inspect_ai.util import JSONSchema

    schema = JSONSchema.model_validate(make_json_schema(reply_type))
    return ResponseSchema(name=name, json_schema=schema, strict=True)


def _make_task(
    requests: Iterable[DraftRequest],
    images: Photographs,
    prompts: DraftPrompts,
    folder: DraftFolder,
    uses_schema: bool,
) -> Any:
    """Return the task of inspect_ai with a sample for each request."""
    solver = _make_solver(images, prompts, folder, uses_schema)
    return make_task("draft", [request._asdict() | {"id": request.id} for request in requests], solver)


def make_task(name: str, requests: Iterable[Mapping[str, Any]], solver: Any) -> Any:
    """Return a task of inspect_ai with a sample for each request.

    Args:
        name: Name of the task.
        requests: The metadata of each sample, with its `id`.
        solver: Sends the request of a sample, and stores the row of the journal as `row` in its metadata.

    Raises:
        UserError: inspect_ai is not installed.
    """
    try:
        from inspect_ai import Task
        from inspect_ai.dataset import MemoryDataset, Sample
        from inspect_ai.model import GenerateConfig
    except ModuleNotFoundError:
        raise UserError(INSPECT_MISSING_MESSAGE) from None
    samples = [Sample(input=request["id"], id=request["id"], metadata=dict(request)) for request in requests]
    return Task(
        MemoryDataset(samples, name=name),
        solver=solver,
        config=GenerateConfig(temperature=0, seed=0),
        fail_on_error=False,
    )


def _make_solver(images: Photographs, prompts: DraftPrompts, folder: DraftFolder, uses_schema: bool) -> Any:
    from anyio.to_thread import run_sync
    from inspect_ai.solver import solver

    @solver(name="ask_about_image")
    def make() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            request = state.metadata
            kind, box, started = request["kind"], request["box"], time.time()
            image = await run_sync(images.encode, request["image_id"], tuple(box) if box else None)
            texts = {"look": prompts.look(image.size), "question": prompts.question(request["question"])}
            text = texts.get(kind) or prompts.crop()
            schema = make_response_schema(kind, _SCHEMAS[kind]) if uses_schema and kind in _SCHEMAS else None
            output = await send_request(image.data_uri, text, schema)
            # The reply is saved before anything else, so that a process that dies now has not paid for nothing.
            state.metadata["row"] = row = make_request_row(request, output, image.size, time.time() - started)
            folder.append_row(row)
            return state

        return solve

    return make()


async def send_request(data_uri: str, text: str, schema: Any) -> Any:
    """Send an image and a text to the model of the task, and return its output.

    Args:
        data_uri: The image.
        text: The text after it.
        schema: The result of `make_response_schema`; None for a reply without a schema.
    """
    from inspect_ai.model import ChatMessageUser, ContentImage, ContentText, GenerateConfig, get_model

    content = [ContentImage(image=data_uri), ContentText(text=text)]
    config = GenerateConfig(response_schema=schema)
    return await get_model().generate([ChatMessageUser(content=content)], config=config)


def make_request_row(
    request: Mapping[str, Any], output: Any, sent_size: tuple[int, int], seconds: float
) -> JournalRow:
    """Return the row of answers.jsonl for a reply: the request, the raw reply, why it ended, time and tokens.

    Args:
        request: The metadata of the sample.
        output: The output of the model.
        sent_size: Width and height of the image as it was sent.
        seconds: Time from the request to the reply, with all retries.
    """
    return {
        **{name: request[name] for name in ("id", "kind", "image_id", "question", "box")},
        "sent_size": [*sent_size],
        **describe_reply(output, seconds),
    }


def describe_reply(output: Any, seconds: float) -> dict[str, Any]:
    """Return what the journal says of every reply: the raw reply, why it ended, time and tokens.

    Args:
        output: The output of the model.
        seconds: Time from the request to the reply, with all retries.
    """
    from pipeline.inference.prompt_solver import is_refused

    choice, usage = output.choices[0] if output.choices else None, output.usage
    is_filtered = choice is not None and choice.stop_reason == "content_filter"
    return {
        "finish": ("refusal" if is_refused(choice) else choice.stop_reason) if choice else "no choice",
        "reply": choice.message.text if choice and not is_filtered else "",
        "failure": "",
        "started_at": time.time() - seconds,
        "seconds": round(seconds, 3),
        "tokens": [usage.input_tokens, usage.output_tokens] if usage else [0, 0],
    }


def get_request_row(sample: Any, failure: str) -> JournalRow:
    """Return the row of a sample of inspect_ai."""
    return sample.metadata["row"]
