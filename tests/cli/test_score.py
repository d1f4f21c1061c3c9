import json

import pandas as pd
import pytest
from typer.testing import CliRunner

from pipeline.cli.main import app
from pipeline.cli.score import main
from pipeline.core.errors import UserError
from pipeline.scoring import cli


@pytest.fixture
def files(tmp_path):
    rows = [
        {"img_id": "n", "question_id": str(i), "sent": "?", "label": {"red" if i % 2 else "UQ": 1.0}}
        for i in range(8)
    ]
    answers = [{"questionId": str(i), "prediction": "red", "confidence": i / 10} for i in range(8)]
    (tmp_path / "b.json").write_text(json.dumps(rows))
    (tmp_path / "m.json").write_text(json.dumps(answers))
    return tmp_path / "b.json", tmp_path / "m.json"


def test_table_json_and_plots_are_made_from_one_call(files, tmp_path, capsys):
    words = ["--out", tmp_path / "out", "--plots", tmp_path / "plots", "--table", tmp_path / "t.csv"]
    main([str(word) for word in (*files, "--bootstrap", 0, *words)])
    found = json.loads((tmp_path / "out" / "scores.json").read_text())
    # AQs 1, 3, 5, 7 and UQs 0, 2, 4, 6 by confidence: 7 beats 4, 5 beats 3, 3 beats 2, 1 beats 1: 10 of 16.
    assert found["models"][0]["subsets"]["b"]["realistic"]["auroc"] == pytest.approx(10 / 16)
    assert "8 plots" in capsys.readouterr().err and len(list((tmp_path / "plots").iterdir())) == 8
    table = pd.read_csv(tmp_path / "t.csv").set_index(["group", "score"])["value"]
    assert table["realistic", "auroc"] == pytest.approx(10 / 16)


def test_all_problems_of_options_and_files_are_reported_together(files, tmp_path):
    words = [
        "--scores",
        "realistic,nope",
        "--mode",
        "loose",
        "--match",
        "fuzzy",
        "--table",
        "t.txt",
        "--seed",
        "-1",
    ]
    with pytest.raises(UserError) as caught:
        main([str(files[0]), str(tmp_path / "none.json"), *words])
    assert [problem.split(":")[0].split(",")[0] for problem in caught.value.problems] == [
        "t.txt",
        "--mode is 'loose'",
        "--match is 'fuzzy'",
        "--seed is -1",
        "--scores",
        str(tmp_path / "none.json"),
    ]


def test_messages_about_further_files_are_not_on_stdout(files, tmp_path, capsys):
    words = [*map(str, files), "--bootstrap", "0"]
    cli.main(words)
    plain = capsys.readouterr().out
    main([*words, "--table", str(tmp_path / "t.csv")])
    printed = capsys.readouterr()
    assert printed.out == plain and "rows -> " in printed.err


def test_invalid_plots_and_tables_are_refused_before_scoring(files, tmp_path):
    taken, many = str(files[1]), [str(files[1])] * 8
    for words, expected in (
        ([*many, "--plots", str(tmp_path / "p")], "--plots: 8 models; plots can show at most 7"),
        ([taken, "--plots", taken], f"--plots {taken}: "),
        ([taken, "--table", str(tmp_path)], "unknown table format"),
    ):
        with pytest.raises(UserError) as caught:
            main([str(files[0]), *words])
        assert expected in str(caught.value)


def test_the_command_line_passes_all_arguments_on(files, tmp_path):
    words = [
        str(files[0]),
        "--bootstrap=0",
        str(files[1]),
        "--json",
        str(tmp_path / "s.json"),
        "--allow-missing",
    ]
    done = CliRunner().invoke(app, ["score", *words])
    assert done.exit_code == 0, done.output
    assert done.output.startswith("benchmark b, mode strict")
    assert json.loads((tmp_path / "s.json").read_text())["options"]["missing"] == "wrong"


def test_help_is_complete_and_a_mistake_ends_with_code_1(files):
    shown = CliRunner().invoke(app, ["score", "--help"])
    assert shown.exit_code == 0 and "Example: rgqa score" in shown.output
    assert all(word in shown.output for word in ("--plots", "--table", "--bootstrap", "wordnet"))
    assert CliRunner().invoke(app, ["score", str(files[0]), "none.json"]).exit_code == 1
    assert CliRunner().invoke(app, ["score", "--no-such-option"]).exit_code == 2
