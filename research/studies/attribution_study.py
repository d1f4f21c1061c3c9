"""`rgqa study attribution`: does what a net looked at lie where the question points to? By the drawn world's complete truth.

Answerable questions of the data set in use that point to something (its annotations, as GQA has them, of question and full answer).
Each way of seeing is judged by figures, means over nets of several seeds, with intervals by images:

pointing    is the highest cell on a box that the question points to? (Zhang et al., IJCV 2018, "pointing game"); a hit, too, within
            TOLERANCE of its edge. Of several cells of the same weight the share that hits.
on them     the weight on those boxes
grounding   GQA's (`pipeline/scoring/gqa_diagnostics.py`): the same, but boxes that lie over each other count each, and so does a thing
            that question and full answer both point to; it can be above 1

and stands beside what sees nothing: the middle of the image, all of it alike, and the same net's view for another question of
the same image, which knows what nets like to look at, but not what is asked.
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

POINTING_TOLERANCE = 0.03  # of the longer side: the 15 pixels of Zhang et al. on images of 500
METHODS = ("attention", "glance-1", "glance-2", "glance-3", "grad-cam", "hires-cam")
MISMATCHED_METHODS = ("attention", "grad-cam", "hires-cam")  # shown for another question of the image, too
CENTER_MAP = normalize_map(np.pad([[1.0]], MAP_SHAPE[0] // 2))
UNIFORM_MAP = np.full(MAP_SHAPE, 1 / np.prod(MAP_SHAPE))


class GroundedQuestion(NamedTuple):
    """A question with the boxes that it points to, [b, 4] as shares of the image."""

    question: Question
    scene: SceneGraph
    boxes: np.ndarray


class MeanInterval(NamedTuple):
    """A mean over questions with its interval over images."""

    mean: float
    low: float
    high: float


def measure_attribution(
    nets: Sequence[str], seeds: Sequence[int], repetitions: int, seed: int, out: Path | None
) -> str:
    """The table of the data set in use.

    Args:
        nets: of its folder vqa/. seeds: of each net. repetitions, seed: of the intervals.

    Raises:
        UserError: a net that is not there, no complete truth, or no question that points to anything.
    """
    folders = DatasetFolders()
    folders.check_outputs(Output("--out", out) if out else None)
    files = find_nets(folders.vqa_models)
    if missing := [f"{net}-{number}" for net in nets for number in seeds if net not in files.get(number, {})]:
        raise UserError(f"{folders.vqa_models} has no net {', '.join(missing)}")
    images = {row.image_id: row for row in folders.read_records(ImageRecord)}
    truth = gqa_files.read_true_scene_graphs(folders.truth, {row.split for row in images.values()})
    asked = find_grounded_questions(list(folders.read_questions_about(images)), truth)
    if not asked:
        raise UserError("no question of this data set points to anything, so nothing can be measured")
    rows = {
        name: score_maps(asked, [grid] * len(asked))
        for name, grid in (("middle", CENTER_MAP), ("even", UNIFORM_MAP))
    }
    for net in nets:
        sights = [NetAttributor(folders.vqa_models, folders.clip, files[number][net]) for number in seeds]
        rows |= _score_net(net, sights, asked, images)
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
    """The questions that point to things of their images, by image."""
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
    """The pointing game: of the cells of the highest weight the share whose middle lies in a box, or beside it by no more than
    `tolerance` of the image's longer side.

    Args:
        boxes: [b, 4] corners as shares of the image. size: of the image, width and height in pixels.

    >>> hit(np.array([[0.6, 0.4]]), np.array([[0, 0, 0.5, 1]]), (100, 50))
    1.0
    >>> hit(np.array([[0.4, 0.6]]), np.array([[0, 0, 0.5, 1]]), (100, 50)), hit(np.array([[0.4, 0.6]]), np.array([[0, 0, 0.73, 1]]), (100, 50))
    (0.0, 1.0)
    """
    near = tolerance * max(size) / np.array(size)
    points = find_peaks(grid)[:, None]
    inside = (points >= boxes[None, :, :2] - near) & (points <= boxes[None, :, 2:] + near)
    return float(np.any(np.all(inside, axis=2), axis=1).mean())


def weight_on_boxes(grid: AttributionMap, boxes: np.ndarray) -> float:
    """The weight on boxes [b, 4], each place once.

    >>> on_boxes(np.array([[0.6, 0.4]]), np.array([[0, 0, 0.25, 1], [0, 0, 0.5, 0.5]])).__round__(6)
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
    """GQA's score of one question."""
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
    """Both figures of each question, [n]."""
    sizes = [(one.scene.width, one.scene.height) for one in asked]
    each = list(zip(asked, grids, sizes, strict=True))
    return {
        "pointing": np.array([pointing_game_score(grid, one.boxes, size) for one, grid, size in each]),
        "strict": np.array([pointing_game_score(grid, one.boxes, size, 0.0) for one, grid, size in each]),
        "on_them": np.array([weight_on_boxes(grid, one.boxes) for one, grid, _ in each]),
        "grounding": np.array([gqa_grounding(grid, one) for one, grid, _ in each]),
    }


def mean_over_images(values: np.ndarray, images: Sequence[str], repetitions: int, seed: int) -> MeanInterval:
    """The mean of values [n] with its 95 % interval; images are drawn, with all their questions."""
    count, (cluster,) = number_clusters([images])
    low, high = percentile_interval(bootstrap(cluster_mean(values, cluster), count, repetitions, seed))
    return MeanInterval(float(values.mean()), low, high)


def render_table(
    figures: Mapping[str, Mapping[str, MeanInterval]], questions: int, images: int, seeds: int
) -> str:
    """All figures as a table in Markdown."""

    def shown(figure: MeanInterval) -> str:
        return f"{100 * figure.mean:.1f} [{100 * figure.low:.1f}, {100 * figure.high:.1f}]"

    lines = [
        f"{format_count(questions, 'question')} of {format_count(images, 'image')}, {format_count(seeds, 'seed')}",
        "",
        f"| what is shown | pointing, within {100 * POINTING_TOLERANCE:.0f} % | within the box | weight on them | GQA's grounding |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {name} | {' | '.join(shown(row[what]) for what in ('pointing', 'strict', 'on_them', 'grounding'))} |"
        for name, row in figures.items()
    ]
    return "\n".join(lines)


def _score_net(
    net: str,
    sights: Sequence[NetAttributor],
    asked: Sequence[GroundedQuestion],
    images: Mapping[str, ImageRecord],
) -> dict[str, dict[str, np.ndarray]]:
    """The figures of each way of seeing of a net, means over its seeds."""
    rows: dict[str, list[dict[str, np.ndarray]]] = {}
    for sight in sights:
        seen = _attribute_questions(sight, asked, images, net)
        for way, grids in collect_maps(
            seen, pick_other_questions(asked), _extract_nouns(asked, sight)
        ).items():
            rows.setdefault(f"{net}: {way}", []).append(score_maps(asked, grids))
    return {
        way: {what: np.mean([row[what] for row in of_seeds], 0) for what in of_seeds[0]}
        for way, of_seeds in rows.items()
    }


def collect_maps(
    seen: Sequence[Attribution], others: Sequence[int], nouns: Sequence[frozenset[str]]
) -> dict[str, list[AttributionMap]]:
    """By way of seeing the grid of each question."""
    found = {way: [one.get_panel(way).attribution_map for one in seen] for way in (*METHODS, "detections")}
    for way in MISMATCHED_METHODS:
        found[f"{way}, of another question"] = [found[way][place] for place in others]
    found["detections of what is named"] = [
        map_named_objects(*pair) for pair in zip(seen, nouns, strict=True)
    ]
    return found


def _attribute_questions(
    sight: NetAttributor, asked: Sequence[GroundedQuestion], images: Mapping[str, ImageRecord], net: str
) -> list[Attribution]:
    """What a net saw, question by question in their order, which is by image."""
    by_image: dict[str, list[str]] = {}
    for one in asked:
        by_image.setdefault(one.question.image_id, []).append(one.question.text)
    tracked = track(by_image.items(), f"looking: {net}", len(by_image), "image")
    return [seen for name, texts in tracked for seen in sight.attribute(Path(images[name].path), texts)]


def pick_other_questions(asked: Sequence[GroundedQuestion]) -> list[int]:
    """For each question the place of another one of its image: half of them further on, round and round. Itself where it is the
    only one."""
    places: dict[str, list[int]] = {}
    for place, one in enumerate(asked):
        places.setdefault(one.question.image_id, []).append(place)
    found = list(range(len(asked)))
    for group in places.values():
        for number, place in enumerate(group):
            found[place] = group[(number + max(len(group) // 2, 1)) % len(group)]
    return found


def map_named_objects(seen: Attribution, nouns: frozenset[str]) -> AttributionMap:
    """The things that were found and bear a name that the question says, by their scores; the whole image where there is none."""
    marks = [mark for mark in seen.get_panel("detections").marks if mark.text in nouns]
    if not marks:
        return UNIFORM_MAP
    return rasterize_boxes(np.array([mark.score for mark in marks]), np.array([mark.box for mark in marks]))


def _extract_nouns(asked: Sequence[GroundedQuestion], sight: NetAttributor) -> list[frozenset[str]]:
    texts, kinds = [one.question.text for one in asked], sight.head_with_net.head.names.kinds
    return [
        extract_nouns(text, tokens, kinds) for text, tokens in zip(texts, Tagger().tag(texts), strict=True)
    ]
