"""What the rows of a seed's nets say to the items of a release, in the form of a predictions file."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipeline.scoring.items import Benchmark
from research.reference_models.detector_table import DETECTORS, DetectorInputs, DetectorOutput
from research.reference_models.fitted_detectors import FITTED_TYPES
from research.reference_models.inference import load_net, predict
from research.reference_models.leaderboard_rows import LEADERBOARD_ROWS, SINGLE_OUTPUT_NETS, LeaderboardRow
from research.reference_models.model_outputs import ModelOutputs, VqaQuery
from research.reference_models.net_files import REGION_SOURCES, RegionSource
from research.reference_models.region_stores import ArrayStore

ODIN_STEP = 1e-4  # of ODIN, as RGQA has it
# Significant digits of confidences in files, so that processors agree: a row's largest disagreement is in its last bits, but
# for Mahalanobis' distances, which are what is left of larger numbers.
CONFIDENCE_DIGITS, ROW_CONFIDENCE_DIGITS = 9, {"mahalanobis": 6, "mahalanobis_own": 6}
SAME_CLIP_NOTE = "the CLIP that chose the candidates of the CLIP subsets feeds the net"


class ReleaseQueries(NamedTuple):
    """What a release asks: distinct pairs of image and text, sorted, and by item id which of them it is."""

    queries: list[VqaQuery]
    query_index: dict[str, int]


class PlannedInference(NamedTuple):
    """A net to be asked: its file, the regions that it sees, ODIN's step (0: none)."""

    path: Path
    region_source: RegionSource
    odin_step: float


class WorkerInputs(NamedTuple):
    """What a process needs to ask nets."""

    queries: Sequence[VqaQuery]
    region_stores: Mapping[RegionSource, ArrayStore]


def collect_queries(benchmark: Benchmark) -> ReleaseQueries:
    """All items of all subsets; several may ask the same."""
    pairs = {
        item: VqaQuery(image, text)
        for items in benchmark.subsets.values()
        for item, image, text in zip(items["id"], items["image"], items["question_text"], strict=True)
    }
    asks = sorted(set(pairs.values()))
    number = {ask: place for place, ask in enumerate(asks)}
    return ReleaseQueries(asks, {item: number[ask] for item, ask in pairs.items()})


def find_missing_requirements(
    nets: Collection[str], fitted: Collection[str], has_ground_truth: bool
) -> dict[str, str]:
    """What each row lacks in a seed, "" where it can be made.

    Args:
        nets, fitted: which there are of the seed. truth: whether the complete truth of the images is known.
    """
    return {
        name: ", ".join(_missing_requirements(row, nets, fitted, has_ground_truth))
        for name, row in LEADERBOARD_ROWS.items()
    }


def _missing_requirements(
    row: LeaderboardRow, nets: Collection[str], fitted: Collection[str], truth: bool
) -> Iterator[str]:
    yield from (f"no net {net}" for net in dict.fromkeys(row.required_nets) if net not in nets)
    needs = DETECTORS[row.detector].required_inputs
    yield from (f"no {state} fitted" for state in FITTED_TYPES if state in needs and state not in fitted)
    if not truth and any(REGION_SOURCES.get(net) == "true" for net in row.required_nets):
        yield "nobody knows the complete truth of the images"


def plan_inference(rows: Collection[str], nets: Mapping[str, Path]) -> dict[str, PlannedInference]:
    """The nets that these rows need, each to be asked once."""
    stepping = {
        LEADERBOARD_ROWS[row].net
        for row in rows
        if "stepped" in DETECTORS[LEADERBOARD_ROWS[row].detector].required_inputs
    }
    needed = sorted({net for row in rows for net in LEADERBOARD_ROWS[row].required_nets})
    return {
        net: PlannedInference(
            nets[net], REGION_SOURCES.get(net, "found"), ODIN_STEP if net in stepping else 0.0
        )
        for net in needed
    }


def run_inference(inputs: WorkerInputs, plan: PlannedInference) -> ModelOutputs:
    """What a net makes of all asks, calculated in float64."""
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
    """What detectors are given beside what nets saw: see `detectors.Given`."""
    nothing = ModelOutputs((), np.zeros((0, 0), np.float32), np.zeros((0, 0), np.float32))
    return DetectorInputs(nothing, nouns=nouns, detected_names=detected, detector_names=names, **fitted)  # pyright: ignore[reportArgumentType]


def format_predictions(queries: ReleaseQueries, row: str, output: DetectorOutput) -> list[dict[str, object]]:
    """What a row says to each item, in the release's order."""
    digits = ROW_CONFIDENCE_DIGITS.get(row, CONFIDENCE_DIGITS)
    confidence = [round_confidence(value, digits) for value in output.confidence.tolist()]
    return [
        {"questionId": item, "prediction": output.answers[place], "confidence": confidence[place]}
        for item, place in queries.query_index.items()
    ]


def round_confidence(confidence: float, digits: int) -> float:
    """A confidence with so many significant digits, and near 1 with four of what it lacks: the vanilla nets' logits go up to 20.

    >>> written(0.1234567891234, 9), written(1 - 2.06115362e-9, 9)
    (0.123456789, 0.999999997939)
    """
    if 0.5 < confidence < 1:
        digits = max(digits, 3 + math.ceil(-math.log10(1 - confidence)))
    return float(f"{confidence:.{digits}g}")


def describe_row(row: LeaderboardRow) -> dict[str, object]:
    """What the board says of a row: `confidence`, `note`, `reference`."""
    detector = DETECTORS[row.detector]
    alone = [net for net in row.extra_nets if net in SINGLE_OUTPUT_NETS]
    by = ["the region head"] if "nouns" in detector.required_inputs else alone or [row.net, *row.extra_nets]
    said = f"{detector.title} of {' and '.join(by)}"
    answering = row.answer_net or row.net
    if answering not in by:
        said += f"; answers of {answering}"
    sees_clip = not any(
        net == "blind" or REGION_SOURCES.get(net) in ("own", "true") for net in row.required_nets
    )
    note = "; ".join(text for text in (row.note, SAME_CLIP_NOTE if sees_clip else "") if text)
    return {"confidence": said, "note": note, "reference": row.is_reference}
