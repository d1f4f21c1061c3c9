"""The facts about a release that the card, croissant.json and the report state."""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from msgspec import UNSET, UnsetType

from annotation.study.assignment import wilson_interval
from annotation.study.label_error import LabelError
from annotation.study.panel_priors import MIN_AUDITED, PanelReport
from pipeline.benchmark.release.errata import Erratum
from pipeline.core.errors import format_count
from pipeline.core.jsonl_index import FilteredView
from pipeline.core.records import SUBSETS, Item, Record, Subset
from pipeline.core.release_params import ReleaseParams

# The splits of a release in their order in documents.
SPLIT_ORDER = ("validation", "test")
SUBSET_DESCRIPTIONS: dict[Subset, str] = {
    "clip-easy": "questions of other images, among the least similar to the image by CLIP",
    "clip-hard": "questions of other images, among the most similar to the image by CLIP",
    "pt-easy": "questions of the image with objects replaced",
    "pt-hard": "questions of the image with attributes or spatial relations replaced",
    "counterfactual": "questions of the image, asked about a version of it with one object or attribute changed",
}
PAIRING_DESCRIPTIONS = {
    "image_and_text": "In the CLIP subsets every text occurs equally often as a UQ and as an AQ (of another image), and every image "
    "has equally many of both, so neither alone reveals the label. A model that compares items with each other "
    '("this text was an AQ before, so it must be a UQ now") invalidates the test.',
    "image": "Each UQ of the CLIP subsets is paired with an AQ of the same image (the rule of the RGQA paper).",
}


class StudyFacts(Record):
    """The facts about the annotation study that decide whether its items may be published.

    Attributes:
        label_error: The proportion of UQs that have an answer after all.
        doubts: Why the study is only a trial; empty if it is not.
        panel: The panel of models that voted. The field is missing without one.
    """

    label_error: LabelError
    doubts: tuple[str, ...]
    panel: PanelReport | UnsetType = UNSET


def describe_drafting(
    drafted: Mapping[str, Mapping[str, int]],
    counts: Mapping[str, int] = MappingProxyType({}),
    unjudged: Mapping[str, int] = MappingProxyType({}),
) -> str:
    """Return sentences that say what models drafted, and how often people found it wrong; "" if nothing is drafted.

    Args:
        drafted: Model -> "questions" and "scenes" -> number, as in ingest.json.
        counts: Number of drafted questions from which candidates were made, by what annotators say of them: "confirmed", "rejected",
            "undecided" and "unasked", as in balance.json.
        unjudged: What AQs say that no annotator confirmed (`Item.unjudged`) -> number of these AQs.

    >>> describe_drafting({"qwen": {"questions": 120, "scenes": 1}})
    'A model drafted 120 questions with their answers and 1 scene graph (qwen). Scene graphs that a model drafted make no question unanswerable. Nobody judged whether the drafted answers are right.'
    >>> counts = {"confirmed": 38, "rejected": 2, "undecided": 1, "unasked": 0}
    >>> describe_drafting({"qwen": {"questions": 120}}, counts).split(". ")[1]
    'Annotators judged 41 of the questions from which candidates were made: 38 have an answer, 2 have none (5 %, 95 % interval 1 % to 16 %), and they did not decide on 1'
    >>> describe_drafting({"qwen": {"questions": 120}}, counts, {"answerable according to qwen, judged by nobody": 7}).split(". ")[-2]
    '7 AQs are answerable according to qwen, judged by nobody (`unjudged` in `rgqa/` and `provenance.jsonl`)'
    """
    if not drafted:
        return ""
    totals = Counter[str]()
    for numbers in drafted.values():
        totals.update(numbers)
    kinds = {"questions": "question", "scenes": "scene graph"}
    what = {kind: format_count(totals[kind], noun) for kind, noun in kinds.items() if totals[kind]}
    if "questions" in what:
        what["questions"] += " with their answers" if totals["questions"] > 1 else " with its answer"
    who = "A model" if len(drafted) == 1 else "Models"
    sentences = [f"{who} drafted {' and '.join(what.values())} ({', '.join(drafted)})."]
    if "scenes" in what:
        sentences.append("Scene graphs that a model drafted make no question unanswerable.")
    confirmed, rejected, undecided, unasked = (
        counts.get(name, 0) for name in ("confirmed", "rejected", "undecided", "unasked")
    )
    if judged := confirmed + rejected + undecided:
        low, high = wilson_interval(rejected, judged)
        sentences.append(
            f"Annotators judged {judged:,} of the questions from which candidates were made: {confirmed:,} {'has' if confirmed == 1 else 'have'} an answer, "
            f"{rejected:,} {'has' if rejected == 1 else 'have'} none ({100 * rejected / judged:.0f} %, 95 % interval {100 * low:.0f} % to {100 * high:.0f} %), "
            f"and they did not decide on {undecided:,}."
        )
    if unasked:
        sentences.append(f"Nobody was asked about {unasked:,} of them.")
    sentences += [
        f"{format_count(number, 'AQ is', 'AQs are')} {text} (`unjudged` in `rgqa/` and `provenance.jsonl`)."
        for text, number in unjudged.items()
    ]
    if judged and not unjudged:
        sentences.append("Only questions that annotators found answerable are AQs.")
    if "questions" in what:
        sentences.append("Nobody judged whether the drafted answers are right.")
    return " ".join(sentences)


def describe_panel(panel: PanelReport, votes: VoteCounts) -> str:
    """Return sentences that say what a panel of models did in the annotation, and how often it errs.

    Args:
        panel: The panel.
        votes: The votes behind the UQs.
    """
    models = ", ".join(panel.models)
    if not panel.is_used:
        role = "The verdicts are not used, because the audit does not show that they are of any use."
    elif votes.by_panel:
        role = f"Models alone decided {votes.by_panel:,} of {format_count(votes.num_uqs, 'UQ')}, which no person judged (decided_by: panel in provenance.jsonl)."
    else:
        role = "The verdicts changed only how many people were asked: each UQ has the vote of a person, or of an adjudicator, who says so."
    if panel.error is None:
        error = f"How often the panel errs is not known: people alone decided {format_count(panel.num_audited, 'candidate')} of the audit sample, and {MIN_AUDITED} are needed."
    else:
        error = (
            f"On {format_count(panel.num_audited, 'candidate')}, sampled at random, that people judged without these verdicts, the panel differs from people "
            f"on {panel.num_wrong:,}: {panel.error:.1%} (95 % interval: {panel.low:.1%} to {panel.high:.1%})."
        )
    return f"{format_count(len(panel.models), 'model')} judged candidates: {models}. {role} {error}"


class SubsetCounts(Record):
    """Counts of one subset.

    Attributes:
        name: The subset.
        description: How the UQs were made.
        uqs, aqs: Number of unanswerable questions (UQs) and of answerable questions (AQs).
        distinct_uq_texts: Number of distinct texts of UQs.
        mean_words: Mean number of words of a UQ.
        images: Number of images.
        difficulties: Number of UQs of each difficulty.
    """

    name: Subset
    description: str
    uqs: int
    aqs: int
    distinct_uq_texts: int
    mean_words: float
    images: int
    difficulties: dict[str, int]


class VoteCounts(Record):
    """The votes behind the UQs.

    Attributes:
        annotators: Number of annotators.
        excluded: Number of annotators who were excluded, entirely or from some task on.
        uqs_by_votes: Number of counted votes -> number of UQs that were decided by so many votes.
        agreement_text: Krippendorff's alpha and Gwet's AC1 with their intervals, as a sentence.
        label_error_text: Proportion of UQs that have an answer after all, measured on an audit sample, with its
            interval. "" if it is not known.
        by_adjudicator: Number of UQs that an adjudicator decided.
        by_panel: Number of UQs that only a panel of models decided.
        invalid_gold_answers: Number of counted answers to gold questions that are known to be unanswerable.
        aggregation_rule: How votes are aggregated (`collect: aggregation` in params.yaml). "" if it is not
            known.
        doubts: Why the study is only a trial.
    """

    annotators: int
    excluded: int
    uqs_by_votes: dict[int, int]
    agreement_text: str
    label_error_text: str = ""
    by_adjudicator: int = 0
    by_panel: int = 0
    invalid_gold_answers: int = 0
    aggregation_rule: str = ""
    doubts: tuple[str, ...] = ()

    @property
    def mean_votes(self) -> float:
        """Mean number of counted votes per UQ that votes decided."""
        return sum(votes * count for votes, count in self.uqs_by_votes.items()) / max(
            1, sum(self.uqs_by_votes.values())
        )

    @property
    def single_vote_uqs(self) -> int:
        """Number of UQs that were decided by a single vote."""
        return self.uqs_by_votes.get(1, 0)

    @property
    def num_uqs(self) -> int:
        """Number of UQs."""
        return sum(self.uqs_by_votes.values()) + self.by_adjudicator + self.by_panel

    @property
    def is_trial(self) -> bool:
        """Whether the annotation study was only a trial, because its label error is unknown or too large."""
        return bool(self.doubts)


class ReleaseSummary(Record):
    """The facts about a release.

    Attributes:
        dataset, version: Name of the data set, and version of the release.
        canary: The string in every row.
        simulated, rehearsal: Whether the verdicts of any item are simulated, or come from a rehearsal.
        tables: (subset, split) of each table.
        subsets: Counts of each subset.
        items, images: Number of distinct items and images.
        pairing_text: How UQs of CLIP subsets are paired with AQs. "" without CLIP subsets.
        vote_counts: The votes behind the UQs.
        clip_model, clip_weights_sha256: The CLIP model that selected candidates, and the SHA-256 of its
            weights. "" if no CLIP model was used.
        uses_sample_clip: Whether the CLIP model is the model of the bundled sample, which knows only its
            synthetic world, although the images are other images.
        wording_text: A sentence that says whether the questions of the source were reworded. "" if the
            parameters say that they are not.
        warnings, attack_table: The warnings of the audit, and the table of its attackers.
        min_detectable_difference: Subset -> smallest AUAF difference between two models that can be detected.
        errata: The errata of the data set.
        num_faulty_items: Number of errata that concern items of this release.
        params: Section `release` of params.yaml.
        drafting_text: A sentence that says which models drafted questions and scene graphs. "" if nothing is known to
            be drafted.
        has_drafted_questions: Whether a model wrote questions of the source.
        unjudged: What AQs say that no annotator confirmed (`Item.unjudged`) -> number of these AQs.
        panel: The panel of models that judged candidates; None without one.
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
    uses_sample_clip: bool
    wording_text: str
    warnings: tuple[str, ...]
    attack_table: str
    min_detectable_difference: dict[Subset, float]
    errata: tuple[Erratum, ...]
    num_faulty_items: int
    params: ReleaseParams
    drafting_text: str = ""
    has_drafted_questions: bool = False
    unjudged: Mapping[str, int] = MappingProxyType({})
    panel: PanelReport | None = None

    @property
    def is_drafted(self) -> bool:
        """Whether a model drafted questions or scene graphs of the source."""
        return bool(self.drafting_text)

    @property
    def title(self) -> str:
        """Title and version, as on the card. The title says if models alone decided UQs."""
        votes = self.vote_counts
        by_panel = (
            f" ({'' if votes.by_panel == votes.num_uqs else 'partly '}decided by models)"
            if votes.by_panel
            else ""
        )
        return f"{'REHEARSAL of ' if self.rehearsal else ''}{self.params.title} {self.version}{by_panel}"

    @property
    def panel_text(self) -> str:
        """Sentences that say what models did in the annotation, and how often they err; "" without a panel."""
        return describe_panel(self.panel, self.vote_counts) if self.panel else ""

    @property
    def is_judged_by_models(self) -> bool:
        """Whether models answered in place of people, without simulated verdicts."""
        return not self.simulated and self.params.is_annotated_by_models

    def subsets_with_prefix(self, prefix: str) -> list[str]:
        """Return the names of the subsets that start with a prefix, such as "clip" or "pt"."""
        return [subset.name for subset in self.subsets if subset.name.startswith(prefix)]

    @property
    def splits_text(self) -> str:
        """A text that says which splits the subsets have, and for which purpose."""
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
            listed = ", ".join(names[:-1]) + " and " * (len(names) > 1) + names[-1]
            sentences.append(f"{listed} {'has' if len(names) == 1 else 'have'} {which}.")
        return " ".join(sentences)

    @property
    def subset_names_json(self) -> str:
        """The names of the subsets as a JSON list, which is also valid Python."""
        return json.dumps([subset.name for subset in self.subsets])

    @property
    def splits_of_last_subset(self) -> str:
        """The splits of the last subset, separated by commas."""
        return ", ".join(split for name, split in self.tables if name == self.subsets[-1].name)

    @property
    def num_rows(self) -> int:
        """Number of rows of all tables. An AQ that several subsets share is counted once per subset."""
        return sum(subset.uqs + subset.aqs for subset in self.subsets)


def count_items(items: Collection[Item]) -> dict[str, Any]:
    """Return the fields of `ReleaseSummary` that follow from the items, by name."""
    simulated = rehearsal = False
    unjudged = dict[str, str]()
    tables, ids, images = set[tuple[Subset, str]](), set[str](), set[str]()
    for item in items:
        simulated, rehearsal = simulated or item.simulated, rehearsal or item.rehearsal
        tables.add((item.subset, item.split))
        ids.add(item.item_id)
        if item.unjudged:
            unjudged[item.item_id] = item.unjudged
        images.add(item.image_id)
    present = {subset for subset, _ in tables}
    return {
        "simulated": simulated,
        "rehearsal": rehearsal,
        "tables": tuple(sorted(tables, key=lambda table: (table[0], SPLIT_ORDER.index(table[1])))),
        "subsets": tuple(count_subset(name, items) for name in SUBSETS if name in present),
        "items": len(ids),
        "images": len(images),
        "unjudged": dict(sorted(Counter(unjudged.values()).items())),
    }


def count_subset(subset: Subset, items: Collection[Item]) -> SubsetCounts:
    """Count the items of one subset."""
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
    """Return the mean number of words, split at white space. (The RGQA paper does not say how it counts.)"""
    lengths = array("I", (len(item.text.split()) for item in items))
    return sum(lengths) / len(lengths) if lengths else 0.0
