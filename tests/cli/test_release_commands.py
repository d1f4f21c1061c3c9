"""Commands on a release: `rgqa explain`, `rgqa export` and `rgqa attribute`."""

import json
import re
import subprocess
import sys
from shutil import copytree

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from annotation.study.quality_control import ExcludedAnswer
from pipeline.benchmark.release.provenance import Provenance
from pipeline.cli.attribute import AttributionOptions, write_attributions
from pipeline.cli.explain import explain_item
from pipeline.cli.export import export_table
from pipeline.cli.main import app
from pipeline.core import params
from pipeline.core.errors import UserError
from pipeline.core.json_files import read_jsonl
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import DroppedCandidate, EditedQuestionScore, Item, Task, Verdict
from pipeline.inference.attribution.item_pairs import sample_pairs
from pipeline.scoring.benchmark_reader import read_benchmark
from pipeline.scoring.gqa_diagnostics import compute_gqa_diagnostics
from pipeline.scoring.input_validation import read_attention
from tests.closure import ROOT
from tests.inference.attribution.tiny_nets import with_nets

# Explain
# `rgqa explain`: the provenance of one question.


@pytest.fixture
def release(tiny_run, monkeypatch):
    monkeypatch.chdir(tiny_run)
    return tiny_run / "data/release/tiny/0.1.0"


def items(release):
    return [row.item for row in read_jsonl(release / "provenance.jsonl", Provenance)]


def test_explain_prints_the_provenance_of_an_item(release):
    item = next(item for item in items(release) if item.subset == "clip-easy" and item.unanswerable)
    text = "\n".join(explain_item(item.item_id, DatasetFolders()))
    for fragment in (
        item.text,
        "CLIP       score",
        "evidence",
        "estimate   answerable with probability",
        f"%; difficulty {item.difficulty}",
        "votes",
        "simulated",
        "released   clip-easy",
        item.pair_id,
    ):
        assert fragment in text
    edited = next(item for item in items(release) if item.edits)
    text = "\n".join(explain_item(edited.item_id, DatasetFolders()))
    assert f"{edited.edits[0].old!r} -> {edited.edits[0].new!r}" in text
    assert f"CLIP       score {edited.score:.4f}\n" in text


@pytest.mark.parametrize(
    ("subsets", "reason"), [(["pt-easy"], "no CLIP subset is made"), (["clip-easy", "pt-easy"], "too long")]
)
def test_explain_says_why_an_edited_question_has_no_clip_score(
    release, tmp_path, monkeypatch, subsets, reason
):
    edited = next(item for item in items(release) if item.edits)
    copytree(release.parents[3], tmp_path / "run", symlinks=True)
    monkeypatch.chdir(tmp_path / "run")
    folders = DatasetFolders()
    report, scores = folders.stage_dir("ingest") / "ingest.json", folders.record_file(EditedQuestionScore)
    report.write_text(json.dumps(json.loads(report.read_text()) | {"subsets": subsets}))
    scores.write_text(re.sub(r'"score":[-\d.e]+', '"score":null', scores.read_text()))
    assert f"CLIP       no score, because {'the text is ' * (reason == 'too long')}{reason}" in "\n".join(
        explain_item(edited.item_id, folders)
    )


@pytest.mark.parametrize("prefix", ["clipeasy_nosuch+", "x+", "+", "pthard_n1+"])
def test_a_candidate_that_does_not_exist_has_no_history_of_another(release, prefix):
    source = next(item for item in items(release) if item.unanswerable).question_id
    with pytest.raises(UserError, match=f"no such candidate .*rgqa explain {source} lists"):
        explain_item(f"{prefix}{source}", DatasetFolders())
    assert explain_item(source, DatasetFolders())


def test_explain_of_an_unknown_id_is_an_error_without_traceback(release):
    done = subprocess.run(
        [sys.executable, "-m", "pipeline.cli", "explain", "nope"],
        capture_output=True,
        text=True,
        check=False,
        cwd=release.parents[3],
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: nope: no such question or item") and "Traceback" not in done.stderr


def test_explain_says_why_a_candidate_was_dropped(release):
    dropped = next(read_jsonl(DatasetFolders().stage_dir("screen") / "dropped.jsonl", DroppedCandidate))
    text = "\n".join(explain_item(dropped.candidate_id, DatasetFolders()))
    assert f"dropped    by screen: {dropped.reason}" in text and "released" not in text


def test_explain_of_an_answerable_item_names_its_pair(release):
    item = next(item for item in items(release) if not item.unanswerable)
    text = "\n".join(explain_item(item.item_id, DatasetFolders()))
    assert f"answerable, {item.answer!r}; pair {item.pair_id}" in text


@pytest.mark.parametrize("position", ["first", "second"])
def test_explain_says_which_question_of_a_task_was_the_candidate(release, position):
    other = {"first": "second", "second": "first"}[position]
    uqs = {item.item_id for item in items(release) if item.unanswerable}
    task = next(t for t in DatasetFolders().read_records(Task) if getattr(t, position).candidate_id in uqs)
    verdict = next(v for v in DatasetFolders().read_records(Verdict) if v.task_id == task.task_id)
    text = "\n".join(explain_item(getattr(task, position).candidate_id, DatasetFolders()))
    assert f"{task.task_id}: it is the {position} question" in text
    assert (
        f"{verdict.annotator}: {getattr(verdict, position)}; other question: {getattr(verdict, other)}\n"
        in text
    )


def test_explain_says_which_verdicts_do_not_count_and_why(release):
    uqs = {item.item_id for item in items(release) if item.unanswerable}
    excluded = next(
        row
        for row in read_jsonl(
            DatasetFolders().stage_dir("collect") / "excluded_answers.jsonl", ExcludedAnswer
        )
        if row.candidate_id in uqs
    )
    text = "\n".join(explain_item(excluded.candidate_id, DatasetFolders()))
    assert f"(excluded: {excluded.reason}); other question:" in text
    assert text.count("(excluded: ") < text.count("verdict  ")


# Export
# `rgqa export` writes the same rows as CSV, Excel and Parquet.


READ = {
    ".csv": lambda path: pd.read_csv(path, dtype=str, keep_default_na=False),
    ".xlsx": lambda path: pd.read_excel(path, dtype=str, keep_default_na=False),
    ".parquet": pd.read_parquet,
}


def table(*arguments):
    result = CliRunner().invoke(app, ["export", *map(str, arguments)])
    return result.exit_code, result.output


@pytest.mark.parametrize("kind", READ)
def test_items_keep_their_ids_and_texts_in_each_kind_of_file(tiny_run, monkeypatch, tmp_path, kind):
    monkeypatch.chdir(tiny_run)
    code, output = table("items", "--out", tmp_path / f"items{kind}")
    items = list(read_jsonl("data/tiny/interim/balance/items.jsonl", Item))
    assert code == 0 and output.startswith(f"export: {len(items)} rows")
    rows = READ[kind](tmp_path / f"items{kind}")
    assert list(rows["item_id"]) == [item.item_id for item in items]
    assert list(rows["text"]) == [item.text for item in items]
    edited = next(i for i, item in enumerate(items) if item.edits)
    assert f'"old": "{items[edited].edits[0].old}"' in rows["edits"][edited]


def test_nested_records_get_their_own_columns(tiny_run, monkeypatch, tmp_path):
    monkeypatch.chdir(tiny_run)
    code, _ = table("data/tiny/interim/collect/verified.jsonl", "--out", tmp_path / "verified.parquet")
    columns = pd.read_parquet(tmp_path / "verified.parquet").columns
    assert code == 0 and {"candidate.text", "verifier_result.evidence_source", "status"} <= set(columns)


def test_dropped_has_the_removed_candidates_of_all_stages(tiny_run, monkeypatch, tmp_path):
    monkeypatch.chdir(tiny_run)
    table("dropped", "--out", tmp_path / "dropped.parquet")
    rows = pd.read_parquet(tmp_path / "dropped.parquet")
    released = read_jsonl("data/release/tiny/0.1.0/dropped.jsonl", DroppedCandidate)
    assert sorted(rows["candidate_id"]) == sorted(row.candidate_id for row in released)


def test_excel_cells_are_no_formulas_and_have_no_control_characters(tmp_path):
    source = tmp_path / "rows.jsonl"
    source.write_text('{"text": "=1+1"}\n{"text": "a\\u0007b"}\n')
    assert table(source, "--out", tmp_path / "rows.xlsx")[0] == 0
    assert list(pd.read_excel(tmp_path / "rows.xlsx")["text"]) == ["=1+1", "a\ufffdb"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("items", "--out", "items.ods"), "use a name that ends in .csv, .xlsx, .parquet"),
        (("item", "--out", "item.csv"), "use items, verdicts, dropped or a .jsonl file"),
        (("gone.jsonl", "--out", "gone.csv"), "gone.jsonl: no such file"),
    ],
)
def test_unknown_sources_and_formats_are_refused_with_one_message(tiny_run, monkeypatch, arguments, error):
    monkeypatch.chdir(tiny_run)
    code, output = table(*arguments)
    assert code == 1 and output.startswith("error: ") and error in " ".join(output.split())


@pytest.mark.parametrize(
    ("rows", "out", "error"),
    [
        ('{"a": {"b": 1}, "a.b": 2}', "t.csv", "line 1: two fields would become the column a.b; rename one"),
        ('{"a": {"b": 1}}\n{"a.b": 2}', "t.csv", "line 2: two fields would become the column a.b; rename one"),
        ('{"a": 1, "a": 2}', "t.csv", "line 1: an object has the key a twice; keep one"),
        ('{"b": {"a": 1, "a": 2}}', "t.csv", "line 1: an object has the key a twice; keep one"),
        ('{"a": NaN}', "t.csv", "line 1: "),
        ("[1]", "t.csv", "line 1: Expected `object`, got `array`"),
        ('{"a": 1}\n{"a": "%s"}' % ("x" * 32_768), "t.xlsx", "row 3, column a: 32,768 characters"),
        (json.dumps(dict.fromkeys(map(str, range(16_385)))), "t.xlsx", "16,385 columns do not fit"),
    ],
)  # fmt: skip
def test_rows_that_would_lose_values_are_refused(tmp_path, rows, out, error):
    (tmp_path / "rows.jsonl").write_text(rows + "\n")
    code, output = table(tmp_path / "rows.jsonl", "--out", tmp_path / out)
    assert code == 1 and output.startswith("error: ") and error in output and not (tmp_path / out).exists()


def test_more_rows_than_a_sheet_has_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("pipeline.benchmark.report.score_frame.MAX_EXCEL_ROWS", 3)
    source = tmp_path / "rows.jsonl"
    source.write_text('{"a": 1}\n' * 3)
    code, output = table(source, "--out", tmp_path / "rows.xlsx")
    assert code == 1 and "3 rows and 1 column do not fit" in output and not (tmp_path / "rows.xlsx").exists()


def test_a_column_of_numbers_and_texts_is_refused_for_parquet_and_a_missing_list_stays_empty(tmp_path):
    mixed = tmp_path / "mixed.jsonl"
    mixed.write_text('{"a": 1, "b": [1]}\n{"a": "x"}\n')
    with pytest.raises(UserError, match=r"mixed\.jsonl: a column has mixed types"):
        export_table(str(mixed), tmp_path / "t.parquet")
    export_table(str(mixed), tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == "a,b\n1,[1]\nx,\n"


# Attribute
# `rgqa attribute` on the tiny project with models of random weights.


@pytest.fixture(scope="module")
def made(tiny_run, tmp_path_factory):
    return with_nets(tiny_run, tmp_path_factory.mktemp("attribute") / "run", ROOT / "data/sample/clip")


@pytest.fixture
def pair(made, monkeypatch):
    monkeypatch.chdir(made)
    return sample_pairs(read_benchmark(DatasetFolders().release_dir(params.read_release_version())), 1)[0]


def refused(**options):
    with pytest.raises(UserError) as found:
        write_attributions(AttributionOptions(**{"items": (), "model": "rp"} | options))
    return str(found.value)


def test_an_item_gives_a_page_with_its_pair_and_maps_of_both(pair, tmp_path, capsys):
    page, maps = tmp_path / "attribution.html", tmp_path / "maps.json"
    write_attributions(AttributionOptions((pair.aq.id, pair.aq.id), "rp", out=page, maps=maps))
    html = page.read_text()
    assert html.index(f'id">{pair.uq.id},') < html.index(f'id">{pair.aq.id},')
    assert read_attention(maps).keys() == {pair.uq.id, pair.aq.id}
    first, second = capsys.readouterr().out.splitlines()
    assert first == f"attribute: 2 maps -> {maps}" and second.endswith(f"MB, rp, 2 items -> {page}")


def test_maps_without_a_page_use_the_given_method(pair, tmp_path):
    tables = {}
    for method in ("", "attention", "grad-cam"):
        path = tmp_path / f"maps-{method}.json"
        write_attributions(AttributionOptions((pair.uq.id,), "rp", maps=path, method=method))
        tables[method] = np.array(json.loads(path.read_text())[pair.uq.id])
    assert tables[""].tolist() == tables["attention"].tolist() and tables[""].shape == (24, 24)
    assert tables["grad-cam"].shape[1] == 5 and tables["grad-cam"][:, 4].sum() == pytest.approx(1, abs=1e-4)
    assert {path.suffix for path in tmp_path.iterdir()} == {".json"}
    message = refused(items=(pair.uq.id,), maps=tmp_path / "no.json", method="rollout")
    assert "'rollout': this model has detections, attention, glance-1" in message


def test_without_items_the_maps_of_all_are_written_and_scored_as_in_gqa(pair, tmp_path):
    questions = "data/tiny/source/questions1.2/testdev_balanced_questions.json"
    maps = tmp_path / "maps.json"
    write_attributions(AttributionOptions((), "rp", maps=maps, release=questions))
    asked = json.loads((ROOT / "tests/tiny" / questions.removeprefix("data/tiny/")).read_text())
    attention = read_attention(maps)
    assert attention.keys() == asked.keys()
    scenes = json.loads((ROOT / "tests/tiny/truth/testdev_sceneGraphs.json").read_text())
    answers = dict.fromkeys(asked, "yes")
    found = compute_gqa_diagnostics(asked, answers, scenes=scenes, attention=attention)["grounding"]
    assert found["items"] == len(asked) and found["value"] >= 0


def test_words_of_the_user_are_shown(pair, tmp_path):
    words, page = tmp_path / "words.json", tmp_path / "attribution.html"
    words.write_text(
        json.dumps({pair.uq.image: [{"text": "soup & co", "box": [1, 2, 30, 12], "score": 0.8}]})
    )
    write_attributions(AttributionOptions((pair.uq.id,), "rp", out=page, ocr_words=words))
    assert "1 soup &amp; co 0.80" in page.read_text()
    words.write_text('[{"text": "soup", "box": [9, 9, 3, 3]}]')
    assert "right or lower edge" in refused(items=(pair.uq.id,), ocr_words=words)
    words.write_text('[{"text": "soup", "box": [9, 9, 9000, 9000]}]')
    assert "boxes outside of the image" in refused(items=(pair.uq.id,), ocr_words=words)


def test_invalid_requests_are_refused(pair):
    assert "no item n0 in" in refused(items=("n0",))
    assert "--model: missing. Choose from the rows of seed 0" in refused(items=(pair.uq.id,), model="")
    assert "--model clip_score: this row is a file of predictions" in refused(
        items=(pair.uq.id,), model="clip_score"
    )
    assert "no item is given" in refused()
    # Before the model is loaded: there is no such row either.
    message = refused(items=(pair.uq.id,), model="nobody", maps="maps.json", method="roll-out")
    assert message.startswith("--method 'roll-out': no such method. The methods are attention, grad-cam")
    assert "give one of them" in refused(items=(pair.uq.id,), ocr_words="w.json", ocr=True)
    assert "--model-arg device: expected NAME=VALUE" in refused(items=(pair.uq.id,), model_args=("device",))


def test_the_command_ends_with_one_message_and_exit_code_1(pair):
    command = [sys.executable, "-m", "pipeline.cli", "attribute", "nobody", "--model", "rp"]
    ended = subprocess.run(command, capture_output=True, text=True, env={"PYTHONPATH": str(ROOT), "PATH": ""})
    assert ended.returncode == 1 and ended.stdout == ""
    assert ended.stderr.startswith("error: no item nobody in") and "Traceback" not in ended.stderr
