"""The page's figures: tables (the set beside the paper's, edits) and plots as SVG."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import altair as alt
import msgspec
from markupsafe import Markup

from pipeline.benchmark.auditing.subset_audit import ScoreHistograms
from pipeline.benchmark.release.release_summary import compute_mean_words
from pipeline.benchmark.report.attack_summary import AttackRow
from pipeline.benchmark.report.pipeline_run import PipelineRun
from pipeline.core.records import Item, Record, Subset
from pipeline.core.rendering import chart_to_svg

MAX_SWAPS = 12
# Told apart by eyes that see red and green alike, and in print by the dashes of UQ.
AQ_COLOUR, UQ_COLOUR = "#1f6fb4", "#c8500a"
FIGURE_WIDTH = 470


class DatasetRow(Record, kw_only=False):
    """A row of RGQA's Table 1. Lengths are in words; `uq_percent` in percent; `supervised`: UQs for training, too."""

    name: str
    has_training_uqs: str
    uq_kind: str
    annotation: str
    images: str
    questions: str
    uq_percent: float
    pairs: int
    mean_length: float


# RGQA (ICCV 2023), Table 1, as printed.
COCO_AND_VISUAL_GENOME = "MSCOCO + Visual Genome", "VQAv1 + Visual Genome"
TABLE_1 = (
    DatasetRow("VTFQ", "yes", "UQ det.", "human", "MSCOCO", "VQAv1", 89.24, 31464, 7.53),
    DatasetRow("QRPE", "yes", "UQ det.", "generated", "MSCOCO", "VQAv1", 50.87, 35476, 7.76),
    DatasetRow("C2VQA", "yes", "UQ det.", "generated", "Visual Genome", "Visual Genome", 50.00, 29106, 7.10),
    DatasetRow("TDIUC", "yes", "VQA + UQ det.", "generated", *COCO_AND_VISUAL_GENOME, 22.17, 538868, 7.92),
    DatasetRow("VizWiz", "yes", "VQA + UQ det.", "human", "VizWiz", "VizWiz", 27.84, 8000, 8.10),
    DatasetRow("RGQA", "no", "VQA + UQ det.", "human", "GQA testdev", "GQA testdev", 52.22, 55637, 10.33),
)
# RGQA, section 3.1: UQs, and UQs + AQs.
RGQA_SIZES: dict[Subset, tuple[int, int]] = {
    "clip-easy": (5689, 11158),
    "clip-hard": (11264, 20325),
    "pt-easy": (6130, 12241),
    "pt-hard": (5963, 11913),
}


class EditStatistics(Record):
    """Edits of a PT subset: `per_item` counts the UQs that have so many, `taken_out` and `put_in` different words;
    `swaps` are the commonest edits: kind, old word, new word, how often."""

    edited_uqs: int
    uqs_by_num_edits: dict[int, int]
    removed_words: int
    inserted_words: int
    swaps: list[tuple[str, str, str, int]]


def make_dataset_row(run: PipelineRun) -> DatasetRow:
    """The set of this run as a row of Table 1. A pair is an item: an image with a question."""
    source = f"{run.folders.dataset} {run.split}"
    return DatasetRow(
        name=f"{run.release_params.title} {run.version}",
        has_training_uqs="no",
        uq_kind="VQA + UQ det.",
        annotation="rehearsal" if run.rehearsal else "simulated" if run.simulated else "human",
        images=source,
        questions=source,
        uq_percent=100 * sum(item.unanswerable for item in run.all_items) / len(run.all_items),
        pairs=len(run.all_items),
        mean_length=compute_mean_words(run.all_items),
    )


def count_edits(items: Sequence[Item]) -> EditStatistics | None:
    """Edits of one subset's UQs; None if nothing is edited in it."""
    edited = [item.edits for item in items if item.unanswerable and item.edits]
    swaps = Counter((edit.kind, edit.old.lower(), edit.new.lower()) for edits in edited for edit in edits)
    if not edited:
        return None
    commonest = sorted((*swap, count) for swap, count in swaps.items())
    commonest.sort(key=lambda swap: -swap[-1])
    return EditStatistics(
        edited_uqs=len(edited),
        uqs_by_num_edits=dict(sorted(Counter(map(len, edited)).items())),
        removed_words=len({old for _, old, _ in swaps}),
        inserted_words=len({new for _, _, new in swaps}),
        swaps=commonest[:MAX_SWAPS],
    )


def draw_histogram(histograms: ScoreHistograms, axis_range: tuple[float, float]) -> Markup:
    """Both histograms of a subset. `span` is the axis, the same for all subsets, so that they can be compared."""
    # A step is drawn from the lower edge of each bin; one more ends the last bin.
    steps = [
        {"kind": kind, "from": edge, "share": round(share, 6)}
        for kind, shares in (("AQ", histograms.aq), ("UQ", histograms.uq))
        for edge, share in zip(histograms.edges, (*shares, 0.0), strict=True)
    ]
    means = [
        {"kind": "AQ", "from": round(histograms.aq_mean, 6)},
        {"kind": "UQ", "from": round(histograms.uq_mean, 6)},
    ]
    x = alt.X(
        "from:Q",
        title="CLIP score (cosine of image and question)",
        scale=alt.Scale(domain=axis_range, nice=False),
    )
    y = alt.Y(
        "share:Q",
        title="share of its kind",
        stack=None,
        scale=alt.Scale(domain=[0, 1.06 * max(*histograms.aq, *histograms.uq)], nice=False),
        axis=alt.Axis(format="%", minExtent=34),
    )
    colour = alt.Color(
        "kind:N", scale=alt.Scale(domain=["AQ", "UQ"], range=[AQ_COLOUR, UQ_COLOUR]), legend=None
    )
    dash = alt.StrokeDash("kind:N", scale=alt.Scale(domain=["AQ", "UQ"], range=[[1, 0], [5, 3]]), legend=None)
    shares = _make_attack_chart(steps).encode(x=x, y=y, color=colour)
    area = shares.mark_area(interpolate="step-after", opacity=0.3)
    line = shares.mark_line(interpolate="step-after", strokeWidth=1.6).encode(strokeDash=dash)
    rule = _make_attack_chart(means).mark_rule(strokeWidth=1.2).encode(x=x, color=colour, strokeDash=dash)
    return _decorative_svg((area + line + rule).properties(width=FIGURE_WIDTH, height=180))


def draw_attacks(rows: Sequence[AttackRow]) -> Markup:
    """What every attacker reaches in one subset, with intervals, limits and the paper's rules beside."""
    shown = [msgspec.structs.asdict(row) for row in rows if row.auroc is not None]
    order = [row["attacker"] for row in shown]
    y = alt.Y("attacker:N", sort=order, title=None, axis=alt.Axis(minExtent=115))

    def x(field: str) -> alt.X:
        return alt.X(
            f"{field}:Q",
            title="AUROC, or 1 - AUROC if it is below 0.5",
            scale=alt.Scale(domain=[0.45, 1.0], nice=False, clamp=True),
            axis=alt.Axis(values=[0.5, 0.6, 0.7, 0.8, 0.9, 1.0], format=".1f"),
        )

    def having(field: str) -> alt.Chart:
        return _make_attack_chart(row for row in shown if row[field] is not None).encode(x=x(field), y=y)

    chart = (
        having("low").mark_rule(color=AQ_COLOUR, strokeWidth=3, opacity=0.45).encode(x2="high:Q")
        + having("auroc").mark_point(filled=True, size=70, color=AQ_COLOUR, opacity=1)
        + having("paper").mark_point(shape="diamond", size=75, color=UQ_COLOUR, strokeWidth=1.8, opacity=1)
        + having("limit").mark_tick(color="#111", thickness=2, size=20)
    )
    return _decorative_svg(chart.properties(width=FIGURE_WIDTH - 100, height=25 * len(order)))


def _make_attack_chart(rows: Iterable[dict[str, object]]) -> alt.Chart:
    return alt.Chart(alt.Data(values=list(rows)))


def _decorative_svg(chart: alt.LayerChart | alt.FacetChart) -> Markup:
    """SVG to stand in HTML: decoration for a reader of screens, whom the caption and the table beside it serve."""
    styled = chart.configure_view(stroke=None).configure_axis(
        labelFontSize=11, titleFontSize=11, titleFontWeight="normal", gridColor="#e8ebee"
    )
    return Markup(str(chart_to_svg(styled)).replace("<svg ", '<svg aria-hidden="true" focusable="false" ', 1))
