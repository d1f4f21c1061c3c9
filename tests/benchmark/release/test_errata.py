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
    ids = sorted({item.item_id for item in folders.read_records(Item)})[:2]
    assert read_errata(folders) == ()
    add_erratum(folders, "0.1.0", ids[1], f"  wrong \n {ids[1]} ")
    path = add_erratum(folders, "0.1.0", ids[0], f"wrong {ids[0]}")
    assert read_errata(folders) == tuple(
        Erratum(item_id=item, reason=f"wrong {item}", version="0.1.0") for item in ids
    )
    assert [row["item_id"] for row in json.loads(path.read_text())] == ids
    with pytest.raises(UserError, match=f"{ids[0]}: already has an erratum, since version 0.1.0: wrong"):
        add_erratum(folders, "0.2.0", ids[0], "again")


@pytest.mark.parametrize(
    ("item", "reason", "message"), [("nope", "x", "no such item"), ("nope", " ", "reason is empty")]
)
def test_invalid_errata_are_refused(folders, item, reason, message):
    with pytest.raises(UserError, match=message):
        add_erratum(folders, "0.1.0", item, reason)
    assert not folders.errata.exists()


def test_errata_list_present_and_removed_items():
    rows = [Erratum(item_id=name, reason="a | b <i>", version="0.9.0") for name in ("here", "removed")]
    text = render_errata("T 1.0.0", rows, {"here"})
    assert "| `here` | 0.9.0 | a \\| b &lt;i&gt; |" in text.split("no longer")[0]
    assert "`removed`" in text.split("no longer")[1] and "--exclude-errata auto" in text
    assert "None known" in render_errata("T 1.0.0", rows[1:], {"here"})


def test_the_command_adds_an_erratum(release, monkeypatch):
    monkeypatch.setattr("pipeline.benchmark.release.errata.add_erratum", lambda *given: given[1:])
    result = CliRunner().invoke(app, ["errata", "add", "00100101", "two cups"])
    assert result.exit_code == 0 and "'00100101', 'two cups'" in result.output


def test_an_erratum_can_be_removed(folders):
    item = next(iter(folders.read_records(Item))).item_id
    add_erratum(folders, "0.1.0", item, "wrong")
    with pytest.raises(UserError, match=f"nope: has no erratum; items with an erratum: {item}"):
        remove_erratum(folders, "nope")
    remove_erratum(folders, item)
    assert read_errata(folders) == () and not list(folders.errata.iterdir())
    result = CliRunner().invoke(app, ["errata", "remove", "00100101"])
    assert result.exit_code == 1 and "has no erratum; items with an erratum: none" in result.stderr
