"""Train the sample's own small CLIP on drawn train pictures and their texts, with open_clip's contrastive loss.

    python -m pipeline.sample_world.train_clip    draws the pictures, trains, writes data/sample/clip

Three phases, all with `open_clip.ClipLoss`. First texts alone: a question against the mean of the noun phrases ("a small
red cup") of its picture's things; no pixel is needed, so it is cheap, and the texts find their places. Then pictures,
with the texts locked (Zhai et al. 2022, LiT), so that each text is encoded only once: the feature map at the middle of
each thing against the thing's noun phrase, which teaches what things look like, and its mean over the picture, which is
the picture's vector, against its questions and the mean of its noun phrases. Pictures are small at first and full-sized
in the third phase, where a finer map inside the tower learns the things' names too, since most things are small. Only
train pictures and train texts are used; the first 640 train worlds are the sample's published train split, the others
continue the same series. An interrupted run goes on from the last checkpoint in data/cache/sample_clip; `--start FOLDER`
begins with the weights of an earlier run, and training.json lists the runs that a model has behind it.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from pipeline.core.errors import run
from pipeline.core.files import read_json, replacing, write_json
from pipeline.core.paths import DATA
from pipeline.core.progress import done, track
from pipeline.core.records import Record, Scene, SceneObject
from pipeline.sample_world.ontology import BY_NAME
from pipeline.sample_world.world import HEIGHT, WIDTH

SEED = 2023
CHUNK = 256  # pictures per file of the drawn set
SIZE = (192, 256)  # height, width of pictures as the model sees them
SMALL = (144, 192)  # and in the second phase
MOVED = 8  # pixels by which a picture is moved at most
FINE = 2  # the tower's stage with 16 pixels per cell; the last has 32
SCENES = 64  # pictures per step
THINGS, QUESTIONS = 6, 6  # of each picture or scene in a step
TOLD = 128  # scenes per step of texts alone
CONTEXT = 48
WORK = DATA / "cache" / "sample_clip"
TARGET = DATA / "sample" / "clip"
MODEL = {
    "embed_dim": 256,
    "vision_cfg": {"timm_model_name": "regnetx_002", "timm_model_pretrained": False, "timm_pool": "avg", "timm_proj": "linear", "image_size": list(SIZE)},
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
    """Draw train worlds number * CHUNK ... and write them; what is there already stays.

    Drawn like the committed pictures, and made smaller with the filter that open_clip's preprocessing uses on those.
    """
    from PIL import Image

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
        drawn = Image.fromarray(render(world)).resize(SIZE[::-1], Image.Resampling.BICUBIC)
        pixels.append(np.asarray(drawn))
        rows.append(Drawn(scene=known, questions=tuple(q.text for q in questions([known], SEED, 12))))
    with replacing(path.with_suffix(".json")) as file:
        file.write(msgspec.json.encode(rows))
    with replacing(path) as file:
        np.save(file, np.stack(pixels).transpose(0, 3, 1, 2))


def load(chunks: int) -> tuple[np.ndarray, list[Drawn]]:
    """Pictures uint8 [n, 3, *SIZE] and what is known of them."""
    paths = [WORK / f"train-{number:03d}.npy" for number in range(chunks)]
    rows = [row for path in paths for row in msgspec.json.decode(path.with_suffix(".json").read_bytes(), type=list[Drawn])]
    return np.concatenate([np.load(path) for path in paths]), rows


class Texts:
    """Tokens of all texts, each once; noun phrases per thing (all attributes, half, half again), questions per picture."""

    def __init__(self, rows: Sequence[Drawn], tokenize: Any) -> None:
        rng = np.random.default_rng(SEED)
        number: dict[str, int] = {}

        def known(text: str) -> int:
            return number.setdefault(text, len(number))

        self.phrases = np.array([[known(noun_phrase(o, share, rng)) for share in (1.0, 0.5, 0.5)] for row in rows for o in row.scene.objects])
        self.questions = np.array([known(text) for row in rows for text in row.questions])
        self.first_thing = np.cumsum([0] + [len(row.scene.objects) for row in rows])
        self.first_question = np.cumsum([0] + [len(row.questions) for row in rows])
        self.tokens = tokenize(list(number))

    def some_things(self, pictures: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """One thing of each picture, by lot: rows of `phrases`."""
        return _lot(self.first_thing, pictures, rng)

    def some_questions(self, pictures: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """One question of each picture, by lot, as a row of `tokens`."""
        return self.questions[_lot(self.first_question, pictures, rng)]


def _lot(first: np.ndarray, pictures: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return first[pictures] + (rng.random(len(pictures)) * (first[pictures + 1] - first[pictures])).astype(int)


class Trainer:
    """The model, its optimiser, and one step of either phase."""

    def __init__(self, pictures: np.ndarray, rows: Sequence[Drawn], start: Path | None = None) -> None:
        import open_clip
        import torch
        import torch.nn.attention
        from safetensors.torch import load_file

        torch.manual_seed(SEED)
        self.torch = torch
        self.pictures = torch.from_numpy(pictures)
        self.texts = Texts(rows, open_clip.SimpleTokenizer(context_length=CONTEXT))
        self.centres = np.array([((o.x + o.w / 2) / WIDTH, (o.y + o.h / 2) / HEIGHT) for row in rows for o in row.scene.objects])
        self.model = open_clip.CLIP(MODEL["embed_dim"], MODEL["vision_cfg"], MODEL["text_cfg"]).train()
        if start:
            self.model.load_state_dict(load_file(start / "open_clip_model.safetensors"))
        self.model.visual.to(memory_format=torch.channels_last)
        self._drop_unused_tokens()
        width = self.model.visual.trunk.feature_info[FINE + 1]["num_chs"]
        self.fine = torch.nn.Linear(width, MODEL["embed_dim"], bias=False)  # for training alone
        self.loss = open_clip.ClipLoss()
        named = [*self.model.named_parameters(), *self.fine.named_parameters()]
        decayed = [p for name, p in named if p.ndim > 1 and "embedding" not in name]
        others = [p for name, p in named if p.ndim <= 1 or "embedding" in name]
        self.optimiser = torch.optim.AdamW(
            [{"params": decayed, "weight_decay": 0.05}, {"params": others, "weight_decay": 0.0}], betas=(0.9, 0.98), fused=True)
        self.mean, self.std = (torch.tensor(v).view(1, 3, 1, 1) * 255 for v in (MEAN, STD))

    def _drop_unused_tokens(self) -> None:
        """Train the rows of the token table that the texts of this world use, in the same order; `export` puts them back."""
        self.used = self.texts.tokens.unique()  # sorted: padding stays 0, and the end of text stays the greatest
        self.texts.tokens = self.torch.searchsorted(self.used, self.texts.tokens)
        self.model.token_embedding = self.torch.nn.Embedding.from_pretrained(
            self.model.token_embedding.weight[self.used].detach(), freeze=False)

    def text_step(self, rng: np.random.Generator, rate: float) -> float:
        """Questions and one more noun phrase against the mean of the noun phrases of their scenes' things."""
        texts = self.texts
        rows = rng.integers(0, len(self.pictures), TOLD)
        asked = [self._encode(texts.some_questions(rows, rng)) for _ in range(QUESTIONS)]
        asked.append(self._encode(texts.phrases[texts.some_things(rows, rng), 1]))
        return self._update(self._contrast(self._told(rows, self._encode), asked), rate)

    def _told(self, rows: np.ndarray, encode: Any) -> Any:
        """Unit vectors of scenes as texts tell them: the mean of their things' noun phrases."""
        first = self.texts.first_thing
        things = np.concatenate([np.arange(first[i], first[i + 1]) for i in rows])
        scene = np.repeat(np.arange(len(rows)), first[rows + 1] - first[rows])
        phrases = encode(self.texts.phrases[things, 0])
        told = phrases.new_zeros(len(rows), phrases.shape[1]).index_add(0, self.torch.from_numpy(scene), phrases)
        return self.torch.nn.functional.normalize(told, dim=-1)

    def lock_texts(self) -> None:
        """Encode all texts for the second phase."""
        with self.torch.no_grad():
            every = np.arange(len(self.texts.tokens))
            self.locked = self.torch.cat([self._encode(part) for part in np.array_split(every, 1 + len(every) // 1024)])

    def picture_step(self, rng: np.random.Generator, rate: float, size: tuple[int, int]) -> float:
        """Pictures, moved a little (edges repeated): their things against noun phrases, the whole against its texts."""
        texts, functional, visual = self.texts, self.torch.nn.functional, self.model.visual
        rows = rng.integers(0, len(self.pictures), SCENES)
        moved = rng.integers(-MOVED, MOVED + 1, 2)  # to the right, down
        pixels = self._pixels(rows, moved, size)
        with self.torch.autocast("cpu", self.torch.bfloat16):
            seen, (fine,) = visual.trunk.forward_intermediates(pixels, indices=[FINE + 1])
        seen, fine = seen.float(), fine.float()
        whole = functional.normalize(visual.head(seen.mean((2, 3))), dim=-1)
        asked = [self.locked[texts.some_questions(rows, rng)] for _ in range(QUESTIONS)]
        asked.append(self._told(rows, lambda chosen: self.locked[chosen]))

        things = np.stack([texts.some_things(rows, rng) for _ in range(THINGS)], 1)
        middle = self.centres[things] + moved / SIZE[::-1]  # [scenes, things, xy], 0 to 1
        parts = [visual.head(_at(seen, middle)), self.fine(_at(fine, middle))]
        names = self.locked[texts.phrases[things.ravel(), rng.integers(0, 2, things.size)]]
        loss = self._contrast(whole, asked)
        for part in parts[: 1 if size == SMALL else 2]:
            loss = loss + 0.5 * self._contrast(functional.normalize(part, dim=-1), [names])
        return self._update(loss, rate)

    def _pixels(self, rows: np.ndarray, moved: np.ndarray, size: tuple[int, int]) -> Any:
        """Pictures as the tower takes them, float32 [n, 3, *size], moved by so many pixels of the full size."""
        functional = self.torch.nn.functional
        padded = functional.pad(self.pictures[rows].float(), (MOVED,) * 4, mode="replicate")
        left, top = (MOVED - int(v) for v in moved)
        pixels = padded[:, :, top : top + SIZE[0], left : left + SIZE[1]].sub(self.mean).div(self.std)
        if size != SIZE:
            pixels = functional.interpolate(pixels, size, mode="bicubic", antialias=True)
        return pixels.contiguous(memory_format=self.torch.channels_last)

    def _contrast(self, vectors: Any, batches: Sequence[Any]) -> Any:
        scale = self.model.logit_scale.exp()
        return sum(self.loss(vectors, batch, scale) for batch in batches) / len(batches)

    def _update(self, loss: Any, rate: float) -> float:
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        self.torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimiser.step()
        with self.torch.no_grad():
            self.model.logit_scale.clamp_(0, math.log(100))
        return float(loss.detach())

    def _encode(self, texts: np.ndarray) -> Any:
        """Unit vectors of rows of the token table, each text encoded once and cut to the longest (the rest is padding,
        which the causal mask hides)."""
        distinct, place = np.unique(texts, return_inverse=True)
        tokens, model = self.texts.tokens[distinct], self.model
        length = int((tokens != 0).sum(1).max())
        attention = self.torch.nn.attention  # the plain product is the fastest for texts this short
        with self.torch.autocast("cpu", self.torch.bfloat16), attention.sdpa_kernel(attention.SDPBackend.MATH):
            x = model.token_embedding(tokens[:, :length]) + model.positional_embedding[:length]
            x = model.transformer(x, attn_mask=model.attn_mask[:length, :length])
        x = model.ln_final(x[self.torch.arange(len(x)), tokens[:, :length].argmax(-1)].float()) @ model.text_projection
        return self.torch.nn.functional.normalize(x, dim=-1)[place]

    def state(self) -> dict[str, Any]:
        return {"model": self.model.state_dict(), "fine": self.fine.state_dict(), "optimiser": self.optimiser.state_dict()}

    def restore(self, state: dict[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        self.fine.load_state_dict(state["fine"])
        self.optimiser.load_state_dict(state["optimiser"])


def _at(features: Any, places: np.ndarray) -> Any:
    """What a feature map [n, d, h, w] holds at places [n, k, xy] of its pictures, 0 to 1: [n * k, d]."""
    import torch

    grid = torch.from_numpy(2 * places - 1).float()[:, :, None]
    there = torch.nn.functional.grid_sample(features, grid, align_corners=False, padding_mode="border")[..., 0]
    return there.transpose(1, 2).reshape(-1, features.shape[1])


def rate_at(step: int, steps: int) -> float:
    """Learning rate within a phase: 100 steps of warming up, then a cosine from 2e-3 to 2e-5."""
    return 2e-3 * min(1, (step + 1) / 100) * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * step / steps)))


def train(trainer: Trainer, text_steps: int, small_steps: int, picture_steps: int, every: int = 200) -> None:
    """The three phases; a checkpoint and a usable model every so many steps."""
    path, steps = WORK / "checkpoint.pt", [text_steps, small_steps, picture_steps]
    first = [0, text_steps, text_steps + small_steps, sum(steps)]  # the step that each phase begins with
    start, recent = 0, []
    if path.exists():
        saved = trainer.torch.load(path, weights_only=True)
        if saved["steps"] == steps:
            trainer.restore(saved)
            start = saved["done"]
    for number in track(range(start, first[3]), "train_clip", first[3] - start, "step"):
        rng = np.random.default_rng([SEED, number])
        phase = sum(number >= begin for begin in first[1:3])
        rate = rate_at(number - first[phase], steps[phase])
        if phase == 0:
            recent.append(trainer.text_step(rng, rate))
        else:
            if number in (start, first[1]):
                trainer.lock_texts()
            recent.append(trainer.picture_step(rng, rate, (SMALL, SIZE)[phase - 1]))
        if (number + 1) % every == 0 or number + 1 in first:
            print(f"step {number + 1} of {first[3]}, loss {np.mean(recent):.3f}", flush=True)
            recent.clear()
            with replacing(path) as file:
                trainer.torch.save({**trainer.state(), "done": number + 1, "steps": steps}, file)
            export(trainer, TARGET)


def export(trainer: Trainer, folder: Path) -> None:
    """Write the folder that open_clip loads as `local-dir:`: weights as float16, configuration, preprocessing.

    Rows of the token table that no text of this world uses are zero: they compress to nothing.
    """
    from safetensors.torch import save

    state = trainer.model.state_dict()
    state.pop("attn_mask", None)
    rows = state["token_embedding.weight"]
    state["token_embedding.weight"] = rows.new_zeros(MODEL["text_cfg"]["vocab_size"], rows.shape[1]).index_copy(0, trainer.used, rows)
    weights = {name: v.half().contiguous() if v.is_floating_point() else v for name, v in state.items()}
    with replacing(folder / "open_clip_model.safetensors") as file:
        file.write(save(weights))
    write_json(folder / "open_clip_config.json", {"model_cfg": MODEL, "preprocess_cfg": PREPROCESS})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=64, help=f"drawn train pictures, in units of {CHUNK}")
    parser.add_argument("--text-steps", type=int, default=3000, help=f"steps of the texts of {TOLD} scenes")
    parser.add_argument("--small-steps", type=int, default=6000, help=f"steps of {SCENES} small pictures with their things and texts")
    parser.add_argument("--picture-steps", type=int, default=6000, help=f"steps of {SCENES} full-sized ones")
    parser.add_argument("--start", type=Path, help="a folder with the weights of an earlier run, to go on from")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    with Pool(args.threads) as pool:
        for _ in track(pool.imap_unordered(draw_chunk, range(args.chunks)), "draw", args.chunks, "chunk"):
            pass
    import torch

    torch.set_num_threads(args.threads)
    earlier = read_json(args.start / "training.json", list[dict[str, int]]) if args.start else []
    trainer = Trainer(*load(args.chunks), start=args.start)
    run_now = {
        "pictures": args.chunks * CHUNK,
        "text_steps": args.text_steps, "small_steps": args.small_steps, "picture_steps": args.picture_steps,
    }
    train(trainer, args.text_steps, args.small_steps, args.picture_steps)
    write_json(TARGET / "training.json", [*earlier, run_now])
    done("train_clip", f"{args.chunks * CHUNK:,} pictures, {args.text_steps:,} + {args.small_steps:,} + {args.picture_steps:,} steps", TARGET)


if __name__ == "__main__":
    run(main)
