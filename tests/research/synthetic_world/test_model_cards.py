"""Model cards of the CLIP model and of the nets."""

from __future__ import annotations

import numpy as np
import pytest

from research.synthetic_world import train_vqa, vqa_model_card
from research.synthetic_world.clip_model_card import compute_metrics, score_own_image
from research.synthetic_world.fit_vqa import FittingRun, FittingRuns
from research.synthetic_world.train_vqa import DetectorRun, ModelRun, TrainingRuns
from research.synthetic_world.vqa_model_card import format_card, format_range, write_vqa_card
from research.synthetic_world.vqa_worlds import WORLD_SERIES

# The model card of the sample's VQA models.


def run(net, seed, cpu=100.0, **report):
    kinds = dict.fromkeys(("query", "choose", "verify", "logical", "compare"), report.get("accuracy", 0))
    report = report | (kinds if "accuracy" in report else {})
    return ModelRun(
        net=net,
        seed=seed,
        recipe="",
        parameters=1234,
        cpu_seconds=cpu,
        criterion="auroc",
        tries={},
        report=report,
    )


DETECTOR = DetectorRun(
    epochs=3, images=512, cpu_seconds=77.4, report={"recall": 0.9, "precision": 0.8, "looks right": 0.7}
)
TOLD = TrainingRuns(
    detector=DETECTOR,
    nets={
        "rp-1": run("rp", 1, 200.0, accuracy=0.74, auaf=0.6, auroc=0.9),
        "rp-0": run("rp", 0, 100.0, accuracy=0.70, auaf=0.5, auroc=0.8),
        "blind-0": run("blind", 0, accuracy=0.4, auaf=0.2, auroc=0.5),
        "separated-0": run("separated", 0, auroc=0.95),
    },
)


NOTHING = FittingRuns(seeds={})


def fitted(seed, auc, blind):
    figures = {"accuracy": 0.8, "c@0.01": 0.4, "c@0.05": 0.6, "c@0.1": 0.9, "c@0.2": 1.0}
    return FittingRun(
        seed=seed,
        files={},
        cpu_seconds=1,
        selection_scores={},
        chosen="",
        selection={"maxprob": figures | {"auc": 0.03}, "selector": figures | {"auc": auc}},
        accuracy={"blind": {"all": 0.54, "balanced": blind}, "vanilla": {"all": 0.88, "balanced": 0.86}},
        num_balanced=7000,
    )


@pytest.mark.parametrize(
    "auc, blind, told",
    [
        (0.02, 0.45, ("45.0 (45.0 to 45.0) % of them, below one half", "The Selector reaches MaxProb")),
        (0.04, 0.51, ("% of them, not below one half", "The Selector does not reach MaxProb")),
    ],
)
def test_the_card_reports_the_text_only_net_and_the_selector_for_every_result(auc, blind, told):
    text = format_card(TOLD, FittingRuns(seeds={str(seed): fitted(seed, auc, blind) for seed in (0, 1)}), 1.5)
    assert all(one in text for one in told) and "subset of 7,000 questions" in text
    selection = rows(text.partition("## When to answer")[2])
    mean = f"{100 * auc:.2f}"
    assert f"| {mean} ({mean} to {mean}) | 40.00 (40.00 to 40.00) |" in selection["Selector"]
    assert "| vanilla | 88.0 (88.0 to 88.0) | 86.0 (86.0 to 86.0) |" in text


def test_without_what_was_fitted_the_card_ends_with_the_nets():
    assert "When to answer" not in format_card(TOLD, NOTHING, 1.5)


def rows(text):
    """The table's rows by their first cell."""
    return {line.split("|")[1].strip(): line for line in text.splitlines() if line.startswith("| ")}


def test_a_row_has_mean_and_range_over_seeds():
    told = rows(format_card(TOLD, NOTHING, 1.5).partition("## The nets on")[2])
    assert (
        "| 2 | 1,234 | 150 | 72.0 (70.0 to 74.0) | 55.0 (50.0 to 60.0) | 85.0 (80.0 to 90.0) |"
        in format_card(TOLD, NOTHING, 1.5)
    )
    assert "| - | - | 95.0 |" in told["separated"]
    assert "blind*" in told and "rp*" not in told  # from nothing, from the base
    assert list(told).index("blind*") < list(told).index("rp")


def test_the_card_says_what_was_learned_from_and_what_chose():
    text = format_card(TOLD, NOTHING, 1.5)
    for part, series in WORLD_SERIES.items():
        first, last = series.start, series.start + series.chunks * 256 - 1
        assert f"| {part} | {series.split} {first:,} to {last:,} |" in text
    assert "recall 0.900,\nprecision 0.800" in text and "S = 0, 1" in text and "1.5 MB" in text
    assert "The same CLIP chose the candidates" in text


def test_a_detector_with_its_own_tower_is_reported_if_it_exists():
    assert "regions_own" not in format_card(TOLD, NOTHING, 1.5)
    report = {"recall": 0.61, "precision": 0.52, "looks right": 0.43}
    own = DetectorRun(epochs=3, images=12, cpu_seconds=55.5, report=report, tries={"1": 0.2})
    text = format_card(TrainingRuns(detector=DETECTOR, nets=TOLD.nets, own_detector=own), NOTHING, 1.5)
    section = text.partition("### A second detector with its own tower")[2].partition("## The nets on")[0]
    assert (
        "Recall 0.610, precision 0.520. For 43.0% of the detected objects, all attributes are right."
        in section
    )
    assert "the 12 images of\n`look` and `learn`" in section and "recall 0.900" in text


def test_the_range_of_one_seed_is_its_value():
    assert (
        format_range([0.5]) == "50.0"
        and format_range([]) == "-"
        and format_range([1.0, 1.0]) == "100.0 (100.0 to 100.0)"
    )


def test_the_card_is_written_beside_the_nets(tmp_path, monkeypatch):
    from pipeline.core.errors import UserError
    from pipeline.core.json_files import write_json

    for module in (train_vqa, vqa_model_card):
        monkeypatch.setattr(module, "OUTPUT_DIR", tmp_path)
    with pytest.raises(UserError, match=r"training\.json"):
        write_vqa_card()
    write_json(tmp_path / "training.json", TOLD)
    (tmp_path / "rp-0.safetensors").write_bytes(b"0" * 2_000_000)
    write_vqa_card()
    assert "2.0 MB" in (tmp_path / "MODEL_CARD.md").read_text()


# The results on the CLIP's model card, computed by hand.


SCORES = np.array([[0.9, 0.1, 0.5], [0.2, 0.2, 0.8], [0.3, 0.7, 0.6]])
OWN = np.array([0, 1, 2])
# Each question has an answer only at its own image.
NOWHERE_ELSE = np.eye(3, dtype=bool)


def test_wins_count_one_and_ties_a_half() -> None:
    np.testing.assert_array_equal(score_own_image(SCORES, OWN), [[0.5, 1, 1], [0.5, 0.5, 0], [1, 0, 0.5]])


def test_the_probability_is_over_other_images_alone() -> None:
    # question 0 beats both: 2. question 1 ties with 0 and loses to 2: 0.5. question 2 beats 0, loses to 1: 1.
    assert compute_metrics(SCORES, OWN, NOWHERE_ELSE)["probability"] == pytest.approx(3.5 / 6)


def test_where_the_question_holds_elsewhere_even_the_truth_can_only_guess() -> None:
    # one of the six other pairs holds: (5 x 1 + 1 x 0.5) / 6
    holds = NOWHERE_ELSE | np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0]], bool)
    found = compute_metrics(SCORES, OWN, holds)
    assert found["ceiling"] == pytest.approx(5.5 / 6)
    # without that pair, which was won: 2.5 of 5
    assert found["probability_unanswerable"] == pytest.approx(2.5 / 5)


def test_recall_counts_a_tie_against_the_model() -> None:
    # Ranks of the own image: 1; 3 (0.8 and the equal 0.2 come before); 2
    found = compute_metrics(SCORES, OWN, NOWHERE_ELSE)
    assert found["recall_1"] == pytest.approx(1 / 3) and found["recall_5"] == 1
