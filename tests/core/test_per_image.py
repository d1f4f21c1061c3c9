from collections import Counter
from functools import partial

from pipeline.core import per_image
from pipeline.core.json_files import read_jsonl, write_jsonl
from pipeline.core.paths import DatasetFolders
from pipeline.core.per_image import list_image_ids, select_counts, write_per_image
from pipeline.core.records import DroppedCandidate, ImageRecord, SourceQuestionScore


def dropped(image_id, subset):
    return DroppedCandidate(
        candidate_id=f"{subset}_{image_id}",
        subset=subset,
        image_id=image_id,
        question_id="q",
        text="?",
        stage="test",
        reason=f"of {image_id}",
    )


def rows_of(score, image_id):
    """Yield for each image a row of the last subset, a score, and a row of the first subset."""
    scored = SourceQuestionScore(question_id=image_id, score=score)
    return [dropped(image_id, "pt-hard"), scored, dropped(image_id, "clip-easy")]


def keys(row):
    if isinstance(row, SourceQuestionScore):
        return [("pt-easy", "scores", ""), ("pt-hard", "scores", "")]
    return [(row.subset, "dropped", row.reason)]


def test_rows_are_written_by_type_then_subset_then_image_and_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(per_image, "choose_num_workers", lambda *_: 2)
    files = {"dropped.jsonl": DroppedCandidate, "scores.jsonl": SourceQuestionScore}
    counts = write_per_image(tmp_path, ["a", "b", "c"], files, partial(float, 0.5), rows_of, keys)
    rows = [(row.subset, row.image_id) for row in read_jsonl(tmp_path / "dropped.jsonl", DroppedCandidate)]
    assert rows == [(subset, image) for subset in ("clip-easy", "pt-hard") for image in "abc"]
    scores = list(read_jsonl(tmp_path / "scores.jsonl", SourceQuestionScore))
    assert [(row.question_id, row.score) for row in scores] == [("a", 0.5), ("b", 0.5), ("c", 0.5)]
    assert counts["pt-hard", "scores", ""] == 3 and counts.total() == 3 * 4


def test_counts_of_a_subset_are_selected_by_quantity():
    counts = Counter({("pt-easy", "edits", "object"): 2, ("pt-hard", "edits", "object"): 5})
    assert select_counts(counts, "pt-easy", "edits", "none") == {"edits": {"object": 2}, "none": {}}


def test_images_have_the_order_of_candidate_ids(tmp_path, monkeypatch):
    # "+" sorts before digits and letters: "n1+..." < "n10+..." < "n1a+...".
    monkeypatch.chdir(tmp_path)
    images = [
        ImageRecord(image_id=i, split="testdev", path="", width=1, height=1, sha256="")
        for i in ("n1a", "n10", "n1")
    ]
    folders = DatasetFolders("d")
    write_jsonl(folders.stage_dir("ingest") / "images.jsonl", images)
    assert list_image_ids(folders) == ["n1", "n10", "n1a"]
