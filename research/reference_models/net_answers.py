"""What the nets of a folder say to questions of images: every row that can be made of them, seed by seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.core.errors import Problems
from pipeline.core.parallel import num_local_workers, ordered_map
from pipeline.core.progress import track
from pipeline.core.records import SceneGraph
from pipeline.language.tagger import Tagger
from research.reference_models.detector_table import DetectorOutput
from research.reference_models.frcnn_rule import extract_nouns
from research.reference_models.inference import load_net
from research.reference_models.leaderboard_rows import LEADERBOARD_ROWS, score_row
from research.reference_models.model_outputs import ModelOutputs, VqaQuery
from research.reference_models.net_files import (
    OWN_TOWER_HEAD_FILE,
    REGION_HEAD_FILE,
    RegionSource,
    find_nets,
    load_fitted,
)
from research.reference_models.region_extraction import ExtractedRegions, extract_regions
from research.reference_models.region_head import RegionHead, load_head, load_tower
from research.reference_models.row_predictions import (
    PlannedInference,
    WorkerInputs,
    find_missing_requirements,
    make_detector_inputs,
    plan_inference,
    run_inference,
)


class RowPlan(NamedTuple):
    """What the nets of a folder can say, all by seed.

    Attributes:
        fitted: what was fitted. lacks: what each row lacks, "" where it can be made.
        looks: the nets that have to look, by name.
    """

    vqa: Path
    fitted: dict[int, dict[str, Any]]
    missing_requirements: dict[int, dict[str, str]]
    planned_inference: dict[int, dict[str, PlannedInference]]

    def available_rows(self, seed: int) -> list[str]:
        """Those that can be made, in the order of `ROWS`."""
        return [row for row in LEADERBOARD_ROWS if not self.missing_requirements[seed][row]]

    def needs_regions(self, region_source: RegionSource) -> bool:
        """Does any net see regions of this kind?"""
        return any(
            one.region_source == region_source
            for of_seed in self.planned_inference.values()
            for one in of_seed.values()
        )


def plan_rows(vqa: Path, has_ground_truth: bool) -> RowPlan:
    """Which rows can be made of the nets in a folder.

    Args:
        truth: is the complete truth of the images known?

    Raises:
        UserError: names every file of the folder that cannot be read.
    """
    nets = find_nets(vqa)
    validate_net_files(vqa, nets)
    fitted = {seed: load_fitted(vqa, seed) for seed in nets}
    lacks = {seed: find_missing_requirements(nets[seed], fitted[seed], has_ground_truth) for seed in nets}
    needed = {
        seed: plan_inference([row for row in LEADERBOARD_ROWS if not lacks[seed][row]], nets[seed])
        for seed in nets
    }
    return RowPlan(vqa, fitted, lacks, needed)


def validate_net_files(folder: Path, nets: Mapping[int, Mapping[str, Path]]) -> None:
    """Refuse damaged files before anything is asked.

    Raises:
        UserError: names every file of the folder that cannot be read.
    """
    problems = Problems(f"{folder}: the nets cannot be asked")
    heads = [folder / REGION_HEAD_FILE, *folder.glob(OWN_TOWER_HEAD_FILE)]
    loading = [
        *(partial(load_head, path) for path in heads),
        *(partial(load_net, path) for of_seed in nets.values() for path in of_seed.values()),
        *(partial(load_fitted, folder, seed) for seed in nets),
    ]
    for load in loading:
        with problems.collect():
            load()
    problems.raise_if_any()


def load_regions(
    plan: RowPlan, clip: Path, files: Mapping[str, Path], scenes: Mapping[str, SceneGraph] | None = None
) -> ExtractedRegions:
    """The regions that the nets of a plan see.

    Args:
        clip: the folder of the CLIP whose maps the detector stands on.
        files: of the images that are asked about, by id. scenes: their complete truth, where a net sees it.

    Raises:
        UserError: images that are missing or cannot be read, all of them.
    """
    own, path = None, plan.vqa / OWN_TOWER_HEAD_FILE
    if plan.needs_regions("own"):
        own = load_tower(path, clip), load_head(path)
    return extract_regions(clip, load_head(plan.vqa / REGION_HEAD_FILE), files, scenes, own)


def predict_rows(
    plan: RowPlan, queries: Sequence[VqaQuery], regions: ExtractedRegions
) -> Iterator[tuple[int, str, DetectorOutput]]:
    """Seed, row, and what it says to n questions, for every row of the plan; one seed in memory at a time."""
    head = load_head(plan.vqa / REGION_HEAD_FILE)
    nouns = extract_query_nouns(queries, head)
    detected = [regions.detected_names[one.image_id] for one in queries]
    for seed, seen in _predict_by_seed(plan, WorkerInputs(queries, regions.stores)):
        given = make_detector_inputs(plan.fitted[seed], nouns, detected, head.names.kinds)
        for row in plan.available_rows(seed):
            yield seed, row, score_row(LEADERBOARD_ROWS[row], seen, given)


def extract_query_nouns(queries: Sequence[VqaQuery], head: RegionHead) -> list[frozenset[str]]:
    """The nouns of each ask; each distinct text is tagged once."""
    texts = sorted({one.text for one in queries})
    tokens = track(Tagger().tag(texts), "nouns", len(texts), "text")
    found = {
        text: extract_nouns(text, some, head.names.kinds) for text, some in zip(texts, tokens, strict=True)
    }
    return [found[one.text] for one in queries]


def _predict_by_seed(plan: RowPlan, held: WorkerInputs) -> Iterator[tuple[int, dict[str, ModelOutputs]]]:
    """What the nets of each seed make of all asks: one seed in memory at a time, nets side by side."""
    every = [one for of_seed in plan.planned_inference.values() for one in of_seed.values()]
    side_by_side = max(1, min(num_local_workers(), len(every)))
    results = ordered_map(run_inference, every, partial(WorkerInputs, *held), side_by_side, 1)
    told = track(results, "answer", len(every), "net")
    for seed, of_seed in plan.planned_inference.items():
        yield seed, dict(zip(of_seed, islice(told, len(of_seed)), strict=True))
