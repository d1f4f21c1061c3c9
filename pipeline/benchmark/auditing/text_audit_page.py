"""One page on how well the texts of a set predict its labels: self-contained, without scripts, with the texts of the data escaped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline.benchmark.auditing.attack_evaluation import Attack
from pipeline.benchmark.auditing.audit_markdown import BELOW_HALF, p_shown, percent, reached
from pipeline.benchmark.auditing.text_audit import SIGNIFICANCE, TextAudit
from pipeline.core.atomic_files import write_text
from pipeline.core.rendering import render

TEMPLATE = Path(__file__).with_name("text_audit.html.jinja")


def verdict(found: TextAudit) -> str:
    """The main finding in a sentence or two."""
    if found.finding == "too small":
        return f"Too small to measure: {found.too_small}."
    if found.finding == "balanced":
        return (
            "Every text occurs equally often under both labels, so the AUROC of any function of the text alone is exactly 0.5."
            " Cross-validated attackers then score below 0.5, because a text that is over-represented under one label in training"
            " is under-represented in the held-out fold."
        )
    tried = f"permutation test of the maximum over attackers, p = {p_shown(found.p_value)}"
    if found.finding == "chance":
        return f"No attacker predicts the label from the text beyond chance ({tried})."
    number, parts = len([test for test in found.tests.values() if test is not None]), []
    for by, name in found.strongest.items():
        test = found.tests[by]
        if name is not None and test is not None and test.p_value * number <= SIGNIFICANCE:
            attack = found.attacks[by][name]
            notes = [name, *([BELOW_HALF] if attack.below_half else [])]
            parts.append(f"{reached(attack).removesuffix(' *')} in folds by {by} ({', '.join(notes)})")
    return f"The text alone predicts {found.one} or {found.zero} with AUROC {'; '.join(parts)}; 0.5 is chance ({tried})."


def write_page(
    path: Path, found: Sequence[TextAudit], report: Any = None, after: TextAudit | None = None
) -> None:
    """Write the page.

    Args:
        path: Where.
        found: The set, or the subsets of a release.
        report: What the balanced subset leaves out, if there is one (`BalanceReport`).
        after: The balanced subset.
    """
    write_text(path, page(found, report, after))


def page(found: Sequence[TextAudit], report: Any = None, after: TextAudit | None = None) -> str:
    """The page as HTML; see `write_page`."""
    return render(
        TEMPLATE,
        {
            "percent": percent,
            "reached": reached,
            "p_shown": p_shown,
            "at": at,
            "span": span,
            "verdict": verdict,
        },
        sets=found,
        title=", ".join(one.name for one in found),
        report=report,
        after=after,
        below_half=BELOW_HALF,
        significance=SIGNIFICANCE,
    )


def at(auroc: float) -> str:
    """Where an AUROC is on the scale from 0.45 to 1, in percent of its width.

    >>> at(0.45), at(1.0)
    ('0.00', '100.00')
    """
    return f"{100 * (min(max(auroc, 0.45), 1.0) - 0.45) / 0.55:.2f}"


def span(attack: Attack) -> str:
    """How wide its interval is on that scale."""
    if attack.low is None or attack.high is None:
        return "0.00"
    return f"{max(float(at(attack.high)) - float(at(attack.low)), 0.4):.2f}"
