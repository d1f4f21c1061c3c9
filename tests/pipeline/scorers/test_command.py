"""Files in, table and JSON out, and every fault at once."""

import json
import math

import numpy as np
import pytest

from pipeline.scorers.command import json_of, options_of
from pipeline.scorers.items import Options
from pipeline.scorers.validation import InputError
from tests.pipeline.scorers.conftest import predictions, refused, run, write


def test_table_and_json_are_printed_and_written(release, tmp_path, capsys):
    model = write(tmp_path / "m.json", predictions())
    run(release, model, "--bootstrap", 50, "--json", tmp_path / "s.json", "--out", tmp_path / "out")
    assert (tmp_path / "out" / "scores.json").read_text() == (tmp_path / "s.json").read_text()
    assert capsys.readouterr().out == (tmp_path / "out" / "scores.txt").read_text()
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["scores.json", "scores.txt"]


def test_every_fault_of_options_and_files_is_said_at_once(release, tmp_path, capsys):
    bad = write(tmp_path / "m.json", [{"questionId": "a1", "prediction": "red", "confidence": math.nan}])
    words = ["--mode", "loose", "--match", "fuzzy", "--scores", "nope", "--bootstrap", -1, "--seed", -2]
    study = write(tmp_path / "h.json", [{"question_id": "a1", "accepted": "yes"}])
    text = refused(
        capsys,
        release,
        bad,
        tmp_path / "none.json",
        "--subset",
        "x",
        "--human",
        study,
        "--wordnet",
        tmp_path,
        *words,
    )
    for expected in (
        "--mode is 'loose', wanted strict or parity",
        "--match is 'fuzzy', wanted case or exact",
        "--bootstrap is -1, wanted 0 or more",
        "--seed is -2, wanted 0 or more",
        "no scores called nope; there are abstention, answerability",
        "no subset x; there are clip-easy, pt-hard",
        "none.json: no such file",
        "m.json: 1 faults",
        "(a1): confidence is nan",
        "human study, judgement 1: wanted an object",
        "no data.noun in it",
    ):
        assert expected in text


def test_of_many_problems_the_first_hundred_and_one_are_shown(release, tmp_path, capsys):
    rows = [{"prediction": "x"}] * 150  # 151 lines: how many faults, and each
    text = refused(capsys, release, write(tmp_path / "m.json", rows)).splitlines()
    assert len(text) == 1 + 100 + 1 and text[0].startswith("error: cannot score")
    # "cannot score" comes first, then of 151 + 1 lines (6 items have no prediction) 100 are shown.
    assert text[-1] == "  ... and 52 more"


def test_what_is_not_given_is_as_the_options_have_it():
    assert options_of({}) == Options()
    assert options_of(
        {"scores": "realistic, pairs", "mode": "parity", "match": "exact", "bootstrap": 0}
    ) == Options(scores=("realistic", "pairs"), mode="parity", match="exact", bootstrap=0)


def test_a_threshold_that_is_no_number_is_refused():
    with pytest.raises(InputError, match="--threshold is nan"):
        options_of({"threshold": math.nan})


def test_json_has_null_for_undefined_and_a_word_for_infinite():
    report = {"b": math.nan, "a": [np.float64(0.1), np.int64(3)], "c": (math.inf,), 4: "x"}
    assert json.loads(json_of(report)) == {"b": None, "a": [0.1, 3], "c": ["infinity"], "4": "x"}


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_the_command_says_what_it_is(option, capsys):
    with pytest.raises(SystemExit) as caught:
        run(option)
    assert caught.value.code == 0
    text = capsys.readouterr().out
    assert "rgqa_scorers 1" in text if option == "--version" else "Example: rgqa-score" in text
