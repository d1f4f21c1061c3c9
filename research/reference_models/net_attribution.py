"""What a net of a data set's own looked at: its attention over regions, and Grad-CAM on the map of its tower."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from pipeline.core.errors import UserError
from pipeline.inference.attribution.attribution_maps import spread
from pipeline.inference.attribution.grad_cam import grad_cam, hires_cam
from pipeline.inference.attribution.panels import METHODS, Marked, Panel, Sighting
from research.reference_models.image_towers import Tower
from research.reference_models.inference import Asked, load_net, one_thread
from research.reference_models.match_net import Output
from research.reference_models.net_files import HEAD, OWN_HEAD, SEES
from research.reference_models.region_head import SURE, RegionHead, decoded, load_head, load_tower

NOTED = 0.1  # the weight from which on a region is marked
WHOLE = "the whole picture"


class RegionsFound(NamedTuple):
    """Of n times the same picture: boxes [n, M, 4], kinds and scores [n, M - 1], of the region head; the last is the whole."""

    boxes: Tensor
    kinds: Tensor
    scores: Tensor


class NetAndHead(nn.Module):
    """All that comes after the tower: from maps [n, C, h, w] and words [n, L] to regions, and to what the net makes of them.

    It sees what stage `answer` lets it see: features rounded to float16, boxes to float32. The gradient passes by the rounding.
    """

    def __init__(self, head: RegionHead, net: nn.Module) -> None:
        super().__init__()
        self.head, self.net = head, net

    def forward(self, maps: Tensor, tokens: Tensor) -> tuple[RegionsFound, Output]:
        features, boxes, kinds, scores = self.head.found(maps)
        features = features + (features.half().to(features) - features).detach()
        boxes = boxes + (boxes.float().to(boxes) - boxes).detach()
        return RegionsFound(boxes, kinds, scores), self.net(tokens, features, boxes)


class NetSight:
    """A net with its tower and region head, in float64 as stage `answer` asks it.

    Raises:
        UserError: a file cannot be read; the net sees no picture, or regions that have no place in it.
    """

    def __init__(self, vqa: Path, clip: Path, path: Path) -> None:
        name = path.stem.rpartition("-")[0]
        self.asked: Asked = load_net(path, exact=True)
        kind = SEES.get(name, "found")
        if self.asked.net.shape.blind or kind in ("told", "true"):
            why = {
                "told": "sees a caption, without places",
                "true": "sees the truth, which is not opened here",
            }
            raise UserError(
                f"{path}: this net {why.get(kind, 'sees no picture')}, so there is nothing to show"
            )
        file = vqa / (OWN_HEAD if kind == "own" else HEAD)
        self.tower: Tower = load_tower(file, clip).double()
        self.rest = NetAndHead(load_head(file), self.asked.net).double().eval()

    def tokens(self, texts: Sequence[str]) -> Tensor:
        """Words of questions as numbers [n, L]."""
        return torch.from_numpy(self.asked.words.numbers(texts))

    def look(self, picture: Path, texts: Sequence[str], picture_id: str = "") -> list[Sighting]:
        """What it made of questions of one picture.

        Raises:
            UserError: the picture is missing or cannot be read.
        """
        try:
            pixels = decoded([picture], self.tower.size)
        except (OSError, ValueError) as error:
            raise UserError(
                f"{picture}: the picture is missing or cannot be read ({error}); restore it"
            ) from error
        with one_thread():
            maps = self.tower.maps(pixels).clone().expand(len(texts), -1, -1, -1).clone().requires_grad_()
            found, output = self.rest(maps, self.tokens(texts))
            # Rows do not touch each other, so the gradient of the sum is each row's own.
            best = output.logits.max(1)
            (slope,) = torch.autograd.grad(best.values.sum(), (maps,))
        assert output.attention is not None
        return [
            Sighting(
                self.asked.answers[best.indices[row]],
                float(torch.sigmoid(best.values[row].detach())),
                (
                    *_looked(self._marks(found, row), _numpy(output.attention[row])),
                    *_speaking(_numpy(maps[row]), _numpy(slope[row])),
                ),
            )
            for row in range(len(texts))
        ]

    def _marks(self, found: RegionsFound, row: int) -> list[Marked]:
        names = [self.rest.head.names.kinds[kind] for kind in found.kinds[row].tolist()] + [WHOLE]
        boxes, scores = _numpy(found.boxes[row]).tolist(), [*found.scores[row].tolist(), 1.0]
        return [Marked(*one) for one in zip(names, map(tuple, boxes), scores, strict=True)]  # pyright: ignore[reportArgumentType]


def _looked(regions: Sequence[Marked], attention: np.ndarray) -> list[Panel]:
    """Panels of what was found (each thing by its score) and of the attention [glances, M] on it."""
    boxes = np.array([region.box for region in regions])
    things = regions[:-1]
    sure = tuple(thing for thing in things if thing.score > SURE)
    found = spread(np.array([thing.score for thing in things]), boxes[:-1])
    panels = [Panel("detections", METHODS["detections"], found, sure, heat=False)]
    parts = {"attention": attention.mean(0)} | {
        f"glance-{number}": weights for number, weights in enumerate(attention, 1)
    }
    for method, weights in parts.items():
        title = METHODS.get(method, f"Its {method.replace('-', ' ')}")
        marks = tuple(
            region._replace(score=float(weight))
            for region, weight in zip(regions, weights, strict=True)
            if weight >= NOTED
        )
        panels.append(Panel(method, title, spread(weights, boxes), marks, folded=method != "attention"))
    return panels


def _speaking(maps: np.ndarray, slope: np.ndarray) -> Iterator[Panel]:
    for method, grid in (("grad-cam", grad_cam(maps, slope)), ("hires-cam", hires_cam(maps, slope))):
        nothing = "no cell speaks for it, so all count alike" if np.ptp(grid) == 0 else ""
        yield Panel(method, METHODS[method], grid, note=nothing)


def _numpy(values: Tensor) -> np.ndarray:
    return values.detach().numpy()
