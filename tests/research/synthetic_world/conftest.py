"""Questions and scenes that several tests use, each made once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.core.records import SceneGraph
from research.synthetic_world.questions import SampleQuestion, generate_questions
from research.synthetic_world.scene_graphs import build_complete_graph
from research.synthetic_world.scene_types import SyntheticScene
from research.synthetic_world.scenes import SPLIT_SIZES, generate_scenes
from tests.research.synthetic_world.kitchen import KITCHEN, asked


@pytest.fixture(scope="session")
def of_kitchen() -> list[SampleQuestion]:
    return asked(KITCHEN)


@pytest.fixture(scope="session")
def val_scenes() -> list[SceneGraph]:
    """The complete ground truth of 120 scenes of the synthetic world."""
    return [build_complete_graph(world) for world in generate_scenes(5, "val", 120)]


@pytest.fixture(scope="session")
def drawn(val_scenes: list[SceneGraph]) -> list[SampleQuestion]:
    """1,560 questions about those scenes."""
    return generate_questions(val_scenes, seed=5, per_image=13)


@pytest.fixture(scope="session")
def sample() -> list[SyntheticScene]:
    """As many scenes as the sample's testdev has."""
    return list(generate_scenes(11, "testdev", SPLIT_SIZES["testdev"]))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Train on four images in batches of four. The model is written to `model`."""
    import torch

    from research.synthetic_world import clip_trainer, clip_training_data, train_clip

    home = tmp_path_factory.mktemp("clip")
    threads = torch.get_num_threads()
    # So little work is faster on one thread.
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        for module, name in (
            (clip_training_data, "CHUNK_SIZE"),
            (clip_trainer, "CHUNK_SIZE"),
            (clip_trainer, "SCENES_PER_BATCH"),
            (clip_trainer, "DESCRIBED_SCENES_PER_BATCH"),
        ):
            patch.setattr(module, name, 4)
        for module in (clip_training_data, train_clip):
            patch.setattr(module, "WORK_DIR", home / "work")
        patch.setattr(train_clip, "OUTPUT_DIR", home / "model")
        clip_training_data.render_chunk(0)
        yield home
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def few_worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Use few worlds of each subset and a short training. The nets are written to `vqa`."""
    import torch

    from research.synthetic_world import (
        region_trainer,
        tower_trainer,
        train_vqa,
        vqa_regions,
        vqa_training_data,
        vqa_worlds,
    )

    home = tmp_path_factory.mktemp("vqa")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        series = {
            part: vqa_worlds.WorldSeries(
                s.split, s.start, min(s.questions_per_image, 8), 2 if part == "learn" else 1
            )
            for part, s in vqa_worlds.WORLD_SERIES.items()
        }
        for module, values in {
            vqa_worlds: {"CHUNK_SIZE": 4, "WORLD_SERIES": series, "WORK_DIR": home / "work"},
            region_trainer: {"BATCH_SIZE": 32},
            vqa_training_data: {"NUM_HARD_NEGATIVES": 3},
            tower_trainer: {"BATCH_SIZE": 4, "NUM_EPOCHS": 4},
            vqa_regions: {
                "WORLD_SERIES": series,
                "CHUNK_SIZE": 4,
                "WORK_DIR": home / "work",
                "HEAD_EPOCHS": 2,
            },
            train_vqa: {"WORLD_SERIES": series, "WORK_DIR": home / "work", "OUTPUT_DIR": home / "vqa"},
        }.items():
            for name, value in values.items():
                patch.setattr(module, name, value)
        for chunk in vqa_worlds.list_chunks(list(series)):
            vqa_worlds.render_chunk(*chunk)
        yield home
    torch.set_num_threads(threads)
