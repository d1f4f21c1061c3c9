"""The page itself: everything put into the template, every text escaped, nothing fetched from anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from markupsafe import Markup

from pipeline.benchmark.auditing.subset_audit import AuditParams, Histograms, histograms
from pipeline.benchmark.release.release_summary import HOW, PAIRING, counted
from pipeline.benchmark.report import attack_summary, figures, sunburst
from pipeline.benchmark.report.funnel import funnels, overview
from pipeline.benchmark.report.gallery import MOST, gallery
from pipeline.benchmark.report.pipeline_run import Run
from pipeline.core import params
from pipeline.core.atomic_files import write_text
from pipeline.core.errors import UserError
from pipeline.core.paths import Folders
from pipeline.core.progress import done
from pipeline.core.records import SUBSETS
from pipeline.core.rendering import page_of, render

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
    out = page_of(folders, out, "report.html")
    run = Run(folders, params.version())
    html = page(run, cards)
    write_text(out, html)
    done("report", f"{len(html.encode()) / 1e6:.1f} MB, {len(run.all_items):,} items", out)
    return out


def page(run: Run, cards: int) -> str:
    """The whole page as HTML."""
    steps = funnels(run.reports, run.released)
    attacks = attack_summary.attack_rows(run.audit, params.load("audit", AuditParams).limits, run.paper_rules)
    return render(
        HERE / "page.html.jinja",
        {"percent": lambda share, places=0: f"{100 * share:.{places}f} %"},
        run=run,
        css=Markup((HERE / "page.css").read_text(encoding="utf-8")),  # ours, and in it no text of the data
        how=HOW,
        pairing=PAIRING[run.reports["balance"]["rule"]],
        table_1=figures.TABLE_1,
        this_set=figures.this_set(run),
        sizes={subset: counted(subset, run.items.get(subset, [])) for subset in SUBSETS},
        rgqa_sizes=figures.RGQA_SIZES,
        funnels=steps,
        overview=overview(steps),
        cards=gallery(run, cards),
        finding=attack_summary.finding(attacks),
        attacks=attacks,
        attack_svg={subset: figures.attack_svg(rows) for subset, rows in attacks.items()},
        edits={subset: figures.edits(items) for subset, items in run.items.items()},
        **_clip(run),
        **_words(run),
    )


def _clip(run: Run) -> dict[str, Any]:
    """Histograms of every subset where both kinds have scores; `unscored` counts the items that have none."""
    drawn: dict[str, Histograms] = {}
    unscored = {}
    for subset, items in run.items.items():
        known = [(item.unanswerable, item.score) for item in items if item.score is not None]
        unscored[subset] = len(items) - len(known)
        aqs, uqs = (
            [score for unanswerable, score in known if unanswerable == kind] for kind in (False, True)
        )
        if made := histograms(aqs, uqs):
            drawn[subset] = made
    # One axis for all, so that they can be compared.
    edges = [edge for histogram in drawn.values() for edge in histogram.edges]
    return {
        "histograms": drawn,
        "unscored": unscored,
        "histogram_svg": {
            subset: figures.histogram_svg(made, (min(edges), max(edges))) for subset, made in drawn.items()
        },
    }


def _words(run: Run) -> dict[str, Any]:
    """The sunbursts of AQ and UQ over all subsets, the first words of both in one order and colour."""
    texts = {
        kind: [item.text for item in run.all_items if item.unanswerable == uq]
        for kind, uq in (("AQ", False), ("UQ", True))
    }
    counts = {kind: sunburst.starts(asked) for kind, asked in texts.items()}
    common = {depth: sunburst.common_starts(counts["AQ"], counts["UQ"], depth) for depth in (1, 3)}
    order = [start.words for start in common[1]]
    return {
        "rings": {kind: sunburst.arcs(counted, order) for kind, counted in counts.items()},
        "ring": sunburst.RING,
        "fewest": sunburst.FEWEST,
        "asked": {kind: len(asked) for kind, asked in texts.items()},
        "starts": {depth: rows[:10] for depth, rows in common.items()},
    }
