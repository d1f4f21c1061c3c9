"""Measure whether models attend to the objects that questions refer to: `rgqa study attribution`.

The study uses the answerable questions of the data set in use whose annotations (in GQA's format, of question
and full answer) point to objects. Each attribution method is scored on models that were trained with several
seeds. Scores are averaged over the seeds, with intervals over images:

pointing          Does the highest cell lie on a box that the question points to (pointing game; Zhang et al., IJCV 2018)? Cells
                  within `POINTING_TOLERANCE` of an edge count as hits. If several cells are highest, the
                  proportion that hits.
pointing_strict   the same without tolerance
weight_on_boxes   the weight on those boxes
grounding         GQA's metric (`pipeline/scoring/gqa_diagnostics.py`): as weight_on_boxes, but overlapping boxes count once each,
                  and so does an object that question and full answer both point to. It can be above 1.

There are three baselines that do not depend on the question: the center of the image, a uniform map, and the
map of the same net for another question about the same image. The last baseline shows where the net tends to
look in any case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipeline.core.errors import UserError, format_count
from pipeline.core.json_files import write_json
from pipeline.core.output_paths import Output
from pipeline.core.paths import DatasetFolders
from pipeline.core.progress import track
from pipeline.core.records import ImageRecord, Question, SceneGraph
from pipeline.inference.attribution.attribution_maps import (
    MAP_SHAPE,
    AttributionMap,
    find_peaks,
    normalize_map,
    rasterize_boxes,
    to_gqa_attention,
)
from pipeline.inference.attribution.panels import Attribution
from pipeline.language.tagger import Tagger
from pipeline.scoring.bootstrap import bootstrap, cluster_mean, number_clusters, percentile_interval
from pipeline.scoring.gqa_diagnostics import compute_gqa_diagnostics
from pipeline.sources import gqa_files
from research.reference_models.frcnn_rule import extract_nouns
from research.reference_models.net_attribution import NetAttributor
from research.reference_models.net_files import find_nets

# Proportion of the longer side: the 15 pixels of Zhang et al. on images of 500 pixels.
POINTING_TOLERANCE = 0.03
METHODS = ("attention", "glance-1", "glance-2", "glance-3", "grad-cam", "hires-cam")
# Methods that are also scored with the map of another question about the image.
MISMATCHED_METHODS = ("attention", "grad-cam", "hires-cam")
METRICS = ("pointing", "pointing_strict", "weight_on_boxes", "grounding")
CENTER_MAP = normalize_map(np.pad([[1.0]], MAP_SHAPE[0] // 2))
UNIFORM_MAP = np.full(MAP_SHAPE, 1 / np.prod(MAP_SHAPE))


class GroundedQuestion(NamedTuple):
    """A question with the boxes that it points to, (left, top, right, bottom) [b, 4] as fractions of the
    image.
    """

    question: Question
    scene: SceneGraph
    boxes: np.ndarray


class MeanInterval(NamedTuple):
    """A mean over questions with its 95 % interval over images."""

    mean: float
    low: float
    high: float


def measure_attribution(
    nets: Sequence[str], seeds: Sequence[int], repetitions: int, seed: int, out: Path | None
) -> str:
    """Return the results for the current data set as a Markdown table.

    Args:
        nets: Names of nets in the folder vqa/.
        seeds: The seeds of each net.
        repetitions, seed: Replicates and seed of the bootstrap.
        out: A JSON file for the results.

    Raises:
        UserError: A net does not exist, there are no complete scene graphs, or no question refers to an object.
    """
    folders = DatasetFolders()
    folders.check_outputs(Output("--out", out) if out else None)
    files = find_nets(folders.vqa_models)
    if missing := [f"{net}-{number}" for net in nets for number in seeds if net not in files.get(number, {})]:
        raise UserError(
            f"{folders.vqa_models}: there is no net {', '.join(missing)}. Check --net and --net-seed."
        )
    images = {row.image_id: row for row in folders.read_records(ImageRecord)}
    truth = gqa_files.read_true_scene_graphs(folders.truth, {row.split for row in images.values()})
    asked = find_grounded_questions(list(folders.read_questions_about(images)), truth)
    if not asked:
        raise UserError(
            f"{folders.dataset}: no question points to an object. Use a data set with GQA's annotations."
        )
    rows = {
        name: score_maps(asked, [grid] * len(asked))
        for name, grid in (("image_center", CENTER_MAP), ("uniform", UNIFORM_MAP))
    }
    for net in nets:
        attributors = [
            NetAttributor(folders.vqa_models, folders.clip, files[number][net]) for number in seeds
        ]
        rows |= _score_net(net, attributors, asked, images)
    names = [one.question.image_id for one in asked]
    figures = {
        name: {what: mean_over_images(values, names, repetitions, seed) for what, values in row.items()}
        for name, row in rows.items()
    }
    if out:
        write_json(out, {"questions": len(asked), "images": len(set(names)), "nets": nets, "seeds": seeds, "figures": {name: {what: figure._asdict() for what, figure in row.items()} for name, row in figures.items()}})  # fmt: skip
    return render_table(figures, len(asked), len(set(names)), len(seeds))


def find_grounded_questions(
    questions: Sequence[Question], truth: Mapping[str, SceneGraph]
) -> list[GroundedQuestion]:
    """Return the questions that point to objects of their images, sorted by image."""
    found = []
    for question in sorted(questions, key=lambda row: (row.image_id, row.question_id)):
        scene = truth[question.image_id]
        things = {thing.object_id: thing for thing in scene.objects}
        ids = [*question.annotations.values(), *question.full_answer_annotations.values()]
        corners = [(t.x, t.y, t.x + t.w, t.y + t.h) for t in (things[name] for name in ids)]
        if corners:
            boxes = np.array(corners, float) / [scene.width, scene.height, scene.width, scene.height]
            found.append(GroundedQuestion(question, scene, boxes))
    return found


def pointing_game_score(
    grid: AttributionMap, boxes: np.ndarray, size: tuple[int, int], tolerance: float = POINTING_TOLERANCE
) -> float:
    """Score a map by the pointing game: the proportion of its highest cells whose center lies in a box.

    Args:
        grid: The map.
        boxes: (left, top, right, bottom) as fractions of the image, [b, 4].
        size: Width and height of the image in pixels.
        tolerance: Centers this far outside a box count as inside, as a fraction of the image's longer side.

    >>> pointing_game_score(np.array([[0.6, 0.4]]), np.array([[0, 0, 0.5, 1]]), (100, 50))
    1.0
    >>> pointing_game_score(np.array([[0.4, 0.6]]), np.array([[0, 0, 0.5, 1]]), (100, 50))
    0.0
    >>> pointing_game_score(np.array([[0.4, 0.6]]), np.array([[0, 0, 0.73, 1]]), (100, 50))
    1.0
    """
    near = tolerance * max(size) / np.array(size)
    points = find_peaks(grid)[:, None]
    inside = (points >= boxes[None, :, :2] - near) & (points <= boxes[None, :, 2:] + near)
    return float(np.any(np.all(inside, axis=2), axis=1).mean())


def weight_on_boxes(grid: AttributionMap, boxes: np.ndarray) -> float:
    """Return the weight of a map inside boxes [b, 4]. Where boxes overlap, the weight counts once.

    >>> weight_on_boxes(np.array([[0.6, 0.4]]), np.array([[0, 0, 0.25, 1], [0, 0, 0.5, 0.5]])).__round__(6)
    0.45
    """
    rows, columns = grid.shape
    cuts = [
        np.unique(np.concatenate([np.linspace(0, 1, count + 1), boxes[:, [k, k + 2]].ravel().clip(0, 1)]))
        for k, count in ((0, columns), (1, rows))
    ]
    (x, y), (wide, high) = ((cut[1:] + cut[:-1]) / 2 for cut in cuts), map(np.diff, cuts)
    across, down = ((k[:, None] > boxes[:, a]) & (k[:, None] < boxes[:, a + 2]) for k, a in ((x, 0), (y, 1)))
    inside = (down[:, None] & across[None]).any(2)
    weight = grid[(y * rows).astype(int)][:, (x * columns).astype(int)] * rows * columns
    return float((weight * inside * np.outer(high, wide)).sum())


def gqa_grounding(grid: AttributionMap, one: GroundedQuestion) -> float:
    """Return GQA's grounding score of one question."""
    question = one.question
    notes = {"question": question.annotations, "fullAnswer": question.full_answer_annotations}
    asked = {"imageId": question.image_id, "answer": question.answer, "annotations": notes}
    objects = {t.object_id: {"x": t.x, "y": t.y, "w": t.w, "h": t.h} for t in one.scene.objects}
    scene = {"width": one.scene.width, "height": one.scene.height, "objects": objects}
    found = compute_gqa_diagnostics(
        {"q": asked}, {"q": ""}, scenes={question.image_id: scene}, attention={"q": to_gqa_attention(grid)}
    )
    return found["grounding"]["value"]


def score_maps(asked: Sequence[GroundedQuestion], grids: Sequence[AttributionMap]) -> dict[str, np.ndarray]:
    """Return each metric for all questions, [n]."""
    sizes = [(one.scene.width, one.scene.height) for one in asked]
    each = list(zip(asked, grids, sizes, strict=True))
    return {
        "pointing": np.array([pointing_game_score(grid, one.boxes, size) for one, grid, size in each]),
        "pointing_strict": np.array(
            [pointing_game_score(grid, one.boxes, size, 0.0) for one, grid, size in each]
        ),
        "weight_on_boxes": np.array([weight_on_boxes(grid, one.boxes) for one, grid, _ in each]),
        "grounding": np.array([gqa_grounding(grid, one) for one, grid, _ in each]),
    }


def mean_over_images(values: np.ndarray, images: Sequence[str], repetitions: int, seed: int) -> MeanInterval:
    """Return the mean of values [n] with its 95 % interval. Images are resampled with all their questions."""
    count, (cluster,) = number_clusters([images])
    low, high = percentile_interval(bootstrap(cluster_mean(values, cluster), count, repetitions, seed))
    return MeanInterval(float(values.mean()), low, high)


def render_table(
    figures: Mapping[str, Mapping[str, MeanInterval]], questions: int, images: int, seeds: int
) -> str:
    """Render all results as a Markdown table."""

    def shown(figure: MeanInterval) -> str:
        return f"{100 * figure.mean:.1f} [{100 * figure.low:.1f}, {100 * figure.high:.1f}]"

    lines = [
        f"{format_count(questions, 'question')} of {format_count(images, 'image')}, {format_count(seeds, 'seed')}",
        "",
        f"| map | pointing, within {100 * POINTING_TOLERANCE:.0f} % | pointing, strict | weight on boxes | GQA's grounding |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {name} | {' | '.join(shown(row[metric]) for metric in METRICS)} |"
        for name, row in figures.items()
    ]
    return "\n".join(lines)


def _score_net(
    net: str,
    attributors: Sequence[NetAttributor],
    asked: Sequence[GroundedQuestion],
    images: Mapping[str, ImageRecord],
) -> dict[str, dict[str, np.ndarray]]:
    """Return each metric of a net's attribution methods, averaged over its seeds."""
    rows: dict[str, list[dict[str, np.ndarray]]] = {}
    for attributor in attributors:
        attributions = _attribute_questions(attributor, asked, images, net)
        maps = collect_maps(attributions, pick_other_questions(asked), _extract_nouns(asked, attributor))
        for method, grids in maps.items():
            rows.setdefault(f"{net}: {method}", []).append(score_maps(asked, grids))
    return {
        method: {metric: np.mean([row[metric] for row in of_seeds], 0) for metric in of_seeds[0]}
        for method, of_seeds in rows.items()
    }


def collect_maps(
    attributions: Sequence[Attribution], others: Sequence[int], nouns: Sequence[frozenset[str]]
) -> dict[str, list[AttributionMap]]:
    """Return the map of each question by attribution method.

    Args:
        attributions: Of each question.
        others: For each question the index of another question about its image.
        nouns: The nouns of each question.
    """
    maps = {
        method: [one.get_panel(method).attribution_map for one in attributions]
        for method in (*METHODS, "detections")
    }
    for method in MISMATCHED_METHODS:
        maps[f"{method}, of another question"] = [maps[method][index] for index in others]
    maps["detections of named objects"] = [
        map_named_objects(*pair) for pair in zip(attributions, nouns, strict=True)
    ]
    return maps


def _attribute_questions(
    attributor: NetAttributor, asked: Sequence[GroundedQuestion], images: Mapping[str, ImageRecord], net: str
) -> list[Attribution]:
    """Compute the attribution maps of all questions, which are sorted by image, in their order."""
    by_image: dict[str, list[str]] = {}
    for one in asked:
        by_image.setdefault(one.question.image_id, []).append(one.question.text)
    tracked = track(by_image.items(), f"attribution: {net}", len(by_image), "image")
    return [one for name, texts in tracked for one in attributor.attribute(Path(images[name].path), texts)]


def pick_other_questions(asked: Sequence[GroundedQuestion]) -> list[int]:
    """Return for each question the index of another question about its image.

    The image's questions are rotated by half their number. The index is the question's own if the image has no other
    question.
    """
    places: dict[str, list[int]] = {}
    for place, one in enumerate(asked):
        places.setdefault(one.question.image_id, []).append(place)
    found = list(range(len(asked)))
    for group in places.values():
        for number, place in enumerate(group):
            found[place] = group[(number + max(len(group) // 2, 1)) % len(group)]
    return found


def map_named_objects(attribution: Attribution, nouns: frozenset[str]) -> AttributionMap:
    """Return a map of the detected objects that the question names, weighted by score.

    If there are none, the map is uniform.
    """
    marks = [mark for mark in attribution.get_panel("detections").marks if mark.text in nouns]
    if not marks:
        return UNIFORM_MAP
    return rasterize_boxes(np.array([mark.score for mark in marks]), np.array([mark.box for mark in marks]))


def _extract_nouns(asked: Sequence[GroundedQuestion], attributor: NetAttributor) -> list[frozenset[str]]:
    texts, kinds = [one.question.text for one in asked], attributor.head_with_net.head.names.kinds
    return [
        extract_nouns(text, tokens, kinds) for text, tokens in zip(texts, Tagger().tag(texts), strict=True)
    ]
