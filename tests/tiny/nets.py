"""Tiny models of random weights for the tiny project, with the CLIP model of the sample."""

from __future__ import annotations

from pathlib import Path

import torch

from pipeline.sources import gqa_files
from research.reference_models.fitted_detectors import write_fitted
from research.reference_models.inference import LoadedModel, save_net
from research.reference_models.match_net import MatchNet, NetShape
from research.reference_models.region_head import RegionHead, RegionNames, save_head
from research.reference_models.tokenization import WordVocabulary
from tests.closure import ROOT
from tests.research.reference_models.toy_nets import toy_fitted

VQA = Path("data/tiny/vqa")
SAMPLE = ROOT / "data/sample"
ANSWERS = ("blue", "no", "red", "yes")
WORDS = WordVocabulary(("color", "cup", "is", "the", "what"))
NETS = ("vanilla-0", "vanilla-1", "rp-0", "rp-1", "mix-1", "blind-0", "separated-1", "true_regions-0")


def add_nets(home: Path) -> None:
    """Add CLIP, a detector, models of two seeds and fitted detectors to a project made by `lay_out`."""
    (home / "data/tiny/clip").symlink_to(SAMPLE / "clip")
    truth = gqa_files.read_true_scene_graphs(home / "data/tiny/truth", ["testdev"])
    kinds = sorted({item.name for scene in truth.values() for item in scene.objects})
    torch.manual_seed(0)
    head = RegionHead(56 * 4 + 152 + 368, RegionNames(tuple(kinds), ("red", "blue"), ("park",)), hidden=8)
    (home / VQA).mkdir()
    save_head(home / VQA / "regions.safetensors", head)
    write_nets(home, *NETS, width=head.feature_size)
    write_fitted(home / VQA / "fitted-1.safetensors", toy_fitted(answers=4, features=16))


def write_nets(home: Path, *names: str, width: int) -> None:
    """Write models with names `<model>-<seed>` for region features of size `width`."""
    for number, name in enumerate(names):
        torch.manual_seed(number)
        one = name.startswith(("separated", "caption_match"))
        small = NetShape(
            words=len(WORDS),
            answers=1 if one else 4,
            region=width,
            blind="blind" in name,
            word_width=8,
            width=8,
            joint=16,
        )
        asked = LoadedModel(MatchNet(small).eval(), WORDS, ("answerable",) if one else ANSWERS)
        save_net(home / VQA / f"{name}.safetensors", asked)
