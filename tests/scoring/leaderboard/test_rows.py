import json
import math

import pytest

from pipeline.core.errors import UserError
from pipeline.core.paths import DatasetFolders
from pipeline.scoring.leaderboard.rows import DETECTED_ABSTENTION_LABEL, load_all_rows, load_reference_rows


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Of data set b in a project of its own; `write` writes into the project's root."""
    monkeypatch.chdir(tmp_path)
    return DatasetFolders("b")


def test_rows_come_from_users_files_from_built_in_nets_and_from_the_release(
    write, tmp_path, folders, benchmark
):
    for subset, items in benchmark.subsets.items():
        for name in ("constant", "clip_score"):
            write(f"reference_predictions/{subset}/{name}.json", ids=items.ids)
    write("data/b/predictions/m.json")
    for seed in (0, 1):
        write(f"data/b/interim/answer/msp-seed{seed}.json")
    for name in ("answer.json", "thresholds.json"):
        (folders.stage_dir("answer") / name).write_text("{}")
    rows = load_all_rows(folders, tmp_path, benchmark)
    assert [(row.name, row.kind, row.is_built_in, len(row.seeds)) for row in rows] == [
        ("m", "model", False, 1),
        ("msp", "model", True, 2),
        ("constant", "reference", False, 1),
        ("clip_score", "reference", False, 1),
    ]
    assert (
        rows[3].selection_biased_subsets == ("clip-easy", "clip-hard")
        and not rows[2].selection_biased_subsets
    )
    assert load_reference_rows(tmp_path, benchmark)[0].seeds[0].keys() == benchmark.subsets.keys()
    assert not math.isnan(rows[0].seeds[0]["pt-hard"].confidence.sum())


def test_rows_can_be_declared_references(write, tmp_path, folders, benchmark):
    for folder, name in (("predictions", "people.json"), ("interim/answer", "text_only_net-seed0.json")):
        path = write(f"data/b/{folder}/{name}")
        row = path.name.split(".")[0].removesuffix("-seed0")
        (path.parent / "rows.yaml").write_text(f"{row}: {{reference: true, confidence: c, note: n}}")
    rows = load_all_rows(folders, tmp_path, benchmark)
    assert [(row.name, row.kind, row.confidence, row.note) for row in rows] == [
        ("people", "reference", "c", "n"),
        ("text_only_net", "reference", "c", "n"),
    ]


def test_a_name_that_is_in_both_folders_is_refused_with_all_other_faults(write, tmp_path, folders, benchmark):
    write("data/b/predictions/msp.json")
    write("data/b/interim/answer/msp-seed0.json")
    with pytest.raises(UserError) as caught:
        load_all_rows(folders, tmp_path, benchmark)
    (told,) = caught.value.problems
    assert told == (
        "data/b/predictions: msp is also the name of a row in data/b/interim/answer. Rename the file"
    )
    write("data/b/predictions/constant.json")
    write("data/b/interim/answer/rp-seed0.json", more=["nobody"])
    with pytest.raises(UserError) as caught:
        load_all_rows(folders, tmp_path, benchmark)
    told = "\n".join(caught.value.problems)
    assert (
        "constant is the name of a reference" in told
        and "rp-seed0.json: cannot be on the leaderboard" in told
    )


def test_an_undescribed_confidence_is_named_by_its_field_or_by_detection(write, tmp_path, folders, benchmark):
    write("data/b/predictions/m.json")
    path = write("data/b/predictions/chat.json")
    rows = [{k: v for k, v in row.items() if k != "confidence"} for row in json.loads(path.read_text())]
    path.write_text(json.dumps(rows))
    chat, m = load_all_rows(folders, tmp_path, benchmark)
    assert (chat.confidence, m.confidence) == (DETECTED_ABSTENTION_LABEL, "its file's confidence")
