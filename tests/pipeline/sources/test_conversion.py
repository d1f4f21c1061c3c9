import pytest

from pipeline.core.errors import UserError
from pipeline.sources.conversion import target


@pytest.fixture
def source(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "data/birds/source"
    folder.mkdir(parents=True)
    return folder


def test_a_file_is_made_in_the_source_of_its_data_set(source):
    assert target("birds", "val", "a/b.json").absolute() == source / "a/b.json"


@pytest.mark.parametrize(
    ("data_set", "split", "message"),
    [
        ("birds", "dev", "--split dev: expected one of testdev, train, val, test"),
        ("bees", "val", "data/bees/source: no such folder; run: rgqa init bees"),
    ],
)
def test_another_split_or_data_set_is_refused(source, data_set, split, message):
    with pytest.raises(UserError, match=message):
        target(data_set, split, "a.json")


def test_a_file_that_is_there_is_not_replaced(source):
    (source / "a.json").touch()
    with pytest.raises(UserError, match="a.json: is there already; move it away"):
        target("birds", "val", "a.json")
