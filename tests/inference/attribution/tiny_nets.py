"""The tiny project with nets of random weights in vqa/: enough to look with."""

from __future__ import annotations

import shutil
from pathlib import Path

import torch

from pipeline.core.json_files import write_json
from research.reference_models.image_towers import ResidualTower
from research.reference_models.inference import LoadedModel, save_net
from research.reference_models.match_net import MatchNet, NetShape
from research.reference_models.region_head import RegionHead, RegionNames, save_head
from research.reference_models.tokenization import WordVocabulary

ANSWERS = ("blue", "no", "red", "yes")
WORDS = WordVocabulary(("color", "cup", "is", "the", "what"))
CLIP_CHANNELS = 56 * 4 + 152 + 368
HOME = Path("data/tiny")


def with_nets(run: Path, target: Path, clip: Path) -> Path:
    """A copy of the tiny run with nets of seed 0: vanilla, rp, own_vanilla, blind, separated, caption_match, true_regions."""
    shutil.copytree(run, target)
    vqa = target / HOME / "vqa"
    vqa.mkdir()
    (target / HOME / "clip").symlink_to(clip)
    torch.manual_seed(0)
    names = RegionNames(("apple", "cup", "dog", "man"), ("red", "blue"), ("park",))
    head = RegionHead(CLIP_CHANNELS, names, hidden=8)
    save_head(vqa / "regions.safetensors", head)
    tower = ResidualTower((96, 128), widths=(8, 8, 16), blocks=(1, 1, 1))
    own = RegionHead(16, names, hidden=8)
    save_head(vqa / "regions_own.safetensors", own, tower)
    for number, name in enumerate(
        ("vanilla", "rp", "own_vanilla", "blind", "separated", "caption_match", "true_regions")
    ):
        torch.manual_seed(number)
        one = name in ("separated", "caption_match")
        shape = NetShape(
            len(WORDS),
            1 if one else 4,
            head.feature_size,
            blind=name == "blind",
            word_width=8,
            width=8,
            joint=16,
        )
        net = LoadedModel(MatchNet(shape).eval(), WORDS, ("answerable",) if one else ANSWERS)
        save_net(vqa / f"{name}-0.safetensors", net)
    return target


def write_answers(home: Path, row: str, ids: list[str]) -> None:
    """What stage `answer` would write for a row of seed 0."""
    said = [{"questionId": name, "prediction": "red", "confidence": 0.25} for name in ids]
    write_json(home / HOME / f"interim/answer/{row}-seed0.json", said)
