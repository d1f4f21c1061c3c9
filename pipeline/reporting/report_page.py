"""The page itself: everything put into the template, every text escaped, nothing fetched from anywhere."""

from __future__ import annotations

import sys
from pathlib import Path

import jinja2
from markupsafe import Markup

from pipeline.core import params
from pipeline.core.errors import UserError
from pipeline.core.files import replacing
from pipeline.core.paths import Folders
from pipeline.core.progress import done
from pipeline.core.records import SUBSETS
from pipeline.releasing.card import HOW, PAIRING
from pipeline.reporting import charts, figures, sunburst
from pipeline.reporting.clip_scores import histograms, scores_of_edited
from pipeline.reporting.funnel import funnels, overview
from pipeline.reporting.gallery import MOST, gallery
from pipeline.reporting.run_files import Run, read_run
from pipeline.stages.audit import AuditParams

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
    data = page(run, cards).encode()
    with replacing(out) as file:
        file.write(data)
    done("report", f"{len(data) / 1e6:.1f} MB, {sum(map(len, run.items.values())):,} items", out)
    return out


def page(run: Run, cards: int) -> str:
    """The whole page as HTML."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": lambda n: f"{n:,}",
        "percent": lambda share, places=0: f"{100 * share:.{places}f} %",
    }
    steps = funnels(run.reports, run.released)
    return environment.get_template("page.html.jinja").render(
        run=run,
        css=Markup((HERE / "page.css").read_text(encoding="utf-8")),  # ours, and in it no text of the data
        subsets=SUBSETS,
        how=HOW,
        pairing=PAIRING[run.reports["balance"]["rule"]],
        warnings=run.reports["audit"]["warnings"],
        collect=run.reports["collect"],
        model=run.reports["embed"]["model"],
        table_1=figures.TABLE_1,
        this_set=figures.this_set(run),
        sizes=figures.sizes(run),
        funnels=steps,
        overview=overview(steps),
        cards=gallery(run, cards),
        **_clip(run),
        **_words(run),
        **_attacks(run),
        categories=figures.categories(run),
        edits={subset: figures.edits(items) for subset, items in run.items.items()},
    )


def _clip(run: Run) -> dict[str, object]:
    """Histograms of every subset; `clip_missing` says why edited questions have no score, where they have none."""
    try:
        edited, missing = (
            scores_of_edited([item for rows in run.items.values() for item in rows], run.folders),
            "",
        )
    except UserError as error:
        edited, missing = {}, error.problems[0]
        print(f"warning: edited questions are shown without CLIP scores: {missing}", file=sys.stderr)
    found = {subset: made for subset, items in run.items.items() if (made := histograms(items, edited))}
    span = charts.span_of(found) if found else (0.0, 1.0)
    return {
        "histograms": found,
        "clip_missing": missing,
        "histogram_svg": {subset: Markup(charts.histogram_svg(made, span)) for subset, made in found.items()},
    }


def _words(run: Run) -> dict[str, object]:
    """The sunbursts of AQ and UQ over all subsets, the first words of both in one order and colour."""
    items = [item for rows in run.items.values() for item in rows]
    counts = {
        name: sunburst.starts(item.text for item in items if item.unanswerable == uq)
        for name, uq in (("AQ", False), ("UQ", True))
    }
    order = [start.words for start in sunburst.common_starts(counts["AQ"], counts["UQ"], 1, len(items))]
    return {
        "rings": {name: sunburst.arcs(found, order) for name, found in counts.items()},
        "sunburst": sunburst,
        "asked": {
            name: sum(n for words, n in found.items() if len(words) == 1) for name, found in counts.items()
        },
        "starts": {depth: sunburst.common_starts(counts["AQ"], counts["UQ"], depth, 10) for depth in (1, 3)},
    }


def _attacks(run: Run) -> dict[str, object]:
    found = figures.reaches(run, params.load("audit", AuditParams).limits)
    return {
        "reaches": found,
        "attack_svg": {subset: Markup(charts.attack_svg(rows)) for subset, rows in found.items()},
    }
