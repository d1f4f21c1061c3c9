"""ViLT, BLIP and LXMERT of transformers for inspect_ai (`hf-vqa/NAME_OR_FOLDER`)."""

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

UNSUPPORTED_INPUT_MESSAGE = "this model takes one question about one image and gives one answer: use --prompt bare --confidence token-probability"


class HfVqa(ModelAPI):
    """A VQA model that runs on this machine.

    Args:
        model_name: Name on the Hugging Face Hub, or a folder.
        base_url: Unused.
        api_key: Unused.
        config: Default settings of inspect_ai.
        batch_size: Maximum number of questions in a batch.
        model_args: The fields of `VqaModelSettings`.

    Attributes:
        vqa_model: The model.
        answer_vocabulary: See `VqaModel`.
        model_info: See `VqaModel`.

    Raises:
        UserError: The model cannot be loaded, has an unsupported architecture, or does not have one of the
            settings.
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
        metadata: dict[str, Any] = {"is_question_truncated": True} if reply.is_question_truncated else {}
        if reply.distribution is not None:
            metadata["distribution"] = encode_distribution(reply.distribution)
        return ModelOutput(model=self.model_name, choices=[choice], metadata=metadata)

    def _make_logprobs(self, reply: VqaPrediction, top: int) -> Logprobs:
        """Return the log probabilities of the answer and of the `top` most likely answers, as if each answer
        were one token.
        """
        most_likely = [] if reply.distribution is None else reply.distribution.argsort()[::-1][:top].tolist()
        tops = [
            _make_logprob(TopLogprob, self.answer_vocabulary[k], float(reply.distribution[k]))  # pyright: ignore[reportOptionalSubscript]
            for k in most_likely
        ]  # pyright: ignore[reportOptionalSubscript]
        logprob = _make_logprob(Logprob, reply.answer, reply.probability)
        return Logprobs(content=[logprob.model_copy(update={"top_logprobs": tops or None})])

    def max_connections(self) -> int:
        """Return the size of two batches: the images of the second batch are encoded while the first batch is
        answered.
        """
        return 2 * self._batch_size

    def collapse_user_messages(self) -> bool:
        return False


def _make_logprob(kind: Any, token: str, probability: float) -> Any:
    return kind(token=token, logprob=math.log(max(probability, 1e-300)), bytes=list(token.encode()))


def load_vqa_model(name: str, settings: dict[str, Any]) -> VqaModel:
    """Load a VQA model.

    Args:
        name: Name on the Hugging Face Hub, or a folder.
        settings: Fields of `VqaModelSettings`.

    Raises:
        UserError: The model cannot be loaded, has an unsupported architecture, or does not have one of the
            settings.
    """
    known = [field.name for field in fields(VqaModelSettings)]
    if wrong := sorted(settings.keys() - set(known)):
        raise UserError(
            f"--model-arg {', '.join(wrong)}: hf-vqa has no such setting; choose from batch_size, {', '.join(known)}"
        )
    model_settings = VqaModelSettings(**{key: str(value) for key, value in settings.items()})
    if model_settings.activation not in ACTIVATIONS:
        raise UserError(
            f"--model-arg activation={model_settings.activation}: no such activation; choose from {', '.join(ACTIVATIONS)}"
        )
    from transformers import AutoConfig

    from .hf_blip import Blip
    from .hf_classifiers import Lxmert, Vilt

    kinds: dict[str, type[VqaModel]] = {"vilt": Vilt, "blip": Blip, "lxmert": Lxmert}
    try:
        config = AutoConfig.from_pretrained(name, revision=model_settings.revision or None)
        if config.model_type not in kinds:
            raise UserError(
                f"{name}: hf-vqa runs {', '.join(kinds)}, and this model is of type {config.model_type}. "
                f"If it is a chat model, use hf-vlm/{name}"
            )
        return kinds[config.model_type](name, model_settings, config)
    except (OSError, ValueError) as error:
        raise UserError(explain_load_error(f"hf-vqa/{name}", name, error)) from error


def parse_image_question(messages: list[ChatMessage]) -> ImageQuestion:
    """Return the question and its image. System messages are ignored.

    Raises:
        ValueError: There is not exactly one message of the user with exactly one image.
    """
    turns = [message for message in messages if message.role != "system"]
    parts = turns[0].content if turns else []
    if len(turns) != 1 or not isinstance(turns[0], ChatMessageUser) or not isinstance(parts, list):
        raise ValueError(UNSUPPORTED_INPUT_MESSAGE)
    images = [part.image for part in parts if isinstance(part, ContentImage)]
    if len(images) != 1:
        raise ValueError(f"{format_count(len(images), 'image')} in the message; {UNSUPPORTED_INPUT_MESSAGE}")
    return ImageQuestion(
        turns[0].text.strip(),
        read_image_bytes(images[0]),
        str((turns[0].metadata or {}).get("image_id", "")),
    )
