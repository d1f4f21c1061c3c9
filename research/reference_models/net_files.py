"""Find the files of a data set's nets in its folder `vqa/`.

regions.safetensors        the region head
regions_own.safetensors    a region head with its own tower
NET-SEED.safetensors       a VQA model
fitted-SEED.safetensors    detectors fitted to the vanilla net of a seed
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

from research.reference_models.fitted_detectors import read_fitted

# Where regions come from: the region head, the region head with its own tower, a caption, or the ground
# truth.
RegionSource = Literal["detected", "own_tower", "caption", "ground_truth"]
# Net -> source of its regions. All other nets use detected regions.
REGION_SOURCES: dict[str, RegionSource] = {
    "caption_match": "caption",
    "true_regions": "ground_truth",
    "own_vanilla": "own_tower",
    "own_rp": "own_tower",
}
REGION_HEAD_FILE, OWN_TOWER_HEAD_FILE, FITTED_PREFIX = (
    "regions.safetensors",
    "regions_own.safetensors",
    "fitted",
)
_NET_FILE_PATTERN = re.compile(r"(\w+)-(\d+)\.safetensors")


def find_nets(folder: Path) -> dict[int, dict[str, Path]]:
    """Return seed -> name of a net -> file; empty if the folder has no nets or does not exist."""
    found: dict[int, dict[str, Path]] = {}
    for path in sorted(folder.glob("*.safetensors")):
        name = _NET_FILE_PATTERN.fullmatch(path.name)
        if name and name[1] != FITTED_PREFIX:
            found.setdefault(int(name[2]), {})[name[1]] = path
    return dict(sorted(found.items()))


def load_fitted(folder: Path, seed: int) -> dict[str, Any]:
    """Read the fitted detectors of a seed: field of `DetectorInputs` -> value. Empty if there is no file.

    Raises:
        UserError: The file is damaged.
    """
    path = folder / f"{FITTED_PREFIX}-{seed}.safetensors"
    return read_fitted(path)._asdict() if path.is_file() else {}
