import pytest
import yaml

from pipeline.core.errors import UserError
from pipeline.newdata import init

PARAMS = "dataset: sample\nsample: {rank: {cap: 3}}\n\ngqa:\n  rank:\n    cap: 5   # why\n\n  tag: {}\n# end\n"


def test_a_new_data_set_gets_folders_and_the_parameters_of_gqa(tmp_path):
    (tmp_path / "params.yaml").write_text(PARAMS)
    init("birds", tmp_path)
    document = yaml.safe_load((tmp_path / "params.yaml").read_text())
    assert document["birds"] == document["gqa"] == {"rank": {"cap": 5}, "tag": {}}
    assert document["dataset"] == "sample"
    assert {p.name for p in (tmp_path / "data" / "birds").iterdir()} == {"source", "truth", "clip", "vectors", "annotations"}


def test_a_second_call_changes_nothing(tmp_path):
    (tmp_path / "params.yaml").write_text(PARAMS)
    init("birds", tmp_path)
    before = (tmp_path / "params.yaml").read_text()
    (tmp_path / "data/birds/annotations/README.md").write_text("mine")
    init("birds", tmp_path)
    assert (tmp_path / "params.yaml").read_text() == before
    assert (tmp_path / "data/birds/annotations/README.md").read_text() == "mine"


@pytest.mark.parametrize("name", ["../x", "Birds", "release", "", "a b"])
def test_a_name_that_cannot_be_a_folder_is_refused(tmp_path, name):
    (tmp_path / "params.yaml").write_text(PARAMS)
    with pytest.raises(UserError, match="name has lower-case"):
        init(name, tmp_path)
