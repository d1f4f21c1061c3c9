"""Render training data for the sample's CLIP: synthetic train images with noun phrases and questions.

Only train scenes are used. The first 640 are the sample's published train split; the others continue the
series.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from pipeline.core.atomic_files import atomic_write
from pipeline.core.paths import DATA_DIR
from pipeline.core.records import Record, SceneGraph, SceneObject
from research.synthetic_world.ontology import KIND_BY_NAME

SEED = 2023
# Number of images per file.
CHUNK_SIZE = 256
# Height and width of the images for the model, in pixels.
IMAGE_SIZE = (192, 256)
QUESTIONS_PER_IMAGE = 12
WORK_DIR = DATA_DIR / "cache" / "sample_clip"


class SyntheticImage(Record):
    """A train image's complete scene graph and questions.

    Its pixels are in the .npy file of the same chunk.
    """

    scene: SceneGraph
    questions: tuple[str, ...]


def make_noun_phrase(thing: SceneObject, share: float, rng: np.random.Generator) -> str:
    """Make a phrase like "a small red cup": the name, preceded by each attribute with probability `share`, in
    random order.
    """
    kept = [attribute for attribute in thing.attributes if rng.random() < share]
    words = " ".join([*rng.permutation(kept).tolist(), thing.name])
    if KIND_BY_NAME[thing.name].number == "plural":
        return words
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"


def render_chunk(number: int) -> None:
    """Render one chunk of train scenes at the model's input resolution, and write it, unless the file exists.

    The first scene of chunk `number` has the index `number * CHUNK_SIZE`.
    """
    from research.synthetic_world.questions import generate_questions
    from research.synthetic_world.rendering import render_scene
    from research.synthetic_world.scene_graphs import build_complete_graph
    from research.synthetic_world.scenes import generate_scene, make_image_id

    path = WORK_DIR / f"train-{number:03d}.npy"
    if path.exists():
        return
    pixels, rows = [], []
    for index in range(number * CHUNK_SIZE, (number + 1) * CHUNK_SIZE):
        world = generate_scene(SEED, make_image_id("train", index), "train", index)
        known = build_complete_graph(world)
        pixels.append(render_scene(world, IMAGE_SIZE[1], IMAGE_SIZE[0]))
        rows.append(
            SyntheticImage(
                scene=known,
                questions=tuple(q.text for q in generate_questions([known], SEED, QUESTIONS_PER_IMAGE)),
            )
        )
    with atomic_write(path.with_suffix(".json")) as file:
        file.write(msgspec.json.encode(rows))
    with atomic_write(path) as file:
        np.save(file, np.stack(pixels).transpose(0, 3, 1, 2))


def load_chunks(chunks: int) -> tuple[list[np.ndarray], list[SyntheticImage]]:
    """Return the images of each chunk (memory maps, uint8 [CHUNK_SIZE, 3, *IMAGE_SIZE]), and their graphs and
    questions.
    """
    paths = [WORK_DIR / f"train-{number:03d}.npy" for number in range(chunks)]
    rows = [
        row
        for path in paths
        for row in msgspec.json.decode(path.with_suffix(".json").read_bytes(), type=list[SyntheticImage])
    ]
    return [np.load(path, mmap_mode="r") for path in paths], rows


class TrainingTexts:
    """Tokens of all distinct texts.

    Each object has three noun phrases: one with all attributes, and two in which each attribute is kept with
    probability 0.5.
    """

    def __init__(self, rows: Sequence[SyntheticImage], tokenize: Any) -> None:
        rng = np.random.default_rng(SEED)
        number: dict[str, int] = {}

        def known(text: str) -> int:
            return number.setdefault(text, len(number))

        self.phrases = np.array(
            [
                [known(make_noun_phrase(o, share, rng)) for share in (1.0, 0.5, 0.5)]
                for row in rows
                for o in row.scene.objects
            ]
        )
        self.questions = np.array([known(text) for row in rows for text in row.questions])
        self.first_object_row = np.cumsum([0] + [len(row.scene.objects) for row in rows])
        self.first_question_row = np.cumsum([0] + [len(row.questions) for row in rows])
        self.tokens = tokenize(list(number))

    def sample_objects(self, images: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Sample one object of each image, as rows of `phrases`."""
        return _sample_rows(self.first_object_row, images, rng)

    def sample_questions(self, images: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Sample one question of each image, as rows of `tokens`."""
        return self.questions[_sample_rows(self.first_question_row, images, rng)]


def _sample_rows(first: np.ndarray, images: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return first[images] + (rng.random(len(images)) * (first[images + 1] - first[images])).astype(int)
