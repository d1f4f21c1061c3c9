import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from pipeline.commands.explain import explain
from pipeline.core.errors import UserError
from pipeline.core.files import read_jsonl, write_jsonl
from pipeline.core.paths import Folders
from pipeline.core.records import Dropped, Item, Verdict
from pipeline.releasing.check_release import check_release
from pipeline.releasing.publish import publish
from pipeline.stages import release as release_stage
from pipeline.stages.release import Provenance, canary
from tests.closure import ROOT


@pytest.fixture
def release(tiny_run, monkeypatch):
    monkeypatch.chdir(tiny_run)
    return tiny_run / "data/release/tiny/0.1.0"


def items(release):
    return [row.item for row in read_jsonl(release / "provenance.jsonl", Provenance)]


def test_the_rows_are_in_rgqas_own_format(release):
    # RGQA's released files: a UQ is {"label": {"UQ": 1.0}} with an id like clipeasy_n460556+202082119, an AQ has its GQA id.
    for path in sorted((release / "rgqa").glob("*.json")):
        for row in json.loads(path.read_text()):
            assert set(row) == {"img_id", "question_id", "sent", "label", "canary"}
            if row["label"] == {"UQ": 1.0}:
                prefix, question = row["question_id"].split("+")
                assert prefix == f"{path.stem.replace('-', '')}_{row['img_id']}" and question.isalnum()
            else:
                assert "+" not in row["question_id"] and list(row["label"].values()) == [1.0]


def test_every_row_is_marked_as_simulated_and_carries_the_canary(release):
    assert all(item.simulated for item in items(release))
    assert "verdicts of this release are simulated" in (release / "README.md").read_text()
    mark = canary("tiny", "0.1.0", simulated=True)
    assert mark.startswith("VERDICTS SIMULATED") and not canary("tiny", "0.1.0").startswith("VERDICTS")
    assert mark in (release / "README.md").read_text()
    for path in (release / "rgqa").glob("*.json"):
        assert {row["canary"] for row in json.loads(path.read_text())} == {mark}


def test_nothing_is_lost_between_candidates_and_release(release, tiny_run):
    # Every candidate is an item or stands in dropped.jsonl exactly once.
    interim = tiny_run / "data/tiny/interim"
    candidates = [
        json.loads(line)["candidate_id"]
        for stage in ("rank", "perturb")
        for line in (interim / stage / "candidates.jsonl").open()
    ]
    released = [item.item_id for item in items(release) if item.unanswerable]
    dropped = [
        row.candidate_id for row in read_jsonl(release / "dropped.jsonl", Dropped) if row.stage != "perturb"
    ]
    assert sorted(released + dropped) == sorted(candidates)
    assert all(row.reason for row in read_jsonl(release / "dropped.jsonl", Dropped))


def test_an_answerable_item_asks_its_own_question_of_its_own_picture(release):
    for row in read_jsonl(release / "provenance.jsonl", Provenance):
        if not row.item.unanswerable:
            assert (row.item.picture_id, row.item.text) == (row.source_picture_id, row.source_text)


def test_the_release_passes_its_check_and_a_changed_one_does_not(release, tmp_path):
    assert "sanity predictions get their scores" in check_release(release)
    place = publish(release, tmp_path).split("-> ")[1]
    assert publish(release, tmp_path).startswith("already published")
    from pathlib import Path

    predictions = Path(place) / "sanity/clip-easy/clip_score.json"
    predictions.chmod(0o644)
    predictions.write_text(predictions.read_text().replace("0.", "0.9", 1))
    with pytest.raises(UserError, match="its bytes have changed"):
        check_release(Path(place))


def test_a_published_version_never_changes(release, tmp_path):
    place = tmp_path / "tiny/0.1.0"
    place.mkdir(parents=True)
    (place / "CHECKSUMS.sha256").write_text("other bytes\n")
    with pytest.raises(UserError, match="published with different bytes"):
        publish(release, tmp_path)


def test_explain_tells_the_story_of_an_item(release):
    item = next(item for item in items(release) if item.subset == "clip-easy" and item.unanswerable)
    text = "\n".join(explain(item.item_id, Folders()))
    for part in (
        item.text,
        "CLIP       score",
        "evidence",
        "votes",
        "simulated",
        "released   clip-easy",
        item.pair_id,
    ):
        assert part in text
    edited = next(item for item in items(release) if item.edits)
    assert f"{edited.edits[0].old!r} -> {edited.edits[0].new!r}" in "\n".join(
        explain(edited.item_id, Folders())
    )


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


def test_croissant_names_every_table_with_its_sum(release):
    described = {
        row["contentUrl"]: row["sha256"]
        for row in json.loads((release / "croissant.json").read_text())["distribution"]
    }
    sums = {line[66:]: line[:64] for line in (release / "CHECKSUMS.sha256").read_text().splitlines()}
    assert described == {path: digest for path, digest in sums.items() if path.startswith("data/")}


def test_items_are_sorted_and_their_ids_differ_within_a_subset(release):
    keys = [(item.subset, item.item_id) for item in items(release)]
    assert len(keys) == len(set(keys))
    assert isinstance(items(release)[0], Item)


@pytest.fixture
def rehearsal(tiny_run, tmp_path, monkeypatch):
    """The tiny project, its items rehearsed instead of judged by who knows the truth."""
    shutil.copytree(tiny_run, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    for stage, name, kind in (("balance", "items.jsonl", Item), ("collect", "verdicts.jsonl", Verdict)):
        path = Folders().stage(stage) / name
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
        and "THIS IS A REHEARSAL, NO BENCHMARK" in card
        and "put together from the answers" in card
    )
    rows = [row for path in (home / "rgqa").glob("*.json") for row in json.loads(path.read_text())]
    assert rows and all(
        row["canary"].startswith("REHEARSAL, NO BENCHMARK: verdicts simulated from graphs") for row in rows
    )
    assert all(row.rehearsal for row in items(home)) and "REHEARSAL" in check_release(home)
    assert json.loads((home / "croissant.json").read_text())["description"].startswith("REHEARSAL")
    with pytest.raises(UserError, match="a rehearsal"):
        publish(home, rehearsal / "published")
    assert not (rehearsal / "published").exists()


def test_the_version_says_whether_it_is_a_rehearsal(rehearsal, tiny_run, monkeypatch):
    with pytest.raises(UserError, match='version: "0.1.0-rehearsal"'):
        release_stage.main()
    shutil.copy(
        tiny_run / "data/tiny/interim/balance/items.jsonl", Folders().stage("balance") / "items.jsonl"
    )
    set_version("0.1.0-rehearsal")
    with pytest.raises(UserError, match="and nothing else"):
        release_stage.main()
