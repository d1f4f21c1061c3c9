"""How far annotators agree on candidates, beyond what chance would give.

Undefined is None: nobody judged what another judged, or everybody said the same throughout, so that there is nothing to
agree about.
"""

from __future__ import annotations

from itertools import combinations

import krippendorff
import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from annotation.study.judged import by_subset
from pipeline.core.records import Record, Subset


class PairAgreement(Record):
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
    pairs: tuple[PairAgreement, ...]


def agreement(judged: pd.DataFrame) -> list[SubsetAgreement]:
    """Agreement on all candidates together, then on those of each subset that has verdicts."""
    return [_agreement(subset, rows) for subset, rows in ({None: judged} | by_subset(judged)).items()]


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


def kappa(tables: np.ndarray) -> np.ndarray:
    """Cohen's kappa of many pairs of people at once, at most 1, 0 for chance; NaN where chance alone gives full agreement.
    (Ours, as scikit-learn's takes 2 ms a pair, and of 30 annotators there are 435 pairs in every subset.)

    Args:
        tables: [values, values, ...], how often the one said this and the other that.

    >>> float(kappa(np.array([[20, 5], [10, 15]])))  # observed 0.7, by chance 0.5 * 0.6 + 0.5 * 0.4
    0.4
    """
    total = tables.sum(axis=(0, 1))
    chance = (tables.sum(axis=0) * tables.sum(axis=1)).sum(axis=0)  # times total squared
    with np.errstate(invalid="ignore"):
        return (np.trace(tables) * total - chance) / (total**2 - chance)


def _agreement(subset: Subset | None, judged: pd.DataFrame) -> SubsetAgreement:
    item, candidates = pd.factorize(judged["candidate_id"])
    who, people = pd.factorize(judged["annotator"], sort=True)
    invalid = (judged["choice"] == "invalid").to_numpy(int)
    shape = 2, len(people)
    votes = csr_array(
        (np.ones(len(item), int), (invalid * len(people) + who, item)), (2 * len(people), len(candidates))
    )
    # [said, said, person, person]
    tables = (votes @ votes.T).toarray().reshape(*shape, *shape).swapaxes(1, 2)
    kappas = kappa(tables)
    pairs = [
        PairAgreement(
            first=people[first],
            second=people[second],
            both=int(table.sum()),
            same=int(np.trace(table)),
            kappa=None if np.isnan(kappas[first, second]) else float(kappas[first, second]),
        )
        for first, second in combinations(range(len(people)), 2)
        if (table := tables[:, :, first, second]).any()
    ]
    both = sum(pair.both for pair in pairs)
    counts = np.zeros((len(candidates), 2), int)
    np.add.at(counts, (item, invalid), 1)
    counts = counts[counts.sum(axis=1) >= 2]
    return SubsetAgreement(
        subset=subset,
        candidates=len(counts),
        verdicts=int(counts.sum()),
        alpha=alpha(counts),
        share=sum(pair.same for pair in pairs) / both if both else None,
        pairs=tuple(pairs),
    )
