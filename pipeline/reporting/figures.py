"""The page's tables: the set beside the paper's figures, categories, edits, what attackers reach."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from pipeline.core.records import SUBSETS, Edit, Item, Record, Subset
from pipeline.reporting.charts import Reach
from pipeline.reporting.run_files import Run
from pipeline.stages.audit import TEXT_ATTACKS

ATTACKERS = (*TEXT_ATTACKS, "first three words", "length", "picture", "CLIP score")  # in the order shown
MOST_SWAPS = 12


class SetRow(Record):
    """A row of RGQA's Table 1. Lengths are in words; `uq_percent` in percent; `supervised`: UQs for training, too."""

    name: str
    supervised: str
    kind: str
    annotation: str
    pictures: str
    questions: str
    uq_percent: float
    pairs: int
    length: float


# RGQA (ICCV 2023), Table 1, as printed.
TABLE_1 = tuple(
    SetRow(
        name=name,
        supervised=supervised,
        kind=kind,
        annotation=annotation,
        pictures=pictures,
        questions=questions,
        uq_percent=percent,
        pairs=pairs,
        length=length,
    )
    for name, supervised, kind, annotation, pictures, questions, percent, pairs, length in (
        ("VTFQ", "yes", "UQ det.", "human", "MSCOCO", "VQAv1", 89.24, 31464, 7.53),
        ("QRPE", "yes", "UQ det.", "generated", "MSCOCO", "VQAv1", 50.87, 35476, 7.76),
        ("C2VQA", "yes", "UQ det.", "generated", "Visual Genome", "Visual Genome", 50.00, 29106, 7.10),
        (
            "TDIUC",
            "yes",
            "VQA + UQ det.",
            "generated",
            "MSCOCO + Visual Genome",
            "VQAv1 + Visual Genome",
            22.17,
            538868,
            7.92,
        ),
        ("VizWiz", "yes", "VQA + UQ det.", "human", "VizWiz", "VizWiz", 27.84, 8000, 8.10),
        ("RGQA", "no", "VQA + UQ det.", "human", "GQA testdev", "GQA testdev", 52.22, 55637, 10.33),
    )
)
# RGQA, section 3.1: UQs, and UQs + AQs.
RGQA_SIZES: dict[Subset, tuple[int, int]] = {
    "clip-easy": (5689, 11158),
    "clip-hard": (11264, 20325),
    "pt-easy": (6130, 12241),
    "pt-hard": (5963, 11913),
}


class Size(Record):
    """UQs and all questions of a subset, beside RGQA's. `texts` are the distinct texts of the UQs, `length` their mean
    number of words."""

    uqs: int
    all: int
    texts: int
    length: float
    paper_uqs: int
    paper_all: int


class Swap(Record):
    """One word put in another's place, and how often."""

    kind: str
    old: str
    new: str
    count: int


class Edits(Record):
    """Edits of a PT subset: `kinds` counts edits, `per_item` the UQs that have so many."""

    items: int
    kinds: dict[str, int]
    per_item: dict[int, int]
    taken_out: int
    put_in: int
    swaps: list[Swap]


def words(text: str) -> int:
    """Words of a text, as split by blanks. (The paper does not say how it counts.)"""
    return len(text.split())


def mean_words(items: Iterable[Item]) -> float:
    counts = [words(item.text) for item in items]
    return sum(counts) / len(counts) if counts else 0.0


def this_set(run: Run) -> SetRow:
    """The set of this run as a row of Table 1. A pair is an item: a picture with a question."""
    items = [item for rows in run.items.values() for item in rows]
    source = f"{run.folders.dataset} {run.split}"
    return SetRow(
        name=f"{run.release.title} {run.version}",
        supervised="no",
        kind="VQA + UQ det.",
        annotation="rehearsal" if run.rehearsal else "simulated" if run.simulated else "human",
        pictures=source,
        questions=source,
        uq_percent=100 * sum(item.unanswerable for item in items) / len(items),
        pairs=len(items),
        length=mean_words(items),
    )


def sizes(run: Run) -> dict[Subset, Size]:
    found = {}
    for subset in SUBSETS:
        rows = run.items.get(subset, [])
        uqs = [item for item in rows if item.unanswerable]
        found[subset] = Size(
            uqs=len(uqs),
            all=len(rows),
            texts=len({item.text for item in uqs}),
            length=mean_words(uqs),
            paper_uqs=RGQA_SIZES[subset][0],
            paper_all=RGQA_SIZES[subset][1],
        )
    return found


def categories(run: Run) -> dict[Subset, dict[str, int]]:
    """UQs of each category; "not known" where neither the evidence nor an annotator names one."""
    return {
        subset: dict(
            sorted(Counter(item.category or "not known" for item in rows if item.unanswerable).items())
        )
        for subset, rows in run.items.items()
    }


def edits(items: Sequence[Item]) -> Edits | None:
    """Edits of one subset's UQs; None if nothing is edited in it."""
    edited = [item for item in items if item.unanswerable and item.edits]
    if not edited:
        return None
    each = [edit for item in edited for edit in item.edits]
    return Edits(
        items=len(edited),
        kinds=dict(sorted(Counter(edit.kind for edit in each).items())),
        per_item=dict(sorted(Counter(len(item.edits) for item in edited).items())),
        taken_out=len({edit.old.lower() for edit in each}),
        put_in=len({edit.new.lower() for edit in each}),
        swaps=_swaps(each),
    )


def _swaps(each: Iterable[Edit]) -> list[Swap]:
    counts = Counter((edit.kind, edit.old.lower(), edit.new.lower()) for edit in each)
    ranked = sorted(counts, key=lambda swap: (-counts[swap], swap))[:MOST_SWAPS]
    return [Swap(kind=swap[0], old=swap[1], new=swap[2], count=counts[swap]) for swap in ranked]


def reaches(run: Run, limits: dict[str, float]) -> dict[Subset, list[Reach]]:
    """What every attacker reaches, from the audit."""
    audit = run.reports["audit"]
    found = {}
    for subset in run.items:
        ours = audit["subsets"][subset]["attacks"]
        paper = audit["paper_rules"].get(subset, {}).get("attacks", {})
        names = [*(name for name in ATTACKERS if name in ours), *sorted(set(ours) - set(ATTACKERS))]
        found[subset] = [
            Reach(
                attacker=name,
                **{key: ours[name][key] for key in ("auroc", "low", "high")},
                paper=paper.get(name, {}).get("auroc"),
                limit=limits.get(subset) if name in TEXT_ATTACKS else None,
            )
            for name in names
        ]
    return found
