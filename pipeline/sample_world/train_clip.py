"""Train the sample's own small CLIP on drawn train pictures and their texts, with open_clip's contrastive loss.

    python -m pipeline.sample_world.train_clip    draws the pictures, trains, writes data/sample/clip

Two phases, both with `open_clip.ClipLoss`. First crops around single things with their noun phrases ("a small red
cup"): cheap, and they teach what things look like. Then whole pictures with noun phrases and questions: average
pooling adds the things of a picture up. Only train pictures and train texts are used; the first 640 train worlds are
the sample's published train split, the others continue the same series. An interrupted run goes on from the last
checkpoint in data/cache/sample_clip.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from pipeline.core.errors import run
from pipeline.core.files import replacing, write_json
from pipeline.core.paths import DATA
from pipeline.core.progress import done, track
from pipeline.core.records import Record, Scene, SceneObject
from pipeline.sample_world.ontology import BY_NAME
from pipeline.sample_world.world import HEIGHT, WIDTH

SEED = 2023
CHUNK = 256  # pictures per file of the drawn set
DRAWN = (256, 192)  # width, height as drawn; the model sees SIZE
SIZE = (96, 128)  # height, width
CROP = 48  # pixels of a crop at SIZE, the same scale as whole pictures, so that what is learnt carries over
CROPS, SCENES = 256, 64  # per step
PHRASES, QUESTIONS = 8, 4  # texts per whole picture and step
CONTEXT = 48
WORK = DATA / "cache" / "sample_clip"
TARGET = DATA / "sample" / "clip"
MODEL = {
    "embed_dim": 256,
    "vision_cfg": {"timm_model_name": "test_byobnet", "timm_model_pretrained": False, "timm_pool": "avg", "timm_proj": "linear", "image_size": list(SIZE)},
    "text_cfg": {"context_length": CONTEXT, "vocab_size": 49408, "width": 64, "heads": 2, "layers": 2},
}
MEAN, STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
PREPROCESS = {"size": list(SIZE), "mode": "RGB", "mean": MEAN, "std": STD, "interpolation": "bicubic", "resize_mode": "squash", "fill_color": 0}


class Drawn(Record):
    """A train picture's truth and questions; its pixels are in the .npy file beside it."""

    scene: Scene
    questions: tuple[str, ...]


def noun_phrase(thing: SceneObject, share: float, rng: np.random.Generator) -> str:
    """A phrase like "a small red cup": the name with each attribute kept with probability `share`, in any order."""
    kept = [attribute for attribute in thing.attributes if rng.random() < share]
    words = " ".join([*rng.permutation(kept).tolist(), thing.name])
    if BY_NAME[thing.name].number == "plural":
        return words
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"


def draw_chunk(number: int) -> None:
    """Draw train worlds number * CHUNK ... and write them; what is there already stays."""
    from pipeline.sample_world.drawing import render
    from pipeline.sample_world.graphs import truth
    from pipeline.sample_world.questions import questions
    from pipeline.sample_world.scenes import picture_id, scene

    path = WORK / f"train-{number:03d}.npy"
    if path.exists():
        return
    pixels, rows = [], []
    for index in range(number * CHUNK, (number + 1) * CHUNK):
        world = scene(SEED, picture_id("train", index), "train", index)
        known = truth(world)
        pixels.append(render(world, *DRAWN))
        rows.append(Drawn(scene=known, questions=tuple(q.text for q in questions([known], SEED, 12))))
    with replacing(path.with_suffix(".json")) as file:
        file.write(msgspec.json.encode(rows))
    with replacing(path) as file:
        np.save(file, np.stack(pixels))


def load(chunks: int) -> tuple[np.ndarray, list[Drawn]]:
    """Pictures uint8 [n, 3, *SIZE] and what is known of them."""
    from PIL import Image

    pictures, rows = [], []
    for number in range(chunks):
        path = WORK / f"train-{number:03d}.npy"
        resized = [np.asarray(Image.fromarray(p).resize(SIZE[::-1], Image.Resampling.BICUBIC)) for p in np.load(path)]
        pictures.append(np.stack(resized).transpose(0, 3, 1, 2))
        rows += msgspec.json.decode(path.with_suffix(".json").read_bytes(), type=list[Drawn])
    return np.concatenate(pictures), rows


class Texts:
    """Tokens of all texts: noun phrases per thing (all attributes, half of them, half again), questions per picture."""

    def __init__(self, rows: Sequence[Drawn], tokenize: Any) -> None:
        rng = np.random.default_rng(SEED)
        phrases = [[noun_phrase(o, share, rng) for share in (1.0, 0.5, 0.5)] for row in rows for o in row.scene.objects]
        self.phrases = tokenize([text for three in phrases for text in three]).reshape(len(phrases), 3, -1)
        self.first_thing = np.cumsum([0] + [len(row.scene.objects) for row in rows])
        self.questions = tokenize([text for row in rows for text in row.questions])
        self.first_question = np.cumsum([0] + [len(row.questions) for row in rows])

    def of_pictures(self, pictures: np.ndarray, rng: np.random.Generator) -> Iterator[Any]:
        """PHRASES + QUESTIONS batches of tokens; row i of each is about picture i of the batch."""
        for table, first, count in ((self.phrases, self.first_thing, PHRASES), (self.questions, self.first_question, QUESTIONS)):
            for _ in range(count):
                rows = first[pictures] + (rng.random(len(pictures)) * (first[pictures + 1] - first[pictures])).astype(int)
                yield table[rows] if table.ndim == 2 else table[rows, rng.integers(0, 3, len(rows))]


class Trainer:
    """The model, its optimiser, and one step of either phase."""

    def __init__(self, pictures: np.ndarray, rows: Sequence[Drawn]) -> None:
        import open_clip
        import torch

        torch.manual_seed(SEED)
        self.torch = torch
        self.pictures = torch.from_numpy(pictures)
        self.texts = Texts(rows, open_clip.SimpleTokenizer(context_length=CONTEXT))
        self.centres = np.array([
            (index, (o.x + o.w / 2) * SIZE[1] / WIDTH, (o.y + o.h / 2) * SIZE[0] / HEIGHT)
            for index, row in enumerate(rows) for o in row.scene.objects
        ])
        self.model = open_clip.CLIP(MODEL["embed_dim"], MODEL["vision_cfg"], MODEL["text_cfg"]).train()
        self.model.visual.to(memory_format=torch.channels_last)
        self._forget_unused_tokens()
        self.loss = open_clip.ClipLoss()
        named = list(self.model.named_parameters())
        decayed = [p for name, p in named if p.ndim > 1 and "embedding" not in name]
        others = [p for name, p in named if p.ndim <= 1 or "embedding" in name]
        self.optimiser = torch.optim.AdamW(
            [{"params": decayed, "weight_decay": 0.05}, {"params": others, "weight_decay": 0.0}], betas=(0.9, 0.98))
        self.mean, self.std = (torch.tensor(v).view(1, 3, 1, 1) * 255 for v in (MEAN, STD))

    def _forget_unused_tokens(self) -> None:
        """Rows of the token table that no text of this world uses are zero: they compress to nothing."""
        used = self.torch.zeros(49408, dtype=self.torch.bool)
        used[self.texts.phrases.unique()] = True
        used[self.texts.questions.unique()] = True
        with self.torch.no_grad():
            self.model.token_embedding.weight[~used] = 0

    def crop_step(self, rng: np.random.Generator, rate: float) -> float:
        """Crops around random things, each with a noun phrase of its thing."""
        rows = rng.integers(0, len(self.centres), CROPS)
        found = self.centres[rows]
        corner = found[:, 1:] - CROP / 2 + rng.integers(-7, 8, (CROPS, 2))
        corner = np.clip(corner, 0, (SIZE[1] - CROP, SIZE[0] - CROP)).astype(int)
        cut = [self.pictures[int(i), :, y : y + CROP, x : x + CROP] for i, (x, y) in zip(found[:, 0], corner, strict=True)]
        return self._step(self.torch.stack(cut), [self.texts.phrases[rows, rng.integers(0, 2, CROPS)]], rate)

    def scene_step(self, rng: np.random.Generator, rate: float) -> float:
        """Whole pictures, moved by up to 6 pixels (edges repeated), each with phrases and questions."""
        rows = rng.integers(0, len(self.pictures), SCENES)
        dx, dy = (int(v) for v in rng.integers(-6, 7, 2))
        padded = self.torch.nn.functional.pad(self.pictures[rows].float(), (8, 8, 8, 8), mode="replicate")
        moved = self.torch.roll(padded, (dy, dx), (2, 3))[:, :, 8:-8, 8:-8]
        return self._step(moved, list(self.texts.of_pictures(rows, rng)), rate)

    def _step(self, pictures: Any, batches: Sequence[Any], rate: float) -> float:
        pixels = pictures.float().sub(self.mean).div(self.std).contiguous(memory_format=self.torch.channels_last)
        vectors = self.model.encode_image(pixels, normalize=True)
        texts = self._encode(self.torch.cat(list(batches))).split(len(vectors))
        loss = sum(self.loss(vectors, text, self.model.logit_scale.exp()) for text in texts) / len(texts)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        self.torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimiser.step()
        with self.torch.no_grad():
            self.model.logit_scale.clamp_(0, math.log(100))
        return float(loss)

    def _encode(self, tokens: Any) -> Any:
        """Unit vectors of texts, cut to the longest of the batch (the rest is padding, which the causal mask hides)."""
        model, length = self.model, int((tokens != 0).sum(1).max())
        x = model.token_embedding(tokens[:, :length]) + model.positional_embedding[:length]
        x = model.ln_final(model.transformer(x, attn_mask=model.attn_mask[:length, :length]))
        last = x[self.torch.arange(len(x)), tokens[:, :length].argmax(-1)] @ model.text_projection
        return self.torch.nn.functional.normalize(last, dim=-1)

    def state(self) -> dict[str, Any]:
        return {"model": self.model.state_dict(), "optimiser": self.optimiser.state_dict()}

    def restore(self, state: dict[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        self.optimiser.load_state_dict(state["optimiser"])


def rate_at(step: int, crop_steps: int, scene_steps: int) -> float:
    """Learning rate: both phases warm up for 50 steps; crops fall to 30 % in a line, pictures to 0 by a cosine."""
    if step < crop_steps:
        return 2e-3 * min(1, (step + 1) / 50) * (1 - 0.7 * step / crop_steps)
    step -= crop_steps
    return 2e-3 * min(1, (step + 1) / 50) * 0.5 * (1 + math.cos(math.pi * step / scene_steps))


def train(trainer: Trainer, crop_steps: int, scene_steps: int, every: int = 200) -> None:
    """Both phases; a checkpoint and a usable model every so many steps."""
    path = WORK / "checkpoint.pt"
    start, total = 0, crop_steps + scene_steps
    if path.exists():
        saved = trainer.torch.load(path, weights_only=True)
        if saved["steps"] == [crop_steps, scene_steps]:
            trainer.restore(saved)
            start = saved["done"]
    average = 0.0
    for number in track(range(start, total), "train_clip", total - start, "step"):
        rng, rate = np.random.default_rng([SEED, number]), rate_at(number, crop_steps, scene_steps)
        loss = trainer.crop_step(rng, rate) if number < crop_steps else trainer.scene_step(rng, rate)
        average = 0.98 * average + 0.02 * loss
        if (number + 1) % every == 0 or number + 1 == total:
            print(f"step {number + 1} of {total}, loss {average / (1 - 0.98 ** (number + 1 - start)):.3f}", flush=True)
            with replacing(path) as file:
                trainer.torch.save({**trainer.state(), "done": number + 1, "steps": [crop_steps, scene_steps]}, file)
            export(trainer.model, TARGET)


def export(model: Any, folder: Path) -> None:
    """Write the folder that open_clip loads as `local-dir:`: weights as float16, configuration, preprocessing."""
    from safetensors.torch import save

    weights = {name: v.half().contiguous() if v.is_floating_point() else v for name, v in model.state_dict().items()}
    weights.pop("attn_mask", None)
    with replacing(folder / "open_clip_model.safetensors") as file:
        file.write(save(weights))
    write_json(folder / "open_clip_config.json", {"model_cfg": MODEL, "preprocess_cfg": PREPROCESS})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=16, help=f"drawn train pictures, in units of {CHUNK}")
    parser.add_argument("--crop-steps", type=int, default=1600, help=f"steps of {CROPS} crops")
    parser.add_argument("--scene-steps", type=int, default=1100, help=f"steps of {SCENES} whole pictures with {PHRASES + QUESTIONS} texts each")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    with Pool(args.threads) as pool:
        for _ in track(pool.imap_unordered(draw_chunk, range(args.chunks)), "draw", args.chunks, "chunk"):
            pass
    import torch

    torch.set_num_threads(args.threads)
    trainer = Trainer(*load(args.chunks))
    write_json(TARGET / "training.json", {"pictures": args.chunks * CHUNK, "crop_steps": args.crop_steps, "scene_steps": args.scene_steps})
    train(trainer, args.crop_steps, args.scene_steps)
    done("train_clip", f"{args.chunks * CHUNK:,} pictures, {args.crop_steps:,} + {args.scene_steps:,} steps", TARGET)


if __name__ == "__main__":
    run(main)
