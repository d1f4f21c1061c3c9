"""inspect_ai's models `hf-vlm/NAME_OR_FOLDER`: vision-language models of transformers that chat, from the hub or a folder.

inspect_ai's own `hf/` takes no images ("does not support multimodal content", 0.3.285). One question at a time: a server
such as vLLM's is faster, where one can be had.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import torch
import transformers
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    ContentImage,
    GenerateConfig,
    Logprob,
    Logprobs,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    TopLogprob,
)
from inspect_ai.tool import ToolChoice, ToolInfo

from ..core.errors import UserError
from ..core.images import WHITE, load_rgb
from .dynamic_batching import DynamicBatcher, read_image_bytes
from .hf_vqa_base import explain_load_error, get_weights_revision

DEFAULT_MAX_TOKENS = 64  # of a reply, unless the request says
MIN_LOGPROB = -9999.0  # a log probability; -inf is no JSON


class ChatRequest(NamedTuple):
    """A conversation as chat templates take it, and how to reply."""

    messages: list[dict[str, Any]]
    config: GenerateConfig


class HfVlm(ModelAPI):
    """Args:
    model_name: of the hub, or a folder. revision: a commit. device: "" for a GPU if there is one. dtype: of its weights.

    Attributes:
        about: what a result has to name: class, revision or the weights' hash, device, type of the weights.

    Raises:
        UserError: no such model, or one that does not chat.
    """

    answer_vocabulary: tuple[str, ...] = ()  # it writes its answers

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig | None = None,
        revision: str = "",
        device: str = "",
        dtype: str = "auto",
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config or GenerateConfig())
        self._device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        more: dict[str, Any] = {"revision": revision or None}
        try:
            self._processor: Any = transformers.AutoProcessor.from_pretrained(model_name, **more)
            kind: Any = transformers.AutoModelForImageTextToText
            self._model: Any = kind.from_pretrained(model_name, dtype=dtype, **more).eval().to(self._device)
        except (OSError, ValueError) as error:
            raise UserError(explain_load_error(f"hf-vlm/{model_name}", model_name, error)) from error
        if not getattr(self._processor, "chat_template", None):
            raise UserError(f"hf-vlm/{model_name} has no chat template, so it is not known how to ask it")
        self.model_info = {
            "class": type(self._model).__name__,
            "revision": get_weights_revision(model_name, revision),
            "device": self._device,
            "dtype": str(self._model.dtype).removeprefix("torch."),
        }
        self._batcher = DynamicBatcher(self._reply_each, 1)

    async def generate(
        self, input: list[ChatMessage], tools: list[ToolInfo], tool_choice: ToolChoice, config: GenerateConfig
    ) -> ModelOutput:
        return await self._batcher(ChatRequest([_to_template_message(message) for message in input], config))

    def _reply_each(self, requests: Sequence[ChatRequest]) -> list[ModelOutput]:
        return [self._generate_reply(ask) for ask in requests]

    def _generate_reply(self, request: ChatRequest) -> ModelOutput:
        config, most = request.config, request.config.max_tokens or DEFAULT_MAX_TOKENS
        inputs = self._processor.apply_chat_template(
            request.messages, add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
        ).to(self._device, self._model.dtype)
        drawn = {
            "do_sample": True,
            "temperature": config.temperature,
            "top_p": config.top_p or 1.0,
            "top_k": 0,
        }
        how = drawn if config.temperature else {"do_sample": False, "num_beams": 1}
        with torch.inference_mode(), torch.random.fork_rng():
            if config.seed is not None:
                torch.manual_seed(config.seed)
            written = self._model.generate(
                **inputs, **how, max_new_tokens=most, num_return_sequences=config.num_choices or 1,
                output_logits=True, return_dict_in_generate=True,
            )  # fmt: skip
        asked = inputs["input_ids"].shape[1]
        # A model with an encoder gives its reply alone, after a mark of its start; others what they were given, too.
        start = 1 if self._model.config.is_encoder_decoder else asked
        logits = torch.stack(written.logits, 1).float().log_softmax(-1).cpu()
        choices = [
            self._make_choice(ids, rows, config)
            for ids, rows in zip(written.sequences[:, start:].tolist(), logits, strict=True)
        ]
        spoken = sum(len(ids) for ids in written.sequences[:, start:])
        usage = ModelUsage(input_tokens=asked, output_tokens=spoken, total_tokens=asked + spoken)
        return ModelOutput(model=self.model_name, choices=choices, usage=usage)

    def _make_choice(
        self, token_ids: list[int], logprob_rows: torch.Tensor, config: GenerateConfig
    ) -> ChatCompletionChoice:
        """A reply of tokens `ids`, of which `rows` [n, vocabulary] are log probabilities."""
        ends = self._model.generation_config.eos_token_id
        ends = {ends} if isinstance(ends, int) else set(ends or ())
        whole = next((place for place, token in enumerate(token_ids) if token in ends), None)
        said = token_ids[:whole]
        tokenizer = self._processor.tokenizer
        # What each token adds to the text: alone, some tokenizers leave its space out.
        texts = [tokenizer.decode(said[:count]) for count in range(len(said) + 1)]
        tokens = [after[len(before) :] for before, after in pairwise(texts)]
        content = [
            _make_logprob(Logprob, token, row[place]).model_copy(
                update={"top_logprobs": self._top_logprobs(row, config.top_logprobs or 0)}
            )
            for token, place, row in zip(tokens, said, logprob_rows, strict=False)
        ]
        text = tokenizer.decode(said, skip_special_tokens=True).strip()
        return ChatCompletionChoice(
            message=ChatMessageAssistant(content=text, model=self.model_name, source="generate"),
            stop_reason="max_tokens" if whole is None else "stop",
            logprobs=Logprobs(content=content) if config.logprobs else None,
        )

    def _top_logprobs(self, row: torch.Tensor, count: int) -> list[TopLogprob] | None:
        best = row.topk(min(count, len(row)))
        names = [self._processor.tokenizer.decode([place]) for place in best.indices.tolist()]
        return [
            _make_logprob(TopLogprob, name, value) for name, value in zip(names, best.values, strict=True)
        ] or None


def _make_logprob(kind: Any, token: str, value: torch.Tensor) -> Any:
    return kind(token=token, logprob=max(float(value), MIN_LOGPROB), bytes=list(token.encode()))


def _to_template_message(message: ChatMessage) -> dict[str, Any]:
    """A message as chat templates of transformers take it, its images opened."""
    if isinstance(message.content, str):
        return {"role": message.role, "content": [{"type": "text", "text": message.content}]}
    parts: list[dict[str, Any]] = []
    for part in message.content:
        if isinstance(part, ContentImage):
            parts.append({"type": "image", "image": load_rgb(read_image_bytes(part.image), background=WHITE)})
        elif part.type == "text":
            parts.append({"type": "text", "text": part.text})
    return {"role": message.role, "content": parts}
