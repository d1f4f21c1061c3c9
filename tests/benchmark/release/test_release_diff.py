import json
import shutil

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from pipeline.benchmark.release.provenance import Provenance
from pipeline.benchmark.release.release_diff import COMPARED_FIELDS, compare_releases
from pipeline.cli.main import app
from pipeline.core.errors import UserError
from pipeline.core.json_files import read_jsonl, write_jsonl


@pytest.fixture
def newer(release, tmp_path):
    """Return another version: in pt-hard one item is removed, one added, and one has another text and votes."""
    home = shutil.copytree(release, tmp_path / "0.2.0")
    rows = list(read_jsonl(home / "provenance.jsonl", Provenance))
    hard = [row for row in rows if row.item.subset == "pt-hard" and row.item.unanswerable]
    removed, changed, *_ = hard
    added = replace(removed, item=replace(removed.item, item_id="new", text="Is it new?"))
    edited = replace(changed, item=replace(changed.item, text="Is it other?"), votes_valid=7)
    write_jsonl(
        home / "provenance.jsonl",
        [{id(changed): edited}.get(id(row), row) for row in rows if row is not removed] + [added],
    )
    params = json.loads((home / "params.json").read_text())
    (home / "params.json").write_text(json.dumps(params | {"version": "0.2.0"}))
    for path in (home / "LICENSE", home / "rgqa/pt-hard.json", home / "rgqa/clip-easy.json"):
        path.write_text(path.read_text().replace("0.1.0", "0.2.0").replace("CANARY", "CANARY 2"))
    return home, removed.item, changed


def test_changes_are_counted_by_subset_and_optionally_listed(release, newer):
    home, removed, changed = newer
    lines = compare_releases(release, home)
    assert lines[:4] == [
        "tiny 0.1.0 -> tiny 0.2.0",
        "licence: the same",
        "canary: different",
        "errata: the same",
    ]
    head = lines[4].split()
    assert head == ["old", "new", "added", "removed", *COMPARED_FIELDS]
    counts = {line.split()[0]: dict(zip(head, map(int, line.split()[1:]), strict=True)) for line in lines[5:]}
    assert counts["pt-hard"]["old"] == counts["pt-hard"]["new"]  # One item is added and one is removed.
    expected = {"added": 1, "removed": 1, "text": 1, "verdict": 1}
    assert {name: n for name, n in counts["pt-hard"].items() if n and name not in ("old", "new")} == expected
    assert all(
        sum(row.values()) == row["old"] + row["new"] for name, row in counts.items() if name != "pt-hard"
    )
    listed = compare_releases(release, home, list_items=True)[len(lines) :]
    key = changed.item.item_id
    assert listed == [
        "pt-hard  added  new  'Is it new?' (no answer)",
        f"pt-hard  removed  {removed.item_id}  {removed.text!r} (no answer)",
        f"pt-hard  text  {key}  {changed.item.text!r} -> 'Is it other?'",
        f"pt-hard  verdict  {key}  '{changed.votes_invalid} invalid, {changed.votes_valid} valid' -> "
        f"'{changed.votes_invalid} invalid, 7 valid'",
    ]


def test_a_release_does_not_differ_from_itself(release, tmp_path):
    home = shutil.copytree(release, tmp_path / "copy")
    lines = compare_releases(release, home, list_items=True)
    assert lines[1:4] == ["licence: the same", "canary: the same", "errata: the same"]
    assert all(set(line.split()[3:]) == {"0"} for line in lines[5:])


def test_a_changed_label_is_listed(release, tmp_path):
    home = shutil.copytree(release, tmp_path / "other")
    first, *rows = read_jsonl(home / "provenance.jsonl", Provenance)
    other = replace(first, item=replace(first.item, unanswerable=not first.item.unanswerable))
    write_jsonl(home / "provenance.jsonl", [other, *rows])
    one, two = ("UQ", "AQ") if first.item.unanswerable else ("AQ", "UQ")
    assert f"{first.item.subset}  label  {first.item.item_id}  {one!r} -> {two!r}" in compare_releases(
        release, home, list_items=True
    )


def test_a_different_licence_and_different_errata_are_reported(release, tmp_path):
    home = shutil.copytree(release, tmp_path / "other")
    (home / "LICENSE").write_text("mine")
    (home / "errata.json").write_text('[{"item_id": "1", "reason": "r", "version": "0.1.0"}]')
    assert compare_releases(release, home)[1:4] == [
        "licence: different",
        "canary: the same",
        "errata: different",
    ]


def unreadable_licence(home):
    (home / "LICENSE").write_bytes(b"\xff\xfe")


def folder_for_licence(home):
    (home / "LICENSE").unlink()
    (home / "LICENSE").mkdir()


def link_for_licence(home):
    (home / "LICENSE").unlink()
    (home / "LICENSE").symlink_to("nowhere")


def folder_for_errata(home):
    (home / "errata.json").unlink()
    (home / "errata.json").mkdir()


def truncated_last_subset(home):
    path = sorted((home / "rgqa").glob("*.json"))[-1]
    path.write_text(path.read_text()[:-50])


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (unreadable_licence, "LICENSE"),
        (folder_for_licence, "LICENSE"),
        (link_for_licence, "LICENSE"),
        (folder_for_errata, "errata.json"),
        (truncated_last_subset, "rgqa/"),
    ],
)
def test_unreadable_files_are_reported(release, tmp_path, change, named):
    home = shutil.copytree(release, tmp_path / "other")
    change(home)
    with pytest.raises(UserError, match=named):
        compare_releases(release, home)
    with pytest.raises(UserError, match=named):
        compare_releases(home, release)


def test_a_missing_licence_is_reported(release, tmp_path):
    home = shutil.copytree(release, tmp_path / "other")
    (home / "LICENSE").unlink()
    assert compare_releases(release, home)[1] == f"licence: missing in {home}"


@pytest.mark.parametrize("text", ["[1]", "{}", '{"dataset": "tiny", "version": 1.0}'])
def test_invalid_params_are_reported(release, tmp_path, text):
    home = shutil.copytree(release, tmp_path / "other")
    (home / "params.json").write_text(text)
    with pytest.raises(UserError, match=r"params\.json: unexpected content"):
        compare_releases(release, home)


def test_other_folders_are_refused(release, tmp_path):
    for folder in (tmp_path / "nosuch", tmp_path):
        with pytest.raises(UserError, match=f"{folder.name}: not the folder of a release"):
            compare_releases(release, folder)
    (tmp_path / "provenance.jsonl").write_text('{"item": {}, "of_tomorrow": 1}\n')
    with pytest.raises(UserError, match=r"line 1: .*made by another version of the pipeline"):
        compare_releases(release, tmp_path)
    with pytest.raises(UserError, match="both folders are the same"):
        compare_releases(release, release / ".." / release.name)
    result = CliRunner().invoke(app, ["diff", str(release), str(shutil.copytree(release, tmp_path / "copy"))])
    assert result.exit_code == 0 and "tiny 0.1.0 -> tiny 0.1.0" in result.output
