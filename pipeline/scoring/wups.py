"""WUPS: compare answers by Wu-Palmer similarity in WordNet (Malinowski and Fritz 2014).

The consensus scores WUPS-ACM and WUPS-MCM are from Malinowski et al. 2015. WordNet is read from its folder
`dict`; nothing is downloaded.
"""

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

# Factor by which similarities below the threshold are multiplied, as in the authors' script.
DOWN_WEIGHT = 0.1


class Taxonomy:
    """Nouns with their senses and hypernyms.

    Args:
        senses: Word -> ids of its senses.
        parents: Id of a sense -> ids of its direct hypernyms.
    """

    def __init__(self, senses: dict[str, tuple[str, ...]], parents: dict[str, tuple[str, ...]]) -> None:
        self.senses, self.parents = senses, parents

    @lru_cache(maxsize=1 << 18)  # noqa: B019 - there is one WordNet, as long as the process lives
    def similarity(self, word: str, other: str) -> float:
        """Return the highest Wu-Palmer similarity of any two senses; 1 for equal words, 0 if a word is
        unknown.
        """
        if word == other:
            return 1.0
        senses = product(self.senses.get(word, ()), self.senses.get(other, ()))
        return max(starmap(self._wu_palmer, senses), default=0.0)

    def _wu_palmer(self, a: str, b: str) -> float:
        """Return 2 d / (steps to a + steps to b + 2 d).

        d is the depth of the deepest common ancestor (1 for the root). The steps are counted from this
        ancestor.
        """
        ours, theirs = self._ancestors(a), self._ancestors(b)
        common = ours.keys() & theirs.keys()
        if not common:
            return 0.0
        nearest = max(common, key=lambda sense: (self._shortest_depth(sense), self._depth(sense), sense))
        depth = self._depth(nearest)
        return 2 * depth / (ours[nearest] + theirs[nearest] + 2 * depth)

    @lru_cache(maxsize=1 << 18)  # noqa: B019
    def _ancestors(self, sense: str) -> dict[str, int]:
        """Return sense -> minimum number of steps upwards, for a sense and all its ancestors."""
        steps, queue = {sense: 0}, [sense]
        # The queue grows during the loop.
        for near in queue:
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
    """Read the nouns of WordNet 3 from its `dict` folder: `data.noun`, or `data.noun1` and `data.noun2`.

    Raises:
        UserError: The folder or the file does not exist, or a line does not have WordNet's format.
    """
    folder = Path(folder)
    files = sorted(folder.glob("data.noun")) or sorted(folder.glob("data.noun[0-9]"))
    if not files:
        raise UserError(
            f"{folder}: no data.noun in it; expected WordNet's folder `dict` (docs/reference/scores.md says where to get one)"
        )
    senses: dict[str, list[str]] = {}
    parents: dict[str, tuple[str, ...]] = {}
    for file in files:
        for number, line in enumerate(read_bytes(file).decode(errors="replace").splitlines(), 1):
            if line.startswith("  ") or not line.strip():
                # This line belongs to the license at the top of the file.
                continue
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
                raise UserError(f"{file}, line {number}: not a line of WordNet ({error})") from None
    return Taxonomy({word: tuple(ids) for word, ids in senses.items()}, parents)


def wups(
    predictions: Texts,
    answers: TextLists,
    taxonomy: Taxonomy,
    *,
    threshold: float = 0.9,
    consensus: Literal["mean", "max"] = "mean",
) -> np.ndarray:
    """Return WUPS of each prediction, [n] in [0, 1]; higher is better.

    Args:
        predictions: [n] answers.
        answers: Human answers for each prediction.
        taxonomy: WordNet's nouns.
        threshold: Similarities below it are multiplied by 0.1; 0.0 keeps all similarities.
        consensus: "mean" over the human answers (WUPS-ACM) or "max" (WUPS-MCM).

    Raises:
        ValueError: An argument is invalid.

    >>> animals = Taxonomy({"dog": ("d",), "cat": ("c",)}, {"d": ("a",), "c": ("a",), "a": ()})
    >>> wups(["dog"], [["cat"]], animals, threshold=0.0).tolist()  # 2 x 1 / (1 + 1 + 2)
    [0.5]
    """
    if consensus not in ("mean", "max"):
        raise ValueError(f"consensus is {consensus!r}, expected 'mean' (ACM) or 'max' (MCM)")
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
