"""What the sample's CLIP learns from: drawn train pictures, and their noun phrases and questions.

Only train worlds and their texts; the first 640 are the sample's published train split, the others continue the series.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from pipeline.core.atomic_files import replacing
from pipeline.core.paths import DATA
from pipeline.core.records import Record, Scene, SceneObject
from research.synthetic_world.ontology import BY_NAME

SEED = 2023
CHUNK = 256  # pictures per file of the drawn set
SIZE = (192, 256)  # height, width of pictures as the model sees them
ASKED = 12  # questions of each picture
WORK = DATA / "cache" / "sample_clip"


class DrawnPicture(Record):
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
    """Draw train worlds number * CHUNK ... in the size that the model sees, and write them; what is there already stays."""
    from research.synthetic_world.questions import questions
    from research.synthetic_world.rendering import render
    from research.synthetic_world.scene_graphs import truth
    from research.synthetic_world.scenes import picture_id, scene

    path = WORK / f"train-{number:03d}.npy"
    if path.exists():
        return
    pixels, rows = [], []
    for index in range(number * CHUNK, (number + 1) * CHUNK):
        world = scene(SEED, picture_id("train", index), "train", index)
        known = truth(world)
        pixels.append(render(world, SIZE[1], SIZE[0]))
        rows.append(
            DrawnPicture(scene=known, questions=tuple(q.text for q in questions([known], SEED, ASKED)))
        )
    with replacing(path.with_suffix(".json")) as file:
        file.write(msgspec.json.encode(rows))
    with replacing(path) as file:
        np.save(file, np.stack(pixels).transpose(0, 3, 1, 2))


def load(chunks: int) -> tuple[list[np.ndarray], list[DrawnPicture]]:
    """Pictures uint8 [CHUNK, 3, *SIZE] of each chunk, left on the disk until they are needed, and what is known of them."""
    paths = [WORK / f"train-{number:03d}.npy" for number in range(chunks)]
    rows = [
        row
        for path in paths
        for row in msgspec.json.decode(path.with_suffix(".json").read_bytes(), type=list[DrawnPicture])
    ]
    return [np.load(path, mmap_mode="r") for path in paths], rows


class Texts:
    """Tokens of all texts, each once; noun phrases per thing (all attributes, half, half again), questions per picture."""

    def __init__(self, rows: Sequence[DrawnPicture], tokenize: Any) -> None:
        rng = np.random.default_rng(SEED)
        number: dict[str, int] = {}

        def known(text: str) -> int:
            return number.setdefault(text, len(number))

        self.phrases = np.array(
            [
                [known(noun_phrase(o, share, rng)) for share in (1.0, 0.5, 0.5)]
                for row in rows
                for o in row.scene.objects
            ]
        )
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
