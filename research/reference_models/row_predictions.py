"""Predict the answers of leaderboard rows with the nets of a folder, seed by seed, and format them as
predictions files.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pipeline.core.errors import Problems
from pipeline.core.parallel import num_local_workers, ordered_map
from pipeline.core.progress import track
from pipeline.core.records import SceneGraph
from pipeline.language.tagger import Tagger
from pipeline.scoring.items import Benchmark
from research.reference_models.detector_table import DETECTORS, DetectorInputs, DetectorOutput
from research.reference_models.fitted_detectors import FITTED_TYPES
from research.reference_models.frcnn_rule import extract_nouns
from research.reference_models.inference import load_net, predict
from research.reference_models.leaderboard_rows import (
    LEADERBOARD_ROWS,
    SINGLE_OUTPUT_NETS,
    LeaderboardRow,
    score_row,
)
from research.reference_models.model_outputs import ModelOutputs, VqaQuery
from research.reference_models.net_files import (
    OWN_TOWER_HEAD_FILE,
    REGION_HEAD_FILE,
    REGION_SOURCES,
    RegionSource,
    find_nets,
    load_fitted,
)
from research.reference_models.region_extraction import ExtractedRegions, extract_regions
from research.reference_models.region_head import RegionHead, load_head, load_tower
from research.reference_models.region_stores import ArrayStore

# Size of ODIN's step in RGQA.
ODIN_STEP = 1e-4
# Number of significant digits of confidences in files. Rounding makes the files of different processors
# equal. Confidences of most rows differ only in their last bits, but Mahalanobis distances differ more,
# because they are small differences of larger numbers.
CONFIDENCE_DIGITS, ROW_CONFIDENCE_DIGITS = 9, {"mahalanobis": 6, "mahalanobis_own": 6}
SAME_CLIP_NOTE = "the net uses the CLIP that selected the candidates of the CLIP subsets"


class ReleaseQueries(NamedTuple):
    """The distinct queries of a release, sorted, and item id -> index of the query of the item."""

    queries: list[VqaQuery]
    query_index: dict[str, int]


class PlannedInference(NamedTuple):
    """A net to run: the file of the net, the source of its regions, and the size of ODIN's step (0 for none)."""

    path: Path
    region_source: RegionSource
    odin_step: float


class WorkerInputs(NamedTuple):
    """What a worker process needs to run nets."""

    queries: Sequence[VqaQuery]
    region_stores: Mapping[RegionSource, ArrayStore]


class RowPlan(NamedTuple):
    """The rows that the nets of a folder can predict, by seed.

    Attributes:
        vqa: The folder of the nets.
        fitted: Seed -> fitted detectors.
        missing_requirements: Seed -> row -> what is missing; "" if the row is available.
        planned_inference: Seed -> name -> net to run.
    """

    vqa: Path
    fitted: dict[int, dict[str, Any]]
    missing_requirements: dict[int, dict[str, str]]
    planned_inference: dict[int, dict[str, PlannedInference]]

    def available_rows(self, seed: int) -> list[str]:
        """Return the available rows of a seed, in the order of `LEADERBOARD_ROWS`."""
        return [row for row in LEADERBOARD_ROWS if not self.missing_requirements[seed][row]]

    def needs_regions(self, region_source: RegionSource) -> bool:
        """Return whether any net uses regions of this source."""
        return any(
            one.region_source == region_source
            for of_seed in self.planned_inference.values()
            for one in of_seed.values()
        )


def plan_rows(vqa: Path, has_ground_truth: bool) -> RowPlan:
    """Find out which rows the nets of a folder can predict.

    Args:
        vqa: The folder of the nets.
        has_ground_truth: Whether the complete scene graphs of the images are known.

    Raises:
        UserError: A file of the folder cannot be read. All such files are listed.
    """
    nets = find_nets(vqa)
    validate_net_files(vqa, nets)
    fitted = {seed: load_fitted(vqa, seed) for seed in nets}
    missing = {seed: find_missing_requirements(nets[seed], fitted[seed], has_ground_truth) for seed in nets}
    needed = {
        seed: plan_inference([row for row in LEADERBOARD_ROWS if not missing[seed][row]], nets[seed])
        for seed in nets
    }
    return RowPlan(vqa, fitted, missing, needed)


def validate_net_files(folder: Path, nets: Mapping[int, Mapping[str, Path]]) -> None:
    """Check that all files of nets can be read, before any net is run.

    Raises:
        UserError: A file of the folder cannot be read. All such files are listed.
    """
    problems = Problems(f"{folder}: files of nets cannot be read")
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
    """Extract the regions that the nets of a plan use.

    Args:
        plan: The plan.
        clip: Folder of the CLIP model of the region head.
        files: Image id -> file.
        scenes: Image id -> complete scene graph, if a net uses ground-truth regions; else None.

    Raises:
        UserError: An image is missing or cannot be read. All such images are listed.
    """
    own, path = None, plan.vqa / OWN_TOWER_HEAD_FILE
    if plan.needs_regions("own_tower"):
        own = load_tower(path, clip), load_head(path)
    return extract_regions(clip, load_head(plan.vqa / REGION_HEAD_FILE), files, scenes, own)


def predict_rows(
    plan: RowPlan, queries: Sequence[VqaQuery], regions: ExtractedRegions
) -> Iterator[tuple[int, str, DetectorOutput]]:
    """Yield seed, row name and predictions for every available row of the plan.

    Only one seed at a time is in memory.
    """
    head = load_head(plan.vqa / REGION_HEAD_FILE)
    nouns = extract_query_nouns(queries, head)
    detected = [regions.detected_names[one.image_id] for one in queries]
    for seed, outputs in _predict_by_seed(plan, WorkerInputs(queries, regions.stores)):
        detector_inputs = make_detector_inputs(plan.fitted[seed], nouns, detected, head.names.kinds)
        for row in plan.available_rows(seed):
            yield seed, row, score_row(LEADERBOARD_ROWS[row], outputs, detector_inputs)


def extract_query_nouns(queries: Sequence[VqaQuery], head: RegionHead) -> list[frozenset[str]]:
    """Return the nouns of each query. Each distinct text is tagged once."""
    texts = sorted({one.text for one in queries})
    tokens = track(Tagger().tag(texts), "nouns", len(texts), "text")
    nouns = {
        text: extract_nouns(text, tagged, head.names.kinds)
        for text, tagged in zip(texts, tokens, strict=True)
    }
    return [nouns[query.text] for query in queries]


def _predict_by_seed(plan: RowPlan, inputs: WorkerInputs) -> Iterator[tuple[int, dict[str, ModelOutputs]]]:
    """Yield the outputs of the nets of each seed for all queries.

    Nets run in parallel. Only one seed at a time is in memory.
    """
    planned = [one for of_seed in plan.planned_inference.values() for one in of_seed.values()]
    num_workers = max(1, min(num_local_workers(), len(planned)))
    results = ordered_map(run_inference, planned, partial(WorkerInputs, *inputs), num_workers, 1)
    outputs = track(results, "answer", len(planned), "net")
    for seed, of_seed in plan.planned_inference.items():
        yield seed, dict(zip(of_seed, islice(outputs, len(of_seed)), strict=True))


def collect_queries(benchmark: Benchmark) -> ReleaseQueries:
    """Return the queries of all items of all subsets. Several items may have the same query."""
    pairs = {
        item: VqaQuery(image, text)
        for items in benchmark.subsets.values()
        for item, image, text in zip(items["id"], items["image"], items["question_text"], strict=True)
    }
    queries = sorted(set(pairs.values()))
    index_of = {query: index for index, query in enumerate(queries)}
    return ReleaseQueries(queries, {item: index_of[query] for item, query in pairs.items()})


def find_missing_requirements(
    nets: Collection[str], fitted: Collection[str], has_ground_truth: bool
) -> dict[str, str]:
    """Return row -> what is missing for the row in a seed; "" if the row is available.

    Args:
        nets: Names of the nets of the seed.
        fitted: Names of the fitted detectors of the seed.
        has_ground_truth: Whether the complete scene graphs of the images are known.
    """
    return {
        name: ", ".join(_missing_requirements(row, nets, fitted, has_ground_truth))
        for name, row in LEADERBOARD_ROWS.items()
    }


def _missing_requirements(
    row: LeaderboardRow, nets: Collection[str], fitted: Collection[str], has_ground_truth: bool
) -> Iterator[str]:
    yield from (f"no net {net}" for net in dict.fromkeys(row.required_nets) if net not in nets)
    needs = DETECTORS[row.detector].required_inputs
    yield from (f"no {state} fitted" for state in FITTED_TYPES if state in needs and state not in fitted)
    if not has_ground_truth and any(REGION_SOURCES.get(net) == "ground_truth" for net in row.required_nets):
        yield "no complete scene graphs of the images"


def plan_inference(rows: Collection[str], nets: Mapping[str, Path]) -> dict[str, PlannedInference]:
    """Return name -> net to run, for all nets that the rows need. Each net is run only once."""
    odin_nets = {
        LEADERBOARD_ROWS[row].net
        for row in rows
        if "odin_perturbed" in DETECTORS[LEADERBOARD_ROWS[row].detector].required_inputs
    }
    needed = sorted({net for row in rows for net in LEADERBOARD_ROWS[row].required_nets})
    return {
        net: PlannedInference(
            nets[net], REGION_SOURCES.get(net, "detected"), ODIN_STEP if net in odin_nets else 0.0
        )
        for net in needed
    }


def run_inference(inputs: WorkerInputs, plan: PlannedInference) -> ModelOutputs:
    """Run a net on all queries, in float64."""
    return predict(
        load_net(plan.path, use_float64=True),
        inputs.queries,
        inputs.region_stores[plan.region_source],
        plan.odin_step,
    )


def make_detector_inputs(
    fitted: Mapping[str, object],
    nouns: Sequence[Collection[str]],
    detected: Sequence[Collection[str]],
    names: Collection[str],
) -> DetectorInputs:
    """Return the inputs of detectors, except the outputs of nets. `score_row` adds these outputs."""
    empty = ModelOutputs((), np.zeros((0, 0), np.float32), np.zeros((0, 0), np.float32))
    return DetectorInputs(empty, nouns=nouns, detected_names=detected, detector_names=names, **fitted)  # pyright: ignore[reportArgumentType]


def format_predictions(queries: ReleaseQueries, row: str, output: DetectorOutput) -> list[dict[str, object]]:
    """Return the predictions of a row for each item, in the order of the release."""
    digits = ROW_CONFIDENCE_DIGITS.get(row, CONFIDENCE_DIGITS)
    confidence = [round_confidence(value, digits) for value in output.confidence.tolist()]
    return [
        {"questionId": item, "prediction": output.answers[index], "confidence": confidence[index]}
        for item, index in queries.query_index.items()
    ]


def round_confidence(confidence: float, digits: int) -> float:
    """Round a confidence to significant digits.

    Close to 1, keep four significant digits of the difference to 1.

    The logits of the vanilla nets are up to 20, so many confidences are close to 1.

    >>> round_confidence(0.1234567891234, 9), round_confidence(1 - 2.06115362e-9, 9)
    (0.123456789, 0.999999997939)
    """
    if 0.5 < confidence < 1:
        digits = max(digits, 3 + math.ceil(-math.log10(1 - confidence)))
    return float(f"{confidence:.{digits}g}")


def describe_row(row: LeaderboardRow) -> dict[str, object]:
    """Return the description of a row for the leaderboard: `confidence`, `note`, `reference`."""
    detector = DETECTORS[row.detector]
    single_output = [net for net in row.extra_nets if net in SINGLE_OUTPUT_NETS]
    sources = (
        ["the region head"]
        if "nouns" in detector.required_inputs
        else single_output or [row.net, *row.extra_nets]
    )
    confidence = f"{detector.title} of {' and '.join(sources)}"
    answering = row.answer_net or row.net
    if answering not in sources:
        confidence += f"; answers of {answering}"
    uses_clip = not any(
        net == "blind" or REGION_SOURCES.get(net) in ("own_tower", "ground_truth")
        for net in row.required_nets
    )
    note = "; ".join(text for text in (row.note, SAME_CLIP_NOTE if uses_clip else "") if text)
    return {"confidence": confidence, "note": note, "reference": row.is_reference}
