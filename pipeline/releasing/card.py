"""README.md of a release: the dataset card."""

from __future__ import annotations

from pathlib import Path

from pipeline.core.pages import render
from pipeline.releasing.card_data import card_data
from pipeline.releasing.licences import licences_of
from pipeline.releasing.release_facts import ReleaseFacts
from pipeline.releasing.responsible import limits, simulated


def card(f: ReleaseFacts, home: Path) -> str:
    """The card's text; its head is read from the tables in `home/data`."""
    return render(
        Path(__file__).parent / "card.md.jinja",
        front_matter=card_data(f, home),
        f=f,
        p=f.p,
        judged=f.judged,
        simulated=simulated(f),
        limits=limits(f),
        licences=licences_of(f.p),
    )
