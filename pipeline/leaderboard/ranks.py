"""Who is better than whom, and the ranks that follow.

The rank of a row is 1 + the number of rows that are better beyond chance: the 95 % interval of the difference, both scored on
the same draws of pictures, lies above 0. So rows that cannot be told apart share a rank, and a row between two others may
share one with either. References are no rows of the contest: they have no rank and push nobody down.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from pipeline.leaderboard.paired_scores import Measured, RowScores
from pipeline.scorers.bootstrap import interval
from pipeline.scorers.differences import Change

BY = "auaf"  # the score that rows are ranked by


def change(one: Measured, other: Measured) -> Change:
    """One score minus another, with the interval over the same draws."""
    return Change(one.value - other.value, interval(one.drawn - other.drawn))


def better(one: Measured, other: Measured) -> bool:
    """Is one better beyond chance? Not where the interval is undefined."""
    low, _ = interval(one.drawn - other.drawn)
    return low > 0


def ranks(rows: Sequence[RowScores], place: str) -> dict[str, int]:
    """The rank of each model that has a score there, by name."""
    scores = {
        one.row.name: one.places[place][BY] for one in rows if one.row.kind == "model" and place in one.places
    }
    return {
        name: 1 + sum(better(other, own) for rival, other in scores.items() if rival != name)
        for name, own in scores.items()
        if not math.isnan(own.value)
    }
