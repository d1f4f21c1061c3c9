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

from ..core.errors import UserError, format_count
from .answer_distributions import encode_distribution
from .dynamic_batching import DynamicBatcher, read_image_bytes
from .hf_vqa_base import (
    ACTIVATIONS,
    ImageQuestion,
    VqaModel,
    VqaModelSettings,
    VqaPrediction,
    explain_load_error,
)

UNSUPPORTED_INPUT_MESSAGE = "this model takes the question of one image and says one answer: ask it with --prompt bare --confidence token-probability"


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
        self._batch_size = int(batch_size)
        self.vqa_model = load_vqa_model(model_name, model_args)
        self.answer_vocabulary, self.model_info = self.vqa_model.answer_vocabulary, self.vqa_model.model_info
        self._batcher = DynamicBatcher(self.vqa_model.predict, self._batch_size)

    async def generate(
        self, input: list[ChatMessage], tools: list[ToolInfo], tool_choice: ToolChoice, config: GenerateConfig
    ) -> ModelOutput:
        if (config.num_choices or 1) > 1:
            raise ValueError(UNSUPPORTED_INPUT_MESSAGE)
        reply = await self._batcher(parse_image_question(input))
        message = ChatMessageAssistant(content=reply.answer, model=self.model_name, source="generate")
        choice = ChatCompletionChoice(
            message=message,
            stop_reason="max_tokens" if reply.is_answer_truncated else "stop",
            logprobs=self._make_logprobs(reply, config.top_logprobs or 0) if config.logprobs else None,
        )
        about: dict[str, Any] = {"cut": True} if reply.is_question_truncated else {}
        if reply.distribution is not None:
            about["distribution"] = encode_distribution(reply.distribution)
        return ModelOutput(model=self.model_name, choices=[choice], metadata=about)

    def _make_logprobs(self, reply: VqaPrediction, top: int) -> Logprobs:
        """The answer as one token, with the likeliest ones."""
        likeliest = [] if reply.distribution is None else reply.distribution.argsort()[::-1][:top].tolist()
        tops = [
            _make_logprob(TopLogprob, self.answer_vocabulary[k], float(reply.distribution[k]))  # pyright: ignore[reportOptionalSubscript]
            for k in likeliest
        ]  # pyright: ignore[reportOptionalSubscript]
        said = _make_logprob(Logprob, reply.answer, reply.probability)
        return Logprobs(content=[said.model_copy(update={"top_logprobs": tops or None})])

    def max_connections(self) -> int:
        """Two batches: one is got ready while the other is answered."""
        return 2 * self._batch_size

    def collapse_user_messages(self) -> bool:
        return False


def _make_logprob(kind: Any, token: str, probability: float) -> Any:
    return kind(token=token, logprob=math.log(max(probability, 1e-300)), bytes=list(token.encode()))


def load_vqa_model(name: str, settings: dict[str, Any]) -> VqaModel:
    """A model of the hub or of a folder.

    Raises:
        UserError: no such model, or not one of these; settings that it does not have.
    """
    known = [field.name for field in fields(VqaModelSettings)]
    if wrong := sorted(settings.keys() - set(known)):
        raise UserError(
            f"hf-vqa does not know {', '.join(wrong)}; its settings: batch_size, {', '.join(known)}"
        )
    made = VqaModelSettings(**{key: str(value) for key, value in settings.items()})
    if made.activation not in ACTIVATIONS:
        raise UserError(f"activation {made.activation!r}; there are {', '.join(ACTIVATIONS)}")
    from transformers import AutoConfig

    from .hf_blip import Blip
    from .hf_classifiers import Lxmert, Vilt

    kinds: dict[str, type[VqaModel]] = {"vilt": Vilt, "blip": Blip, "lxmert": Lxmert}
    try:
        config = AutoConfig.from_pretrained(name, revision=made.revision or None)
        if config.model_type not in kinds:
            raise UserError(
                f"{name} is a model of the kind {config.model_type}; hf-vqa knows {', '.join(kinds)}. "
                f"A model that chats: hf-vlm/{name}"
            )
        return kinds[config.model_type](name, made, config)
    except (OSError, ValueError) as error:
        raise UserError(explain_load_error(f"hf-vqa/{name}", name, error)) from error


def parse_image_question(messages: list[ChatMessage]) -> ImageQuestion:
    """The question and its image; what a system message says is not for such a model.

    Raises:
        ValueError: not one message of a user, with one image.
    """
    said = [message for message in messages if message.role != "system"]
    parts = said[0].content if said else []
    if len(said) != 1 or not isinstance(said[0], ChatMessageUser) or not isinstance(parts, list):
        raise ValueError(UNSUPPORTED_INPUT_MESSAGE)
    images = [part.image for part in parts if isinstance(part, ContentImage)]
    if len(images) != 1:
        raise ValueError(f"{format_count(len(images), 'image')}; {UNSUPPORTED_INPUT_MESSAGE}")
    return ImageQuestion(
        said[0].text.strip(), read_image_bytes(images[0]), str((said[0].metadata or {}).get("image", ""))
    )
