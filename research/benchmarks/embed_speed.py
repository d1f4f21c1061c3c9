"""Measure the speed of encoding question texts: distinct texts, padded to the longest text of their batch,
against all questions at full context.

    python -m research.benchmarks.embed_speed [--questions 256]

The peer is open_clip, used as in its documentation, on the same machine in the same run. The text tower
is that of ViT-B-32 with random weights. Speed does not depend on weights.
The texts are the sample's testdev questions, each twice, because half of GQA's questions are repeats.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import cast

import numpy as np

from pipeline.candidates.encoders import clip
from pipeline.core.json_files import read_json
from pipeline.core.paths import DatasetFolders
from research.benchmarks.harness import print_comparison, run_benchmark, time_call

TEXT_BATCH_SIZE = 64


def write_model(folder: Path, image_layers: int = 1) -> None:
    """Write ViT-B-32 with random weights.

    By default its image tower, which is not measured here, has one layer.
    """
    import open_clip
    import torch
    from safetensors.torch import save_file

    config = open_clip.get_model_config("ViT-B-32") or {}
    config["vision_cfg"]["layers"] = image_layers
    torch.manual_seed(0)
    save_file(open_clip.CLIP(**config).state_dict(), folder / "open_clip_model.safetensors")
    (folder / "open_clip_config.json").write_text(json.dumps({"model_cfg": config, "preprocess_cfg": {}}))


def main(questions: int = 256) -> None:
    import open_clip
    import torch

    source = DatasetFolders("sample").source / "questions1.2" / "testdev_balanced_questions.json"
    distinct = sorted({question["question"] for question in read_json(source, dict[str, dict]).values()})
    texts = distinct[:: max(1, len(distinct) * 2 // questions)][: questions // 2] * 2
    with tempfile.TemporaryDirectory() as name:
        write_model(Path(name))
        model = f"local-dir:{name}"
        encoder = clip.Encoder(model, device="cpu")
        network = cast(
            "open_clip.CLIP", open_clip.create_model_from_pretrained(model, return_transform=False)
        )
        tokenizer = open_clip.get_tokenizer(model)
    network.eval()

    def ours() -> np.ndarray:
        own, row_of = np.unique(texts, return_inverse=True)
        return encoder.stack_batches(encoder.encode_texts(own.tolist(), TEXT_BATCH_SIZE), len(own))[row_of]

    @torch.inference_mode()
    def peer() -> np.ndarray:
        batches = [tokenizer(texts[i : i + TEXT_BATCH_SIZE]) for i in range(0, len(texts), TEXT_BATCH_SIZE)]
        return np.concatenate([network.encode_text(ids, normalize=True).numpy() for ids in batches])

    vectors, seconds = time_call(ours)
    expected, its = time_call(peer)
    what = f"{len(texts)} questions, {len(set(texts))} distinct, ViT-B-32's text tower, CPU"
    print_comparison(what, seconds, "every question at full context", its)
    print(f"ours {len(texts) / seconds[0]:.1f} questions/s, full context {len(texts) / its[0]:.1f}")
    print(f"largest difference of a vector's component {np.abs(vectors - expected).max():.1e}")


if __name__ == "__main__":
    run_benchmark(main)
