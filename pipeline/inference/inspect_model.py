"""Ask a model through inspect_ai: hosted services with a protocol of their own, and models on this machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    Content,
    ContentImage,
    ContentText,
    GenerateConfig,
    ModelOutput,
    ResponseSchema,
)
from inspect_ai.util import JSONSchema

from ..core.server_errors import LOCAL_PROVIDERS, unwrap_retry_error
from .chat_model import Choice, Message, Reply, RequestSettings
from .openai_server import REQUEST_TIMEOUT_SECONDS

# More than any run has.
MAX_CONNECTIONS = 10_000


class InspectModel:
    """A model of inspect_ai.

    Args:
        open_model: Opens the model. The client of a hosted service belongs to the event loop that first uses it, so it is opened
            again each time. A model on this machine is opened once.
        task_settings: The settings of the task of inspect_ai within which the model is asked. Requests then state only what differs
            from them, because the user of inspect_ai may have changed them, and inspect_ai retries failed requests. None
            outside of a task.
    """

    def __init__(self, open_model: Callable[[], Any], task_settings: RequestSettings | None = None) -> None:
        self._open_model, self._model, self._is_used = open_model, open_model(), False
        self._task_settings, api = task_settings, self._model.api
        self.name = str(self._model)
        self.is_local = self.name.split("/")[0] in LOCAL_PROVIDERS
        self.address = str(getattr(api, "base_url", None) or "")
        self.key_variable = next(iter(getattr(api, "api_key_vars", None) or []), "")
        self.default_connections = api.max_connections()
        # Only the models of hf-vqa and hf-vlm have these attributes.
        self.model_info: Mapping[str, Any] = getattr(api, "model_info", {})
        self.answer_vocabulary: Sequence[str] = getattr(api, "answer_vocabulary", ())

    async def __aenter__(self) -> Self:
        if self._is_used and not self.is_local:
            self._model = self._open_model()
        self._is_used = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if not self.is_local:
            await self._model.__aexit__(kind, error, at)

    async def send(self, messages: Sequence[Message], settings: RequestSettings) -> Reply:
        """Send a conversation and return the reply to its last message.

        Raises:
            Exception: The provider's exception, if there is no reply.
        """
        output = await self._model.generate(
            [to_chat_message(message) for message in messages], config=self._make_config(settings)
        )
        return read_output(output)

    def is_transient(self, error: Exception) -> bool:
        """Return whether the same request may succeed later, by the rules of the provider."""
        decision = self._model.should_retry(unwrap_retry_error(error))
        return bool(getattr(decision, "retry", decision))

    def _make_config(self, settings: RequestSettings) -> GenerateConfig:
        fields: dict[str, Any] = {
            "temperature": settings.temperature,
            "max_tokens": settings.max_tokens,
            "seed": settings.seed,
        }
        if self._task_settings:
            stated = self._task_settings._asdict()
            fields = {name: value for name, value in fields.items() if value != stated[name]}
        else:
            fields["max_retries"] = 0
            if not self.is_local:
                # The caller limits the number of requests at the same time. A model on this machine takes the number for the size
                # of its batches.
                fields |= {"attempt_timeout": REQUEST_TIMEOUT_SECONDS, "max_connections": MAX_CONNECTIONS}
        if settings.schema:
            json_schema = JSONSchema.model_validate(settings.schema.schema)
            fields["response_schema"] = ResponseSchema(
                name=settings.schema.name, json_schema=json_schema, strict=True
            )
        return GenerateConfig(
            num_choices=settings.num_choices if settings.num_choices > 1 else None,
            logprobs=settings.needs_logprobs or None,
            top_logprobs=settings.num_top_logprobs or None,
            **fields,
        )


def to_chat_message(message: Message) -> ChatMessage:
    if message.role == "assistant":
        return ChatMessageAssistant(content=message.text)
    if message.role == "system":
        return ChatMessageSystem(content=message.text)
    if not message.image and not message.image_id:
        return ChatMessageUser(content=message.text)
    content: list[Content] = [ContentImage(image=message.image)] if message.image else []
    return ChatMessageUser(
        content=[*content, ContentText(text=message.text)], metadata={"image_id": message.image_id}
    )


def read_output(output: ModelOutput) -> Reply:
    """Return an output of inspect_ai as a reply."""
    choices = []
    for choice in output.choices:
        content = choice.message.content
        parts = [] if isinstance(content, str) else content
        choices.append(
            Choice(
                text=choice.message.text,
                stop_reason=choice.stop_reason,
                is_refusal=any(isinstance(part, ContentText) and bool(part.refusal) for part in parts),
                has_reasoning=any(getattr(part, "type", "") == "reasoning" for part in parts),
                token_logprobs=[token.model_dump() for token in choice.logprobs.content]
                if choice.logprobs
                else (),
            )
        )
    usage = output.usage
    return Reply(
        choices,
        usage.input_tokens if usage else 0,
        usage.output_tokens if usage else 0,
        "" if choices else output.error or "the server sent no choices",
        str((output.metadata or {}).get("distribution") or ""),
        bool((output.metadata or {}).get("is_question_truncated")),
    )
