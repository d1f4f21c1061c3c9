import json
import shutil

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from pipeline.cli import app
from pipeline.core.errors import UserError
from pipeline.core.files import read_jsonl, write_jsonl
from pipeline.releasing.provenance import Provenance
from pipeline.reporting.release_pair import SHOWN, release_pair
from tests.pipeline.reporting.test_report_page import HOSTILE, Seen, harmless, told


@pytest.fixture
def old(project):
    return project / "data/release/tiny/0.1.0"


@pytest.fixture
def newer(old, tmp_path):
    """Another version: every UQ of pt-hard has another text, and its first item is gone."""
    home = shutil.copytree(old, tmp_path / "0.2.0")
    rows = list(read_jsonl(home / "provenance.jsonl", Provenance))
    hard = [row for row in rows if row.item.subset == "pt-hard"]
    others = [row for row in rows if row.item.subset != "pt-hard"]
    texts = [replace(r, item=replace(r.item, text=HOSTILE)) if r.item.unanswerable else r for r in hard[1:]]
    write_jsonl(home / "provenance.jsonl", others + texts)
    params = json.loads((home / "params.json").read_text())
    (home / "params.json").write_text(json.dumps(params | {"version": "0.2.0"}))
    return home, hard


def test_two_versions_stand_side_by_side_and_item_by_item(old, newer, tmp_path):
    home, hard = newer
    seen = Seen(release_pair((old, home), tmp_path / "page.html").read_text())
    harmless(seen)
    assert (seen.badly_closed, seen.open) == ([], [])
    text = told(seen)
    changed = sum(row.item.unanswerable for row in hard[1:])
    assert f"pt-hard {len(hard)} {len(hard) - 1} 0 1 0 {changed} 0 0 0 0 0" in text
    assert f"pt-hard: {min(SHOWN, changed + 1)} changes, drawn by lot" in text and "clip-easy: " not in text
    uqs = {r.item.text for r in hard if r.item.unanswerable}
    assert f"pt-hard tiny 0.1.0 {sum(r.item.unanswerable for r in hard)}" in text and len(uqs) > 1
    assert "tiny 0.2.0: the verdicts are simulated." in text


def test_of_two_data_sets_no_items_are_compared(old, newer, tmp_path):
    home, hard = newer
    rows = [replace(row, item=replace(row.item, item_id=f"x{n}")) for n, row in enumerate(hard)]
    write_jsonl(home / "provenance.jsonl", rows)
    text = told(Seen(release_pair((old, home), tmp_path / "page.html").read_text()))
    assert "They have no item in common" in text and "not in this release" in text


def test_a_record_of_another_form_is_told(old, newer, tmp_path):
    (newer[0] / "params.json").write_text("[1]")
    with pytest.raises(UserError, match=r"params\.json: not what is expected here"):
        release_pair((old, newer[0]), tmp_path / "page.html")


def test_the_page_needs_two_releases_and_is_a_command(old, tmp_path, monkeypatch):
    with pytest.raises(UserError, match="no release.s folder"):
        release_pair((old, tmp_path / "nosuch"), tmp_path / "page.html")
    with pytest.raises(UserError, match="--out .*LICENSE: "):
        release_pair((old, old), old / "LICENSE")
    monkeypatch.chdir(tmp_path)
    both = CliRunner().invoke(app, ["report", "--releases", str(old), str(old), "--compare", "a", "b"])
    assert both.exit_code == 2 and "one of them makes a page" in both.output
    result = CliRunner().invoke(app, ["report", "--releases", str(old), str(old)])
    assert result.exit_code == 0 and "tiny 0.1.0 beside tiny 0.1.0" in result.output
    assert (tmp_path / "releases.html").is_file()
