"""The leaderboard over several sets: mean ranks with intervals, and the agreement of sets."""

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kendalltau

from pipeline.cli import run
from pipeline.cli.leaderboard import write_leaderboard
from pipeline.core.errors import UserError
from pipeline.scoring.leaderboard.several_sets import (
    SetColumn,
    build_set_leaderboard,
    render_set_csv,
    render_set_markdown,
)
from tests.http_server import serving
from tests.inference.small_server import make_release
from tests.public_sets import made_public_sets as made
from tests.public_sets.test_public_sets import RecordingServer

pytest.importorskip("inspect_ai")


def column(name, *scores, models="abc"):
    """A column whose scores are the same on all 200 samples."""
    return SetColumn(
        name, "f1", 1, 100, {model: np.full(201, score) for model, score in zip(models, scores, strict=True)}
    )


def test_mean_ranks_average_over_the_sets():
    # Ranks of a, b, c: 1, 2, 3 on the first set and 1, 2.5, 2.5 on the second; means 1, 2.25, 2.75.
    board = build_set_leaderboard([column("one", 0.9, 0.5, 0.1), column("two", 0.9, 0.5, 0.5)])
    assert {model: rank.value for model, rank in board.mean_ranks.items()} == {"a": 1.0, "b": 2.25, "c": 2.75}
    assert board.models == ["a", "b", "c"] and board.mean_ranks["b"].interval == (2.25, 2.25)


def test_ranks_vary_over_samples():
    # b is better than a in half of the samples, so that its rank is 1 in the one half and 2 in the other.
    scores = {"a": np.full(201, 0.5), "b": np.array([0.6, *[0.4, 0.6] * 100])}
    board = build_set_leaderboard([SetColumn("one", "f1", 1, 100, scores)])
    assert board.mean_ranks["b"] == (1.0, (1.0, 2.0)) and board.agreements == []


def test_agreement_is_kendalls_tau():
    scores = np.random.default_rng(3).permutation(np.arange(12.0)).reshape(2, 6)
    one, two = (column(name, *row, models="abcdef") for name, row in zip(("one", "two"), scores, strict=True))
    (agreement,) = build_set_leaderboard([one, two]).agreements
    assert agreement.tau == pytest.approx(kendalltau(*scores)[0]) and agreement.sets == ("one", "two")


def test_a_set_without_all_models_is_shown_but_not_ranked():
    board = build_set_leaderboard([column("one", 0.9, 0.5, 0.1), column("two", 0.1, 0.5, models="ab")])
    assert board.ranked_sets == ["one"] and board.mean_ranks["a"].value == 1
    text = render_set_markdown(board)
    assert "some models have no results: two" in text
    assert text.splitlines()[4].endswith("0.100 [0.100, 0.100] |  |")


def test_an_undefined_score_is_the_last():
    board = build_set_leaderboard([column("one", math.nan, 0.5, 0.1)])
    assert board.mean_ranks["a"].value == 3 and "| a | 3.00 [3.00, 3.00] | - |" in render_set_markdown(board)


def test_names_of_models_are_escaped():
    board = build_set_leaderboard([SetColumn("one", "f1", 1, 9, {"=a|b": np.array([0.5, 0.5])})])
    assert "\\|b | 0.500" in render_set_markdown(board)
    (row,) = csv.DictReader(render_set_csv(board).splitlines())
    assert row["model"] == "'=a|b"


# Runs


ANSWERS = {
    "yes": lambda text: "Yes",
    "no": lambda text: "No",
    "mixed": lambda text: "Yes" if len(text) % 2 else "No",
}


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Folders runs/MODEL/SET of three models on POPE, NaturalBench and a release."""
    monkeypatch.chdir(tmp_path)
    sets = {
        "pope": (made.make_pope(tmp_path / "pope"), ["--images", str(tmp_path / "pope/images")]),
        "natural": (made.make_naturalbench(tmp_path / "natural"), []),
    }
    release = make_release(tmp_path / "release", 4)
    sets["release"] = (release, ["--images", str(release / "images")])
    for model, reply in ANSWERS.items():
        with serving(RecordingServer(reply)) as server:
            for name, (path, images) in sets.items():
                line = [str(path), "--server", server.url, "--model", model, "--out", f"runs/{model}/{name}"]
                run.main([*line, *images])
    return tmp_path / "runs"


def test_runs_of_models_on_several_sets_make_one_table(runs, capsys):
    capsys.readouterr()
    write_leaderboard([runs / model for model in ANSWERS], out=Path("board"), num_bootstrap=100)
    text = capsys.readouterr().out
    titles = {title.strip() for title in text.splitlines()[0].strip("|").split("|")}
    assert titles == {"model", "mean rank", "NaturalBench: G_Acc", "POPE: f1", "toy: AUAF"}
    assert all(f"\n| {model} | " in text for model in ANSWERS)
    assert "Kendall's tau" in text and Path("board/leaderboard.md").read_text() == text
    rows = [*csv.DictReader(Path("board/leaderboard.csv").read_text().splitlines())]
    assert len(rows) == 9
    of_pope = {row["model"]: row["value"] for row in rows if row["set"] == "POPE"}
    scored = json.loads((runs / "yes/pope/scores.json").read_text())["author_scores"][0]["scores"]
    # The F1 of a model that never says yes is undefined: its precision is 0 / 0.
    assert float(of_pope["yes"]) == pytest.approx(scored["f1"], abs=1e-12) and of_pope["no"] == ""
    of_release = {row["model"]: float(row["value"]) for row in rows if row["set"] == "toy"}
    report = json.loads((runs / "mixed/release/scores.json").read_text())["models"][0]
    assert of_release["mixed"] == pytest.approx(report["mean"]["realistic"]["auaf"], abs=1e-12)


def test_runs_that_cannot_be_compared_are_refused(runs):
    twice = [runs / "yes/pope", runs / "no/pope", runs / "yes"]
    with pytest.raises(UserError, match="yes on POPE: 2 runs"):
        write_leaderboard(twice, num_bootstrap=100)
    with pytest.raises(UserError, match="--sort-by has no effect.*public sets"):
        write_leaderboard([runs / "yes"], sort_by="facc", num_bootstrap=100)
    questions = Path("pope/coco_pope_random.json")
    questions.write_text(questions.read_text().replace("kite", "lynx"))
    with pytest.raises(UserError, match="its files have changed"):
        write_leaderboard([runs / "yes", runs / "no"], num_bootstrap=100)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"release": [1]}, "does not name its release"),
        ({"release": {"name": "POPE", "version": "", "sha256": "1"}}, "does not say where its release is"),
    ],
)
def test_a_damaged_record_gives_one_message(tmp_path, record, message):
    counts = {"replies": 1, "failed": 0, "questions": 1}
    text = json.dumps({"model": "net", "public_set": "POPE", "counts": counts} | record)
    (tmp_path / "run.json").write_text(text)
    (tmp_path / "predictions.jsonl").write_text('{"questionId": "1", "prediction": "yes"}\n')
    with pytest.raises(UserError, match=message):
        write_leaderboard([tmp_path], num_bootstrap=100)


def test_rgqas_own_files_are_scored_as_by_the_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path = made.make_rgqa(tmp_path / "rgqa")
    line = [str(path), "--no-image", "--model"]
    with serving(RecordingServer(ANSWERS["mixed"])) as server:
        run.main([*line, "m", "--server", server.url, "--out", "runs/m"])
        run.main([*line, "m", "--server", server.url, "--out", "runs/short", "--prompt", "short-answer"])
    capsys.readouterr()
    write_leaderboard([Path("runs/m"), Path("runs/short")], out=Path("board"), num_bootstrap=100)
    rows = [*csv.DictReader(Path("board/leaderboard.csv").read_text().splitlines())]
    assert {row["model"] for row in rows} == {"m, no image", "m, no image (short-answer)"}
    (row,) = [row for row in rows if row["model"] == "m, no image"]
    report = json.loads(Path("runs/m/scores.json").read_text())["models"][0]
    (groups,) = report["subsets"].values()
    assert float(row["value"]) == pytest.approx(groups["realistic"]["auaf"], abs=1e-12)


def test_a_prompt_that_is_not_the_authors_is_named(runs, capsys):
    with serving(RecordingServer(ANSWERS["yes"])) as server:
        line = ["pope", "--images", "pope/images", "--model", "other", "--server", server.url]
        run.main([*line, "--prompt", "abstain", "--out", "runs/other/pope"])
    capsys.readouterr()
    write_leaderboard([runs / "yes/pope", runs / "other/pope"], num_bootstrap=100)
    text = capsys.readouterr().out
    assert "| yes |" in text and "| other (abstain) |" in text
