"""README.md of a release: the dataset card."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from pipeline.benchmark.release.card_metadata import card_data
from pipeline.benchmark.release.licences import NOT_STATED, licences_of
from pipeline.benchmark.release.parquet_table import columns_of, type_text
from pipeline.benchmark.release.release_summary import ReleaseFacts
from pipeline.benchmark.release.responsible_ai import limits, simulated
from pipeline.core.rendering import render

IN_ADDRESSES = ":/?#[]@!$&'()*+,;=%~"  # what an address may hold beside letters and digits (RFC 3986)


def card(f: ReleaseFacts, home: Path) -> str:
    """The card's text; its head is read from the tables in `home/data`."""
    return render(
        Path(__file__).parent / "card.md.jinja",
        {"type_text": type_text, "address": lambda address: quote(address, safe=IN_ADDRESSES)},
        front_matter=card_data(f, home),
        f=f,
        p=f.p,
        judged=f.judged,
        columns=columns_of(f.p.pictures),
        simulated=simulated(f),
        limits=limits(f),
        licences=licences_of(f.p),
        not_stated=NOT_STATED,
    )
