import pytest

from pipeline.core.errors import UserError
from pipeline.core.paths import DatasetFolders
from pipeline.inference.attribution.row_attribution import open_row
from research.reference_models.net_attribution import NetAttributor
from research.reference_models.row_attribution import list_attributable_rows
from tests.closure import ROOT
from tests.inference.attribution.tiny_nets import with_nets, write_answers
from tests.inference.tiny_models import tiny_vilt


@pytest.fixture(scope="module")
def made(tiny_run, tmp_path_factory):
    return with_nets(tiny_run, tmp_path_factory.mktemp("sight") / "run", ROOT / "data/sample/clip")


@pytest.fixture
def folders(made, monkeypatch):
    monkeypatch.chdir(made)
    return DatasetFolders()


def refused(folders, name, seed=0, **more):
    with pytest.raises(UserError) as found:
        open_row(folders, name, seed, **more)
    return str(found.value)


def test_a_row_opens_its_nets_with_positions_and_notes_others(folders):
    assert {name: type(one) for name, one in open_row(folders, "rp").models.items()} == {"rp": NetAttributor}
    assert [*open_row(folders, "own_msp").models] == ["own_vanilla"]
    assert [*open_row(folders, "separated").models] == ["vanilla", "separated"]
    sight = open_row(folders, "caption_match")
    assert [*sight.models] == ["vanilla"]
    assert sight.note.startswith("net caption_match reads a caption, which has no positions")


def test_predictions_are_read_from_the_file_of_the_row(folders, made):
    sight = open_row(folders, "msp")
    assert sight.predictions == {} and "make leaderboard" in sight.note
    write_answers(made, "msp", ["01", "02"])
    assert open_row(folders, "msp").note == ""
    assert open_row(folders, "msp").predictions == {"01": ("red", 0.25), "02": ("red", 0.25)}


def test_rows_without_attribution_are_rejected_with_the_reason(folders):
    message = refused(folders, "text_only_net")
    assert "--model text_only_net: " in message and "net blind sees no image" in message
    assert "rows of seed 0 with attribution: msp, maxprob" in message and "hf-vqa/FOLDER" in message
    assert "net true_regions reads the ground truth, which is not loaded here" in refused(
        folders, "true_regions"
    )
    assert "no net mix of seed 0" in refused(folders, "ens")


def test_unknown_rows_and_seeds_are_rejected(folders):
    assert refused(folders, "nobody").startswith(
        "--model nobody: no such row. Choose from the rows of seed 0"
    )
    assert refused(folders, "").startswith("--model: missing. Choose from the rows of seed 0")
    assert "no nets of seed 5 in data/tiny/vqa; there are 0" in refused(folders, "rp", 5)


def test_a_row_of_predictions_has_no_model(folders, made):
    assert "--model clip_score: this row is a file of predictions" in refused(folders, "clip_score")
    (made / "data/tiny/predictions").mkdir(exist_ok=True)
    (made / "data/tiny/predictions/theirs-seed0.json").write_text("[]")
    assert "--model theirs: this row is a file of predictions" in refused(folders, "theirs")


def test_only_rows_with_attribution_are_listed(folders):
    rows = list_attributable_rows(folders, 0)
    assert {"msp", "rp", "separated", "own_msp", "rp_confidence"} <= set(rows)
    assert not {"text_only_net", "true_regions", "ens", "mix"} & set(rows)
    assert list_attributable_rows(folders, 3) == []


def test_a_model_of_transformers_is_opened_from_its_folder(folders, tmp_path):
    name = f"hf-vqa/{tiny_vilt(tmp_path / 'vilt')}"
    sight = open_row(folders, name, settings={"device": "cpu"})
    assert [*sight.models] == [name]
    assert "--model-arg colour: " in refused(folders, name, settings={"colour": "red"})
    assert "--model-arg has no effect with --model rp" in refused(folders, "rp", settings={"device": "cpu"})
