from pathlib import Path

import numpy as np
import pytest

from pipeline.scoring.abstention import (
    ABSTAINED,
    ANSWERED,
    MEASURED_ERROR_RATES,
    UNCLEAR,
    classify_abstention,
)
from research.studies.abstention_evaluation import compute_abstention_metrics, evaluate_abstention_classifier
from research.studies.reply_dataset import Reply, read_replies


def rows(does, styles):
    return [
        Reply(question="q", reply="r", style=style, written=one)
        for one, style in zip(does, styles, strict=True)
    ]


def test_unclear_predictions_count_as_wrong_in_recall_and_precision():
    does = ["refuses"] * 5 + ["answers"] * 5
    said = [
        ABSTAINED,
        ABSTAINED,
        ABSTAINED,
        UNCLEAR,
        ANSWERED,
        ABSTAINED,
        UNCLEAR,
        ANSWERED,
        ANSWERED,
        ANSWERED,
    ]
    found = compute_abstention_metrics(rows(does, ["terse", "plain"] * 5), np.array(said))
    assert (
        found.num_abstentions,
        found.num_answers,
        found.true_positives,
        found.false_positives,
        found.num_unclear,
    ) == (5, 5, 3, 1, 2)
    assert found.recall == 3 / 5
    assert found.precision == 3 / 6  # 3 true positives, 1 false positive, 2 unclear
    assert found.false_positive_rate == 1 / 5
    # terse: rows 0, 2, 4, 6, 8; plain: 1, 3, 5, 7, 9
    assert found.correct_by_style == {"terse": (3, 5), "plain": (3, 5)}


def test_auaf_is_corrected_for_the_error_rates_of_the_classifier():
    rows = read_replies("held_out")
    found = compute_abstention_metrics(
        rows, classify_abstention([row.question for row in rows], [row.reply for row in rows])
    )
    assert pytest.approx((found.recall, found.false_positive_rate)) == MEASURED_ERROR_RATES
    documented = (Path(__file__).parents[3] / "docs/reference/scores.md").read_text()
    assert (
        f"{100 * found.recall:.1f} %, {found.true_positives} of {found.num_abstentions} abstentions"
        in documented
    )
    assert f"{100 * found.precision:.1f} %, {found.true_positives} of" in documented


def test_the_classifier_is_as_good_as_before_on_dev():
    page = evaluate_abstention_classifier("dev", num_examples=2)
    assert "1,072 replies of split dev" in page
    recall, precision = (float(page.split(name)[1].split("%")[0]) for name in ("recall", "precision"))
    assert recall >= 95
    assert precision >= 93
    assert page.count(" | ") == 2


def test_an_unknown_split_is_an_error(capsys):
    from typer.testing import CliRunner

    from research.studies.cli import app

    found = CliRunner().invoke(app, ["abstention-classifier", "--split", "nope"])
    assert found.exit_code == 1
    assert "--split" in found.output + capsys.readouterr().err
