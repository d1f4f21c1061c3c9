"""What there is to be drawn over an image, and what it is called."""

from __future__ import annotations

from typing import NamedTuple

from pipeline.inference.attribution.attribution_maps import AttributionMap

METHOD_TITLES = {
    "attention": "Where it looked: its attention over regions, mean of its glances",
    "grad-cam": "What speaks for its answer: Grad-CAM on the picture's map",
    "hires-cam": "The same cell by cell: HiResCAM",
    "detections": "What it found",
    "rollout": "Where it looked: attention rollout from the question's first token over patches",
    "cross-attention": "Where it looked: cross-attention, mean over the question's words",
}


class BoxMark(NamedTuple):
    """A thing, region or word in an image: box (left, top, right, bottom; shares of the image), and a score or weight."""

    text: str
    box: tuple[float, float, float, float]
    score: float


class Panel(NamedTuple):
    """One way of seeing. `heat`: whether the grid is drawn (else the marks alone). `folded`: shown on a click."""

    method: str
    title: str
    attribution_map: AttributionMap
    marks: tuple[BoxMark, ...] = ()
    show_heatmap: bool = True
    is_collapsed: bool = False
    note: str = ""


class Attribution(NamedTuple):
    """What a model said to a question of an image, and how it came by it. `probability`: its own, of the answer."""

    answer: str
    probability: float
    panels: tuple[Panel, ...]

    def get_panel(self, method: str) -> Panel:
        """That of a method.

        Raises:
            KeyError: there is none.
        """
        return {panel.method: panel for panel in self.panels}[method]
