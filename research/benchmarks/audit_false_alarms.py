"""Measure how often `rgqa audit` reports a leak for random labels, and how often it finds a leak of known
size.

    python -m research.benchmarks.audit_false_alarms                     400 sets with random labels, 300 with a leak
    python -m research.benchmarks.audit_false_alarms --seed 1 --sets 40  other sets, and fewer

The permutation test decides what is reported, so only this test is run. Sets have 20 to 2,000 rows (log-
uniformly distributed) and are of ten kinds in turn: see RANDOM_SETS. Sets that are too small and sets that are
balanced are reported without a test. So the proportion of false alarms is also printed for the tested sets,
with its 95 % interval (Clopper and Pearson).

There are two kinds of leaks. In the first one, each object has one label in 90 % of its rows, as in POPE
(ideal AUROC 0.9; 100 rows). In the second one, a word is in 60 % of the texts of one label and in 20 % of
those of the other (ideal AUROC 0.7; 300 rows). In both, the labels are about
balanced. The word is also planted in 300 rows of each of the ten kinds, because a kind in which the test
never finds anything cannot have false alarms either.

The constants of the test were chosen with seeds from 1000 on. The results in docs/guides/audit_a_benchmark.md
are for seed 0.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np
from scipy.stats import binomtest

from pipeline.benchmark.auditing.labelled_rows import LabelledRows
from pipeline.benchmark.auditing.text_audit import AuditSettings, Finding, compute_finding
from pipeline.core.progress import track
from research.benchmarks.harness import run_benchmark

# Makes a set with the given number of rows.
MakeRows = Callable[[np.random.Generator, int], LabelledRows]
NOUNS = [f"noun{i}" for i in range(300)]
TEMPLATES = (
    "Is there a {} in the image?",
    "What color is the {} next to the {}?",
    "Is the {} to the left of the {}?",
    "Where is the {}?",
    "How many of the {} and the {} do you see in this image?",
)


def make_question(rng: np.random.Generator, nouns: int = 300) -> str:
    """Return a question from a random template with random nouns (common ones are more likely)."""
    chances = 1 / np.arange(1, nouns + 1)
    template = TEMPLATES[rng.integers(len(TEMPLATES))]
    words = rng.choice(nouns, template.count("{}"), p=chances / chances.sum())
    return template.format(*(NOUNS[i] for i in words))


def make_random_labels(rng: np.random.Generator, count: int, share: float = 0.5) -> np.ndarray:
    return (rng.random(count) < share).astype(int)


def make_unique_texts(rng: np.random.Generator, n: int) -> LabelledRows:
    """Return rows with different texts, without images."""
    texts = [f"{make_question(rng)} {i}" for i in range(n)]
    return LabelledRows(texts=texts, labels=make_random_labels(rng, n))


def make_templates(rng: np.random.Generator, n: int) -> LabelledRows:
    """Return rows with one template and one of 30 nouns. Each image has six rows."""
    texts = [TEMPLATES[0].format(NOUNS[i]) for i in rng.integers(30, size=n)]
    return LabelledRows(
        texts=texts, labels=make_random_labels(rng, n), images=[f"i{i // 6}" for i in range(n)]
    )


def make_repeated_texts(rng: np.random.Generator, n: int) -> LabelledRows:
    """Return rows with a fifth as many texts as rows. Each row has its own image."""
    pool = [make_question(rng) for _ in range(max(n // 5, 8))]
    texts = [pool[i] for i in rng.integers(len(pool), size=n)]
    return LabelledRows(texts=texts, labels=make_random_labels(rng, n), images=[f"i{i}" for i in range(n)])


def make_labels_by_text(rng: np.random.Generator, n: int) -> LabelledRows:
    """Return rows without images in which each text has one random label in all its rows.

    With images, that would be a leak, because training rows can have the same text.
    """
    pool = list(dict.fromkeys(make_question(rng) for _ in range(max(n // 4, 12))))
    label, at = make_random_labels(rng, len(pool)), rng.integers(len(pool), size=n)
    return LabelledRows(texts=[pool[i] for i in at], labels=label[at])


def make_pairs(rng: np.random.Generator, n: int) -> LabelledRows:
    """Return pairs of rows about one image, made from one source question.

    Each pair has one row of each label.
    """
    half, texts = n // 2, []
    for _ in range(half):
        original = make_question(rng)
        texts += [original, original.replace("noun", "thing", 1)]
        if rng.random() < 0.5:
            texts[-2:] = texts[:-3:-1]
    ids = [str(i // 2) for i in range(2 * half)]
    images = [f"i{i // 2}" for i in (rng.permutation(half) // 3).repeat(2)]
    return LabelledRows(texts=texts, labels=np.tile([0, 1], half), images=images, source_ids=ids)


def make_pairs_without_ids(rng: np.random.Generator, n: int) -> LabelledRows:
    """Return rows as of `make_pairs`, without the ids of the source questions."""
    rows = make_pairs(rng, n)
    return LabelledRows(texts=rows.texts, labels=rows.labels, images=rows.images)


def make_unbalanced(share: float) -> MakeRows:
    def made(rng: np.random.Generator, n: int) -> LabelledRows:
        images = [f"i{i}" for i in rng.integers(max(n // 3, 5), size=n)]
        return LabelledRows(
            texts=[make_question(rng) for _ in range(n)],
            labels=make_random_labels(rng, n, share),
            images=images,
        )

    return made


def make_few_images(rng: np.random.Generator, n: int) -> LabelledRows:
    """Return rows about twelve images, each with its own proportion of label 1 and its own nouns."""
    at = rng.integers(12, size=n)
    share = rng.beta(1, 1, size=12)
    texts = [TEMPLATES[rng.integers(2)].format(f"noun{10 * i + rng.integers(10)}", "wall") for i in at]
    return LabelledRows(
        texts=texts, labels=(rng.random(n) < share[at]).astype(int), images=[f"i{i}" for i in at]
    )


def make_labels_by_image(rng: np.random.Generator, n: int) -> LabelledRows:
    """Return ten rows per image, all with one random label and with nouns of the image."""
    label = make_random_labels(rng, n // 10 + 1)
    texts = [f"{make_question(rng, 20)} by the thing{i // 10}" for i in range(n)]
    return LabelledRows(
        texts=texts, labels=label[np.arange(n) // 10], images=[f"i{i // 10}" for i in range(n)]
    )


RANDOM_SETS: dict[str, MakeRows] = {
    "unique texts": make_unique_texts,
    "templates": make_templates,
    "repeated texts": make_repeated_texts,
    "one label per text": make_labels_by_text,
    "pairs": make_pairs,
    "pairs without ids": make_pairs_without_ids,
    "10 % ones": make_unbalanced(0.1),
    "90 % ones": make_unbalanced(0.9),
    "few images": make_few_images,
    "one label per image": make_labels_by_image,
}


def make_pope_like(rng: np.random.Generator, n: int) -> LabelledRows:
    """Return rows that ask for one of 20 objects, six per image.

    Each object has one label in 90 % of its rows.
    """
    things = rng.integers(20, size=n)
    labels = make_random_labels(rng, n, 0.9) ^ (things % 2)
    texts = [TEMPLATES[0].format(NOUNS[i]) for i in things]
    return LabelledRows(texts=texts, labels=labels, images=[f"i{i // 6}" for i in range(n)])


def make_word_leak(rng: np.random.Generator, n: int) -> LabelledRows:
    """Return rows with a word that is in 60 % of one label's texts and in 20 % of the other's."""
    labels = make_random_labels(rng, n)
    has = rng.random(n) < np.where(labels, 0.6, 0.2)
    texts = [make_question(rng).replace("the ", "the striped " if h else "the ", 1) for h in has]
    return LabelledRows(texts=texts, labels=labels, images=[f"i{i // 3}" for i in range(n)])


def plant_word(rows: LabelledRows, rng: np.random.Generator) -> LabelledRows:
    """Append one word to 60 % of the texts of one label and to 20 % of the other texts.

    Append another word to the rest.
    """
    has = rng.random(len(rows)) < np.where(rows.labels, 0.6, 0.2)
    return replace(
        rows,
        texts=[f"{text} striped" if h else f"{text} plain" for text, h in zip(rows.texts, has, strict=True)],
    )


LEAKING_SETS = {"as in POPE, 100 rows": (make_pope_like, 100), "a word, 300 rows": (make_word_leak, 300)}
PLANTED_ROWS = 300


def sample_random_set(seed: int, number: int) -> tuple[str, LabelledRows]:
    """Return a kind and a set of this kind with random labels."""
    rng = np.random.default_rng([seed, number])
    kind = list(RANDOM_SETS)[number % len(RANDOM_SETS)]
    return kind, RANDOM_SETS[kind](rng, round(float(np.exp(rng.uniform(np.log(20), np.log(2000))))))


def sample_leaking_set(seed: int, number: int) -> tuple[str, LabelledRows]:
    """Return the name of a leak and a set with this leak."""
    rng = np.random.default_rng([seed, 1, number])
    leak = list(LEAKING_SETS)[number % len(LEAKING_SETS)]
    make, rows = LEAKING_SETS[leak]
    return leak, make(rng, rows)


def sample_planted_set(seed: int, number: int) -> tuple[str, LabelledRows]:
    """Return a kind and a set of this kind in which a word predicts the labels."""
    rng = np.random.default_rng([seed, 2, number])
    kind = list(RANDOM_SETS)[number % len(RANDOM_SETS)]
    return kind, plant_word(RANDOM_SETS[kind](rng, PLANTED_ROWS), rng)


def count_findings(
    what: str, sets: int, sample: Callable[[int], tuple[str, LabelledRows]]
) -> Mapping[str, Counter[Finding]]:
    """Count the findings in `sets` sets, by kind."""
    found: defaultdict[str, Counter[Finding]] = defaultdict(Counter)
    for number in track(range(sets), what, sets, "set"):
        kind, rows = sample(number)
        found[kind][compute_finding(rows, AuditSettings(seed=number))[0]] += 1
    return found


def main(sets: int = 400, leaks: int = 200, planted: int = 100, seed: int = 0) -> None:
    for what, count, sample in (
        ("random labels", sets, sample_random_set),
        ("a leak", leaks, sample_leaking_set),
        ("a word planted in each kind", planted, sample_planted_set),
    ):
        found = count_findings(what, count, partial(sample, seed))
        for kind, counts in found.items():
            print(f"  {kind:<22} {', '.join(f'{times} {name}' for name, times in sorted(counts.items()))}")
        total = sum(found.values(), Counter[Finding]())
        reported, tested = total["predictable"], total["predictable"] + total["chance"]
        print(
            f"{what}: reported as predictable {format_rate(reported, count, 'sets')}, {format_rate(reported, tested, 'tested sets')}"
        )


def format_rate(times: int, of: int, what: str) -> str:
    """Format a proportion with its 95 % interval."""
    counts = f"{times} of {of} {what}"
    if not of:
        return counts
    interval = binomtest(times, of).proportion_ci()
    return f"{counts} ({100 * times / of:.1f} % [{100 * interval.low:.1f}, {100 * interval.high:.1f}])"


if __name__ == "__main__":
    run_benchmark(main)
