"""Vision-language chat models of transformers for inspect_ai (`hf-vlm/NAME_OR_FOLDER`).

inspect_ai's own provider `hf/` does not accept images ("does not support multimodal content", version
0.3.285). The provider in this module does, but answers one question at a time. A server such as vLLM is
faster.
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

# Maximum length of a reply in tokens, if the request sets none.
DEFAULT_MAX_TOKENS = 64
# Value that replaces the log probability -inf, which JSON cannot represent.
MIN_LOGPROB = -9999.0


class ChatRequest(NamedTuple):
    """A conversation in the format of chat templates, and the settings of the reply."""

    messages: list[dict[str, Any]]
    config: GenerateConfig


class HfVlm(ModelAPI):
    """A vision-language model that runs on this machine.

    Args:
        model_name: Name on the Hugging Face Hub, or a folder.
        base_url: Unused.
        api_key: Unused.
        config: Default settings of inspect_ai.
        revision: Commit, branch or tag on the hub; "" for the newest.
        device: Device of torch; "" for a GPU if there is one.
        dtype: Data type of the weights; "auto" for the data type in the files.

    Attributes:
        answer_vocabulary: Empty, because the model generates its answers.
        model_info: Class, revision or hash of the weights, device, and data type, for run.json.

    Raises:
        UserError: The model cannot be loaded, or has no chat template.
    """

    answer_vocabulary: tuple[str, ...] = ()

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
        hub_kwargs: dict[str, Any] = {"revision": revision or None}
        try:
            self._processor: Any = transformers.AutoProcessor.from_pretrained(model_name, **hub_kwargs)
            kind: Any = transformers.AutoModelForImageTextToText
            self._model: Any = (
                kind.from_pretrained(model_name, dtype=dtype, **hub_kwargs).eval().to(self._device)
            )
        except (OSError, ValueError) as error:
            raise UserError(explain_load_error(f"hf-vlm/{model_name}", model_name, error)) from error
        if not getattr(self._processor, "chat_template", None):
            raise UserError(
                f"hf-vlm/{model_name}: the model has no chat template; use a model fine-tuned for chat"
            )
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
        return [self._generate_reply(request) for request in requests]

    def _generate_reply(self, request: ChatRequest) -> ModelOutput:
        config, max_tokens = request.config, request.config.max_tokens or DEFAULT_MAX_TOKENS
        inputs = self._processor.apply_chat_template(
            request.messages, add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
        ).to(self._device, self._model.dtype)
        sampling = {
            "do_sample": True,
            "temperature": config.temperature,
            "top_p": config.top_p or 1.0,
            "top_k": 0,
        }
        decoding = sampling if config.temperature else {"do_sample": False, "num_beams": 1}
        with torch.inference_mode(), torch.random.fork_rng():
            if config.seed is not None:
                torch.manual_seed(config.seed)
            generated = self._model.generate(
                **inputs, **decoding, max_new_tokens=max_tokens, num_return_sequences=config.num_choices or 1,
                output_logits=True, return_dict_in_generate=True,
            )  # fmt: skip
        num_input_tokens = inputs["input_ids"].shape[1]
        # Encoder-decoder models return a start token and the reply. Other models return the input and the
        # reply.
        start = 1 if self._model.config.is_encoder_decoder else num_input_tokens
        logits = torch.stack(generated.logits, 1).float().log_softmax(-1).cpu()
        choices = [
            self._make_choice(ids, rows, config)
            for ids, rows in zip(generated.sequences[:, start:].tolist(), logits, strict=True)
        ]
        num_output_tokens = sum(len(ids) for ids in generated.sequences[:, start:])
        usage = ModelUsage(
            input_tokens=num_input_tokens,
            output_tokens=num_output_tokens,
            total_tokens=num_input_tokens + num_output_tokens,
        )
        return ModelOutput(model=self.model_name, choices=choices, usage=usage)

    def _make_choice(
        self, token_ids: list[int], logprob_rows: torch.Tensor, config: GenerateConfig
    ) -> ChatCompletionChoice:
        """Return a reply, given its token ids and the log probabilities [n, vocabulary] at its n positions."""
        ends = self._model.generation_config.eos_token_id
        ends = {ends} if isinstance(ends, int) else set(ends or ())
        length = next((i for i, token in enumerate(token_ids) if token in ends), None)
        reply_ids = token_ids[:length]
        tokenizer = self._processor.tokenizer
        # The text of a token is the difference of two decoded prefixes, because some tokenizers drop the
        # leading space of a token that is decoded separately.
        texts = [tokenizer.decode(reply_ids[:count]) for count in range(len(reply_ids) + 1)]
        tokens = [after[len(before) :] for before, after in pairwise(texts)]
        content = [
            _make_logprob(Logprob, token, row[token_id]).model_copy(
                update={"top_logprobs": self._top_logprobs(row, config.top_logprobs or 0)}
            )
            for token, token_id, row in zip(tokens, reply_ids, logprob_rows, strict=False)
        ]
        text = tokenizer.decode(reply_ids, skip_special_tokens=True).strip()
        return ChatCompletionChoice(
            message=ChatMessageAssistant(content=text, model=self.model_name, source="generate"),
            stop_reason="max_tokens" if length is None else "stop",
            logprobs=Logprobs(content=content) if config.logprobs else None,
        )

    def _top_logprobs(self, row: torch.Tensor, count: int) -> list[TopLogprob] | None:
        best = row.topk(min(count, len(row)))
        names = [self._processor.tokenizer.decode([token_id]) for token_id in best.indices.tolist()]
        return [
            _make_logprob(TopLogprob, name, value) for name, value in zip(names, best.values, strict=True)
        ] or None


def _make_logprob(kind: Any, token: str, value: torch.Tensor) -> Any:
    return kind(token=token, logprob=max(float(value), MIN_LOGPROB), bytes=list(token.encode()))


def _to_template_message(message: ChatMessage) -> dict[str, Any]:
    """Return a message in the format of chat templates of transformers, with its images loaded."""
    if isinstance(message.content, str):
        return {"role": message.role, "content": [{"type": "text", "text": message.content}]}
    parts: list[dict[str, Any]] = []
    for part in message.content:
        if isinstance(part, ContentImage):
            parts.append({"type": "image", "image": load_rgb(read_image_bytes(part.image), background=WHITE)})
        elif part.type == "text":
            parts.append({"type": "text", "text": part.text})
    return {"role": message.role, "content": parts}
