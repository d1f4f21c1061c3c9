"""`rgqa leaks` from the command line."""

import json
import os

import pytest
from typer.testing import CliRunner

from pipeline.cli import app
from tests.pipeline.leaks.made_sets import planted


def pope(path, count=120, shares=(0.2, 0.7)):
    made = planted(count, shares)
    rows = [
        {"question_id": i, "image": f"p{picture}.jpg", "text": text, "label": ("no", "yes")[label]}
        for i, (text, label, picture) in enumerate(zip(made.texts, made.labels, made.pictures, strict=True))
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return rows


def run(*words):
    return CliRunner().invoke(app, ["leaks", *map(str, words), "--repetitions", "50"])


def test_screen_figures_and_page(tmp_path):
    pope(tmp_path / "pope.json")
    ran = run(
        tmp_path / "pope.json", "--json", tmp_path / "f.json", "--page", tmp_path / "p.html", "--folds", 3
    )
    assert ran.exit_code == 0, ran.output
    assert "pope.json: POPE; 60 no, 60 yes" in ran.stdout and "Who sees only the text" in ran.stdout
    figures = json.loads((tmp_path / "f.json").read_text())["leaks"]
    assert (
        figures["attacks"]["picture"]["word n-grams"]["auroc"] > 0.6 and figures["words"][0]["auroc"] == 0.75
    )
    assert (tmp_path / "p.html").read_text().startswith("<!doctype html>")


def test_the_balanced_part_is_written_in_the_form_of_the_file_and_measured(tmp_path):
    rows = [
        {
            "question_id": 20 * t + p,
            "image": f"p{p}",
            "text": f"Is it t{t}?",
            "label": "yes" if (p * p + t) % 5 > 1 else "no",
        }
        for t in range(10)
        for p in range(20)
    ]
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ran = run(tmp_path / "s.jsonl", "--balance", tmp_path / "out.jsonl", "--json", tmp_path / "f.json")
    assert ran.exit_code == 0, ran.output
    kept = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert all(row in rows for row in kept)
    for key in ("text", "image"):
        for value in {row[key] for row in kept}:
            labels = [row["label"] for row in kept if row[key] == value]
            assert labels.count("yes") == labels.count("no")
    figures = json.loads((tmp_path / "f.json").read_text())
    assert (
        figures["lost"]["ones"] == [len(kept) // 2, 120]
        and len(kept) > 50
        and figures["balanced"]["text_margin"]["unequal"] == 0
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nosuch.json",), "nosuch.json: no such file"),
        (("{}", "--text", "text"), "give --text and --label together"),
        (
            ("{}", "--text", "text", "--label", "nosuch"),
            "nosuch: no such column; there are question_id, image",
        ),
        (("{}", "--where", "label=yes"), "none of 60 rows is 'no'"),
        (("{}", "--folds", "200"), "200 folds; fewer of them: --folds"),
        (("{}", "--balance", "s.json"), "--balance s.json: "),
        (("{}", "--page", "s.json"), "--page s.json: "),
        (("{}", "--json", "link.json"), "--json link.json: "),
        (("{}", "--json", "x", "--page", "x"), "--page x: "),
        (("{}", "--annotations", "s.json", "--balance", "."), "--balance s.json: "),
        (("same.json",), "1 different texts, but 5 folds; no set to be measured"),
        (("pipe",), "pipe: a pipe where a file was expected"),
        (("/dev/zero",), "/dev/zero: a device where a file was expected"),
        (("{}", "--annotations", "nosuch"), "nosuch: no such file"),
        (("{}", "--split", "test"), "s.json: a file; --config and --split choose from a data set by name"),
        (("{}", "--annotations", "s.json", "--config", "x"), "--annotations is for two files"),
    ],
)
def test_a_mistake_is_one_message_and_exit_code_1(tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    rows = pope(tmp_path / "s.json")
    (tmp_path / "same.json").write_text(json.dumps([row | {"text": "Is it?"} for row in rows]))
    (tmp_path / "link.json").symlink_to("s.json")
    os.mkfifo(tmp_path / "pipe")
    before = (tmp_path / "s.json").read_text()
    ran = run(*(word.format("s.json") for word in words))
    assert ran.exit_code == 1 and message in ran.stderr and "Traceback" not in ran.output
    assert ran.stderr.startswith("error: ") and (tmp_path / "s.json").read_text() == before


def test_a_set_that_cannot_be_balanced_is_said_and_nothing_is_written(tmp_path):
    rows = [{"image": f"p{i}", "text": f"Is it t{i}?", "label": ("no", "yes")[i % 2]} for i in range(20)]
    (tmp_path / "s.json").write_text(json.dumps(rows))
    ran = run(tmp_path / "s.json", "--balance", tmp_path / "out.json", "--json", tmp_path / "f.json")
    assert (
        ran.exit_code == 1 and "nothing is left of it" in ran.stderr and not (tmp_path / "out.json").exists()
    )
    figures = json.loads((tmp_path / "f.json").read_text())  # what was measured is kept
    assert figures["lost"]["ones"] == [0, 10] and figures["balanced"] is None


def test_where_wants_a_column_and_a_value(tmp_path):
    assert "wanted COLUMN=VALUE" in run("x.json", "--where", "popular").stderr
