"""What the nets of a folder say to questions of pictures: every row that can be made of them, seed by seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.core.errors import Problems
from pipeline.core.parallel import ordered_map, threads
from pipeline.core.progress import track
from pipeline.core.records import Scene
from pipeline.language.tagger import Tagger
from research.reference_models.detector_table import Said
from research.reference_models.frcnn_rule import asked_nouns
from research.reference_models.inference import load_net
from research.reference_models.leaderboard_rows import ROWS, said_of_row
from research.reference_models.model_outputs import Ask, Seen
from research.reference_models.net_files import HEAD, OWN_HEAD, Kind, fitted_of, nets_of
from research.reference_models.region_extraction import AskedRegions, asked_regions
from research.reference_models.region_head import RegionHead, load_head, load_tower
from research.reference_models.row_predictions import (
    Held,
    PlannedLook,
    given_of,
    lacking_of_rows,
    look_with,
    looks,
)


class RowPlan(NamedTuple):
    """What the nets of a folder can say, all by seed.

    Attributes:
        fitted: what was fitted. lacks: what each row lacks, "" where it can be made.
        looks: the nets that have to look, by name.
    """

    vqa: Path
    fitted: dict[int, dict[str, Any]]
    lacks: dict[int, dict[str, str]]
    looks: dict[int, dict[str, PlannedLook]]

    def rows(self, seed: int) -> list[str]:
        """Those that can be made, in the order of `ROWS`."""
        return [row for row in ROWS if not self.lacks[seed][row]]

    def needs(self, kind: Kind) -> bool:
        """Does any net see regions of this kind?"""
        return any(one.kind == kind for of_seed in self.looks.values() for one in of_seed.values())


def plan_rows(vqa: Path, truth: bool) -> RowPlan:
    """Which rows can be made of the nets in a folder.

    Args:
        truth: is the complete truth of the pictures known?

    Raises:
        UserError: names every file of the folder that cannot be read.
    """
    nets = nets_of(vqa)
    check_files(vqa, nets)
    fitted = {seed: fitted_of(vqa, seed) for seed in nets}
    lacks = {seed: lacking_of_rows(nets[seed], fitted[seed], truth) for seed in nets}
    needed = {seed: looks([row for row in ROWS if not lacks[seed][row]], nets[seed]) for seed in nets}
    return RowPlan(vqa, fitted, lacks, needed)


def check_files(folder: Path, nets: Mapping[int, Mapping[str, Path]]) -> None:
    """Refuse damaged files before anything is asked.

    Raises:
        UserError: names every file of the folder that cannot be read.
    """
    problems = Problems(f"{folder}: the nets cannot be asked")
    heads = [folder / HEAD, *folder.glob(OWN_HEAD)]
    loading = [
        *(partial(load_head, path) for path in heads),
        *(partial(load_net, path) for of_seed in nets.values() for path in of_seed.values()),
        *(partial(fitted_of, folder, seed) for seed in nets),
    ]
    for load in loading:
        with problems.collect():
            load()
    problems.raise_if_any()


def regions_for(
    plan: RowPlan, clip: Path, files: Mapping[str, Path], scenes: Mapping[str, Scene] | None = None
) -> AskedRegions:
    """The regions that the nets of a plan see.

    Args:
        clip: the folder of the CLIP whose maps the detector stands on.
        files: of the pictures that are asked about, by id. scenes: their complete truth, where a net sees it.

    Raises:
        UserError: pictures that are missing or cannot be read, all of them.
    """
    own, path = None, plan.vqa / OWN_HEAD
    if plan.needs("own"):
        own = load_tower(path, clip), load_head(path)
    return asked_regions(clip, load_head(plan.vqa / HEAD), files, scenes, own)


def said_by_nets(
    plan: RowPlan, asks: Sequence[Ask], regions: AskedRegions
) -> Iterator[tuple[int, str, Said]]:
    """Seed, row, and what it says to n questions, for every row of the plan; one seed in memory at a time."""
    head = load_head(plan.vqa / HEAD)
    nouns = nouns_of(asks, head)
    detected = [regions.detected[one.picture_id] for one in asks]
    for seed, seen in _seen_by_seed(plan, Held(asks, regions.stores)):
        given = given_of(plan.fitted[seed], nouns, detected, head.names.kinds)
        for row in plan.rows(seed):
            yield seed, row, said_of_row(ROWS[row], seen, given)


def nouns_of(asks: Sequence[Ask], head: RegionHead) -> list[frozenset[str]]:
    """The nouns of each ask; each distinct text is tagged once."""
    texts = sorted({one.text for one in asks})
    tokens = track(Tagger().tag(texts), "nouns", len(texts), "text")
    found = {
        text: asked_nouns(text, some, head.names.kinds) for text, some in zip(texts, tokens, strict=True)
    }
    return [found[one.text] for one in asks]


def _seen_by_seed(plan: RowPlan, held: Held) -> Iterator[tuple[int, dict[str, Seen]]]:
    """What the nets of each seed make of all asks: one seed in memory at a time, nets side by side."""
    every = [one for of_seed in plan.looks.values() for one in of_seed.values()]
    side_by_side = max(1, min(threads(), len(every)))
    results = ordered_map(look_with, every, partial(Held, *held), side_by_side, 1)
    told = track(results, "answer", len(every), "net")
    for seed, of_seed in plan.looks.items():
        yield seed, dict(zip(of_seed, islice(told, len(of_seed)), strict=True))
