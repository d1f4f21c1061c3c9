"""Attribute the answers of a reference model: attention over regions, and Grad-CAM on the feature map of the
image tower.
"""

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

# Minimum attention weight of regions that are marked in the image.
MIN_MARK_WEIGHT = 0.1
WHOLE_IMAGE = "the whole image"


class DetectedRegions(NamedTuple):
    """Regions of n copies of an image: boxes [n, M, 4], and kinds and scores [n, M - 1].

    The last region is the whole image, which has neither kind nor score.
    """

    boxes: Tensor
    kinds: Tensor
    scores: Tensor


class HeadWithNet(nn.Module):
    """The layers after the tower: they map feature maps [n, channels, h, w] and tokens [n, L] to regions and
    to the output of the net.

    As in stage `answer`, features are rounded to float16 and boxes to float32. The gradient ignores the
    rounding.
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
    """A net with its tower and region head, in float64 as in stage `answer`.

    Args:
        vqa: Folder of the nets and region heads.
        clip: Folder of the CLIP model.
        path: File of the net.

    Raises:
        UserError: A file cannot be read, or the net does not use regions with positions in the image.
    """

    def __init__(self, vqa: Path, clip: Path, path: Path) -> None:
        name = path.stem.rpartition("-")[0]
        self.model: LoadedModel = load_net(path, use_float64=True)
        kind = REGION_SOURCES.get(name, "detected")
        if self.model.net.shape.blind or kind in ("caption", "ground_truth"):
            why = {
                "caption": "reads a caption, which has no positions",
                "ground_truth": "reads the ground truth, which is not loaded here",
            }
            raise UserError(
                f"{path}: this net {why.get(kind, 'sees no image')}, so it has no attribution; choose another model"
            )
        file = vqa / (OWN_TOWER_HEAD_FILE if kind == "own_tower" else REGION_HEAD_FILE)
        self.tower: ImageTower = load_tower(file, clip).double()
        self.head_with_net = HeadWithNet(load_head(file), self.model.net).double().eval()

    def tokenize(self, texts: Sequence[str]) -> Tensor:
        """Return the token ids [n, L] of questions."""
        return torch.from_numpy(self.model.vocabulary.encode(texts))

    def attribute(self, image: Path, texts: Sequence[str], image_id: str = "") -> list[Attribution]:
        """Return the attribution of each question about an image.

        Raises:
            UserError: The image is missing or cannot be read.
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
            regions, output = self.head_with_net(maps, self.tokenize(texts))
            # The rows are independent, so the gradient of the sum contains the gradient of each row.
            best = output.logits.max(1)
            (gradient,) = torch.autograd.grad(best.values.sum(), (maps,))
        assert output.attention is not None
        return [
            Attribution(
                self.model.answers[best.indices[row]],
                float(torch.sigmoid(best.values[row].detach())),
                (
                    *_attention_panels(self._make_marks(regions, row), _to_numpy(output.attention[row])),
                    *_grad_cam_panels(_to_numpy(maps[row]), _to_numpy(gradient[row])),
                ),
            )
            for row in range(len(texts))
        ]

    def _make_marks(self, regions: DetectedRegions, row: int) -> list[BoxMark]:
        names = [self.head_with_net.head.names.kinds[kind] for kind in regions.kinds[row].tolist()] + [
            WHOLE_IMAGE
        ]
        boxes, scores = _to_numpy(regions.boxes[row]).tolist(), [*regions.scores[row].tolist(), 1.0]
        return [BoxMark(*one) for one in zip(names, map(tuple, boxes), scores, strict=True)]  # pyright: ignore[reportArgumentType]


def _attention_panels(regions: Sequence[BoxMark], attention: np.ndarray) -> list[Panel]:
    """Return the panels of the detected objects and of the attention [glances, M] to them."""
    boxes = np.array([region.box for region in regions])
    objects = regions[:-1]
    detected = tuple(mark for mark in objects if mark.score > DETECTION_THRESHOLD)
    score_map = rasterize_boxes(np.array([mark.score for mark in objects]), boxes[:-1])
    panels = [Panel("detections", METHOD_TITLES["detections"], score_map, detected, show_heatmap=False)]
    rows = {"attention": attention.mean(0)} | {
        f"glance-{number}": weights for number, weights in enumerate(attention, 1)
    }
    for method, weights in rows.items():
        title = METHOD_TITLES.get(method, f"Attention of {method.replace('-', ' ')}")
        marks = tuple(
            region._replace(score=float(weight))
            for region, weight in zip(regions, weights, strict=True)
            if weight >= MIN_MARK_WEIGHT
        )
        panels.append(
            Panel(method, title, rasterize_boxes(weights, boxes), marks, is_collapsed=method != "attention")
        )
    return panels


def _grad_cam_panels(maps: np.ndarray, gradient: np.ndarray) -> Iterator[Panel]:
    for method, attribution_map in (
        ("grad-cam", compute_grad_cam(maps, gradient)),
        ("hires-cam", compute_hires_cam(maps, gradient)),
    ):
        is_uniform = np.ptp(attribution_map) == 0
        note = "no cell increases the answer's logit, so all cells count the same" if is_uniform else ""
        yield Panel(method, METHOD_TITLES[method], attribution_map, note=note)


def _to_numpy(values: Tensor) -> np.ndarray:
    return values.detach().numpy()
