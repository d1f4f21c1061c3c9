"""Summarize the results of the audit's attackers for the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from pipeline.benchmark.auditing.attack_evaluation import AttackResult
from pipeline.benchmark.auditing.subset_audit import AuditReport, SubsetAudit
from pipeline.benchmark.auditing.text_attackers import REPORT_ONLY_ATTACKERS, TEXT_ATTACKERS
from pipeline.core.records import Record, Subset

# Attackers in the order in which they are shown.
ATTACKER_ORDER = (*TEXT_ATTACKERS, *REPORT_ONLY_ATTACKERS, "image", "CLIP score")


class AttackRow(AttackResult, kw_only=True):
    """The result of one attacker.

    Attributes:
        attacker: The name of the attacker.
        paper_auroc: The AUROC of the attacker on the items built by RGQA's rules, or None if it is not
            known.
        limit: The highest allowed AUROC, or None if the attacker has no limit.
    """

    attacker: str
    paper_auroc: float | None = None
    limit: float | None = None


class SubsetFinding(Record):
    """The strongest text-only attacker of a subset.

    Attributes:
        subset: The subset.
        auroc, low, high: The AUROC of the attacker, and the ends of its 95 % interval.
        limit: The limit for text-only attackers, or None if there is no limit.
        paper_auroc: The highest AUROC of any text-only attacker on the items that RGQA's rules make, or None
            if it is not known.
        is_too_small: Whether no attacker was run because the subset is too small.
    """

    subset: Subset
    auroc: float
    low: float | None
    high: float | None
    limit: float | None
    paper_auroc: float | None
    is_too_small: bool = False


class TextOnlyFinding(Record):
    """The main finding of the report.

    Attributes:
        rows: The strongest text-only attacker of each subset.
        auroc, auroc_subset: The highest AUROC over all subsets, and the subset where it occurs.
        paper_auroc, paper_subset: The highest AUROC on the items built by RGQA's rules, and the subset where it occurs. None
            and "" if these items are not known.
    """

    rows: list[SubsetFinding]
    auroc: float
    auroc_subset: str
    paper_auroc: float | None
    paper_subset: str


def make_attack_rows(
    audit: AuditReport,
    limits: Mapping[Subset, float],
    paper_rules: Mapping[Subset, SubsetAudit] | None = None,
) -> dict[Subset, list[AttackRow]]:
    """Return the results of all attackers by subset, in the order in which they are shown.

    Args:
        audit: The audit of the run.
        limits: Subset -> limit for text-only attackers.
        paper_rules: Subset -> audit of the items that RGQA's rules make, or None or {} if it is not known.
    """
    order = {name: position for position, name in enumerate(ATTACKER_ORDER)}
    result = {}
    for subset, audited in audit.subsets.items():
        paper = paper_rules[subset].attacks if paper_rules and subset in paper_rules else {}
        result[subset] = [
            AttackRow(
                **msgspec.structs.asdict(audited.attacks[name]),
                attacker=name,
                paper_auroc=paper[name].auroc if name in paper else None,
                limit=limits.get(subset) if name in TEXT_ATTACKERS else None,
            )
            for name in sorted(audited.attacks, key=lambda name: (order.get(name, len(order)), name))
        ]
    return result


def summarize_attacks(attacks: Mapping[Subset, Sequence[AttackRow]]) -> TextOnlyFinding:
    """Return the strongest text-only attackers. Their AUROC is 0.5 where no attacker was run."""
    rows = []
    for subset, results in attacks.items():
        texts = [row for row in results if row.attacker in TEXT_ATTACKERS]
        best = max(
            (row for row in texts if row.auroc is not None), key=lambda row: row.auroc or 0, default=None
        )
        papers = [row.paper_auroc for row in texts if row.paper_auroc is not None]
        rows.append(
            SubsetFinding(
                subset=subset,
                auroc=(best and best.auroc) or 0.5,
                low=best and best.low,
                high=best and best.high,
                limit=best and best.limit,
                paper_auroc=max(papers, default=None),
                is_too_small=best is None,
            )
        )
    worst = max(rows, key=lambda row: row.auroc)
    paper = max((row for row in rows if row.paper_auroc), key=lambda row: row.paper_auroc or 0, default=None)
    return TextOnlyFinding(
        rows=rows,
        auroc=worst.auroc,
        auroc_subset=worst.subset,
        paper_auroc=paper and paper.paper_auroc,
        paper_subset=paper.subset if paper else "",
    )
