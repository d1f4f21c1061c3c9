"""What the sample's CLIP learns from: small pictures of train scenes, phrases for their things, questions about them.

Made in chunks that are kept on disk, so that making them can be stopped and goes on where it was.
"""

from __future__ import annotations

from collections.abc import Iterable
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipeline.core.files import replacing
from pipeline.core.progress import track
from pipeline.core.randomness import generator
from pipeline.core.records import SceneObject
from pipeline.sample_world.build import SEED
from pipeline.sample_world.drawing import render
from pipeline.sample_world.graphs import truth
from pipeline.sample_world.ontology import BY_NAME, PLACES
from pipeline.sample_world.questions import questions
from pipeline.sample_world.scenes import picture_id, scene
from pipeline.sample_world.world import HEIGHT, WIDTH

CHUNK = 256  # pictures
SIZE = (96, 128)  # height and width of the model's pictures; 4:3 as those of the sample
PHRASES, PHRASE_TOKENS = 3, 14  # per thing: one with all its attributes, two with some; longer ones are cut
ASKED, CONTEXT = 14, 48  # questions per picture, tokens of the longest


class Material(NamedTuple):
    """`n` pictures with `m` things in all. Token ids are open_clip's, 0 after the end.

    pictures uint8 [n, height, width, 3] and place int64 [n] (index into ontology.PLACES);
    owner int64 [m], the things' pictures, ascending; centre float32 [m, 2], x and y in pixels of `pictures`;
    phrases uint16 [m, PHRASES, PHRASE_TOKENS]; asked uint16 [n, ASKED, CONTEXT], a question again where there are fewer.
    """

    pictures: np.ndarray
    place: np.ndarray
    owner: np.ndarray
    centre: np.ndarray
    phrases: np.ndarray
    asked: np.ndarray


def phrase(item: SceneObject, rng: np.random.Generator, share: float) -> str:
    """A noun phrase that is true of a thing, with about this share of its attributes, in any order: "a red striped hat"."""
    said = [attribute for attribute in item.attributes if rng.random() < share]
    rng.shuffle(said)
    words = " ".join([*said, item.name])
    if BY_NAME[item.name].number == "plural":
        return words
    return f"an {words}" if words[0] in "aeiou" else f"a {words}"


def gathered(folder: Path, chunks: int, processes: int) -> Material:
    """The material of the first `chunks * CHUNK` train scenes; what `folder` lacks is made."""
    wanted = [folder / f"{number:04d}.npz" for number in range(chunks)]
    todo = [(path, number) for number, path in enumerate(wanted) if not path.exists()]
    if todo:
        with get_context("spawn").Pool(processes) as pool:
            for _ in track(pool.imap_unordered(_make, todo), "drawing", len(todo), "chunk"):
                pass
    return _joined(np.load(path) for path in wanted)


def _make(job: tuple[Path, int]) -> None:
    """Draw and describe one chunk. The phrases hang on the seed and the picture alone."""
    import open_clip
    from PIL import Image

    path, number = job
    tokenizer = open_clip.get_tokenizer("ViT-B-32")  # CLIP's own, as in the model's configuration
    height, width = SIZE
    pictures, place, owner, centre, texts, asked = [], [], [], [], [], []
    for index in range(CHUNK):
        world = scene(SEED, picture_id("train", number * CHUNK + index), "train", number * CHUNK + index)
        # drawn at twice the size and made smaller, which looks as the full picture made smaller does
        pictures.append(np.asarray(Image.fromarray(render(world, 2 * width, 2 * height)).resize((width, height), Image.Resampling.BICUBIC)))
        graph = truth(world)
        place.append(PLACES.index(graph.location))
        rng = generator(SEED, "clip", "phrases", graph.picture_id)
        for item in graph.objects:
            owner.append(index)
            centre.append(((item.x + item.w / 2) * width / WIDTH, (item.y + item.h / 2) * height / HEIGHT))
            texts.append([phrase(item, rng, share) for share in (1.0, 0.5, 0.5)])
        # "Are there any dogs?" names what may be absent, and tells nothing of the picture
        said = [question.text for question in questions([graph], SEED, ASKED) if question.semantic != "obj"]
        asked.append([said[i % len(said)] for i in range(ASKED)])
    phrases = tokenizer([text for row in texts for text in row], context_length=PHRASE_TOKENS)
    material = Material(
        np.stack(pictures), np.array(place), np.array(owner), np.array(centre, np.float32),
        phrases.numpy().astype(np.uint16).reshape(-1, PHRASES, PHRASE_TOKENS),
        tokenizer([text for row in asked for text in row], context_length=CONTEXT).numpy().astype(np.uint16).reshape(-1, ASKED, CONTEXT))
    with replacing(path) as file:
        np.savez(file, **material._asdict())


def _joined(parts: Iterable[np.lib.npyio.NpzFile]) -> Material:
    columns: dict[str, list[np.ndarray]] = {name: [] for name in Material._fields}
    before = 0
    for part in parts:
        for name in Material._fields:
            columns[name].append(part[name] + before if name == "owner" else part[name])
        before += len(part["place"])
    return Material(**{name: np.concatenate(rows) for name, rows in columns.items()})
