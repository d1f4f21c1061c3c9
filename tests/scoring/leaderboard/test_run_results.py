"""Runs and predictions files as results that can be compared."""

import json

import pytest

from pipeline.core.errors import UserError
from pipeline.scoring.benchmark_reader import fingerprint_release, read_benchmark
from pipeline.scoring.leaderboard.run_results import (
    _read_run,
    keep_common_items,
    read_results,
    resolve_release,
    resolve_split,
)


def names(paths, release=None):
    return [row.name for row in read_results(paths, release).rows]


def runs(*folders):
    return [_read_run(folder) for folder in folders]


def test_a_run_is_named_by_its_model_and_by_what_differs(a_run, a_file):
    assert names([a_run("x", "rp"), a_file("other")]) == ["rp", "other"]
    results = [a_run("a", "rp"), a_run("b", "rp", prompt="ask"), a_run("c", "rp", no_image=True)]
    assert names(results) == ["rp (word)", "rp (ask)", "rp, no image (word)"]
    both = [a_run("d", "rp", method="verbal"), a_run("e", "rp", prompt="ask", method="p-true")]
    assert names(both) == ["rp (word, verbal)", "rp (ask, p-true)"]


def test_two_rows_of_one_name_are_distinguished_by_their_paths(a_run, a_file, release, tmp_path):
    assert names([a_run("first", "rp"), a_run("second", "rp")]) == ["rp [first]", "rp [second]"]
    (tmp_path / "sub").mkdir()
    copy = tmp_path / "sub" / "other.jsonl"
    copy.write_text(a_file("other").read_text())
    found = names([tmp_path / "other.jsonl", copy], release)
    assert found == [f"other [{tmp_path.name}/other.jsonl]", "other [sub/other.jsonl]"]
    assert names([a_run("third", "other"), copy]) == ["other [third]", "other [sub/other.jsonl]"]


def test_files_are_combined_as_in_the_folder_of_the_stage(a_file, release, tmp_path):
    """Seeds are one row, files in a subset's folder too, and `rows.yaml` says what is a reference."""
    paths = [a_file(name) for name in ("m-seed0", "m-seed1", "people")]
    for subset in ("clip-hard", "pt-hard"):
        (tmp_path / subset).mkdir()
        paths.append(tmp_path / subset / "n.jsonl")
        lines = a_file("whole").read_text().splitlines(keepends=True)
        other = "p" if subset == "clip-hard" else "u"
        paths[-1].write_text("".join(line for line in lines if f'"questionId": "{other}' not in line))
    (tmp_path / "rows.yaml").write_text("people: {reference: true, note: five}\nwhole: {note: not given}\n")
    rows = {row.name: row for row in read_results(paths, release).rows}
    assert {name: (row.kind, len(row.seeds), sorted(row.seeds[0])) for name, row in rows.items()} == {
        "m": ("model", 2, ["clip-hard", "pt-hard"]),
        "people": ("reference", 1, ["clip-hard", "pt-hard"]),
        "n": ("model", 1, ["clip-hard", "pt-hard"]),
    }
    assert rows["people"].note == "five"
    with pytest.raises(UserError, match="without a seed beside seeds"):
        read_results([a_file("m"), *paths[:2]], release)


def test_a_file_has_to_have_all_items_of_its_subsets_whatever_runs_were_asked(a_run, a_file):
    limited = a_run("a", "rp", limit=2)
    (limited / "answers.jsonl").write_text('{"id": "a1"}\n{"id": "u1"}\n')
    found = read_results([limited, a_file("whole")])
    assert {name: len(items) for name, items in found.benchmark.subsets.items()} == {"clip-hard": 2}
    # Two questions, one of them in both subsets, but there without its UQ; the file has all twelve items.
    assert {row.name: row.num_available_items for row in found.rows} == {"rp": 2, "whole": 12}
    with pytest.raises(UserError, match="a3"):
        read_results([limited, a_file("lacking", left_out=("a3",))])


def test_two_folders_of_one_name_are_distinguished_by_their_parents(a_run):
    found = names([a_run("first/run", "rp"), a_run("second/run", "rp"), a_run("third", "rp")])
    assert found == ["rp [first/run]", "rp [second/run]", "rp [third]"]


@pytest.mark.parametrize("counts", [{}, {"questions": 4, "replies": 2, "failed": 1}])
def test_an_unfinished_run_is_refused(counts, a_run):
    with pytest.raises(UserError, match="the run is not finished"):
        read_results([a_run("a", "rp", counts=counts)])


@pytest.mark.parametrize("told", [None, "small", {"name": "small"}])
def test_a_run_that_does_not_name_its_release_is_one_message(told, a_run):
    with pytest.raises(UserError, match="run.json: does not name its release"):
        read_results([a_run("a", "rp", release=told)])


def test_examples_were_not_asked(a_run, release):
    shown = a_run("a", "rp", shots=2)
    (shown / "answers.jsonl").write_text('{"id": "a1"}\n{"id": "u1"}\n')
    asked = keep_common_items(read_benchmark(release), runs(shown))
    assert sorted(asked.subsets["clip-hard"].ids) == ["a1", "u1"]


def test_all_problems_of_results_are_reported_at_once(a_run, tmp_path):
    empty, broken, fine = tmp_path / "empty", a_run("broken", "rp"), a_run("fine", "rp")
    empty.mkdir()
    (broken / "run.json").write_text("[]")
    with pytest.raises(UserError) as caught:
        read_results([empty, broken, tmp_path / "none.json", fine, fine])
    told = "\n".join(caught.value.problems)
    for words in (
        "empty: no run.json and no predictions.jsonl in it",
        "broken/run.json: names no model",
        "none.json",
        f"given twice: {fine}",
    ):
        assert words in told


def test_runs_name_their_release_and_it_must_be_the_one_they_asked(a_run, a_file, release):
    both = runs(a_run("a", "rp"), a_run("b", "blind"))
    assert resolve_release(both, None) == release == resolve_release(both, release)
    with pytest.raises(UserError, match="Add --release"):
        read_results([a_file("x")])
    other = {"name": "birds", "version": "2.0.0", "sha256": "0" * 64}
    with pytest.raises(UserError, match="results for another release(.|\n)*b: for birds 2.0.0"):
        resolve_release(runs(a_run("a", "rp"), a_run("b", "blind", release=other)), release)
    assert fingerprint_release(release) == both[0].record["release"]["sha256"]


def test_runs_of_different_splits_are_not_compared(a_run):
    assert resolve_split(runs(a_run("a", "rp"), a_run("b", "rp", split="all"))) == "test"
    assert (
        resolve_split(runs(a_run("a", "rp", split="validation"), a_run("b", "rp", split="all")))
        == "validation"
    )
    with pytest.raises(UserError, match="runs of different splits"):
        resolve_split(runs(a_run("a", "rp", split="validation"), a_run("b", "rp")))


def test_models_are_compared_on_what_all_of_them_were_asked(a_run, release):
    """A run with a limit names one id of each question; the same question of the same image stands in both subsets. Questions
    whose partner was not asked do not count: u2 without a2, and in the other subset a1 without p1."""
    benchmark = read_benchmark(release)
    limited = a_run("a", "rp", limit=5, failures={"u2": "the server is down"})
    asked = ("a1", "u1", "a3", "u3", "p3")
    (limited / "answers.jsonl").write_text("".join(f'{{"id": "{name}"}}\n' for name in asked))
    common = keep_common_items(benchmark, runs(limited, a_run("b", "blind")))
    assert {name: sorted(items.ids) for name, items in common.subsets.items()} == {
        "clip-hard": ["a1", "a3", "u1", "u3"],
        "pt-hard": ["a3", "p3"],
    }
    shown = a_run("c", "rp", shots=1)
    (shown / "answers.jsonl").write_text("".join(f'{{"id": "{name}"}}\n' for name in (*asked, "u2", "a2")))
    assert sorted(keep_common_items(benchmark, runs(limited, shown)).subsets["clip-hard"].ids) == [
        "a1",
        "a3",
        "u1",
        "u3",
    ]
    one_subset = runs(a_run("d", "rp", subsets=["pt-hard"]))
    assert list(keep_common_items(benchmark, one_subset).subsets) == ["pt-hard"]


def test_a_limited_run_without_its_journal_is_one_message(a_run):
    folder = a_run("a", "rp", limit=3)
    with pytest.raises(UserError, match=r"answers\.jsonl"):
        read_results([folder])
    assert json.loads((folder / "run.json").read_text())["limit"] == 3
