"""Send requests about images to a vision model, and keep every reply in a journal.

The requests are sent as those of `rgqa run` (`pipeline/inference/request_pool.py`). A request that has a reply in the journal is not
sent again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import msgspec

from pipeline.core.errors import UserError, warn
from pipeline.drafting.images import Photographs
from pipeline.drafting.look_reader import Box
from pipeline.drafting.prompts import CropReply, DraftPrompts, LookReply, make_json_schema
from pipeline.inference.chat_model import ChatModel, ChatSender, Message, Reply, ReplySchema, RequestSettings
from pipeline.inference.cost_forecast import Prices
from pipeline.inference.probe import open_and_probe, run_async
from pipeline.inference.prompts import hash_texts
from pipeline.inference.request_pool import ask_requests, recover_sessions, redirect_inspect_files
from pipeline.inference.run_folder import JournalRow, RunFolder
from pipeline.inference.run_options import RunOptions

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
        self._record, self._uses_schema = record, False
        self._model: ChatModel | None = None
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
            outcome = ask_requests(
                self._options,
                self._open(),
                remaining,
                self._send,
                self._folder,
                len(distinct) - len(remaining),
                ROUND_NAMES[kind],
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

    def _open(self) -> ChatModel:
        """Return the model. It is probed once, so that a fault is found before anything is paid for."""
        if self._model:
            return self._model
        self._model, self._uses_schema = open_vision_model(self._options, self._record)
        self._folder.write_json(self._folder.RECORD_NAME, self._record)
        return self._model

    async def _send(self, request: DraftRequest, model: ChatSender) -> JournalRow:
        """Send a request, and return the row of answers.jsonl: the request, the raw reply, why it ended, time and tokens."""
        started = time.time()
        image = await asyncio.to_thread(self._images.encode, request.image_id, request.box)
        texts = {"look": self._prompts.look(image.size), "question": self._prompts.question(request.question)}
        text = texts.get(request.kind) or self._prompts.crop()
        schema = None
        if self._uses_schema and request.kind in _SCHEMAS:
            schema = make_reply_schema(request.kind, _SCHEMAS[request.kind])
        reply = await send_request(model, image.data_uri, text, schema, self._options.max_tokens)
        return {
            "id": request.id,
            "kind": request.kind,
            "image_id": request.image_id,
            "question": request.question,
            "box": request.box,
            "sent_size": [*image.size],
            **describe_reply(reply, time.time() - started),
        }


def require_vision_model(model: str, server: str) -> None:
    """Check that a model of transformers can read images and write texts.

    Raises:
        UserError: It is of another kind.
    """
    if not server and model.startswith(("hf/", "hf-vqa/")):
        raise UserError(
            f"--model {model}: wanted a model that reads images and writes text; models of transformers are hf-vlm/..."
        )


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


def open_vision_model(options: RunOptions, record: dict[str, Any]) -> tuple[ChatModel, bool]:
    """Open a model, probe it, and print the warnings of the probe.

    Args:
        options: How the model is asked.
        record: The record of the folder. `warnings` and `uses_schema` are written there.

    Returns:
        The model, and whether its server accepts a request for JSON by a schema.

    Raises:
        UserError: As by `open_and_probe`.
    """
    model, capabilities = open_and_probe(options)
    for warning in capabilities.warnings:
        warn(warning)
    uses_schema = not model.is_local and supports_schema(model, options)
    record["warnings"] = [*dict.fromkeys([*record.get("warnings", []), *capabilities.warnings])]
    record["uses_schema"] = uses_schema
    return model, uses_schema


def supports_schema(model: ChatModel, options: RunOptions) -> bool:
    """Return whether a server accepts a request for JSON by a schema."""

    async def ask() -> None:
        async with model:
            settings = RequestSettings(
                max_tokens=options.max_tokens, schema=make_reply_schema("crop", CropReply)
            )
            await model.send([Message("user", 'Reply with {"name": "cup", "attributes": []}')], settings)

    try:
        run_async(ask)
    # Servers and their clients report an unsupported schema in many ways. Without a schema, everything works, too.
    except Exception:
        return False
    return True


def make_reply_schema(name: str, reply_type: type[msgspec.Struct]) -> ReplySchema:
    """Return the JSON schema that replies of a type should follow."""
    return ReplySchema(name, make_json_schema(reply_type))


async def send_request(
    model: ChatSender, data_uri: str, text: str, schema: ReplySchema | None, max_tokens: int
) -> Reply:
    """Send an image and a text to a model, and return its reply.

    Args:
        model: The model.
        data_uri: The image.
        text: The text after it.
        schema: The JSON schema of the reply; None for any text.
        max_tokens: Maximum length of the reply in tokens.

    Raises:
        ValueError: The server sent no reply. Such a request is sent again by the next call of the command.
    """
    settings = RequestSettings(max_tokens=max_tokens, seed=0, schema=schema)
    reply = await model.send([Message("user", text, data_uri)], settings)
    if not reply.choices:
        raise ValueError(f"no answer: {reply.error}")
    return reply


def describe_reply(reply: Reply, seconds: float) -> dict[str, Any]:
    """Return what the journal says of every reply: the raw reply, why it ended, time and tokens.

    Args:
        reply: The reply of the model, with at least one choice.
        seconds: Time from the request to the reply, with all retries.
    """
    choice = reply.choices[0]
    return {
        "finish": "refusal" if choice.is_declined else choice.stop_reason,
        "reply": "" if choice.stop_reason == "content_filter" else choice.text,
        "failure": "",
        "started_at": time.time() - seconds,
        "seconds": round(seconds, 3),
        "tokens": [reply.num_input_tokens, reply.num_output_tokens],
    }
