"""Runs and predictions files as results that can be compared."""

import json
from pathlib import Path

import pytest

from pipeline.core.errors import UserError
from pipeline.scoring.benchmark_reader import fingerprint_release, read_benchmark
from pipeline.scoring.leaderboard.prediction_files import find_rows, parse_name_and_seed
from pipeline.scoring.leaderboard.run_results import (
    keep_common_items,
    read_results,
    read_run,
    resolve_release,
    resolve_split,
)


def names(paths, release=None):
    return [row.name for row in read_results(paths, release).rows]


def runs(*folders):
    return [read_run(folder) for folder in folders]


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
    with pytest.raises(UserError, match="without a seed and also files of seeds"):
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


# Prediction files


def faults(folder, benchmark):
    with pytest.raises(UserError) as caught:
        find_rows(folder, benchmark, reserved_names=["blind"])
    return caught.value.problems


def test_a_file_is_a_row_of_its_name(write, tmp_path, benchmark):
    write("vilt.json")
    found = find_rows(tmp_path, benchmark)
    assert [*found] == ["vilt"] and len(found["vilt"].seeds) == 1
    assert set(found["vilt"].seeds[0]) == {"clip-hard", "pt-hard"}


@pytest.mark.parametrize(
    ("file", "name", "seed"),
    [
        ("vilt.json", "vilt", ""),
        ("rp-seed0.json", "rp", "0"),
        ("rp.seed12.csv.gz", "rp", "12"),
        ("gpt-4.1.jsonl", "gpt-4.1", ""),
        ("rp_seed3.parquet", "rp", "3"),
        ("reseed5.json", "reseed5", ""),
    ],
)
def test_a_files_name_says_row_and_seed(file, name, seed):
    assert parse_name_and_seed(Path(file)) == (name, seed)


def test_seeds_are_one_row_in_the_order_of_their_numbers(write, tmp_path, benchmark):
    for seed in (10, 2, 0):
        write(f"rp-seed{seed}.json", confidence=float(seed))
    (rp,) = find_rows(tmp_path, benchmark).values()
    assert [seed["pt-hard"].confidence[0] for seed in rp.seeds] == [0, 2, 10]


def test_a_file_may_have_one_subset_alone_though_other_subsets_share_its_aqs(write, tmp_path, benchmark):
    write("m.json", ids=benchmark.subsets["pt-hard"].ids)
    (only,) = find_rows(tmp_path, benchmark).values()
    assert set(only.seeds[0]) == {"pt-hard"}


def test_files_in_the_subsets_folders_are_joined_to_one_row_and_may_differ_on_the_same_id(
    write, tmp_path, benchmark
):
    for subset, confidence in (("clip-hard", 0.1), ("pt-hard", 0.9)):
        write(f"{subset}/m.json", ids=benchmark.subsets[subset].ids, confidence=confidence)
    (only,) = find_rows(tmp_path, benchmark).values()
    assert [only.seeds[0][name].confidence[0] for name in ("clip-hard", "pt-hard")] == [0.1, 0.9]


def test_all_problems_of_all_files_are_one_message(write, tmp_path, benchmark):
    write("other.json", version="0.9.0", leave_out=["pt-hard_1", "3"], more=["nobody"])
    text = write("nan.json").read_text().replace("0.5", "NaN", 1)
    (tmp_path / "nan.json").write_text(text)
    (tmp_path / "torn.json").write_text("[{")
    told = "\n".join(faults(tmp_path, benchmark))
    assert "other.json: cannot be on the leaderboard" in told
    assert "made for version 0.9.0 of the benchmark, but this is version 1.0.0" in told
    assert "not in the benchmark" in told and "nobody" in told
    assert "clip-hard: 1 of 80 items have no prediction: 3" in told
    assert "pt-hard: 2 of 80 items have no prediction: 3, pt-hard_1" in told
    assert (
        "nan.json: cannot be on the leaderboard" in told
        and "confidence is nan, expected a finite number" in told
    )
    assert "torn.json: not valid JSON" in told


def test_a_file_of_the_same_version_is_taken(write, tmp_path, benchmark):
    write("m.json", version="1.0.0")
    assert [*find_rows(tmp_path, benchmark)] == ["m"]


def test_a_subsets_folder_has_only_its_items(write, tmp_path, benchmark):
    write("pt-hard/m.json")  # all subsets' items
    assert any("40 ids are not in the benchmark" in line for line in faults(tmp_path, benchmark))


def test_a_file_without_any_uq_is_refused(write, tmp_path, benchmark):
    write("m.json", ids=["1", "2"])
    assert any("has no UQ of any subset" in line for line in faults(tmp_path, benchmark))


@pytest.mark.parametrize(
    ("files", "told"),
    [
        (["blind.json"], "blind is the name of a reference"),
        (["m.json", "m-seed1.json"], "row m has a file without a seed and also files of seeds 1"),
        (["m.json", "m.jsonl"], "another file also has predictions of row m for clip-hard, pt-hard"),
        (["a b.json"], "'a b' is not a valid row name"),
        (["elsewhere/m.json"], "no subset has this name; there are clip-hard, pt-hard"),
    ],
)
def test_invalid_row_names(files, told, write, tmp_path, benchmark):
    for name in files:
        path = write(name)
        if name.endswith(".jsonl"):
            path.write_text("\n".join(json.dumps(row) for row in json.loads(path.read_text())))
    assert any(told in line for line in faults(tmp_path, benchmark))


def test_seeds_of_different_subsets_are_refused(write, tmp_path, benchmark):
    write("m-seed0.json")
    write("m-seed1.json", ids=benchmark.subsets["pt-hard"].ids)
    told = "the seeds of row m have predictions for different subsets: seed 0: clip-hard, pt-hard; seed 1: pt-hard"
    assert any(told in line for line in faults(tmp_path, benchmark))


def test_rows_may_be_described_beside_the_files(write, tmp_path, benchmark):
    write("m.json")
    (tmp_path / "rows.yaml").write_text("m: {confidence: max sigmoid, note: three epochs, reference: true}")
    (only,) = find_rows(tmp_path, benchmark).values()
    about = only.info
    assert (about.confidence, about.note, about.reference) == ("max sigmoid", "three epochs", True)
    (tmp_path / "rows.yaml").write_text("other: {note: gone}")
    assert any("no predictions file for other" in line for line in faults(tmp_path, benchmark))
    for faulty in ("m: 3", "m: {reference: maybe}", "m: {rank: 1}", "- m", "3"):
        (tmp_path / "rows.yaml").write_text(faulty)
        assert any(
            "expected NAME: {confidence: ..., note: ..., reference: true}" in line
            for line in faults(tmp_path, benchmark)
        )


@pytest.mark.parametrize(
    "faulty",
    [
        b"m: {note: 2024-13-45}",
        b"m: {note: 2024-12-24}",
        b"m: " + b"[" * 5000,
        b"m: " + b"{a: " * 5000,
        b"m: {note: 1e999999999999}",
        b"m: &a {note: *a}",
        b"? {a: b}\n: {note: x}",
        b"m: {note: x}\nm: {note: y}",
        b"m: !!python/object/apply:os.getcwd []",
        b"m: {note: \xff}",
        b"m: {note: 'x}",
        b"\x00",
        b"1: {note: x}",
    ],
)
def test_rows_yaml_that_cannot_be_read_is_a_fault_that_names_it(faulty, write, tmp_path, benchmark):
    write("m.json")
    (tmp_path / "rows.yaml").write_bytes(faulty)
    assert any("rows.yaml" in line for line in faults(tmp_path, benchmark))


def test_a_folder_called_rows_yaml_is_a_fault_and_an_empty_file_is_none(write, tmp_path, benchmark):
    write("m.json")
    (tmp_path / "rows.yaml").write_text("# nothing\n")
    assert [*find_rows(tmp_path, benchmark)] == ["m"]
    (tmp_path / "rows.yaml").unlink()
    (tmp_path / "rows.yaml").mkdir()
    assert any("rows.yaml" in line for line in faults(tmp_path, benchmark))


def test_every_invalid_row_of_rows_yaml_is_listed(write, tmp_path, benchmark):
    write("m.json")
    (tmp_path / "rows.yaml").write_text("m: 3\nn: {rank: 1}\n")
    told = faults(tmp_path, benchmark)
    assert any("row m" in line for line in told) and any("row n" in line for line in told)


def test_files_of_another_pattern_the_readme_and_hidden_files_are_no_rows(write, tmp_path, benchmark):
    for name in ("README.md", ".gitignore"):
        (tmp_path / name).write_text("no predictions")
    assert find_rows(tmp_path, benchmark) == {} == find_rows(tmp_path / "nowhere", benchmark)
    write("msp-seed0.json")
    (tmp_path / "thresholds.json").write_text("{}")
    assert [*find_rows(tmp_path, benchmark, "*-seed*.json")] == ["msp"]
