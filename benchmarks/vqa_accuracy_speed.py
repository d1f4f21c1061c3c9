"""How fast is VQA accuracy? Limit: at least 10 times faster than a loop over answers, the same numbers.

python benchmarks/vqa_accuracy_speed.py
"""

from __future__ import annotations

import time

import numpy as np

from pipeline.scorers import vqa_accuracy
from pipeline.scorers.normalize import _corrected

QUESTIONS, PEOPLE = 20_000, 10
WORDS = [
    "yes",
    "no",
    "two",
    "the dog",
    "black-and-white",
    "dont know",
    "1,000",
    "red.",
    "a man",
    "in front of it",
]


def plain(said: list[str], people: list[list[str]]) -> np.ndarray:
    """Each answer normalised where it stands, each left out in its turn."""
    accuracies = []
    normalise = _corrected.__wrapped__  # without its cache
    for text, answers in zip(said, people, strict=True):
        text, answers = normalise(text), [normalise(answer) for answer in answers]
        matches = [answer == text for answer in answers]
        scores = [min((sum(matches) - own) / 3, 1) for own in matches]
        accuracies.append(sum(scores) / len(scores))
    return np.array(accuracies)


def main() -> None:
    rng = np.random.default_rng(0)
    # As in VQA: a few answers make most of the total, many others come once.
    pool = [f"{a} {b}" for a in WORDS for b in ("", *map(str, range(300)))]
    weights = 1 / np.arange(1, len(pool) + 1)
    drawn = rng.choice(len(pool), (QUESTIONS, 3), p=weights / weights.sum())
    people = [[pool[row[k]] for k in rng.integers(0, 3, PEOPLE)] for row in drawn]
    said = [pool[row[0]] for row in drawn]
    start = time.perf_counter()
    ours = vqa_accuracy(said, people, form="corrected")
    middle = time.perf_counter()
    theirs = plain(said, people)
    end = time.perf_counter()
    print(
        f"{QUESTIONS:,} questions of {PEOPLE} answers: {middle - start:.2f} s, plain loop {end - middle:.2f} s, "
        f"{(end - middle) / (middle - start):.1f} times; largest difference {np.abs(ours - theirs).max():.1e}"
    )


if __name__ == "__main__":
    main()
