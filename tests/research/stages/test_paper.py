import json
import os

import msgspec
import pytest

from pipeline.core.json_files import read_jsonl
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import Item, ScreenedCandidate
from research.simulated_annotators.simulated_verdicts import load_truth_view
from research.stages import paper


def test_the_papers_rules_give_items_of_their_own(tiny_run):
    items = list(read_jsonl(tiny_run / "data/tiny/interim/paper/items.jsonl", Item))
    report = json.loads((tiny_run / "data/tiny/interim/paper/paper.json").read_text())
    assert report["truth_known"] is True
    for subset, counts in report["subsets"].items():
        # Rule `image` keeps every UQ that the votes found unanswerable and has a partner.
        assert (
            0
            < sum(i.unanswerable for i in items if i.subset == subset)
            <= counts["unanswerable"]
            <= counts["candidates"]
        )
    assert all(i.simulated for i in items if i.unanswerable)


def test_an_aq_of_a_clip_subset_is_of_the_same_image(tiny_run):
    items = list(read_jsonl(tiny_run / "data/tiny/interim/paper/items.jsonl", Item))
    for subset in ("clip-easy", "clip-hard"):
        asked = {i.image_id for i in items if i.subset == subset and i.unanswerable}
        assert {i.image_id for i in items if i.subset == subset and not i.unanswerable} <= asked


@pytest.mark.parametrize("at_once", [1, 3])
def test_how_many_images_are_taken_together_changes_no_byte(at_once, tiny_run, monkeypatch):
    monkeypatch.chdir(tiny_run)
    files = [tiny_run / "data/tiny/interim/paper" / name for name in ("items.jsonl", "paper.json")]
    before = [file.read_bytes() for file in files]
    monkeypatch.setattr(paper, "IMAGES_PER_BATCH", at_once)
    paper.main()
    assert [file.read_bytes() for file in files] == before


@pytest.fixture
def without_truth(tiny_run, monkeypatch):
    monkeypatch.chdir(tiny_run)
    os.rename("data/tiny/truth", "data/tiny/kept")
    os.rename("data/tiny/interim/paper", "data/tiny/interim/kept")
    os.mkdir("data/tiny/truth")
    yield tiny_run / "data/tiny/interim/paper"
    os.rmdir("data/tiny/truth")
    os.rename("data/tiny/kept", "data/tiny/truth")
    for path in (tiny_run / "data/tiny/interim/paper").iterdir():
        path.unlink()
    os.rmdir("data/tiny/interim/paper")
    os.rename("data/tiny/interim/kept", "data/tiny/interim/paper")


def test_without_a_known_truth_there_is_nothing_to_compare(without_truth):
    paper.main()
    assert list(read_jsonl(without_truth / "items.jsonl", Item)) == []
    assert json.loads((without_truth / "paper.json").read_text()) == {"subsets": {}, "truth_known": False}


def test_the_papers_rules_are_applied_without_object_names(screened, vocabulary):
    nameless = msgspec.structs.replace(vocabulary, objects={})  # as of a bare table of questions
    candidates = [row.candidate for row in DatasetFolders().read_records(ScreenedCandidate)][:2]
    look = load_truth_view(DatasetFolders())
    said = paper.simulate_verification(candidates, nameless, look, paper.PaperParams(seed=1))
    assert {row.candidate.candidate_id for row in said} == {row.candidate_id for row in candidates}
    assert {row.votes_valid + row.votes_invalid for row in said} == {
        paper.PaperParams(seed=1).votes_per_candidate
    }
    assert paper.simulate_verification([], nameless, look, paper.PaperParams(seed=1)) == []
