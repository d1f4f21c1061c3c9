"""What the rows of a seed's nets say to the items of a release, in the form of a predictions file."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipeline.scoring.items import Benchmark
from research.reference_models.detector_table import DETECTORS, Given, Said
from research.reference_models.fitted_detectors import KINDS
from research.reference_models.inference import load_net, look
from research.reference_models.leaderboard_rows import ONE_OUTPUT, ROWS, NetRow
from research.reference_models.model_outputs import Ask, Seen
from research.reference_models.net_files import SEES, Kind
from research.reference_models.region_stores import ArrayStore

STEP = 1e-4  # of ODIN, as RGQA has it
# Significant digits of confidences in files, so that processors agree: a row's largest disagreement is in its last bits, but
# for Mahalanobis' distances, which are what is left of larger numbers.
CONFIDENCE_DIGITS, CANCELLING = 9, {"mahalanobis": 6, "mahalanobis_own": 6}
SAME_CLIP = "the CLIP that chose the candidates of the CLIP subsets feeds the net"


class ReleaseAsks(NamedTuple):
    """What a release asks: distinct pairs of picture and text, sorted, and by item id which of them it is."""

    asks: list[Ask]
    place_of: dict[str, int]


class PlannedLook(NamedTuple):
    """A net to be asked: its file, the regions that it sees, ODIN's step (0: none)."""

    path: Path
    kind: Kind
    step: float


class Held(NamedTuple):
    """What a process needs to ask nets."""

    asks: Sequence[Ask]
    stores: Mapping[Kind, ArrayStore]


def asks_of(benchmark: Benchmark) -> ReleaseAsks:
    """All items of all subsets; several may ask the same."""
    pairs = {
        item: Ask(picture, text)
        for items in benchmark.subsets.values()
        for item, picture, text in zip(items["id"], items["picture"], items["asked"], strict=True)
    }
    asks = sorted(set(pairs.values()))
    number = {ask: place for place, ask in enumerate(asks)}
    return ReleaseAsks(asks, {item: number[ask] for item, ask in pairs.items()})


def lacking_of_rows(nets: Collection[str], fitted: Collection[str], truth: bool) -> dict[str, str]:
    """What each row lacks in a seed, "" where it can be made.

    Args:
        nets, fitted: which there are of the seed. truth: whether the complete truth of the pictures is known.
    """
    return {name: ", ".join(_lacking(row, nets, fitted, truth)) for name, row in ROWS.items()}


def _lacking(row: NetRow, nets: Collection[str], fitted: Collection[str], truth: bool) -> Iterator[str]:
    yield from (f"no net {net}" for net in dict.fromkeys(row.nets) if net not in nets)
    needs = DETECTORS[row.detector].needs
    yield from (f"no {state} fitted" for state in KINDS if state in needs and state not in fitted)
    if not truth and any(SEES.get(net) == "true" for net in row.nets):
        yield "nobody knows the complete truth of the pictures"


def looks(rows: Collection[str], nets: Mapping[str, Path]) -> dict[str, PlannedLook]:
    """The nets that these rows need, each to be asked once."""
    stepping = {ROWS[row].net for row in rows if "stepped" in DETECTORS[ROWS[row].detector].needs}
    needed = sorted({net for row in rows for net in ROWS[row].nets})
    return {
        net: PlannedLook(nets[net], SEES.get(net, "found"), STEP if net in stepping else 0.0)
        for net in needed
    }


def look_with(held: Held, one: PlannedLook) -> Seen:
    """What a net makes of all asks, calculated in float64."""
    return look(load_net(one.path, exact=True), held.asks, held.stores[one.kind], one.step)


def given_of(
    fitted: Mapping[str, object],
    nouns: Sequence[Collection[str]],
    detected: Sequence[Collection[str]],
    names: Collection[str],
) -> Given:
    """What detectors are given beside what nets saw: see `detectors.Given`."""
    nothing = Seen((), np.zeros((0, 0), np.float32), np.zeros((0, 0), np.float32))
    return Given(nothing, nouns=nouns, detected=detected, names=names, **fitted)  # pyright: ignore[reportArgumentType]


def predictions(asked: ReleaseAsks, row: str, said: Said) -> list[dict[str, object]]:
    """What a row says to each item, in the release's order."""
    digits = CANCELLING.get(row, CONFIDENCE_DIGITS)
    confidence = [written(value, digits) for value in said.confidence.tolist()]
    return [
        {"questionId": item, "prediction": said.answers[place], "confidence": confidence[place]}
        for item, place in asked.place_of.items()
    ]


def written(confidence: float, digits: int) -> float:
    """A confidence with so many significant digits, and near 1 with four of what it lacks: the vanilla nets' logits go up to 20.

    >>> written(0.1234567891234, 9), written(1 - 2.06115362e-9, 9)
    (0.123456789, 0.999999997939)
    """
    if 0.5 < confidence < 1:
        digits = max(digits, 3 + math.ceil(-math.log10(1 - confidence)))
    return float(f"{confidence:.{digits}g}")


def about(row: NetRow) -> dict[str, object]:
    """What the board says of a row: `confidence`, `note`, `reference`."""
    detector = DETECTORS[row.detector]
    alone = [net for net in row.beside if net in ONE_OUTPUT]
    by = ["the region head"] if "nouns" in detector.needs else alone or [row.net, *row.beside]
    said = f"{detector.title} of {' and '.join(by)}"
    answering = row.answers or row.net
    if answering not in by:
        said += f"; answers of {answering}"
    sees_clip = not any(net == "blind" or SEES.get(net) in ("own", "true") for net in row.nets)
    note = "; ".join(text for text in (row.note, SAME_CLIP if sees_clip else "") if text)
    return {"confidence": said, "note": note, "reference": row.reference}
