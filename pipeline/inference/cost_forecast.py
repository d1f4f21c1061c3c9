"""Forecast the time, tokens and cost of a run from its first replies."""

from __future__ import annotations

from typing import NamedTuple

MIN_REPLIES_BEFORE_FORECAST = 20


class Prices(NamedTuple):
    """Prices of a million input tokens and a million output tokens, in any currency; None if a price is
    unknown.
    """

    input_per_million: float | None = None
    output_per_million: float | None = None

    @property
    def is_known(self) -> bool:
        return self.input_per_million is not None or self.output_per_million is not None

    def compute_cost(self, input_tokens: float, output_tokens: float) -> float:
        """Return the cost of tokens. An unknown price counts as 0.

        >>> Prices(0.5, 2.0).compute_cost(1_000_000, 10_000)
        0.52
        """
        return (
            input_tokens * (self.input_per_million or 0) + output_tokens * (self.output_per_million or 0)
        ) / 1e6


def replies_before_forecast(num_concurrent: int) -> int:
    """Return the number of replies before the forecast, given the number of requests at the same time.

    The forecast ignores the first `num_concurrent` replies, because their times include the start of the run.
    It uses at least `2 * num_concurrent` later replies.

    >>> replies_before_forecast(1), replies_before_forecast(10), replies_before_forecast(64)
    (20, 30, 192)
    """
    return max(MIN_REPLIES_BEFORE_FORECAST, 3 * num_concurrent)


class Usage(NamedTuple):
    """Number, total time (seconds) and total tokens of some replies."""

    num_replies: int
    seconds: float
    input_tokens: int
    output_tokens: int


def format_forecast(usage: Usage, num_remaining: int, prices: Prices) -> str:
    """Return the expected time, tokens and cost of the remaining samples, in proportion to `usage`.

    >>> format_forecast(Usage(20, 4.0, 20_000, 100), 980, Prices(0.25, 1.0))
    '980 questions remain: about 3 min 16 s, 980 thousand tokens in, 4.9 thousand out, cost 0.25 more'
    """
    scale = num_remaining / usage.num_replies
    tokens_in, tokens_out = usage.input_tokens * scale, usage.output_tokens * scale
    phrases = [f"about {format_duration(usage.seconds * scale)}"]
    if tokens_in or tokens_out:
        phrases.append(f"{_format_count(tokens_in)} tokens in, {_format_count(tokens_out)} out")
        if prices.is_known:
            phrases.append(f"cost {prices.compute_cost(tokens_in, tokens_out):.2f} more")
    elif prices.is_known:
        phrases.append("cost unknown: the server reports no token counts")
    remaining = "question remains" if num_remaining == 1 else "questions remain"
    return f"{num_remaining:,} {remaining}: {', '.join(phrases)}"


def format_duration(seconds: float) -> str:
    """Return a duration as text.

    >>> format_duration(4.2), format_duration(196), format_duration(7_300), format_duration(59.7)
    ('4 s', '3 min 16 s', '2 h 1 min', '1 min 0 s')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _format_count(count: float) -> str:
    for size, name in ((1e6, " million"), (1e3, " thousand")):
        if count >= size:
            return f"{count / size:.3g}{name}"
    return f"{count:.0f}"
