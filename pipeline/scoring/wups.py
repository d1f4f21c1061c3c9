"""WUPS: answers compared by Wu-Palmer similarity in WordNet (Malinowski & Fritz 2014; ACM and MCM: Malinowski et al.
2015). WordNet is read from its own `dict` folder: nothing is fetched."""

from __future__ import annotations

from functools import lru_cache
from itertools import product, starmap
from pathlib import Path
from typing import Literal

import numpy as np

from ..core.errors import UserError
from .input_validation import TextLists, Texts, check_strings, read_bytes
from .joined_predictions import JoinedPredictions, Scores, ScoringOptions
from .normalize import fold_case
from .threshold_sweep import nan_mean

DOWN_WEIGHT = 0.1  # what is left of a similarity below the threshold, as in the authors' script


class Taxonomy:
    """Nouns, their senses and what those are a kind of.

    Args:
        senses: word -> ids of its senses. parents: id -> ids of the senses it is a kind of.
    """

    def __init__(self, senses: dict[str, tuple[str, ...]], parents: dict[str, tuple[str, ...]]) -> None:
        self.senses, self.parents = senses, parents

    @lru_cache(maxsize=1 << 18)  # noqa: B019 - there is one WordNet, as long as the process lives
    def similarity(self, word: str, other: str) -> float:
        """The highest Wu-Palmer similarity of any two senses; 1 for the same word, 0 for one that is not known."""
        if word == other:
            return 1.0
        senses = product(self.senses.get(word, ()), self.senses.get(other, ()))
        return max(starmap(self._wu_palmer, senses), default=0.0)

    def _wu_palmer(self, a: str, b: str) -> float:
        """2 d / (steps to a + steps to b + 2 d), d the depth of the deepest common ancestor (the root's is 1)."""
        ours, theirs = self._ancestors(a), self._ancestors(b)
        common = ours.keys() & theirs.keys()
        if not common:
            return 0.0
        nearest = max(common, key=lambda sense: (self._shortest_depth(sense), self._depth(sense), sense))
        depth = self._depth(nearest)
        return 2 * depth / (ours[nearest] + theirs[nearest] + 2 * depth)

    @lru_cache(maxsize=1 << 18)  # noqa: B019
    def _ancestors(self, sense: str) -> dict[str, int]:
        """A sense and all above it, with the fewest steps up to each."""
        steps, queue = {sense: 0}, [sense]
        for near in queue:  # it grows meanwhile
            for parent in self.parents.get(near, ()):
                if parent not in steps:
                    steps[parent] = steps[near] + 1
                    queue.append(parent)
        return steps

    @lru_cache(maxsize=1 << 18)  # noqa: B019
    def _depth(self, sense: str) -> int:
        return 1 + max((self._depth(parent) for parent in self.parents.get(sense, ())), default=0)

    def _shortest_depth(self, sense: str) -> int:
        return max((n for s, n in self._ancestors(sense).items() if not self.parents.get(s)), default=0)


def read_wordnet(folder: Path | str) -> Taxonomy:
    """The nouns of WordNet 3 from its `dict` folder: `data.noun`, or its parts `data.noun1`, `data.noun2`.

    Raises:
        UserError: no such folder or file, or a line that is not WordNet's.
    """
    folder = Path(folder)
    files = sorted(folder.glob("data.noun")) or sorted(folder.glob("data.noun[0-9]"))
    if not files:
        raise UserError(
            f"{folder}: no data.noun in it; wanted WordNet's folder `dict` (docs/reference/scores.md says where to get one)"
        )
    senses: dict[str, list[str]] = {}
    parents: dict[str, tuple[str, ...]] = {}
    for file in files:
        for number, line in enumerate(read_bytes(file).decode(errors="replace").splitlines(), 1):
            if line.startswith("  ") or not line.strip():
                continue  # the licence on top
            try:
                fields = line.partition(" | ")[0].split()
                name, words = fields[0], int(fields[3], 16)
                for word in fields[4 : 4 + 2 * words : 2]:
                    senses.setdefault(word.lower().replace("_", " "), []).append(name)
                pointers = fields[5 + 2 * words :]
                parents[name] = tuple(
                    pointers[i + 1]
                    for i in range(0, 4 * int(fields[4 + 2 * words]), 4)
                    if pointers[i] in ("@", "@i")
                )
            except (IndexError, ValueError) as error:
                raise UserError(f"{file}, line {number}: not a line of WordNet's ({error})") from None
    return Taxonomy({word: tuple(ids) for word, ids in senses.items()}, parents)


def wups(
    predictions: Texts,
    answers: TextLists,
    taxonomy: Taxonomy,
    *,
    threshold: float = 0.9,
    consensus: Literal["mean", "max"] = "mean",
) -> np.ndarray:
    """WUPS-ACM ("mean" over people's answers) or WUPS-MCM ("max"); [n], each in [0, 1], higher is better. A
    similarity below `threshold` counts a tenth (0.0: every similarity counts fully).
    """
    if consensus not in ("mean", "max"):
        raise ValueError(f"consensus is {consensus!r}, wanted 'mean' (ACM) or 'max' (MCM)")
    scores = []
    for said, people in zip(*check_strings(predictions, answers), strict=True):
        values = [taxonomy.similarity(fold_case(said), fold_case(text)) for text in people]
        values = [value if value >= threshold else DOWN_WEIGHT * value for value in values]
        scores.append(max(values) if consensus == "max" else sum(values) / len(values))
    return np.array(scores, float)


def score_wups(answered: JoinedPredictions, options: ScoringOptions) -> Scores:
    if options.wordnet is None:
        return {"unavailable": "needs WordNet's dict folder (--resource wordnet=FOLDER)"}
    columns = answered.answer, answered.reference_answers, options.wordnet
    thresholds = (0.9, 0.0)
    acm = {f"acm_{t}": nan_mean(wups(*columns, threshold=t)) for t in thresholds}
    mcm = {f"mcm_{t}": nan_mean(wups(*columns, threshold=t, consensus="max")) for t in thresholds}
    return acm | mcm
