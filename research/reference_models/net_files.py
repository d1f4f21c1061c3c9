"""The nets of a data set, in its folder `vqa/`: `regions.safetensors`, the region head (`regions_own.safetensors`: one with
a tower of its own); `NET-SEED.safetensors`, an answer net each; `fitted-SEED.safetensors`, what was fitted to a seed's
vanilla net."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

from research.reference_models.fitted_detectors import read_fitted

# Regions: of the head, of the one with a tower of its own, as a caption tells them, of the truth.
RegionSource = Literal["found", "own", "told", "true"]
# What nets see; every other net: found.
REGION_SOURCES: dict[str, RegionSource] = {
    "caption_match": "told",
    "true_regions": "true",
    "own_vanilla": "own",
    "own_rp": "own",
}
REGION_HEAD_FILE, OWN_TOWER_HEAD_FILE, FITTED_PREFIX = (
    "regions.safetensors",
    "regions_own.safetensors",
    "fitted",
)
_NET_FILE_PATTERN = re.compile(r"(\w+)-(\d+)\.safetensors")


def find_nets(folder: Path) -> dict[int, dict[str, Path]]:
    """The files of nets by seed and net; empty where the folder has none, or is not there."""
    found: dict[int, dict[str, Path]] = {}
    for path in sorted(folder.glob("*.safetensors")):
        name = _NET_FILE_PATTERN.fullmatch(path.name)
        if name and name[1] != FITTED_PREFIX:
            found.setdefault(int(name[2]), {})[name[1]] = path
    return dict(sorted(found.items()))


def load_fitted(folder: Path, seed: int) -> dict[str, Any]:
    """What was fitted for a seed, by the names of `detectors.Given`; empty where there is no file.

    Raises:
        UserError: the file is damaged.
    """
    path = folder / f"{FITTED_PREFIX}-{seed}.safetensors"
    return read_fitted(path)._asdict() if path.is_file() else {}
