"""The page's tables: the set beside the paper's figures, edits, what attackers reach."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from pipeline.auditing.subset_audit import AuditReport
from pipeline.auditing.text_attackers import TEXT_ATTACKERS
from pipeline.core.records import SUBSETS, Item, Record, Subset
from pipeline.reporting.charts import AttackRow
from pipeline.reporting.run_files import Run

ATTACKERS = (*TEXT_ATTACKERS, "first three words", "length", "picture", "CLIP score")  # in the order shown
MOST_SWAPS = 12


class SetRow(Record, kw_only=False):
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
BOTH = "MSCOCO + Visual Genome", "VQAv1 + Visual Genome"
TABLE_1 = (
    SetRow("VTFQ", "yes", "UQ det.", "human", "MSCOCO", "VQAv1", 89.24, 31464, 7.53),
    SetRow("QRPE", "yes", "UQ det.", "generated", "MSCOCO", "VQAv1", 50.87, 35476, 7.76),
    SetRow("C2VQA", "yes", "UQ det.", "generated", "Visual Genome", "Visual Genome", 50.00, 29106, 7.10),
    SetRow("TDIUC", "yes", "VQA + UQ det.", "generated", *BOTH, 22.17, 538868, 7.92),
    SetRow("VizWiz", "yes", "VQA + UQ det.", "human", "VizWiz", "VizWiz", 27.84, 8000, 8.10),
    SetRow("RGQA", "no", "VQA + UQ det.", "human", "GQA testdev", "GQA testdev", 52.22, 55637, 10.33),
)
# RGQA, section 3.1: UQs, and UQs + AQs.
RGQA_SIZES: dict[Subset, tuple[int, int]] = {
    "clip-easy": (5689, 11158),
    "clip-hard": (11264, 20325),
    "pt-easy": (6130, 12241),
    "pt-hard": (5963, 11913),
}


class SubsetSize(Record):
    """UQs and all questions of a subset, beside RGQA's. `texts` are the distinct texts of the UQs, `length` their mean
    number of words."""

    uqs: int
    all: int
    texts: int
    length: float
    paper_uqs: int
    paper_all: int


class EditedWord(Record):
    """One word put in another's place, and how often."""

    kind: str
    old: str
    new: str
    count: int


class EditFigures(Record):
    """Edits of a PT subset: `per_item` counts the UQs that have so many, `taken_out` and `put_in` different words."""

    items: int
    per_item: dict[int, int]
    taken_out: int
    put_in: int
    swaps: list[EditedWord]


def mean_words(items: Iterable[Item]) -> float:
    """Mean number of words, as split by blanks. (The paper does not say how it counts.)"""
    counts = [len(item.text.split()) for item in items]
    return sum(counts) / len(counts) if counts else 0.0


def this_set(run: Run) -> SetRow:
    """The set of this run as a row of Table 1. A pair is an item: a picture with a question."""
    source = f"{run.folders.dataset} {run.split}"
    return SetRow(
        name=f"{run.release.title} {run.version}",
        supervised="no",
        kind="VQA + UQ det.",
        annotation="rehearsal" if run.rehearsal else "simulated" if run.simulated else "human",
        pictures=source,
        questions=source,
        uq_percent=100 * sum(item.unanswerable for item in run.all_items) / len(run.all_items),
        pairs=len(run.all_items),
        length=mean_words(run.all_items),
    )


def sizes(run: Run) -> dict[Subset, SubsetSize]:
    """How large each subset is, beside RGQA's."""
    result = {}
    for subset in SUBSETS:
        items = run.items.get(subset, [])
        uqs = [item for item in items if item.unanswerable]
        result[subset] = SubsetSize(
            uqs=len(uqs),
            all=len(items),
            texts=len({item.text for item in uqs}),
            length=mean_words(uqs),
            paper_uqs=RGQA_SIZES[subset][0],
            paper_all=RGQA_SIZES[subset][1],
        )
    return result


def edits(items: Sequence[Item]) -> EditFigures | None:
    """Edits of one subset's UQs; None if nothing is edited in it."""
    edited = [item for item in items if item.unanswerable and item.edits]
    swaps = Counter((edit.kind, edit.old.lower(), edit.new.lower()) for item in edited for edit in item.edits)
    if not edited:
        return None
    return EditFigures(
        items=len(edited),
        per_item=dict(sorted(Counter(len(item.edits) for item in edited).items())),
        taken_out=len({old for _, old, _ in swaps}),
        put_in=len({new for _, _, new in swaps}),
        swaps=[
            EditedWord(kind=kind, old=old, new=new, count=count)
            for (kind, old, new), count in sorted(swaps.items(), key=lambda swap: (-swap[1], swap[0]))
        ][:MOST_SWAPS],
    )


def attack_rows(audit: AuditReport, limits: Mapping[str, float]) -> dict[Subset, list[AttackRow]]:
    """What every attacker reaches on each subset, those known here first."""
    order = {name: place for place, name in enumerate(ATTACKERS)}
    result = {}
    for subset, audited in audit.subsets.items():
        paper = audit.paper_rules[subset].attacks if subset in audit.paper_rules else {}
        result[subset] = [
            AttackRow(
                attacker=name,
                auroc=attack.auroc,
                low=attack.low,
                high=attack.high,
                paper=paper[name].auroc if name in paper else None,
                limit=limits.get(subset) if name in TEXT_ATTACKERS else None,
            )
            for name, attack in sorted(
                audited.attacks.items(), key=lambda pair: (order.get(pair[0], len(order)), pair[0])
            )
        ]
    return result
