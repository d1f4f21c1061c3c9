"""README.md of a release: the dataset card."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from pipeline.benchmark.release.card_metadata import render_card_metadata
from pipeline.benchmark.release.licences import IMAGE_LICENCE_NOT_STATED, get_licences
from pipeline.benchmark.release.parquet_table import format_type, table_columns
from pipeline.benchmark.release.release_summary import ReleaseSummary
from pipeline.benchmark.release.responsible_ai import list_limitations, list_simulated_parts
from pipeline.core.rendering import render_template

URL_SAFE_CHARACTERS = ":/?#[]@!$&'()*+,;=%~"  # what an address may hold beside letters and digits (RFC 3986)


def render_card(summary: ReleaseSummary, folder: Path) -> str:
    """The card's text; its head is read from the tables in `home/data`."""
    return render_template(
        Path(__file__).parent / "card.md.jinja",
        {"type_text": format_type, "address": lambda address: quote(address, safe=URL_SAFE_CHARACTERS)},
        front_matter=render_card_metadata(summary, folder),
        f=summary,
        p=summary.params,
        judged=summary.vote_counts,
        columns=table_columns(summary.params.include_images),
        simulated=list_simulated_parts(summary),
        limits=list_limitations(summary),
        licences=get_licences(summary.params),
        not_stated=IMAGE_LICENCE_NOT_STATED,
    )
