"""Effects of the ranking, and their plots."""

import json

import numpy as np
import pytest

from pipeline.scoring.items import BenchmarkItem, Items
from pipeline.scoring.joined_predictions import Predictions
from research.studies.effect_plots import make_effect_table, plot_effect
from research.studies.item_sets import OUR_RULES, PAPER_RULES, ItemSet
from research.studies.ranking_effects import (
    NOISE_RATES,
    EffectPoint,
    SetVariant,
    concatenate_items,
    make_noisy_variants,
    make_smaller_variants,
    make_variants,
    measure_variant,
    measure_variants,
    resample_images,
)
from research.studies.row_scores import RowPredictions

# Rankings on changed sets, with rows whose ranking is known.


IMAGES, ROWS = 40, 14
ITEMS = Items.from_rows(
    row
    for n in range(IMAGES)
    for row in (
        BenchmarkItem(f"a{n}", f"p{n}", {"red": 1.0}, question_text=f"Is thing {n} red?", pair_id=str(n)),
        BenchmarkItem(
            f"u{n}",
            f"p{n}",
            {},
            question_text=f"Is thing {n} blue?",
            category="missing object",
            pair_id=str(n),
        ),
    )
)
ONE = ItemSet(ITEMS, [f"{n}" for n in range(2 * IMAGES)])
REFERENCE = np.repeat(np.arange(ROWS)[:, None] / ROWS, 3, axis=1)


def rows():
    """Row r rejects the UQs of 2r images and accepts all else; every answer is right: its AUAF rises with r."""
    made = []
    places = {key: place for place, key in enumerate(ITEMS["id"])}
    for r in range(ROWS):
        low = [key.startswith("u") and int(key[1:]) < 2 * r for key in ITEMS["id"]]
        confidence = np.where(low, 0.0, 1.0)
        said = Predictions("row", "", places, ["red"] * len(ITEMS), confidence)
        made.append(RowPredictions(f"row {r}", False, (said,)))
    return made


def once():
    return resample_images("cap", "clip-easy", OUR_RULES, 3.0, ONE, 20, 0)


def test_an_unchanged_set_ranks_as_the_reference_does():
    found = measure_variant(once(), rows(), REFERENCE, 0)
    assert (found.tau, found.num_items, found.x, found.pairing_rules) == (1.0, 2 * IMAGES, 3.0, OUR_RULES)
    assert found.low is not None and found.low <= 1 and found.text_only_auroc is not None
    assert measure_variant(once(), rows(), REFERENCE[::-1], 0).tau == -1


def test_noise_labels_some_aqs_as_uqs_and_leaves_out_as_many_uqs():
    for variant, share in zip(make_noisy_variants("clip-easy", ONE, 0), NOISE_RATES, strict=True):
        items, wrong = variant.items.items, round(share * IMAGES)
        assert len(items) == 3 * IMAGES  # AQs and UQs, and AQs labelled as UQs
        for taken in variant.item_counts:
            flipped = taken[2 * IMAGES :]
            assert flipped.sum() == wrong and taken.sum() == 2 * IMAGES - wrong
            assert (taken * items.answerable).sum() == IMAGES - wrong
            aqs = taken[: 2 * IMAGES][ITEMS.answerable]
            assert (aqs + flipped == 1).all()  # each question has one of the labels
        assert items["answers"][2 * IMAGES :].tolist() == [{}] * IMAGES
    first, *_, last = (
        measure_variant(one, rows(), REFERENCE, 0) for one in make_noisy_variants("clip-easy", ONE, 0)
    )
    assert first.tau == 1 and first.low == first.high  # nothing is random
    assert last.tau is not None and last.tau < 1 and first.text_only_auroc is None


def test_a_smaller_set_has_whole_images():
    *some, whole = make_smaller_variants("clip-easy", OUR_RULES, ONE, 0)
    assert (whole.item_counts == 1).all() and len(whole.item_counts) == 1
    for variant in some:
        by_image = variant.item_counts.reshape(len(variant.item_counts), IMAGES, 2)
        assert (by_image[..., 0] == by_image[..., 1]).all()
        assert (variant.item_counts.sum(axis=1) == 2 * max(2, round(variant.x * IMAGES))).all()
        assert len({tuple(row) for row in variant.item_counts}) > 1  # different samples
    taus = [one.tau for one in measure_variants([*some, whole], rows(), REFERENCE, 0)]
    assert taus[-1] == 1 and taus[0] is not None and taus[0] < 1


def test_resamples_have_images_with_all_their_items():
    taken = once().item_counts.reshape(21, IMAGES, 2)
    assert (
        (taken[..., 0] == taken[..., 1]).all()
        and (taken[0] == 1).all()
        and (taken.sum(axis=(1, 2)) == 80).all()
    )


def test_every_variant_is_made_and_sets_of_one_label_are_left_out():
    aqs = ItemSet(ITEMS.select(ITEMS.answerable), [""] * IMAGES)
    changed = {
        ("clip-easy", OUR_RULES, 2): ONE,
        ("clip-easy", PAPER_RULES): ONE,
        ("clip-hard", PAPER_RULES): aqs,
    }
    found = [*make_variants({(OUR_RULES, "clip-easy"): ONE, (PAPER_RULES, "clip-easy"): ONE}, changed, 20, 0)]
    made = {(one.effect, one.pairing_rules) for one in found}
    assert made == {
        ("noise", OUR_RULES),
        ("size", OUR_RULES),
        ("size", PAPER_RULES),
        ("cap", OUR_RULES),
        ("balancing", PAPER_RULES),
    }
    assert [one.x for one in found if one.effect == "cap"] == [2.0]
    assert isinstance(found[0], SetVariant) and len(concatenate_items(ITEMS, ITEMS)) == 4 * IMAGES


def test_too_few_rows_have_no_ranking():
    with pytest.raises(Exception, match="At least 14"):
        measure_variant(once(), rows()[:3], REFERENCE, 0)


# Plots of the effects on a ranking: their axes and intervals.


COMMON = {"low": 0.8, "high": 0.95, "tau": 0.9, "num_items": 120.0}
POINTS = [
    *(EffectPoint(effect="noise", subset="pt-hard", pairing_rules="ours", x=x, **COMMON) for x in (0.0, 0.1)),
    *(
        EffectPoint(
            effect="cap", subset="clip-easy", pairing_rules=series, x=x, text_only_auroc=0.7, **COMMON
        )
        for x in (1.0, 10.0, 0.0)
        for series in ("ours", "the paper's rules")
    ),
    EffectPoint(
        effect="balancing", subset="clip-easy", pairing_rules="ours", x=0, text_only_auroc=0.5, **COMMON
    ),
    EffectPoint(effect="size", subset="clip-easy", pairing_rules="ours", x=0.5, **COMMON),
]


def test_the_x_axis_shows_what_was_changed():
    assert make_effect_table(POINTS, "noise")["x_value"].tolist() == [0.0, 0.1]
    assert make_effect_table(POINTS, "cap")["x_value"].tolist() == ["1", "1", "10", "10", "none", "none"]
    assert make_effect_table(POINTS, "balancing")["x_value"].tolist() == ["ours"]
    assert make_effect_table(POINTS, "size")["x_value"].tolist() == [120.0]
    with pytest.raises(ValueError, match="effect size"):
        make_effect_table(POINTS[:2], "size")


@pytest.mark.parametrize("effect", ["noise", "cap", "balancing", "size"])
def test_every_effect_is_a_chart_with_intervals(effect):
    text = json.dumps(json.loads(plot_effect(POINTS, effect).to_json()))
    assert "tau with counterfactual pairs" in text and '"high"' in text
    assert ("text-only AUROC" in text) == (effect in ("cap", "balancing"))
