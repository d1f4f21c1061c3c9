"""inspect_ai's models `hf-vqa/NAME_OR_FOLDER`: ViLT, BLIP and LXMERT of transformers, from the hub or a folder."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageUser,
    ContentImage,
    GenerateConfig,
    Logprob,
    Logprobs,
    ModelAPI,
    ModelOutput,
    TopLogprob,
)
from inspect_ai.tool import ToolChoice, ToolInfo

from ..core.errors import UserError, counted
from .answer_distributions import packed
from .dynamic_batching import Batches, picture_bytes
from .hf_vqa_base import ACTIVATIONS, AnswerNet, NetAnswer, NetSettings, ShownQuestion, why_not_loaded

ONE_QUESTION = "this model takes the question of one picture and says one answer: ask it with --prompt bare --recipe token-probability"


class HfVqa(ModelAPI):
    """Args:
    model_name: of the hub, or a folder.
    model_args: `NetSettings`, and `batch_size` (32).

    Attributes:
        answers, about: see `AnswerNet`.

    Raises:
        UserError: no such model, or not one of these; settings that it does not have.
    """

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig | None = None,
        batch_size: int | str = 32,
        **model_args: Any,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config or GenerateConfig())
        self._most = int(batch_size)
        self.net = load_net(model_name, model_args)
        self.answers, self.about = self.net.answers, self.net.about
        self._say = Batches(self.net.say, self._most)

    async def generate(
        self, input: list[ChatMessage], tools: list[ToolInfo], tool_choice: ToolChoice, config: GenerateConfig
    ) -> ModelOutput:
        if (config.num_choices or 1) > 1:
            raise ValueError(ONE_QUESTION)
        reply = await self._say(shown_of(input))
        message = ChatMessageAssistant(content=reply.answer, model=self.model_name, source="generate")
        choice = ChatCompletionChoice(
            message=message,
            stop_reason="max_tokens" if reply.unfinished else "stop",
            logprobs=self._logprobs(reply, config.top_logprobs or 0) if config.logprobs else None,
        )
        about: dict[str, Any] = {"cut": True} if reply.cut else {}
        if reply.distribution is not None:
            about["distribution"] = packed(reply.distribution)
        return ModelOutput(model=self.model_name, choices=[choice], metadata=about)

    def _logprobs(self, reply: NetAnswer, top: int) -> Logprobs:
        """The answer as one token, with the likeliest ones."""
        likeliest = [] if reply.distribution is None else reply.distribution.argsort()[::-1][:top].tolist()
        tops = [_token(TopLogprob, self.answers[k], float(reply.distribution[k])) for k in likeliest]  # pyright: ignore[reportOptionalSubscript]
        said = _token(Logprob, reply.answer, reply.probability)
        return Logprobs(content=[said.model_copy(update={"top_logprobs": tops or None})])

    def max_connections(self) -> int:
        """Two batches: one is got ready while the other is answered."""
        return 2 * self._most

    def collapse_user_messages(self) -> bool:
        return False


def _token(kind: Any, token: str, probability: float) -> Any:
    return kind(token=token, logprob=math.log(max(probability, 1e-300)), bytes=list(token.encode()))


def load_net(name: str, settings: dict[str, Any]) -> AnswerNet:
    """A model of the hub or of a folder.

    Raises:
        UserError: no such model, or not one of these; settings that it does not have.
    """
    known = [field.name for field in fields(NetSettings)]
    if wrong := sorted(settings.keys() - set(known)):
        raise UserError(
            f"hf-vqa does not know {', '.join(wrong)}; its settings: batch_size, {', '.join(known)}"
        )
    made = NetSettings(**{key: str(value) for key, value in settings.items()})
    if made.activation not in ACTIVATIONS:
        raise UserError(f"activation {made.activation!r}; there are {', '.join(ACTIVATIONS)}")
    from transformers import AutoConfig

    from .hf_blip import Blip
    from .hf_classifiers import Lxmert, Vilt

    kinds: dict[str, type[AnswerNet]] = {"vilt": Vilt, "blip": Blip, "lxmert": Lxmert}
    try:
        config = AutoConfig.from_pretrained(name, revision=made.revision or None)
        if config.model_type not in kinds:
            raise UserError(
                f"{name} is a model of the kind {config.model_type}; hf-vqa knows {', '.join(kinds)}. "
                f"A model that chats: hf-vlm/{name}"
            )
        return kinds[config.model_type](name, made, config)
    except (OSError, ValueError) as error:
        raise UserError(why_not_loaded(f"hf-vqa/{name}", name, error)) from error


def shown_of(messages: list[ChatMessage]) -> ShownQuestion:
    """The question and its picture; what a system message says is not for such a model.

    Raises:
        ValueError: not one message of a user, with one picture.
    """
    said = [message for message in messages if message.role != "system"]
    parts = said[0].content if said else []
    if len(said) != 1 or not isinstance(said[0], ChatMessageUser) or not isinstance(parts, list):
        raise ValueError(ONE_QUESTION)
    pictures = [part.image for part in parts if isinstance(part, ContentImage)]
    if len(pictures) != 1:
        raise ValueError(f"{counted(len(pictures), 'picture')}; {ONE_QUESTION}")
    return ShownQuestion(
        said[0].text.strip(), picture_bytes(pictures[0]), str((said[0].metadata or {}).get("picture", ""))
    )
