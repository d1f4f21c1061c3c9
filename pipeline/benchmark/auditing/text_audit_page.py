"""Render the HTML page of a text-only audit.

The page is self-contained and has no scripts. All texts of the data are escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline.benchmark.auditing.attack_evaluation import AttackResult
from pipeline.benchmark.auditing.audit_markdown import (
    BELOW_HALF_NOTE,
    format_auroc,
    format_p_value,
    format_percent,
)
from pipeline.benchmark.auditing.text_audit import SIGNIFICANCE_LEVEL, TextAudit
from pipeline.core.atomic_files import write_text
from pipeline.core.rendering import render_template

TEMPLATE = Path(__file__).with_name("text_audit.html.jinja")


def summarize_finding(found: TextAudit) -> str:
    """Return the main finding of an audit as one or two sentences."""
    if found.finding == "too small":
        return f"Too small to measure: {found.too_small_reason}."
    if found.finding == "balanced":
        return (
            "Every text occurs equally often under both labels, so the AUROC of any function of the text alone is exactly"
            " 0.5. Cross-validated classifiers then score below 0.5, because a text that is over-represented under one label"
            " in training is under-represented in the held-out fold."
        )
    test_text = f"permutation test of the maximum over classifiers, p = {format_p_value(found.p_value)}"
    if found.finding == "chance":
        return f"No text-only classifier predicts the label from the text beyond chance ({test_text})."
    num_tests = sum(test is not None for test in found.permutation_tests.values())
    parts = []
    for by, name in found.strongest_attackers.items():
        test = found.permutation_tests[by]
        if name is not None and test is not None and test.p_value * num_tests <= SIGNIFICANCE_LEVEL:
            attack = found.attacks[by][name]
            notes = [name, *([BELOW_HALF_NOTE] if attack.is_below_half else [])]
            parts.append(
                f"{format_auroc(attack).removesuffix(' *')} with folds grouped by {by} ({', '.join(notes)})"
            )
    return (
        f"The text alone predicts {found.positive_label} or {found.negative_label} with AUROC {'; '.join(parts)};"
        f" 0.5 is chance ({test_text})."
    )


def write_page(
    path: Path, found: Sequence[TextAudit], report: Any = None, after: TextAudit | None = None
) -> None:
    """Write the audit page to a file.

    Args:
        path: The HTML file.
        found: The audit of a set, or one audit per subset of a release.
        report: The `BalanceReport` of a balanced subset, or None if no such subset was made.
        after: The audit of the balanced subset, or None if no such subset was made.
    """
    write_text(path, render_page(found, report, after))


def render_page(found: Sequence[TextAudit], report: Any = None, after: TextAudit | None = None) -> str:
    """Return the audit page as HTML. See `write_page` for the arguments."""
    return render_template(
        TEMPLATE,
        {
            "percent": format_percent,
            "auroc": format_auroc,
            "p_value": format_p_value,
            "position": scale_position,
            "width": interval_width,
            "finding": summarize_finding,
        },
        sets=found,
        title=", ".join(audit.name for audit in found),
        report=report,
        after=after,
        below_half=BELOW_HALF_NOTE,
        significance=SIGNIFICANCE_LEVEL,
    )


def scale_position(auroc: float) -> str:
    """Return the position of an AUROC on the scale from 0.45 to 1, in percent of its width.

    >>> scale_position(0.45), scale_position(1.0)
    ('0.00', '100.00')
    """
    return f"{100 * (min(max(auroc, 0.45), 1.0) - 0.45) / 0.55:.2f}"


def interval_width(attack: AttackResult) -> str:
    """Return the width of the 95 % interval on the scale of `scale_position`, in percent.

    The width is at least 0.4 % so that the interval is visible.
    """
    if attack.low is None or attack.high is None:
        return "0.00"
    return f"{max(float(scale_position(attack.high)) - float(scale_position(attack.low)), 0.4):.2f}"
