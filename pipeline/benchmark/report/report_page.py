"""Write the report of a run: a self-contained HTML page in which all texts of the data are escaped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from markupsafe import Markup

from pipeline.benchmark.auditing.subset_audit import AuditParams, ScoreHistograms, compute_histograms
from pipeline.benchmark.release.release_summary import PAIRING_DESCRIPTIONS, SUBSET_DESCRIPTIONS, count_subset
from pipeline.benchmark.report import attack_summary, figures, sunburst
from pipeline.benchmark.report.funnel import make_funnels, summarize_funnels
from pipeline.benchmark.report.gallery import MAX_CARDS, make_gallery
from pipeline.benchmark.report.pipeline_run import PipelineRun
from pipeline.core import params
from pipeline.core.atomic_files import write_text
from pipeline.core.errors import UserError
from pipeline.core.paths import DatasetFolders
from pipeline.core.progress import report_written
from pipeline.core.records import SUBSETS
from pipeline.core.rendering import render_template, resolve_page_path

TEMPLATE_DIR = Path(__file__).parent


def write_report(out: Path | None = None, num_cards: int = 12) -> Path:
    """Write the report of the current data set.

    Args:
        out: The HTML file. None means data/<data set>/report.html.
        num_cards: Number of unanswerable questions (UQs) of each subset in the gallery, 0 to 25.

    Returns:
        The path of the page.

    Raises:
        UserError: Stages have not run, their reports contradict each other, or `num_cards` is out of range.
    """
    if not 0 <= num_cards <= MAX_CARDS:
        raise UserError(
            f"--examples-per-subset {num_cards}: expected 0 to {MAX_CARDS}, so that the page stays below 10 MB"
        )
    folders = DatasetFolders()
    out = resolve_page_path(folders, out, "report.html")
    run = PipelineRun(folders, params.read_release_version())
    html = render_page(run, num_cards)
    write_text(out, html)
    report_written("report", f"{len(html.encode()) / 1e6:.1f} MB, {len(run.all_items):,} items", out)
    return out


def render_page(run: PipelineRun, num_cards: int) -> str:
    """Return the page as HTML. `num_cards` is explained in `write_report`."""
    steps = make_funnels(run.reports, run.released_uqs)
    attacks = attack_summary.make_attack_rows(
        run.audit, params.load_params("audit", AuditParams).max_text_auroc, run.paper_rules
    )
    return render_template(
        TEMPLATE_DIR / "page.html.jinja",
        {"percent": lambda proportion, decimals=0: f"{100 * proportion:.{decimals}f} %"},
        run=run,
        # The style sheet is part of the project and contains no text of the data.
        css=Markup((TEMPLATE_DIR / "page.css").read_text(encoding="utf-8")),
        descriptions=SUBSET_DESCRIPTIONS,
        pairing=PAIRING_DESCRIPTIONS[run.reports["balance"]["rule"]],
        table_1=figures.TABLE_1,
        this_set=figures.make_dataset_row(run),
        sizes={subset: count_subset(subset, run.items.get(subset, [])) for subset in SUBSETS},
        rgqa_sizes=figures.RGQA_SIZES,
        funnels=steps,
        overview=summarize_funnels(steps),
        cards=make_gallery(run, num_cards),
        finding=attack_summary.summarize_attacks(attacks),
        attacks=attacks,
        attack_svg={subset: figures.draw_attacks(rows) for subset, rows in attacks.items()},
        edits={subset: figures.count_edits(items) for subset, items in run.items.items()},
        **_make_clip_histograms(run),
        **_make_sunbursts(run),
    )


def _make_clip_histograms(run: PipelineRun) -> dict[str, Any]:
    """Return the score histograms of every subset, and the number of items without a score.

    Subsets without scores of answerable questions (AQs) or of UQs have no histograms.
    """
    histograms: dict[str, ScoreHistograms] = {}
    unscored = {}
    for subset, items in run.items.items():
        known = [(item.unanswerable, item.score) for item in items if item.score is not None]
        unscored[subset] = len(items) - len(known)
        aqs, uqs = (
            [score for unanswerable, score in known if unanswerable == kind] for kind in (False, True)
        )
        if histogram := compute_histograms(aqs, uqs):
            histograms[subset] = histogram
    # All subsets have the same axis, so that they can be compared.
    edges = [edge for histogram in histograms.values() for edge in histogram.edges]
    return {
        "histograms": histograms,
        "unscored": unscored,
        "histogram_svg": {
            subset: figures.draw_histogram(histogram, (min(edges), max(edges)))
            for subset, histogram in histograms.items()
        },
    }


def _make_sunbursts(run: PipelineRun) -> dict[str, Any]:
    """Return the sunbursts of AQs and UQs over all subsets.

    Both sunbursts have the same order and colours of the first words.
    """
    texts = {
        kind: [item.text for item in run.all_items if item.unanswerable == uq]
        for kind, uq in (("AQ", False), ("UQ", True))
    }
    counts = {kind: sunburst.count_starts(questions) for kind, questions in texts.items()}
    common = {depth: sunburst.find_common_starts(counts["AQ"], counts["UQ"], depth) for depth in (1, 3)}
    order = [start.words for start in common[1]]
    return {
        "rings": {kind: sunburst.make_arcs(counted, order) for kind, counted in counts.items()},
        "ring_width": sunburst.RING_WIDTH,
        "min_proportion": sunburst.MIN_PROPORTION,
        "num_questions": {kind: len(questions) for kind, questions in texts.items()},
        "starts": {depth: rows[:10] for depth, rows in common.items()},
    }
