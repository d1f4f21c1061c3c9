"""The page itself: everything put into the template, every text escaped, nothing fetched from anywhere."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from markupsafe import Markup

from pipeline.auditing.clip_histograms import histograms
from pipeline.auditing.subset_audit import AuditParams
from pipeline.core import params
from pipeline.core.errors import UserError
from pipeline.core.files import write_text
from pipeline.core.pages import render
from pipeline.core.paths import Folders
from pipeline.core.progress import done
from pipeline.releasing.card import HOW, PAIRING
from pipeline.reporting import charts, figures, sunburst
from pipeline.reporting.clip_scores import scores_by_kind, scores_of_edited
from pipeline.reporting.funnel import funnels, overview
from pipeline.reporting.gallery import MOST, gallery
from pipeline.reporting.run_files import Run, read_run

HERE = Path(__file__).parent


def report(out: Path | None = None, cards: int = 12) -> Path:
    """Write the page of the data set in use and return its path, data/<data set>/report.html if none is given.

    Args:
        cards: UQs of each subset in the gallery, 0 to 25.

    Raises:
        UserError: stages have not run, their reports contradict each other, or there are too many cards.
    """
    if not 0 <= cards <= MOST:
        raise UserError(
            f"--gallery is {cards}, wanted 0 to {MOST} items of each subset (more would make the page too heavy)"
        )
    folders = Folders()
    out = out or folders.home / "report.html"
    run = read_run(folders, params.version())
    html = page(run, cards)
    write_text(out, html)
    done("report", f"{len(html.encode()) / 1e6:.1f} MB, {len(run.all_items):,} items", out)
    return out


def page(run: Run, cards: int) -> str:
    """The whole page as HTML."""
    steps = funnels(run.reports, run.released)
    attacks = figures.attack_rows(run.audit, params.load("audit", AuditParams).limits)
    return render(
        HERE / "page.html.jinja",
        {"percent": lambda share, places=0: f"{100 * share:.{places}f} %"},
        run=run,
        css=Markup((HERE / "page.css").read_text(encoding="utf-8")),  # ours, and in it no text of the data
        how=HOW,
        pairing=PAIRING[run.reports["balance"]["rule"]],
        table_1=figures.TABLE_1,
        this_set=figures.this_set(run),
        sizes=figures.sizes(run),
        funnels=steps,
        overview=overview(steps),
        cards=gallery(run, cards),
        attacks=attacks,
        attack_svg={subset: charts.attack_svg(rows) for subset, rows in attacks.items()},
        edits={subset: figures.edits(items) for subset, items in run.items.items()},
        **_clip(run),
        **_words(run),
    )


def _clip(run: Run) -> dict[str, Any]:
    """Histograms of every subset; `clip_missing` says why edited questions have no score, where they have none."""
    edited: dict[str, float] = {}
    missing = ""
    try:
        edited = scores_of_edited(run.all_items, run.folders)
    except UserError as error:
        missing = error.problems[0]
        print(f"warning: edited questions are shown without CLIP scores: {missing}", file=sys.stderr)
    scores = {subset: scores_by_kind(items, edited) for subset, items in run.items.items()}
    drawn = {subset: made for subset, kinds in scores.items() if (made := histograms(*kinds))}
    # One axis for all, so that they can be compared.
    edges = [edge for histogram in drawn.values() for edge in histogram.edges]
    return {
        "histograms": drawn,
        "unscored": {
            subset: len(items) - sum(map(len, scores[subset])) for subset, items in run.items.items()
        },
        "clip_missing": missing,
        "histogram_svg": {
            subset: charts.histogram_svg(histogram, (min(edges), max(edges)))
            for subset, histogram in drawn.items()
        },
    }


def _words(run: Run) -> dict[str, Any]:
    """The sunbursts of AQ and UQ over all subsets, the first words of both in one order and colour."""
    texts = {
        kind: [item.text for item in run.all_items if item.unanswerable == uq]
        for kind, uq in (("AQ", False), ("UQ", True))
    }
    counts = {kind: sunburst.starts(asked) for kind, asked in texts.items()}
    order = [
        start.words for start in sunburst.common_starts(counts["AQ"], counts["UQ"], 1, len(run.all_items))
    ]
    return {
        "rings": {kind: sunburst.arcs(counted, order) for kind, counted in counts.items()},
        "fewest": sunburst.FEWEST,
        "asked": {kind: len(asked) for kind, asked in texts.items()},
        "starts": {depth: sunburst.common_starts(counts["AQ"], counts["UQ"], depth, 10) for depth in (1, 3)},
    }
