"""What attackers reach that lack the image or the text, by the audit: as tables and pages show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from pipeline.benchmark.auditing.attack_evaluation import AttackResult
from pipeline.benchmark.auditing.subset_audit import AuditReport, SubsetAudit
from pipeline.benchmark.auditing.text_attackers import REPORT_ONLY_ATTACKERS, TEXT_ATTACKERS
from pipeline.core.records import Record, Subset

ATTACKER_ORDER = (*TEXT_ATTACKERS, *REPORT_ONLY_ATTACKERS, "image", "CLIP score")  # in the order shown


class AttackRow(AttackResult, kw_only=True):
    """What one attacker reaches: here and under the paper's rules; the limit, if any."""

    attacker: str
    paper_auroc: float | None = None
    limit: float | None = None


class SubsetFinding(Record):
    """The best attacker of a subset that sees only the text: what it reaches here, with its interval, its limit, and what the
    best reaches under the paper's rules, which need not be the same attacker; None where that is not known. `too_small`: no attacker
    was tried, as the subset is too small to measure anything."""

    subset: Subset
    auroc: float
    low: float | None
    high: float | None
    limit: float | None
    paper_auroc: float | None
    is_too_small: bool = False


class TextOnlyFinding(Record):
    """What the report begins with: of each subset the best that sees only the text, and the greatest of all, here and under
    the paper's rules (None, "" where these were not tried)."""

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
    """What every attacker reaches on each subset, those known here first.

    Args:
        paper_rules: The audit of the items under the paper's rules, if it is known.
    """
    order = {name: place for place, name in enumerate(ATTACKER_ORDER)}
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
    """What the text alone tells at most; 0.5 where no attacker could be tried."""
    rows = []
    for subset, tried in attacks.items():
        texts = [row for row in tried if row.attacker in TEXT_ATTACKERS]
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
    worst = max(rows, key=lambda row: row.here)
    paper = max((row for row in rows if row.paper), key=lambda row: row.paper or 0, default=None)
    return TextOnlyFinding(
        rows=rows,
        auroc=worst.here,
        auroc_subset=worst.subset,
        paper_auroc=paper and paper.paper,
        paper_subset=paper.subset if paper else "",
    )
