import json
from pathlib import Path

import pytest

from pipeline.core.errors import UserError
from pipeline.scoring.leaderboard.prediction_files import find_rows, parse_name_and_seed


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
    assert "made for version 0.9.0 of the benchmark, this is 1.0.0" in told
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
        (["m.json", "m-seed1.json"], "row m has a file without a seed beside seeds 1"),
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
