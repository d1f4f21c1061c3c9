"""The rows: which nets and detector each takes, and what comes of them."""

from __future__ import annotations

import numpy as np
import pytest

from research.reference_models.detector_table import DETECTORS
from research.reference_models.leaderboard_rows import (
    LEADERBOARD_ROWS,
    SINGLE_OUTPUT_NETS,
    LeaderboardRow,
    score_row,
)
from research.reference_models.model_outputs import HEAD_NAMES, ModelOutputs

ANSWERS = ("yes", "no", "red")


def seen(rows, **extra):
    logits = np.array(rows, np.float32)
    return ModelOutputs(
        ANSWERS[: logits.shape[1]],
        logits,
        np.zeros((len(logits), 2), np.float32),
        {name: np.array(values, np.float32) for name, values in extra.items()},
    )


VANILLA = seen([[2, 0, 0], [0, 0, 1]])


def test_rows_are_distinct_and_name_existing_detectors():
    assert {row.detector for row in LEADERBOARD_ROWS.values()} <= DETECTORS.keys()
    assert set(SINGLE_OUTPUT_NETS) <= set(HEAD_NAMES)
    made = [row._replace(note="") for row in LEADERBOARD_ROWS.values()]
    assert len(set(made)) == len(made)


def test_a_row_has_the_answers_and_the_confidence_of_its_net():
    answers, confidence = score_row(LEADERBOARD_ROWS["msp"], {"vanilla": VANILLA})
    assert answers == ["yes", "red"]
    assert confidence == pytest.approx([1 / (1 + np.exp(-2)), 1 / (1 + np.exp(-1))])


def test_another_net_may_give_the_answers():
    rp = seen([[0, -1, -1], [0, -3, -4]])
    answers, confidence = score_row(LEADERBOARD_ROWS["rp_confidence"], {"vanilla": VANILLA, "rp": rp})
    assert answers == ["yes", "red"]
    assert confidence.tolist() == [0.5, 0.5]


def test_a_single_output_net_gives_the_confidence_for_another_nets_answers():
    alone = seen([[-1], [0]])
    answers, confidence = score_row(LEADERBOARD_ROWS["separated"], {"vanilla": VANILLA, "separated": alone})
    assert answers == ["yes", "red"]
    assert confidence == pytest.approx([1 / (1 + np.e), 0.5])


def test_the_ensemble_is_of_the_row_s_nets():
    rp, mix = seen([[0, 0, 0], [0, 9, 0]]), seen([[0, 0, 9], [0, 0, 0]])
    answers, confidence = score_row(LEADERBOARD_ROWS["ens"], {"rp": rp, "mix": mix})
    assert answers == ["red", "no"]
    assert confidence == pytest.approx([0.5 / (1 + np.exp(-9))] * 2)


def test_a_row_lists_all_required_nets():
    assert LeaderboardRow("msp", "rp", ("mix",), "vanilla").required_nets == ("rp", "mix", "vanilla")


def test_missing_inputs_of_a_detector_are_named():
    with pytest.raises(ValueError, match="Q-C needs caption_match"):
        score_row(LeaderboardRow("caption_match"), {"vanilla": VANILLA})
