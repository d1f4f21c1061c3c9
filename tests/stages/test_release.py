import json
import re
import shutil
from pathlib import Path

import msgspec
import pytest

from annotation.study.answers_table import build_answers_table
from annotation.study.quality_html import render_page
from pipeline.benchmark.release.check_release import check_release, publish_release
from pipeline.benchmark.release.errata import add_erratum
from pipeline.benchmark.release.provenance import Provenance, make_canary
from pipeline.core.errors import UserError
from pipeline.core.json_files import read_jsonl, write_jsonl
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import Item, Verdict
from pipeline.scoring.benchmark_reader import read_benchmark
from pipeline.scoring.errata import exclude_errata
from pipeline.stages import audit as audit_stage
from pipeline.stages import release as release_stage
from pipeline.tasks.verdict_aggregation import CollectParams, aggregate_verdicts
from tests.annotation.study.conftest import candidates, task, verdict


@pytest.fixture
def release(tiny_run, monkeypatch):
    monkeypatch.chdir(tiny_run)
    return tiny_run / "data/release/tiny/0.1.0"


def items(release):
    return [row.item for row in read_jsonl(release / "provenance.jsonl", Provenance)]


def test_every_row_is_marked_as_simulated_and_carries_the_canary(release):
    assert all(item.simulated for item in items(release))
    assert "verdicts of this release are simulated" in (release / "README.md").read_text()
    mark = make_canary("tiny", "0.1.0", simulated=True)
    assert mark.startswith("VERDICTS SIMULATED") and not make_canary("tiny", "0.1.0").startswith("VERDICTS")
    assert mark in (release / "README.md").read_text()
    for path in (release / "rgqa").glob("*.json"):
        assert {row["canary"] for row in json.loads(path.read_text())} == {mark}


def test_scorers_read_the_difficulty_of_every_uq_from_a_release(release):
    told = {(item.subset, item.item_id): item.difficulty or "" for item in items(release)}
    read = read_benchmark(release).subsets
    assert told == {(name, row.id): row.difficulty for name, rows in read.items() for row in rows}
    assert {item.difficulty for item in items(release) if item.unanswerable} <= {
        "random",
        "popular",
        "adversarial",
    }


def test_items_are_sorted_and_their_ids_differ_within_a_subset(release):
    keys = [(item.subset, item.item_id) for item in items(release)]
    assert len(keys) == len(set(keys))
    assert isinstance(items(release)[0], Item)


@pytest.fixture
def rehearsal(tiny_run, tmp_path, monkeypatch):
    """The tiny project, with items from a rehearsal."""
    shutil.copytree(tiny_run, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    for stage, name, kind in (("balance", "items.jsonl", Item), ("collect", "verdicts.jsonl", Verdict)):
        path = DatasetFolders().stage_dir(stage) / name
        write_jsonl(path, [msgspec.structs.replace(row, rehearsal=True) for row in read_jsonl(path, kind)])
    return tmp_path


def set_version(version):
    Path("params.yaml").write_text(
        re.sub(r"(?m)^version: .*$", f'version: "{version}"', Path("params.yaml").read_text())
    )


def test_a_rehearsal_cannot_be_mistaken_for_a_benchmark(rehearsal):
    set_version("0.1.0-rehearsal")
    release_stage.main()
    home = rehearsal / "data/release/tiny/0.1.0-rehearsal"
    card = (home / "README.md").read_text()
    assert (
        "# REHEARSAL of Tiny" in card
        and "THIS IS A REHEARSAL, NOT A BENCHMARK" in card
        and "reconstructed from the answers" in card
    )
    rows = [row for path in (home / "rgqa").glob("*.json") for row in json.loads(path.read_text())]
    assert rows and all(row["canary"].startswith("REHEARSAL") for row in rows)
    assert all(row.rehearsal for row in items(home)) and "REHEARSAL" in check_release(home)
    assert json.loads((home / "croissant.json").read_text())["description"].startswith("REHEARSAL")
    with pytest.raises(UserError, match="a rehearsal"):
        publish_release(home, rehearsal / "published")
    assert not (rehearsal / "published").exists()


def test_the_version_says_whether_it_is_a_rehearsal(rehearsal, tiny_run, monkeypatch):
    with pytest.raises(UserError, match='version: "0.1.0-rehearsal"'):
        release_stage.main()
    shutil.copy(
        tiny_run / "data/tiny/interim/balance/items.jsonl",
        DatasetFolders().stage_dir("balance") / "items.jsonl",
    )
    set_version("0.1.0-rehearsal")
    with pytest.raises(UserError, match="no other version may"):
        release_stage.main()


def test_candidates_decided_by_adjudicators_are_counted_separately():
    said = {
        "a": {"x": "invalid", "adjudicator-01": "invalid"},
        "b": {"x": "invalid", "y": "invalid"},
        "c": {"x": "valid"},
    }
    tasks = {key: task(key) for key in said}
    verdicts = [
        verdict(key, who, choice, "valid") for key, row in said.items() for who, choice in row.items()
    ]
    rows, params = candidates(said), CollectParams(aggregation="majority")
    result = aggregate_verdicts(rows, build_answers_table(tasks, verdicts), params, {}, {"ca", "cb"})
    uqs = [
        Item(
            item_id=f"c{key}",
            subset="clip-hard",
            image_id=f"n{key}",
            question_id="q",
            text="",
            unanswerable=True,
            answer="",
            pair_id="p",
            split="test",
        )
        for key in "ab"
    ]
    found = release_stage.count_votes(uqs, result.verified, result.quality)
    assert (found.annotators, found.by_adjudicator, found.uqs_by_votes, found.single_vote_uqs) == (
        2,
        1,
        {2: 1},
        0,
    )
    assert found.agreement_text.startswith("On 1 candidate, sampled at random, that two or more judged")
    assert "2<small>0 excluded; and 1 adjudicator<" in render_page(result.quality)


@pytest.fixture
def again(tiny_run, tmp_path, monkeypatch):
    """A copy of the tiny project, to release it once more."""
    shutil.copytree(tiny_run, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "data/release/tiny/0.1.0"


@pytest.mark.parametrize("answer", ["unanswerable", "Unsuitable.", "n/a", "uq", "UQ"])
def test_an_answer_that_says_there_is_none_never_becomes_an_aq_of_a_release(again, answer):
    path = DatasetFolders().stage_dir("balance") / "items.jsonl"
    rows = list(read_jsonl(path, Item))
    aq = next(row for row in rows if not row.unanswerable)
    write_jsonl(path, [msgspec.structs.replace(row, answer=answer) if row == aq else row for row in rows])
    with pytest.raises(UserError, match=f"{aq.item_id}: "):
        release_stage.main()


def test_items_that_the_report_of_balance_does_not_count_are_never_released_or_audited(again):
    path = DatasetFolders().stage_dir("balance") / "items.jsonl"
    rows = list(read_jsonl(path, Item))
    for changed in (rows[:4], rows[1:], [*rows, rows[0]], [rows[1], *rows[1:]]):
        write_jsonl(path, changed)
        for stage in (release_stage, audit_stage):
            with pytest.raises(UserError, match="run dvc repro balance"):
                stage.main()


def test_the_same_inputs_give_the_same_bytes(again):
    files = {path: path.read_bytes() for path in again.rglob("*") if path.is_file()}
    shutil.rmtree(again)
    release_stage.main()
    assert {path: path.read_bytes() for path in again.rglob("*") if path.is_file()} == files


def test_errata_of_the_data_set_are_listed_in_its_next_release_and_excluded_by_scores(again):
    read = read_benchmark(again).subsets["pt-easy"]
    faulty = next(item for item in read if not item.answers)
    add_erratum(DatasetFolders(), "0.1.0", faulty.id, "it has an answer")
    release_stage.main()
    assert check_release(again)
    assert f"| `{faulty.id}` | 0.1.0 | it has an answer |" in (again / "ERRATA.md").read_text()
    assert "Known to be faulty (ERRATA.md): 1 of " in (again / "README.md").read_text()
    left = exclude_errata(read_benchmark(again), again, "auto")
    pair = {item.id for item in read if item.pair_id == faulty.pair_id}
    assert set(left.errata) == pair and faulty.id in pair
    assert len(left.subsets["pt-easy"]) == len(read) - len(pair)
