"""The sample's CLIP in training: the model and what helps it learn, its losses, one step of either kind."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import open_clip
import torch
import torch.nn.attention
from safetensors.torch import load_file, save
from torch import Tensor, nn
from torch.nn import functional

from pipeline.core.atomic_files import replacing
from pipeline.core.json_files import write_json
from research.synthetic_world.clip_training_data import CHUNK, SEED, SIZE, DrawnPicture, Texts
from research.synthetic_world.scene_types import HEIGHT, WIDTH

SMALL = (144, 192)  # height, width of pictures in the second phase
MOVED = 8  # pixels by which a picture is moved at most
FINE = 2  # the tower's stage with 16 pixels per cell; the last has 32
SCENES = 64  # pictures per step
THINGS, QUESTIONS = 8, 6  # of each picture or scene in a step
TOLD = 128  # scenes per step of texts alone
CONTEXT = 48
DIMENSION = 256
MODEL = {
    "embed_dim": DIMENSION,
    "vision_cfg": {
        "timm_model_name": "regnetx_002",
        "timm_model_pretrained": False,
        "timm_pool": "avgmax",
        "timm_proj": "mlp",
        "image_size": list(SIZE),
    },
    "text_cfg": {"context_length": CONTEXT, "vocab_size": 49408, "width": 64, "heads": 2, "layers": 2},
}
MEAN, STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
PREPROCESS = {
    "size": list(SIZE),
    "mode": "RGB",
    "mean": MEAN,
    "std": STD,
    "interpolation": "bicubic",
    "resize_mode": "squash",
    "fill_color": 0,
}


class Teller(nn.Module):
    """Pools the noun phrases of a scene's things as the picture tower pools its cells: mean and maximum, then two layers."""

    def __init__(self) -> None:
        super().__init__()
        wide = 2 * DIMENSION
        self.each = nn.Sequential(nn.Linear(DIMENSION, wide), nn.ReLU())
        self.head = nn.Sequential(nn.Linear(wide, wide), nn.GELU(), nn.Linear(wide, DIMENSION))

    def forward(self, phrases: Tensor, there: Tensor) -> Tensor:
        """[scenes, d] from phrases [scenes, things, d]; `there` [scenes, things] is False where a scene has no more."""
        each = self.each(phrases) * there[..., None]
        return self.head((each.sum(1) / there.sum(1, keepdim=True) + each.amax(1)) / 2)


class Trainer:
    """The model, its optimiser, and one step of either kind.

    `aids` are for training alone: the teller, and what turns cells of the tower's maps into vectors.
    """

    def __init__(
        self, pictures: Sequence[np.ndarray], rows: Sequence[DrawnPicture], start: Path | None = None
    ) -> None:
        torch.manual_seed(SEED)
        self.pictures, self.scenes = pictures, len(rows)
        self.texts = Texts(rows, open_clip.SimpleTokenizer(context_length=CONTEXT))
        self.centres = np.array(
            [((o.x + o.w / 2) / WIDTH, (o.y + o.h / 2) / HEIGHT) for row in rows for o in row.scene.objects]
        )
        # Its parts depend on the configuration, so no type checker knows them.
        self.model: Any = open_clip.CLIP(DIMENSION, MODEL["vision_cfg"], MODEL["text_cfg"]).train()
        if start:
            self._begin_with(start)
        self.model.visual.to(memory_format=torch.channels_last)
        self._drop_unused_tokens()
        fine, near = (self.model.visual.trunk.feature_info[stage]["num_chs"] for stage in (FINE + 1, -1))
        self.aids = nn.ModuleDict(
            {
                "teller": Teller(),
                "fine": nn.Linear(fine, DIMENSION, bias=False),
                "near": nn.Linear(near, DIMENSION, bias=False),
            }
        )
        self.loss = open_clip.ClipLoss()
        named = [*self.model.named_parameters(), *self.aids.named_parameters()]
        decayed = [p for name, p in named if p.ndim > 1 and "embedding" not in name]
        others = [p for name, p in named if p.ndim <= 1 or "embedding" in name]
        self.optimiser = torch.optim.AdamW(
            [{"params": decayed, "weight_decay": 0.05}, {"params": others, "weight_decay": 0.0}],
            betas=(0.9, 0.98),
            fused=True,
        )
        self.mean, self.std = (torch.tensor(v).view(1, 3, 1, 1) * 255 for v in (MEAN, STD))

    def _begin_with(self, start: Path) -> None:
        """Take over the weights of an earlier run, as far as its model is built alike."""
        here, earlier = self.model.state_dict(), load_file(start / "open_clip_model.safetensors")
        fitting = {
            name: value for name, value in earlier.items() if name in here and here[name].shape == value.shape
        }
        self.model.load_state_dict(fitting, strict=False)
        if anew := sorted(here.keys() - fitting.keys() - {"attn_mask"}):
            print(f"not in {start}, so begun anew: {', '.join(anew)}", flush=True)

    def _drop_unused_tokens(self) -> None:
        """Train the rows of the token table that the texts of this world use, in the same order; `export` puts them back."""
        self.used = (
            self.texts.tokens.unique()
        )  # sorted: padding stays 0, and the end of text stays the greatest
        self.texts.tokens = torch.searchsorted(self.used, self.texts.tokens)
        self.model.token_embedding = nn.Embedding.from_pretrained(
            self.model.token_embedding.weight[self.used].detach(), freeze=False
        )

    def text_step(self, rng: np.random.Generator, rate: float) -> float:
        """Questions and one more noun phrase against their scenes as told."""
        texts = self.texts
        rows = rng.integers(0, self.scenes, TOLD)
        asked = [self._encode(texts.some_questions(rows, rng)) for _ in range(QUESTIONS)]
        asked.append(self._encode(texts.phrases[texts.some_things(rows, rng), 1]))
        return self._update(self._contrast(self._told(rows, self._encode), asked), rate)

    def _told(self, rows: np.ndarray, encode: Callable[[np.ndarray], Tensor]) -> Tensor:
        """Unit vectors of scenes as texts tell them, from the noun phrases of their things."""
        first = self.texts.first_thing
        place = np.arange((first[rows + 1] - first[rows]).max())
        there = place < (first[rows + 1] - first[rows])[:, None]  # [scenes, things]
        phrases = torch.zeros(*there.shape, DIMENSION)
        phrases[there] = encode(self.texts.phrases[(first[rows][:, None] + place)[there], 0])
        return functional.normalize(self.aids["teller"](phrases, torch.from_numpy(there)), dim=-1)

    def lock_texts(self) -> None:
        """Encode all texts, and all scenes as told, for the phases of pictures."""
        with torch.no_grad():
            every = np.arange(len(self.texts.tokens))
            self.locked = torch.cat(
                [self._encode(part) for part in np.array_split(every, 1 + len(every) // 1024)]
            )
            scenes = np.array_split(np.arange(self.scenes), 1 + self.scenes // 1024)
            self.told = torch.cat([self._told(part, lambda chosen: self.locked[chosen]) for part in scenes])

    def picture_step(self, rng: np.random.Generator, rate: float, size: tuple[int, int]) -> float:
        """Pictures, moved a little (edges repeated): their things against noun phrases, the whole against its texts.
        Questions of full-sized pictures learn along."""
        texts, visual = self.texts, self.model.visual
        rows = rng.integers(0, self.scenes, SCENES)
        moved = rng.integers(-MOVED, MOVED + 1, 2)  # to the right, down
        pixels = self._pixels(rows, moved, size)
        with torch.autocast("cpu", torch.bfloat16):
            seen, (fine,) = visual.trunk.forward_intermediates(pixels, indices=[FINE + 1])
        seen, fine = seen.float(), fine.float()
        whole = functional.normalize(visual.head(visual.trunk.forward_head(seen)), dim=-1)
        chosen = np.concatenate([texts.some_questions(rows, rng) for _ in range(QUESTIONS)])
        questions = self._encode(chosen) if size == SIZE else self.locked[chosen]
        asked = [*questions.split(SCENES), self.told[rows]]

        things = np.stack([texts.some_things(rows, rng) for _ in range(THINGS)], 1)
        middle = self.centres[things] + moved / SIZE[::-1]  # [scenes, things, xy], 0 to 1
        parts = [self.aids["near"](_at(seen, middle)), self.aids["fine"](_at(fine, middle))]
        names = self.locked[texts.phrases[things.ravel(), rng.integers(0, 2, things.size)]]
        loss = self._contrast(whole, asked)
        for part in parts[: 1 if size == SMALL else 2]:
            loss = loss + 0.5 * self._contrast(functional.normalize(part, dim=-1), [names])
        return self._update(loss, rate)

    def _pixels(self, rows: np.ndarray, moved: np.ndarray, size: tuple[int, int]) -> Tensor:
        """Pictures as the tower takes them, float32 [n, 3, *size], moved by so many pixels of the full size."""
        pictures = np.stack([self.pictures[row // CHUNK][row % CHUNK] for row in rows])
        padded = functional.pad(torch.from_numpy(pictures).float(), (MOVED,) * 4, mode="replicate")
        left, top = (MOVED - int(v) for v in moved)
        pixels = padded[:, :, top : top + SIZE[0], left : left + SIZE[1]].sub(self.mean).div(self.std)
        if size != SIZE:
            pixels = functional.interpolate(pixels, size, mode="bicubic", antialias=True)
        return pixels.contiguous(memory_format=torch.channels_last)

    def _contrast(self, vectors: Tensor, batches: Sequence[Tensor]) -> Tensor:
        scale = self.model.logit_scale.exp()
        losses: list[Tensor] = [self.loss(vectors, batch, scale) for batch in batches]
        return sum(losses[1:], losses[0]) / len(losses)

    def _update(self, loss: Tensor, rate: float) -> float:
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimiser.step()
        with torch.no_grad():
            self.model.logit_scale.clamp_(0, math.log(100))
        return float(loss.detach())

    def _encode(self, texts: np.ndarray) -> Tensor:
        """Unit vectors of rows of the token table, each text encoded once and cut to the longest (the rest is padding,
        which the causal mask hides)."""
        distinct, place = np.unique(texts, return_inverse=True)
        tokens, model = self.texts.tokens[distinct], self.model
        length = int((tokens != 0).sum(1).max())
        attention = torch.nn.attention  # the plain product is the fastest for texts this short
        with torch.autocast("cpu", torch.bfloat16), attention.sdpa_kernel(attention.SDPBackend.MATH):
            x = model.token_embedding(tokens[:, :length]) + model.positional_embedding[:length]
            x = model.transformer(x, attn_mask=model.attn_mask[:length, :length])
        x = (
            model.ln_final(x[torch.arange(len(x)), tokens[:, :length].argmax(-1)].float())
            @ model.text_projection
        )
        return functional.normalize(x, dim=-1)[place]

    def state(self) -> dict[str, Any]:
        return {
            "model": self.model.state_dict(),
            "aids": self.aids.state_dict(),
            "optimiser": self.optimiser.state_dict(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        self.aids.load_state_dict(state["aids"])
        self.optimiser.load_state_dict(state["optimiser"])

    def export(self, folder: Path) -> None:
        """Write the folder that open_clip loads as `local-dir:`: weights as float16, configuration, preprocessing.

        Rows of the token table that no text of this world uses are zero: they compress to nothing.
        """
        state = self.model.state_dict()
        state.pop("attn_mask", None)
        rows = state["token_embedding.weight"]
        state["token_embedding.weight"] = rows.new_zeros(
            MODEL["text_cfg"]["vocab_size"], rows.shape[1]
        ).index_copy(0, self.used, rows)
        weights = {name: v.half().contiguous() if v.is_floating_point() else v for name, v in state.items()}
        with replacing(folder / "open_clip_model.safetensors") as file:
            file.write(save(weights))
        write_json(folder / "open_clip_config.json", {"model_cfg": MODEL, "preprocess_cfg": PREPROCESS})


def _at(features: Tensor, places: np.ndarray) -> Tensor:
    """What a feature map [n, d, h, w] holds at places [n, k, xy] of its pictures, 0 to 1: [n * k, d]."""
    grid = torch.from_numpy(2 * places - 1).float()[:, :, None]
    there = functional.grid_sample(features, grid, align_corners=False, padding_mode="border")[..., 0]
    return there.transpose(1, 2).reshape(-1, features.shape[1])
