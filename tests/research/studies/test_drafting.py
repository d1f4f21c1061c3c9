"""What becomes of the errors of a vision model that drafts questions."""

import pytest
from typer.testing import CliRunner

from pipeline.cli.main import app
from research.studies.drafting import format_results, is_right
from tests.notation import scene, steps

SHOWN = scene("table 1: wood", "cup 2: blue; on 1")
COLOR, OTHER = "select: cup (2)->query: color [0]", "select: hat (3)->query: color [0]"


@pytest.mark.parametrize(
    ("program", "answer", "expected"),
    [(COLOR, "blue", True), (COLOR, "red", False), (COLOR, "light blue", True), (OTHER, "red", False)],
)
def test_a_question_is_right_if_its_answer_is_the_only_one(program, answer, expected):
    assert is_right(SHOWN, steps(program), answer) is expected


def test_results_have_a_column_for_each_error_rate():
    table = format_results({"5%": {"UQs": 1200}, "15%": {"UQs": 3}})
    assert "| count | 5% errors | 15% errors |" in table and "| UQs | 1,200 | 3 |" in table


@pytest.mark.parametrize("arguments", [["--miss-rate", "0.1"], ["--as", "vlm", "--model", "rp"]])
def test_options_of_the_other_kind_of_model_are_refused(arguments):
    ended = CliRunner().invoke(app, ["sample", "serve", *arguments])
    assert ended.exit_code == 1
