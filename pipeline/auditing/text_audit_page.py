"""One page of a set's leaks: whole in itself, without scripts; texts of the data escaped."""

from __future__ import annotations

from pathlib import Path

from pipeline.auditing.audit_page import percent, reached
from pipeline.core.files import write_text
from pipeline.core.pages import render
from pipeline.leaks.even_set import Lost
from pipeline.leaks.leak_figures import LeakAttack, Leaks

TEMPLATE = Path(__file__).with_name("leaks.html.jinja")


def told(attack: LeakAttack) -> str:
    """AUROC and interval, with a star if it was turned round.

    >>> told(LeakAttack(auroc=0.6, low=0.5, high=0.7, groups=9, turned=True))
    '0.60 [0.50, 0.70] *'
    """
    return reached(attack) + (" *" if attack.turned else "")


def verdict(found: Leaks) -> str:
    """The main finding in a sentence or two."""
    if not found.text_margin.unequal:
        return (
            f"Each text has as many rows {found.one} as {found.zero}: no function of the text alone tells them apart,"
            " its AUROC is 0.5. What attackers reach beyond that comes of learning from evened-out labels."
        )
    parts = []
    for by, name in found.strongest.items():
        if name is not None:
            attack = found.attacks[by][name]
            beyond = attack.low is not None and attack.low > 0.5
            notes = [name, *(["mostly wrong"] if attack.turned else [])]
            chance = "" if beyond else ", not beyond chance"
            parts.append(f"in folds by {by} {reached(attack)} ({', '.join(notes)}){chance}")
    if not parts:
        return f"Too little to learn from: a fold has rows of one label alone ({found.zero} or {found.one}), or there are fewer texts than folds."
    return f"Who sees only the text tells {found.one} from {found.zero} with AUROC {'; '.join(parts)}; 0.5 is chance."


def write_page(path: Path, found: Leaks, lost: Lost | None, after: Leaks | None) -> None:
    """Write the page: the set, and its balanced part beside it if there is one."""
    write_text(path, page(found, lost, after))


def page(found: Leaks, lost: Lost | None = None, after: Leaks | None = None) -> str:
    """The page as HTML."""
    return render(
        TEMPLATE,
        {"percent": percent, "told": told, "at": at, "span": span},
        found=found,
        lost=lost,
        after=after,
        verdict=verdict(found),
        verdict_after=after and verdict(after),
    )


def at(auroc: float) -> str:
    """Where an AUROC stands on the scale from 0.45 to 1, in percent of its width.

    >>> at(0.45), at(1.0)
    ('0.00', '100.00')
    """
    return f"{100 * (min(max(auroc, 0.45), 1.0) - 0.45) / 0.55:.2f}"


def span(attack: LeakAttack) -> str:
    """How wide its interval is on that scale."""
    assert attack.low is not None and attack.high is not None
    return f"{max(float(at(attack.high)) - float(at(attack.low)), 0.4):.2f}"
