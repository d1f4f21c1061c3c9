"""Render the audit as Markdown: `audit.md`, and the tables that the release card and other reports reuse."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pipeline.benchmark.auditing.attack_evaluation import AttackResult
from pipeline.benchmark.auditing.subset_audit import AuditReport, SubsetAudit
from pipeline.benchmark.auditing.verifier_agreement import VerifierAgreement
from pipeline.core.records import Subset
from pipeline.core.rendering import format_markdown_table, render_template

TEMPLATE_DIR = Path(__file__).parent


def render_audit_markdown(report: AuditReport) -> str:
    """Return the text of `audit.md`."""
    return render_template(
        TEMPLATE_DIR / "audit.md.jinja",
        {"rounded": format_number},
        report=report,
        agreement=render_agreement_markdown(report.verifier_agreement),
    )


def render_agreement_markdown(agreement: VerifierAgreement) -> str:
    """Return the agreement of the verifier with the source as Markdown tables.

    There is one table per kind of evidence. A table has one row per question type.
    """
    return render_template(
        TEMPLATE_DIR / "agreement.md.jinja",
        {"of": format_count_with_percent, "percent": format_percent},
        evidence=agreement.by_evidence,
    )


def render_attack_table(
    subsets: Mapping[Subset, SubsetAudit], limits: Mapping[Subset, float] | None = None
) -> str:
    """Return a Markdown table with the AUROC of each attacker on each subset.

    The table also has the p value of the permutation test.

    Args:
        subsets: The audit of each subset.
        limits: Subset -> highest allowed text-only AUROC. The limits are shown in a column. None omits the
            column.
    """
    names = list(next(iter(subsets.values())).attacks) if subsets else []
    head = [
        "subset",
        "UQ + AQ",
        *names,
        "p (text-only, max-T)",
        *(["max. text-only AUROC"] if limits else []),
    ]
    rows = [
        [
            f"`{subset}`",
            f"{audit.uqs} + {audit.aqs}",
            *(format_auroc(audit.attacks[name]) for name in names),
            format_p_value(audit.permutation_test and audit.permutation_test.p_value),
            *([f"{limits[subset]:.2f}"] if limits and subset in limits else []),
        ]
        for subset, audit in subsets.items()
    ]
    table = format_markdown_table([head, *rows])
    starred = any(attack.is_below_half for audit in subsets.values() for attack in audit.attacks.values())
    return table + (f"\n\n\\* {BELOW_HALF_NOTE}." if starred else "")


BELOW_HALF_NOTE = "AUROC is below 0.5 and shown as 1 - AUROC"


def format_auroc(attack: AttackResult, decimals: int = 2) -> str:
    """Format an AUROC with its interval.

    A star marks an AUROC below 0.5. The result is a dash if the attacker does not apply.

    >>> format_auroc(AttackResult(auroc=0.612, low=0.58, high=0.64, groups=9))
    '0.61 [0.58, 0.64]'
    >>> format_auroc(AttackResult(auroc=0.612, low=0.58, high=0.64, groups=9, is_below_half=True))
    '0.61 [0.58, 0.64] *'
    """
    if attack.auroc is None:
        return "-"
    star = " *" if attack.is_below_half else ""
    if attack.low is None or attack.high is None:
        return f"{attack.auroc:.{decimals}f}{star}"
    return f"{attack.auroc:.{decimals}f} [{attack.low:.2f}, {attack.high:.2f}]{star}"


def format_p_value(p_value: float | None) -> str:
    """Format a p value; a dash stands for None.

    >>> format_p_value(0.0325), format_p_value(None)
    ('0.033', '-')
    """
    return "-" if p_value is None else f"{p_value:.3f}"


def format_number(value: float | None, decimals: int = 3) -> str:
    return "-" if value is None else f"{value:.{decimals}f}"


def format_percent(proportion: float | None) -> str:
    return "-" if proportion is None else f"{100 * proportion:.1f} %"


def format_count_with_percent(count: int, total: int) -> str:
    """Format a count with its percentage.

    >>> format_count_with_percent(12, 35)
    '12 (34.3 %)'
    """
    return f"{count:,} ({format_percent(count / total)})" if total else f"{count:,}"
