"""Train the sample's CLIP: the model, auxiliary modules, losses, and one step on texts or images."""

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

from pipeline.core.atomic_files import atomic_write
from pipeline.core.json_files import write_json
from research.synthetic_world.clip_training_data import (
    CHUNK_SIZE,
    IMAGE_SIZE,
    SEED,
    SyntheticImage,
    TrainingTexts,
)
from research.synthetic_world.scene_types import HEIGHT, WIDTH

# Height and width of images in the second phase.
SMALL_IMAGE_SIZE = (144, 192)
# Maximum random shift of an image in pixels.
MAX_SHIFT = 8
# The stage of the tower whose cells have 16 pixels. The cells of the last stage have 32 pixels.
FINE_STAGE = 2
SCENES_PER_BATCH = 64
OBJECTS_PER_SCENE, QUESTIONS_PER_SCENE = 8, 6
# Number of scenes in a step on texts only.
DESCRIBED_SCENES_PER_BATCH = 128
CONTEXT_LENGTH = 48
EMBEDDING_DIMENSION = 256
MODEL_CONFIG = {
    "embed_dim": EMBEDDING_DIMENSION,
    "vision_cfg": {
        "timm_model_name": "regnetx_002",
        "timm_model_pretrained": False,
        "timm_pool": "avgmax",
        "timm_proj": "mlp",
        "image_size": list(IMAGE_SIZE),
    },
    "text_cfg": {"context_length": CONTEXT_LENGTH, "vocab_size": 49408, "width": 64, "heads": 2, "layers": 2},
}
MEAN, STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
PREPROCESS_CONFIG = {
    "size": list(IMAGE_SIZE),
    "mode": "RGB",
    "mean": MEAN,
    "std": STD,
    "interpolation": "bicubic",
    "resize_mode": "squash",
    "fill_color": 0,
}


class ScenePooling(nn.Module):
    """Pool the vectors of the noun phrases of a scene, in the way in which the image tower pools its cells.

    The pooling is mean and maximum, followed by two layers.
    """

    def __init__(self) -> None:
        super().__init__()
        wide = 2 * EMBEDDING_DIMENSION
        self.each = nn.Sequential(nn.Linear(EMBEDDING_DIMENSION, wide), nn.ReLU())
        self.head = nn.Sequential(nn.Linear(wide, wide), nn.GELU(), nn.Linear(wide, EMBEDDING_DIMENSION))

    def forward(self, phrases: Tensor, there: Tensor) -> Tensor:
        """Return [scenes, d] from phrases [scenes, objects, d].

        `there` [scenes, objects] is False for padding.
        """
        each = self.each(phrases) * there[..., None]
        return self.head((each.sum(1) / there.sum(1, keepdim=True) + each.amax(1)) / 2)


class ClipTrainer:
    """The model, its optimizer, and the training steps.

    `auxiliary_modules` are used only in training: the pooling of scenes, and projections of the cells of the
    tower's maps.
    """

    def __init__(
        self, images: Sequence[np.ndarray], rows: Sequence[SyntheticImage], start: Path | None = None
    ) -> None:
        torch.manual_seed(SEED)
        self.images, self.scenes = images, len(rows)
        self.texts = TrainingTexts(rows, open_clip.SimpleTokenizer(context_length=CONTEXT_LENGTH))
        self.centres = np.array(
            [((o.x + o.w / 2) / WIDTH, (o.y + o.h / 2) / HEIGHT) for row in rows for o in row.scene.objects]
        )
        # The attributes of the model depend on its configuration, so no type checker knows them.
        self.model: Any = open_clip.CLIP(
            EMBEDDING_DIMENSION, MODEL_CONFIG["vision_cfg"], MODEL_CONFIG["text_cfg"]
        ).train()
        if start:
            self._load_weights(start)
        self.model.visual.to(memory_format=torch.channels_last)
        self._drop_unused_tokens()
        fine, near = (
            self.model.visual.trunk.feature_info[stage]["num_chs"] for stage in (FINE_STAGE + 1, -1)
        )
        self.auxiliary_modules = nn.ModuleDict(
            {
                "teller": ScenePooling(),
                "fine": nn.Linear(fine, EMBEDDING_DIMENSION, bias=False),
                "near": nn.Linear(near, EMBEDDING_DIMENSION, bias=False),
            }
        )
        self.loss = open_clip.ClipLoss()
        named = [*self.model.named_parameters(), *self.auxiliary_modules.named_parameters()]
        decayed = [p for name, p in named if p.ndim > 1 and "embedding" not in name]
        others = [p for name, p in named if p.ndim <= 1 or "embedding" in name]
        self.optimiser = torch.optim.AdamW(
            [{"params": decayed, "weight_decay": 0.05}, {"params": others, "weight_decay": 0.0}],
            betas=(0.9, 0.98),
            fused=True,
        )
        self.mean, self.std = (torch.tensor(v).view(1, 3, 1, 1) * 255 for v in (MEAN, STD))

    def _load_weights(self, start: Path) -> None:
        """Load the weights of an earlier run whose shapes fit."""
        here, earlier = self.model.state_dict(), load_file(start / "open_clip_model.safetensors")
        fitting = {
            name: value for name, value in earlier.items() if name in here and here[name].shape == value.shape
        }
        self.model.load_state_dict(fitting, strict=False)
        if missing := sorted(here.keys() - fitting.keys() - {"attn_mask"}):
            print(f"{start}: missing weights are initialized: {', '.join(missing)}", flush=True)

    def _drop_unused_tokens(self) -> None:
        """Keep only the rows of the token table that the texts of this world use.

        `export` restores the other rows.
        """
        # The rows stay sorted, so padding is still 0, and the token for the end of a text is still the
        # greatest.
        self.used = self.texts.tokens.unique()
        self.texts.tokens = torch.searchsorted(self.used, self.texts.tokens)
        self.model.token_embedding = nn.Embedding.from_pretrained(
            self.model.token_embedding.weight[self.used].detach(), freeze=False
        )

    def text_step(self, rng: np.random.Generator, rate: float) -> float:
        """Train on texts only: match questions, and an additional noun phrase, with the pooled description of
        their scene.
        """
        texts = self.texts
        rows = rng.integers(0, self.scenes, DESCRIBED_SCENES_PER_BATCH)
        asked = [self._encode(texts.sample_questions(rows, rng)) for _ in range(QUESTIONS_PER_SCENE)]
        asked.append(self._encode(texts.phrases[texts.sample_objects(rows, rng), 1]))
        return self._update(self._contrastive_loss(self._encode_scenes(rows, self._encode), asked), rate)

    def _encode_scenes(self, rows: np.ndarray, encode: Callable[[np.ndarray], Tensor]) -> Tensor:
        """Return unit vectors of scenes, pooled from the noun phrases of their objects."""
        first = self.texts.first_object_row
        place = np.arange((first[rows + 1] - first[rows]).max())
        there = place < (first[rows + 1] - first[rows])[:, None]  # [scenes, things]
        phrases = torch.zeros(*there.shape, EMBEDDING_DIMENSION)
        phrases[there] = encode(self.texts.phrases[(first[rows][:, None] + place)[there], 0])
        return functional.normalize(
            self.auxiliary_modules["teller"](phrases, torch.from_numpy(there)), dim=-1
        )

    def cache_text_embeddings(self) -> None:
        """Encode all texts and all scenes for the phases on images."""
        with torch.no_grad():
            every = np.arange(len(self.texts.tokens))
            self.locked = torch.cat(
                [self._encode(part) for part in np.array_split(every, 1 + len(every) // 1024)]
            )
            scenes = np.array_split(np.arange(self.scenes), 1 + self.scenes // 1024)
            self.scene_embeddings = torch.cat(
                [self._encode_scenes(part, lambda chosen: self.locked[chosen]) for part in scenes]
            )

    def image_step(self, rng: np.random.Generator, rate: float, size: tuple[int, int]) -> float:
        """Train on randomly shifted images: match objects with noun phrases, and whole images with their
        texts.

        On full-sized images, the encoder of questions is trained, too.
        """
        texts, visual = self.texts, self.model.visual
        rows = rng.integers(0, self.scenes, SCENES_PER_BATCH)
        # Shift to the right and down.
        moved = rng.integers(-MAX_SHIFT, MAX_SHIFT + 1, 2)
        pixels = self._prepare_pixels(rows, moved, size)
        with torch.autocast("cpu", torch.bfloat16):
            seen, (fine,) = visual.trunk.forward_intermediates(pixels, indices=[FINE_STAGE + 1])
        seen, fine = seen.float(), fine.float()
        whole = functional.normalize(visual.head(visual.trunk.forward_head(seen)), dim=-1)
        chosen = np.concatenate([texts.sample_questions(rows, rng) for _ in range(QUESTIONS_PER_SCENE)])
        questions = self._encode(chosen) if size == IMAGE_SIZE else self.locked[chosen]
        asked = [*questions.split(SCENES_PER_BATCH), self.scene_embeddings[rows]]

        things = np.stack([texts.sample_objects(rows, rng) for _ in range(OBJECTS_PER_SCENE)], 1)
        middle = self.centres[things] + moved / IMAGE_SIZE[::-1]  # [scenes, things, xy], 0 to 1
        parts = [
            self.auxiliary_modules["near"](_sample_features(seen, middle)),
            self.auxiliary_modules["fine"](_sample_features(fine, middle)),
        ]
        names = self.locked[texts.phrases[things.ravel(), rng.integers(0, 2, things.size)]]
        loss = self._contrastive_loss(whole, asked)
        for part in parts[: 1 if size == SMALL_IMAGE_SIZE else 2]:
            loss = loss + 0.5 * self._contrastive_loss(functional.normalize(part, dim=-1), [names])
        return self._update(loss, rate)

    def _prepare_pixels(self, rows: np.ndarray, moved: np.ndarray, size: tuple[int, int]) -> Tensor:
        """Return shifted images as input of the tower, float32 [n, 3, *size].

        The shift is in pixels of full-sized images.
        """
        images = np.stack([self.images[row // CHUNK_SIZE][row % CHUNK_SIZE] for row in rows])
        padded = functional.pad(torch.from_numpy(images).float(), (MAX_SHIFT,) * 4, mode="replicate")
        left, top = (MAX_SHIFT - int(v) for v in moved)
        pixels = (
            padded[:, :, top : top + IMAGE_SIZE[0], left : left + IMAGE_SIZE[1]].sub(self.mean).div(self.std)
        )
        if size != IMAGE_SIZE:
            pixels = functional.interpolate(pixels, size, mode="bicubic", antialias=True)
        return pixels.contiguous(memory_format=torch.channels_last)

    def _contrastive_loss(self, vectors: Tensor, batches: Sequence[Tensor]) -> Tensor:
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
        """Return unit vectors of rows of the token table.

        Each distinct text is encoded once. Texts are trimmed to the length of the longest. The causal mask
        hides the padding.
        """
        distinct, place = np.unique(texts, return_inverse=True)
        tokens, model = self.texts.tokens[distinct], self.model
        length = int((tokens != 0).sum(1).max())
        # For such short texts, the plain matrix product is the fastest implementation.
        attention = torch.nn.attention
        with torch.autocast("cpu", torch.bfloat16), attention.sdpa_kernel(attention.SDPBackend.MATH):
            x = model.token_embedding(tokens[:, :length]) + model.positional_embedding[:length]
            x = model.transformer(x, attn_mask=model.attn_mask[:length, :length])
        x = (
            model.ln_final(x[torch.arange(len(x)), tokens[:, :length].argmax(-1)].float())
            @ model.text_projection
        )
        return functional.normalize(x, dim=-1)[place]

    def state_dict(self) -> dict[str, Any]:
        return {
            "model": self.model.state_dict(),
            "aids": self.auxiliary_modules.state_dict(),
            "optimiser": self.optimiser.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        self.auxiliary_modules.load_state_dict(state["aids"])
        self.optimiser.load_state_dict(state["optimiser"])

    def export(self, folder: Path) -> None:
        """Write the folder that open_clip loads as `local-dir:`: weights as float16, configuration,
        preprocessing.

        Rows of the token table that no text of this world uses are 0, so that the file can be compressed
        well.
        """
        state = self.model.state_dict()
        state.pop("attn_mask", None)
        rows = state["token_embedding.weight"]
        state["token_embedding.weight"] = rows.new_zeros(
            MODEL_CONFIG["text_cfg"]["vocab_size"], rows.shape[1]
        ).index_copy(0, self.used, rows)
        weights = {name: v.half().contiguous() if v.is_floating_point() else v for name, v in state.items()}
        with atomic_write(folder / "open_clip_model.safetensors") as file:
            file.write(save(weights))
        write_json(
            folder / "open_clip_config.json", {"model_cfg": MODEL_CONFIG, "preprocess_cfg": PREPROCESS_CONFIG}
        )


def _sample_features(features: Tensor, places: np.ndarray) -> Tensor:
    """Sample a feature map [n, d, h, w] at points [n, k, 2] (x and y from 0 to 1). Return [n * k, d]."""
    grid = torch.from_numpy(2 * places - 1).float()[:, :, None]
    there = functional.grid_sample(features, grid, align_corners=False, padding_mode="border")[..., 0]
    return there.transpose(1, 2).reshape(-1, features.shape[1])
