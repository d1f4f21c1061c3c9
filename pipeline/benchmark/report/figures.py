"""Make the tables and plots of the report: comparison with RGQA's sets, edits, CLIP scores and attackers."""

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
# These colours can be distinguished with red-green colour blindness. Lines of UQs are dashed, so that they
# can also be distinguished in black and white.
AQ_COLOUR, UQ_COLOUR = "#1f6fb4", "#c8500a"
FIGURE_WIDTH = 470


class DatasetRow(Record, kw_only=False):
    """A row of RGQA's Table 1.

    Attributes:
        name: Name of the set.
        has_training_uqs: Whether the set also has unanswerable questions (UQs) for training, "yes" or "no".
        uq_kind: The task: detection of UQs only, or also visual question answering (VQA).
        annotation: How the UQs were made: "human" or "generated".
        images, questions: Sources of the images and of the questions.
        uq_percent: Percentage of UQs, 0 to 100.
        pairs: Number of pairs of an image and a question.
        mean_length: Mean length of a question in words.
    """

    name: str
    has_training_uqs: str
    uq_kind: str
    annotation: str
    images: str
    questions: str
    uq_percent: float
    pairs: int
    mean_length: float


# Table 1 of RGQA (ICCV 2023), as printed.
COCO_AND_VISUAL_GENOME = "MSCOCO + Visual Genome", "VQAv1 + Visual Genome"
TABLE_1 = (
    DatasetRow("VTFQ", "yes", "UQ det.", "human", "MSCOCO", "VQAv1", 89.24, 31464, 7.53),
    DatasetRow("QRPE", "yes", "UQ det.", "generated", "MSCOCO", "VQAv1", 50.87, 35476, 7.76),
    DatasetRow("C2VQA", "yes", "UQ det.", "generated", "Visual Genome", "Visual Genome", 50.00, 29106, 7.10),
    DatasetRow("TDIUC", "yes", "VQA + UQ det.", "generated", *COCO_AND_VISUAL_GENOME, 22.17, 538868, 7.92),
    DatasetRow("VizWiz", "yes", "VQA + UQ det.", "human", "VizWiz", "VizWiz", 27.84, 8000, 8.10),
    DatasetRow("RGQA", "no", "VQA + UQ det.", "human", "GQA testdev", "GQA testdev", 52.22, 55637, 10.33),
)
# Number of UQs, and number of UQs and AQs together, from section 3.1 of RGQA.
RGQA_SIZES: dict[Subset, tuple[int, int]] = {
    "clip-easy": (5689, 11158),
    "clip-hard": (11264, 20325),
    "pt-easy": (6130, 12241),
    "pt-hard": (5963, 11913),
}


class EditStatistics(Record):
    """Edits of a PT subset.

    Attributes:
        edited_uqs: Number of UQs with edits.
        uqs_by_num_edits: Number of edits -> number of UQs.
        removed_words, inserted_words: Number of distinct words that were removed, and that were inserted.
        swaps: The most frequent edits, as (kind, old word, new word, count).
    """

    edited_uqs: int
    uqs_by_num_edits: dict[int, int]
    removed_words: int
    inserted_words: int
    swaps: list[tuple[str, str, str, int]]


def _name_annotation(run: PipelineRun) -> str:
    """Name who judged the set of this run, for Table 1."""
    if run.rehearsal:
        return "rehearsal"
    if run.simulated:
        return "simulated"
    return "models" if run.release_params.is_annotated_by_models else "human"


def make_dataset_row(run: PipelineRun) -> DatasetRow:
    """Return the set of this run as a row of Table 1. A pair is an item: an image with a question."""
    source = f"{run.folders.dataset} {run.split}"
    return DatasetRow(
        name=f"{run.release_params.title} {run.version}",
        has_training_uqs="no",
        uq_kind="VQA + UQ det.",
        annotation=_name_annotation(run),
        images=source,
        questions=source,
        uq_percent=100 * sum(item.unanswerable for item in run.all_items) / len(run.all_items),
        pairs=len(run.all_items),
        mean_length=compute_mean_words(run.all_items),
    )


def count_edits(items: Sequence[Item]) -> EditStatistics | None:
    """Return statistics on the edits of one subset, or None if the subset has no edited questions."""
    edited = [item.edits for item in items if item.unanswerable and item.edits]
    swaps = Counter((edit.kind, edit.old.lower(), edit.new.lower()) for edits in edited for edit in edits)
    if not edited:
        return None
    most_frequent = sorted((*swap, count) for swap, count in swaps.items())
    most_frequent.sort(key=lambda swap: -swap[-1])
    return EditStatistics(
        edited_uqs=len(edited),
        uqs_by_num_edits=dict(sorted(Counter(map(len, edited)).items())),
        removed_words=len({old for _, old, _ in swaps}),
        inserted_words=len({new for _, _, new in swaps}),
        swaps=most_frequent[:MAX_SWAPS],
    )


def draw_histogram(histograms: ScoreHistograms, axis_range: tuple[float, float]) -> Markup:
    """Draw the histograms of the CLIP scores of AQs and UQs of a subset.

    Args:
        histograms: The histograms.
        axis_range: The range of the x axis, the same for all subsets so that they can be compared.
    """
    # A step starts at the lower edge of each bin. An additional step ends the last bin.
    steps = [
        {"kind": kind, "from": edge, "proportion": round(proportion, 6)}
        for kind, proportions in (("AQ", histograms.aq), ("UQ", histograms.uq))
        for edge, proportion in zip(histograms.edges, (*proportions, 0.0), strict=True)
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
        "proportion:Q",
        title="proportion",
        stack=None,
        scale=alt.Scale(domain=[0, 1.06 * max(*histograms.aq, *histograms.uq)], nice=False),
        axis=alt.Axis(format="%", minExtent=34),
    )
    colour = alt.Color(
        "kind:N", scale=alt.Scale(domain=["AQ", "UQ"], range=[AQ_COLOUR, UQ_COLOUR]), legend=None
    )
    dash = alt.StrokeDash("kind:N", scale=alt.Scale(domain=["AQ", "UQ"], range=[[1, 0], [5, 3]]), legend=None)
    bins = _make_chart(steps).encode(x=x, y=y, color=colour)
    area = bins.mark_area(interpolate="step-after", opacity=0.3)
    line = bins.mark_line(interpolate="step-after", strokeWidth=1.6).encode(strokeDash=dash)
    rule = _make_chart(means).mark_rule(strokeWidth=1.2).encode(x=x, color=colour, strokeDash=dash)
    return _decorative_svg((area + line + rule).properties(width=FIGURE_WIDTH, height=180))


def draw_attacks(rows: Sequence[AttackRow]) -> Markup:
    """Draw the AUROC of every attacker on one subset.

    The plot also has intervals, limits, and the AUROC on the items that RGQA's rules make.
    """
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

    def rows_with(field: str) -> alt.Chart:
        return _make_chart(row for row in shown if row[field] is not None).encode(x=x(field), y=y)

    chart = (
        rows_with("low").mark_rule(color=AQ_COLOUR, strokeWidth=3, opacity=0.45).encode(x2="high:Q")
        + rows_with("auroc").mark_point(filled=True, size=70, color=AQ_COLOUR, opacity=1)
        + rows_with("paper_auroc").mark_point(
            shape="diamond", size=75, color=UQ_COLOUR, strokeWidth=1.8, opacity=1
        )
        + rows_with("limit").mark_tick(color="#111", thickness=2, size=20)
    )
    return _decorative_svg(chart.properties(width=FIGURE_WIDTH - 100, height=25 * len(order)))


def _make_chart(rows: Iterable[dict[str, object]]) -> alt.Chart:
    return alt.Chart(alt.Data(values=list(rows)))


def _decorative_svg(chart: alt.LayerChart | alt.FacetChart) -> Markup:
    """Return an SVG that screen readers skip, because a caption and a table have the same content."""
    styled = chart.configure_view(stroke=None).configure_axis(
        labelFontSize=11, titleFontSize=11, titleFontWeight="normal", gridColor="#e8ebee"
    )
    return Markup(str(chart_to_svg(styled)).replace("<svg ", '<svg aria-hidden="true" focusable="false" ', 1))
