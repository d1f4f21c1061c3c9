"""Ask a model one question with a prompt and a confidence method, as a solver of inspect_ai."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from anyio.to_thread import run_sync
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    Content,
    ContentImage,
    ContentText,
    GenerateConfig,
    ModelOutput,
    get_model,
)
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import collect

from ..scoring.abstention import ABSTAINED, classify_abstention
from ..scoring.items import BenchmarkItem
from ..scoring.reasoning_parser import extract_final_answer
from .confidence import TokenLogprobs, find_most_common
from .confidence_methods import SAMPLING_TEMPERATURE, TRUNCATED_STOP_REASONS, ConfidenceMethod, Replies
from .prompts import UNANSWERABLE, Prompt
from .release_images import ReleaseImages

# Number of most likely tokens per position whose log probabilities are requested, for methods that need them.
NUM_TOP_LOGPROBS = 20


class UnusableReply(Exception):
    """A reply from which no prediction can be made. The message starts with the kind of fault."""

    def __init__(self, kind: Literal["truncated", "no answer", "no confidence"], detail: str) -> None:
        super().__init__(f"{kind}: {detail}")

    # inspect_ai writes this text into its log.
    def __repr__(self) -> str:
        return str(self)


class PromptedRun(NamedTuple):
    """How each question is asked.

    Attributes:
        prompt: The messages around the question.
        confidence_method: How the confidence is computed.
        images: The images; None to ask without images.
        few_shot_examples: Items that are shown, with their answers, before each question.
        num_replies: Number of replies to request, for methods that need several.
        use_num_choices: Whether all replies are requested at once (`num_choices`). Use false for a server
            that rejects such requests.
        seed: Random seed of the replies.
        answer_words: All words of the benchmark's answers, for the abstention classifier.
    """

    prompt: Prompt
    confidence_method: ConfidenceMethod
    images: ReleaseImages | None
    few_shot_examples: Sequence[BenchmarkItem] = ()
    num_replies: int = 10
    use_num_choices: bool = True
    seed: int = 0
    answer_words: frozenset[str] = frozenset()

    @property
    def log_metadata(self) -> dict[str, Any]:
        """Return the settings for the log of inspect_ai."""
        return {
            "prompt": {"name": self.prompt.name, "hash": self.prompt.hash},
            "confidence": {"name": self.confidence_method.name, "hash": self.confidence_method.hash},
            "max_image_size": self.images.max_image_size if self.images else None,
            "no_image": self.images is None,
            "shots": [example.id for example in self.few_shot_examples],
            "num_replies": self.num_replies if self.confidence_method.needs_several_replies else 1,
        }


@solver
def ask_question(prompted_run: PromptedRun) -> Solver:
    """Return a solver of inspect_ai that asks the question of a sample.

    The reply becomes the output of the sample. The solver adds to the metadata of the sample: `confidence`,
    `abstained`, and `raw_replies`, the texts of all replies, including unusable ones.

    Raises:
        UnusableReply: A reply was truncated, or the method gives no confidence.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        method, question = prompted_run.confidence_method, state.input_text
        messages = await _opening_messages(prompted_run)
        replies, raw_replies = Replies(), state.metadata.setdefault("raw_replies", [])
        *first_turn, turn = await _question_turns(prompted_run, state.metadata["image_id"], question)
        if first_turn:
            output = await _exchange_turn(messages, first_turn[0], method, raw_replies)
            replies = replies._replace(
                first_turn=output.completion, first_turn_logprobs=_token_logprobs(output)
            )
        messages.append(turn)
        all_outputs = await _collect_replies(messages, prompted_run, raw_replies)
        outputs = _drop_truncated(all_outputs)
        texts = [output.completion for output in outputs]
        is_declined = [is_refused(output.choices[0]) for output in outputs]
        answered = classify_abstention([question] * len(texts), texts, prompted_run.answer_words)
        answered = np.where(is_declined, ABSTAINED, answered).tolist()
        best = find_most_common(texts, answered)
        messages.append(outputs[best].message)
        replies = replies._replace(
            texts=texts,
            answered=answered,
            token_logprobs=_token_logprobs(outputs[best]),
            num_truncated=len(all_outputs) - len(outputs),
        )
        if method.followup_turn and not (method.can_reuse_first_turn and first_turn):
            followup = ChatMessageUser(content=method.followup_turn)
            output = await _exchange_turn(messages, followup, method, raw_replies)
            replies = replies._replace(followup=output.completion, followup_logprobs=_token_logprobs(output))
        confidence = method.compute(replies)
        if confidence is None:
            source = replies.followup or (replies.first_turn if method.can_reuse_first_turn else texts[best])
            raise UnusableReply("no confidence", f"{method.name}, from {source!r:.200}")
        state.messages, state.output = messages, outputs[best]
        state.metadata |= {
            "confidence": confidence,
            "detected_abstention": replies.capped_answered[best] == ABSTAINED,
        }
        return state

    return solve


async def _opening_messages(prompted_run: PromptedRun) -> list[ChatMessage]:
    """Return the messages before the question: the system message, and the examples with their answers."""
    prompt = prompted_run.prompt
    messages: list[ChatMessage] = [ChatMessageSystem(content=prompt.system)] if prompt.system else []
    for example in prompted_run.few_shot_examples:
        answer = next(iter(example.answers), UNANSWERABLE)
        replies = ["yes" if example.answers else "no", answer] if prompt.first_turn_template else [answer]
        turns = await _question_turns(prompted_run, example.image, example.question_text)
        for turn, reply in zip(turns, replies, strict=True):
            messages += [turn, ChatMessageAssistant(content=reply)]
    return messages


async def _question_turns(prompted_run: PromptedRun, image_id: str, question: str) -> list[ChatMessageUser]:
    """Return the messages of the user for a question, one for each turn. The first message has the image."""
    prompt, images = prompted_run.prompt, prompted_run.images
    first, *others = [
        text for text in (prompt.format_first_turn(question), prompt.format_question(question)) if text
    ]
    content: list[Content] = [ContentText(text=first)]
    if images:
        content.insert(0, ContentImage(image=await run_sync(images.encode_data_uri, image_id)))
    with_image = ChatMessageUser(content=content, metadata={"image_id": image_id})
    return [with_image, *(ChatMessageUser(content=text) for text in others)]


async def _exchange_turn(
    messages: list[ChatMessage], turn: ChatMessage, method: ConfidenceMethod, raw_replies: list[str]
) -> ModelOutput:
    """Send a message. The message and the reply are appended to `messages`."""
    messages.append(turn)
    (output,) = _drop_truncated(await _generate(messages, _make_generate_config(method), raw_replies))
    messages.append(output.message)
    return output


async def _collect_replies(
    messages: list[ChatMessage], prompted_run: PromptedRun, raw_replies: list[str]
) -> list[ModelOutput]:
    """Return the replies to the last message, including truncated ones.

    There is one reply, or `num_replies` replies if the method needs several. If the server returns fewer
    replies at once than requested, the other replies are requested one by one, each with another seed.
    """
    config = _make_generate_config(prompted_run.confidence_method)
    if not prompted_run.confidence_method.needs_several_replies:
        return await _generate(messages, config, raw_replies)
    config, wanted = config.merge(GenerateConfig(temperature=SAMPLING_TEMPERATURE)), prompted_run.num_replies
    outputs: list[ModelOutput] = []
    if prompted_run.use_num_choices and wanted > 1:
        outputs = await _generate(messages, config.merge(GenerateConfig(num_choices=wanted)), raw_replies)
    seeds = range(prompted_run.seed + 1 + len(outputs), prompted_run.seed + 1 + wanted)
    calls = (_generate(messages, config.merge(GenerateConfig(seed=seed)), raw_replies) for seed in seeds)
    return [*outputs, *(others[0] for others in await collect(*calls))][:wanted]


async def _generate(
    messages: list[ChatMessage], config: GenerateConfig, raw_replies: list[str]
) -> list[ModelOutput]:
    """Return each choice of the model as a separate output.

    Its completion is the final answer without reasoning.

    The complete texts are appended to `raw_replies`. A choice that a content filter stopped counts as empty.
    A choice whose reasoning does not end counts as truncated.
    """
    output = await get_model().generate(messages, config=config)
    if not output.choices:
        raise UnusableReply("no answer", output.error or "the server sent no choices")
    outputs = []
    for choice in output.choices:
        message = choice.message
        if choice.stop_reason == "content_filter":
            message = message.model_copy(update={"content": ""})
        raw_replies.append(text := message.text)
        answer = extract_final_answer(text)
        update: dict[str, Any] = {"message": message}
        if answer.is_truncated:
            update["stop_reason"] = TRUNCATED_STOP_REASONS[0]
        choices = [choice.model_copy(update=update)]
        outputs.append(output.model_copy(update={"choices": choices, "completion": answer.text}))
    return outputs


def _drop_truncated(outputs: Sequence[ModelOutput]) -> list[ModelOutput]:
    """Return the outputs that are not truncated.

    Raises:
        UnusableReply: All outputs are truncated.
    """
    if whole := [output for output in outputs if output.stop_reason not in TRUNCATED_STOP_REASONS]:
        return whole
    raise UnusableReply("truncated", f"allow more tokens: {outputs[0].message.text!r:.200}")


def is_refused(choice: ChatCompletionChoice) -> bool:
    """Return whether the server reports that the model refused, or that a filter stopped the reply."""
    content = choice.message.content
    marked = not isinstance(content, str) and any(
        isinstance(part, ContentText) and part.refusal for part in content
    )
    return marked or choice.stop_reason == "content_filter"


def _token_logprobs(output: ModelOutput) -> TokenLogprobs:
    found = output.choices[0].logprobs
    return [token.model_dump() for token in found.content] if found else []


def _make_generate_config(method: ConfidenceMethod) -> GenerateConfig:
    """Return the request settings that the method needs in addition to those of the task."""
    top_logprobs = NUM_TOP_LOGPROBS if method.needs_top_logprobs else None
    return GenerateConfig(logprobs=method.needs_logprobs or None, top_logprobs=top_logprobs)
