"""Predictions of rows, and which parts of images they depend on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pipeline.core.errors import UserError
from pipeline.core.paths import DatasetFolders
from pipeline.inference.attribution.row_attribution import open_row
from pipeline.scoring.items import Benchmark, BenchmarkItem, Items
from research.reference_models.detector_table import DetectorOutput
from research.reference_models.inference import LoadedModel, load_net, predict, save_net
from research.reference_models.leaderboard_rows import LEADERBOARD_ROWS
from research.reference_models.model_outputs import VqaQuery
from research.reference_models.net_attribution import NetAttributor
from research.reference_models.region_head import load_head
from research.reference_models.row_attribution import list_attributable_rows
from research.reference_models.row_predictions import (
    ODIN_STEP,
    SAME_CLIP_NOTE,
    WorkerInputs,
    collect_queries,
    describe_row,
    extract_query_nouns,
    find_missing_requirements,
    format_predictions,
    load_regions,
    plan_inference,
    plan_rows,
    predict_rows,
    round_confidence,
    run_inference,
)
from research.reference_models.tokenization import WordVocabulary
from tests.closure import ROOT
from tests.inference.attribution.tiny_nets import with_nets, write_answers
from tests.inference.tiny_models import tiny_vilt
from tests.research.reference_models.toy_nets import KINDS, net, world
from tests.tiny.nets import SAMPLE, VQA, add_nets
from tests.tiny.project import lay_out

# What rows say to the items of a release.


def item(name, image, text):
    return BenchmarkItem(name, image, {"yes": 1.0}, question_text=text)


BENCHMARK = Benchmark(
    "rgqa",
    "toy",
    "",
    {},
    {
        "a": Items.from_rows(
            [item("1", "p2", "Is it?"), item("2", "p1", "Is it?"), item("3", "p2", "Is it?")]
        ),
        "b": Items.from_rows([item("1", "p2", "Is it?"), item("4", "p1", "What?")]),
    },
    frozenset("1234"),
)
ASKED = collect_queries(BENCHMARK)
NETS = ("vanilla", "rp", "mix", "blind", "separated", "caption_match", "true_regions")


def test_queries_are_distinct_pairs_of_image_and_text():
    assert ASKED.queries == [VqaQuery("p1", "Is it?"), VqaQuery("p1", "What?"), VqaQuery("p2", "Is it?")]
    assert ASKED.query_index == {"1": 2, "2": 0, "3": 2, "4": 1}


def test_every_item_gets_the_prediction_of_its_query():
    said = DetectorOutput(["no", "red", "yes"], np.array([0.1234567891234, 2e-7, 1]))
    made = format_predictions(ASKED, "msp", said)
    assert [tuple(row.values()) for row in made] == [
        ("1", "yes", 1.0),
        ("2", "no", 0.123456789),
        ("3", "yes", 1.0),
        ("4", "red", 2e-7),
    ]
    distances = format_predictions(
        ASKED, "mahalanobis", said._replace(confidence=np.array([-123.456789, -1, 0]))
    )
    assert distances[1]["confidence"] == -123.457


def test_missing_requirements_of_rows_are_named():
    lacks = find_missing_requirements(("vanilla", "rp"), ("gaussians",), has_ground_truth=False)
    assert lacks["msp"] == lacks["odin"] == lacks["rp_confidence"] == lacks["mahalanobis"] == ""
    assert lacks["ens"] == "no net mix" and lacks["selector"] == "no selector fitted"
    assert lacks["true_regions"] == "no net true_regions, no complete scene graphs of the images"
    assert (
        find_missing_requirements(("rp",), (), has_ground_truth=True)["mahalanobis"]
        == "no net vanilla, no gaussians fitted"
    )
    assert find_missing_requirements(("true_regions",), (), has_ground_truth=True)["true_regions"] == ""
    assert lacks.keys() == LEADERBOARD_ROWS.keys()


def test_each_net_is_run_once_on_its_regions(tmp_path):
    files = {name: tmp_path / name for name in NETS}
    planned = plan_inference(("msp", "odin", "rp", "ens", "caption_match", "true_regions"), files)
    assert planned.keys() == {"vanilla", "rp", "mix", "caption_match", "true_regions"}
    assert {name: one.odin_step for name, one in planned.items() if one.odin_step} == {"vanilla": ODIN_STEP}
    assert {one.region_source for one in planned.values()} == {"detected", "caption", "ground_truth"}
    assert planned["caption_match"].region_source == "caption" and planned["rp"].path == tmp_path / "rp"
    assert plan_inference(("msp",), files)["vanilla"].odin_step == 0


def test_nets_run_in_float64_and_outputs_are_rounded(tmp_path):
    store, _ = world()
    made = LoadedModel(
        net().eval(), WordVocabulary(tuple(f"thing{i}" for i in range(KINDS))), ("a", "b", "c", "d")
    )
    save_net(tmp_path / "net.safetensors", made)
    asks = [VqaQuery("p3", "thing1?"), VqaQuery("p0", "thing4?")]
    one = plan_inference(("odin",), {"vanilla": tmp_path / "net.safetensors"})["vanilla"]
    seen = run_inference(WorkerInputs(asks, {"detected": store}), one)
    wide = made.net.half().double()
    features, boxes = store.get_regions(np.array([3, 0]))
    import torch

    exact = (
        wide(
            torch.from_numpy(made.vocabulary.encode(["thing1?", "thing4?"])),
            *(torch.from_numpy(value).double() for value in (features, boxes)),
        )
        .logits.detach()
        .numpy()
    )
    np.testing.assert_array_equal(seen.logits, [[np.float32(f"{v:.5g}") for v in row] for row in exact])
    assert seen.odin_perturbed is not None and seen.odin_perturbed.logits.shape == (2, 4)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("msp", "MSP of vanilla"),
        ("ens", "Ens of rp and mix"),
        ("rp_confidence", "MSP of rp; answers of vanilla"),
        ("separated", "Separated of separated; answers of vanilla"),
        ("frcnn", "FRCNN, all nouns of the region head; answers of vanilla"),
        ("mahalanobis_own", "Maha, its own answers of vanilla"),
    ],
)
def test_the_confidence_of_a_row_is_described(row, said):
    assert describe_row(LEADERBOARD_ROWS[row])["confidence"] == said


def test_rows_with_clip_features_have_a_note_and_references_are_marked():
    assert describe_row(LEADERBOARD_ROWS["rp"])["note"] == SAME_CLIP_NOTE
    assert describe_row(LEADERBOARD_ROWS["text_only_net"]) == {
        "confidence": "MSP of blind",
        "note": "sees no image",
        "reference": True,
    }
    assert SAME_CLIP_NOTE not in str(describe_row(LEADERBOARD_ROWS["true_regions"])["note"])
    assert (
        describe_row(LEADERBOARD_ROWS["own_rp"])["note"] == "regions of a tower that is independent of CLIP"
    )


def test_confidences_near_1_keep_their_order():
    logits = np.arange(14, 20, 0.01)  # two decimals, as five significant digits have them there and more
    confidence = [round_confidence(value, 9) for value in (1 / (1 + np.exp(-logits))).tolist()]
    assert (np.diff(confidence) > 0).all()
    assert round_confidence(1.0, 9) == 1.0 and round_confidence(-12.3456789012, 9) == -12.3456789


IMAGES = {path.stem: path for path in sorted(DatasetFolders("sample").source.glob("images/*.jpg"))[:2]}
ASKS = sorted(VqaQuery(image, text) for image in IMAGES for text in ("What color is the cup?", "Is it red?"))


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    made = lay_out(tmp_path_factory.mktemp("asked"))
    add_nets(made)
    return made


def test_available_rows_depend_on_files_and_ground_truth(home):
    plan = plan_rows(home / VQA, has_ground_truth=False)
    assert set(plan.planned_inference) == {0, 1}
    assert "ens" in plan.available_rows(1) and plan.missing_requirements[0]["ens"] == "no net mix"
    assert plan.missing_requirements[0]["true_regions"].startswith(
        "no complete scene graphs"
    ) and not plan.needs_regions("ground_truth")
    assert plan_rows(home / VQA, has_ground_truth=True).needs_regions("ground_truth")
    with pytest.raises(UserError, match="files of nets cannot be read"):
        plan_rows(home / "nowhere", has_ground_truth=True)


def test_predictions_of_a_row_are_those_of_its_net(home, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    plan = plan_rows(home / VQA, has_ground_truth=False)
    regions = load_regions(plan, SAMPLE / "clip", IMAGES)
    said = {(seed, row): one for seed, row, one in predict_rows(plan, ASKS, regions)}
    assert {seed for seed, _ in said} == {0, 1} and [
        row for seed, row in said if seed == 1
    ] == plan.available_rows(1)
    seen = predict(
        load_net(home / VQA / "rp-1.safetensors", use_float64=True), ASKS, regions.stores["detected"]
    )
    expected = 1 / (1 + np.exp(-seen.logits.max(axis=1).astype(float)))
    np.testing.assert_allclose(said[1, "rp"].confidence, expected)


def test_nouns_are_those_of_each_query(home):
    head = load_head(home / VQA / "regions.safetensors")
    assert extract_query_nouns(ASKS, head)[1] == {"cup"} and extract_query_nouns(ASKS, head)[0] == frozenset()


def test_missing_images_are_named(home):
    plan = plan_rows(home / VQA, has_ground_truth=False)
    with pytest.raises(UserError, match=r"lost\.jpg is missing"):
        load_regions(plan, SAMPLE / "clip", {"lost": Path("lost.jpg")})


@pytest.fixture(scope="module")
def made(tiny_run, tmp_path_factory):
    return with_nets(tiny_run, tmp_path_factory.mktemp("sight") / "run", ROOT / "data/sample/clip")


@pytest.fixture
def folders(made, monkeypatch):
    monkeypatch.chdir(made)
    return DatasetFolders()


def refused(folders, name, seed=0, **more):
    with pytest.raises(UserError) as found:
        open_row(folders, name, seed, **more)
    return str(found.value)


def test_a_row_opens_its_nets_with_positions_and_notes_others(folders):
    assert {name: type(one) for name, one in open_row(folders, "rp").models.items()} == {"rp": NetAttributor}
    assert [*open_row(folders, "own_msp").models] == ["own_vanilla"]
    assert [*open_row(folders, "separated").models] == ["vanilla", "separated"]
    sight = open_row(folders, "caption_match")
    assert [*sight.models] == ["vanilla"]
    assert sight.note.startswith("net caption_match reads a caption, which has no positions")


def test_predictions_are_read_from_the_file_of_the_row(folders, made):
    sight = open_row(folders, "msp")
    assert sight.predictions == {} and "make leaderboard" in sight.note
    write_answers(made, "msp", ["01", "02"])
    assert open_row(folders, "msp").note == ""
    assert open_row(folders, "msp").predictions == {"01": ("red", 0.25), "02": ("red", 0.25)}


def test_rows_without_attribution_are_rejected_with_the_reason(folders):
    message = refused(folders, "text_only_net")
    assert "--model text_only_net: " in message and "net blind sees no image" in message
    assert "rows of seed 0 with attribution: msp, maxprob" in message and "hf-vqa/FOLDER" in message
    assert "net true_regions reads the ground truth, which is not loaded here" in refused(
        folders, "true_regions"
    )
    assert "no net mix of seed 0" in refused(folders, "ens")


def test_unknown_rows_and_seeds_are_rejected(folders):
    assert refused(folders, "nobody").startswith(
        "--model nobody: no such row. Choose from the rows of seed 0"
    )
    assert refused(folders, "").startswith("--model: missing. Choose from the rows of seed 0")
    assert "no nets of seed 5 in data/tiny/vqa; there are 0" in refused(folders, "rp", 5)


def test_a_row_of_predictions_has_no_model(folders, made):
    assert "--model clip_score: this row is a file of predictions" in refused(folders, "clip_score")
    (made / "data/tiny/predictions").mkdir(exist_ok=True)
    (made / "data/tiny/predictions/theirs-seed0.json").write_text("[]")
    assert "--model theirs: this row is a file of predictions" in refused(folders, "theirs")


def test_only_rows_with_attribution_are_listed(folders):
    rows = list_attributable_rows(folders, 0)
    assert {"msp", "rp", "separated", "own_msp", "rp_confidence"} <= set(rows)
    assert not {"text_only_net", "true_regions", "ens", "mix"} & set(rows)
    assert list_attributable_rows(folders, 3) == []


def test_a_model_of_transformers_is_opened_from_its_folder(folders, tmp_path):
    name = f"hf-vqa/{tiny_vilt(tmp_path / 'vilt')}"
    sight = open_row(folders, name, settings={"device": "cpu"})
    assert [*sight.models] == [name]
    assert "--model-arg colour: " in refused(folders, name, settings={"colour": "red"})
    assert "--model-arg has no effect with --model rp" in refused(folders, "rp", settings={"device": "cpu"})
