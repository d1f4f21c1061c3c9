"""How far annotators agree on candidates, beyond what chance would give.

"unsure" counts as "valid", as the guidelines tell annotators to say valid in doubt. Undefined is None: nobody
judged what another judged, or everybody said the same throughout, so that there is nothing to agree about.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations

import krippendorff
import numpy as np

from annotation.study.quality import candidate_choice, candidate_of, said
from pipeline.core.records import SUBSETS, Record, Subset, Task, Verdict

VERDICTS = ("valid", "invalid")


class Pair(Record):
    """Two annotators, and the candidates that both judged.

    Attributes:
        both: how many. same: on how many of them they said the same.
        kappa: Cohen's kappa, at most 1, 0 for chance; None if both always said the same one thing.
    """

    first: str
    second: str
    both: int
    same: int
    kappa: float | None


class SubsetAgreement(Record):
    """Agreement on the candidates of one subset, or of all (`subset` None).

    Attributes:
        candidates: judged by at least two. verdicts: on those.
        alpha: Krippendorff's alpha, nominal, at most 1, 0 for chance.
        share: of pairs of verdicts on one candidate, those that say the same, in [0, 1].
    """

    subset: Subset | None
    candidates: int
    verdicts: int
    alpha: float | None
    share: float | None
    pairs: tuple[Pair, ...]


def agreement(tasks: Mapping[str, Task], verdicts: Sequence[Verdict]) -> list[SubsetAgreement]:
    """Agreement on all candidates together, then on those of each subset that has verdicts."""
    judged: dict[str, dict[str, str]] = defaultdict(dict)  # candidate -> annotator -> verdict
    subset_of: dict[str, Subset] = {}
    for verdict in verdicts:
        task = tasks[verdict.task_id]
        key = candidate_of(task)
        judged[key][verdict.annotator] = said(candidate_choice(task, verdict))
        subset_of[key] = task.subset
    rows = [_agreement(None, list(judged.values()))]
    for subset in SUBSETS:
        if mine := [row for key, row in judged.items() if subset_of[key] == subset]:
            rows.append(_agreement(subset, mine))
    return rows


def alpha(counts: np.ndarray) -> float | None:
    """Krippendorff's alpha for nominal values; None where nothing was judged twice or all say the same.

    Args:
        counts: [units, values], how many judges gave each value to each unit.

    >>> round(alpha(np.array([[2, 0], [0, 2], [1, 1]])), 4)  # 1 - observed 1/3 / expected 2 * 3 * 3 / (6 * 5)
    0.4444
    """
    counts = counts[counts.sum(axis=1) >= 2]
    if (counts.sum(axis=0) > 0).sum() < 2:
        return None
    return float(krippendorff.alpha(value_counts=counts, level_of_measurement="nominal"))


def kappa(table: np.ndarray) -> float | None:
    """Cohen's kappa; None where chance alone gives full agreement.

    Args:
        table: [values, values], how often the one said this and the other that.

    >>> kappa(np.array([[20, 5], [10, 15]]))  # observed 0.7, by chance 0.5 * 0.6 + 0.5 * 0.4
    0.4
    """
    total = table.sum()
    if not total:
        return None
    observed, chance = (
        np.trace(table) * total,
        table.sum(axis=1) @ table.sum(axis=0),
    )  # both times total squared
    return None if chance == total**2 else float((observed - chance) / (total**2 - chance))


def _agreement(subset: Subset | None, judged: Sequence[Mapping[str, str]]) -> SubsetAgreement:
    counts = np.array([[list(row.values()).count(v) for v in VERDICTS] for row in judged if len(row) >= 2])
    counts = counts.reshape(-1, len(VERDICTS))
    tables: dict[tuple[str, str], np.ndarray] = defaultdict(lambda: np.zeros((2, 2), int))
    for row in judged:
        for one, other in combinations(sorted(row), 2):
            tables[one, other][VERDICTS.index(row[one]), VERDICTS.index(row[other])] += 1
    pairs = tuple(
        Pair(first=one, second=other, both=int(table.sum()), same=int(np.trace(table)), kappa=kappa(table))
        for (one, other), table in sorted(tables.items())
    )
    both = sum(pair.both for pair in pairs)
    return SubsetAgreement(
        subset=subset,
        candidates=len(counts),
        verdicts=int(counts.sum()),
        alpha=alpha(counts),
        share=sum(pair.same for pair in pairs) / both if both else None,
        pairs=pairs,
    )
