"""What a chat model is asked, and what it replies: the same for all kinds of models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, NamedTuple, Protocol, Self

from .confidence import TokenLogprobs

# The stop reasons of a truncated reply.
TRUNCATED_STOP_REASONS = ("max_tokens", "model_length")


class Message(NamedTuple):
    """A message of a conversation.

    Attributes:
        role: Who speaks.
        text: The text, after the image.
        image: The image as a data URI; "" for a message without an image.
        image_id: Id of the image, for models that look up its features.
    """

    role: Literal["system", "user", "assistant"]
    text: str
    image: str = ""
    image_id: str = ""


class ReplySchema(NamedTuple):
    """A JSON schema that the reply should follow, and its name."""

    name: str
    schema: Mapping[str, Any]


class RequestSettings(NamedTuple):
    """The settings of a request.

    Attributes:
        temperature: Temperature of sampling; 0 for the most likely tokens.
        max_tokens: Maximum length of a reply in tokens.
        seed: Random seed of the reply; None for no seed.
        num_choices: Number of replies.
        needs_logprobs: Whether the log probabilities of the reply's tokens are requested.
        num_top_logprobs: Number of most likely tokens per position whose log probabilities are requested, too.
        schema: JSON schema of the reply; None for any text.
    """

    temperature: float = 0.0
    max_tokens: int = 64
    seed: int | None = None
    num_choices: int = 1
    needs_logprobs: bool = False
    num_top_logprobs: int = 0
    schema: ReplySchema | None = None


class Choice(NamedTuple):
    """One reply.

    Attributes:
        text: The text, unchanged.
        stop_reason: Why it ended: "stop", "content_filter", one of `TRUNCATED_STOP_REASONS`, or another word of the server.
        is_refusal: Whether the server marks it as a refusal.
        has_reasoning: Whether the server sent reasoning in a separate field.
        token_logprobs: The tokens with their log probabilities; empty if there are none.
    """

    text: str
    stop_reason: str = "stop"
    is_refusal: bool = False
    has_reasoning: bool = False
    token_logprobs: TokenLogprobs = ()

    @property
    def is_declined(self) -> bool:
        """Whether the model refused, or a filter stopped the reply."""
        return self.is_refusal or self.stop_reason == "content_filter"


class Reply(NamedTuple):
    """What a model sends back: one or more replies to the same message.

    Attributes:
        choices: The replies.
        num_input_tokens, num_output_tokens: Tokens of the request and of all replies; 0 if the server does not count.
        error: Why there are no replies; "" if there are some.
        distribution: The answer distribution of a classifier, encoded (`answer_distributions`); "" for other models.
        is_question_truncated: Whether a classifier has read only the beginning of the question.
    """

    choices: Sequence[Choice]
    num_input_tokens: int = 0
    num_output_tokens: int = 0
    error: str = ""
    distribution: str = ""
    is_question_truncated: bool = False


class ChatSender(Protocol):
    """Something that sends messages to a model."""

    async def send(self, messages: Sequence[Message], settings: RequestSettings) -> Reply:
        """Send a conversation and return the reply to its last message.

        Raises:
            Exception: There is no reply.
        """
        ...


class ChatModel(ChatSender, Protocol):
    """A model that replies to messages. It is used within `async with`.

    Attributes:
        name: Name for messages.
        address: Base URL of its server; "" if it is not known.
        key_variable: Environment variable with its API key; "" if it needs none.
        is_local: Whether the model runs on this machine, in this process.
        default_connections: Number of requests at the same time if the user names none.
        model_info: Facts about a model on this machine, for the record of the run.
        answer_vocabulary: All answers of a classifier; empty for other models.
    """

    name: str
    address: str
    key_variable: str
    is_local: bool
    default_connections: int
    model_info: Mapping[str, Any]
    answer_vocabulary: Sequence[str]

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None: ...

    def is_transient(self, error: Exception) -> bool:
        """Return whether the same request may succeed later."""
        ...
