import json

import pytest
from typer.testing import CliRunner

from pipeline.benchmark.release.errata import Erratum, add_erratum, read_errata, remove_erratum, render_errata
from pipeline.cli.main import app
from pipeline.core.errors import UserError
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import Item


@pytest.fixture
def folders(release, tmp_path, monkeypatch):
    """The tiny data set, its errata elsewhere."""
    found = DatasetFolders()
    found.errata = tmp_path / "errata"
    return found


def test_errata_are_kept_by_item(folders):
    ids = sorted({item.item_id for item in folders.rows(Item)})[:2]
    assert read_errata(folders) == ()
    add_erratum(folders, "0.1.0", ids[1], f"  wrong \n {ids[1]} ")
    path = add_erratum(folders, "0.1.0", ids[0], f"wrong {ids[0]}")
    assert read_errata(folders) == tuple(
        Erratum(item_id=item, reason=f"wrong {item}", version="0.1.0") for item in ids
    )
    assert [row["item_id"] for row in json.loads(path.read_text())] == ids
    with pytest.raises(UserError, match=f"{ids[0]}: is there already, since 0.1.0: wrong"):
        add_erratum(folders, "0.2.0", ids[0], "again")


@pytest.mark.parametrize(
    ("item", "reason", "told"), [("nope", "x", "no such item"), ("nope", " ", "no reason")]
)
def test_what_cannot_be_noted_is_refused(folders, item, reason, told):
    with pytest.raises(UserError, match=told):
        add_erratum(folders, "0.1.0", item, reason)
    assert not folders.errata.exists()


def test_the_release_tells_what_is_wrong_in_it_and_what_is_gone():
    rows = [Erratum(item_id=name, reason="a | b <i>", version="0.9.0") for name in ("here", "gone")]
    text = render_errata("T 1.0.0", rows, {"here"})
    assert "| `here` | 0.9.0 | a \\| b &lt;i&gt; |" in text.split("no longer")[0]
    assert "`gone`" in text.split("no longer")[1] and "--exclude-errata auto" in text
    assert "None known" in render_errata("T 1.0.0", rows[1:], {"here"})


def test_the_command_notes_a_fault(release, monkeypatch):
    monkeypatch.setattr("pipeline.benchmark.release.errata.add_erratum", lambda *given: given[1:])
    result = CliRunner().invoke(app, ["errata", "add", "00100101", "two cups"])
    assert result.exit_code == 0 and "'00100101', 'two cups'" in result.output


def test_what_was_noted_can_be_taken_back(folders):
    item = next(iter(folders.rows(Item))).item_id
    add_erratum(folders, "0.1.0", item, "wrong")
    with pytest.raises(UserError, match=f"nope: nothing is noted of it; items that are: {item}"):
        remove_erratum(folders, "nope")
    remove_erratum(folders, item)
    assert read_errata(folders) == () and not list(
        folders.errata.iterdir()
    )  # as before, so no stage is stale
    result = CliRunner().invoke(app, ["errata", "remove", "00100101"])
    assert result.exit_code == 1 and "nothing is noted of it; items that are: none" in result.stderr
