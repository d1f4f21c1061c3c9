"""What rank.json says: pairs left out by reason, how evenly candidates are spread, scores, distance from the optimum."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from pipeline.core.records import Candidate, Question
from pipeline.ranking.admissible import QuestionTable
from pipeline.ranking.draw import Drawn

QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)


def pairs(table: QuestionTable, pictures: int) -> dict[str, int]:
    """All pairs of a picture and a question asked of any picture = those left out, by reason + the admissible."""
    own = len(table.ids)
    admissible = int(table.admissible().sum())
    return {
        "all": pictures * (len(table.ids) + table.existence),
        "existence question": pictures * table.existence,
        "own question": own,
        "text of an own question": pictures * len(table.ids) - own - admissible,
        "admissible": admissible,
    }


def figures(
    candidates: Sequence[Candidate],
    drawn: Drawn,
    questions: Mapping[str, Question],
    pictures: Sequence[str],
    wanted: int,
) -> dict[str, Any]:
    """How one subset's candidates are spread.

    `short of the bound` is the share of pairs that are missing to an upper bound of what any method could draw (an
    exact draw is optimal all the same); `asked` and `given` count pairs per picture.
    """
    asked = Counter(c.picture_id for c in candidates)
    given = Counter(questions[c.question_id].picture_id for c in candidates)
    uses = Counter(Counter(c.question_id for c in candidates).values())
    apart = [abs(asked[picture] - given[picture]) for picture in pictures]
    return {
        "candidates": len(candidates),
        "method": drawn.method,
        "bound": drawn.bound,
        "short_of_bound": round(1 - len(candidates) / drawn.bound, 6) if drawn.bound else 0.0,
        "pictures_with_fewer_than_wanted": sum(asked[picture] < wanted for picture in pictures),
        "asked": _spread(asked[picture] for picture in pictures),
        "given": _spread(given[picture] for picture in pictures),
        "asked_minus_given": {"largest": max(apart, default=0), "sum": sum(apart)},
        "questions_by_uses": {str(n): uses[n] for n in sorted(uses)},
        "distinct_texts": len({c.text for c in candidates}),
        "score_quantiles": quantiles([c.score for c in candidates if c.score is not None]),
    }


def quantiles(scores: Sequence[float]) -> dict[str, float]:
    """Quantiles of scores, rounded to 6 places; nothing of no scores."""
    if not scores:
        return {}
    return {
        f"{q:.2f}": round(float(v), 6) for q, v in zip(QUANTILES, np.quantile(scores, QUANTILES), strict=True)
    }


def _spread(counts: Iterable[int]) -> dict[str, float]:
    values = list(counts)
    return {"least": min(values), "mean": round(sum(values) / len(values), 3), "most": max(values)}
