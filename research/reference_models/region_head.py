"""Regions of an image from the maps of a tower: a small head finds things of known kinds, their boxes and looks. It is
trained by `sample_world`; here it is applied.

A region's numbers: a hidden vector, the log-probabilities of all kinds and looks and, for the image as a whole (the
last region), of places and weathers, and its score. Log-probabilities are cut at FLOOR.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save
from torch import Tensor, nn
from torch.nn import functional

from pipeline.core.atomic_files import atomic_write
from pipeline.core.errors import UserError
from pipeline.core.images import load_rgb
from research.reference_models.image_towers import ClipTower, ImageTower, ResidualTower

MIN_LOG_PROBABILITY = -6.0
MAX_DETECTIONS = 16  # regions of an image, beside the image as a whole
TOWER_PREFIX = "tower."  # before the names of a tower's tensors in the file of its head
DETECTION_THRESHOLD = (
    0.3  # the score from which on a region counts as a thing found, in figures and in the rule FRCNN
)


@dataclass(frozen=True)
class RegionNames:
    """What the head tells apart. `settings`: of an image as a whole (places, weathers)."""

    kinds: tuple[str, ...]
    looks: tuple[str, ...]
    settings: tuple[str, ...]

    @property
    def all_names(self) -> tuple[str, ...]:
        """In the order of the log-probabilities."""
        return (*self.kinds, *self.looks, *self.settings)


class Regions(NamedTuple):
    """Of n images: features [n, FOUND + 1, d] float16, boxes [n, FOUND + 1, 4] float32 as shares of the image,
    kinds [n, FOUND] (places in `RegionNames.kinds`) and their scores [n, FOUND]; best scores first, then the whole."""

    features: np.ndarray
    boxes: np.ndarray
    kinds: np.ndarray
    scores: np.ndarray


class RegionHead(nn.Module):
    """From a cell [., channels] to kinds; from a cell and a kind to looks and box; from a whole map to its setting."""

    def __init__(self, channels: int, names: RegionNames, hidden: int = 160) -> None:
        super().__init__()
        self.names, self.channels, self.hidden = names, channels, hidden
        self.norm = nn.BatchNorm1d(channels)
        self.body = nn.Sequential(nn.Linear(channels, 320), nn.ReLU(), nn.Linear(320, hidden), nn.ReLU())
        self.kind = nn.Linear(hidden, len(names.kinds))
        self.of_kind = nn.Embedding(len(names.kinds), hidden)
        self.thing = nn.Sequential(nn.Linear(2 * hidden, hidden), nn.ReLU())
        self.look, self.box = nn.Linear(hidden, len(names.looks)), nn.Linear(hidden, 4)
        self.setting = nn.Linear(hidden, len(names.settings))
        nn.init.constant_(self.kind.bias, -4.0)

    @property
    def feature_size(self) -> int:
        """Numbers of a region d."""
        return self.hidden + len(self.names.all_names) + 1

    def embed_cells(self, maps: Tensor) -> Tensor:
        """Hidden vectors [., hidden] of cells [., channels]."""
        return self.body(self.norm(maps))

    def predict_objects(self, cells: Tensor, kinds: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Hidden vectors, logits of looks, and boxes (middle from the cell's middle and size, in shares of the image)
        of things of these kinds [.] at these cells [., hidden]."""
        hidden = self.thing(torch.cat([cells, self.of_kind(kinds)], -1))
        return hidden, self.look(hidden), self.box(hidden)

    def detect(self, maps: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Regions of images, from maps [n, channels, h, w]; see `Regions` for the four."""
        n, _, high, wide = maps.shape
        flat = maps.permute(0, 2, 3, 1).reshape(-1, self.channels)
        cells = self.embed_cells(flat).view(n, high * wide, -1)
        logits = self.kind(cells)  # [n, h * w, kinds]
        chance = torch.sigmoid(logits).transpose(1, 2).reshape(n, -1, high, wide)
        peaks = chance * (functional.max_pool2d(chance, 3, 1, 1) == chance)
        scores, places = peaks.flatten(1).topk(MAX_DETECTIONS)
        kinds, at = places // (high * wide), places % (high * wide)
        there = torch.gather(cells, 1, at[..., None].expand(-1, -1, cells.shape[-1]))
        hidden, looks, shape = self.predict_objects(there, kinds)
        middle = torch.stack([(at % wide + 0.5) / wide, (at // wide + 0.5) / high], -1) + shape[..., :2]
        size = shape[..., 2:].clamp(min=0.01)
        boxes = torch.cat([middle - size / 2, middle + size / 2], -1).clamp(0, 1)
        # A cell may hold two things, each with a region: a region is of its own kind before the other.
        here = torch.gather(logits, 1, at[..., None].expand(-1, -1, logits.shape[-1]))
        own = functional.one_hot(kinds, logits.shape[-1]).bool()
        here = torch.where(own | (here < here.gather(2, kinds[..., None])), here, here - 4)
        names = torch.cat([functional.logsigmoid(here), functional.logsigmoid(looks)], -1)
        settings = names.new_full((n, MAX_DETECTIONS, len(self.names.settings)), MIN_LOG_PROBABILITY)
        parts = torch.cat(
            [hidden, torch.cat([names, settings], -1).clamp(min=MIN_LOG_PROBABILITY), scores[..., None]], -1
        )
        whole = self._whole_image_region(cells)
        boxes = torch.cat([boxes, boxes.new_tensor([0.0, 0, 1, 1]).expand(n, 1, 4)], 1)
        return torch.cat([parts, whole], 1), boxes, kinds, scores

    def _whole_image_region(self, cells: Tensor) -> Tensor:
        """The image as a whole, [n, 1, d], from cells [n, h * w, hidden]."""
        mean = cells.mean(1)
        settings = functional.logsigmoid(self.setting(mean)).clamp(min=MIN_LOG_PROBABILITY)
        nothing = mean.new_full(
            (len(mean), len(self.names.kinds) + len(self.names.looks)), MIN_LOG_PROBABILITY
        )
        return torch.cat([mean, nothing, settings, mean.new_ones(len(mean), 1)], -1)[:, None]


def find_regions(tower: ImageTower, head: RegionHead, pixels: np.ndarray) -> Regions:
    """The regions of images uint8 [n, 3, h, w]. Tower and head calculate in the same type."""
    maps = tower.compute_maps(pixels)
    with torch.inference_mode():
        features, boxes, kinds, scores = (v.numpy() for v in head.detect(maps))
    return Regions(features.astype(np.float16), boxes.astype(np.float32), kinds, scores.astype(np.float32))


def save_head(path: Path, head: RegionHead, tower: ResidualTower | None = None) -> None:
    """Write a head as float16, with the names that it knows, and the tower that it stands on if that has no file."""
    told: dict[str, Any] = {"channels": head.channels, "hidden": head.hidden, "names": asdict(head.names)}
    state = head.state_dict()
    if tower is not None:
        told["tower"] = {"size": tower.size, "widths": tower.widths, "blocks": tower.blocks}
        state |= {TOWER_PREFIX + name: value for name, value in tower.state_dict().items()}
    state = {n: (v.half() if v.is_floating_point() else v).contiguous() for n, v in state.items()}
    with atomic_write(path) as file:
        file.write(save(state, {"head": json.dumps(told)}))


def load_head(path: Path) -> RegionHead:
    """Read the head that `save_head` wrote.

    Raises:
        UserError: no such file, or not a head's.
    """
    with _open_head_file(path) as (told, state):
        names = RegionNames(**{key: tuple(value) for key, value in told["names"].items()})
        head = RegionHead(told["channels"], names, told["hidden"])
        head.load_state_dict(
            {name: value for name, value in state.items() if not name.startswith(TOWER_PREFIX)}
        )
    return head.eval()


def load_tower(path: Path, clip: Path) -> ImageTower:
    """The tower that the head at `path` stands on: its own, in the same file, else that of the CLIP in the folder `clip`.

    Raises:
        UserError: no such file, or not a head's.
    """
    with _open_head_file(path) as (told, state):
        if "tower" not in told:
            return ClipTower(clip)
        tower = ResidualTower(**{key: tuple(value) for key, value in told["tower"].items()})
        tower.load_state_dict(
            {n.removeprefix(TOWER_PREFIX): v for n, v in state.items() if n.startswith(TOWER_PREFIX)}
        )
    return tower.eval()


@contextmanager
def _open_head_file(path: Path) -> Iterator[tuple[dict[str, Any], dict[str, Tensor]]]:
    """What a file says of head and tower, and its tensors as float32; what cannot be made of them is a UserError."""
    try:
        with safe_open(path, "pt") as file:
            told = json.loads(file.metadata()["head"])
        yield told, {n: v.float() if v.is_floating_point() else v for n, v in load_file(path).items()}
    except (OSError, SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise UserError(
            f"{path}: not the file of a region head ({str(error).splitlines()[0]}); train it again"
        ) from error


def make_caption_features(features: np.ndarray, names: RegionNames, hidden: int) -> np.ndarray:
    """Regions as a caption tells them, float16 of the same shape: 1 for each name that is more likely than not, nothing
    else; what is no thing (a score below one half) is left out."""
    first = hidden
    likely = features[..., first : first + len(names.all_names)] > np.log(0.5)
    likely &= features[..., -1:] > 0.5
    caption = np.zeros_like(features)
    caption[..., first : first + len(names.all_names)] = likely
    return caption


def load_images(paths: Sequence[Path | BinaryIO], size: tuple[int, int]) -> np.ndarray:
    """Images from files, or of their bytes, as uint8 [n, 3, *size], squashed (bicubic), as the sample's CLIP sees them."""
    from PIL import Image

    rows = []
    for path in paths:
        image = load_rgb(path if isinstance(path, Path) else path.read())
        rows.append(np.asarray(image.resize((size[1], size[0]), Image.Resampling.BICUBIC)))
    return np.stack(rows).transpose(0, 3, 1, 2)
