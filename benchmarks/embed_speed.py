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
from pathlib import Path

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

    config = open_clip.get_model_config("ViT-B-32")
    config["vision_cfg"]["layers"] = 1
    torch.manual_seed(0)
    save_file(open_clip.CLIP(**config).state_dict(), folder / "open_clip_model.safetensors")
    (folder / "open_clip_config.json").write_text(json.dumps({"model_cfg": config, "preprocess_cfg": {}}))


def ours(encoder: clip.Encoder, texts: list[str]) -> np.ndarray:
    distinct = sorted(set(texts))
    rows = encoder.text_table(distinct, BATCH)
    row_of = {text: row for row, text in enumerate(distinct)}
    return rows[[row_of[text] for text in texts]]


def peer(model: str, texts: list[str]) -> np.ndarray:
    import open_clip
    import torch

    network, _ = open_clip.create_model_from_pretrained(model)
    tokenizer = open_clip.get_tokenizer(model)
    network.eval()
    started = time.perf_counter()
    with torch.inference_mode():
        rows = [
            network.encode_text(tokenizer(texts[i : i + BATCH]), normalize=True).numpy()
            for i in range(0, len(texts), BATCH)
        ]
    peer.seconds = time.perf_counter() - started
    return np.concatenate(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=256)
    count = parser.parse_args().questions
    asked = read_json(
        Folders("sample").source / "questions1.2" / "testdev_balanced_questions.json", dict[str, dict]
    )
    distinct = sorted({question["question"] for question in asked.values()})
    texts = [text for text in distinct[:: max(1, len(distinct) * 2 // count)][: count // 2] for _ in range(2)]
    with tempfile.TemporaryDirectory() as name:
        write_model(Path(name))
        model = f"local-dir:{name}"
        encoder = clip.load(model, device="cpu")
        started = time.perf_counter()
        mine = ours(encoder, texts)
        seconds = time.perf_counter() - started
        theirs = peer(model, texts)
    print(f"{len(texts)} questions, {len(set(texts))} distinct, ViT-B-32's text tower, CPU")
    print(f"  every question at full context   {len(texts) / peer.seconds:7.1f} questions/s")
    print(
        f"  distinct, cut to the batch       {len(texts) / seconds:7.1f} questions/s   {peer.seconds / seconds:.1f} times as fast"
    )
    print(f"  largest difference of a vector's component {np.abs(mine - theirs).max():.1e}")


if __name__ == "__main__":
    run(main)
