"""The audit's figures as tables for people: audit.md, and the parts of it that stand elsewhere too."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pipeline.benchmark.auditing.attack_evaluation import Attack
from pipeline.benchmark.auditing.subset_audit import AuditReport, SubsetAudit
from pipeline.benchmark.auditing.verifier_agreement import Agreement
from pipeline.core.records import Subset
from pipeline.core.rendering import markdown_table, render

HERE = Path(__file__).parent


def audit_markdown(report: AuditReport) -> str:
    """audit.md."""
    return render(
        HERE / "audit.md.jinja",
        {"rounded": rounded},
        report=report,
        agreement=agreement_markdown(report.judge_against_source),
    )


def agreement_markdown(agreement: Agreement) -> str:
    """How often the judge agrees with the source, per kind of evidence a row for every kind of question."""
    return render(HERE / "agreement.md.jinja", {"of": part_of, "percent": percent}, evidence=agreement.rows)


def attack_table(subsets: Mapping[Subset, SubsetAudit], limits: Mapping[Subset, float] | None = None) -> str:
    """What each attacker reaches on each subset, as a table in Markdown, with the p value of the permutation test.

    Args:
        limits: on what attackers of the text may reach, by subset.
    """
    names = list(next(iter(subsets.values())).attacks) if subsets else []
    head = ["subset", "UQ + AQ", *names, "p of the text", *(["limit on text"] if limits else [])]
    rows = [
        [
            f"`{subset}`",
            f"{audit.uqs} + {audit.aqs}",
            *(reached(audit.attacks[name]) for name in names),
            p_shown(audit.text_test and audit.text_test.p_value),
            *([f"{limits[subset]:.2f}"] if limits and subset in limits else []),
        ]
        for subset, audit in subsets.items()
    ]
    table = markdown_table([head, *rows])
    starred = any(attack.below_half for audit in subsets.values() for attack in audit.attacks.values())
    return table + (f"\n\n\\* {BELOW_HALF}." if starred else "")


BELOW_HALF = "AUROC is below 0.5 and shown as 1 - AUROC"


def reached(attack: Attack, places: int = 2) -> str:
    """AUROC and its interval; with a star if the AUROC is below 0.5; a dash where the attacker does not apply.

    >>> reached(Attack(auroc=0.612, low=0.58, high=0.64, groups=9))
    '0.61 [0.58, 0.64]'
    >>> reached(Attack(auroc=0.612, low=0.58, high=0.64, groups=9, below_half=True))
    '0.61 [0.58, 0.64] *'
    """
    if attack.auroc is None:
        return "-"
    star = " *" if attack.below_half else ""
    if attack.low is None or attack.high is None:
        return f"{attack.auroc:.{places}f}{star}"
    return f"{attack.auroc:.{places}f} [{attack.low:.2f}, {attack.high:.2f}]{star}"


def p_shown(p_value: float | None) -> str:
    """A p value; a dash where there is none.

    >>> p_shown(0.0325), p_shown(None)
    ('0.033', '-')
    """
    return "-" if p_value is None else f"{p_value:.3f}"


def rounded(share: float | None, places: int = 3) -> str:
    return "-" if share is None else f"{share:.{places}f}"


def percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


def part_of(part: int, whole: int) -> str:
    """A count with its share: 12 (34.3 %)."""
    return f"{part:,} ({percent(part / whole)})" if whole else f"{part:,}"
