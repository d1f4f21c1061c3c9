"""Train the sample's own small CLIP, which knows this drawn world and nothing else.

    python -m pipeline.sample_world.train_clip            draw, train (goes on where it stopped), write data/sample/clip
    python -m pipeline.sample_world.train_clip --card     measure it on the testdev pictures, write MODEL_CARD.md

An open_clip model with open_clip's contrastive loss (`ClipLoss`), on train pictures and true texts alone, in two
parts: first crops around one thing with its noun phrase (cheap, and it is plain what the words mean), then whole
pictures with the phrases of their things and with questions. Whole pictures come from two places a batch, so that
the place alone does not tell them apart.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.core.errors import run
from pipeline.core.files import replacing, write_json
from pipeline.core.paths import DATA, Folders
from pipeline.core.progress import done, track
from pipeline.core.randomness import generator
from pipeline.encoders.clip import encode_text
from pipeline.sample_world import clip_card
from pipeline.sample_world.build import SEED
from pipeline.sample_world.clip_material import CHUNK, CONTEXT, PHRASES, SIZE, Material, gathered
from pipeline.sample_world.ontology import PLACES

if TYPE_CHECKING:
    import torch

WORK = DATA / "cache" / "clip"  # what a stopped training goes on from
CHUNKS = 24  # of 256 pictures
CONFIG: dict[str, Any] = {
    "embed_dim": 256,
    "vision_cfg": {"timm_model_name": "test_byobnet", "timm_model_pretrained": False, "timm_pool": "avgmax",
                   "timm_proj": "linear", "image_size": list(SIZE)},
    "text_cfg": {"context_length": CONTEXT, "vocab_size": 49408, "width": 64, "heads": 2, "layers": 2},
}
PREPROCESSING: dict[str, Any] = {
    "size": list(SIZE), "mode": "RGB", "mean": [0.48145466, 0.4578275, 0.40821073],
    "std": [0.26862954, 0.26130258, 0.27577711], "interpolation": "bicubic", "resize_mode": "squash", "fill_color": 0,
}
CROP, CROPS, CROP_STEPS = 48, 256, 2400  # pixels of a crop's side, crops a batch, batches
SCENES, SCENE_STEPS = 64, 4000  # pictures a batch (half from either place), batches
PHRASES_EACH, QUESTIONS_EACH = 5, 4  # texts of each picture in a batch
RATE, FLOOR, WARM_UP = 2e-3, 0.02, 50  # AdamW's learning rate, the share of it left at the end, steps to reach it
DECAY, CLIP = 0.05, 1.0  # weight decay, largest norm of the gradient
SHIFT = 6  # pixels by which whole pictures are moved about, against learning them by heart
KEEP_EVERY = 100  # steps


def rate(step: int, steps: int) -> float:
    """Learning rate: a linear warm-up, then half a cosine down to FLOOR of the peak."""
    cosine = (1 + math.cos(math.pi * step / steps)) / 2
    return RATE * min(1.0, (step + 1) / WARM_UP) * (FLOOR + (1 - FLOOR) * cosine)


def crop_batch(material: Material, step: int) -> tuple[np.ndarray, np.ndarray]:
    """Crops uint8 [CROPS, CROP, CROP, 3] around things, and one phrase for each: token ids [1, CROPS, tokens]."""
    rng = generator(SEED, "clip", "crops", str(step))
    things = rng.integers(0, len(material.owner), CROPS)
    corner = material.centre[things] - CROP / 2 + rng.integers(-7, 8, (CROPS, 2))
    x, y = np.clip(corner, 0, [SIZE[1] - CROP, SIZE[0] - CROP]).astype(int).T
    pictures = [material.pictures[material.owner[t], b : b + CROP, a : a + CROP] for t, a, b in zip(things, x, y, strict=True)]
    return np.stack(pictures), material.phrases[things, rng.integers(0, 2, CROPS)][None]


def scene_batch(material: Material, step: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Pictures uint8 [SCENES, h, w, 3] of two places, and their texts: token ids [PHRASES_EACH, SCENES, tokens] of
    phrases and [QUESTIONS_EACH, SCENES, tokens] of questions."""
    rng = generator(SEED, "clip", "scenes", str(step))
    of_place = [np.flatnonzero(material.place == place) for place in rng.choice(len(PLACES), 2, replace=False)]
    chosen = np.concatenate([rng.choice(members, SCENES // 2, replace=False) for members in of_place])
    across, down = rng.integers(-SHIFT, SHIFT + 1, 2)
    padded = np.pad(material.pictures[chosen], ((0, 0), (SHIFT, SHIFT), (SHIFT, SHIFT), (0, 0)), mode="edge")
    pictures = padded[:, SHIFT + down : SHIFT + down + SIZE[0], SHIFT + across : SHIFT + across + SIZE[1]]
    first, last = np.searchsorted(material.owner, chosen), np.searchsorted(material.owner, chosen, side="right")
    phrases = np.stack([
        material.phrases[a + rng.permutation(b - a)[:PHRASES_EACH], rng.integers(0, PHRASES, PHRASES_EACH)]
        for a, b in zip(first, last, strict=True)], axis=1)  # a scene has at least six things
    asked = np.stack([material.asked[c, rng.permutation(material.asked.shape[1])[:QUESTIONS_EACH]] for c in chosen], axis=1)
    return pictures, [phrases, asked]


class Trainer:
    """The model, its optimizer and how far it is; kept in WORK so that a stopped training goes on."""

    def __init__(self, material: Material) -> None:
        import open_clip
        import torch

        self.material = material
        torch.manual_seed(SEED)
        self.network = open_clip.CLIP(**CONFIG).train()
        self.network.visual.to(memory_format=torch.channels_last)
        known = np.unique(np.concatenate([np.unique(material.phrases), np.unique(material.asked)]))
        with torch.no_grad():  # words that never occur stay zero: they mean nothing, and compress to nothing
            unknown = torch.ones(len(self.network.token_embedding.weight), dtype=torch.bool)
            unknown[known.astype(np.int64)] = False
            self.network.token_embedding.weight[unknown] = 0
        self.loss = open_clip.ClipLoss()
        plain = [p for n, p in self.network.named_parameters() if p.ndim < 2 or "embedding" in n]
        decayed = [p for n, p in self.network.named_parameters() if p.ndim >= 2 and "embedding" not in n]
        self.optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": DECAY}, {"params": plain, "weight_decay": 0.0}],
                                           lr=RATE, betas=(0.9, 0.98))
        self.step = 0

    def resume(self, path: Path) -> None:
        import torch

        if path.exists():
            state = torch.load(path, weights_only=True)
            self.network.load_state_dict(state["network"])
            self.optimizer.load_state_dict(state["optimizer"])
            self.step = state["step"]

    def keep(self, path: Path) -> None:
        import torch

        with replacing(path) as file:
            torch.save({"network": self.network.state_dict(), "optimizer": self.optimizer.state_dict(), "step": self.step}, file)

    def steps(self) -> Iterator[float]:
        """Take the steps that remain; yield the loss of each, in nats below what guessing gives."""
        while self.step < CROP_STEPS + SCENE_STEPS:
            if self.step < CROP_STEPS:
                pictures, phrases = crop_batch(self.material, self.step)
                yield self._take(pictures, [phrases], rate(self.step, CROP_STEPS))
            else:
                done_before = self.step - CROP_STEPS
                yield self._take(*scene_batch(self.material, done_before), rate(done_before, SCENE_STEPS))

    def _take(self, pictures: np.ndarray, texts: list[np.ndarray], learning_rate: float) -> float:
        import torch

        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        images = self.network.encode_image(_pixels(pictures), normalize=True)
        vectors = [row for kind in texts for row in self._encode(kind)]
        scale = self.network.logit_scale.exp()
        loss = sum(self.loss(images, row, scale) for row in vectors) / len(vectors)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), CLIP)
        self.optimizer.step()
        with torch.no_grad():
            self.network.logit_scale.clamp_(0, math.log(100))
        self.step += 1
        return math.log(len(pictures)) - loss.item()

    def _encode(self, ids: np.ndarray) -> torch.Tensor:
        """Unit vectors [k, n, d] of token ids [k, n, tokens], encoded in three parts by length, each cut to its longest."""
        import torch

        tokens = torch.from_numpy(ids.reshape(-1, ids.shape[-1]).astype(np.int64))
        lengths = (tokens != 0).sum(1)
        order = torch.argsort(lengths, stable=True)
        rows = torch.cat([encode_text(self.network, tokens[part, : int(lengths[part].max())]) for part in order.chunk(3)])
        return rows[torch.argsort(order)].view(*ids.shape[:2], -1)


def write_model(network: torch.nn.Module, folder: Path) -> None:
    """Write configuration and weights as open_clip's `local-dir:` reads them; the token table, 6 of 8 MB, as float16."""
    from safetensors.torch import save

    weights = {name: tensor.contiguous() for name, tensor in network.state_dict().items()}
    weights["token_embedding.weight"] = weights["token_embedding.weight"].half()
    with replacing(folder / "open_clip_model.safetensors") as file:
        file.write(save(weights))
    write_json(folder / "open_clip_config.json", {"model_cfg": CONFIG, "preprocess_cfg": PREPROCESSING})
    write_json(folder / "training.json", {"train_pictures": CHUNKS * CHUNK, "crop_steps": CROP_STEPS, "scene_steps": SCENE_STEPS})


def _pixels(pictures: np.ndarray) -> torch.Tensor:
    """What open_clip's preprocessing makes of pictures uint8 [n, h, w, 3] that have the right size."""
    import torch

    x = torch.from_numpy(pictures).permute(0, 3, 1, 2).float().div_(255)
    mean, std = (torch.tensor(PREPROCESSING[name]).view(1, 3, 1, 1) for name in ("mean", "std"))
    return x.sub_(mean).div_(std).contiguous(memory_format=torch.channels_last)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m pipeline.sample_world.train_clip", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--card", action="store_true", help="measure the model and write its card; no training")
    parser.add_argument("--processes", type=int, default=2, help="processes that draw (default 2)")
    options = parser.parse_args()
    folder = Folders("sample").clip
    if options.card:
        clip_card.main()
        return
    trainer = Trainer(gathered(WORK / "material", CHUNKS, options.processes))
    trainer.resume(WORK / "checkpoint.pt")
    remaining = CROP_STEPS + SCENE_STEPS - trainer.step
    recent: list[float] = []
    for gain in track(trainer.steps(), "training", remaining, "step"):
        recent.append(gain)
        if trainer.step % KEEP_EVERY == 0:
            trainer.keep(WORK / "checkpoint.pt")
            print(json.dumps({"step": trainer.step, "nats_above_guessing": round(float(np.mean(recent)), 3)}), flush=True)
            recent.clear()
    trainer.keep(WORK / "checkpoint.pt")
    write_model(trainer.network, folder)
    done("train_clip", f"{trainer.step:,} steps", folder)


if __name__ == "__main__":
    run(main)
