"""`rgqa study telling-words`: which wordings tell an edited question from its original, before anybody has judged one.

Every screened PT candidate of the data set in use stands beside the question that it was made from. A table of words, of
two and three in a row and of pairs (`even_words.wordings`) says in how many originals and in how many edited questions
each stands, before and after those are left out that `balance` would leave out: the most lopsided first. Needs
`dvc repro screen`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from pipeline.balancing.balance_subset import BalanceParams
from pipeline.balancing.even_words import even, wordings
from pipeline.core.params import load
from pipeline.core.paths import Folders
from pipeline.core.randomness import generator
from pipeline.core.records import Candidate, Question, Screened, Subset

SUBSETS: tuple[Subset, ...] = ("pt-easy", "pt-hard")
Pair = tuple[str, str]  # an original's text and that of its edited question


def telling_words(most: int) -> str:
    """The table of the data set in use, `most` wordings a subset."""
    folders, p = Folders(), load("balance", BalanceParams)
    questions = {question.question_id: question for question in folders.rows(Question)}
    screened = sorted((row.candidate for row in folders.rows(Screened)), key=lambda row: row.candidate_id)
    of: dict[Subset, list[Candidate]] = {
        subset: [row for row in screened if row.subset == subset] for subset in SUBSETS
    }
    kept = {subset: balanced(rows, questions, p) for subset, rows in of.items()}
    before, after = (
        dict(zip(SUBSETS, (pairs_of(rows[subset], questions) for subset in SUBSETS), strict=True))
        for rows in (of, kept)
    )
    return table(before, after, most)


def pairs_of(candidates: Sequence[Candidate], questions: Mapping[str, Question]) -> list[Pair]:
    """The candidates beside their originals."""
    return [(questions[row.question_id].text, row.text) for row in candidates]


def balanced(
    candidates: Sequence[Candidate], questions: Mapping[str, Question], p: BalanceParams
) -> list[Candidate]:
    """The candidates of one subset that `balance` would keep for their wording, were they all verified."""
    if not candidates:
        return []
    rng = generator(p.seed, "balance words", candidates[0].subset)
    gone = even(pairs_of(candidates, questions), p.word_slack, p.most_uneven, rng)
    return [row for place, row in enumerate(candidates) if place not in gone]


def table(pairs: Mapping[Subset, Sequence[Pair]], kept: Mapping[Subset, Sequence[Pair]], most: int) -> str:
    """Wordings of all pairs and of those kept, in Markdown; by how many standard errors of a coin the counts differ."""
    rows = [["subset", "wording", "originals : edited", "balanced", "standard errors"], ["---"] * 5]
    for subset, of_subset in pairs.items():
        every, balanced = counts(of_subset), counts(kept[subset])
        for wording in sorted(every, key=lambda wording: (-abs(lean(every[wording])), wording))[:most]:
            shown = [f"{old}:{new}" for old, new in (every[wording], balanced.get(wording, (0, 0)))]
            rows.append([subset, wording, *shown, f"{lean(every[wording]):+.1f}"])
    return "\n".join("| " + " | ".join(cells) + " |" for cells in rows)


def counts(pairs: Sequence[Pair]) -> dict[str, tuple[int, int]]:
    """In how many originals and in how many edited questions each wording stands, where those differ."""
    originals, edited = (
        Counter(w for text in texts for w in wordings(text)) for texts in zip(*pairs, strict=True)
    )
    return {w: (originals[w], edited[w]) for w in originals | edited if originals[w] != edited[w]}


def lean(found: tuple[int, int]) -> float:
    """By how many standard errors of a fair coin a wording stands more often in edited questions.

    >>> lean((1, 10)), lean((8, 8))
    (2.7136021011998728, 0.0)
    """
    originals, edited = found
    return (edited - originals) / math.sqrt(originals + edited)
