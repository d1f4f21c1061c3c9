"""Find out what a server can do before the first question: is it there, does it know the model, does it give log
probabilities and several replies at once, does the model see the image, and does its reply fit into `--max-tokens`?"""

from __future__ import annotations

import base64
import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ..core.errors import UserError, counted
from ..core.server_errors import address_of, hide_keys, no_reply, one_line, said, status_of
from ..scoring.reasoning_parser import final_answer
from .confidence_methods import RECIPES, TEMPERATURE, TRUNCATED, ConfidenceRecipe, recipe_named
from .run_options import RunOptions

RED, BLUE = (200, 40, 40), (47, 111, 208)
SIDE = 224  # pixels of the squares
QUESTION = "What color is this picture?\nAnswer with a word or a short phrase."
SERVICE = "server"  # its key is in SERVER_API_KEY
SECONDS = 120  # for each request
ROOMY = 2048  # tokens, tried where a reply was truncated


class Found(NamedTuple):
    """Attributes:
    at_once: several replies come with one request, if they are asked for.
    warnings: a line each.
    """

    at_once: bool = True
    warnings: tuple[str, ...] = ()


def probed(options: RunOptions) -> tuple[Any, Found]:
    """The model, and what it can do.

    Raises:
        UserError: there is no such model, it does not answer, or cannot give what the recipe needs.
    """
    import anyio

    model, recipe = _opened(options), recipe_named(options.recipe)
    if options.classifies:  # known to see, and LXMERT knows no other pictures than those that were brought
        return model, Found(at_once=False)

    async def ask() -> Found:
        if not options.remote:
            return await probe(model, recipe, options.max_tokens, options.no_picture)
        async with _opened(options) as another:  # a client of HTTP belongs to the loop that it was made in
            return await probe(another, recipe, options.max_tokens, options.no_picture)

    return model, anyio.run(ask)


def _opened(options: RunOptions) -> Any:
    from inspect_ai.model import get_model

    name, more = options.model, dict[str, Any](options.model_args)
    if options.server:
        name = f"openai-api/{SERVICE}/{options.model}"
        more |= {
            "base_url": options.server,
            "api_key": os.environ.get(f"{SERVICE.upper()}_API_KEY") or "none",
        }
    try:
        model = get_model(name, memoize=False, **more)
        hide_keys(model.api)
        return model
    except ModuleNotFoundError as error:
        extra = "rgqa-scorers[hf]" if not options.remote else str(error.name)
        raise UserError(
            f'--model {options.model}: {error.name} is not installed: pip install "{extra}"'
        ) from None
    except Exception as error:  # of many kinds: no such provider, no key, no package, no such folder
        words = one_line(str(error), 400).removeprefix("ERROR: ")
        raise UserError(f"--model {options.model}: {words}") from None


async def probe(model: Any, recipe: ConfidenceRecipe, most: int = 64, blind: bool = False) -> Found:
    """Ask a model of inspect_ai for the colour of two squares, as the recipe will ask it, in `most` tokens.

    Raises:
        UserError: No reply, or one that is truncated before its answer, or the server cannot give what the recipe needs.
    """
    replies, truncated, at_once = [], [], True
    for place, colour in enumerate((RED, BLUE)):
        try:
            reply = await _ask(model, colour, _config(recipe, most, several=place == 0))
        except Exception as error:
            await _without(model, recipe, most, error)
            at_once = False
            reply = await _ask(model, colour, _config(recipe, most))
        if not reply.choices:
            raise UserError(
                f"{model}: the server sends replies without an answer ({reply.error or 'no choices'}); it is asked at "
                f"{address_of(model)}"
            )
        truncated.append(_is_truncated(reply))
        if place == 0:
            if not truncated[0]:
                _check(model, recipe, reply)
            at_once &= len(reply.choices) > 1
        replies.append(final_answer(reply.choices[0].message.text).text.strip().lower())
    if all(truncated):
        raise UserError(await _too_few_tokens(model, recipe, most))
    return Found(at_once or not recipe.several, tuple(_warnings(model, replies, truncated, most, blind)))


def _warnings(
    model: Any, replies: Sequence[str], truncated: Sequence[bool], most: int, blind: bool
) -> Iterator[str]:
    if any(truncated):
        yield (
            f"{model}: one of two replies was truncated after {counted(most, 'token')}; if many are, take a larger --max-tokens"
        )
    elif not any(replies):
        yield f"{model} replies with no words when asked for the color of a square: every question may count as refused"
    elif replies[0] == replies[1] and not blind:
        yield f"{model} says {replies[0]!r} of a red and of a blue square: it may not see pictures"


def _is_truncated(reply: Any) -> bool:
    """Did the tokens end before an answer, or in its middle?"""
    choice = reply.choices[0]
    answer = final_answer(choice.message.text)
    return (
        choice.stop_reason in TRUNCATED
        or answer.is_truncated
        or (not answer.text.strip() and _thought(choice.message))
    )


def _thought(message: Any) -> bool:
    """Does a message hold reasoning, in a field of its own or in its text?"""
    content = message.content
    parts = [] if isinstance(content, str) else content
    reasons = any(getattr(part, "type", "") == "reasoning" for part in parts)
    return reasons or final_answer(message.text).text.strip() != message.text.strip()


async def _too_few_tokens(model: Any, recipe: ConfidenceRecipe, most: int) -> str:
    """Say how many tokens to allow, after one more request with more of them."""
    what = f"{model}: --max-tokens {most} is too few: its replies to a one-word question were truncated"
    roomy = max(ROOMY, 4 * most)
    try:
        reply = await _ask(model, RED, _config(recipe, roomy))
        choice = reply.choices[0]
    except Exception:
        return f"{what}; take --max-tokens {roomy}. Nothing was asked"
    thinks = "; it is a reasoning model" if _thought(choice.message) else ""
    if _is_truncated(reply):
        return f"{what}, and one of {counted(roomy, 'token')} was, too{thinks}; take --max-tokens {4 * roomy}, or switch its reasoning off. Nothing was asked"
    used = reply.usage.output_tokens if reply.usage else 0
    more = f"; with more it took {used:,}" if used else ""
    return f"{what}{more}{thinks}; take --max-tokens {max(roomy, 4 * used)}. Nothing was asked"


def _config(recipe: ConfidenceRecipe, most: int, several: bool = False) -> Any:
    from inspect_ai.model import GenerateConfig

    return GenerateConfig(
        # as the interview asks; some servers refuse several replies at 0
        temperature=TEMPERATURE if recipe.several else 0.0,
        max_tokens=most,
        max_retries=0,
        attempt_timeout=SECONDS,
        logprobs=True if recipe.logprobs else None,
        top_logprobs=20 if recipe.top_logprobs else None,
        num_choices=2 if recipe.several and several else None,
    )


async def _ask(model: Any, colour: tuple[int, int, int], config: Any) -> Any:
    from inspect_ai.model import ChatMessageUser, ContentImage, ContentText

    picture = ContentImage(image="data:image/png;base64," + base64.b64encode(square(colour)).decode())
    return await model.generate(
        [ChatMessageUser(content=[picture, ContentText(text=QUESTION)])], config=config
    )


async def _without(model: Any, recipe: ConfidenceRecipe, most: int, error: Exception) -> None:
    """Is it what the recipe asks for that the server refuses?

    Raises:
        UserError: says what is wrong.
    """
    if not (recipe.logprobs or recipe.several) or status_of(error) not in (400, 422, 500, 501):
        raise UserError(no_reply(model, error)) from None
    try:
        await _ask(model, RED, _config(RECIPES["refusal"], most))
    except Exception as other:
        raise UserError(no_reply(model, other)) from None
    if recipe.logprobs:
        raise UserError(_lacking(model, recipe, f"refuses to give log probabilities ({said(error)})"))


def _check(model: Any, recipe: ConfidenceRecipe, reply: Any) -> None:
    given = reply.choices[0].logprobs if reply.choices else None
    tokens = given.content if given else []
    if recipe.logprobs and not tokens:
        raise UserError(_lacking(model, recipe, "gives no log probabilities"))
    if recipe.top_logprobs and not any(len(token.top_logprobs or ()) > 1 for token in tokens):
        raise UserError(_lacking(model, recipe, "gives the log probability of the chosen token alone"))


def _lacking(model: Any, recipe: ConfidenceRecipe, what: str) -> str:
    others = [
        other.name
        for other in RECIPES.values()
        if not other.logprobs or (recipe.top_logprobs and not other.top_logprobs and "alone" in what)
    ]
    return (
        f"{model} {what}, which recipe {recipe.name} needs; take --recipe {others[0]}"
        f" (or {', '.join(others[1:])}). Nothing was asked"
    )


def square(colour: tuple[int, int, int], side: int = SIDE) -> bytes:
    """A PNG of one colour."""
    rows = zlib.compress((b"\0" + bytes(colour) * side) * side, 9)
    header = struct.pack(">2I5B", side, side, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", rows), (b"IEND", b""))
    packed = (
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(packed)
