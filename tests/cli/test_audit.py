"""`rgqa audit` from the command line: any set, and a release."""

import json
import os

import pytest
from typer.testing import CliRunner

from pipeline.cli.main import app
from pipeline.core.atomic_files import sha256_file
from tests.benchmark.auditing.made_sets import planted


def pope(path, count=120, shares=(0.1, 0.8)):
    made = planted(count, shares)
    rows = [
        {"question_id": i, "image": f"p{image}.jpg", "text": text, "label": ("no", "yes")[label]}
        for i, (text, label, image) in enumerate(zip(made.texts, made.labels, made.images, strict=True))
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return rows


def run(*words):
    return CliRunner().invoke(app, ["audit", *map(str, words), "--bootstrap", "50"])


def test_terminal_json_and_html(tmp_path):
    pope(tmp_path / "pope.json")
    ran = run(
        tmp_path / "pope.json", "--json", tmp_path / "f.json", "--html", tmp_path / "p.html", "--folds", 3
    )
    assert ran.exit_code == 0, ran.output
    assert (
        "pope.json: POPE; 60 no, 60 yes" in ran.stdout and "The text alone predicts yes or no" in ran.stdout
    )
    figures = json.loads((tmp_path / "f.json").read_text())["sets"]["pope.json"]
    assert figures["finding"] == "predictable" and figures["p_value"] == 0.01
    assert figures["attacks"]["image"]["word n-grams"]["auroc"] > 0.7
    assert figures["predictive_words"][0]["auroc"] == 0.85  # 0.5 + (0.8 - 0.1) / 2
    assert (tmp_path / "p.html").read_text().startswith("<!doctype html>")


def test_the_balanced_subset_is_written_in_the_format_of_the_file_and_measured(tmp_path):
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
    ran = run(
        tmp_path / "s.jsonl", "--balanced-subset", tmp_path / "out.jsonl", "--json", tmp_path / "f.json"
    )
    assert ran.exit_code == 0, ran.output
    kept = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert all(row in rows for row in kept)
    for key in ("text", "image"):
        for value in {row[key] for row in kept}:
            labels = [row["label"] for row in kept if row[key] == value]
            assert labels.count("yes") == labels.count("no")
    figures = json.loads((tmp_path / "f.json").read_text())
    assert (
        figures["balancing"]["positives"] == [len(kept) // 2, 120]
        and len(kept) > 50
        and figures["balanced_subset"]["text_imbalance"]["unbalanced_keys"] == 0
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nosuch.json",), "nosuch.json: no such file"),
        (("{}", "--text-column", "text"), "give --text-column and --label-column together"),
        (
            ("{}", "--text-column", "text", "--label-column", "nosuch"),
            "nosuch: no such column",
        ),
        (("{}", "--where", "label=yes"), "no row has the label 'no'"),
        (("{}", "--balanced-subset", "s.json"), "--balanced-subset s.json: "),
        (("{}", "--html", "s.json"), "--html s.json: "),
        (("{}", "--json", "link.json"), "--json link.json: "),
        (("{}", "--json", "x", "--html", "x"), "--html x: "),
        (("{}", "--annotations", "s.json", "--balanced-subset", "."), "--balanced-subset .: "),
        (("pipe",), "pipe: a pipe where a file was expected"),
        (("/dev/zero",), "/dev/zero: a device where a file was expected"),
        (("{}", "--annotations", "nosuch"), "nosuch: no such file"),
        (("{}", "--split", "test"), "s.json: --config and --split"),
        (("{}", "--annotations", "s.json", "--config", "x"), "--annotations needs SOURCE to be a file"),
    ],
)
def test_a_mistake_is_one_message_and_exit_code_1(tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    pope(tmp_path / "s.json")
    (tmp_path / "link.json").symlink_to("s.json")
    os.mkfifo(tmp_path / "pipe")
    before = (tmp_path / "s.json").read_text()
    ran = run(*(word.format("s.json") for word in words))
    assert ran.exit_code == 1 and message in ran.stderr and "Traceback" not in ran.output
    assert ran.stderr.startswith("error: ") and (tmp_path / "s.json").read_text() == before


def test_a_set_without_balanced_subset_is_an_error_and_nothing_is_written(tmp_path):
    rows = [{"image": f"p{i}", "text": f"Is it t{i}?", "label": ("no", "yes")[i % 2]} for i in range(20)]
    (tmp_path / "s.json").write_text(json.dumps(rows))
    ran = run(tmp_path / "s.json", "--balanced-subset", tmp_path / "out.json", "--json", tmp_path / "f.json")
    assert (
        ran.exit_code == 1
        and "it has no balanced subset" in ran.stderr
        and not (tmp_path / "out.json").exists()
    )
    # The figures are written although the command fails.
    figures = json.loads((tmp_path / "f.json").read_text())
    assert figures["balancing"]["positives"] == [0, 10] and figures["balanced_subset"] is None


def test_where_needs_a_column_and_a_value(tmp_path):
    assert "expected COLUMN=VALUE" in run("x.json", "--where", "popular").stderr


def test_a_too_small_set_has_no_figures(tmp_path):
    rows = [{"image": f"p{i}", "text": f"Is it t{i}?", "label": ("no", "yes")[i % 2]} for i in range(20)]
    (tmp_path / "s.json").write_text(json.dumps(rows))
    ran = run(tmp_path / "s.json")
    assert ran.exit_code == 0 and "Too small to measure: 20 rows" in ran.stdout and "AUROC" not in ran.stdout


def test_fewer_texts_than_folds_are_reported(tmp_path):
    rows = [
        {"image": f"p{i}", "text": ("Is it?", "Was it?")[i % 2], "label": ("no", "yes")[i % 3 % 2]}
        for i in range(80)
    ]
    (tmp_path / "s.json").write_text(json.dumps(rows))
    assert "2 distinct texts; at least as many as folds (5) are needed" in " ".join(
        run(tmp_path / "s.json").stdout.split()
    )


def subset(path, name, count=60):
    rows = [
        {
            "img_id": f"n{i}",
            "question_id": f"{name}_n{i}+{i}" if uq else str(i),
            "sent": f"What color is the {'unicorn' if uq else 'cup'} number {i}?",
            "label": {"UQ": 1.0} if uq else {"red": 1.0},
        }
        for i in range(count)
        for uq in (True, False)
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows))
    return rows


def release(home, **audit):
    """A release folder of two subsets, and the questions of its source where the pipeline would write them."""
    folder = home / "data/release/made/1.0.0"
    for name in ("clip-hard", "pt-easy"):
        rows = subset(folder / f"rgqa/{name}.json", name)
    (folder / "params.json").write_text(json.dumps({"dataset": "made", "audit": {"folds": 3} | audit}))
    source = home / "data/made/interim/ingest/questions.jsonl"
    source.parent.mkdir(parents=True)
    asked = [
        {
            "question_id": row["question_id"],
            "image_id": row["img_id"],
            "split": "testdev",
            "text": row["sent"],
            "answer": "red",
        }
        for row in rows
        if "UQ" not in row["label"]
    ]
    source.write_text("".join(json.dumps(row) + "\n" for row in asked))
    return folder, source


def test_a_release_is_audited_subset_by_subset_as_each_of_its_files_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder, source = release(tmp_path)
    (folder / "audit.json").write_text(json.dumps({"source_questions_sha256": sha256_file(source)}))
    assert run(folder, "--json", "all.json").exit_code == 0
    figures = json.loads((tmp_path / "all.json").read_text())["sets"]
    assert list(figures) == ["clip-hard", "pt-easy"]
    # The attacker knows the questions of this subset.
    assert figures["pt-easy"]["attacks"]["text"]["verbatim count"]["auroc"] == 1.0
    assert run(folder / "rgqa/pt-easy.json", "--json", "one.json").exit_code == 0
    one = json.loads((tmp_path / "one.json").read_text())["sets"]["pt-easy.json"]
    assert {key for key in one if one[key] != figures["pt-easy"][key]} == {"name"}


def test_a_copied_file_has_the_same_figures_except_those_of_attackers_that_know_the_source(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    folder, source = release(tmp_path, folds=5)
    (folder / "audit.json").write_text(json.dumps({"source_questions_sha256": sha256_file(source)}))
    (tmp_path / "copy.json").write_bytes((folder / "rgqa/pt-easy.json").read_bytes())
    outputs = {
        "copy": run("copy.json", "--json", "copied.json"),
        "whole": run(folder / "rgqa/pt-easy.json", "--json", "whole.json"),
    }
    assert "--source-questions FILE" in " ".join(outputs["copy"].stdout.split())
    assert "classifiers not run" not in outputs["whole"].stdout
    copied, whole = (
        next(iter(json.loads((tmp_path / f"{name}.json").read_text())["sets"].values()))
        for name in ("copied", "whole")
    )
    different = {
        name for name, row in whole["attacks"]["text"].items() if copied["attacks"]["text"][name] != row
    }
    assert (
        different == {"other questions", "verbatim count"}
        and copied["permutation_tests"] == whole["permutation_tests"]
    )
    assert run("copy.json", "--source-questions", source, "--json", "known.json").exit_code == 0
    known = json.loads((tmp_path / "known.json").read_text())["sets"]["copy.json"]
    assert known["attacks"] == whole["attacks"]


def test_questions_of_another_run_are_not_used(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder, _ = release(tmp_path)
    (folder / "audit.json").write_text(json.dumps({"source_questions_sha256": "00"}))
    output = " ".join(run(folder).stdout.split())
    assert "differs from the file of the release's audit" in output


def test_all_problems_of_a_release_are_reported_together(tmp_path):
    for name in ("clip-hard", "pt-easy"):
        subset(tmp_path / f"rgqa/{name}.json", name)
    (tmp_path / "rgqa/clip-easy.json").write_text("[")
    (tmp_path / "rgqa/pt-hard.json").write_text(json.dumps([{"question_id": "1", "sent": "Where?"}]))
    ran = run(tmp_path)
    assert ran.exit_code == 1 and "clip-easy.json" in ran.stderr and "pt-hard.json" in ran.stderr


def test_a_balanced_subset_needs_one_set(tmp_path):
    for name in ("clip-hard", "pt-easy"):
        subset(tmp_path / f"r/rgqa/{name}.json", name)
    ran = run(tmp_path / "r", "--balanced-subset", tmp_path / "out.json")
    assert ran.exit_code == 1 and "--balanced-subset takes one set" in ran.stderr
