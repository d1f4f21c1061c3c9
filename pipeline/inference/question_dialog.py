"""Ask a model one question with a prompt and a confidence method: the turns, the replies, and what they yield."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from ..scoring.abstention import ABSTAINED, classify_abstention
from ..scoring.items import BenchmarkItem
from ..scoring.reasoning_parser import extract_final_answer
from .chat_model import TRUNCATED_STOP_REASONS, ChatSender, Choice, Message, Reply, RequestSettings
from .confidence import TokenLogprobs, find_most_common
from .confidence_methods import SAMPLING_TEMPERATURE, ConfidenceMethod, Replies
from .encoded_images import EncodedImages
from .prompts import UNANSWERABLE, Prompt

# Number of most likely tokens per position whose log probabilities are requested, for methods that need them.
NUM_TOP_LOGPROBS = 20
# Classifies replies to questions as answering or abstaining (`classify_abstention`).
ClassifyReplies = Callable[[Sequence[str], Sequence[str]], Awaitable[Sequence[float]]]


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
        max_tokens: Maximum length of a reply in tokens.
        seed: Random seed of the replies.
        answer_words: All words of the benchmark's answers, for the abstention classifier.
    """

    prompt: Prompt
    confidence_method: ConfidenceMethod
    images: EncodedImages | None
    few_shot_examples: Sequence[BenchmarkItem] = ()
    num_replies: int = 10
    use_num_choices: bool = True
    max_tokens: int = 64
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

    @property
    def settings(self) -> RequestSettings:
        """The settings of the requests."""
        method = self.confidence_method
        return RequestSettings(
            max_tokens=self.max_tokens,
            seed=self.seed,
            needs_logprobs=method.needs_logprobs,
            num_top_logprobs=NUM_TOP_LOGPROBS if method.needs_top_logprobs else 0,
        )


class Answer(NamedTuple):
    """What the replies to a question yield.

    Attributes:
        prediction: The answer, as the model wrote it, without reasoning.
        confidence: The probability that the question is answerable, in [0, 1].
        has_abstained: Whether the model abstains.
        distribution: The answer distribution of a classifier, encoded; "" for other models.
    """

    prediction: str
    confidence: float
    has_abstained: bool
    distribution: str = ""


class Transcript:
    """What was sent and received for one question. It is complete also if the question ends in an error.

    Attributes:
        messages: The conversation.
        raw_replies: The texts of all replies, including unusable ones.
        token_logprobs: For each of these replies the tokens with their log probabilities, if the server sent any.
        num_input_tokens, num_output_tokens: Tokens of all requests.
        is_question_truncated: Whether a classifier has read only the beginning of the question.
    """

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.raw_replies: list[str] = []
        self.token_logprobs: list[TokenLogprobs] = []
        self.num_input_tokens = self.num_output_tokens = 0
        self.is_question_truncated = False

    def add(self, reply: Reply) -> None:
        self.num_input_tokens += reply.num_input_tokens
        self.num_output_tokens += reply.num_output_tokens
        self.is_question_truncated |= reply.is_question_truncated


class _ReadChoice(NamedTuple):
    """A reply, its final answer without reasoning, and whether it was truncated."""

    choice: Choice
    answer: str
    is_truncated: bool


async def ask_question(
    prompted_run: PromptedRun,
    model: ChatSender,
    question: str,
    image_id: str,
    transcript: Transcript,
    classify: ClassifyReplies | None = None,
    plain_question: str = "",
) -> Answer:
    """Ask a question and return what the replies yield.

    Args:
        prompted_run: How it is asked.
        model: The model.
        question: The question.
        image_id: Id of its image.
        transcript: Filled with the messages and replies.
        classify: Tells abstaining replies from answers; None to call `classify_abstention` for this question alone.
        plain_question: The question without the text that is asked with it, for the abstention classifier; "" if `question` is that.

    Raises:
        UnusableReply: A reply was truncated, or the method gives no confidence.
        Exception: The model sent no reply.
    """
    method, messages = prompted_run.confidence_method, transcript.messages
    messages += await _opening_messages(prompted_run)
    replies, dialog = Replies(), _Dialog(model, prompted_run.settings, transcript)
    *first_turn, turn = await _question_turns(prompted_run, image_id, question)
    if first_turn:
        first = await dialog.exchange_turn(first_turn[0])
        replies = replies._replace(first_turn=first.answer, first_turn_logprobs=first.choice.token_logprobs)
    messages.append(turn)
    all_choices = await _collect_replies(dialog, prompted_run)
    choices = _drop_truncated(all_choices)
    texts = [read.answer for read in choices]
    asked = [plain_question or question] * len(texts)
    if classify:
        answered = await classify(asked, texts)
    else:
        answered = classify_abstention(asked, texts, prompted_run.answer_words).tolist()
    answered = np.where([read.choice.is_declined for read in choices], ABSTAINED, answered).tolist()
    best = find_most_common(texts, answered)
    messages.append(Message("assistant", choices[best].choice.text))
    replies = replies._replace(
        texts=texts,
        answered=answered,
        token_logprobs=choices[best].choice.token_logprobs,
        num_truncated=len(all_choices) - len(choices),
    )
    if method.followup_turn and not (method.can_reuse_first_turn and first_turn):
        followup = await dialog.exchange_turn(Message("user", method.followup_turn))
        replies = replies._replace(followup=followup.answer, followup_logprobs=followup.choice.token_logprobs)
    confidence = method.compute(replies)
    if confidence is None:
        source = replies.followup or (replies.first_turn if method.can_reuse_first_turn else texts[best])
        raise UnusableReply("no confidence", f"{method.name}, from {source!r:.200}")
    return Answer(texts[best], confidence, replies.capped_answered[best] == ABSTAINED, dialog.distribution)


async def _opening_messages(prompted_run: PromptedRun) -> list[Message]:
    """Return the messages before the question: the system message, and the examples with their answers."""
    prompt = prompted_run.prompt
    messages = [Message("system", prompt.system)] if prompt.system else []
    for example in prompted_run.few_shot_examples:
        answer = next(iter(example.answers), UNANSWERABLE)
        replies = ["yes" if example.answers else "no", answer] if prompt.first_turn_template else [answer]
        turns = await _question_turns(prompted_run, example.image, example.question_text)
        for turn, reply in zip(turns, replies, strict=True):
            messages += [turn, Message("assistant", reply)]
    return messages


async def _question_turns(prompted_run: PromptedRun, image_id: str, question: str) -> list[Message]:
    """Return the messages of the user for a question, one for each turn. The first message has the image."""
    prompt, images = prompted_run.prompt, prompted_run.images
    first, *others = [
        text for text in (prompt.format_first_turn(question), prompt.format_question(question)) if text
    ]
    # Some questions of public sets have no image.
    image = await images.get_data_uri(image_id) if images and image_id else ""
    return [Message("user", first, image, image_id), *(Message("user", text) for text in others)]


class _Dialog:
    """The conversation with a model about one question.

    Attributes:
        distribution: The last answer distribution that the model sent, encoded; "" for other models.
    """

    def __init__(self, model: ChatSender, settings: RequestSettings, transcript: Transcript) -> None:
        self.model, self.settings, self.transcript, self.distribution = model, settings, transcript, ""

    async def exchange_turn(self, turn: Message) -> _ReadChoice:
        """Send a message. The message and the reply are appended to the messages."""
        self.transcript.messages.append(turn)
        (read,) = _drop_truncated(await self.send(self.settings))[:1]
        self.transcript.messages.append(Message("assistant", read.choice.text))
        return read

    async def send(self, settings: RequestSettings) -> list[_ReadChoice]:
        """Send the messages, and return each reply with its final answer.

        A reply that a content filter stopped counts as empty. A reply whose reasoning does not end counts as
        truncated.
        """
        reply = await self.model.send(self.transcript.messages, settings)
        self.transcript.add(reply)
        self.distribution = reply.distribution or self.distribution
        if not reply.choices:
            raise UnusableReply("no answer", reply.error)
        read = []
        for choice in reply.choices:
            kept = choice._replace(text="") if choice.stop_reason == "content_filter" else choice
            self.transcript.raw_replies.append(kept.text)
            self.transcript.token_logprobs.append(kept.token_logprobs)
            answer = extract_final_answer(kept.text)
            is_truncated = answer.is_truncated or kept.stop_reason in TRUNCATED_STOP_REASONS
            read.append(_ReadChoice(kept, answer.text, is_truncated))
        return read


async def _collect_replies(dialog: _Dialog, prompted_run: PromptedRun) -> list[_ReadChoice]:
    """Return the replies to the last message, including truncated ones.

    There is one reply, or `num_replies` replies if the method needs several. If the server returns fewer
    replies at once than requested, the other replies are requested one by one, each with another seed.
    """
    settings = dialog.settings
    if not prompted_run.confidence_method.needs_several_replies:
        return (await dialog.send(settings))[:1]
    settings, wanted = settings._replace(temperature=SAMPLING_TEMPERATURE), prompted_run.num_replies
    found: list[_ReadChoice] = []
    if prompted_run.use_num_choices and wanted > 1:
        found = await dialog.send(settings._replace(num_choices=wanted))
    seeds = range(prompted_run.seed + 1 + len(found), prompted_run.seed + 1 + wanted)
    tasks = [asyncio.ensure_future(dialog.send(settings._replace(seed=seed))) for seed in seeds]
    try:
        others = await asyncio.gather(*tasks)
    # If one fails, the others are of no use.
    finally:
        for task in tasks:
            task.cancel()
    return [*found, *(other[0] for other in others)][:wanted]


def _drop_truncated(choices: Sequence[_ReadChoice]) -> list[_ReadChoice]:
    """Return the replies that are not truncated.

    Raises:
        UnusableReply: All replies are truncated.
    """
    if whole := [read for read in choices if not read.is_truncated]:
        return whole
    raise UnusableReply("truncated", f"allow more tokens: {choices[0].choice.text!r:.200}")
