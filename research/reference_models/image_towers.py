"""Image towers: compute the feature maps in which a region head detects objects.

A `ClipTower` uses the feature maps of a CLIP model. A `ResidualTower` is trained from scratch together with
its region head, independently of CLIP. Comparing both shows how much models benefit from the CLIP model that
also selected the candidates of a data set.
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

# Stages of the CLIP model whose maps are used. Their cells are 8, 16 and 32 pixels wide.
CLIP_STAGES = (2, 3, 4)


class ImageTower(nn.Module):
    """Computes feature maps of images, in the data type of its weights (`double()` for float64).

    Args:
        size: Height and width of the input images.
        mean: Mean of the pixels (0 to 255) of each channel, [3].
        std: Standard deviation of the pixels of each channel, [3].
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
        """Return feature maps [n, channels, h / 16, w / 16] of normalized pixels [n, 3, h, w]."""

    def normalize(self, pixels: np.ndarray) -> Tensor:
        """Normalize pixels (uint8 [n, 3, h, w], in the size of the tower) for `forward`."""
        kind = next(self.parameters()).dtype
        return torch.from_numpy(np.array(pixels)).to(kind).sub(self.mean.to(kind)).div(self.std.to(kind))

    def compute_maps(self, pixels: np.ndarray) -> Tensor:
        """Return feature maps [n, channels, h / 16, w / 16] of pixels uint8 [n, 3, h, w]."""
        with torch.inference_mode():
            return self(self.normalize(pixels))


class ClipTower(ImageTower):
    """The frozen convolutional tower of a CLIP model, which is read from a folder in the format of
    open_clip's `local-dir:`.
    """

    def __init__(self, folder: Path) -> None:
        from pipeline.candidates.encoders.weights import load_pretrained_model

        # The attributes of the model depend on its configuration.
        network: Any = load_pretrained_model(f"local-dir:{folder}", "")[0]
        visual = network.visual.eval().requires_grad_(False)
        size = visual.image_size
        size = (size, size) if isinstance(size, int) else tuple(size)
        super().__init__(
            size, *([255 * v for v in values] for values in (visual.image_mean, visual.image_std))
        )
        self._visual = visual

    def forward(self, x: Tensor) -> Tensor:
        """Return the maps of all `CLIP_STAGES`, resized to cells of 16 pixels."""
        _, (fine, middle, coarse) = self._visual.trunk.forward_intermediates(x, indices=list(CLIP_STAGES))
        coarse = functional.interpolate(coarse, scale_factor=2, mode="bilinear", align_corners=False)
        return torch.cat([functional.pixel_unshuffle(fine, 2), middle, coarse], 1)

    def embed_images(self, pixels: np.ndarray) -> Tensor:
        """Return the normalized CLIP embeddings [n, d] of pixels uint8 [n, 3, h, w]."""
        with torch.inference_mode():
            return functional.normalize(self._visual(self.normalize(pixels)), dim=-1)


class ResidualTower(ImageTower):
    """Three stages of residual blocks (He et al. 2016), with cells of 4, 8 and 16 pixels.

    Args:
        size: Height and width of the input images.
        widths: Number of channels of each stage.
        blocks: Number of residual blocks of each stage.
    """

    def __init__(
        self,
        size: tuple[int, int],
        widths: tuple[int, ...] = (32, 64, 128),
        blocks: tuple[int, ...] = (1, 1, 2),
    ) -> None:
        super().__init__(size, [127.5] * 3, [64.0] * 3)
        self.widths, self.blocks = widths, blocks
        # 4 x 4 pixels of 3 colors become a cell.
        layers: list[nn.Module] = [nn.PixelUnshuffle(4)]
        before, step = 48, 1
        for width, count in zip(widths, blocks, strict=True):
            layers += [_downsample_block(before, width, step), *(_ResidualBlock(width) for _ in range(count))]
            before, step = width, 2
        self.body = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        return self.body(x)


class _ResidualBlock(nn.Module):
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
    """Return a convolution with another number of channels and stride `step`."""
    return nn.Sequential(nn.Conv2d(before, width, 3, step, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU())
