import json

import numpy as np
import pytest

from pipeline.core.errors import UserError
from pipeline.core.records import Question, SceneGraph, SceneObject
from pipeline.inference.attribution.attribution_maps import normalize_map, rasterize_boxes
from pipeline.inference.attribution.panels import Attribution, BoxMark, Panel
from research.studies.attribution_study import (
    CENTER_MAP,
    METRICS,
    UNIFORM_MAP,
    GroundedQuestion,
    collect_maps,
    find_grounded_questions,
    gqa_grounding,
    map_named_objects,
    mean_over_images,
    measure_attribution,
    pick_other_questions,
    pointing_game_score,
    render_table,
    score_maps,
    weight_on_boxes,
)
from tests.closure import ROOT
from tests.inference.attribution.tiny_nets import with_nets

# A cup in the upper right of an image of 100 x 50, and a box that holds the cup.
CUP = SceneObject(object_id="1", name="cup", x=60, y=10, w=20, h=10)
BOX = SceneObject(object_id="2", name="box", x=50, y=0, w=50, h=25)
SCENE = SceneGraph(image_id="n1", split="testdev", width=100, height=50, objects=(CUP, BOX), is_complete=True)


def question(name="q1", image="n1", **points):
    return Question(question_id=name, image_id=image, split="testdev", text="Is it?", answer="yes", **points)


def asked(**points):
    (one,) = find_grounded_questions([question(**points)], {"n1": SCENE})
    return one


def test_a_box_has_the_objects_corners_not_its_width_and_height():
    # 60 / 100, 10 / 50, (60 + 20) / 100, (10 + 10) / 50
    assert asked(annotations={"3": "1"}).boxes == pytest.approx(np.array([[0.6, 0.2, 0.8, 0.4]]))


def test_questions_without_objects_are_left_out_and_answers_count():
    rows = [question("q1"), question("q2", full_answer_annotations={"0": "2"})]
    (one,) = find_grounded_questions(rows, {"n1": SCENE})
    assert one.question.question_id == "q2" and one.boxes.tolist() == [[0.5, 0, 1, 0.5]]


def test_the_pointing_game_needs_the_highest_cell_on_a_box():
    boxes = asked(annotations={"3": "1"}).boxes
    grid = np.full((5, 10), 0.01)
    grid[1, 6] = 0.51  # its middle is at (.65, .3), on the cup
    assert pointing_game_score(grid, boxes, (100, 50)) == 1
    assert pointing_game_score(grid.T, boxes, (100, 50)) == 0  # transposed: (.3, .65)


def test_the_tolerance_is_a_fraction_of_the_longer_side():
    boxes = np.array([[0.0, 0, 0.5, 0.5]])
    grid = np.zeros((100, 100))
    grid[0, 51] = 1  # (.515, .005): 1.5 pixels to the right of 50 in an image of 100 x 50
    assert (
        pointing_game_score(grid, boxes, (100, 50)),
        pointing_game_score(grid, boxes, (100, 50), 0.01),
    ) == (1, 0)
    low = np.zeros((100, 100))
    low[54, 0] = 1  # (.005, .545): 2.25 of 50 pixels below, within 3 % of 100 but not of 50
    assert (pointing_game_score(low, boxes, (100, 50)), pointing_game_score(low, boxes, (50, 50))) == (1, 0)


def test_of_several_highest_cells_the_proportion_of_hits_counts():
    # An even grid points everywhere: a box of a quarter of the image gets a quarter.
    assert pointing_game_score(np.full((4, 4), 1 / 16), np.array([[0, 0, 0.5, 0.5]]), (100, 100), 0) == 0.25


def test_baseline_maps_point_to_the_center_or_everywhere():
    assert (
        CENTER_MAP.sum() == 1
        and pointing_game_score(CENTER_MAP, np.array([[0.49, 0.49, 0.51, 0.51]]), (100, 50), 0) == 1
    )
    assert UNIFORM_MAP.sum() == pytest.approx(1) and np.ptp(UNIFORM_MAP) == 0


def test_weight_on_boxes_is_that_of_points_sampled_from_the_map():
    draw = np.random.default_rng(1)
    grid = normalize_map(draw.uniform(size=(3, 5)))
    boxes = np.array([[0.1, 0.2, 0.55, 0.9], [0.3, 0.1, 0.7, 0.5]])
    cells = draw.choice(15, 200_000, p=grid.ravel())
    x, y = (cells % 5 + draw.uniform(size=cells.shape)) / 5, (cells // 5 + draw.uniform(size=cells.shape)) / 3
    inside = [(x > a) & (y > b) & (x < c) & (y < d) for a, b, c, d in boxes]
    assert weight_on_boxes(grid, boxes) == pytest.approx(np.mean(inside[0] | inside[1]), abs=0.005)


def test_gqas_grounding_counts_an_object_twice_if_two_annotations_point_to_it():
    grid = rasterize_boxes(np.ones(1), np.array([[0.6, 0.2, 0.8, 0.4]]), (5, 10))  # all of it on the cup
    assert gqa_grounding(grid, asked(annotations={"3": "1"})) == pytest.approx(1, abs=1e-5)
    both = asked(annotations={"3": "1"}, full_answer_annotations={"1": "1"})
    assert gqa_grounding(grid, both) == pytest.approx(2, abs=1e-5) and weight_on_boxes(
        grid, both.boxes
    ) == pytest.approx(1)
    # Of the box, which is a quarter of the image, an even grid has a quarter.
    assert gqa_grounding(np.full((4, 4), 1 / 16), asked(annotations={"3": "2"})) == pytest.approx(
        0.25, abs=1e-5
    )


def test_each_question_is_scored_by_its_own_boxes():
    cup, box = asked(annotations={"3": "1"}), asked(annotations={"3": "2"})
    corner = rasterize_boxes(np.ones(1), np.array([[0.9, 0.0, 1, 0.1]]), (10, 10))
    found = score_maps([cup, box], [corner, corner])
    assert found["pointing"].tolist() == [0, 1] and found["weight_on_boxes"] == pytest.approx([0, 1])


def test_another_question_is_about_the_same_image():
    rows = [
        GroundedQuestion(question(f"q{k}", image), SCENE, np.zeros((1, 4)))
        for k, image in enumerate("aaabbc")
    ]
    found = pick_other_questions(rows)
    assert [rows[place].question.image_id for place in found] == list("aaabbc")
    assert [place == number for number, place in enumerate(found)] == [False] * 5 + [True]
    assert sorted(found) == list(range(6))


def seen(*marks):
    panel = Panel("detections", "What it found", UNIFORM_MAP, marks, show_heatmap=False)
    rest = (Panel(way, way, np.eye(2) / 2) for way in ("attention", "glance-1", "glance-2", "glance-3", "grad-cam", "hires-cam"))  # fmt: skip
    return Attribution("yes", 0.5, (panel, *rest))


def test_named_objects_count_by_score_and_without_any_the_map_is_uniform():
    cup, dog = BoxMark("cup", (0, 0, 0.5, 1), 0.9), BoxMark("dog", (0.5, 0, 1, 1), 0.8)
    one = seen(cup, dog)
    assert map_named_objects(one, frozenset({"cup"}))[:, :12].sum() == pytest.approx(1)
    assert map_named_objects(one, frozenset({"cup", "dog"}))[:, :12].sum() == pytest.approx(0.9 / 1.7)
    assert map_named_objects(one, frozenset({"cat"})) is UNIFORM_MAP


def test_every_method_has_a_map_for_each_question():
    first, second = (
        seen(),
        seen()._replace(panels=tuple(p._replace(attribution_map=np.ones((1, 1))) for p in seen().panels)),
    )
    found = collect_maps([first, second], [1, 0], [frozenset(), frozenset()])
    assert {len(grids) for grids in found.values()} == {2}
    assert [grid.shape for grid in found["attention"]] == [(2, 2), (1, 1)]
    assert [grid.shape for grid in found["attention, of another question"]] == [(1, 1), (2, 2)]


def test_intervals_are_over_images():
    """Fifty questions of each of four images that agree within an image are four observations, not two hundred."""
    values = np.repeat([0.0, 1.0, 1.0, 0.0], 50)
    by_image = mean_over_images(values, [name for name in "abcd" for _ in range(50)], 500, 0)
    alone = mean_over_images(values, [str(k) for k in range(200)], 500, 0)
    assert by_image.mean == alone.mean == 0.5
    # sqrt(.25 / 200) = .035: about .43 to .57; four images drawn with replacement: 0 or 1 with chance 1/16 each
    assert (alone.low, alone.high) == (pytest.approx(0.43, abs=0.02), pytest.approx(0.57, abs=0.02))
    assert (by_image.low, by_image.high) == (0, 1)


@pytest.fixture
def project(tiny_run, tmp_path, monkeypatch):
    home = with_nets(tiny_run, tmp_path / "run", ROOT / "data/sample/clip")
    monkeypatch.chdir(home)
    return home


def test_the_study_reports_every_method_of_every_net(project):
    said = measure_attribution(["rp", "vanilla"], [0], 100, 0, project / "attribution.json")
    written = json.loads((project / "attribution.json").read_text())
    assert {"image_center", "uniform", "rp: attention"} < written["figures"].keys()
    assert "| vanilla: hires-cam, of another question | " in said
    assert said.startswith(f"{written['questions']:,} questions of {written['images']} images, 1 seed")
    for row in written["figures"].values():
        for figure in row.values():
            assert figure["low"] <= figure["mean"] <= figure["high"]
    # The detections of the region head do not depend on the net that reads it.
    assert written["figures"]["rp: detections"] == written["figures"]["vanilla: detections"]


def test_missing_nets_are_named(project):
    with pytest.raises(UserError, match="mix-0, mix-1, rp-1.*--net"):
        measure_attribution(["mix", "rp"], [0, 1], 100, 0, None)


def test_the_table_has_a_row_for_each_method():
    figure = mean_over_images(np.array([0.25, 0.75]), ["a", "b"], 200, 0)
    row = dict.fromkeys(METRICS, figure)
    assert render_table({"rp: attention": row}, 2, 2, 3).splitlines()[-1] == (
        "| rp: attention | " + " | ".join(["50.0 [25.0, 75.0]"] * 4) + " |"
    )
