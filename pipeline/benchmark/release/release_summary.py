"""What card, licences, croissant.json and report tell of a release: counts and the facts that they rest on."""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Collection, Iterable
from typing import Any

from pipeline.benchmark.release.errata import Erratum
from pipeline.core.jsonl_index import FilteredView
from pipeline.core.records import SUBSETS, Item, Record, Subset
from pipeline.core.release_params import ReleaseParams

SUBSET_DESCRIPTIONS: dict[Subset, str] = {
    "clip-easy": "questions of other images, among the least similar to the image by CLIP",
    "clip-hard": "questions of other images, among the most similar to the image by CLIP",
    "pt-easy": "questions of the image with objects replaced",
    "pt-hard": "questions of the image with attributes or spatial relations replaced",
    "twins": "own questions, at an image drawn again with one thing altered",
}
PAIRING_DESCRIPTIONS = {
    "image_and_text": "In the CLIP subsets every text appears as often as UQ as it does as AQ (of another image), and every "
    "image has equally many of both, so that neither alone reveals the label. Judging items against each other "
    '("I have seen this text as an AQ, so here it must be a UQ") defeats the test.',
    "image": "Each UQ of the CLIP subsets is paired with an AQ of the same image (the rule of the RGQA paper).",
}


class SubsetCounts(Record):
    """What a subset holds: `texts` are the distinct texts of its UQs, `words` their mean number of words, `how` is how
    they came about, `difficulties` how many UQs are of each."""

    name: Subset
    description: str
    uqs: int
    aqs: int
    distinct_uq_texts: int
    mean_words: float
    images: int
    difficulties: dict[str, int]


class VoteCounts(Record):
    """What the UQs rest on.

    Attributes:
        annotators, excluded: how many judged, and how many of them count for nothing or not to the end.
        votes: votes that count -> UQs that they decided, with so many. by_expert: UQs that an expert decided.
        agreement: Krippendorff's alpha and Gwet's AC1, as they are told, each with its interval.
        wrong: the share expected to have an answer after all, as it is told; "" where no probabilities are known.
        invalid_filters: answers that count to filter questions known to be unanswerable.
        rule: how votes are turned into labels, `collect: rule` of params.yaml; "" where it is not known.
    """

    annotators: int
    excluded: int
    uqs_by_votes: dict[int, int]
    agreement_text: str
    label_error_text: str = ""
    by_adjudicator: int = 0
    invalid_gold_answers: int = 0
    aggregation_rule: str = ""

    @property
    def mean_votes(self) -> float:
        """Votes per UQ that they decided."""
        return sum(votes * count for votes, count in self.uqs_by_votes.items()) / max(
            1, sum(self.uqs_by_votes.values())
        )

    @property
    def single_vote_uqs(self) -> int:
        """UQs that rest on a single vote."""
        return self.uqs_by_votes.get(1, 0)

    @property
    def is_trial(self) -> bool:
        """Whether this is a trial: fewer than two votes each on average, or fewer than three people."""
        return self.mean_votes < 2 or self.annotators - self.excluded < 3


class ReleaseSummary(Record):
    """A release as it is told.

    Attributes:
        canary: the string in every row. simulated, rehearsal: whether any item's verdicts are.
        tables: (subset, part) of each table. items, images: how many different ones there are.
        pairing: the rule by which UQs of CLIP subsets are paired with AQs, "" without such subsets. model, weights: the CLIP that chose, and its weights' sha256.
        warnings, audit_table: of the audit. resolved: subset -> the least AUAF difference of two models that shows.
        errata: the data set's, of which `faulty` are of items that it has.
    """

    dataset: str
    version: str
    canary: str
    simulated: bool
    rehearsal: bool
    tables: tuple[tuple[Subset, str], ...]
    subsets: tuple[SubsetCounts, ...]
    items: int
    images: int
    pairing_text: str
    vote_counts: VoteCounts
    clip_model: str
    clip_weights_sha256: str
    warnings: tuple[str, ...]
    attack_table: str
    min_detectable_difference: dict[Subset, float]
    errata: tuple[Erratum, ...]
    num_faulty_items: int
    params: ReleaseParams

    @property
    def title(self) -> str:
        """The name on the card."""
        return f"{'REHEARSAL of ' if self.rehearsal else ''}{self.params.title} {self.version}"

    def subsets_with_prefix(self, prefix: str) -> list[str]:
        """The subsets that were made in one way: "clip" or "pt"."""
        return [subset.name for subset in self.subsets if subset.name.startswith(prefix)]

    @property
    def splits_text(self) -> str:
        """Which parts the subsets have, and what they are for."""
        by_splits: dict[tuple[str, ...], list[str]] = {}
        for subset in dict.fromkeys(subset for subset, _ in self.tables):
            splits = tuple(split for name, split in self.tables if name == subset)
            by_splits.setdefault(splits, []).append(f"`{subset}`")
        both = "divided by image: choose thresholds on `validation`, report on `test`"
        if list(by_splits) == [("validation", "test")]:
            return f"Each subset has a split `validation` and a split `test`, {both}."
        sentences = []
        for splits, names in by_splits.items():
            which = (
                f"the splits `validation` and `test`, {both}"
                if len(splits) > 1
                else f"only the split `{''.join(splits)}`"
            )
            sentences.append(f"{' and '.join(names)} {'has' if len(names) == 1 else 'have'} {which}.")
        return " ".join(sentences)

    @property
    def subset_names_json(self) -> str:
        """The subsets, as a list in Python's and JSON's notation."""
        return json.dumps([subset.name for subset in self.subsets])

    @property
    def splits_of_last_subset(self) -> str:
        """The parts of the last subset."""
        return ", ".join(split for name, split in self.tables if name == self.subsets[-1].name)

    @property
    def num_rows(self) -> int:
        """Of all tables: an AQ that several subsets have is counted in each."""
        return sum(subset.uqs + subset.aqs for subset in self.subsets)


def count_items(items: Collection[Item]) -> dict[str, Any]:
    """The fields of `ReleaseFacts` that are told from the items alone, by name."""
    simulated = rehearsal = False
    tables, ids, images = set[tuple[Subset, str]](), set[str](), set[str]()
    for item in items:
        simulated, rehearsal = simulated or item.simulated, rehearsal or item.rehearsal
        tables.add((item.subset, item.split))
        ids.add(item.item_id)
        images.add(item.image_id)
    there = {subset for subset, _ in tables}
    return {
        "simulated": simulated,
        "rehearsal": rehearsal,
        "tables": tuple(sorted(tables)),
        "subsets": tuple(count_subset(name, items) for name in SUBSETS if name in there),
        "items": len(ids),
        "images": len(images),
    }


def count_subset(subset: Subset, items: Collection[Item]) -> SubsetCounts:
    """Counts of those items that are of the subset."""
    labels, difficulties = Counter[bool](), Counter[str]()
    texts, images = set[str](), set[str]()
    for item in FilteredView(items, lambda item: item.subset == subset):
        labels[item.unanswerable] += 1
        images.add(item.image_id)
        if item.unanswerable:
            texts.add(item.text)
            difficulties.update([item.difficulty] if item.difficulty else ())
    return SubsetCounts(
        name=subset,
        description=SUBSET_DESCRIPTIONS[subset],
        uqs=labels[True],
        aqs=labels[False],
        distinct_uq_texts=len(texts),
        mean_words=compute_mean_words(
            FilteredView(items, lambda item: item.unanswerable and item.subset == subset)
        ),
        images=len(images),
        difficulties=difficulties,
    )


def compute_mean_words(items: Iterable[Item]) -> float:
    """Mean number of words, as split by blanks. (The RGQA paper does not say how it counts.)"""
    lengths = array("I", (len(item.text.split()) for item in items))
    return sum(lengths) / len(lengths) if lengths else 0.0
