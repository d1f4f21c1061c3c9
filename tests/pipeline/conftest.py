"""A CLIP small enough to make anew for a test: its weights are random, its files are laid out as open_clip's."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

VISION = {"image_size": 32, "patch_size": 16, "width": 32, "head_width": 16, "layers": 1}
TEXT = {"context_length": 20, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 2}


def write_clip(
    folder: Path, *, custom_text: bool = False, weights: dict[str, Any] | None = None, **config: Any
) -> Path:
    """Write a configuration and random weights into `folder`.

    `config` and `weights` change the tiny model ("text_cfg", "vision_cfg", "quick_gelu"): `config` what is written
    in open_clip_config.json, `weights` the model whose weights lie beside it (the same one if None).
    """
    import open_clip
    import torch
    from safetensors.torch import save_file

    def changed(by: dict[str, Any]) -> dict[str, Any]:
        return by | {
            "embed_dim": 16,
            "vision_cfg": VISION | by.get("vision_cfg", {}),
            "text_cfg": TEXT | by.get("text_cfg", {}),
        }

    torch.manual_seed(7)
    kind = open_clip.CustomTextCLIP if custom_text else open_clip.CLIP
    kind = open_clip.CoCa if "multimodal_cfg" in config else kind
    folder.mkdir(parents=True, exist_ok=True)
    save_file(
        kind(**changed(config if weights is None else weights)).state_dict(),
        folder / "open_clip_model.safetensors",
    )
    model = changed(config) | ({"custom_text": True} if custom_text else {})
    preprocessing = {
        "size": 32,
        "mode": "RGB",
        "mean": [0.5] * 3,
        "std": [0.25] * 3,
        "interpolation": "bilinear",
        "resize_mode": "squash",
    }
    (folder / "open_clip_config.json").write_text(
        json.dumps({"model_cfg": model, "preprocess_cfg": preprocessing})
    )
    return folder


@pytest.fixture(scope="session")
def make_clip() -> Callable[..., Path]:
    return write_clip


@pytest.fixture(scope="session")
def tiny_clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for `local-dir:`: vectors of 16 numbers, context of 20 tokens."""
    return write_clip(tmp_path_factory.mktemp("tiny"))
