"""What rows say to the items of a release."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.scoring.items import Benchmark, BenchmarkItem, Items
from research.reference_models.detector_table import Said
from research.reference_models.inference import Asked, save_net
from research.reference_models.leaderboard_rows import ROWS
from research.reference_models.model_outputs import Ask
from research.reference_models.row_predictions import (
    SAME_CLIP,
    STEP,
    Held,
    about,
    asks_of,
    lacking_of_rows,
    look_with,
    looks,
    predictions,
    written,
)
from research.reference_models.tokenization import WordTable
from tests.research.reference_models.toy_nets import THINGS, net, world


def item(name, picture, text):
    return BenchmarkItem(name, picture, {"yes": 1.0}, asked=text)


BENCHMARK = Benchmark(
    "rgqa",
    "toy",
    "",
    {},
    {
        "a": Items.of([item("1", "p2", "Is it?"), item("2", "p1", "Is it?"), item("3", "p2", "Is it?")]),
        "b": Items.of([item("1", "p2", "Is it?"), item("4", "p1", "What?")]),
    },
    frozenset("1234"),
)
ASKED = asks_of(BENCHMARK)
NETS = ("vanilla", "rp", "mix", "blind", "separated", "caption_match", "true_regions")


def test_distinct_pairs_are_asked_once():
    assert ASKED.asks == [Ask("p1", "Is it?"), Ask("p1", "What?"), Ask("p2", "Is it?")]
    assert ASKED.place_of == {"1": 2, "2": 0, "3": 2, "4": 1}


def test_every_item_gets_what_is_said_to_its_pair_and_each_once():
    said = Said(["no", "red", "yes"], np.array([0.1234567891234, 2e-7, 1]))
    made = predictions(ASKED, "msp", said)
    assert [tuple(row.values()) for row in made] == [
        ("1", "yes", 1.0),
        ("2", "no", 0.123456789),
        ("3", "yes", 1.0),
        ("4", "red", 2e-7),
    ]
    distances = predictions(ASKED, "mahalanobis", said._replace(confidence=np.array([-123.456789, -1, 0])))
    assert distances[1]["confidence"] == -123.457


def test_a_row_that_lacks_something_says_what():
    lacks = lacking_of_rows(("vanilla", "rp"), ("gaussians",), truth=False)
    assert lacks["msp"] == lacks["odin"] == lacks["rp_confidence"] == lacks["mahalanobis"] == ""
    assert lacks["ens"] == "no net mix" and lacks["selector"] == "no selector fitted"
    assert lacks["true_regions"] == "no net true_regions, nobody knows the complete truth of the pictures"
    assert lacking_of_rows(("rp",), (), truth=True)["mahalanobis"] == "no net vanilla, no gaussians fitted"
    assert lacking_of_rows(("true_regions",), (), truth=True)["true_regions"] == ""
    assert lacks.keys() == ROWS.keys()


def test_the_nets_of_rows_are_asked_once_each_on_what_they_see(tmp_path):
    files = {name: tmp_path / name for name in NETS}
    planned = looks(("msp", "odin", "rp", "ens", "caption_match", "true_regions"), files)
    assert planned.keys() == {"vanilla", "rp", "mix", "caption_match", "true_regions"}
    assert {name: one.step for name, one in planned.items() if one.step} == {"vanilla": STEP}
    assert {one.kind for one in planned.values()} == {"found", "told", "true"}
    assert planned["caption_match"].kind == "told" and planned["rp"].path == tmp_path / "rp"
    assert looks(("msp",), files)["vanilla"].step == 0


def test_a_net_looks_in_float64_so_that_rounding_hides_where_it_was_calculated(tmp_path):
    store, _ = world()
    made = Asked(net().eval(), WordTable(tuple(f"thing{i}" for i in range(THINGS))), ("a", "b", "c", "d"))
    save_net(tmp_path / "net.safetensors", made)
    asks = [Ask("p3", "thing1?"), Ask("p0", "thing4?")]
    one = looks(("odin",), {"vanilla": tmp_path / "net.safetensors"})["vanilla"]
    seen = look_with(Held(asks, {"found": store}), one)
    wide = made.net.half().double()
    features, boxes = store.take(np.array([3, 0]))
    import torch

    exact = (
        wide(
            torch.from_numpy(made.words.numbers(["thing1?", "thing4?"])),
            *(torch.from_numpy(value).double() for value in (features, boxes)),
        )
        .logits.detach()
        .numpy()
    )
    np.testing.assert_array_equal(seen.logits, [[np.float32(f"{v:.5g}") for v in row] for row in exact])
    assert seen.stepped is not None and seen.stepped.logits.shape == (2, 4)


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
    assert about(ROWS[row])["confidence"] == said


def test_rows_whose_net_the_clip_feeds_say_so_and_references_are_marked():
    assert about(ROWS["rp"])["note"] == SAME_CLIP
    assert about(ROWS["blind_net"]) == {
        "confidence": "MSP of blind",
        "note": "sees no picture",
        "reference": True,
    }
    assert SAME_CLIP not in str(about(ROWS["true_regions"])["note"])
    assert about(ROWS["own_rp"])["note"] == "regions of a tower that never saw the CLIP"


def test_sure_confidences_keep_their_order():
    logits = np.arange(14, 20, 0.01)  # two decimals, as five significant digits have them there and more
    confidence = [written(value, 9) for value in (1 / (1 + np.exp(-logits))).tolist()]
    assert (np.diff(confidence) > 0).all()
    assert written(1.0, 9) == 1.0 and written(-12.3456789012, 9) == -12.3456789
