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

from ..scoring.abstention import ABSTAINS, read
from ..scoring.items import BenchmarkItem
from ..scoring.reasoning_parser import final_answer
from .confidence import Tokens, commonest
from .confidence_methods import TEMPERATURE, TRUNCATED, ConfidenceRecipe, Heard
from .prompts import UNANSWERABLE, Prompt
from .release_images import ReleasePictures

LIKELIEST = 20  # tokens whose log probabilities are asked for, where a recipe needs those not chosen


class Unusable(Exception):
    """What a model said is no row of predictions; the message begins with why."""

    def __init__(self, kind: Literal["truncated", "no answer", "no confidence"], what: str) -> None:
        super().__init__(f"{kind}: {what}")

    def __repr__(self) -> str:  # inspect_ai's log has this
        return str(self)


class Interview(NamedTuple):
    """How each question is asked.

    Attributes:
        pictures: None: without them. examples: stand before each question, with their answers.
        samples: how often a recipe of several replies asks; at_once: by one request, as far as the server can.
        answer_words: all words of the benchmark's answers, for the reader of abstentions.
    """

    prompt: Prompt
    recipe: ConfidenceRecipe
    pictures: ReleasePictures | None
    examples: Sequence[BenchmarkItem] = ()
    samples: int = 10
    at_once: bool = True
    seed: int = 0
    answer_words: frozenset[str] = frozenset()

    @property
    def settings(self) -> dict[str, Any]:
        """What a log keeps of it."""
        return {
            "prompt": {"name": self.prompt.name, "hash": self.prompt.hash},
            "recipe": {"name": self.recipe.name, "hash": self.recipe.hash},
            "pixels": self.pictures.pixels if self.pictures else None,
            "blind": self.pictures is None,
            "shots": [example.id for example in self.examples],
            "samples": self.samples if self.recipe.several else 1,
        }


@solver
def ask(interview: Interview) -> Solver:
    """Ask a sample's question. Its output is then the reply; its metadata say `confidence`, `refused` and `raw`, all that
    was said, of replies that are of no use, too.

    Raises:
        Unusable: a reply was cut off, or the recipe finds no confidence in what was said.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        recipe, question = interview.recipe, state.input_text
        messages = await _opening(interview)
        heard, raw = Heard(), state.metadata.setdefault("raw", [])
        *before, asked = await _turns(interview, state.metadata["picture"], question)
        if before:
            said = await _reply(messages, before[0], recipe, raw)
            heard = heard._replace(first=said.completion, first_tokens=_tokens(said))
        messages.append(asked)
        given = await _answers(messages, interview, raw)
        outputs = _usable(given)
        replies = [output.completion for output in outputs]
        declined = [_declined(output.choices[0]) for output in outputs]
        answers = read([question] * len(replies), replies, interview.answer_words)
        answers = np.where(declined, ABSTAINS, answers).tolist()
        best = commonest(replies, answers)
        messages.append(outputs[best].message)
        heard = heard._replace(replies=replies, answers=answers, tokens=_tokens(outputs[best]))
        heard = heard._replace(cut=len(given) - len(outputs))
        if recipe.turn and not (recipe.yes_no and before):
            said = await _reply(messages, ChatMessageUser(content=recipe.turn), recipe, raw)
            heard = heard._replace(second=said.completion, second_tokens=_tokens(said))
        confidence = recipe.confidence(heard)
        if confidence is None:
            source = heard.second or (heard.first if recipe.yes_no else replies[best])
            raise Unusable("no confidence", f"{recipe.name}, from {source!r:.200}")
        state.messages, state.output = messages, outputs[best]
        state.metadata |= {"confidence": confidence, "refused": heard.answerable[best] == ABSTAINS}
        return state

    return solve


async def _opening(interview: Interview) -> list[ChatMessage]:
    """What stands before the question: who the model is, and examples with their answers."""
    prompt = interview.prompt
    messages: list[ChatMessage] = [ChatMessageSystem(content=prompt.system)] if prompt.system else []
    for example in interview.examples:
        answer = next(iter(example.answers), UNANSWERABLE)
        replies = ["yes" if example.answers else "no", answer] if prompt.first else [answer]
        turns = await _turns(interview, example.picture, example.asked)
        for turn, reply in zip(turns, replies, strict=True):
            messages += [turn, ChatMessageAssistant(content=reply)]
    return messages


async def _turns(interview: Interview, picture: str, question: str) -> list[ChatMessageUser]:
    """What is asked about a question, turn by turn; the picture stands before the first."""
    prompt, pictures = interview.prompt, interview.pictures
    first, *others = [text for text in (prompt.asked_first(question), prompt.asked(question)) if text]
    content: list[Content] = [ContentText(text=first)]
    if pictures:
        content.insert(0, ContentImage(image=await run_sync(pictures.data_uri, picture)))
    shown = ChatMessageUser(content=content, metadata={"picture": picture})
    return [shown, *(ChatMessageUser(content=text) for text in others)]


async def _reply(
    messages: list[ChatMessage], turn: ChatMessage, recipe: ConfidenceRecipe, raw: list[str]
) -> ModelOutput:
    """Say something, and hear the reply; both are messages then."""
    messages.append(turn)
    (said,) = _usable(await _generate(messages, _config(recipe), raw))
    messages.append(said.message)
    return said


async def _answers(messages: list[ChatMessage], interview: Interview, raw: list[str]) -> list[ModelOutput]:
    """The replies to the last message, cut off or not: one, or as many as the recipe wants. A server that gives fewer at
    once than it was asked for is asked again, each time with another seed."""
    config = _config(interview.recipe)
    if not interview.recipe.several:
        return await _generate(messages, config, raw)
    config, wanted = config.merge(GenerateConfig(temperature=TEMPERATURE)), interview.samples
    heard: list[ModelOutput] = []
    if interview.at_once and wanted > 1:
        heard = await _generate(messages, config.merge(GenerateConfig(num_choices=wanted)), raw)
    seeds = range(interview.seed + 1 + len(heard), interview.seed + 1 + wanted)
    calls = (_generate(messages, config.merge(GenerateConfig(seed=seed)), raw) for seed in seeds)
    return [*heard, *(said[0] for said in await collect(*calls))][:wanted]


async def _generate(messages: list[ChatMessage], config: GenerateConfig, raw: list[str]) -> list[ModelOutput]:
    """What the model says, each of its choices as an output of its own, its final answer alone; as it came it is added to
    `raw`. What a filter left of one is nothing. Reasoning without an end is truncated."""
    output = await get_model().generate(messages, config=config)
    if not output.choices:
        raise Unusable("no answer", output.error or "the server sent none")
    heard = []
    for choice in output.choices:
        message = choice.message
        if choice.stop_reason == "content_filter":
            message = message.model_copy(update={"content": ""})
        raw.append(text := message.text)
        said = final_answer(text)
        update: dict[str, Any] = {"message": message}
        if said.is_truncated:
            update["stop_reason"] = TRUNCATED[0]
        heard.append(
            output.model_copy(update={"choices": [choice.model_copy(update=update)], "completion": said.text})
        )
    return heard


def _usable(heard: Sequence[ModelOutput]) -> list[ModelOutput]:
    """Those that were not cut off.

    Raises:
        Unusable: all were.
    """
    if whole := [said for said in heard if said.stop_reason not in TRUNCATED]:
        return whole
    raise Unusable("truncated", f"allow more tokens: {heard[0].message.text!r:.200}")


def _declined(choice: ChatCompletionChoice) -> bool:
    """Does the server say that the model, or a filter, declined?"""
    content = choice.message.content
    marked = not isinstance(content, str) and any(
        isinstance(part, ContentText) and part.refusal for part in content
    )
    return marked or choice.stop_reason == "content_filter"


def _tokens(said: ModelOutput) -> Tokens:
    found = said.choices[0].logprobs
    return [token.model_dump() for token in found.content] if found else []


def _config(recipe: ConfidenceRecipe) -> GenerateConfig:
    """What this recipe asks of a request, beside what holds for all."""
    likeliest = LIKELIEST if recipe.top_logprobs else None
    return GenerateConfig(logprobs=recipe.logprobs or None, top_logprobs=likeliest)
