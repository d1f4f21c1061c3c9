"""Forecast what a run will take from its first replies: time, tokens, money."""

from __future__ import annotations

from typing import NamedTuple

AFTER = 20  # replies, at least


class Prices(NamedTuple):
    """For a million tokens, in whatever currency they are given; None if not known."""

    tokens_in: float | None = None
    tokens_out: float | None = None

    @property
    def known(self) -> bool:
        return self.tokens_in is not None or self.tokens_out is not None

    def cost(self, tokens_in: float, tokens_out: float) -> float:
        """
        >>> Prices(0.5, 2.0).cost(1_000_000, 10_000)
        0.52
        """
        return (tokens_in * (self.tokens_in or 0) + tokens_out * (self.tokens_out or 0)) / 1e6


def replies_before_forecast(at_once: int) -> int:
    """How many replies a forecast waits for, when so many requests are under way at the same time.

    The first `at_once` replies are not counted: they also wait for the start of the run. Twice as many follow.

    >>> replies_before_forecast(1), replies_before_forecast(10), replies_before_forecast(64)
    (20, 30, 192)
    """
    return max(AFTER, 3 * at_once)


class Usage(NamedTuple):
    """What some replies took: their number, the seconds in which they came, tokens."""

    replies: int
    seconds: float
    tokens_in: int
    tokens_out: int


def forecast(used: Usage, left: int, prices: Prices) -> str:
    """What the `left` samples will take if they are like those that were used.

    >>> forecast(Usage(20, 4.0, 20_000, 100), 980, Prices(0.25, 1.0))
    '980 more to ask: about 3 min 16 s, 980 thousand tokens in, 4.9 thousand out, cost 0.25 more'
    """
    scale = left / used.replies
    tokens_in, tokens_out = used.tokens_in * scale, used.tokens_out * scale
    parts = [f"about {duration(used.seconds * scale)}"]
    if tokens_in or tokens_out:
        parts.append(f"{_large(tokens_in)} tokens in, {_large(tokens_out)} out")
        if prices.known:
            parts.append(f"cost {prices.cost(tokens_in, tokens_out):.2f} more")
    elif prices.known:
        parts.append("cost unknown: the server counts no tokens")
    return f"{left:,} more to ask: {', '.join(parts)}"


def duration(seconds: float) -> str:
    """
    >>> duration(4.2), duration(196), duration(7_300), duration(59.7)
    ('4 s', '3 min 16 s', '2 h 1 min', '1 min 0 s')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _large(count: float) -> str:
    for size, name in ((1e6, " million"), (1e3, " thousand")):
        if count >= size:
            return f"{count / size:.3g}{name}"
    return f"{count:.0f}"
