"""The region head: detect objects, their boxes and attributes in the feature maps of a tower.

`research.synthetic_world` trains the head. The features of a region are a hidden vector, the
log-probabilities of all object names and all attributes, the log-probabilities of locations and weather, and
the score of the region. Locations and weather describe the whole image, which is the last region.
Log-probabilities are at least `MIN_LOG_PROBABILITY`.
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
# Number of regions of an image, in addition to the whole image.
MAX_DETECTIONS = 16
# Prefix of the tensors of a tower in the file of its head.
TOWER_PREFIX = "tower."
# Minimum score of a region that counts as a detected object, in metrics and in the rule FRCNN.
DETECTION_THRESHOLD = 0.3


@dataclass(frozen=True)
class RegionNames:
    """The names that the head knows. The names of the fields are stored in the file of the head.

    Attributes:
        kinds: Names of objects.
        looks: Attributes of objects.
        settings: Locations and weather of images.
    """

    kinds: tuple[str, ...]
    looks: tuple[str, ...]
    settings: tuple[str, ...]

    @property
    def all_names(self) -> tuple[str, ...]:
        """Return all names in the order of the log-probabilities."""
        return (*self.kinds, *self.looks, *self.settings)


class Regions(NamedTuple):
    """The regions of n images, with the best scores first and the whole image last.

    Attributes:
        features: float16 [n, MAX_DETECTIONS + 1, d].
        boxes: float32 [n, MAX_DETECTIONS + 1, 4], as fractions of the image.
        kinds: Indices in `RegionNames.kinds`, [n, MAX_DETECTIONS].
        scores: Scores [n, MAX_DETECTIONS].
    """

    features: np.ndarray
    boxes: np.ndarray
    kinds: np.ndarray
    scores: np.ndarray


class RegionHead(nn.Module):
    """Predicts the object name of a cell, the attributes and box of a cell with an object, and the setting of
    an image.

    Args:
        channels: Number of channels of the feature maps.
        names: The names that the head knows.
        hidden: Size of hidden vectors.
    """

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
        """Return the number d of features of a region."""
        return self.hidden + len(self.names.all_names) + 1

    def embed_cells(self, maps: Tensor) -> Tensor:
        """Return the hidden vectors [..., hidden] of cells [..., channels]."""
        return self.body(self.norm(maps))

    def predict_objects(self, cells: Tensor, kinds: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Predict the objects at cells.

        Args:
            cells: Hidden vectors of the cells [..., hidden].
            kinds: Indices of the object names [...].

        Returns:
            Hidden vectors, logits of the attributes, and boxes. A box is the offset of its center from the
            center of the cell, and its size, as fractions of the image.
        """
        hidden = self.thing(torch.cat([cells, self.of_kind(kinds)], -1))
        return hidden, self.look(hidden), self.box(hidden)

    def detect(self, maps: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Detect regions in feature maps [n, channels, h, w]. Return the four fields of `Regions`."""
        n, _, height, width = maps.shape
        flat = maps.permute(0, 2, 3, 1).reshape(-1, self.channels)
        cells = self.embed_cells(flat).view(n, height * width, -1)
        logits = self.kind(cells)  # [n, h * w, kinds]
        probability = torch.sigmoid(logits).transpose(1, 2).reshape(n, -1, height, width)
        peaks = probability * (functional.max_pool2d(probability, 3, 1, 1) == probability)
        scores, indices = peaks.flatten(1).topk(MAX_DETECTIONS)
        kinds, cell = indices // (height * width), indices % (height * width)
        embedded = torch.gather(cells, 1, cell[..., None].expand(-1, -1, cells.shape[-1]))
        hidden, attributes, relative_box = self.predict_objects(embedded, kinds)
        cell_center = torch.stack([(cell % width + 0.5) / width, (cell // width + 0.5) / height], -1)
        center = cell_center + relative_box[..., :2]
        size = relative_box[..., 2:].clamp(min=0.01)
        boxes = torch.cat([center - size / 2, center + size / 2], -1).clamp(0, 1)
        # A cell may have two objects, each with a region. In the features of a region, the name of the region
        # has the higher logit.
        here = torch.gather(logits, 1, cell[..., None].expand(-1, -1, logits.shape[-1]))
        own = functional.one_hot(kinds, logits.shape[-1]).bool()
        here = torch.where(own | (here < here.gather(2, kinds[..., None])), here, here - 4)
        names = torch.cat([functional.logsigmoid(here), functional.logsigmoid(attributes)], -1)
        settings = names.new_full((n, MAX_DETECTIONS, len(self.names.settings)), MIN_LOG_PROBABILITY)
        parts = torch.cat(
            [hidden, torch.cat([names, settings], -1).clamp(min=MIN_LOG_PROBABILITY), scores[..., None]], -1
        )
        whole = self._whole_image_region(cells)
        boxes = torch.cat([boxes, boxes.new_tensor([0.0, 0, 1, 1]).expand(n, 1, 4)], 1)
        return torch.cat([parts, whole], 1), boxes, kinds, scores

    def _whole_image_region(self, cells: Tensor) -> Tensor:
        """Return the region of the whole image [n, 1, d], from cells [n, h * w, hidden]."""
        mean = cells.mean(1)
        settings = functional.logsigmoid(self.setting(mean)).clamp(min=MIN_LOG_PROBABILITY)
        nothing = mean.new_full(
            (len(mean), len(self.names.kinds) + len(self.names.looks)), MIN_LOG_PROBABILITY
        )
        return torch.cat([mean, nothing, settings, mean.new_ones(len(mean), 1)], -1)[:, None]


def find_regions(tower: ImageTower, head: RegionHead, pixels: np.ndarray) -> Regions:
    """Detect the regions of images uint8 [n, 3, h, w]. Tower and head must have the same data type."""
    maps = tower.compute_maps(pixels)
    with torch.inference_mode():
        features, boxes, kinds, scores = (v.numpy() for v in head.detect(maps))
    return Regions(features.astype(np.float16), boxes.astype(np.float32), kinds, scores.astype(np.float32))


def save_head(path: Path, head: RegionHead, tower: ResidualTower | None = None) -> None:
    """Write a head as float16, with its names.

    `tower` is also written, if it is given (a CLIP tower is not).
    """
    metadata: dict[str, Any] = {"channels": head.channels, "hidden": head.hidden, "names": asdict(head.names)}
    state = head.state_dict()
    if tower is not None:
        metadata["tower"] = {"size": tower.size, "widths": tower.widths, "blocks": tower.blocks}
        state |= {TOWER_PREFIX + name: value for name, value in tower.state_dict().items()}
    state = {n: (v.half() if v.is_floating_point() else v).contiguous() for n, v in state.items()}
    with atomic_write(path) as file:
        file.write(save(state, {"head": json.dumps(metadata)}))


def load_head(path: Path) -> RegionHead:
    """Read a head.

    Raises:
        UserError: The file cannot be read, or was not written by `save_head`.
    """
    with _open_head_file(path) as (metadata, state):
        names = RegionNames(**{key: tuple(value) for key, value in metadata["names"].items()})
        head = RegionHead(metadata["channels"], names, metadata["hidden"])
        head.load_state_dict(
            {name: value for name, value in state.items() if not name.startswith(TOWER_PREFIX)}
        )
    return head.eval()


def load_tower(path: Path, clip: Path) -> ImageTower:
    """Read the image tower of a head.

    If the file of the head has no tower, the tower is that of a CLIP model.

    Args:
        path: File of the head.
        clip: Folder of the CLIP model.

    Raises:
        UserError: The file cannot be read, or was not written by `save_head`.
    """
    with _open_head_file(path) as (metadata, state):
        if "tower" not in metadata:
            return ClipTower(clip)
        tower = ResidualTower(**{key: tuple(value) for key, value in metadata["tower"].items()})
        tower.load_state_dict(
            {n.removeprefix(TOWER_PREFIX): v for n, v in state.items() if n.startswith(TOWER_PREFIX)}
        )
    return tower.eval()


@contextmanager
def _open_head_file(path: Path) -> Iterator[tuple[dict[str, Any], dict[str, Tensor]]]:
    """Open the file of a head. Yield its metadata, and its tensors as float32.

    Errors within the context become a `UserError`.
    """
    try:
        with safe_open(path, "pt") as file:
            metadata = json.loads(file.metadata()["head"])
        yield metadata, {n: v.float() if v.is_floating_point() else v for n, v in load_file(path).items()}
    except (OSError, SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise UserError(
            f"{path}: not the file of a region head ({str(error).splitlines()[0]}); train it again"
        ) from error


def make_caption_features(features: np.ndarray, names: RegionNames, hidden: int) -> np.ndarray:
    """Return the features of regions as a caption describes them.

    Args:
        features: Features of regions [..., d].
        names: The names that the head knows.
        hidden: Size of the hidden vectors of the head.

    Returns:
        Features, float16 [..., d]: 1 for each name that has a probability above 1/2 in a region with a score
        above 1/2, else 0.
    """
    first = hidden
    likely = features[..., first : first + len(names.all_names)] > np.log(0.5)
    likely &= features[..., -1:] > 0.5
    caption = np.zeros_like(features)
    caption[..., first : first + len(names.all_names)] = likely
    return caption


def load_images(paths: Sequence[Path | BinaryIO], size: tuple[int, int]) -> np.ndarray:
    """Load images from files as uint8 [n, 3, *size].

    The images are resized (bicubic) without keeping the aspect ratio, in the same way as for the sample's
    CLIP model.
    """
    from PIL import Image

    rows = []
    for path in paths:
        image = load_rgb(path if isinstance(path, Path) else path.read())
        rows.append(np.asarray(image.resize((size[1], size[0]), Image.Resampling.BICUBIC)))
    return np.stack(rows).transpose(0, 3, 1, 2)
