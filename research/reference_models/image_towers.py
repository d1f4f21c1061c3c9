"""Image towers: from pixels to the maps on which a region head finds things.

A `ClipTower` has the maps of a CLIP. An `OwnTower` is trained from nothing together with its head and never sees a CLIP: it
shows what comes from the CLIP that also chose a data set's candidates.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

CLIP_STAGES = (2, 3, 4)  # of a CLIP's tower: 8, 16 and 32 pixels a cell


class ImageTower(nn.Module):
    """Maps of images. It calculates in the type of its weights (`double()` for float64).

    Args:
        size: of the images that it takes, height and width. mean, std: of their pixels (0 to 255) by channel, [3].
    """

    mean: Tensor
    std: Tensor

    def __init__(self, size: tuple[int, int], mean: Sequence[float], std: Sequence[float]) -> None:
        super().__init__()
        self.size = size
        for name, values in (("mean", mean), ("std", std)):
            self.register_buffer(
                name, torch.tensor(tuple(values), dtype=torch.float64).view(1, 3, 1, 1), persistent=False
            )

    @abstractmethod
    def forward(self, x: Tensor) -> Tensor:
        """Maps [n, channels, h / 16, w / 16] of prepared pixels [n, 3, h, w]."""

    def normalize(self, pixels: np.ndarray) -> Tensor:
        """What `forward` takes, from pixels uint8 [n, 3, h, w] of the tower's own size."""
        kind = next(self.parameters()).dtype
        return torch.from_numpy(np.array(pixels)).to(kind).sub(self.mean.to(kind)).div(self.std.to(kind))

    def compute_maps(self, pixels: np.ndarray) -> Tensor:
        """Maps [n, channels, h / 16, w / 16] of pixels uint8 [n, 3, h, w]."""
        with torch.inference_mode():
            return self(self.normalize(pixels))


class ClipTower(ImageTower):
    """The convolutional tower of a CLIP, frozen. `folder` holds it as open_clip's `local-dir:`."""

    def __init__(self, folder: Path) -> None:
        from pipeline.candidates.encoders.weights import load_pretrained_model

        network: Any = load_pretrained_model(f"local-dir:{folder}", "")[
            0
        ]  # its parts depend on the configuration
        visual = network.visual.eval().requires_grad_(False)
        size = visual.image_size
        size = (size, size) if isinstance(size, int) else tuple(size)
        super().__init__(
            size, *([255 * v for v in values] for values in (visual.image_mean, visual.image_std))
        )
        self._visual = visual

    def forward(self, x: Tensor) -> Tensor:
        """The maps of all STAGES."""
        _, (fine, middle, coarse) = self._visual.trunk.forward_intermediates(x, indices=list(CLIP_STAGES))
        coarse = functional.interpolate(coarse, scale_factor=2, mode="bilinear", align_corners=False)
        return torch.cat([functional.pixel_unshuffle(fine, 2), middle, coarse], 1)

    def embed_images(self, pixels: np.ndarray) -> Tensor:
        """The CLIP's unit vectors [n, dimension] of pixels uint8 [n, 3, h, w]."""
        with torch.inference_mode():
            return functional.normalize(self._visual(self.normalize(pixels)), dim=-1)


class ResidualTower(ImageTower):
    """Three stages of residual blocks (He et al. 2016), of 4, 8 and 16 pixels a cell.

    Args:
        size: of the images that it takes, height and width. widths: channels of each stage. blocks: of each stage.
    """

    def __init__(
        self,
        size: tuple[int, int],
        widths: tuple[int, ...] = (32, 64, 128),
        blocks: tuple[int, ...] = (1, 1, 2),
    ) -> None:
        super().__init__(size, [127.5] * 3, [64.0] * 3)
        self.widths, self.blocks = widths, blocks
        layers: list[nn.Module] = [nn.PixelUnshuffle(4)]  # 16 pixels of 3 colours become a cell
        before, step = 48, 1
        for width, count in zip(widths, blocks, strict=True):
            layers += [_downsample_block(before, width, step), *(_ResidualBlock(width) for _ in range(count))]
            before, step = width, 2
        self.body = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        return self.body(x)


class _ResidualBlock(nn.Module):
    """Two convolutions that change what they are given."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.change = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
        )

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(x + self.change(x))


def _downsample_block(before: int, width: int, step: int) -> nn.Sequential:
    """A convolution to maps of other channels, at every `step`-th cell."""
    return nn.Sequential(nn.Conv2d(before, width, 3, step, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU())
