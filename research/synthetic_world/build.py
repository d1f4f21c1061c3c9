"""Write the synthetic sample: images, scene graphs and questions in GQA's layout, and the complete scene
graphs.

`rgqa sample build` writes the files; `rgqa sample build --check` compares the existing files with the
generated ones.

Writes  source/images/<imageId>.jpg                    testdev images (JPEG bytes depend on the encoder's version, so
                                                       --check compares pixels)
        source/sceneGraphs/{train,val}_sceneGraphs.json          incomplete on purpose (scene_graphs.omit_facts)
        source/questions1.2/{testdev,train,val}_balanced_questions.json
        truth/testdev_sceneGraphs.json                 complete; only for simulated annotators and the audit
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from PIL import Image

from pipeline.core.atomic_files import atomic_write
from pipeline.core.errors import Problems, format_count
from pipeline.core.paths import DatasetFolders
from pipeline.core.progress import report_written, track
from pipeline.core.records import SceneGraph
from research.synthetic_world.questions import generate_questions, to_gqa
from research.synthetic_world.rendering import render_scene
from research.synthetic_world.scene_graphs import build_complete_graph, omit_facts
from research.synthetic_world.scene_types import SyntheticScene
from research.synthetic_world.scenes import SPLIT_SIZES, generate_scenes

# The seed of the whole sample. Another seed gives another world.
SEED = 2023
# Number of questions per image. The benchmark is built from testdev, so testdev has most questions.
QUESTIONS_PER_IMAGE = {"testdev": 13, "train": 3, "val": 3}
# Without chroma subsampling, small objects keep their color.
JPEG = {"quality": 88, "subsampling": 0, "optimize": True}
# Maximum difference of a pixel value (0 to 255) between two builds of the same image.
PIXEL_ROUNDING = 6


def build_documents(seed: int = SEED, all_truth: bool = False, scale: int = 1) -> Iterator[tuple[str, bytes]]:
    """Yield the JSON files as (path below data/sample, bytes).

    Args:
        seed: Seed of the world.
        all_truth: Whether to yield the complete graphs of train and val, too.
        scale: Factor for the number of testdev images.
    """
    for split, published_count in SPLIT_SIZES.items():
        count = published_count * (scale if split == "testdev" else 1)
        scenes = [build_complete_graph(world) for world in generate_scenes(seed, split, count)]
        asked = generate_questions(scenes, seed, per_image=QUESTIONS_PER_IMAGE[split])
        yield (
            f"source/questions1.2/{split}_balanced_questions.json",
            dump_compact_json({question.question_id: to_gqa(question) for question in asked}),
        )
        if split != "testdev":
            known = [omit_facts(scene, seed) for scene in scenes]
            yield (
                f"source/sceneGraphs/{split}_sceneGraphs.json",
                dump_compact_json(to_gqa_scene_graphs(known)),
            )
        if split == "testdev" or all_truth:
            yield f"truth/{split}_sceneGraphs.json", dump_compact_json(to_gqa_scene_graphs(scenes))


def render_images(seed: int = SEED, scale: int = 1) -> Iterator[tuple[str, bytes]]:
    """Yield the testdev images as (path below data/sample, JPEG bytes).

    `scale` is a factor for the number of images.
    """
    for world in generate_scenes(seed, "testdev", scale * SPLIT_SIZES["testdev"]):
        yield f"source/images/{world.image_id}.jpg", encode_jpeg(world)


def encode_jpeg(world: SyntheticScene) -> bytes:
    """Render a scene as the bytes of a JPEG file."""
    file = io.BytesIO()
    Image.fromarray(render_scene(world)).save(file, "JPEG", **JPEG)
    return file.getvalue()


def to_gqa_scene_graph(scene: SceneGraph) -> dict[str, Any]:
    """Convert a scene graph to an entry of GQA's scene graph files. The key of the entry is the image id."""
    setting = {"location": scene.location, "weather": scene.weather}
    return (
        {"width": scene.width, "height": scene.height}
        | {key: value for key, value in setting.items() if value}
        | {
            "objects": {
                item.object_id: {
                    "name": item.name,
                    "x": item.x,
                    "y": item.y,
                    "w": item.w,
                    "h": item.h,
                    "attributes": item.attributes,
                    "relations": [
                        {"name": relation.name, "object": relation.object_id} for relation in item.relations
                    ],
                }
                for item in scene.objects
            }
        }
    )


def describe_difference(path: str, wanted: bytes, present: bytes) -> str | None:
    """Describe the difference of an existing and a generated file. Return None if they are equal.

    JSON files are compared by bytes, images by pixels.
    """
    if not path.endswith(".jpg"):
        return (
            None if present == wanted else f"has {len(present):,} bytes, but the code makes {len(wanted):,}"
        )
    try:
        shown, wanted_pixels = (
            np.asarray(Image.open(io.BytesIO(data)).convert("RGB"), np.int16) for data in (present, wanted)
        )
    except OSError as error:
        return f"not an image: {error}"
    if shown.shape != wanted_pixels.shape:
        return f"has shape {shown.shape}, but the code makes {wanted_pixels.shape}"
    most = int(np.abs(shown - wanted_pixels).max())
    return None if most <= PIXEL_ROUNDING else f"pixels differ by up to {most} of 255"


def compare_files(home: Path, files: dict[str, bytes]) -> Problems:
    """Compare the files below `home` with the generated files."""
    problems = Problems(f"{home} differs from the generated files; run rgqa sample build")
    for path, wanted in files.items():
        if not (home / path).is_file():
            problems.add(path, "missing")
        elif said := describe_difference(path, wanted, (home / path).read_bytes()):
            problems.add(path, said)
    for path in _find_leftover_files(home, files):
        problems.add(path, "not made by the code")
    return problems


def _find_leftover_files(home: Path, files: dict[str, bytes]) -> list[str]:
    """Return files that an earlier build left.

    The truth of train and val is optional, so it does not count as left over.
    """
    there = {
        str(path.relative_to(home))
        for folder in ("source", "truth")
        for path in (home / folder).rglob("*")
        if path.is_file()
    }
    return sorted(there - files.keys() - {f"truth/{split}_sceneGraphs.json" for split in ("train", "val")})


def to_gqa_scene_graphs(scenes: list[SceneGraph]) -> dict[str, Any]:
    """Convert scene graphs to the content of one of GQA's files."""
    return {scene.image_id: to_gqa_scene_graph(scene) for scene in scenes}


def dump_compact_json(value: Any) -> bytes:
    """Encode as compact JSON with sorted keys and a newline at the end."""
    return msgspec.json.encode(value, order="sorted") + b"\n"


def check_sample(all_truth: bool = False) -> None:
    """Compare the files of the sample with the generated files.

    Raises:
        UserError: Files are missing, additional or different. The message lists all of them.
    """
    home, files = _build_all(all_truth)
    compare_files(home, files).raise_if_any()
    report_written("build --check", f"{format_count(len(files), 'file')} as generated", home)


def build_sample(all_truth: bool = False) -> None:
    """Write the files of the sample, and remove files that an earlier build left."""
    home, files = _build_all(all_truth)
    for path, data in files.items():
        with atomic_write(home / path) as file:
            file.write(data)
    for path in _find_leftover_files(home, files):
        (home / path).unlink()
    report_written(
        "build", f"{format_count(len(files), 'file')}, {sum(map(len, files.values())) / 1e6:.1f} MB", home
    )


def _build_all(all_truth: bool) -> tuple[Path, dict[str, bytes]]:
    """Return the sample's folder and all generated files by their paths below it."""
    files = dict(build_documents(all_truth=all_truth))
    files |= dict(track(render_images(), "render", SPLIT_SIZES["testdev"], "image"))
    return DatasetFolders("sample").root, files
