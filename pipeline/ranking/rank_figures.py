"""What rank.json says: pairs left out by reason, how evenly candidates are spread, scores, distance from the optimum."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from pipeline.core.records import Candidate, Record, Subset
from pipeline.ranking.admissible import QuestionTable
from pipeline.ranking.draw import Drawn

QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)


class SubsetFigures(Record):
    """How one subset's candidates are spread.

    Attributes:
        bound: no method can draw more. short_of_bound: share of it that is missing (an exact draw is optimal all
            the same).
        asked, given: pairs per picture: least, mean, most; asked_minus_given: largest difference, sum of all.
        questions_by_uses: how many questions are used so often.
    """

    candidates: int
    method: str
    bound: int
    short_of_bound: float
    pictures_with_fewer_than_wanted: int
    asked: dict[str, float]
    given: dict[str, float]
    asked_minus_given: dict[str, int]
    questions_by_uses: dict[str, int]
    distinct_texts: int
    score_quantiles: dict[str, float]


class RankFigures(Record):
    """Pictures, pairs by what became of them, and the figures of each subset."""

    pictures: int
    pairs: dict[str, int]
    subsets: dict[Subset, SubsetFigures]


def pair_counts(table: QuestionTable) -> dict[str, int]:
    """All pairs of a picture and a question asked of any picture = those left out, by reason + the admissible."""
    pictures, own = len(table.picture_ids), len(table.questions)
    admissible = int(table.admissible().sum())
    return {
        "all": pictures * (own + table.existence),
        "existence question": pictures * table.existence,
        "own question": own,
        "text of an own question": pictures * own - own - admissible,
        "admissible": admissible,
    }


def subset_figures(
    candidates: Sequence[Candidate], drawn: Drawn, table: QuestionTable, wanted: int
) -> SubsetFigures:
    """The figures of one subset, of which `wanted` candidates were to be drawn for each picture."""
    owner = {question.question_id: question.picture_id for question in table.questions}
    asked_of = Counter(candidate.picture_id for candidate in candidates)
    given_by = Counter(owner[candidate.question_id] for candidate in candidates)
    asked, given = (np.array([counts[p] for p in table.picture_ids], int) for counts in (asked_of, given_by))
    uses = Counter(Counter(candidate.question_id for candidate in candidates).values())
    apart = np.abs(asked - given)
    return SubsetFigures(
        candidates=len(candidates),
        method=drawn.method,
        bound=drawn.bound,
        short_of_bound=round(1 - len(candidates) / drawn.bound, 6) if drawn.bound else 0.0,
        pictures_with_fewer_than_wanted=int((asked < wanted).sum()),
        asked=_spread(asked),
        given=_spread(given),
        asked_minus_given={"largest": int(apart.max()), "sum": int(apart.sum())},
        questions_by_uses={str(count): uses[count] for count in sorted(uses)},
        distinct_texts=len({candidate.text for candidate in candidates}),
        score_quantiles=quantiles([c.score for c in candidates if c.score is not None]),
    )


def quantiles(scores: Sequence[float]) -> dict[str, float]:
    """Quantiles of scores, rounded to 6 places; nothing of no scores."""
    values = np.quantile(scores, QUANTILES).tolist() if scores else ()
    return {f"{q:.2f}": round(value, 6) for q, value in zip(QUANTILES, values, strict=False)}


def _spread(counts: np.ndarray) -> dict[str, float]:
    return {"least": int(counts.min()), "mean": round(float(counts.mean()), 3), "most": int(counts.max())}
