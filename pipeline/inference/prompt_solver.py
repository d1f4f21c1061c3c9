"""One question put to a model: its turns, by a prompt and a recipe, as a solver of inspect_ai."""

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

NUM_TOP_LOGPROBS = 20  # tokens whose log probabilities are asked for, where a recipe needs those not chosen


class UnusableReply(Exception):
    """What a model said is no row of predictions; the message begins with why."""

    def __init__(self, kind: Literal["truncated", "no answer", "no confidence"], detail: str) -> None:
        super().__init__(f"{kind}: {detail}")

    def __repr__(self) -> str:  # inspect_ai's log has this
        return str(self)


class PromptedRun(NamedTuple):
    """How each question is asked.

    Attributes:
        images: None: without them. examples: stand before each question, with their answers.
        samples: how often a recipe of several replies asks; at_once: by one request, as far as the server can.
        answer_words: all words of the benchmark's answers, for the reader of abstentions.
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
        """What a log keeps of it."""
        return {
            "prompt": {"name": self.prompt.name, "hash": self.prompt.hash},
            "recipe": {"name": self.confidence_method.name, "hash": self.confidence_method.hash},
            "pixels": self.images.max_image_size if self.images else None,
            "blind": self.images is None,
            "shots": [example.id for example in self.few_shot_examples],
            "samples": self.num_replies if self.confidence_method.needs_several_replies else 1,
        }


@solver
def ask_question(prompted_run: PromptedRun) -> Solver:
    """Ask a sample's question. Its output is then the reply; its metadata say `confidence`, `refused` and `raw`, all that
    was said, of replies that are of no use, too.

    Raises:
        Unusable: a reply was cut off, or the recipe finds no confidence in what was said.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        recipe, question = prompted_run.confidence_method, state.input_text
        messages = await _opening_messages(prompted_run)
        heard, raw = Replies(), state.metadata.setdefault("raw", [])
        *before, asked = await _question_turns(prompted_run, state.metadata["image"], question)
        if before:
            said = await _exchange_turn(messages, before[0], recipe, raw)
            heard = heard._replace(first_turn=said.completion, first_turn_logprobs=_token_logprobs(said))
        messages.append(asked)
        given = await _collect_replies(messages, prompted_run, raw)
        outputs = _drop_truncated(given)
        replies = [output.completion for output in outputs]
        declined = [_is_declined(output.choices[0]) for output in outputs]
        answers = classify_abstention([question] * len(replies), replies, prompted_run.answer_words)
        answers = np.where(declined, ABSTAINED, answers).tolist()
        best = find_most_common(replies, answers)
        messages.append(outputs[best].message)
        heard = heard._replace(texts=replies, answered=answers, token_logprobs=_token_logprobs(outputs[best]))
        heard = heard._replace(num_truncated=len(given) - len(outputs))
        if recipe.followup_turn and not (recipe.can_reuse_first_turn and before):
            said = await _exchange_turn(messages, ChatMessageUser(content=recipe.followup_turn), recipe, raw)
            heard = heard._replace(followup=said.completion, followup_logprobs=_token_logprobs(said))
        confidence = recipe.compute(heard)
        if confidence is None:
            source = heard.followup or (heard.first_turn if recipe.can_reuse_first_turn else replies[best])
            raise UnusableReply("no confidence", f"{recipe.name}, from {source!r:.200}")
        state.messages, state.output = messages, outputs[best]
        state.metadata |= {"confidence": confidence, "refused": heard.capped_answered[best] == ABSTAINED}
        return state

    return solve


async def _opening_messages(prompted_run: PromptedRun) -> list[ChatMessage]:
    """What stands before the question: who the model is, and examples with their answers."""
    prompt = prompted_run.prompt
    messages: list[ChatMessage] = [ChatMessageSystem(content=prompt.system)] if prompt.system else []
    for example in prompted_run.few_shot_examples:
        answer = next(iter(example.answers), UNANSWERABLE)
        replies = ["yes" if example.answers else "no", answer] if prompt.first_turn_template else [answer]
        turns = await _question_turns(prompted_run, example.image, example.question_text)
        for turn, reply in zip(turns, replies, strict=True):
            messages += [turn, ChatMessageAssistant(content=reply)]
    return messages


async def _question_turns(prompted_run: PromptedRun, image: str, question: str) -> list[ChatMessageUser]:
    """What is asked about a question, turn by turn; the image stands before the first."""
    prompt, images = prompted_run.prompt, prompted_run.images
    first, *others = [
        text for text in (prompt.format_first_turn(question), prompt.format_question(question)) if text
    ]
    content: list[Content] = [ContentText(text=first)]
    if images:
        content.insert(0, ContentImage(image=await run_sync(images.encode_data_uri, image)))
    shown = ChatMessageUser(content=content, metadata={"image": image})
    return [shown, *(ChatMessageUser(content=text) for text in others)]


async def _exchange_turn(
    messages: list[ChatMessage], turn: ChatMessage, method: ConfidenceMethod, raw: list[str]
) -> ModelOutput:
    """Say something, and hear the reply; both are messages then."""
    messages.append(turn)
    (said,) = _drop_truncated(await _generate(messages, _make_generate_config(method), raw))
    messages.append(said.message)
    return said


async def _collect_replies(
    messages: list[ChatMessage], prompted_run: PromptedRun, raw: list[str]
) -> list[ModelOutput]:
    """The replies to the last message, cut off or not: one, or as many as the recipe wants. A server that gives fewer at
    once than it was asked for is asked again, each time with another seed."""
    config = _make_generate_config(prompted_run.confidence_method)
    if not prompted_run.confidence_method.needs_several_replies:
        return await _generate(messages, config, raw)
    config, wanted = config.merge(GenerateConfig(temperature=SAMPLING_TEMPERATURE)), prompted_run.num_replies
    heard: list[ModelOutput] = []
    if prompted_run.use_num_choices and wanted > 1:
        heard = await _generate(messages, config.merge(GenerateConfig(num_choices=wanted)), raw)
    seeds = range(prompted_run.seed + 1 + len(heard), prompted_run.seed + 1 + wanted)
    calls = (_generate(messages, config.merge(GenerateConfig(seed=seed)), raw) for seed in seeds)
    return [*heard, *(said[0] for said in await collect(*calls))][:wanted]


async def _generate(messages: list[ChatMessage], config: GenerateConfig, raw: list[str]) -> list[ModelOutput]:
    """What the model says, each of its choices as an output of its own, its final answer alone; as it came it is added to
    `raw`. What a filter left of one is nothing. Reasoning without an end is truncated."""
    output = await get_model().generate(messages, config=config)
    if not output.choices:
        raise UnusableReply("no answer", output.error or "the server sent none")
    heard = []
    for choice in output.choices:
        message = choice.message
        if choice.stop_reason == "content_filter":
            message = message.model_copy(update={"content": ""})
        raw.append(text := message.text)
        said = extract_final_answer(text)
        update: dict[str, Any] = {"message": message}
        if said.is_truncated:
            update["stop_reason"] = TRUNCATED_STOP_REASONS[0]
        heard.append(
            output.model_copy(update={"choices": [choice.model_copy(update=update)], "completion": said.text})
        )
    return heard


def _drop_truncated(outputs: Sequence[ModelOutput]) -> list[ModelOutput]:
    """Those that were not cut off.

    Raises:
        Unusable: all were.
    """
    if whole := [said for said in outputs if said.stop_reason not in TRUNCATED_STOP_REASONS]:
        return whole
    raise UnusableReply("truncated", f"allow more tokens: {outputs[0].message.text!r:.200}")


def _is_declined(choice: ChatCompletionChoice) -> bool:
    """Does the server say that the model, or a filter, declined?"""
    content = choice.message.content
    marked = not isinstance(content, str) and any(
        isinstance(split, ContentText) and split.refusal for split in content
    )
    return marked or choice.stop_reason == "content_filter"


def _token_logprobs(output: ModelOutput) -> TokenLogprobs:
    found = output.choices[0].logprobs
    return [token.model_dump() for token in found.content] if found else []


def _make_generate_config(method: ConfidenceMethod) -> GenerateConfig:
    """What this recipe asks of a request, beside what holds for all."""
    likeliest = NUM_TOP_LOGPROBS if method.needs_top_logprobs else None
    return GenerateConfig(logprobs=method.needs_logprobs or None, top_logprobs=likeliest)
