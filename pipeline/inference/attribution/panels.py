"""The panels of an attribution page: what is drawn over the image, and its title."""

from __future__ import annotations

import re
from typing import NamedTuple

from pipeline.inference.attribution.attribution_maps import AttributionMap

METHOD_TITLES = {
    "attention": "Attention to regions, mean over glances",
    "grad-cam": "Grad-CAM of the answer on the image's feature map",
    "hires-cam": "HiResCAM of the answer on the image's feature map",
    "detections": "Detected objects",
    "rollout": "Attention rollout from the question's first token to the patches",
    "cross-attention": "Cross-attention, mean over the question's words",
}


# Methods with a number: the glances of the sample's nets at the image, and the words of a question.
NUMBERED_METHOD = re.compile(r"(?:glance|word)-\d{1,3}", re.ASCII)


def is_known_method(name: str) -> bool:
    """Return whether any model has a method of this name. A single model has only some of them.

    >>> is_known_method("rollout"), is_known_method("glance-2"), is_known_method("roll-out")
    (True, True, False)
    """
    return name in METHOD_TITLES or bool(NUMBERED_METHOD.fullmatch(name))


class BoxMark(NamedTuple):
    """An object, region or word in an image.

    Attributes:
        text: Name of the object or region, or the word.
        box: Left, top, right, bottom as fractions of the image size.
        score: Confidence or weight of the mark.
    """

    text: str
    box: tuple[float, float, float, float]
    score: float


class Panel(NamedTuple):
    """The result of one attribution method.

    Attributes:
        method: Name of the method.
        title: Heading of the panel.
        attribution_map: The map.
        marks: Boxes to draw.
        show_heatmap: Whether the map is drawn. If not, only the marks are drawn.
        is_collapsed: Whether the panel is hidden until the user opens it.
        note: Remark below the panel; "" for none.
    """

    method: str
    title: str
    attribution_map: AttributionMap
    marks: tuple[BoxMark, ...] = ()
    show_heatmap: bool = True
    is_collapsed: bool = False
    note: str = ""


class Attribution(NamedTuple):
    """An answer of a model, and the parts of the image that it used.

    Attributes:
        answer: The answer.
        probability: The model's probability of the answer.
        panels: One panel per method.
    """

    answer: str
    probability: float
    panels: tuple[Panel, ...]

    def get_panel(self, method: str) -> Panel:
        """Return the panel of a method.

        Raises:
            KeyError: There is no such panel.
        """
        return {panel.method: panel for panel in self.panels}[method]
