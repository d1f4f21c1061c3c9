"""Speed of encoding question texts: each distinct text once and cut to its batch, against every question at full context.

    python -m benchmarks.embed_speed [--questions 256]

The peer is open_clip used as its documentation shows, on the same machine in the same run. The text tower is that of
ViT-B-32 with random weights (speed does not depend on them; nothing else may ever use such weights). The texts are the
sample's testdev questions, each asked twice, because half of GQA's questions are repeats.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

import numpy as np

from pipeline.core.errors import run
from pipeline.core.files import read_json
from pipeline.core.paths import Folders
from pipeline.encoders import clip

BATCH = 64


def write_model(folder: Path) -> None:
    """ViT-B-32 with random weights; its picture tower, which is not measured, has one layer."""
    import open_clip
    import torch
    from safetensors.torch import save_file

    config = open_clip.get_model_config("ViT-B-32") or {}
    config["vision_cfg"]["layers"] = 1
    torch.manual_seed(0)
    save_file(open_clip.CLIP(**config).state_dict(), folder / "open_clip_model.safetensors")
    (folder / "open_clip_config.json").write_text(json.dumps({"model_cfg": config, "preprocess_cfg": {}}))


def ours(model: str) -> Callable[[list[str]], np.ndarray]:
    """An encoder of texts: each distinct one once."""
    encoder = clip.load(model, device="cpu")

    def encode(texts: list[str]) -> np.ndarray:
        distinct, row_of = np.unique(texts, return_inverse=True)
        return encoder.text_table(distinct.tolist(), BATCH)[row_of]

    return encode


def peer(model: str) -> Callable[[list[str]], np.ndarray]:
    """An encoder of texts, by open_clip alone."""
    import open_clip
    import torch

    network = cast("open_clip.CLIP", open_clip.create_model_from_pretrained(model, return_transform=False))
    tokenizer = open_clip.get_tokenizer(model)
    network.eval()

    def encode(texts: list[str]) -> np.ndarray:
        with torch.inference_mode():
            batches = [tokenizer(texts[i : i + BATCH]) for i in range(0, len(texts), BATCH)]
            return np.concatenate([network.encode_text(ids, normalize=True).numpy() for ids in batches])

    return encode


def timed(encode: Callable[[list[str]], np.ndarray], texts: list[str]) -> tuple[np.ndarray, float]:
    """Vectors, and seconds."""
    begun = time.perf_counter()
    return encode(texts), time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed of encoding question texts.")
    parser.add_argument("--questions", type=int, default=256)
    count = parser.parse_args().questions
    source = Folders("sample").source / "questions1.2" / "testdev_balanced_questions.json"
    distinct = sorted({question["question"] for question in read_json(source, dict[str, dict]).values()})
    texts = distinct[:: max(1, len(distinct) * 2 // count)][: count // 2] * 2
    with tempfile.TemporaryDirectory() as name:
        write_model(Path(name))
        vectors, seconds = timed(ours(f"local-dir:{name}"), texts)
        expected, expected_seconds = timed(peer(f"local-dir:{name}"), texts)
    print(f"{len(texts)} questions, {len(set(texts))} distinct, ViT-B-32's text tower, CPU")
    print(f"  every question at full context   {len(texts) / expected_seconds:7.1f} questions/s")
    print(
        f"  distinct, cut to the batch       {len(texts) / seconds:7.1f} questions/s   {expected_seconds / seconds:.1f} times as fast"
    )
    print(f"  largest difference of a vector's component {np.abs(vectors - expected).max():.1e}")


if __name__ == "__main__":
    run(main)
