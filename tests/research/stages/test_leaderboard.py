import csv
import json
import shutil
from pathlib import Path

import pytest

from pipeline.cli.leaderboard import write_leaderboard
from pipeline.core import params
from pipeline.core.errors import UserError
from pipeline.core.json_files import read_json
from pipeline.scoring.leaderboard.leaderboard import LeaderboardParams
from research.stages import leaderboard

ROOT = Path(__file__).parents[3]
FILES = {
    *(
        "leaderboard.json",
        "leaderboard.md",
        "leaderboard.csv",
        "expected_effects.md",
        "expected_effects.json",
    ),
    *(f"{name}.{kind}" for name in ("acc-fpr", "risk-coverage") for kind in ("json", "svg")),
}


@pytest.fixture
def project(tiny_run, tmp_path, monkeypatch):
    """The tiny project's parameters and release, to add predictions to."""
    shutil.copytree(tiny_run / "data/release", tmp_path / "data/release")
    shutil.copy(tiny_run / "params.yaml", tmp_path)
    (tmp_path / "data/tiny/predictions").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def add(project):
    """`add("m.json")`: a file with an answer for every item of the release."""

    def write(name, **changes):
        rows = []
        for path in sorted((project / "data/release/tiny/0.1.0/rgqa").glob("*.json")):
            rows += [
                {
                    "questionId": row["question_id"],
                    "prediction": next(iter(row["label"])),
                    "confidence": 0.5 + ("UQ" not in row["label"]),
                }
                for row in json.loads(path.read_text())
            ]
        rows = [*{row["questionId"]: row for row in rows}.values()]
        rows[0] |= changes
        (project / "data/tiny/predictions" / name).write_text(json.dumps(rows))

    return write


def board(project):
    return project / "data/tiny/interim/leaderboard"


def test_without_predictions_the_leaderboard_only_has_references(tiny_run):
    folder = tiny_run / "data/tiny/interim/leaderboard"
    assert {path.name for path in folder.iterdir() if path.is_file()} == FILES
    text = (folder / "leaderboard.md").read_text()
    assert "There are no predictions of models yet" in text and "verdicts are simulated" in text
    metrics = read_json(folder / "leaderboard.json")
    assert {"text_only", "constant"} <= set(metrics) and all(
        row["best_rank"] is None for row in metrics.values()
    )
    assert {path.stem for path in (folder / "metrics").iterdir()} == set(metrics)


def test_an_added_file_becomes_a_row_and_a_removed_file_disappears(project, add):
    add("perfect.json")
    leaderboard.main()
    metrics = read_json(board(project) / "leaderboard.json")
    assert metrics["perfect"]["best_rank"] == 1 and metrics["perfect"]["auaf"] == 1.0
    assert (board(project) / "metrics/perfect.json").is_file()
    (project / "data/tiny/predictions/perfect.json").unlink()
    leaderboard.main()
    assert "perfect" not in read_json(board(project) / "leaderboard.json")
    assert not (board(project) / "metrics/perfect.json").exists()


def test_the_command_prints_the_numbers_and_verdicts_of_the_stage(project, add, capsys):
    """Fault 3: the same files got two verdicts."""
    for number, name in enumerate(("good-seed0", "good-seed1", "other", "people")):
        add(f"{name}.json", confidence=-float(number))
    predictions = project / "data/tiny/predictions"
    (predictions / "rows.yaml").write_text("people: {reference: true}\n")
    leaderboard.main()
    p = params.load_params("leaderboard", LeaderboardParams)
    files = sorted(predictions.glob("*.json"))
    release = project / "data/release/tiny/0.1.0"
    write_leaderboard(files, release, project / "out", num_bootstrap=p.num_replicates, seed=p.seed)

    def rows(folder):
        with (folder / "leaderboard.csv").open() as file:
            found = [row for row in csv.DictReader(file) if row["row"] in ("good", "other", "people")]
        return [{key: row[key] for key in row if not key.startswith("difference")} for row in found]

    assert rows(board(project)) == rows(project / "out") and len(rows(project / "out")) > 3 * 4
    printed = capsys.readouterr().out.splitlines()
    for name in ("good", "other"):
        line = next(line for line in printed if f"| {name} |" in line)
        assert line.startswith("| 1-2 | a |") and line in (board(project) / "leaderboard.md").read_text()


def test_the_same_files_give_the_same_bytes(project, add):
    add("m-seed0.json")
    add("m-seed1.json")
    bytes_of = []
    for _ in range(2):
        leaderboard.main()
        files = sorted(path for path in board(project).rglob("*") if path.is_file())
        bytes_of.append({path.name: path.read_bytes() for path in files})
    assert bytes_of[0] == bytes_of[1]


def test_faulty_files_are_one_message_and_keep_the_old_leaderboard(project, add):
    leaderboard.main()
    before = (board(project) / "leaderboard.md").read_bytes()
    add("m.json", questionId="nobody")
    add("n.json", version="9.9.9")
    with pytest.raises(UserError) as caught:
        leaderboard.main()
    told = "\n".join(caught.value.problems)
    assert "m.json" in told and "nobody" in told and "n.json" in told and "made for version 9.9.9" in told
    assert (board(project) / "leaderboard.md").read_bytes() == before


def test_a_missing_release_is_reported(project):
    shutil.rmtree(project / "data/release")
    with pytest.raises(UserError, match=r"0\.1\.0"):
        leaderboard.main()


def test_the_documents_copy_of_the_expected_effects_is_that_of_the_last_run():
    made = ROOT / "data/sample/interim/leaderboard/expected_effects.md"
    copy = ROOT / "docs/explanation/expected_effects.md"
    if not (made.is_file() and copy.is_file()):
        pytest.skip("the sample was not run here, or there is no copy")
    assert copy.read_bytes() == made.read_bytes()
