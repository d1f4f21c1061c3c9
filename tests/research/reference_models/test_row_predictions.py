"""What rows say to the items of a release."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.scoring.items import Benchmark, BenchmarkItem, Items
from research.reference_models.detector_table import DetectorOutput
from research.reference_models.inference import LoadedModel, save_net
from research.reference_models.leaderboard_rows import LEADERBOARD_ROWS
from research.reference_models.model_outputs import VqaQuery
from research.reference_models.row_predictions import (
    ODIN_STEP,
    SAME_CLIP_NOTE,
    WorkerInputs,
    collect_queries,
    describe_row,
    find_missing_requirements,
    format_predictions,
    plan_inference,
    round_confidence,
    run_inference,
)
from research.reference_models.tokenization import WordVocabulary
from tests.research.reference_models.toy_nets import THINGS, net, world


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


def test_distinct_pairs_are_asked_once():
    assert ASKED.queries == [VqaQuery("p1", "Is it?"), VqaQuery("p1", "What?"), VqaQuery("p2", "Is it?")]
    assert ASKED.query_index == {"1": 2, "2": 0, "3": 2, "4": 1}


def test_every_item_gets_what_is_said_to_its_pair_and_each_once():
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


def test_a_row_that_lacks_something_says_what():
    lacks = find_missing_requirements(("vanilla", "rp"), ("gaussians",), has_ground_truth=False)
    assert lacks["msp"] == lacks["odin"] == lacks["rp_confidence"] == lacks["mahalanobis"] == ""
    assert lacks["ens"] == "no net mix" and lacks["selector"] == "no selector fitted"
    assert lacks["true_regions"] == "no net true_regions, nobody knows the complete truth of the images"
    assert (
        find_missing_requirements(("rp",), (), has_ground_truth=True)["mahalanobis"]
        == "no net vanilla, no gaussians fitted"
    )
    assert find_missing_requirements(("true_regions",), (), has_ground_truth=True)["true_regions"] == ""
    assert lacks.keys() == LEADERBOARD_ROWS.keys()


def test_the_nets_of_rows_are_asked_once_each_on_what_they_see(tmp_path):
    files = {name: tmp_path / name for name in NETS}
    planned = plan_inference(("msp", "odin", "rp", "ens", "caption_match", "true_regions"), files)
    assert planned.keys() == {"vanilla", "rp", "mix", "caption_match", "true_regions"}
    assert {name: one.odin_step for name, one in planned.items() if one.odin_step} == {"vanilla": ODIN_STEP}
    assert {one.region_source for one in planned.values()} == {"found", "told", "true"}
    assert planned["caption_match"].region_source == "told" and planned["rp"].path == tmp_path / "rp"
    assert plan_inference(("msp",), files)["vanilla"].odin_step == 0


def test_a_net_looks_in_float64_so_that_rounding_hides_where_it_was_calculated(tmp_path):
    store, _ = world()
    made = LoadedModel(
        net().eval(), WordVocabulary(tuple(f"thing{i}" for i in range(THINGS))), ("a", "b", "c", "d")
    )
    save_net(tmp_path / "net.safetensors", made)
    asks = [VqaQuery("p3", "thing1?"), VqaQuery("p0", "thing4?")]
    one = plan_inference(("odin",), {"vanilla": tmp_path / "net.safetensors"})["vanilla"]
    seen = run_inference(WorkerInputs(asks, {"found": store}), one)
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
def test_a_row_s_confidence_is_told_in_words(row, said):
    assert describe_row(LEADERBOARD_ROWS[row])["confidence"] == said


def test_rows_whose_net_the_clip_feeds_say_so_and_references_are_marked():
    assert describe_row(LEADERBOARD_ROWS["rp"])["note"] == SAME_CLIP_NOTE
    assert describe_row(LEADERBOARD_ROWS["blind_net"]) == {
        "confidence": "MSP of blind",
        "note": "sees no image",
        "reference": True,
    }
    assert SAME_CLIP_NOTE not in str(describe_row(LEADERBOARD_ROWS["true_regions"])["note"])
    assert describe_row(LEADERBOARD_ROWS["own_rp"])["note"] == "regions of a tower that never saw the CLIP"


def test_sure_confidences_keep_their_order():
    logits = np.arange(14, 20, 0.01)  # two decimals, as five significant digits have them there and more
    confidence = [round_confidence(value, 9) for value in (1 / (1 + np.exp(-logits))).tolist()]
    assert (np.diff(confidence) > 0).all()
    assert round_confidence(1.0, 9) == 1.0 and round_confidence(-12.3456789012, 9) == -12.3456789
