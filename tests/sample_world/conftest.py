"""Questions and scenes that several tests look at, each made once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.core.records import Scene
from sample_world.graphs import truth
from sample_world.questions import SampleQuestion, questions
from sample_world.scenes import SPLIT_SIZES, worlds
from sample_world.world import World
from tests.sample_world.kitchen import KITCHEN, asked


@pytest.fixture(scope="session")
def of_kitchen() -> list[SampleQuestion]:
    return asked(KITCHEN)


@pytest.fixture(scope="session")
def val_scenes() -> list[Scene]:
    """The complete truth of 120 scenes of the sample world."""
    return [truth(world) for world in worlds(5, "val", 120)]


@pytest.fixture(scope="session")
def drawn(val_scenes: list[Scene]) -> list[SampleQuestion]:
    """1,560 questions about those scenes."""
    return questions(val_scenes, seed=5, per_picture=13)


@pytest.fixture(scope="session")
def sample() -> list[World]:
    """Scenes as many as the sample's testdev has."""
    return list(worlds(11, "testdev", SPLIT_SIZES["testdev"]))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Four pictures, and steps of four; the model goes to `model`."""
    import torch

    from sample_world import clip_texts, clip_trainer, train_clip

    home = tmp_path_factory.mktemp("clip")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # so little work is the faster the fewer wait for each other
    with pytest.MonkeyPatch.context() as patch:
        for module, name in (
            (clip_texts, "CHUNK"),
            (clip_trainer, "CHUNK"),
            (clip_trainer, "SCENES"),
            (clip_trainer, "TOLD"),
        ):
            patch.setattr(module, name, 4)
        for module in (clip_texts, train_clip):
            patch.setattr(module, "WORK", home / "work")
        patch.setattr(train_clip, "TARGET", home / "model")
        clip_texts.draw_chunk(0)
        yield home
    torch.set_num_threads(threads)
