"""What a net of a data set's own looked at: its attention over regions, and Grad-CAM on the map of its tower."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from pipeline.core.errors import UserError
from pipeline.inference.attribution.attribution_maps import rasterize_boxes
from pipeline.inference.attribution.grad_cam import compute_grad_cam, compute_hires_cam
from pipeline.inference.attribution.panels import METHOD_TITLES, Attribution, BoxMark, Panel
from research.reference_models.image_towers import ImageTower
from research.reference_models.inference import LoadedModel, load_net, single_threaded
from research.reference_models.match_net import Output
from research.reference_models.net_files import OWN_TOWER_HEAD_FILE, REGION_HEAD_FILE, REGION_SOURCES
from research.reference_models.region_head import (
    DETECTION_THRESHOLD,
    RegionHead,
    load_head,
    load_images,
    load_tower,
)

MIN_MARK_WEIGHT = 0.1  # the weight from which on a region is marked
WHOLE_IMAGE = "the whole image"


class DetectedRegions(NamedTuple):
    """Of n times the same image: boxes [n, M, 4], kinds and scores [n, M - 1], of the region head; the last is the whole."""

    boxes: Tensor
    kinds: Tensor
    scores: Tensor


class HeadWithNet(nn.Module):
    """All that comes after the tower: from maps [n, C, h, w] and words [n, L] to regions, and to what the net makes of them.

    It sees what stage `answer` lets it see: features rounded to float16, boxes to float32. The gradient passes by the rounding.
    """

    def __init__(self, head: RegionHead, net: nn.Module) -> None:
        super().__init__()
        self.head, self.net = head, net

    def forward(self, maps: Tensor, tokens: Tensor) -> tuple[DetectedRegions, Output]:
        features, boxes, kinds, scores = self.head.detect(maps)
        features = features + (features.half().to(features) - features).detach()
        boxes = boxes + (boxes.float().to(boxes) - boxes).detach()
        return DetectedRegions(boxes, kinds, scores), self.net(tokens, features, boxes)


class NetAttributor:
    """A net with its tower and region head, in float64 as stage `answer` asks it.

    Raises:
        UserError: a file cannot be read; the net sees no image, or regions that have no place in it.
    """

    def __init__(self, vqa: Path, clip: Path, path: Path) -> None:
        name = path.stem.rpartition("-")[0]
        self.model: LoadedModel = load_net(path, use_float64=True)
        kind = REGION_SOURCES.get(name, "found")
        if self.model.net.shape.blind or kind in ("told", "true"):
            why = {
                "told": "sees a caption, without places",
                "true": "sees the truth, which is not opened here",
            }
            raise UserError(f"{path}: this net {why.get(kind, 'sees no image')}, so there is nothing to show")
        file = vqa / (OWN_TOWER_HEAD_FILE if kind == "own" else REGION_HEAD_FILE)
        self.tower: ImageTower = load_tower(file, clip).double()
        self.head_with_net = HeadWithNet(load_head(file), self.model.net).double().eval()

    def tokenize(self, texts: Sequence[str]) -> Tensor:
        """Words of questions as numbers [n, L]."""
        return torch.from_numpy(self.model.vocabulary.encode(texts))

    def attribute(self, image: Path, texts: Sequence[str], image_id: str = "") -> list[Attribution]:
        """What it made of questions of one image.

        Raises:
            UserError: the image is missing or cannot be read.
        """
        try:
            pixels = load_images([image], self.tower.size)
        except (OSError, ValueError) as error:
            raise UserError(
                f"{image}: the image is missing or cannot be read ({error}); restore it"
            ) from error
        with single_threaded():
            maps = (
                self.tower.compute_maps(pixels)
                .clone()
                .expand(len(texts), -1, -1, -1)
                .clone()
                .requires_grad_()
            )
            found, output = self.head_with_net(maps, self.tokenize(texts))
            # Rows do not touch each other, so the gradient of the sum is each row's own.
            best = output.logits.max(1)
            (slope,) = torch.autograd.grad(best.values.sum(), (maps,))
        assert output.attention is not None
        return [
            Attribution(
                self.model.answers[best.indices[row]],
                float(torch.sigmoid(best.values[row].detach())),
                (
                    *_attention_panels(self._make_marks(found, row), _to_numpy(output.attention[row])),
                    *_grad_cam_panels(_to_numpy(maps[row]), _to_numpy(slope[row])),
                ),
            )
            for row in range(len(texts))
        ]

    def _make_marks(self, found: DetectedRegions, row: int) -> list[BoxMark]:
        names = [self.head_with_net.head.names.kinds[kind] for kind in found.kinds[row].tolist()] + [
            WHOLE_IMAGE
        ]
        boxes, scores = _to_numpy(found.boxes[row]).tolist(), [*found.scores[row].tolist(), 1.0]
        return [BoxMark(*one) for one in zip(names, map(tuple, boxes), scores, strict=True)]  # pyright: ignore[reportArgumentType]


def _attention_panels(regions: Sequence[BoxMark], attention: np.ndarray) -> list[Panel]:
    """Panels of what was found (each thing by its score) and of the attention [glances, M] on it."""
    boxes = np.array([region.box for region in regions])
    things = regions[:-1]
    sure = tuple(thing for thing in things if thing.score > DETECTION_THRESHOLD)
    found = rasterize_boxes(np.array([thing.score for thing in things]), boxes[:-1])
    panels = [Panel("detections", METHOD_TITLES["detections"], found, sure, show_heatmap=False)]
    parts = {"attention": attention.mean(0)} | {
        f"glance-{number}": weights for number, weights in enumerate(attention, 1)
    }
    for method, weights in parts.items():
        title = METHOD_TITLES.get(method, f"Its {method.replace('-', ' ')}")
        marks = tuple(
            region._replace(score=float(weight))
            for region, weight in zip(regions, weights, strict=True)
            if weight >= MIN_MARK_WEIGHT
        )
        panels.append(
            Panel(method, title, rasterize_boxes(weights, boxes), marks, is_collapsed=method != "attention")
        )
    return panels


def _grad_cam_panels(maps: np.ndarray, slope: np.ndarray) -> Iterator[Panel]:
    for method, grid in (
        ("grad-cam", compute_grad_cam(maps, slope)),
        ("hires-cam", compute_hires_cam(maps, slope)),
    ):
        nothing = "no cell speaks for it, so all count alike" if np.ptp(grid) == 0 else ""
        yield Panel(method, METHOD_TITLES[method], grid, note=nothing)


def _to_numpy(values: Tensor) -> np.ndarray:
    return values.detach().numpy()
